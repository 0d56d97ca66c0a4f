"""The spectrum of a network of one's own: `rankproof spectrum`."""
