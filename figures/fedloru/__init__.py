"""Figures of FedLoRU."""
