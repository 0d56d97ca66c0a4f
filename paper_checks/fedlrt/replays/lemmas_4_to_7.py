"""Lemmas 4 to 7 (Appendix F.2): the auxiliary lemmas of the descent.

Setting: `shared.wide_bases`.

Setting: `shared.descent`.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import sympy

from paper_checks.fedlrt.replays.shared.descent import G
from paper_checks.fedlrt.replays.shared.update_symbols import U, Ubar, Vbart, Vt, same
from paper_checks.fedlrt.replays.shared.wide_bases import S, X, Y, Z, row
from paper_checks.proof_steps import non_negative
from paper_checks.replay import proof, require


@proof("fedlrt/lemma-4")
def lemma_4(half: Fraction = Fraction(1, 2)) -> str:
    r"""The loss along the segment from $Y_2$ to $Y_1$, integrated.

    $\phi(t) = \mathcal{L}(Y_2 + t(Y_1 - Y_2))$ has the derivative $\langle\nabla\mathcal{L}(Y_2 + t(Y_1 - Y_2)), Y_1 -
    Y_2\rangle$, which by the Lipschitz bound on the gradient is at most $\phi'(0) + tL\|Y_1 - Y_2\|^2$. The integral
    over t from 0 to 1 is $\phi'(0) + \frac L2\|Y_1 - Y_2\|^2$.
    """
    t = sympy.Symbol("t", positive=True)
    rest = sympy.integrate(t * G, (t, 0, 1))  # G is L times the squared distance
    require(non_negative(half * G - rest), "the integral of the Lipschitz bound")
    return "we integrate the Lipschitz bound on the gradient along the segment"


@proof("fedlrt/lemma-6")
def lemma_6(factor: Fraction = Fraction(1), clients: Sequence[int] = (1, 2, 3, 7)) -> str:
    r"""$C\sum_c\|x_c\|^2 - \|\sum_cx_c\|^2 = \sum_{c<k}\|x_c - x_k\|^2$: entry by entry, for any C.

    On the left $x_c^2$ has the factor C - 1 and $x_cx_k$ the factor -2; on the right each c is in C - 1 pairs.
    """
    require(len(clients) > 0, "no numbers of clients")
    for C in clients:
        xs = sympy.symbols(f"x_0:{C}")
        pairs = sum(((a - b) ** 2 for i, a in enumerate(xs) for b in xs[:i]), sympy.Integer(0))
        left = factor * C * sum(a**2 for a in xs) - sum(xs) ** 2
        require(sympy.expand(left - pairs) == 0, f"not the sum over pairs at {C} clients")
    return "the difference is the sum of the squares of all differences, for any C"


@proof("fedlrt/lemma-7")
def lemma_7(padding: Fraction = Fraction(0)) -> str:
    r"""With S in the corner of zeros (Lemma 1) the wide model is $[U|\bar U]\tilde S[V|\bar V]^\top = USV^\top$.

    The two models are one matrix, and any loss has one value there.
    """
    coefficients = sympy.Matrix([[S, padding * X], [padding * Y, padding * Z]])
    model = (row(U, Ubar) * coefficients * row(Vt, Vbart).T)[0, 0]
    same(model, U * S * Vt, "another model")
    return "the model is the same before and after the augmentation"
