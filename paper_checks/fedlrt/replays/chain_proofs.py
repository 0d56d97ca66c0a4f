r"""Proofs of the lines between the numbered equations of Appendices F and G, L = 1.

Products of vectors and squares of norms stand as symbols: for vectors x and y of norms $|x|$ and $|y|$ the product
$\langle x, y\rangle$ is $|x||y| - f$ with some $f \ge 0$ (Cauchy and Schwarz). Sums over clients and steps are written
out at some numbers of both; each is linear, term by term, so that these stand for all.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import sympy

from paper_checks.fedlrt.replays.update_proofs import (
    SIZES,
    S_c,
    differ,
    flaw_of_chain,
    g,
    g_c,
    g_s,
    linear_loss,
    rate,
    wide,
)
from paper_checks.proof_steps import non_negative, rational
from paper_checks.replay import Proof, proof
from paper_checks.stored_values import Values

a, d, h, s = sympy.symbols("a d h s", positive=True)
NUMBERS: dict[str, Any] = {"clients": [1, 2, 3], "steps": [1, 2, 3]}


def _numbers(values: Values) -> list[tuple[int, int]]:
    return [(int(C), int(steps)) for C in values["clients"] for steps in values["steps"]]


def _forces(clients: int, steps: int) -> list[list[sympy.Symbol]]:
    """The negative gradients of all clients at all of their points."""
    return [list(sympy.symbols(f"f_{c}_0:{steps}", commutative=False)) for c in range(clients)]


def flaw_of_square(count: int, factor: Any = 1) -> str:
    r"""Why $|\sum_ix_i|^2 \le count\sum_i|x_i|^2$ times a factor is not shown; empty if it is.

    The difference of the sides is the sum over pairs of $|x_i - x_j|^2$, entry by entry.
    """
    xs = sympy.symbols(f"x_0:{count}")
    pairs = sum(((x - y) ** 2 for x, y in combinations(xs, 2)), sympy.Integer(0))
    gap = sympy.expand(factor * count * sum(x**2 for x in xs) - sum(xs) ** 2 - pairs)  # squares alone, if any
    return "" if non_negative(gap) else f"the square of a sum of {count}"


def flaw_of_product() -> str:
    r"""That $\langle\tilde UA\tilde V^\top, F\rangle = \langle A, \tilde U^\top F\tilde V\rangle$, entry by entry."""
    for m, n, r in SIZES:
        left, A, right, F, product = linear_loss(m, n, r)
        flaw = differ(product, sum(x * y for x, y in zip(A, left.T * F * right, strict=True)), f"at {m} by {n}, {r}")
        if flaw:
            return f"the product in wide bases {flaw}"
    return ""


@proof("fedlrt/lemma-3-proof@operator-norms-of-the-bases", constant="1", sizes=[[2, 1], [3, 2], [4, 4]])
def lemma_3_proof(values: Values) -> Proof:
    r"""Orthonormal bases and their transposes have the operator norm 1, so that steps (II) are equalities.

    Step (I): a product has at most the Frobenius norm of one factor times the operator norms of the others. Here it can
    be seen at once: in U and V, completed to orthogonal matrices, $P_UDP_V$ has some of the entries of D, and
    $U(S_1 - S_2)V^\top$ those of $S_1 - S_2$ beside zeros. (III) is what L-continuity says.
    """
    constant, flaws = rational(values["constant"]), ["" if values["sizes"] else "no sizes"]
    for n, r in values["sizes"]:
        D = sympy.Matrix(n, n, lambda i, j: sympy.Symbol(f"d_{i}_{j}", positive=True))
        change = D[:r, :r]
        placed = sympy.diag(change, sympy.zeros(n - r, n - r))
        whole, part = (sum(entry**2 for entry in one) for one in (D, change))
        flaws += [
            "" if r <= n and non_negative(whole - part) else f"step (I) at {n}, {r}",
            ""
            if non_negative(constant**2 * part - sum(entry**2 for entry in placed))
            else f"the last steps at {n}, {r}",
        ]
    return Proof.without_flaw("norms 1 of the bases, and entries in completed bases", *flaws)


@proof("fedlrt/thm-7-clients", sign="1", steps=[1, 2, 3])
def thm_7_clients(values: Values) -> Proof:
    r"""The steps of (26), added: $\tilde U\tilde U^\top A\tilde V\tilde V^\top = P_{\tilde U}AP_{\tilde V}$ is linear.

    A client's end is its start and $\lambda\sum_s(F_c(\tilde W_{r,c}^s) - F_c(\tilde W_r) + F(\tilde W_r))$, projected,
    in which $F - F_c$ at the start occurs $s_*$ times.
    """
    sign, flaws = rational(values["sign"]), ["" if values["steps"] else "no steps"]
    mean = sympy.Symbol("F", commutative=False)
    for steps in map(int, values["steps"]):
        ((first, *rest),) = _forces(1, steps)
        forces = [first, *rest]
        moved = rate * sum((force - first + mean for force in forces), sympy.Integer(0))
        stated = sign * rate * (sum(forces, sympy.Integer(0)) + steps * (mean - first))
        flaws.append(differ(moved, stated, f"the last member at {steps} steps"))
    return Proof.without_flaw(
        "the steps of (26), however many, added, with the correction in each", flaw_of_chain(), *flaws
    )


@proof("fedlrt/thm-7-first-term-lines", share="1", **NUMBERS)
def thm_7_first_term_lines(values: Values) -> Proof:
    r"""Each $F_c(\tilde W_r)$ is subtracted and added; $\frac1C\sum_cF_c = F$; then products in wide bases.

    $\langle P_{\tilde U}AP_{\tilde V}, F\rangle = \langle\tilde U^\top A\tilde V, \tilde U^\top F\tilde V\rangle$ is
    the fourth equality as it should read, and the fifth takes the sums out of $\tilde U^\top(\cdot)\tilde V$. The
    bound is $-\langle x, y\rangle \le |x||y|$ for each of its terms.
    """
    share, flaws = rational(values["share"]), ["" if _numbers(values) else "no numbers"]
    for C, steps in _numbers(values):
        forces = _forces(C, steps)
        firsts = [own[0] for own in forces]
        apart = sum((force - own[0] for own in forces for force in own), sympy.Integer(0))
        whole = sum((force for own in forces for force in own), sympy.Integer(0))
        mean = sum(firsts, sympy.Integer(0)) / C
        members = (
            rate / C * apart + rate / C * steps * sum(firsts, sympy.Integer(0)),
            rate / C * apart + steps * rate * mean,
        )
        flaws += [differ(rate / C * whole, one, f"equality {k} at {C}, {steps}") for k, one in enumerate(members, 1)]
    x, y, f = sympy.symbols("x y f", positive=True)
    bound = "" if non_negative(share * x * y - (x * y - f)) else "the bound"  # of minus a product
    return Proof.without_flaw(
        "sums term by term, however many, products in wide bases, and Cauchy and Schwarz",
        flaw_of_product(),
        bound,
        *flaws,
    )


@proof("fedlrt/thm-7-second-term-lines", first="1", second="1", third="1", fourth="1", leading="1", **NUMBERS)
def thm_7_second_term_lines(values: Values) -> Proof:
    r"""(I) is $2|x|^2 + 2|y|^2 - |x + y|^2 = |x - y|^2$, (II) Lemma 6 for $Cs_*$ matrices, (III) Lemma 3 for each.

    The equality subtracts and adds $F_c(\tilde W_r)$, as in the first term. (IV) is an equality: $\|B\tilde V^\top\| =
    \|B\|$, as $\tilde V^\top\tilde V = I$, with $B = P_{\tilde U}F\tilde V$.
    """
    first, second, third, fourth, leading = (
        rational(values[name]) for name in ("first", "second", "third", "fourth", "leading")
    )
    x, y = sympy.symbols("x y", positive=True)
    flaws = ["" if _numbers(values) else "no numbers"]
    for C, steps in _numbers(values):
        forces = _forces(C, steps)
        apart = sum((force - own[0] for own in forces for force in own), sympy.Integer(0))
        whole = sum((force for own in forces for force in own), sympy.Integer(0))
        mean = sum((own[0] for own in forces), sympy.Integer(0)) / C
        flaws.append(differ(whole / C, apart / C + leading * steps * mean, f"the equality at {C}, {steps}"))
        flaws.append(flaw_of_square(C * steps, second))
    gap = first * (x**2 + y**2) - (x + y) ** 2 / 2 - (x - y) ** 2 / 2  # entry by entry, L/2 = 1/2
    drift = third * (d + h) ** 2 - d**2  # |A| = d, and d + h is what the coefficients have moved
    return Proof.without_flaw(
        "a square, Lemma 6 for any number, Lemma 3 and an orthonormal basis",
        "" if non_negative(gap) else "step (I)",
        "" if non_negative(drift) else "step (III)",
        "" if non_negative(fourth * x**2 - x**2) else "step (IV)",
        *flaws,
    )


@proof("fedlrt/thm-6-recursion", steps="1", drift="1", leading="1", last="1")
def thm_6_recursion(values: Values) -> Proof:
    r"""The step of (26), the triangle inequality, Lemma 3, $\tilde S_c = \tilde S$ and $\lambda L \le \frac1{s_*}$.

    With a, d and G for the norms of $\tilde S_c^s - \tilde S_c$, of the change of the client's gradient and of the mean
    one: the square of the sum of norms minus that of the norm of the sum is made of Cauchy and Schwarz's rests; then
    $d = a - h$ with $h \ge 0$ by Lemma 3, and $\lambda = \frac1{s_*} - f$ with $f \ge 0$.
    """
    share, drift, leading, last = (rational(values[name]) for name in ("steps", "drift", "leading", "last"))
    G, f, *rests = sympy.symbols("G f f_1:4", positive=True)
    step = S_c - rate * (wide(g_s) - wide(g_c) + wide(g))
    moved = S_c + share * rate * wide(-g_s - (-g_c) + (-g))
    lengths = (a, rate * d, rate * G)
    products = sum(x * y - rest for (x, y), rest in zip(combinations(lengths, 2), rests, strict=True))
    square = sum(x**2 for x in lengths) + 2 * products
    triangle = (a + drift * rate * d + leading * rate * G) ** 2 - square
    lemma = drift * rate * a - (drift * rate * d).subs(d, a - h)
    slower = (last / s - 1 / s + f) * a
    return Proof.without_flaw(
        "the step, and differences of the members that are sums of products of non-negative quantities",
        flaw_of_chain(),
        differ(step, moved, "not the step of (26)"),
        "" if non_negative(triangle) else "the triangle inequality",
        "" if non_negative(lemma) else "step (I)",
        differ(a + drift * rate * a + leading * rate * G, (1 + rate) * a + rate * G, "collected"),
        "" if non_negative(slower.subs(s, 1 / h)) else "the rate",
    )


@proof("fedlrt/thm-11-hat-lines", jensen="1", **NUMBERS)
def thm_11_hat_lines(values: Values) -> Proof:
    r"""Algorithm 5 corrects the corner alone, so that the rest moves along the clients' own gradients, from zero.

    Its end is minus $\frac\lambda C\sum_{c,s}\nabla_{\hat S}\mathcal{L}_c(\tilde W_{r,c}^s)$ (Lemma 1, eq. (40) as
    corrected): the first equalities of both terms. A product with the gradient is a sum of products, each at most the
    product of the norms. Lemma 6 over the clients and then over the steps gives the two bounds of the square. Both last
    lines put $\nabla_{\tilde S}$ for $\nabla_{\hat S}$, whose square is less by that of the block.
    """
    jensen, flaws = rational(values["jensen"]), ["" if _numbers(values) else "no numbers"]
    corner = sympy.diag(1, 0)
    full = _step_of_algorithm_5(corner)
    rest = full - corner * full * corner
    start = S_c - corner * S_c * corner
    own = wide(g_s)
    flaws.append(differ(rest, start - rate * (own - corner * own * corner), "the steps of the rest"))
    for C, steps in _numbers(values):
        flaws += [flaw_of_square(C, jensen), flaw_of_square(steps)]
    return Proof.without_flaw(
        "the rest's steps, Cauchy and Schwarz, Lemma 6 twice for any numbers, and a block's square", *flaws
    )


def _step_of_algorithm_5(corner: sympy.Matrix) -> Any:
    """A client's step with the corner of the correction."""
    return S_c - rate * (wide(g_s) + corner * wide(g - g_c) * corner)
