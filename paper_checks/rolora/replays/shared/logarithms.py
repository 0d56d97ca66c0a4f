"""The logarithm near 1."""

from __future__ import annotations

import sympy

from paper_checks.proof_steps import positive
from paper_checks.replay import require

w, y, z = sympy.symbols("w y z", positive=True)
"""The symbol of arguments 1/(1 + w) below 1, and the arguments of two functions."""


def bounds_of_logarithms() -> None:
    r"""$-\log(1 - y) \ge y$ on (0, 1) and $\operatorname{artanh} z \ge z$: both vanish at 0, with derivatives >= 0."""
    one, two = -sympy.log(1 - y) - y, sympy.atanh(z) - z
    inside = {y: 1 / (1 + w), z: 1 / (1 + w)}
    checks = (f.subs(v, 0) == 0 and positive(sympy.simplify(f.diff(v)).subs(inside)) for f, v in ((one, y), (two, z)))
    require(all(checks), "a logarithm")
