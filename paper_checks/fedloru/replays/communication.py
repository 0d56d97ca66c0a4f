"""Replays of the claims in ``communication`` and ``computation``."""

from __future__ import annotations

from fractions import Fraction

from paper_checks.replay import Violation, replay
from paper_checks.stored_values import Values, fractions


@replay("fedloru-v2/claim-comm")
def claim_comm(values: Values) -> Violation:
    """Numbers of both factors against those of the matrix, at a rank of at most a hundredth of one side."""
    m, n, r = (int(values[name]) for name in ("m", "n", "r"))
    unmet = "" if 1 <= r <= min(m, n) and (100 * r <= m or 100 * r <= n) else "r at most a hundredth of m or of n"
    factors = sum(1 for _ in range(m * r)) + sum(1 for _ in range(r * n))
    return Violation(Fraction(factors), Fraction(m * n), unmet=unmet, strict=True, reads="numbers of A and B, and of W")


@replay("fedloru-v2/def-commcost")
def def_commcost(values: Values) -> Violation:
    """Every message of Algorithm 1, one after the other, against the formula."""
    m, n, r, K, M, T, tau = (int(values[name]) for name in ("m", "n", "r", "K", "M", "T", "tau"))
    unmet = "" if min(m, n, r, T, tau) >= 1 and 1 <= M <= K and r <= min(m, n) else "sizes of at least 1, M <= K"
    sent = K * m * n  # "Server sends W_0 to each client"
    for t in range(1, T + 1):
        sent += M * (m * r + r * n)  # A and B to the cohort
        sent += M * (m * r + r * n)  # and back
        if t % tau == 0:
            sent += K * (m * r + r * n)  # "Server distributes A_t, B_t to all clients"
    formula = 2 * K * Fraction(M, K) * r * (m + n) * T
    return Violation(Fraction(sent), formula, unmet=unmet, reads="numbers that Algorithm 1 sends")


@replay("fedloru-v2/eq-83")
def eq_83(values: Values) -> Violation:
    """The model of (82) against that of the factors of (83): m = n = 1, r = 2, nested ranks 1."""
    A1, A2, B1, B2, p, q1, q2, u1, u2, v = fractions(values, "A1", "A2", "B1", "B2", "p", "q1", "q2", "u1", "u2", "v")
    a, b = fractions(values, "a", "b")
    left, right = (A1 + a * p * q1, A2 + a * p * q2), (u1 * v, u2 * v)
    trained = left[0] * (B1 + b * right[0]) + left[1] * (B2 + b * right[1])
    recovered = left[0] * (B1 + a * right[0]) + left[1] * (B2 + a * right[1])
    return Violation(abs(trained - recovered), Fraction(0), reads="difference of the two models")


@replay("fedloru-v2/claim-rank-growth")
def claim_rank_growth(values: Values) -> Violation:
    """Two cycles of one step on |W - C|^2 / 2 from W = 0 with B = 0: the rank of W, 2 x 2, after each."""
    C = [Fraction(text) for text in values["target"].split()]
    numbers = [Fraction(text) for text in values["A"].split()]
    (rate,) = fractions(values, "rate")
    unmet = "" if rate > 0 and len(C) == 4 and len(numbers) == 4 and int(values["rounds"]) == 2 else "two cycles, 2 x 2"
    W, ranks = [Fraction(0)] * 4, []
    for A in (numbers[:2], numbers[2:]):
        slope = [w - c for w, c in zip(W, C, strict=True)]
        # With B = 0 the gradient in A is 0, and that in B is A^T times that in W.
        B = [-rate * (A[0] * slope[0] + A[1] * slope[2]), -rate * (A[0] * slope[1] + A[1] * slope[3])]
        W = [W[0] + A[0] * B[0], W[1] + A[0] * B[1], W[2] + A[1] * B[0], W[3] + A[1] * B[1]]
        ranks.append(2 if W[0] * W[3] != W[1] * W[2] else int(any(W)))
    return Violation(Fraction(ranks[0] + 1), Fraction(ranks[1]), unmet=unmet,
                     reads="rank after the first accumulation plus 1, and after the second")  # fmt: skip


@replay("fedloru-v2/claim-noextra")
def claim_noextra(values: Values) -> Violation:
    """Operations of a round: both ways to train A and B, against training W and 30 m n min(m, n) for compression.

    A product of matrices of sizes p x q and q x s takes 2pqs.
    """
    m, n, r, b, steps = (int(values[name]) for name in ("m", "n", "r", "b", "steps"))
    unmet = "" if min(m, n, r, b, steps) >= 1 and r * (m + n) < m * n else "a rank that saves communication"

    def times(p: int, q: int, s: int) -> int:
        return 2 * p * q * s

    frozen = times(b, n, m) + times(b, m, n)  # output, and gradient in the input
    full = frozen + times(m, b, n)
    beside = frozen + times(b, n, r) + times(b, r, m)  # forward
    beside += times(b, m, r) + times(b, r, n) + times(m, b, r) + times(r, b, n)  # backward: inputs, then A and B
    merged = full + times(m, r, n) + times(m, n, r) + times(r, m, n)
    theirs = steps * full + 30 * m * n * min(m, n)
    return Violation(
        Fraction(steps * min(beside, merged)), Fraction(theirs), unmet=unmet, reads="operations of a round"
    )
