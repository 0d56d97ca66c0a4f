"""Replays of ``accumulation``, ``fine_tuning`` and ``variants``: runs with one weight, followed in fractions."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from paper_checks.replay import Hypothesis, Violation, replay
from paper_checks.stored_values import Values, followed, fractions

ONE_WEIGHT = "one weight w = W + alpha A B with loss (w - target)^2/2, one step of both factors a round; "
REACHED = "distance of the returned model from the one reached in round T"
EITHER = f"{REACHED}, the smaller one of W as at the start and W as the box has updated it"


@dataclass
class Single:
    """One weight and one client with loss (w - target)^2 / 2; one step in both factors a round, at once."""

    W: Fraction
    A: Fraction
    B: Fraction
    target: Fraction
    alpha: Fraction
    rate: Fraction

    def step(self, extra: Fraction = Fraction(0)) -> None:
        """Eq. (7), with something else in the model."""
        slope = self.rate * self.alpha * (self.W + self.alpha * self.A * self.B + extra - self.target)
        self.A, self.B = self.A - slope * self.B, self.B - slope * self.A


def start(values: Values, most: int = 8) -> tuple[Single, int, int, list[Hypothesis]]:
    """The run, tau, T, and what is assumed; at most so many rounds are followed."""
    single = Single(*fractions(values, "W", "A", "B", "target", "alpha", "rate"))
    tau, T = int(values["tau"]), followed(values, "rounds", most)
    assumes = [
        Hypothesis("tau", tau, ">=", 1),
        Hypothesis("T, against tau", T, ">=", tau),
        Hypothesis("learning rate", single.rate, ">", 0),
    ]
    return single, max(tau, 1), T, assumes


def listing(values: Values) -> Violation:
    """How far the model is, right after an accumulation, from the one that was reached by training: no restart."""
    run, tau, T, assumes = start(values)
    gaps = [Fraction(0)]
    for t in range(1, T + 1):
        run.step()
        if t % tau == 0 and t < T:
            trained = run.W + run.alpha * run.A * run.B
            run.W += run.alpha * run.A * run.B
            gaps.append(abs(run.W + run.alpha * run.A * run.B - trained))
    return Violation(
        max(gaps),
        0,
        assumes=assumes,
        reads=ONE_WEIGHT + "distance of the model that training goes on from after an accumulation, with "
        "alpha A B in W and beside it, from the one that was reached",
    )


@replay("fedloru-v2/alg-1")
def alg_1(values: Values) -> Violation:
    """The listing."""
    return listing(values)


@replay("fedloru-v2/alg-1-fine-tune")
def fine_tune(values: Values) -> Violation:
    """The share of the model in one stored pair of rank 16, rounded down, times their number, against the model."""
    share, pairs = Fraction(values["share"]), int(values["accumulations"])
    assumes = [
        Hypothesis("share of a pair in per cent, as printed for rank 16", share, "=", Fraction("0.248")),
        Hypothesis("accumulations", pairs, ">=", 1),
    ]
    return Violation(
        pairs * (share - Fraction(1, 2000)),
        100,
        assumes=assumes,
        reads="stored pairs in per cent of the model, each with its share rounded down",
    )


@replay("fedloru-v2/sec-4-jointly")
def sec_4_jointly_as_printed(values: Values) -> Violation:
    """As listed, the accumulated product counts twice from then on."""
    return listing(values)


@replay("fedloru-v2/sec-4-jointly@with-sums-over-all-clients")
def sec_4_jointly_over_all(values: Values) -> Violation:
    """The same: one client is all."""
    return listing(values)


@replay("fedloru-v1/alg-1")
def alg_1_v1(values: Values) -> Violation:
    """As in the newest version."""
    return listing(values)


@replay("fedloru-iclr/alg-1")
def alg_1_iclr(values: Values) -> Violation:
    """As in the newest version."""
    return listing(values)


@replay("fedloru-v2/alg-2")
def alg_2(values: Values) -> Violation:
    """The listing of pFedLoRU: what is returned against the model of the last round."""
    run, tau, T, assumes = start(values, most=5)  # digits multiply faster with two pairs of factors
    L, U, own = fractions(values, "L", "U", "personal_alpha")
    W_0, products, trained = run.W, Fraction(0), run.W
    for t in range(1, T + 1):
        slope = run.W + run.alpha * run.A * run.B + own * L * U - run.target  # eq. (80)
        L, U = L - run.rate * slope * own * U, U - run.rate * slope * own * L
        run.step(own * L * U)  # eq. (81)
        trained = run.W + run.alpha * run.A * run.B + own * L * U
        if t % tau == 0:
            run.W += run.alpha * run.A * run.B
            products += run.A * run.B
    return Violation(
        min(abs(W + products + L * U - trained) for W in (W_0, run.W)),
        0,
        assumes=assumes,
        reads="w = W + alpha A B + personal_alpha L U with loss (w - target)^2/2, a step in L, U, then in A, B; "
        + EITHER,
    )


@replay("fedloru-v2/alg-3")
def alg_3(values: Values) -> Violation:
    """The listing of mFedLoRU with a client that opts out: what is returned against the model of the last round."""
    run, tau, T, assumes = start(values)
    W_0, products, trained = run.W, Fraction(0), run.W
    for t in range(1, T + 1):
        run.step()
        trained = run.W + run.alpha * run.A * run.B
        if t % tau == 0:
            run.W += run.alpha * run.A * run.B
            products += run.A * run.B
    apart = min(abs(W + products - trained) for W in (W_0, run.W))
    return Violation(apart, 0, assumes=assumes, reads=ONE_WEIGHT + EITHER)


@replay("fedloru-v2/alg-4")
def alg_4(values: Values) -> Violation:
    """pFedLoRA, its first variant: what is returned against the model that the steps descend in."""
    W, target, rate, L, U, own = fractions(values, "W", "target", "rate", "L", "U", "personal_alpha")
    T = followed(values, "rounds")
    for _ in range(T):
        slope = W + own * L * U - target  # eq. (84)
        L, U = L - rate * slope * own * U, U - rate * slope * own * L
        W -= rate * (W + own * L * U - target)  # eq. (85)
    return Violation(
        abs(L * U - own * L * U),
        0,
        assumes=[Hypothesis("T", T, ">=", 1), Hypothesis("learning rate", rate, ">", 0)],
        reads="w = W + personal_alpha L U with loss (w - target)^2/2, a step in L, U, then in W; " + REACHED,
    )
