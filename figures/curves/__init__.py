"""Learning curves of the papers' algorithms, and a comparison of all methods."""
