"""Appendix B, before its lemmas: local and global updates (eqs. (59) to (62)) and the restart.

Setting: `shared.sums`.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import sympy

from paper_checks.fedloru.replays.shared.factor_symbols import W, alpha, factors_of
from paper_checks.fedloru.replays.shared.local_steps import a, eta, positive_sizes
from paper_checks.replay import Hypothesis, Violation, assuming, proof, replay, require
from paper_checks.stored_values import Values, followed, fractions

QUADRATIC = "the model is one weight w = W + AB with the loss L w^2/2, which holds within the zone, and E = steps. "


def mean_step(values: Values) -> tuple[Fraction, Fraction, tuple[Hypothesis, ...]]:
    """Return how far the mean step in A of E steps on L w^2/2 is from the gradients' mean over i = 1..E; and eta E."""
    L, zone, W, A, B, rate = fractions(values, "L", "zone", "W", "A", "B", "rate")
    E, start, weights, later = followed(values, "steps"), A, list[Fraction](), list[Fraction]()
    assumes = assuming(
        Hypothesis("L", L, ">", 0), Hypothesis("learning rate", rate, ">", 0), Hypothesis("steps E", E, ">=", 1)
    )
    for i in range(E + 1):
        weights.append(W + A * B)
        slope = L * weights[-1]
        if i > 0:
            later.append(slope * B)
        if i < E:
            A, B = A - rate * slope * B, B - rate * slope * A
    assumes += (Hypothesis("largest |w|, where the loss is quadratic", max(map(abs, weights)), "<=", zone),)
    return abs((start - A) / (rate * E) - sum(later, Fraction(0)) / E), rate * E, assumes


@replay("fedloru-v2/eq-59-60")
def eq_59_60_as_printed(values: Values) -> Violation:
    """Compare the whole move of A over eta E with the mean gradient with the printed indices."""
    apart, _, assumes = mean_step(values)
    return Violation(
        apart,
        0,
        assumes=assumes,
        reads=QUADRATIC + "We compute the distance of the mean step in A from the printed mean",
    )


def one_step_more(begins: int) -> None:
    """Step E, in the move and in the sum of the gradients: by induction, for any number of steps."""
    g, E = sympy.Function("g"), sympy.Symbol("E")
    require(sympy.expand(-eta * g(E) + eta * g(begins + E)) == 0, "the sum of one step more")


@proof("fedloru-v2/eq-59-60")
def eq_59_60(begins: int = 0, steps: tuple[int, ...] = (1, 2, 5)) -> str:
    r"""The sum of E steps, each along the gradient at its start.

    Step i is $A_{i+1} - A_i = -\eta\nabla_i$ for i = 0..E-1, so $A_E - A_0 = -\eta\sum_{i=0}^{E-1}\nabla_i$, which is
    $-\eta E$ times the mean of these gradients; by induction over E, since one step more adds the same gradient on both
    sides. The printed sum, from i = 1 on, contains a gradient that no step uses.
    """
    one_step_more(begins)
    for number in positive_sizes(steps):
        slopes = sympy.symbols(f"g0:{number + 1}")
        moved = -eta * sum(slopes[:number])
        mean = sum(slopes[begins : begins + number]) / number
        require(sympy.expand(moved + eta * number * mean) == 0, f"the sum of {number} steps")
    return "by induction for any E, the change is the sum of the steps, each along the gradient at its start"


@replay("fedloru-v2/eq-61-62")
def eq_61_62_as_printed(values: Values) -> Violation:
    """Evaluate the change of A at the server, which has one client of weight 1: eta E times the mean step."""
    apart, scale, assumes = mean_step(values)
    return Violation(
        scale * apart,
        0,
        assumes=assumes,
        reads=QUADRATIC + "With one client, we compute the distance of the change of A from the printed change",
    )


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
        "by induction for any number of clients and steps, the change is the mean of the clients' moves, with weights "
        "of sum 1, and each move is the sum of its steps"
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


@proof("fedloru-v2/claim-reinit")
def claim_reinit(accumulated: Fraction = Fraction(1)) -> str:
    r"""The models are the same matrix, so every function of the model is the same.

    $W_{t+1} + \bar A\bar B = W_t + AB + 0$, by $W_{t+1} = W_t + AB$ and $\bar A\bar B = 0$; likewise with
    $\alpha AB$. Without $\bar A\bar B = 0$ the models differ by it: the loss $\|X - W_{t+1}\|_F^2$ is 0 at one and
    $\|\bar A\bar B\|_F^2$ at the other.
    """
    ((A, B), (new_A, new_B)) = factors_of(2)
    before, after = W + alpha * A * B, W + accumulated * alpha * A * B + alpha * new_A * new_B
    require(sympy.expand(after - before).subs(new_B, 0) == 0, "B restarts at 0")
    require(sympy.expand(after - before).subs(new_A, 0) == 0, "A restarts at 0")
    require(sympy.expand(after - before - alpha * new_A * new_B) == 0, "any restart of product 0")
    return "the models before and after the accumulation are the same matrix"
