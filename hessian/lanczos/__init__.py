"""Krylov bases, and what follows from one: eigenpairs, bounds, quadrature, the stable rank."""
