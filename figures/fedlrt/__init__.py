"""Figures of FeDLRT."""
