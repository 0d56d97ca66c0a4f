"""Replays of the claims in ``communication``, ``accumulated_rank`` and ``computation``."""

from __future__ import annotations

from fractions import Fraction

from paper_checks.replay import Hypothesis, Violation, assuming, replay
from paper_checks.stored_values import Values, fractions


@replay("fedloru-v2/claim-comm")
def claim_comm_as_printed(values: Values) -> Violation:
    """Numbers of both factors against those of the matrix, at a rank of at most a hundredth of one side."""
    m, n, r = (int(values[name]) for name in ("m", "n", "r"))
    factors = sum(1 for _ in range(m * r)) + sum(1 for _ in range(r * n))
    assumes = (
        Hypothesis("r", r, ">=", 1),
        Hypothesis("r, against the shorter side", r, "<=", min(m, n)),
        Hypothesis("100 r, against the longer side", 100 * r, "<=", max(m, n)),
    )
    return Violation(factors, m * n, assumes=assumes, strict=True, reads="numbers of A and B, and of W")


@replay("fedloru-v2/claim-mcomm")
def claim_mcomm_as_printed(values: Values) -> Violation:
    """Numbers that a client receives and sends with nested matrices, against both ways of the whole matrix."""
    m, n, r, a, b = (int(values[name]) for name in ("m", "n", "r", "r_A", "r_B"))
    shapes = ((m, r), (r, n), (m, a), (a, r), (r, b), (b, n))
    assumes = (
        Hypothesis("r_A", a, ">=", 1),
        Hypothesis("r_B", b, ">=", 1),
        Hypothesis("larger of r_A and r_B, against r", max(a, b), "<", r),
        Hypothesis("r, against the smaller side", r, "<=", min(m, n)),
    )
    return Violation(
        sum(rows * columns for rows, columns in shapes),
        2 * m * n,
        assumes=assumes,
        strict=True,
        reads="numbers of A, B, A_d, A_u, B_d and B_u, and twice those of W",
    )


@replay("fedloru-v2/claim-noextra")
def claim_noextra_as_printed(values: Values) -> Violation:
    """Operations of one linear layer in a round: FedLoRU's local steps alone, and all that FedHM does.

    A product of p x q by q x s takes 2pqs. FedHM's server multiplies what comes back and decomposes W once, with at
    most 30 mn min(m, n) operations (Golub and Van Loan: 14 mn^2 + 8 n^3 for m >= n).
    """
    m, n, r, b, M, E = (int(values[name]) for name in ("m", "n", "r", "b", "clients", "steps"))
    assumes = [Hypothesis(f"{name}", int(values[name]), ">=", 1) for name in ("r", "b", "clients", "steps")]
    assumes.append(Hypothesis("r, against the smaller side", r, "<", min(m, n)))
    # x B^T, its product with A^T; the gradients of A and of what went into it, of B and of x.
    factors = sum(2 * b * p * q for p, q in ((n, r), (r, m), (r, m), (r, m), (n, r), (n, r)))
    frozen = 2 * b * n * m + 2 * b * m * n  # x W^T, and the gradient of x
    fedhm = M * E * factors + M * 2 * m * r * n + 30 * m * n * min(m, n)
    reads = (
        "operations of one linear layer in a round, products of p x q by q x s counted as 2pqs: FedLoRU's local steps "
        "of (4mn + 6r(m+n))b each, against all of FedHM, steps of 6r(m+n)b, 2mnr for each client and at most "
        "30 mn min(m, n) for a decomposition (Golub and Van Loan: 14 mn^2 + 8 n^3 for m >= n)"
    )
    return Violation(M * E * (factors + frozen), fedhm, assumes=assumes, reads=reads)


@replay("fedloru-v1/eq-14")
def eq_14_as_printed(values: Values) -> Violation:
    """The determinant of a 2 x 2 matrix A, which for a product of inner size 1 is 0."""
    a, b, c, d = fractions(values, "A11", "A12", "A21", "A22")
    return Violation(
        abs(a * d - b * c),
        0,
        reads="A is 2 x 2, r = 2, r_A = 1: size of the determinant of A, which is 0 for every product of "
        "a 2 x 1 and a 1 x 2 matrix",
    )


@replay("fedloru-v2/eq-83")
def eq_83_as_printed(values: Values) -> Violation:
    """The model of (82) against that of the factors of (83): m = n = 1, r = 2, nested ranks 1."""
    A1, A2, B1, B2, p, q1, q2, u1, u2, v = fractions(values, "A1", "A2", "B1", "B2", "p", "q1", "q2", "u1", "u2", "v")
    a, b = fractions(values, "a", "b")
    left, right = (A1 + a * p * q1, A2 + a * p * q2), (u1 * v, u2 * v)
    trained = left[0] * (B1 + b * right[0]) + left[1] * (B2 + b * right[1])
    recovered = left[0] * (B1 + a * right[0]) + left[1] * (B2 + a * right[1])
    return Violation(
        abs(trained - recovered),
        0,
        given={"trained": trained, "recovered": recovered},
        reads="A = (A1, A2), B = (B1, B2), A_d = p, A_u = (q1, q2), B_d = (u1, u2), B_u = v, "
        "scales a and b; difference of the two models",
    )


@replay("fedloru-v2/claim-rank-growth")
def claim_rank_growth_as_printed(values: Values) -> Violation:
    """Two cycles of one step on |W - C|^2 / 2 from W = 0 with B = 0: the rank of W, 2 x 2, after each."""
    C, numbers = ([Fraction(text) for text in values[name].split()] for name in ("target", "A"))
    rate, rounds = Fraction(values["rate"]), int(values["rounds"])
    assumes = assuming(
        Hypothesis("learning rate", rate, ">", 0),
        Hypothesis("entries of the target", len(C), "=", 4),
        Hypothesis("entries of A in both cycles", len(numbers), "=", 4),
        Hypothesis("cycles of one round", rounds, "=", 2),
    )
    W, ranks = [Fraction(0)] * 4, []
    for A in (numbers[:2], numbers[2:]):
        slope = [w - c for w, c in zip(W, C, strict=True)]
        # With B = 0 the gradient in A is 0, and that in B is A^T times that in W.
        B = [-rate * (A[0] * slope[0] + A[1] * slope[2]), -rate * (A[0] * slope[1] + A[1] * slope[3])]
        W = [W[0] + A[0] * B[0], W[1] + A[0] * B[1], W[2] + A[1] * B[0], W[3] + A[1] * B[1]]
        ranks.append(2 if W[0] * W[3] != W[1] * W[2] else int(any(W)))
    return Violation(
        ranks[0] + 1,
        ranks[1],
        assumes=assumes,
        reads="loss |W - target|^2/2, 2 x 2 by rows, from W = B = 0, in each cycle one step, with "
        "A = (1, 1), then (1, -2); rank after the first cycle plus 1, and after the second",
    )
