r"""Proofs on the listing: what accumulation and restart do to the model, its rank, and the numbers that are sent."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import sympy

from paper_checks.fedloru.replays.step_proofs import positive_sizes
from paper_checks.proof_steps import non_negative
from paper_checks.replay import proof, require

m, n, r, p, q, e = sympy.symbols("m n r r_A r_B e", positive=True)
alpha = sympy.Symbol("alpha")
W = sympy.Symbol("W", commutative=False)


def factors_of(rounds: int) -> list[tuple[sympy.Symbol, sympy.Symbol]]:
    """Averaged factors of each round, which do not commute."""
    names = (sympy.symbols(f"{name}1:{rounds + 1}", commutative=False) for name in "AB")
    return list(zip(*names, strict=True))


@proof("fedloru-v2/eq-WT")
def eq_WT(
    power: int = 1,
    scale: Fraction = Fraction(1),
    cycles: tuple[int, ...] = (1, 2, 3),
    rounds: tuple[int, ...] = (1, 4, 7),
) -> str:
    r"""By induction over the rounds: W changes where $\tau$ divides t, and then by $\alpha A_tB_t$.

    Neither the local steps, nor the averages, nor a restart write to W. Between two accumulations the clients train
    $W + \alpha AB$, so that $\alpha A_TB_T$ is beside W unless $\tau$ divides T and the factors restart with $AB = 0$.
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
    return (
        r"W as the clients hold it, round by round, in products that do not commute; by induction for any cycle and T"
    )


@proof("fedloru-v2/claim-reinit")
def claim_reinit(accumulated: Fraction = Fraction(1)) -> str:
    r"""The models are the same matrix, so that every function of the model is the same.

    $W_{t+1} + \bar A\bar B = W_t + AB + 0$, by $W_{t+1} = W_t + AB$ and $\bar A\bar B = 0$; likewise with
    $\alpha AB$. Without $\bar A\bar B = 0$ the models differ by it: the loss $\|X - W_{t+1}\|_F^2$ is 0 at one and
    $\|\bar A\bar B\|_F^2$ at the other.
    """
    ((A, B), (new_A, new_B)) = factors_of(2)
    before, after = W + alpha * A * B, W + accumulated * alpha * A * B + alpha * new_A * new_B
    require(sympy.expand(after - before).subs(new_B, 0) == 0, "B restarts at 0")
    require(sympy.expand(after - before).subs(new_A, 0) == 0, "A restarts at 0")
    require(sympy.expand(after - before - alpha * new_A * new_B) == 0, "any restart of product 0")
    return "the model before the accumulation and the one after it are the same matrix"


@proof("fedloru-v2/claim-comm")
def claim_comm(half: Fraction = Fraction(1, 2), sides: Fraction = Fraction(1)) -> str:
    r"""A has mr entries and B has rn; $mn/(m+n)$ is at least half of the smaller side.

    In a round each of the M clients receives A and B and sends its own. $r(m+n) < mn$ says $r < mn/(m+n)$. With
    $n = m + e$, $e \ge 0$, and $r < \frac12m$: $r(m+n) < \frac12m(2m+e) \le m(m+e)$. For $e = 0$ and $r = \frac12m$
    both counts are equal. At the end of a cycle A and B go to all K clients, who add the product to their W.
    """
    wide = m + e
    require(sympy.expand(m * r + r * n - sides * r * (m + n)) == 0, "entries of A and B")
    require(non_negative(m * wide - half * m * (m + wide)), "half of the smaller side")
    require(sympy.expand((m * wide - r * (m + wide)).subs({e: 0, r: m / 2})) == 0, "equality at half of a square")
    require(64 * (576 + 64) == 40960 > 576 * 64 == 36864, "a layer at rank 64")
    return r"$m(m+e) - \frac12m(2m+e)$ has no negative coefficient; equality for $m = n = 2r$"


def nested_count(down: Fraction, inner: Fraction) -> None:
    """Check the count of entries that are sent with nested matrices."""
    sent = r * (m + n) + (m * p + p * r) + (r * q + q * n)
    require(sympy.expand(sent - down * r * (m + n) - p * (m + inner * r) - q * (n + inner * r)) == 0, "the entries")


@proof("fedloru-v2/claim-mcomm")
def claim_mcomm(down: Fraction = Fraction(1), inner: Fraction = Fraction(1), square: int = 2) -> str:
    r"""Down go mr + rn entries; up go $A_d$, $A_u$, $B_d$, $B_u$ with $mr_A + r_Ar + rr_B + r_Bn$.

    Since $r_A, r_B < r$ the count is less than $2r(m+n) + 2r^2$. With $m \le n = m + e$ and $r = cm$, $c =
    \sqrt2 - 1$, $c^2 = 1 - 2c$: $mn - r(m+n) - r^2 = m^2(1 - 2c - c^2) + em(1 - c) \ge 0$. No larger share serves: for
    $m = n$, $r = cm$ with a larger c and $r_A = r_B = r - 1$ the count over $2m^2$ tends to $2c + c^2 > 1$.
    """
    c = sympy.sqrt(square) - 1
    rest = sympy.Poly(sympy.expand((m * (m + e) - r * (2 * m + e) - r**2).subs(r, c * m)), m, e)
    x, size = sympy.symbols("x size", positive=True)
    largest = (r * (m + n) + p * (m + r) + q * (n + r)).subs({n: m, p: r - 1, q: r - 1}).subs({r: x * size, m: size})
    share = sympy.limit(sympy.expand(largest / (2 * size**2)), size, sympy.oo)
    nested_count(down, inner)
    require(all(sympy.simplify(one) >= 0 for one in rest.coeffs()), "less than 2mn up to this share")
    require(sympy.expand(share - 2 * x - x**2) == 0, "the count for nested ranks of r - 1")
    require(sympy.simplify((2 * x + x**2).subs(x, c) - 1) == 0, "no larger share")
    return r"entries of six matrices; $mn - r(m+n) - r^2$ at $r = (\sqrt2-1)m$ as a polynomial in m and n - m"


@proof("fedloru-v2/claim-mcomm@low-rank")
def claim_mcomm_low_rank(
    down: Fraction = Fraction(1), inner: Fraction = Fraction(1), reach: Fraction = Fraction(3)
) -> str:
    r"""The same count, less than $2r(m+n) + 2r^2$; with $m = 3r + d$ and $n = m + e$ that is less than $2mn$."""
    d = sympy.Symbol("d", positive=True)
    short = reach * r + d
    rest = short * (short + e) - r * (2 * short + e) - r**2
    nested_count(down, inner)
    require(non_negative(rest), "less than 2mn")
    return r"entries of six matrices; $mn - r(m+n) - r^2$ has no negative coefficient in r, m - 3r and n - m"


def ranks(rows: int, columns: int, rank: int, steps: int, cycles: int, kept: bool = False) -> list[int]:
    r"""Ranks of W after each cycle of local steps of $\eta = \frac13$ on $\frac12\|W - C\|^2$, C ones on the diagonal.

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


def rows_of_one_sample() -> bool:
    r"""Whether one local step on $\frac12|Wx - y|^2$ keeps the rows of B multiples of x, where they are: 2 x 2."""
    x, y, A, b = (sympy.Matrix(sympy.symbols(f"{name}1:3")) for name in "xyAb")
    merged = sympy.Matrix(2, 2, sympy.symbols("w1:5"))
    B = b[0] * x.T
    after = B - alpha * e * A.T * ((merged + alpha * A * B) * x - y) * x.T
    return bool((after * sympy.Matrix([-x[1], x[0]])).applyfunc(sympy.expand).is_zero_matrix)


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
    require(sizes, "sizes of examples")
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
    from a = 1, b = 0. ab grows by $\eta x(a^2+b^2) + \eta^2x^2ab$, and $a^2 - b^2 \le 1$ stays, so that while
    $ab \le 1$, $a^2 + b^2 \le \sqrt5$. With $\eta = \frac13$ a step adds less than x, and x stays positive: each place
    that had its turn is positive from then on.

    The set is one of coefficients: losses that few data determine may lie in it for all data. A gradient of
    $\frac12|Wx - y|^2$ has multiples of x as its rows, and so have then B, from B = 0, the averages, and $W_T - W_0$:
    with S samples x in all clients together the rank is at most S.

    Where A is kept and a cycle is one step, B = 0 makes the gradient in A vanish: A never changes, every $AB$ has its
    columns in the span of A, and the rank is at most r; the example with A of the first r places has r.
    """
    ranks_grow(sizes, 1, per, fewer)
    require(rows_of_one_sample(), "the rows of B are multiples of the sample")
    return (
        "ranks of sums; minors as polynomials that one example, the same for all sizes, shows not to be 0, "
        "by induction over the local steps and in fractions"
    )


@proof("fedloru-v2/claim-rank-growth@in-general-position")
def claim_rank_growth_in_general_position(gain: int = 1, sizes: Sequence[Sequence[int]] = SIZES) -> str:
    r"""The rank after N accumulations is $\min(m, n, rN)$ almost everywhere, which grows with N until it is full.

    As for the correction: the rank is no larger, and by one example no smaller but on a set of measure 0, of
    coefficients, starts, drawn A and step sizes. $r \ge 1$.
    """
    ranks_grow(sizes, gain, Fraction(1), 0)
    return (
        "ranks of sums; minors as polynomials that one example, the same for all sizes, shows not to be 0, "
        "by induction over the local steps and in fractions"
    )


def products(*shapes: tuple[sympy.Symbol, sympy.Symbol, sympy.Symbol]) -> sympy.Expr:
    """Operations of products of p x q by q x s matrices."""
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

    Through a matrix W of m x n go $xW^T$ forward, and backward the gradient of x and, where W is trained, that of W:
    2mnb each. Through the factors go $xB^T$ and $(xB^T)A^T$ forward, and backward two gradients for each of the two:
    2nrb three times and 2mrb three times. With $W + AB$ formed, AB and the gradients of A and B from that of $W + AB$
    come on top of a step in which W is trained. Outside local training the listing has averages, and $\alpha A_tB_t$.
    """
    b = sympy.Symbol("b", positive=True)
    through = products((b, n, m), (b, m, n))
    factors = products((b, n, r), (b, r, m), (b, m, r), (m, b, r), (b, r, n), (r, b, n))
    whole = through + products((m, b, n))
    formed_too = whole + products((m, r, n), (m, n, r), (r, m, n))
    merging_count(merging)
    require(whole == 6 * m * n * b, "W trained")
    require(sympy.expand(through + factors - (kept * m * n + beside * r * (m + n)) * b) == 0, "factors beside W")
    require(sympy.expand(formed_too - 6 * m * n * b - formed * m * n * r) == 0, "W + AB formed")
    require(sympy.expand(factors - alone * r * (m + n) * b) == 0, "factors alone")
    return "the products of a step forward and backward, added up for all sizes"


@proof("fedloru-v2/claim-noextra@nothing-in-the-place-of-compression")
def claim_noextra_without_compression(merging: Fraction = Fraction(2)) -> str:
    r"""The lines of Algorithm 1, one by one.

    The server sends A and B; the clients take their local steps and send theirs; the server averages both, entry by
    entry. Where $\tau$ divides t, $\alpha A_tB_t$ is formed, with 2mnr operations, and added to W. There is no other
    line, so that nothing is factorised or truncated.
    """
    merging_count(merging)
    return "the lines of the listing; the product at the end of a cycle"


@proof("fedloru-v1/eq-14@updates-of-a-and-b")
def eq_14(cross: Fraction = Fraction(1), cross_power: int = 1, rank_shift: int = 0) -> str:
    r"""The product multiplied out, in matrices that do not commute; what has an inner size of r has at most rank r.

    $A + \alpha_AA_dA_u$ has r columns and $B + \alpha_BB_dB_u$ has r rows, whatever $r_A$ and $r_B$ are. For m = n = r
    and $A = B = I$, $A_d = B_d = 0$ the rank is r.
    """
    A, A_d, A_u, B, B_d, B_u = sympy.symbols("A A_d A_u B B_d B_u", commutative=False)
    one, two = sympy.symbols("alpha_A alpha_B")
    both = cross * (one * two) ** cross_power
    updated = (A + one * A_d * A_u) * (B + two * B_d * B_u)
    added = one * A_d * A_u * B + two * A * B_d * B_u + both * A_d * A_u * B_d * B_u
    require(sympy.expand(updated - A * B - added) == 0, "the product")
    require(sympy.eye(2).rank() == 2 + rank_shift, "the rank")
    return "the product multiplied out in matrices that do not commute; its inner size is r"


@proof("fedloru-v2/eq-83")
def eq_83(factor: Fraction = Fraction(1)) -> str:
    r"""The model of (82) is $W + \alpha(A + \alpha_AA_dA_u)(B + \alpha_BB_dB_u)$; these are the two factors.

    Multiplied out, in matrices that do not commute, the product of the two factors has the four terms that (82) adds
    to W, each with its scale.
    """
    A, A_d, A_u, B, B_d, B_u = sympy.symbols("A A_d A_u B B_d B_u", commutative=False)
    one, two = sympy.symbols("alpha_A alpha_B")
    trained = W + alpha * (A * B + one * A_d * A_u * B + two * A * B_d * B_u + one * two * A_d * A_u * B_d * B_u)
    new_A, new_B = A + one * A_d * A_u, B + factor * two * B_d * B_u
    require(sympy.expand(trained - W - alpha * new_A * new_B) == 0, "the product")
    return "the model of (82) and of its two factors, multiplied out in matrices that do not commute"
