r"""Theorem 7 (Appendix F.2, eq. (31)): descent of a round with full correction, and the lines of its proof.

Setting: `shared.chains`.

L = 1, and everything is in coefficients of the augmented bases, relative to the start of the round. g is the global
gradient there. After k steps client c is at $e_{c,k}$, with $e_{c,0} = 0$ and $e_{c,k+1} = e_{c,k} - \lambda(g +
D_{c,k})$, where $D_{c,k}$ is the difference between its own gradient at $e_{c,k}$ and at the start, so $|D_{c,k}| \le
|e_{c,k}|$. The mean of the clients' ends after s steps is $w = -s\lambda g - \frac\lambda C\sum_{c,k}D_{c,k}$.

Setting: `shared.update_symbols`.

Setting: `shared.slack`.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import product

import sympy

from paper_checks.fedlrt.replays.shared.chains import d, h, square_of_sum, total
from paper_checks.fedlrt.replays.shared.one_step import inner, minus, one_step
from paper_checks.fedlrt.replays.shared.slack import ONE, CorrectedRound, rounds
from paper_checks.fedlrt.replays.shared.update_symbols import RATE, SIZES, chain_rule, linear_loss, same, smoothness
from paper_checks.proof_steps import non_negative
from paper_checks.replay import Hypothesis, Violation, proof, replay, require
from paper_checks.stored_values import Values, square

WHOLES = (Fraction(1, 12), Fraction(1, 2), Fraction(2), Fraction(5), Fraction(100))
"""Values of s lambda L at which the bounds of Theorem 7, which hold for all of them, are repeated."""


def _descends_by_both_terms(
    clients: int, steps: int, step: Fraction, first: Fraction, drift: Fraction, square: Fraction
) -> None:
    """Require Theorem 7 with these constants, for a round of this size."""
    whole = steps * step
    t = drift if first == 1 else 1 - whole
    require(abs(t) <= drift, "|t| is above the constant of the drift")
    slack = CorrectedRound(clients, steps, step)
    slack.add(-whole * (1 - first * whole), slack.g, slack.g)
    slack.add(-1, slack.g, slack.end)
    slack.add(Fraction(-1, 2), slack.end, slack.end)
    for change in slack.on_the_way:
        slack.add(-t * step / clients, slack.g, change)  # what the products leave
        slack.add(square * step**2 * steps / clients, change, change)  # |e|^2 is at least this
    size = f"{clients} clients, {steps} steps of {step}"
    require(slack.non_negative(), f"{size}: the rest is not positive semidefinite")


@proof("fedlrt/thm-7")
def thm_7(first: Fraction = ONE, drift: Fraction = ONE, square: Fraction = ONE) -> str:
    r"""Smoothness of the mean between start and end, and both terms of the line after it.

    $L(w) - L(0) \le \langle g, w\rangle + \frac12|w|^2$ for the end w of the mean client, and the two terms are bounded
    as in [the first term](fedlrt--thm-7-first-term.md) and [the second](fedlrt--thm-7-second-term.md). Their sum is the
    statement with the constants 1, 1, 1, for all sizes and rates. The program repeats this for some sizes and shows
    that there the constants 1/2, 1, 1/2 also work for $s_*\lambda \le 2$: in each case, the right side minus the left
    side is a sum of non-negative terms.

    Let g be the mean gradient at the start and, for a client at a step, e how far it is from the start and D the change
    of its gradient since then: $|D| \le |e|$, as L = 1. Let t be 1 if all constants are 1, and $1 - s_*\lambda$ if the
    first and the last are one half, so $|t| \le 1$. Then the right side minus the left side is a sum of $|e||g| +
    t\langle g, D\rangle$ and $|e|^2 - |D|^2$ for the clients and steps, of the smoothness of the mean between start and
    end, and of a quadratic form in g and all D that is positive semidefinite.
    """
    printed, half = (first, drift, square), (Fraction(1, 2), ONE, Fraction(1, 2))
    every = rounds(WHOLES)
    slow = [one for one in every if one[1] * one[2] <= 2]
    for constants, cases in ((printed, every), (half, slow)):
        for clients, steps, step in cases:
            _descends_by_both_terms(clients, steps, step, *constants)
    return (
        "the bounds on the two terms give the result for all sizes and rates; the program also checks the difference "
        f"of the two sides in {len(every) + len(slow)} cases, {len(every)} of them with the printed constants"
    )


def _negative_gradients(clients: int, steps: int) -> list[list[sympy.Symbol]]:
    """Return the negative gradients of all clients at all of their points."""
    return [list(sympy.symbols(f"f_{c}_0:{steps}", commutative=False)) for c in range(clients)]


@proof("fedlrt/thm-7-clients")
def thm_7_clients(sign: Fraction = Fraction(1), steps: Sequence[int] = (1, 2, 3)) -> str:
    r"""The steps of (26), added: $\tilde U\tilde U^\top A\tilde V\tilde V^\top = P_{\tilde U}AP_{\tilde V}$ is linear.

    A client's end is its start and $\lambda\sum_s(F_c(\tilde W_{r,c}^s) - F_c(\tilde W_r) + F(\tilde W_r))$, projected,
    in which $F - F_c$ at the start occurs $s_*$ times.
    """
    require(len(steps) > 0, "no steps")
    chain_rule()
    mean = sympy.Symbol("F", commutative=False)
    for count in steps:
        (own,) = _negative_gradients(1, count)
        moved = RATE * total(force - own[0] + mean for force in own)
        same(moved, sign * RATE * (total(own) + count * (mean - own[0])), f"the last member at {count} steps")
    return "we add any number of steps of (26), each with its correction"


@replay("fedlrt/thm-7-clients")
def thm_7_clients_as_printed(values: Values) -> Violation:
    """Compare the first client's end with the printed member: losses |W - B_c|^2 / 2 from W = e1 e1', corrected.

    Its last term has no factor s there, and both terms the sign of F = +gradient; with the signs corrected, the factor
    still makes the sides differ.
    """
    targets = [square(B, 2) for B in values["targets"]]
    rate, steps = Fraction(values["step"]), int(values["steps"])
    W = [[Fraction(int(i == j == 0)) for j in range(2)] for i in range(2)]
    mean = [[sum((B[i][j] for B in targets), Fraction(0)) / len(targets) - W[i][j] for j in range(2)] for i in range(2)]
    away = minus(mean, minus(targets[0], W))  # F - F_c at the start
    point, walked = W, [[Fraction(0)] * 2 for _ in range(2)]
    for _ in range(steps):
        force = minus(targets[0], point)
        walked = [[walked[i][j] + force[i][j] for j in range(2)] for i in range(2)]
        point = [[point[i][j] + rate * (force[i][j] + away[i][j]) for j in range(2)] for i in range(2)]
    printed, signed = (
        [[W[i][j] + sign * rate * (walked[i][j] + away[i][j]) for j in range(2)] for i in range(2)] for sign in (-1, 1)
    )
    apart, left = minus(point, printed), minus(point, signed)
    assumes = (
        Hypothesis("gradient of U across U", mean[1][0], "!=", 0),
        Hypothesis("gradient of V across V", mean[0][1], "!=", 0),
        Hypothesis("lambda", rate, ">", 0),
        Hypothesis("12 s lambda L", 12 * steps * rate, "<=", 1),
        Hypothesis("squared distance with the signs put right, by the factor s", inner(left, left), ">", 0),
    )
    return Violation(
        inner(apart, apart),
        Fraction(0),
        assumes=assumes,
        given={"U": [1, 0], "V": [1, 0], "S": 1, "clients": len(targets), "F - F_c of the first": away},
        reads="the clients have the losses |W - B_c|^2/2 with the targets B_c. We compute the squared distance of the "
        "first client's last weights from the printed last member",
    )


@replay("fedlrt/eq-32")
def eq_32_as_printed(values: Values) -> Violation:
    """Compare the printed right side W - lambda F with the model after a step."""
    at = one_step(values)
    printed = [[at.W[i][j] - at.rate * at.F[i][j] for j in range(2)] for i in range(2)]
    apart = minus(at.star, printed)
    return Violation(
        inner(apart, apart),
        Fraction(0),
        assumes=at.assumes,
        given=at.given,
        reads="with one client, one step and the loss |W - B|^2/2, we compute the squared distance of the two sides",
    )


@proof("fedlrt/eq-32")
def eq_32(
    sign: Fraction = Fraction(1),
    share: Fraction = Fraction(1),
    clients: Sequence[int] = (1, 2, 3),
    steps: Sequence[int] = (1, 2, 3),
) -> str:
    r"""Each client adds its steps (26) in common bases; over the clients $F - F_c$ adds up to zero.

    $\tilde U(\tilde U^\top A\tilde V)\tilde V^\top = P_{\tilde U}AP_{\tilde V}$ is linear in A, so the mean of
    the models is the start and the sum of all $F_c$, for any C and $s_*$. The sums are written out at some.
    """
    require(len(clients) * len(steps) > 0, "no sizes")
    chain_rule()
    for C in clients:
        firsts = sympy.symbols(f"f_0:{C}", commutative=False)
        mean = sum(firsts) / C
        for count in steps:
            forces = [(one, *sympy.symbols(f"f_{c}_1:{count}", commutative=False)) for c, one in enumerate(firsts)]
            corrected = (force - own[0] + mean for own in forces for force in own)
            moved = RATE / C * sum(corrected, sympy.Integer(0))
            stated = share * sign * RATE / C * sum((force for own in forces for force in own), sympy.Integer(0))
            same(moved, stated, f"the corrections do not cancel at {C} clients and {count} steps")
    return "we add the steps of (26) over any numbers of steps and clients"


def product_in_wide_bases() -> None:
    r"""$\langle\tilde UA\tilde V^\top, F\rangle = \langle A, \tilde U^\top F\tilde V\rangle$, entry by entry."""
    for m, n, r in SIZES:
        left, A, right, F, whole = linear_loss(m, n, r)
        within = sum(x * y for x, y in zip(A, left.T * F * right, strict=True))
        same(whole, within, f"the product in wide bases at {m} by {n}, {r}")


@proof("fedlrt/thm-7-first-term-lines")
def thm_7_first_term_lines(
    share: Fraction = Fraction(1), clients: Sequence[int] = (1, 2, 3), steps: Sequence[int] = (1, 2, 3)
) -> str:
    r"""Each $F_c(\tilde W_r)$ is subtracted and added; $\frac1C\sum_cF_c = F$; then products in augmented bases.

    $\langle P_{\tilde U}AP_{\tilde V}, F\rangle = \langle\tilde U^\top A\tilde V, \tilde U^\top F\tilde V\rangle$ is
    the fourth equality as it should read, and the fifth takes the sums out of $\tilde U^\top(\cdot)\tilde V$. The
    bound is $-\langle x, y\rangle \le |x||y|$ for each of its terms.
    """
    require(len(clients) * len(steps) > 0, "no numbers")
    product_in_wide_bases()
    for C, count in product(clients, steps):
        forces = _negative_gradients(C, count)
        apart = RATE / C * total(force - own[0] for own in forces for force in own)
        whole = RATE / C * total(force for own in forces for force in own)
        firsts = total(own[0] for own in forces)
        same(whole, apart + RATE / C * count * firsts, f"equality 1 at {C}, {count}")
        same(whole, apart + count * RATE * (firsts / C), f"equality 2 at {C}, {count}")
    x, y, f = sympy.symbols("x y f", positive=True)
    require(non_negative(share * x * y - (x * y - f)), "the bound")  # of minus a product
    return (
        "we compare sums of any number of terms, term by term, with products in augmented bases, and use the "
        "Cauchy-Schwarz inequality"
    )


@replay("fedlrt/thm-7-first-term-lines")
def thm_7_first_term_lines_as_printed(values: Values) -> Violation:
    """Compare columns of F with rows of the transposed augmented basis V, in the fourth equality's printed product."""
    n, columns = int(values["n"]), int(values["columns"])
    return Violation(
        n,
        columns,
        assumes=[
            Hypothesis("columns of V, 2r", columns, ">=", 2),
            Hypothesis("columns of V, even", columns % 2, "=", 0),
        ],
        reads="the transpose of the augmented basis V has 2r rows, and F should have as many columns. We compare its "
        "number of columns, n, with 2r",
    )


ROUNDS = rounds(WHOLES)


@proof("fedlrt/thm-7-first-term")
def thm_7_first_term(drift: Fraction = Fraction(1), leading: Fraction = Fraction(1)) -> str:
    r"""The mean w of the clients' ends in the inner product with g, for any numbers of clients and steps, any rate.

    It is $\langle g, w\rangle + s\lambda|g|^2 = -\frac\lambda C\sum_{c,k}\langle g, D_{c,k}\rangle$. Each product is at
    most $|g||D_{c,k}| \le |g||e_{c,k}|$ by Cauchy and Schwarz, which gives the printed right side. The program checks
    the identity for some sizes: the right side minus the left side is zero.
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
        "the Cauchy-Schwarz inequality gives the bound for all sizes and rates; the program also checks the "
        f"difference of the two sides at {len(ROUNDS)} of them"
    )


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
    require(len(clients) * len(steps) > 0, "no numbers")
    x, y = sympy.symbols("x y", positive=True)
    gap = first * (x**2 + y**2) - (x + y) ** 2 / 2 - (x - y) ** 2 / 2  # entry by entry, L/2 = 1/2
    drift = third * (d + h) ** 2 - d**2  # |A| = d, and d + h is what the coefficients have moved
    require(non_negative(gap), "step (I)")
    require(non_negative(drift), "step (III)")
    require(non_negative(fourth * x**2 - x**2), "step (IV)")
    for C, count in product(clients, steps):
        forces = _negative_gradients(C, count)
        apart = total(force - own[0] for own in forces for force in own) / C
        whole = total(force for own in forces for force in own) / C
        mean = total(own[0] for own in forces) / C
        same(whole, apart + leading * count * mean, f"the equality at {C}, {count}")
        square_of_sum(C * count, second)
    return "we expand a square and use Lemma 6 for any number of terms, Lemma 3 and an orthonormal basis"


@proof("fedlrt/thm-7-second-term")
def thm_7_second_term(square: Fraction = Fraction(1), leading: Fraction = Fraction(1)) -> str:
    r"""$\frac12|x + y|^2 \le |x|^2 + |y|^2$ (Lemma 5) for the two parts of the mean w of the clients' ends.

    They are $x = -s\lambda g$ and $y = -\frac\lambda C\sum_{c,k}D_{c,k}$. The square of a sum of sC vectors is at most
    sC times the sum of their squares (Lemma 6): $|y|^2 \le \frac{\lambda^2s}C \sum_{c,k}|D_{c,k}|^2 \le
    \frac{\lambda^2s}C\sum_{c,k}|e_{c,k}|^2$, for any sizes and rates. For some sizes, the program checks that the rest
    of right minus left side is positive semidefinite.
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
        "Lemmas 5 and 6 give the bound for all sizes and rates; the program also checks the difference of the two "
        f"sides at {len(ROUNDS)} of them"
    )


@replay("fedlrt/eq-33")
def eq_33_as_printed(values: Values) -> Violation:
    """Evaluate the middle and the last expression of the printed line."""
    at = one_step(values)
    moved = minus(at.star, at.W)
    way = [[at.rate * at.F[i][j] for j in range(2)] for i in range(2)]
    middle = inner(moved, at.F) + inner(moved, moved) / 2
    last = -inner(way, at.F) + inner(way, way) / 2
    return Violation(
        abs(middle - last),
        Fraction(0),
        assumes=at.assumes,
        given=at.given,
        reads="with one client, one step and the loss |W - B|^2/2, we compute the distance of the two expressions",
    )


@proof("fedlrt/eq-33")
def eq_33(inner: Fraction = Fraction(-1), half: Fraction = Fraction(1, 2)) -> str:
    r"""Lemma 4 between $\tilde W_r$ and $\tilde W_r^*$, then (32): $D = \tilde W_r^* - \tilde W_r$ is its double sum.

    Both expressions are one and the same function of D: $-\langle D, F\rangle + \frac L2\|D\|^2$.
    """
    smoothness(inner, half)
    return "we insert (32) into the smoothness bound"
