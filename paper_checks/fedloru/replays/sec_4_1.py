"""Section 4.1: the low-rank update and its average (eq. (7)), and what the paper says after it.

Setting: `shared.sums`.
"""

from __future__ import annotations

from fractions import Fraction

import sympy

from paper_checks.fedloru.replays.shared.averages import product_of_averages
from paper_checks.fedloru.replays.shared.factor_symbols import W, alpha, factors_of
from paper_checks.fedloru.replays.shared.local_steps import positive_sizes
from paper_checks.replay import Hypothesis, Violation, proof, replay, require
from paper_checks.stored_values import Values, followed, fractions


@replay("fedloru-v2/eq-agg")
def eq_agg_as_printed(values: Values) -> Violation:
    """Average with the printed weights of a cohort."""
    return product_of_averages(values)


def of_one_client_more(scale: Fraction) -> None:
    """Return the sum of the spreads from the four sums over the clients so far: by induction, for any number."""
    w, s = sympy.symbols("w s")
    A, B, P, Q, R, M, N = sympy.symbols("A B P Q R M N", commutative=False)

    def spread(s: sympy.Expr, P: sympy.Expr, Q: sympy.Expr, R: sympy.Expr) -> sympy.Expr:
        return R - P * N - M * Q + s * M * N

    one_more = spread(s + w, P + w * A, Q + w * B, R + w * A * B) - spread(s, P, Q, R) - w * (A - M) * (B - N)
    all_of_them = spread(scale, P, Q, R).subs({M: P, N: Q}) - (R - P * Q)
    require(sympy.expand(one_more) == 0, "the spread of one client more")
    require(sympy.expand(all_of_them) == 0, "the spread of all clients")


@proof("fedloru-v2/eq-agg@weights-of-sum-1")
def eq_agg(scale: Fraction = Fraction(1), clients: tuple[int, ...] = (1, 2, 3, 5)) -> str:
    r"""With weights of sum 1, $\sum_kw_k(A_k - A)(B_k - B) = \sum_kw_kA_kB_k - AB$ by linearity.

    Below, products do not commute, and the last weight is 1 minus the others. For any number of clients by
    induction: with $P = \sum_kw_kA_k$, $Q = \sum_kw_kB_k$ and $R = \sum_kw_kA_kB_k$ over the clients so far, s their
    weights, $\sum_kw_k(A_k - M)(B_k - N) = R - PN - MQ + sMN$, to which another client adds its own term.
    """
    of_one_client_more(scale)
    for number in positive_sizes(clients):
        w = list(sympy.symbols(f"w1:{number}"))
        w.append(scale - sum(w))
        A, B = (sympy.symbols(f"{name}1:{number + 1}", commutative=False) for name in "AB")
        mean_A, mean_B = (sum(p * x for p, x in zip(w, of, strict=True)) for of in (A, B))
        products = sum(p * x * y for p, x, y in zip(w, A, B, strict=True))
        spread = sum(p * (x - mean_A) * (y - mean_B) for p, x, y in zip(w, A, B, strict=True))
        require(sympy.expand(mean_A * mean_B - products + spread) == 0, f"the product at {number} clients")
        agreed = sympy.expand(mean_A.subs(dict.fromkeys(A, A[0])) - A[0])
        require(agreed == 0, f"{number} clients that agree")
    return (
        "for clients that agree, the product of the averages is an identity in weights of sum 1 and noncommuting "
        "matrices; induction extends it to any number of clients"
    )


@proof("fedloru-v2/eq-WT")
def eq_WT(
    power: int = 1,
    scale: Fraction = Fraction(1),
    cycles: tuple[int, ...] = (1, 2, 3),
    rounds: tuple[int, ...] = (1, 4, 7),
) -> str:
    r"""By induction over the rounds: W changes where $\tau$ divides t, and then by $\alpha A_tB_t$.

    Neither the local steps, nor the averages, nor a restart write to W. Between two accumulations the clients train $W
    + \alpha AB$, so $\alpha A_TB_T$ remains to be added to W unless $\tau$ divides T and the factors restart with $AB =
    0$.
    """
    A, B = sympy.symbols("A B", commutative=False)
    joins = sympy.expand(alpha * A * B - scale * alpha**power * A * B) == 0
    require(joins, "what an accumulation adds to W and to the sum")
    for tau in positive_sizes(cycles):
        for number in positive_sizes(rounds):
            held, pairs = W, factors_of(number)
            for t, (A, B) in enumerate(pairs, 1):
                held += alpha * A * B if t % tau == 0 else 0
            told = W + scale * alpha**power * sum(A * B for A, B in pairs[tau - 1 :: tau])
            require(sympy.expand(held - told) == 0, f"{number} rounds in cycles of {tau}")
    return "we follow the clients' W round by round, in noncommuting products, by induction for any cycle and T"


@replay("fedloru-v2/eq-WT")
def eq_WT_as_printed(values: Values) -> Violation:
    """W as a client holds it, adding alpha A B at multiples of tau, against W_0 plus the unscaled products.

    The loss is (w - target)^2 / 2, with one step of both factors a round. Only the first cycle enters, so no
    restart matters.
    """
    W, A, B, target, alpha, rate = fractions(values, "W", "A", "B", "target", "alpha", "rate")
    tau, T = followed(values, "tau"), int(values["rounds"])
    assumes = (
        Hypothesis("tau", tau, ">=", 1),
        Hypothesis("T, against tau", T, ">=", tau),
        Hypothesis("T, for one accumulation", T, "<", 2 * tau),
        Hypothesis("learning rate", rate, ">", 0),
    )
    for _ in range(tau):
        slope = alpha * (W + alpha * A * B - target)
        A, B = A - rate * slope * B, B - rate * slope * A
    held, told = W + alpha * A * B, W + A * B
    return Violation(
        abs(held - told),
        0,
        assumes=assumes,
        reads="the loss is (w - target)^2/2 at w = W + alpha A B, and each round takes one step in both factors. We "
        "compute the distance of the formula from the model that the clients hold",
    )
