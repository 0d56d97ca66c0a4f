"""Section 4.1, practical advantages: what is sent and computed, and the rank that accumulates."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import sympy

from paper_checks.fedloru.replays.shared.factor_symbols import alpha, e, m, n, r
from paper_checks.proof_steps import non_negative
from paper_checks.replay import Hypothesis, Violation, assuming, proof, replay, require
from paper_checks.stored_values import Values


@proof("fedloru-v2/claim-comm")
def claim_comm(half: Fraction = Fraction(1, 2), sides: Fraction = Fraction(1)) -> str:
    r"""A has mr entries and B has rn; $mn/(m+n)$ is at least half of the smaller side.

    In a round each of the M clients receives A and B and sends its own. $r(m+n) < mn$ says $r < mn/(m+n)$. With $n = m
    + e$, $e \ge 0$, and $r < \frac12m$: $r(m+n) < \frac12m(2m+e) \le m(m+e)$. For $e = 0$ and $r = \frac12m$ both
    counts are equal, so no share above a half works. At the end of a cycle A and B go to all K clients, who add the
    product to their W.
    """
    wide = m + e
    require(sympy.expand(m * r + r * n - sides * r * (m + n)) == 0, "entries of A and B")
    require(non_negative(m * wide - half * m * (m + wide)), "half of the smaller side")
    require(sympy.expand((m * wide - r * (m + wide)).subs({e: 0, r: m / 2})) == 0, "equality at half of a square")
    require(64 * (576 + 64) == 40960 > 576 * 64 == 36864, "a layer at rank 64")
    return r"$m(m+e) - \frac12m(2m+e)$ has no negative coefficient, and it is 0 for $m = n = 2r$"


@proof("fedloru-v2/claim-comm@far-below-both-sides")
def claim_comm_both(half: Fraction = Fraction(1, 2), sides: Fraction = Fraction(1)) -> str:
    r"""$mn/(m+n)$ is at least half of the smaller side.

    A has mr entries and B has rn, so a client sends $r(m+n)$ numbers for mn. That is less for $r < mn/(m+n)$. With $n =
    m + e$, $e \ge 0$, and $r < \frac12m$: $r(m+n) < \frac12m(2m+e) \le m(m+e)$. For $e = 0$ and $r = \frac12m$ both
    counts are equal, so no share above a half works.
    """
    return str(claim_comm.evaluate(half, sides))


@replay("fedloru-v2/claim-comm")
def claim_comm_as_printed(values: Values) -> Violation:
    """Compare the sizes of both factors with the size of the matrix, at a rank of at most a hundredth of one side."""
    m, n, r = (int(values[name]) for name in ("m", "n", "r"))
    factors = sum(1 for _ in range(m * r)) + sum(1 for _ in range(r * n))
    assumes = (
        Hypothesis("r", r, ">=", 1),
        Hypothesis("r, against the shorter side", r, "<=", min(m, n)),
        Hypothesis("100 r, against the longer side", 100 * r, "<=", max(m, n)),
    )
    return Violation(
        factors,
        m * n,
        assumes=assumes,
        strict=True,
        reads="we compare the number of entries of A and B with the number of entries of W",
    )


def rows_of_one_sample() -> bool:
    r"""Return whether one local step on $\frac12|Wx - y|^2$ keeps the rows of B multiples of x: 2 x 2."""
    x, y, A, b = (sympy.Matrix(sympy.symbols(f"{name}1:3")) for name in "xyAb")
    merged = sympy.Matrix(2, 2, sympy.symbols("w1:5"))
    B = b[0] * x.T
    after = B - alpha * e * A.T * ((merged + alpha * A * B) * x - y) * x.T
    return bool((after * sympy.Matrix([-x[1], x[0]])).applyfunc(sympy.expand).is_zero_matrix)


def ranks(rows: int, columns: int, rank: int, steps: int, cycles: int, kept: bool = False) -> list[int]:
    r"""Return ranks of W after each cycle of steps of $\eta = \frac13$ on $\frac12\|W - C\|^2$, C ones on the diagonal.

    From W = 0; A starts a cycle at the unit vectors of the next places of the diagonal, or always of the first, B at 0.
    """
    C, found, short = sympy.eye(rows, columns), [], min(rows, columns)
    merged = sympy.zeros(rows, columns)
    for cycle in range(cycles):
        places = [(0 if kept else cycle * rank) + k for k in range(rank)]
        A = sympy.Matrix(rows, rank, lambda i, k, at=tuple(places): int(i == at[k] % short))
        B = sympy.zeros(rank, columns)
        for _ in range(steps):
            slope = merged + A * B - C
            A, B = A - slope * B.T / 3, B - A.T * slope / 3
        merged += A * B
        found.append(merged.rank())
    return found


def ranks_grow(sizes: Sequence[Sequence[int]], gain: int, per: Fraction, fewer: int) -> None:
    """Check the example, and the induction that makes it one for all sizes."""
    a, b, x, eta = sympy.symbols("a b x eta", positive=True)
    new_a, new_b = a + eta * x * b, b + eta * x * a
    moved = sympy.expand(new_a * new_b - a * b - eta * x * (a**2 + b**2) - eta**2 * x**2 * a * b)
    apart = sympy.expand(new_a**2 - new_b**2 - (a**2 - b**2) * (1 - eta**2 * x**2))
    step = Fraction(1, 3)
    # a b <= 1 and a^2 - b^2 <= 1 give a^2 + b^2 <= root 5: eta root 5 + eta^2 < 1.
    require(moved == 0, "one step of ab")
    require(apart == 0, "one step of the difference of the squares")
    require(5 * step**2 < (1 - step**2) ** 2, "the place stays below its target")
    require(len(sizes) > 0, "sizes of examples")
    for rows, columns, rank, steps, cycles in sizes:
        found, full = ranks(rows, columns, rank, steps, cycles), min(rows, columns)
        told = [min(full, per * rank * N - fewer) for N in range(1, cycles + 1)]
        grown = all(new >= min(old + gain, full) for old, new in zip([0, *found], found, strict=False))
        stays = ranks(rows, columns, rank, 1, cycles, kept=True) == [rank] * cycles
        require(found == told and grown and stays, f"{cycles} cycles of rank {rank} on {rows} x {columns}")


SIZES = ((2, 3, 1, 2, 3), (3, 2, 1, 1, 2), (3, 3, 2, 2, 2), (4, 5, 2, 1, 3))
"""Rows, columns, rank, local steps and cycles of the examples that are followed."""


@proof("fedloru-v2/claim-rank-growth")
def claim_rank_growth(per: Fraction = Fraction(1), fewer: int = 0, sizes: Sequence[Sequence[int]] = SIZES) -> str:
    r"""A sum has at most the sum of the ranks; almost everywhere no less, by one example.

    Each accumulation adds $\alpha AB$, of rank at most r. For losses that are polynomials $W_T - W_0$ is a polynomial
    in their coefficients, the start, the drawn A, $\alpha$ and $\eta$, and so is each of its minors. A polynomial that
    is not 0 throughout is 0 only on a set of measure 0. So one example with a minor of size $\min(m, n, rN)$ suffices,
    for any clients, $\tau$ and E, and $r \le \min(m, n)$: further columns of A are 0 in it. All
    clients have $\frac12\|W - C\|_F^2$ with ones on the diagonal of C, $W_0 = 0$,
    $\alpha = 1$; A starts each cycle at the unit vectors of the next r places of the diagonal, in a circle, B at 0.
    Then the places do not see each other: one has $a' = a + \eta xb$, $b' = b + \eta xa$, where $x$ is what it lacks,
    from a = 1, b = 0. ab grows by $\eta x(a^2+b^2) + \eta^2x^2ab$, and $a^2 - b^2 \le 1$ stays, so while
    $ab \le 1$, $a^2 + b^2 \le \sqrt5$. With $\eta = \frac13$ a step adds less than x, and x stays positive: each place
    that had its turn is positive from then on.

    The exceptional set consists of coefficients; losses that few data determine may lie in it for all data. A gradient
    of $\frac12|Wx - y|^2$ has multiples of x as its rows, and so have then B, from B = 0, the averages, and $W_T -
    W_0$: with S samples x in all clients together the rank is at most S.

    Where A is kept and a cycle is one step, B = 0 makes the gradient in A vanish: A never changes, every $AB$ has its
    columns in the span of A, and the rank is at most r; the example with A of the first r places has r.
    """
    ranks_grow(sizes, 1, per, fewer)
    require(rows_of_one_sample(), "the rows of B are multiples of the sample")
    return (
        "the rank of a sum is at most the sum of the ranks; the minors are polynomials, and one example, the same for "
        "all sizes, shows by induction over the local steps and in fractions that they are not 0"
    )


@proof("fedloru-v2/claim-rank-growth@in-general-position")
def claim_rank_growth_in_general_position(gain: int = 1, sizes: Sequence[Sequence[int]] = SIZES) -> str:
    r"""The rank after N accumulations is $\min(m, n, rN)$ almost everywhere, which grows with N until it is full.

    As for the correction: the rank is not larger, and by one example not smaller except on a set of measure 0, of
    coefficients, starts, drawn A and step sizes. $r \ge 1$.
    """
    ranks_grow(sizes, gain, Fraction(1), 0)
    return (
        "the rank of a sum is at most the sum of the ranks; the minors are polynomials, and one example, the same for "
        "all sizes, shows by induction over the local steps and in fractions that they are not 0"
    )


@replay("fedloru-v2/claim-rank-growth")
def claim_rank_growth_as_printed(values: Values) -> Violation:
    """Run two cycles of one step on |W - C|^2 / 2 from W = 0 with B = 0: the rank of W, 2 x 2, after each."""
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
        reads="the loss is |W - target|^2/2, where the target is a 2 x 2 matrix, given by rows. From W = B = 0, each "
        "cycle takes one step, first with A = (1, 1) and then with A = (1, -2). We compare the rank after the first "
        "cycle plus 1 with the rank after the second",
    )


def products(*shapes: tuple[sympy.Symbol, sympy.Symbol, sympy.Symbol]) -> sympy.Expr:
    """Count the operations of products of p x q by q x s matrices."""
    return sympy.expand(sum(2 * p * q * s for p, q, s in shapes))


def merging_count(merging: Fraction) -> None:
    """Check the count of operations outside local training."""
    require(products((m, r, n)) == merging * m * n * r, "the product at the end of a cycle")


@proof("fedloru-v2/claim-noextra")
def claim_noextra(
    merging: Fraction = Fraction(2),
    kept: Fraction = Fraction(4),
    beside: Fraction = Fraction(6),
    formed: Fraction = Fraction(6),
    alone: Fraction = Fraction(6),
) -> str:
    r"""The products of a step, one by one; a p x q by a q x s matrix takes 2pqs operations.

    Through a matrix W of m x n go $xW^T$ forward, and backward the gradient of x and, where W is trained, the gradient
    of W: 2mnb each. Through the factors go $xB^T$ and $(xB^T)A^T$ forward, and backward two gradients for each of the
    two: 2nrb three times and 2mrb three times. With $W + AB$ formed, AB and the gradients of A and B from the gradient
    of $W + AB$ come on top of a step in which W is trained. Outside local training the listing has averages, and
    $\alpha A_tB_t$.
    """
    b = sympy.Symbol("b", positive=True)
    through = products((b, n, m), (b, m, n))
    factors = products((b, n, r), (b, r, m), (b, m, r), (m, b, r), (b, r, n), (r, b, n))
    whole = through + products((m, b, n))
    formed_too = whole + products((m, r, n), (m, n, r), (r, m, n))
    merging_count(merging)
    require(whole == 6 * m * n * b, "W trained")
    require(sympy.expand(through + factors - (kept * m * n + beside * r * (m + n)) * b) == 0, "factors next to W")
    require(sympy.expand(formed_too - 6 * m * n * b - formed * m * n * r) == 0, "W + AB formed")
    require(sympy.expand(factors - alone * r * (m + n) * b) == 0, "factors only")
    return "we add up the products of a forward and a backward step for all sizes"


@proof("fedloru-v2/claim-noextra@no-compression")
def claim_noextra_without_compression(merging: Fraction = Fraction(2)) -> str:
    r"""The lines of Algorithm 1, one by one.

    The server sends A and B; the clients take their local steps and send theirs; the server averages both, entry by
    entry. Where $\tau$ divides t, $\alpha A_tB_t$ is formed, with 2mnr operations, and added to W. No other line
    exists, so nothing is factorised or truncated.
    """
    merging_count(merging)
    return "the listing has no line that compresses, and a cycle ends with a product"


@replay("fedloru-v2/claim-noextra")
def claim_noextra_as_printed(values: Values) -> Violation:
    """Compare operations of one linear layer in a round: only FedLoRU's local steps, and all that FedHM does.

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
        "we count the operations of one linear layer in a round, with 2pqs for a product of p x q by q x s. We "
        "compare FedLoRU's local steps, each of (4mn + 6r(m+n))b, with all operations of FedHM: local steps of "
        "6r(m+n)b, 2mnr for each client and at most 30 mn min(m, n) for a decomposition (Golub and Van Loan: 14 mn^2 "
        "+ 8 n^3 for m >= n)"
    )
    return Violation(M * E * (factors + frozen), fedhm, assumes=assumes, reads=reads)
