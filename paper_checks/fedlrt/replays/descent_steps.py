r"""Proofs of the two bounds in the proof of Theorem 7, and a replay of a line in that of Theorem 8.

L = 1, and all is in the coefficients of the wide bases, from the start of the round. g is the global gradient there.
After k steps client c is at $e_{c,k}$, with $e_{c,0} = 0$ and $e_{c,k+1} = e_{c,k} - \lambda(g + D_{c,k})$, where
$D_{c,k}$ is how much its own gradient at $e_{c,k}$ differs from that at the start, so that $|D_{c,k}| \le |e_{c,k}|$.
The mean of the clients' ends after s steps is $w = -s\lambda g - \frac\lambda C\sum_{c,k}D_{c,k}$.
"""

from __future__ import annotations

from fractions import Fraction

from paper_checks.fedlrt.replays.worst_cases import WHOLES, CorrectedRound, rounds
from paper_checks.replay import Hypothesis, Violation, proof, replay, require
from paper_checks.stored_values import Values

ROUNDS = rounds(WHOLES)


@proof("fedlrt/thm-7-first-term")
def thm_7_first_term(drift: Fraction = Fraction(1), leading: Fraction = Fraction(1)) -> str:
    r"""The mean w of the clients' ends in the inner product with g, for any numbers of clients and steps, any rate.

    It is $\langle g, w\rangle + s\lambda|g|^2 = -\frac\lambda C\sum_{c,k}\langle g, D_{c,k}\rangle$. Each product is
    at most $|g||D_{c,k}| \le |g||e_{c,k}|$ by Cauchy and Schwarz, which gives the printed right side. The machine does
    the identity at some sizes: what is left of right minus left side is zero.
    """
    for clients, steps, step in ROUNDS:
        slack = CorrectedRound(clients, steps, step)
        slack.add(-1, slack.end, slack.g)
        slack.add(-leading * steps * step, slack.g, slack.g)
        for change in slack.on_the_way:
            slack.add(-drift * step / clients, slack.g, change)
        size = f"{clients} clients, {steps} steps of {step}"
        require(slack.non_negative(), f"the rest is not positive semidefinite at {size}")
    return (
        "for all sizes and rates by Cauchy and Schwarz; what is left of right minus left side by machine as "
        f"well, at {len(ROUNDS)} of them"
    )


@proof("fedlrt/thm-7-second-term")
def thm_7_second_term(square: Fraction = Fraction(1), leading: Fraction = Fraction(1)) -> str:
    r"""$\frac12|x + y|^2 \le |x|^2 + |y|^2$ (Lemma 5) for the two parts of the mean w of the clients' ends.

    They are $x = -s\lambda g$ and $y = -\frac\lambda C\sum_{c,k}D_{c,k}$. The square of a sum of sC vectors is at most
    sC times the sum of their squares (Lemma 6): $|y|^2 \le \frac{\lambda^2s}C \sum_{c,k}|D_{c,k}|^2 \le
    \frac{\lambda^2s}C\sum_{c,k}|e_{c,k}|^2$, for any sizes and rates. The machine finds the rest of right minus left
    side positive semidefinite at some sizes.
    """
    for clients, steps, step in ROUNDS:
        slack = CorrectedRound(clients, steps, step)
        slack.add(Fraction(-1, 2), slack.end, slack.end)
        slack.add(leading * (steps * step) ** 2, slack.g, slack.g)
        for change in slack.on_the_way:
            slack.add(square * step**2 * steps / clients, change, change)
        size = f"{clients} clients, {steps} steps of {step}"
        require(slack.non_negative(), f"the rest is not positive semidefinite at {size}")
    return (
        "for all sizes and rates by Lemmas 5 and 6; what is left of right minus left side by machine as "
        f"well, at {len(ROUNDS)} of them"
    )


@replay("fedlrt/thm-8-proof")
def thm_8_proof(values: Values) -> Violation:
    """The third term as derived, L^3 lambda^4 s^4, and as printed in the bracket, s lambda times (s lambda)^3 L^2."""
    steps, rate, L = int(values["steps"]), Fraction(values["rate"]), Fraction(values["L"])
    assumes = (
        Hypothesis("local steps", steps, ">=", 1),
        Hypothesis("L", L, ">", 0),
        Hypothesis("lambda", rate, ">", 0),
        Hypothesis("12 s lambda L", 12 * steps * rate * L, "<=", 1),
    )
    derived, printed = L**3 * rate**4 * steps**4, steps * rate * (steps * rate) ** 3 * L**2
    return Violation(
        abs(derived - printed),
        Fraction(0),
        assumes=assumes,
        reads="third term as derived, L^3 lambda^4 s^4, minus the one of the printed bracket, "
        "L^2 lambda^4 s^4, both over e^2 and |g|^2",
    )
