"""Proofs of what the text says of costs, from the lines of Algorithms 1, 4 and 5, for all sizes."""

from __future__ import annotations

from fractions import Fraction

import sympy

from paper_checks.fedlrt.replays.boxes import b, m, n, r, steps, trips
from paper_checks.proof_steps import non_negative, positive
from paper_checks.replay import proof, require

VARIANTS = ("none", "simplified", "full")


@proof("fedlrt/claim-server-qr-svd@augmented-coefficients")
def claim_server_qr_svd(sides: Fraction = Fraction(2)) -> str:
    r"""The factorisations of Algorithms 1 and 5 are QR of $[U|G_U]$, $[V|G_V]$ and the SVD of $\tilde S^*$.

    All three are in lines of the server. What a client sends after its local steps is $\tilde S_c$, 2r by 2r.
    """
    side = sides * r
    factored = [one for one in steps() if one.does != "product"]
    require({one.place for one in factored} == {"server"}, "a factorisation on a client")
    require({one.does for one in factored} == {"QR", "SVD"}, "other factorisations")
    for one in VARIANTS:
        require(trips(one)[-1].back == {"St_c": (side, side)}, f"another upload, {one}")
    return "QR and SVD in lines of the server, and the shape of what clients send last"


@proof("fedlrt/claim-two-rounds")
def claim_two_rounds(rounds: Fraction = Fraction(2)) -> str:
    r"""A communication round is what the server sends and the answers: both methods have two.

    FedLin: weights and gradients, the mean gradient and weights. FeDLRT without and with the simplified correction:
    factors and their gradients, $\bar U$, $\bar V$ (and $G_S$) and coefficients.
    """
    for method, first, last in (
        ("FedLin", {"G_c"}, {"W_c"}),
        ("none", {"G_U", "G_V"}, {"St_c"}),
        ("simplified", {"G_U", "G_V", "G_S"}, {"St_c"}),
    ):
        exchanges = trips(method)
        require(len(exchanges) == rounds, f"another number of rounds, {method}")
        answers = set(exchanges[0].back), set(exchanges[-1].back)
        require(answers == (first, last), f"other answers, {method}")
    return "two rounds: gradients, then what the local steps end with"


@proof("fedlrt/fig-2@with-the-text")
def fig_2(sides: Fraction = Fraction(2)) -> str:
    r"""Without correction a round has four messages: the two of the server and what clients answer.

    Algorithm 1 sends U, V, S in line 2, clients the gradients in U and V (line 4), the server $\bar U$, $\bar V$ (line
    6) and clients $\tilde S_c^{s_*}$, 2r by 2r (line 16).
    """
    side = sides * r
    panels = [
        {"U": (m, r), "V": (n, r), "S": (r, r)},
        {"G_U": (m, r), "G_V": (n, r)},
        {"Ubar": (m, r), "Vbar": (n, r)},
        {"St_c": (side, side)},
    ]
    messages = [message for trip in trips("none") for message in (trip.sent, trip.back)]
    require(messages == panels, "other messages")
    return "four messages, their matrices and the shapes"


@proof("fedlrt/claim-svd-size")
def claim_svd_size(sides: Fraction = Fraction(2)) -> str:
    r"""The server decomposes $\tilde S^*$, 2r by 2r, and bases of 2r columns; it multiplies these by $r_1 = r$ columns.

    A product of a by b with b by c is counted as abc multiplications, QR of n by k as $2nk^2$ and an SVD of k by k as
    $k^3$, their leading orders; the means of what the clients send have additions only. With m = n all multiplications
    of the server are a polynomial of degree one in n: for fixed r the cost is linear in n, whatever the constants. A
    round may keep another rank $r_1 \le 2r$, which changes a constant.
    """
    side = sides * r
    server = [one for one in steps() if one.place == "server"]
    cost = sympy.Poly(sum(one.multiplications for one in server).subs(m, n), n, r)
    svds = [one.takes for one in server if one.does == "SVD"]
    require(svds == [((side, side),)], "an SVD of another size")
    require(all(one.takes[0][1] == 2 * r for one in server if one.does == "QR"), "QR of other matrices")
    require(cost.degree(n) == 1, "not linear in n")
    return (
        f"one SVD of that size; all in all, QR and SVD by their leading orders, ${sympy.latex(cost.as_expr())}$ "
        "multiplications"
    )


@proof("fedlrt/claim-no-full-matrix")
def claim_no_full_matrix(columns: Fraction = Fraction(2)) -> str:
    r"""Every product of a round, with the shapes of its factors; beside samples, the largest is a wide basis.

    A client passes b samples X, b by m, through factors of k columns, k = r for the gradients of the bases, k = 2r in
    the local steps. Forwards: $XU$, b by k; $(XU)S$, b by k; $(XUS)V^\top$, b by n. Backwards, with the errors E, b by
    n: $EV$, b by k; $(EV)S^\top$, b by k. Gradients: $X^\top(EVS^\top)$, m by k; $E^\top(XUS)$, n by k;
    $(XU)^\top(EV)$, k by k. The server has QR of $[U|G_U]$, m by 2r, and $[V|G_V]$, n by 2r, the SVD of $\tilde S^*$,
    2r by 2r, and the products $\tilde UP_{r_1}$, m by r, and $\tilde VQ_{r_1}$, n by r (at most 2r columns, if another
    rank is kept). What is sent is U, V, $\bar U$, $\bar V$, their gradients and coefficients. For $m \ge n > 2r$ a
    matrix of 2r m entries, fewer than the m n of the layer, bounds all of these that are not of samples. At n = 2r a
    wide basis is as large as the layer.
    """
    A, B = sympy.symbols("A B", positive=True)
    sent = [shape for one in VARIANTS for trip in trips(one) for shape in (*trip.sent.values(), *trip.back.values())]
    for rows, count in [*(one.gives for one in steps()), *sent]:
        if b not in (rows, count):
            room, spare = ((most - rows * count).subs(m, n + B).subs(n, 2 * r + A) for most in (columns * r * m, m * n))
            require(non_negative(room), f"{rows} by {count} is larger")
            require(positive(spare), f"{rows} by {count} is as large as the layer")
    return "the shapes of all that is computed and sent"


@proof("fedlrt/fig-3@communication-with-full-correction")
def fig_3(
    point: Fraction = Fraction(200),
    share: Fraction = Fraction("0.4"),
    factor: Fraction = Fraction(100),
    width: Fraction = Fraction(512),
) -> str:
    r"""$6nr + 10r^2 = 4n^2$ has the one positive root $r = \frac25n$, for every n; at n = 512 it is 204.8.

    That is within 5 % of 200. At r = 1 the quotient $4n^2/(6n + 10)$ is 340.
    """
    low, full = 6 * n * r + 10 * r**2, 4 * n**2
    roots = [root for root in sympy.solve(low - full, r) if (root / n).is_positive]
    require(roots == [share * n], "another rank of equal cost")
    require(abs(share * width - point) <= point / 20, "more than 5 % from the printed rank")
    require((full / low).subs({n: width, r: 1}) >= factor, "less is gained at rank 1")
    return "the root of a quadratic, its value at the width of the figure, and the quotient at rank 1"
