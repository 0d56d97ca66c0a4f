"""Parameter counts, recomputed from the architectures."""
