"""Section 3.3: the size of the SVD, matrices that are never formed, and the cost of a correction."""

from __future__ import annotations

from fractions import Fraction

import sympy

from paper_checks.fedlrt.replays.shared.boxes import VARIANTS, b, exchanges, m, n, r, steps
from paper_checks.proof_steps import non_negative, positive
from paper_checks.replay import proof, require


@proof("fedlrt/claim-svd-size")
def claim_svd_size(sides: Fraction = Fraction(2)) -> str:
    r"""The server decomposes $\tilde S^*$, 2r by 2r, and bases of 2r columns; it multiplies these by $r_1 = r$ columns.

    A product of a by b with b by c is counted as abc multiplications, QR of n by k as $2nk^2$ and an SVD of k by k as
    $k^3$, their leading orders; the means of what the clients send have additions only. With m = n all multiplications
    of the server are a polynomial of degree one in n: for fixed r the cost is linear in n, for any constants. A
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
        f"a round needs one SVD of that size; in total, QR and SVD need, to leading order, "
        f"${sympy.latex(cost.as_expr())}$ multiplications"
    )


@proof("fedlrt/claim-no-full-matrix")
def claim_no_full_matrix(columns: Fraction = Fraction(2)) -> str:
    r"""Every product of a round, with the shapes of its factors; apart from samples, the largest is an augmented basis.

    A client passes b samples X, b by m, through factors of k columns, k = r for the gradients of the bases, k = 2r in
    the local steps. Forwards: $XU$, b by k; $(XU)S$, b by k; $(XUS)V^\top$, b by n. Backwards, with the errors E, b by
    n: $EV$, b by k; $(EV)S^\top$, b by k. Gradients: $X^\top(EVS^\top)$, m by k; $E^\top(XUS)$, n by k;
    $(XU)^\top(EV)$, k by k. The server has QR of $[U|G_U]$, m by 2r, and $[V|G_V]$, n by 2r, the SVD of $\tilde S^*$,
    2r by 2r, and the products $\tilde UP_{r_1}$, m by r, and $\tilde VQ_{r_1}$, n by r (at most 2r columns, if another
    rank is kept). What is sent is U, V, $\bar U$, $\bar V$, their gradients and coefficients. For $m \ge n > 2r$ a
    matrix of 2r m entries, fewer than the m n of the layer, bounds all of these that are not of samples. At n = 2r a
    augmented basis is as large as the layer.
    """
    A, B = sympy.symbols("A B", positive=True)
    sent = [
        shape
        for one in VARIANTS
        for exchange in exchanges(one)
        for shape in (*exchange.sent.values(), *exchange.back.values())
    ]
    for rows, count in [*(one.gives for one in steps()), *sent]:
        if b not in (rows, count):
            room, spare = ((most - rows * count).subs(m, n + B).subs(n, 2 * r + A) for most in (columns * r * m, m * n))
            require(non_negative(room), f"{rows} by {count} is larger")
            require(positive(spare), f"{rows} by {count} is as large as the layer")
    return "we list the shapes of everything that is computed and sent"
