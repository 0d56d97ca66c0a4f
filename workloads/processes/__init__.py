"""Processes and clusters that do work, and end with the one that started them."""
