"""Sections 4.2 and C: algebra of the low-rank updates."""
