"""Replays of the claims in ``transforms``."""

from __future__ import annotations

from fractions import Fraction

import sympy

from paper_checks.replay import Hypothesis, Violation, proof, replay, require
from paper_checks.stored_values import Values, expression


@proof("fedloru-v2/lem-A.1a")
def lem_A_1a(certificate: Values) -> str:
    r"""$f(x) = 1/(x - z)$ is bounded by $1/v$ and Lipschitz with constant $1/v^2$, so weak convergence applies to it.

    $|x - z| \ge v$, and $|f(x) - f(y)| = |x - y|/(|x - z||y - z|)$; real and imaginary part of f are bounded and
    continuous. The certificate writes $1/v^2 - |f(x)|^2$ and $|x-y|^2/v^4 - |f(x) - f(y)|^2$ as sums of terms that are
    products and quotients of squares.
    """
    x, y, u = sympy.symbols("x y u", real=True)
    v = sympy.symbols("v", positive=True)
    names = {"x": x, "y": y, "u": u, "v": v}

    def f(at: sympy.Symbol) -> sympy.Expr:
        return 1 / (at - u - sympy.I * v)

    def squared(value: sympy.Expr) -> sympy.Expr:
        return sympy.together(value * sympy.conjugate(value))

    statements = {"bounded": 1 / v**2 - squared(f(x)), "lipschitz": (x - y) ** 2 / v**4 - squared(f(x) - f(y))}
    for name, left in statements.items():
        terms = [expression(term, names) for term in certificate[name]]
        require(all(term.is_nonnegative for term in terms), f"{name}: no term is negative")
        require(sympy.simplify(left - sum(terms)) == 0, f"{name}: the sum of the terms")
    return (
        "|1/(x-z)| <= 1/v and |1/(x-z) - 1/(y-z)| <= |x-y|/v^2 as sums of squares: 1/(x-z) is bounded and continuous "
        "in x, and weak convergence is that of the integrals of such functions, of which the transform is one"
    )


@replay("fedloru-v2/lem-A.1b")
def lem_A_1b_as_printed(values: Values) -> Violation:
    """Total mass of the measure behind the limit of the transforms, against the mass 1 that weak limits keep.

    An atom of fixed mass at a fixed place stays, and one that moves away, at n, has a transform that tends to 0.
    """
    atoms = [(Fraction(mass), at) for mass, at in (atom.split() for atom in values["atoms"])]
    stays = sum((mass for mass, at in atoms if at != "n" and Fraction(at) < 10**100), Fraction(0))
    assumes = (
        Hypothesis("least mass of an atom", min(mass for mass, _ in atoms), ">", 0),
        Hypothesis("mass of the laws", sum(mass for mass, _ in atoms), "=", 1),
    )
    return Violation(
        abs(1 - stays),
        0,
        assumes=assumes,
        reads="atoms as mass and place in the n-th law; |1 - mass of mu|: the integral of the bounded "
        "continuous function 1",
    )
