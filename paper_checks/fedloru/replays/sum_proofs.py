r"""Proofs about sums: over the clients of a round, over local steps and over rounds.

They hold for any losses, weights and step sizes; no assumption of the paper is used.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import sympy

from paper_checks.fedloru.replays.step_proofs import a, eta, positive_sizes
from paper_checks.replay import proof, require


def of_one_client_more(scale: Fraction) -> None:
    """The sum of the spreads, from the four sums over the clients so far: by induction, for any number of them."""
    w, s = sympy.symbols("w s")
    A, B, P, Q, R, M, N = sympy.symbols("A B P Q R M N", commutative=False)

    def spread(s: sympy.Expr, P: sympy.Expr, Q: sympy.Expr, R: sympy.Expr) -> sympy.Expr:
        return R - P * N - M * Q + s * M * N

    one_more = spread(s + w, P + w * A, Q + w * B, R + w * A * B) - spread(s, P, Q, R) - w * (A - M) * (B - N)
    all_of_them = spread(scale, P, Q, R).subs({M: P, N: Q}) - (R - P * Q)
    require(sympy.expand(one_more) == 0, "the spread of one client more")
    require(sympy.expand(all_of_them) == 0, "the spread of all clients")


def one_step_more(begins: int) -> None:
    """Step E, in the move and in the sum of the gradients: by induction, for any number of steps."""
    g, E = sympy.Function("g"), sympy.Symbol("E")
    require(sympy.expand(-eta * g(E) + eta * g(begins + E)) == 0, "the sum of one step more")


@proof("fedloru-v2/eq-agg@weights-of-sum-1")
def eq_agg(scale: Fraction = Fraction(1), clients: tuple[int, ...] = (1, 2, 3, 5)) -> str:
    r"""With weights of sum 1, $\sum_kw_k(A_k - A)(B_k - B) = \sum_kw_kA_kB_k - AB$ by linearity.

    Below in products that do not commute; the last weight is what is missing to 1. For any number of clients by
    induction: with $P = \sum_kw_kA_k$, $Q = \sum_kw_kB_k$ and $R = \sum_kw_kA_kB_k$ over the clients so far, s their
    weights, $\sum_kw_k(A_k - M)(B_k - N) = R - PN - MQ + sMN$, to which one client more adds its own term.
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
        "clients that agree, and the product of the averages, as identities in weights of sum 1 "
        "and matrices that do not commute; for any number of clients by induction"
    )


@proof("fedloru-v2/eq-59-60")
def eq_59_60(begins: int = 0, steps: tuple[int, ...] = (1, 2, 5)) -> str:
    r"""The sum of E steps, each along the gradient at its start.

    Step i is $A_{i+1} - A_i = -\eta\nabla_i$ for i = 0..E-1, so that $A_E - A_0 = -\eta\sum_{i=0}^{E-1}\nabla_i$, which
    is $-\eta E$ times the mean of these gradients; by induction over E, since one step more adds the same gradient on
    both sides. The sum from i = 1 on, as printed, has one gradient that no step takes.
    """
    one_step_more(begins)
    for number in positive_sizes(steps):
        slopes = sympy.symbols(f"g0:{number + 1}")
        moved = -eta * sum(slopes[:number])
        mean = sum(slopes[begins : begins + number]) / number
        require(sympy.expand(moved + eta * number * mean) == 0, f"the sum of {number} steps")
    return "the sum of the steps, each along the gradient at its start; for any E by induction"


def mean_of_moves(begins: int, total: Fraction, clients: Sequence[int]) -> str:
    """Check that the move of a mean of clients is the mean of their steps."""
    s, P, w, S = sympy.symbols("s P w S")
    one_more = ((s + w) * a - eta * (P + w * S)) - (s * a - eta * P) - w * (a - eta * S)
    one_step_more(begins)
    require(sympy.expand(one_more) == 0, "the sum of one client more")
    require(sympy.expand(total * a - eta * P - a + eta * P) == 0, "the move of all clients")
    for number in positive_sizes(clients):
        w = list(sympy.symbols(f"w1:{number}"))
        w.append(total - sum(w))
        slopes = [sympy.symbols(f"g{k}_0:{number + 2}") for k in range(number)]
        steps = number + 1
        moved = sum(p * (a - eta * sum(g[:steps])) for p, g in zip(w, slopes, strict=True)) - a
        means = sum(p * sum(g[begins : begins + steps]) / steps for p, g in zip(w, slopes, strict=True))
        require(sympy.expand(moved + eta * steps * means) == 0, f"{number} clients of {steps} steps")
    return (
        "the mean of the clients' moves, with weights of sum 1, each the sum of its steps; for any "
        "number of clients and of steps by induction"
    )


@proof("fedloru-v2/eq-61-62@averages-of-the-local-steps")
def of_all_clients(begins: int = 0, total: Fraction = Fraction(1), clients: tuple[int, ...] = (1, 2, 3)) -> str:
    r"""With weights of sum 1, $\sum_kp^{(k)}A_{t,E}^{(k)} - A_t = \sum_kp^{(k)}(A_{t,E}^{(k)} - A_t)$; so for B.

    Each client starts from the server's A and moves by $-\eta E$ times the mean of its gradients at i = 0..E-1.
    """
    return mean_of_moves(begins, total, clients)


@proof("fedloru-v2/eq-61-62")
def eq_61_62(begins: int = 0, total: Fraction = Fraction(1), clients: tuple[int, ...] = (1, 2, 3)) -> str:
    r"""With weights of sum 1, $\sum_kw_kA_E^{(k)} - A = \sum_kw_k(A_E^{(k)} - A)$, and (59) for each of the cohort.

    Each client of the cohort starts from the server's A and moves by $-\eta E$ times the mean of its gradients at
    i = 0..E-1; the server's move is the mean of these with the weights of the cohort.
    """
    return mean_of_moves(begins, total, clients)


@proof("fedloru-v2/eq-78-79")
def eq_78_79(begins: int = 0, rounds: tuple[int, ...] = (1, 2, 7)) -> str:
    r"""By induction over T: $(f_s - f_{s+T}) + (f_{s+T} - f_{s+T+1}) = f_s - f_{s+T+1}$, for s = 0 and for s = 1.

    Then (77) in each round, $f \ge f^\star$, and the least of T numbers, which is at most their mean.
    """
    for number in positive_sizes(rounds):
        f = sympy.symbols(f"f0:{number + 2}")
        sums = [sum(f[t] - f[t + 1] for t in range(s, s + number)) for s in (begins, 1)]
        require(sympy.expand(sums[0] - (f[0] - f[number])) == 0, f"the sum from 0 over {number} rounds")
        require(sympy.expand(sums[1] - (f[1] - f[number + 1])) == 0, f"the sum from 1 over {number} rounds")
    return "both sums by induction over the rounds; $f \\ge f^\\star$"
