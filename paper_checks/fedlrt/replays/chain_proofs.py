r"""Proofs of the lines between the numbered equations of Appendices F and G, L = 1.

Products of vectors and squares of norms stand as symbols: for vectors x and y of norms $|x|$ and $|y|$ the product
$\langle x, y\rangle$ is $|x||y| - f$ with some $f \ge 0$ (Cauchy and Schwarz). Sums over clients and steps are written
out at some numbers of both; each is linear, term by term, so that these stand for all.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import combinations, product
from typing import Any

import sympy

from paper_checks.fedlrt.replays.update_proofs import RATE, SIZES, S_c, chain_rule, g, g_c, g_s, linear_loss, same, wide
from paper_checks.proof_steps import non_negative
from paper_checks.replay import proof, require

a, d, h, s = sympy.symbols("a d h s", positive=True)


def total(terms: Iterable[Any]) -> Any:
    """The sum of terms, 0 if there are none."""
    return sum(terms, sympy.Integer(0))


def _forces(clients: int, steps: int) -> list[list[sympy.Symbol]]:
    """The negative gradients of all clients at all of their points."""
    return [list(sympy.symbols(f"f_{c}_0:{steps}", commutative=False)) for c in range(clients)]


def square_of_sum(count: int, factor: Any = 1) -> None:
    r"""$|\sum_ix_i|^2 \le count\sum_i|x_i|^2$ times a factor.

    The difference of the sides is the sum over pairs of $|x_i - x_j|^2$, entry by entry.
    """
    xs = sympy.symbols(f"x_0:{count}")
    pairs = total((x - y) ** 2 for x, y in combinations(xs, 2))
    gap = sympy.expand(factor * count * sum(x**2 for x in xs) - sum(xs) ** 2 - pairs)  # squares alone, if any
    require(non_negative(gap), f"the square of a sum of {count}")


def product_in_wide_bases() -> None:
    r"""$\langle\tilde UA\tilde V^\top, F\rangle = \langle A, \tilde U^\top F\tilde V\rangle$, entry by entry."""
    for m, n, r in SIZES:
        left, A, right, F, whole = linear_loss(m, n, r)
        within = sum(x * y for x, y in zip(A, left.T * F * right, strict=True))
        same(whole, within, f"the product in wide bases at {m} by {n}, {r}")


@proof("fedlrt/lemma-3-proof@operator-norms-of-the-bases")
def lemma_3_proof(constant: Fraction = Fraction(1), sizes: Sequence[tuple[int, int]] = ((2, 1), (3, 2), (4, 4))) -> str:
    r"""Orthonormal bases and their transposes have the operator norm 1, so that steps (II) are equalities.

    Step (I): a product has at most the Frobenius norm of one factor times the operator norms of the others. Here it can
    be seen at once: in U and V, completed to orthogonal matrices, $P_UDP_V$ has some of the entries of D, and
    $U(S_1 - S_2)V^\top$ those of $S_1 - S_2$ beside zeros. (III) is what L-continuity says.
    """
    require(sizes, "no sizes")
    for n, r in sizes:
        D = sympy.Matrix(n, n, lambda i, j: sympy.Symbol(f"d_{i}_{j}", positive=True))
        change = D[:r, :r]
        placed = sympy.diag(change, sympy.zeros(n - r, n - r))
        whole, part = (sum(entry**2 for entry in one) for one in (D, change))
        require(r <= n and non_negative(whole - part), f"step (I) at {n}, {r}")
        last = constant**2 * part - sum(entry**2 for entry in placed)
        require(non_negative(last), f"the last steps at {n}, {r}")
    return "norms 1 of the bases, and entries in completed bases"


@proof("fedlrt/thm-7-clients")
def thm_7_clients(sign: Fraction = Fraction(1), steps: Sequence[int] = (1, 2, 3)) -> str:
    r"""The steps of (26), added: $\tilde U\tilde U^\top A\tilde V\tilde V^\top = P_{\tilde U}AP_{\tilde V}$ is linear.

    A client's end is its start and $\lambda\sum_s(F_c(\tilde W_{r,c}^s) - F_c(\tilde W_r) + F(\tilde W_r))$, projected,
    in which $F - F_c$ at the start occurs $s_*$ times.
    """
    require(steps, "no steps")
    chain_rule()
    mean = sympy.Symbol("F", commutative=False)
    for count in steps:
        (own,) = _forces(1, count)
        moved = RATE * total(force - own[0] + mean for force in own)
        same(moved, sign * RATE * (total(own) + count * (mean - own[0])), f"the last member at {count} steps")
    return "the steps of (26), however many, added, with the correction in each"


@proof("fedlrt/thm-7-first-term-lines")
def thm_7_first_term_lines(
    share: Fraction = Fraction(1), clients: Sequence[int] = (1, 2, 3), steps: Sequence[int] = (1, 2, 3)
) -> str:
    r"""Each $F_c(\tilde W_r)$ is subtracted and added; $\frac1C\sum_cF_c = F$; then products in wide bases.

    $\langle P_{\tilde U}AP_{\tilde V}, F\rangle = \langle\tilde U^\top A\tilde V, \tilde U^\top F\tilde V\rangle$ is
    the fourth equality as it should read, and the fifth takes the sums out of $\tilde U^\top(\cdot)\tilde V$. The
    bound is $-\langle x, y\rangle \le |x||y|$ for each of its terms.
    """
    require(clients and steps, "no numbers")
    product_in_wide_bases()
    for C, count in product(clients, steps):
        forces = _forces(C, count)
        apart = RATE / C * total(force - own[0] for own in forces for force in own)
        whole = RATE / C * total(force for own in forces for force in own)
        firsts = total(own[0] for own in forces)
        same(whole, apart + RATE / C * count * firsts, f"equality 1 at {C}, {count}")
        same(whole, apart + count * RATE * (firsts / C), f"equality 2 at {C}, {count}")
    x, y, f = sympy.symbols("x y f", positive=True)
    require(non_negative(share * x * y - (x * y - f)), "the bound")  # of minus a product
    return "sums term by term, however many, products in wide bases, and Cauchy and Schwarz"


@proof("fedlrt/thm-7-second-term-lines")
def thm_7_second_term_lines(
    first: Fraction = Fraction(1),
    second: Fraction = Fraction(1),
    third: Fraction = Fraction(1),
    fourth: Fraction = Fraction(1),
    leading: Fraction = Fraction(1),
    clients: Sequence[int] = (1, 2, 3),
    steps: Sequence[int] = (1, 2, 3),
) -> str:
    r"""(I) is $2|x|^2 + 2|y|^2 - |x + y|^2 = |x - y|^2$, (II) Lemma 6 for $Cs_*$ matrices, (III) Lemma 3 for each.

    The equality subtracts and adds $F_c(\tilde W_r)$, as in the first term. (IV) is an equality: $\|B\tilde V^\top\| =
    \|B\|$, as $\tilde V^\top\tilde V = I$, with $B = P_{\tilde U}F\tilde V$.
    """
    require(clients and steps, "no numbers")
    x, y = sympy.symbols("x y", positive=True)
    gap = first * (x**2 + y**2) - (x + y) ** 2 / 2 - (x - y) ** 2 / 2  # entry by entry, L/2 = 1/2
    drift = third * (d + h) ** 2 - d**2  # |A| = d, and d + h is what the coefficients have moved
    require(non_negative(gap), "step (I)")
    require(non_negative(drift), "step (III)")
    require(non_negative(fourth * x**2 - x**2), "step (IV)")
    for C, count in product(clients, steps):
        forces = _forces(C, count)
        apart = total(force - own[0] for own in forces for force in own) / C
        whole = total(force for own in forces for force in own) / C
        mean = total(own[0] for own in forces) / C
        same(whole, apart + leading * count * mean, f"the equality at {C}, {count}")
        square_of_sum(C * count, second)
    return "a square, Lemma 6 for any number, Lemma 3 and an orthonormal basis"


@proof("fedlrt/thm-6-recursion")
def thm_6_recursion(
    steps: Fraction = Fraction(1),
    drift: Fraction = Fraction(1),
    leading: Fraction = Fraction(1),
    last: Fraction = Fraction(1),
) -> str:
    r"""The step of (26), the triangle inequality, Lemma 3, $\tilde S_c = \tilde S$ and $\lambda L \le \frac1{s_*}$.

    With a, d and G for the norms of $\tilde S_c^s - \tilde S_c$, of the change of the client's gradient and of the mean
    one: the square of the sum of norms minus that of the norm of the sum is made of Cauchy and Schwarz's rests; then
    $d = a - h$ with $h \ge 0$ by Lemma 3, and $\lambda = \frac1{s_*} - f$ with $f \ge 0$.
    """
    G, f, *rests = sympy.symbols("G f f_1:4", positive=True)
    chain_rule()
    step = S_c - RATE * (wide(g_s) - wide(g_c) + wide(g))
    same(step, S_c + steps * RATE * wide(-g_s - (-g_c) + (-g)), "not the step of (26)")
    lengths = (a, RATE * d, RATE * G)
    products = sum(x * y - rest for (x, y), rest in zip(combinations(lengths, 2), rests, strict=True))
    square = sum(x**2 for x in lengths) + 2 * products
    triangle = (a + drift * RATE * d + leading * RATE * G) ** 2 - square
    require(non_negative(triangle), "the triangle inequality")
    lemma = drift * RATE * a - (drift * RATE * d).subs(d, a - h)
    require(non_negative(lemma), "step (I)")
    same(a + drift * RATE * a + leading * RATE * G, (1 + RATE) * a + RATE * G, "collected")
    slower = (last / s - 1 / s + f) * a
    require(non_negative(slower.subs(s, 1 / h)), "the rate")
    return "the step, and differences of the members that are sums of products of non-negative quantities"


@proof("fedlrt/thm-11-hat-lines")
def thm_11_hat_lines(
    jensen: Fraction = Fraction(1), clients: Sequence[int] = (1, 2, 3), steps: Sequence[int] = (1, 2, 3)
) -> str:
    r"""Algorithm 5 corrects the corner alone, so that the rest moves along the clients' own gradients, from zero.

    Its end is minus $\frac\lambda C\sum_{c,s}\nabla_{\hat S}\mathcal{L}_c(\tilde W_{r,c}^s)$ (Lemma 1, eq. (40) as
    corrected): the first equalities of both terms. A product with the gradient is a sum of products, each at most the
    product of the norms. Lemma 6 over the clients and then over the steps gives the two bounds of the square. Both last
    lines put $\nabla_{\tilde S}$ for $\nabla_{\hat S}$, whose square is less by that of the block.
    """
    require(clients and steps, "no numbers")
    corner = sympy.diag(1, 0)
    full = _step_of_algorithm_5(corner)
    rest = full - corner * full * corner
    start = S_c - corner * S_c * corner
    own = wide(g_s)
    same(rest, start - RATE * (own - corner * own * corner), "the steps of the rest")
    for C, count in product(clients, steps):
        square_of_sum(C, jensen)
        square_of_sum(count)
    return "the rest's steps, Cauchy and Schwarz, Lemma 6 twice for any numbers, and a block's square"


def _step_of_algorithm_5(corner: sympy.Matrix) -> Any:
    """A client's step with the corner of the correction."""
    return S_c - RATE * (wide(g_s) + corner * wide(g - g_c) * corner)
