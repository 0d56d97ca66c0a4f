"""Curvature matrices as operators: whole, in blocks, by samples, and in several processes."""
