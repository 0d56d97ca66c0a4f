r"""Bounds of the movement in one round under bounded gradients: the setting of the corrected Theorem 4.2 and its proof.

$\|\cdot\|$ of a random matrix is the root of its mean square, for which the triangle inequality holds; norms are
submultiplicative. A fresh sample's gradient has $\|g\| \le G$ regardless of the past, by (A.2), and so has every exact
gradient, by (A.5) (unbiasedness, which Appendix B labels (A.4)). Hence, by (A.3), a local step moves A by at most
$\eta GC_B$ and B by at most $\eta GC_A$, i steps move AB by at most $i\eta G(C_A^2+C_B^2)$, and by (A.1) the gradients
in A and in B at most by $i\eta Gd_A$ and $i\eta Gd_B$, with $d_A = LC_B(C_A^2+C_B^2)+GC_A$ and $d_B =
LC_A(C_A^2+C_B^2)+GC_B$ (Lemma B.8 as corrected).

One round from W, A, B: $S = \nabla f(W + AB)$, $\nabla_A = SB^T$, $\nabla_B = A^TS$; $A_+ = A + u$ and $B_+ = B + v$
are means over the cohort with weights $\ge 0$ of sum 1, so $\|u\| \le \eta EGC_B$, $\|v\| \le \eta EGC_A$ and
$\|B_+\| \le C_B$. The cohort does not depend on the samples and its weights have mean $p^{(k)}$, given the past, so
$-\mathbb{E}[u]/(\eta E)$ is $\nabla_A$ plus the mean drift over all clients and i = 0..E-1, of norm at most
$\frac12(E-1)\eta Gd_A$; likewise for B. A restart with $AB = 0$ changes the factors and not the model, so the
rounds telescope.
"""

from __future__ import annotations

from fractions import Fraction

import sympy

from paper_checks.fedloru.replays.shared.local_steps import E, i, moved_a, moved_b

u, v = (sympy.expand(move.subs(i, E)) for move in (moved_a, moved_b))
"""Root mean squares of the round's moves of A and B, at most."""


def absorbs(kept: Fraction, weight: Fraction | int) -> bool:
    """Return whether -<x, x + y> <= -kept |x|^2 + weight |y|^2: the difference is a form that is never negative."""
    half = sympy.Rational(1, 2)
    return sympy.Matrix([[1 - kept, half], [half, weight]]).is_positive_semidefinite is True
