"""Lemma A.1: transforms of free sums.

Setting: `shared.series`.
"""

from __future__ import annotations

from fractions import Fraction

import sympy

from paper_checks.proof_steps import rational
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
        "|1/(x-z)| <= 1/v and |1/(x-z) - 1/(y-z)| <= |x-y|/v^2 by sums of squares. So 1/(x-z) is bounded and "
        "continuous in x, and weak convergence implies convergence of its integral, the transform"
    )


def products_of_kernels() -> bool:
    r"""The functions $1/(z - x)$, $z \notin \mathbb{R}$, span an algebra that is dense in those vanishing at infinity.

    Products are in the span by partial fractions (with a limit for equal z), conjugates too; the functions separate
    points and have no common zero, so the theorem of Stone and Weierstrass applies.
    """
    z, w, x = sympy.symbols("z w x")
    split = (1 / (z - x) - 1 / (w - x)) / (w - z)
    return bool(sympy.cancel(split - 1 / ((z - x) * (w - x))) == 0)


def limit_of_atoms(stays: Fraction) -> tuple[Fraction, Fraction]:
    """Mass of the limit, and limit of the integral of 1, for an atom that stays at 0 and the rest moving to infinity.

    The transform tends to stays/z, the transform of the mass at 0; a moving atom at n contributes 1/(z - n) to it.
    """
    z, at = sympy.symbols("z n")
    limit = sympy.limit(rational(stays) / z + rational(1 - stays) / (z - at), at, sympy.oo)
    return Fraction(str(sympy.cancel(limit * z))), Fraction(1)


@proof("fedloru-v2/lem-A.1b@vaguely")
def vaguely(sign: int = 1) -> str:
    r"""Integrals against $\mu_n$ converge on a dense span, hence on all continuous functions that vanish at infinity.

    They are functionals of norm at most 1, so a limit on a dense set is one everywhere. It is positive, and by the
    theorem of Riesz an integral against a unique measure $\mu \ge 0$ with $\mu(\mathbb{R}) \le 1$, for which $g_\mu =
    g$. Another measure with the same transform has the same integrals on the span, so it equals $\mu$.
    """
    mass, _ = limit_of_atoms(Fraction(1, 2))
    require(products_of_kernels(), "products of the functions")
    require(sign * mass > 0 and abs(sign) == 1, "a positive functional of norm 1")
    return "we use the theorems of Stone-Weierstrass and Riesz, and partial fractions for products"


@proof("fedloru-v2/lem-A.1b")
def lem_A_1b(least_mass: Fraction = Fraction(1)) -> str:
    r"""Vague convergence as in the reading that holds; weak convergence if and only if $\mu(\mathbb{R}) = 1$.

    The integrals of a continuous function $0 \le \chi \le 1$ of bounded support converge. If $\mu(\mathbb{R}) = 1$
    there is one with $\int\chi\,d\mu > 1 - \epsilon$, so $\mu_n$ has at most $\epsilon$ outside of its support
    for large n: no mass escapes, and bounded continuous functions may be cut off. Conversely the integral of 1 is 1 for
    all n and has to be $\mu(\mathbb{R})$. A limit of any smaller mass m occurs without weak convergence, for an atom of
    mass m that stays and one that moves away.
    """
    mass, integral = limit_of_atoms(min(least_mass, Fraction(1)))
    kept, whole = limit_of_atoms(Fraction(1))
    require(products_of_kernels(), "products of the functions")
    require(mass == integral, "a limit of the least mass is one of weak convergence")
    require(kept == whole and least_mass <= kept, "a weak limit has that mass")
    return "we use vague convergence on a dense span, and atoms that stay or move away, in fractions"


@replay("fedloru-v2/lem-A.1b")
def lem_A_1b_as_printed(values: Values) -> Violation:
    """Compare total mass of the measure behind the limit of the transforms, with the mass 1 that weak limits keep.

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
        reads="the witness gives the mass and place of each atom in the n-th law. With the bounded continuous "
        "function 1, whose integral is the mass, we compute |1 - mass of mu|",
    )
