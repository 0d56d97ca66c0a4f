"""Data sets: where they are, how they are read, and how they are divided."""
