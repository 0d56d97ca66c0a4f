r"""Noise $\epsilon_N = sX^R$ of a general limit law $\mu$ with support between L and U.

$g = g_\mu$, $R = R_\mu$, $g_{\mu_N}(z) = g(z/s)/s$ and $R(g(z)) + 1/g(z) = z$. Two properties are used. (E) The extreme
eigenvalues of $X^R$ tend to L and U, as the corrections ask. (I) $V^Tf(X^R)V \to \int f\,d\mu\,I$ for bounded
continuous f and the directions V of the spikes: the eigenvectors are spread evenly over them, in probability by QUE,
almost surely if they are uniformly random, since a quadratic form in uniformly random unit vectors concentrates about
its mean. Limits are almost sure or in probability, as in (E) and (I). In the steps that are shared with Gaussian
noise this (I) replaces the (I) of that setting, and (E) replaces (B).
"""

from __future__ import annotations

import sympy

s, theta, w = sympy.symbols("s theta w", positive=True)

R = sympy.Function("R")
