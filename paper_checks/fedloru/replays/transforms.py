"""Replays of the claims in ``transforms``."""

from __future__ import annotations

from fractions import Fraction

import sympy

from paper_checks.replay import Proof, Violation, proof, replay
from paper_checks.stored_values import Values, expression


@proof("fedloru-v2/lem-A.1a")
def lem_A_1a(values: Values) -> Proof:
    r"""$f(x) = 1/(x - z)$ is bounded by $1/v$ and Lipschitz with constant $1/v^2$, so weak convergence applies to it.

    The certificate writes $1/v^2 - |f(x)|^2$ and $|x-y|^2/v^4 - |f(x) - f(y)|^2$ as sums of terms that are products
    and quotients of squares.
    """
    x, y, u = sympy.symbols("x y u", real=True)
    v = sympy.symbols("v", positive=True)
    names = {"x": x, "y": y, "u": u, "v": v}

    def f(at: sympy.Symbol) -> sympy.Expr:
        return 1 / (at - u - sympy.I * v)

    def squared(value: sympy.Expr) -> sympy.Expr:
        return sympy.together(value * sympy.conjugate(value))

    statements = {"bounded": 1 / v**2 - squared(f(x)), "lipschitz": (x - y) ** 2 / v**4 - squared(f(x) - f(y))}
    verified = True
    for name, left in statements.items():
        terms = [expression(term, names) for term in values[name]]
        verified &= all(term.is_nonnegative for term in terms) and sympy.simplify(left - sum(terms)) == 0
    return Proof(bool(verified), "|1/(x-z)| <= 1/v and |1/(x-z) - 1/(y-z)| <= |x-y|/v^2 as sums of squares")


@replay("fedloru-v2/lem-A.1b")
def lem_A_1b(values: Values) -> Violation:
    """Total mass of the measure behind the limit of the transforms, against the mass 1 that weak limits keep."""
    n, z = sympy.symbols("n z")
    pairs = [[expression(part, {"n": n}) for part in atom.split()] for atom in values["atoms"]]
    masses = [mass for mass, _ in pairs]
    unmet = ""
    negative = any(mass.subs(n, k) < 0 for mass in masses for k in range(1, 100))
    if negative or sympy.simplify(sum(masses) - 1) != 0:
        unmet = "probability measures"
    limit = sum(sympy.limit(mass / (z - at), n, sympy.oo) for mass, at in pairs)
    if limit.has(sympy.oo, sympy.nan, sympy.zoo, n):
        unmet = "a limit of the transforms"
    mass = sympy.limit(z * limit, z, sympy.oo)  # z g(z) -> mu(R), along the imaginary axis as along the real one
    return Violation(abs(1 - Fraction(int(mass.p), int(mass.q))), Fraction(0), unmet=unmet,
                     reads="|1 - mass of mu|: the integral of the bounded continuous function 1")  # fmt: skip
