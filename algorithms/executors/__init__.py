"""Executors that run clients in other processes."""
