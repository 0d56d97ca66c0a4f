"""Data sets: their places, their formats, and their division among clients."""
