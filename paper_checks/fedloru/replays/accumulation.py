"""Replays of the claims in ``accumulation`` and ``personal``: runs with one weight, followed in fractions."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from paper_checks.replay import Violation, replay
from paper_checks.stored_values import Values, fractions

ONE_WEIGHT = "one weight w = W + alpha A B with loss (w - target)^2/2, one step of both factors a round; "
PERSONAL = "w = W + alpha A B + personal_alpha L U with loss (w - target)^2/2, a step in L, U, then in A, B; "
PERSONAL_WEIGHT = "w = W + personal_alpha L U with loss (w - target)^2/2, a step in L, U, then in W; "


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
        slope = self.W + self.alpha * self.A * self.B + extra - self.target
        self.A, self.B = (
            self.A - self.rate * slope * self.alpha * self.B,
            self.B - self.rate * slope * self.alpha * self.A,
        )


def start(values: Values) -> tuple[Single, int, int, str]:
    """The run, tau, T, and what is wrong with them."""
    single = Single(*fractions(values, "W", "A", "B", "target", "alpha", "rate"))
    tau, T = int(values["tau"]), int(values["rounds"])
    unmet = "" if tau >= 1 and tau <= T and single.rate > 0 else "tau >= 1, T >= tau, a positive rate"
    return single, tau, T, unmet


@replay("fedloru-v2/alg-1")
def alg_1(values: Values) -> Violation:
    """The listing: no restart; what is returned has the products at multiples of tau only."""
    return listing(values, text_over_all=False)


@replay("fedloru-v1/alg-1")
def alg_1_v1(values: Values) -> Violation:
    """As in the newest version."""
    return listing(values, text_over_all=False)


@replay("fedloru-iclr/alg-1")
def alg_1_iclr(values: Values) -> Violation:
    """As in the newest version, with the text's sum over all rounds."""
    return listing(values, text_over_all=True)


def listing(values: Values, text_over_all: bool) -> Violation:
    """How far the broken promise is from being kept."""
    run, tau, T, unmet = start(values)
    W_0, products, returned = run.W, [], run.W
    gaps = {"continue": Fraction(0), "returned": Fraction(0), "text": Fraction(0)}
    trained = W_0
    for t in range(1, T + 1):
        run.step()
        products.append(run.A * run.B)
        trained = run.W + run.alpha * run.A * run.B
        if t % tau == 0:
            run.W += run.alpha * run.A * run.B
            returned += run.alpha * run.A * run.B
            if t < T:
                gaps["continue"] = max(gaps["continue"], abs(run.W + run.alpha * run.A * run.B - trained))
    gaps["returned"] = abs(returned - trained)
    chosen = [p for t, p in enumerate(products, 1) if text_over_all or t % tau == 0]
    gaps["text"] = abs(W_0 + sum(chosen) - returned)
    which = {"after": "continue", "the returned": "returned", "the formula": "text"}
    promise = str(values["promise"])
    broken = next(gaps[short] for begins, short in which.items() if promise.startswith(begins))
    return Violation(broken, Fraction(0), unmet=unmet, reads=ONE_WEIGHT + promise)


@replay("fedloru-v2/alg-2")
def alg_2(values: Values) -> Violation:
    """The listing of pFedLoRU: what is returned against the model of the last round."""
    run, tau, T, unmet = start(values)
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
        abs(W_0 + products + L * U - trained), Fraction(0), unmet=unmet, reads=PERSONAL + str(values["promise"])
    )


@replay("fedloru-v2/alg-3")
def alg_3(values: Values) -> Violation:
    """The listing of mFedLoRU with a client that opts out: what is returned against the model of the last round."""
    run, tau, T, unmet = start(values)
    W_0, products, trained = run.W, Fraction(0), run.W
    for t in range(1, T + 1):
        run.step()
        trained = run.W + run.alpha * run.A * run.B
        if t % tau == 0:
            run.W += run.alpha * run.A * run.B
            products += run.A * run.B
    return Violation(abs(W_0 + products - trained), Fraction(0), unmet=unmet, reads=ONE_WEIGHT + str(values["promise"]))


@replay("fedloru-v2/alg-4")
def alg_4(values: Values) -> Violation:
    """pFedLoRA, its first variant: what is returned against the model that the steps descend in."""
    run, _, T, unmet = start(values)
    L, U, own = fractions(values, "L", "U", "personal_alpha")
    if values["jointly"]:
        unmet = "the first variant"
    for _ in range(T):
        slope = run.W + own * L * U - run.target  # eq. (84)
        L, U = L - run.rate * slope * own * U, U - run.rate * slope * own * L
        run.W -= run.rate * (run.W + own * L * U - run.target)  # eq. (85)
    return Violation(abs(L * U - own * L * U), Fraction(0), unmet=unmet, reads=PERSONAL_WEIGHT + str(values["promise"]))
