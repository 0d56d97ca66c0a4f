"""Figures of the random-matrix theory."""
