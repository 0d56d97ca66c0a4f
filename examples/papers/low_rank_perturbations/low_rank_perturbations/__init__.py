"""Eigenvalues and eigenvectors of low-rank perturbations of random matrices (``low-rank-perturbations``)."""
