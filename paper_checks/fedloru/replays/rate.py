"""Replays of the claims in ``rate``, whose gradient is the same for every length, and of scales other than 1."""

from __future__ import annotations

from fractions import Fraction

from paper_checks.enclosures import rational_root
from paper_checks.replay import Hypothesis, Violation, assuming, replay
from paper_checks.stored_values import Values, followed, fractions


@replay("fedloru-v2/thm-4.2-rate")
def thm_4_2_rate_as_printed(values: Values) -> Violation:
    """The square of the mean gradient, least over all rounds, against the corrected bound at eta_0 / sqrt(T).

    One client a round, uniformly; it moves A by 0 and B by -eta A (w - target), the printed weight multiplies both, and
    their product is added to w. The start has sum p^2 (w - target) = 0, so that the mean of w stays where it is for
    every T, whatever eta: this is what no bound of order T^(-1/2) allows.
    """
    shares, targets = ([Fraction(text) for text in values[name].split()] for name in ("shares", "targets"))
    W, A, eta_0 = fractions(values, "W", "A", "eta_0")
    T = followed(values, "rounds", 144)
    root = rational_root(Fraction(T))
    assumes = assuming(
        Hypothesis("number of targets, against that of shares", len(targets), "=", len(shares)),
        Hypothesis("sum of the shares", sum(shares), "=", 1),
        Hypothesis("least share", min(shares), ">", 0),
        Hypothesis("start, against the least target", W, ">=", min(targets)),
        Hypothesis("start, against the largest target", W, "<=", max(targets)),
        Hypothesis("A", A, ">", 0),
        Hypothesis("eta_0", eta_0, ">", 0),
    )
    rate = eta_0 / root
    pull = sum(p**2 * (W - c) for p, c in zip(shares, targets, strict=True))
    assumes += assuming(
        Hypothesis("rate times A^2", rate * A**2, "<=", 1),
        Hypothesis("sum of p^2 (w - target) at the start, for a value that is the same for every T", pull, "=", 0),
    )
    least_at = sum(p * c for p, c in zip(shares, targets, strict=True))
    w, gaps = W, list[Fraction]()
    for _ in range(T):
        gaps.append((w - least_at) ** 2 * A**2)
        w -= rate * A**2 * sum(p**2 * (w - c) for p, c in zip(shares, targets, strict=True)) / len(shares)
    G = max(targets) - min(targets)
    C_B = rate * A * G
    Q = G * A * C_B + (A**2 + C_B**2) ** 2 / 2
    Delta_0, K_1 = (W - least_at) ** 2 / 2, Fraction(4, 3) * G**2 * Q
    return Violation(
        min(gaps),
        (Fraction(4, 3) * Delta_0 / eta_0 + K_1 * eta_0) / root,
        assumes=assumes,
        given={"Delta_0": Delta_0, "K_1 = 4/3 G^2 (G C_A C_B + L/2 (C_A^2 + C_B^2)^2)": K_1},
        reads=f"losses (w - target)^2/2, linear beyond |w - target| = {G}; one client a round, drawn "
        "uniformly, one step, restart at A and B = 0 after each round; square of the mean gradient in B, "
        "the same for every T, against 4 Delta_0/(3 eta T) + K_1 eta of the corrected theorem for this T, "
        f"with E = L = 1, G = {G}, C_A = {A}, C_B = eta A G",
    )


@replay("fedloru-v2/thm-4.2-rate@factors-that-go-on")
def factors_that_go_on_as_read(values: Values) -> Violation:
    r"""The loss is chosen for T: its slope is 1 and -1 by turns at the starts of the rounds, and linear in between.

    A round multiplies both factors by $1 - \eta s$, where s is the slope, and moves the model from
    $W + A^2$ to $W + 2A_+^2$, so that the starts are $2A_+^2 - A^2$ apart. Two rounds multiply $A^2$ by
    $(1 - \eta^2)^2$, and $(1 - \eta^2)^T \ge 1 - \eta_0^2$. So for this and every larger T $A^2$ lies between
    $(1 - \eta)^2(1 - \eta_0^2)$ and 1, starts are at least $(1 - \eta_0^2)(2(1 - \eta)^2 - 1)$ and at most 2 apart.
    Beyond them the slope goes to 0 over a length of 1, so that the least value is below that at the start by a triangle
    of height 1 over half of a gap, or over an end, at most.
    """
    eta_0, T = Fraction(values["eta_0"]), followed(values, "rounds", 144)
    assumes = assuming(Hypothesis("rounds", T, ">=", 1))
    root = rational_root(Fraction(T))
    rate = eta_0 / root
    apart = (1 - eta_0**2) * (2 * (1 - rate) ** 2 - 1)
    assumes += (
        Hypothesis("eta_0", eta_0, ">", 0),
        Hypothesis("eta_0", eta_0, "<", 1),
        Hypothesis("distance of two starts, at least", apart, ">", 0),
    )
    A, found = Fraction(1), list[Fraction]()
    for t in range(T):
        found.append(2 * A**2)
        A *= 1 - rate * (-1) ** t
    L = max(2 / apart, Fraction(1)) if apart > 0 else Fraction(1)
    K_1, Delta_0 = Fraction(4, 3) * (1 + 2 * L), Fraction(1, 2)
    return Violation(
        min(found),
        (Fraction(4, 3) * Delta_0 / eta_0 + K_1 * eta_0) / root if eta_0 > 0 else min(found),
        assumes=assumes,
        given={
            "L, for this and every larger T": L,
            "Delta_0, at most": Delta_0,
            "K_1 = 4/3 (1 + 2L)": K_1,
            "least squared gradient, at least, for this and every larger T": 2 * (1 - rate) ** 2 * (1 - eta_0**2),
        },
        reads="one client and weight, one local step and one accumulation a round, A = B = 1 and W = 0, slopes 1 and "
        "-1 by turns at the starts of the rounds: least squared gradient in the factors, against 4 Delta_0/(3 eta T) + "
        "K_1 eta of the corrected theorem for this T, with E = G = C_A = C_B = 1",
    )


@replay("fedloru-v2/thm-4.2-rate@of-the-gradient-in-w")
def gradient_in_W(values: Values) -> Violation:
    """The squared gradient in W of a run that does not move, against the corrected bound at eta_0 / sqrt(T).

    With W = 0 and B = 0 the gradient in A is 0, and that in B is A^T times the gradient in W. A restart at the same A
    and B = 0 changes nothing.
    """
    target, A = ([Fraction(text) for text in values[name].split()] for name in ("target", "A"))
    C_B, eta_0 = fractions(values, "C_B", "eta_0")
    T = int(values["rounds"])
    assumes = assuming(
        Hypothesis("rows of A", len(A), "=", 2),
        Hypothesis("entries of the target", len(target), "=", 4),
        Hypothesis("C_B", C_B, ">", 0),
        Hypothesis("eta_0", eta_0, ">", 0),
        Hypothesis("rounds", T, ">=", 1),
    )
    root = rational_root(Fraction(T))
    in_B = sum((A[0] * target[j] + A[1] * target[2 + j]) ** 2 for j in range(2))
    square, size = (sum((x**2 for x in entries), Fraction(0)) for entries in (target, A))
    assumes += assuming(Hypothesis("squared gradient in B", in_B, "=", 0))
    G, C_A = rational_root(square), rational_root(size)
    Q = G * C_A * C_B + (C_A**2 + C_B**2) ** 2 / 2
    bound = (Fraction(2, 3) * square / eta_0 + Fraction(4, 3) * G**2 * Q * eta_0) / root
    return Violation(
        square,
        bound,
        assumes=assumes,
        reads="one client, loss |W - target|^2/2 of 2 x 2 weights, linear farther out, W = 0 and B = 0: "
        "nothing moves; squared gradient in W, the same for every T, against the corrected bound for this "
        "T, with E = 1, G = |target|, C_A = |A|",
    )


@replay("fedloru-v2/claim-alpha-ext")
def claim_alpha_ext_as_printed(values: Values) -> Violation:
    """Both sides of (9) with the printed constants, with L, G and sigma of the loss as a function of AB.

    The loss is L w^2/2 up to |w| = zone and linear beyond, w = W + alpha AB; its least value is 0. There is no noise.
    """
    L, zone, W, A, B, rate, share, alpha = fractions(values, "L", "zone", "W", "A", "B", "rate", "share", "alpha")
    E, T = followed(values, "steps"), followed(values, "rounds")
    positive = {"L": L, "zone z": zone, "learning rate": rate, "sigma^2, as a share of G^2": share}
    assumes = assuming(
        *(Hypothesis(name, value, ">", 0) for name, value in positive.items()),
        Hypothesis("alpha", alpha, "!=", 0),
        Hypothesis("steps E", E, "=", 1),
        Hypothesis("rounds T", T, ">=", 1),
    )
    w = abs(W + alpha * A * B)
    above = L * w**2 / 2 if w <= zone else L * zone * (w - zone / 2)
    total, C_A, C_B = Fraction(0), abs(A), abs(B)
    for _ in range(T):
        slope = alpha * L * max(min(W + alpha * A * B, zone), -zone)
        total += slope**2 * (A**2 + B**2)
        A, B = A - rate * slope * B, B - rate * slope * A
        C_A, C_B = max(C_A, abs(A)), max(C_B, abs(B))
    curvature, G2 = alpha**2 * L, (alpha * L * zone) ** 2
    s2 = (1 + share) * G2
    brace = (curvature * C_B**2 + curvature**2 * C_A**2 * C_B**2 + G2) / 2 + (1 + curvature * C_A**2 / 2) * C_A**2
    D = s2 * (6 * C_A**2 * C_B**2 * (1 + rate**2 * s2) + G2)
    bound = 4 * above / (3 * rate * T) + Fraction(8, 3) * s2 * brace * rate
    return Violation(
        total / T,
        bound + Fraction(16, 3) * D * (C_A**2 + C_B**2) * rate**2,
        assumes=assumes,
        reads="one weight w = W + alpha AB with loss L w^2/2 up to |w| = zone, linear beyond, E = steps = 1, T = "
        "rounds, sigma^2 = share G^2; mean squared gradient in the factors, against (9) with alpha^2 L, |alpha| G and "
        "alpha sigma in the place of L, G and sigma",
    )
