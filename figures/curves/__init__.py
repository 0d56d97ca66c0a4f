"""Learning curves of every algorithm."""
