"""PyHessian as a backend, with guards around it."""
