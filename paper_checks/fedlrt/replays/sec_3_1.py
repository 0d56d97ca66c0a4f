"""Section 3.1: the clients' coefficient updates and their average (eqs. (7) to (10)), and the truncation.

Setting: `shared.update_symbols`.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise

import sympy

from paper_checks.fedlrt.replays.sec_3 import admitted
from paper_checks.fedlrt.replays.shared.boxes import exchanges
from paper_checks.fedlrt.replays.shared.singular_values import tail_is_what_the_best_rank_misses
from paper_checks.fedlrt.replays.shared.update_symbols import (
    CORNER,
    RATE,
    S_c,
    Ut,
    V,
    chain_rule,
    corner,
    corrected,
    g,
    g_c,
    g_s,
    same,
    wide,
)
from paper_checks.replay import Hypothesis, Violation, proof, replay, require
from paper_checks.stored_values import Values


@proof("fedlrt/eq-7")
def eq_7(rate: Fraction = Fraction(1), more: int = 0) -> str:
    r"""The chain rule: $\nabla_{\tilde S}\mathcal{L}_c = \tilde U^\top\nabla_W\mathcal{L}_c\tilde V$.

    The recursion is then the one of Algorithm 2, step by step, from Lemma 1's start.
    """
    steps = sympy.Symbol("s", integer=True)
    S = sympy.Matrix(2, 2, sympy.symbols("s_0:4", commutative=False))
    chain_rule()
    same(S - rate * RATE * wide(g_s), S - RATE * wide(g_s), "another step")
    same(steps + more, steps, "another number of steps")
    return "the chain rule gives the gradient, and Algorithm 2 has the same step and the same number of steps"


@proof("fedlrt/eq-8")
def eq_8(sign: Fraction = Fraction(1), share: Fraction = Fraction(1), more: int = 1) -> str:
    r"""The first step is along the mean gradient for every client, and the corrections add up to zero.

    Without correction a round has two exchanges, one for the gradients of the factors and one for the coefficients. The
    gradients of $\tilde S$, which need the augmented bases, take a third.
    """
    step = S_c - RATE * (wide(g_s) + sign * (share * wide(g) - wide(g_c)))
    chain_rule()
    same(step, corrected(S_c, wide(g - g_c)), "not the step of Algorithm 1")
    same(step.subs(g_s, g_c), S_c - RATE * wide(g), "the first step is not the global one")
    require(len(exchanges("full")) == len(exchanges("none")) + more, "another number of communication rounds")
    return "the step is the step of Algorithm 1, and the first step is along the global gradient"


@replay("fedlrt/eq-10")
def eq_10_as_printed(values: Values) -> Violation:
    """Compare the mean of two models with each of them: without its index the summand would be one and the same."""
    models: list[Fraction] = [Fraction(model) for model in values["models"]]
    mean = sum(models, Fraction(0)) / len(models)
    return Violation(
        min(abs(model - mean) for model in models),
        Fraction(0),
        reads="for models of one entry, we compute the distance of the nearest model from the mean",
    )


@proof("fedlrt/eq-9")
def eq_9(
    block: Fraction = Fraction(1), outside: Fraction = Fraction(0), sign: Fraction = Fraction(1), fewer: int = 1
) -> str:
    r"""The block of $\tilde U^\top A\tilde V$ for $\tilde U = [U|\bar U]$ is $U^\top AV$, the gradient in S of (9).

    Gradients in S need the bases U and V only, so they are sent with the gradients in U and V. This makes two
    exchanges, as in FedLin, which sends the weights' gradient and the weights.
    """
    full = wide(g - g_c)
    stated = outside * (full - CORNER * full * CORNER) + sign * block * CORNER * full * CORNER
    chain_rule()
    same(corner(Ut * g * V) - corner(Ut * g_c * V), stated, "not the block of the full correction")
    rounds = len(exchanges("simplified"))
    require(rounds == len(exchanges("FedLin")) == len(exchanges("full")) - fewer, "communication rounds")
    return "the simplified correction is a block of the full one and does not need an augmented basis"


@replay("fedlrt/claim-trunc")
def claim_trunc_as_printed(values: Values) -> Violation:
    """Evaluate whether any rank from 1 to 2r satisfies the printed condition."""
    sigma, theta = [Fraction(s) for s in values["sigma"]], Fraction(values["theta"])
    assumes = (
        *(Hypothesis(f"sigma_{i + 1}", low, "<=", high) for i, (high, low) in enumerate(pairwise(sigma), 1)),
        Hypothesis(f"sigma_{len(sigma)}", sigma[-1], ">=", 0),
        Hypothesis("theta", theta, ">", 0),
        Hypothesis("squared theta, against the squared norm", theta**2, "<=", sum((s * s for s in sigma), Fraction(0))),
        Hypothesis("singular values, which are 2r, modulo 2", len(sigma) % 2, "=", 0),
    )
    return Violation(
        1,
        len(admitted(sigma, theta**2)),
        assumes=assumes,
        reads="we compare 1 with the number of ranks that the printed condition admits",
    )


@proof("fedlrt/claim-trunc")
def claim_trunc(after: int = 1, sizes: Sequence[int] = (2, 4, 6)) -> str:
    r"""The rule asks of $r_1$ what the best matrix of rank $r_1$ misses (Eckart and Young) to be below the threshold.

    The square of that distance is the sum of $\sigma_i^2$ over $i > r_1$. It is 0 at 2r, so some $r_1$ is
    admitted, and at 0 it is $\|\tilde S^*\|^2 \ge \vartheta^2$; the smallest admitted one is therefore the least
    rank within $\vartheta$. Between $r_1 - 1$ and $r_1$ it falls by $\sigma_{r_1}^2$, which is then positive, as
    the values before it are. With the tail from $\sigma_{r_1}$ on the sum at 2r is $\sigma_{2r}^2$, the smallest of
    all, so none is admitted where $\sigma_{2r} \ge \vartheta$.
    """
    tail_is_what_the_best_rank_misses(after, sizes)
    return (
        "the condition is the one for the best approximation, and the square of its left side falls by the square of "
        "the last kept value"
    )
