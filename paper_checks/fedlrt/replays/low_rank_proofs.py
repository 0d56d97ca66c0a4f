r"""Proofs of what holds of bases and of whole rounds: Lemmas 1 to 3, truncation, Theorem 5, distance from FedLin."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import sympy

from paper_checks.proof_steps import non_negative
from paper_checks.replay import proof, require


def symbols_of(name: str, rows: int, columns: int) -> sympy.Matrix:
    return sympy.Matrix(rows, columns, lambda i, j: sympy.Symbol(f"{name}_{i}_{j}"))


@proof("fedlrt/lemma-1")
def lemma_1(corner: Fraction = Fraction(1), ranks: Sequence[int] = (1, 2, 3)) -> str:
    r"""$\tilde U = [U|\bar U]$ is orthonormal (eq. (22)), so that $\tilde U^\top U$ is the identity above zeros.

    Then $\tilde U^\top USV^\top\tilde V$ is S between two such matrices, the corner of zeros. The machine does the
    product for some ranks; every entry outside the corner has a factor zero for any rank.
    """
    require(ranks, "no ranks")
    for r in ranks:
        S = symbols_of("S", r, r)
        tall = sympy.eye(r).col_join(sympy.zeros(r, r))
        wanted = sympy.diag(corner * S, sympy.zeros(r, r))
        require(tall * S * tall.T == wanted, f"another matrix at rank {r}")
    return r"$\tilde U^\top U$ and $V^\top\tilde V$ are identities beside zeros, for any rank"


@proof("fedlrt/lemma-2@the-same-spans")
def lemma_2(share: Fraction = Fraction(1), ranks: Sequence[int] = (1, 2, 3)) -> str:
    r"""Both pairs of columns are one up to an invertible matrix.

    With G the gradient at $U_0S_0V_0^\top$ the chain rule gives $\nabla_K\mathcal{L} = GV_0$ and $\nabla_U\mathcal{L} =
    GV_0S_0^\top$, so that $[U_0|K(t_1)] = [U_0|U_0S_0 - \lambda GV_0] = [U_0|-\nabla_U\mathcal{L}]\,M$ with $M =
    \begin{pmatrix}I & S_0\\0 & \lambda S_0^{-\top}\end{pmatrix}$, of determinant $\lambda^r/\det S_0 \ne 0$. So the
    spans are one; for V and L take the transposed problem. The models of (17) start at $P_{\tilde U}W_0P_{\tilde V}$
    and follow $\dot W = -P_{\tilde U}\nabla\mathcal{L}(W)P_{\tilde V}$: of the bases they know the spans only.
    """
    require(ranks, "no ranks")
    rate = sympy.Symbol("lambda", positive=True)
    for r in ranks:
        U, GV, S = symbols_of("U", r + 1, r), symbols_of("X", r + 1, r), symbols_of("S", r, r)
        inverse = S.T.adjugate() / S.det(method="berkowitz")
        M = sympy.eye(r).row_join(S).col_join(sympy.zeros(r, r).row_join(share * rate * inverse))
        left = U.row_join(U * S - rate * GV)
        gap = (U.row_join(-GV * S.T) * M - left).applyfunc(sympy.cancel)
        require(gap.is_zero_matrix, f"[U|K] is not the product at rank {r}")
        away = sympy.cancel(M.det(method="berkowitz") * S.det(method="berkowitz") - rate**r)
        require(away == 0, f"another determinant at rank {r}")
    return (
        r"$[U_0|K(t_1)] = [U_0|-\nabla_U\mathcal{L}]\,M$ with M invertible for every $\lambda > 0$ and invertible "
        r"$S_0$"
    )


@proof("fedlrt/lemma-3")
def lemma_3(constant: Fraction = Fraction(1), sizes: Sequence[tuple[int, int]] = ((2, 1), (3, 2), (4, 4))) -> str:
    r"""Projection loses norm, and $\|USV^\top\| = \|S\|$.

    Complete U and V to orthogonal matrices. They leave the Frobenius norm of $A = F(US_1V^\top) - F(US_2V^\top)$ as it
    is; the entries of $U^\top AV$, and of $P_UAP_V$ in these bases, are some of the entries, so that the square of
    their norm is less by a sum of squares. Then $\|A\| \le L\|U(S_1 - S_2)V^\top\| = L\|S_1 - S_2\|$, by
    $U^\top U = V^\top V = I$ in the trace. F(W) = LW attains it.
    """
    require(sizes, "no sizes")
    for n, r in sizes:
        A = symbols_of("A", n, n)
        whole = sum(a**2 for a in A)
        part = sum(a**2 for a in A[:r, :r])
        require(r <= n and non_negative(constant**2 * whole - part), f"more than {constant} at {n}, {r}")
        # Attained: a matrix that lives in the corner.
        corner = whole.subs({A[i, j]: 0 for i in range(n) for j in range(n) if i >= r or j >= r})
        require(sympy.expand(constant**2 * corner - part) == 0, "not the least constant")
    return "in completed bases the projection drops entries, and what is left is attained by F(W) = LW"


def tail_is_what_the_best_rank_misses(after: int, sizes: Sequence[int]) -> None:
    r"""The squares from $\sigma_{r+1}$ on add up to what the best matrix of rank r misses, squared.

    With the tail from $\sigma_{r + after}$ on this is so for after = 1. The sum is $\sigma_r^2$ less than at r - 1.
    """
    require(sizes, "no sizes")
    for size in sizes:
        s = sympy.symbols(f"s_1:{size + 1}", nonnegative=True)

        def tail(first: int, s: tuple[sympy.Symbol, ...] = s) -> sympy.Expr:
            return sum((x**2 for x in s[first - 1 :]), sympy.Integer(0))

        for rank in range(1, size + 1):
            missed = tail(rank + 1)
            require(sympy.expand(tail(rank + after) - missed) == 0, "not what the best matrix misses")
            require(sympy.expand(tail(rank) - missed - s[rank - 1] ** 2) == 0, "not a positive value")
        require(tail(size + 1) == 0 and tail(size) == s[-1] ** 2, "the last ranks")


@proof("fedlrt/claim-trunc")
def claim_trunc(after: int = 1, sizes: Sequence[int] = (2, 4, 6)) -> str:
    r"""The rule asks of $r_1$ what the best matrix of rank $r_1$ misses (Eckart and Young) to be below the threshold.

    The square of that distance is the sum of $\sigma_i^2$ over $i > r_1$. It is 0 at 2r, so that some $r_1$ is
    admitted, and at 0 it is $\|\tilde S^*\|^2 \ge \vartheta^2$; the smallest admitted one is therefore the least
    rank within $\vartheta$. Between $r_1 - 1$ and $r_1$ it falls by $\sigma_{r_1}^2$, which is then positive, as
    the values before it are. With the tail from $\sigma_{r_1}$ on the sum at 2r is $\sigma_{2r}^2$, the smallest of
    all, so that none is admitted where $\sigma_{2r} \ge \vartheta$.
    """
    tail_is_what_the_best_rank_misses(after, sizes)
    return (
        "the condition is that of the best approximation, and its left side falls by the square of the value that is "
        "kept last"
    )


@proof("fedlrt/alg-4")
def alg_4(inside: Fraction = Fraction(1)) -> str:
    r"""With $V_c = G - G_c$ inside the bracket a step is along $\nabla \mathcal{L}_c(w) - (G_c - G)$, as in (4).

    At a stationary point of the global loss G = 0; a client that stands there steps along $G_c + 0 - G_c = 0$ and
    stays, by induction over the steps.
    """
    w, rate, slope, G, G_c = sympy.symbols("w lambda g G G_c")
    box = w - inside * rate * (slope + (G - G_c))
    require(sympy.expand(box - (w - rate * (slope - (G_c - G)))) == 0, "not the step of (4)")
    require(sympy.expand(box.subs({G: 0, slope: G_c}) - w) == 0, "a stationary point moves")
    return "the step is that of (4) for any gradients, and 0 where the global gradient is"


@proof("fedlrt/thm-5@steps-up-to-1")
def thm_5(d_2: Fraction = Fraction(1), d_3: Fraction = Fraction(1), longest: Fraction = Fraction(1)) -> str:
    r"""Both flows start at $W_0$, which lies in the wide bases; let P be the projection on them.

    $e = W - W_r$ has $e' = -(\nabla\mathcal{L}(W) - \nabla\mathcal{L}(W_r)) - (I - P)\nabla\mathcal{L}(W_r)$, so that
    $\|e\|' \le L\|e\| + B$ and, by Gronwall, $\|e\| \le y(t) = B(e^{Lt} - 1)/L$, the solution of $y' = Ly + B$ from 0.
    With $x = Lt$, $xe^x - (e^x - 1)$ is 0 at 0 and has the derivative $xe^x \ge 0$, so that $y \le Be^{Lt}t \le Be^Lt$
    for $t \le 1$. Truncation adds at most $\vartheta \le \vartheta/t$.
    """
    t, L, B, x, A = sympy.symbols("t L B x A", positive=True)
    y = B * (sympy.exp(L * t) - 1) / L
    require(sympy.simplify(sympy.diff(y, t) - L * y - B) == 0 and y.subs(t, 0) == 0, "not the solution")
    room = d_2 * x * sympy.exp(x) - (sympy.exp(x) - 1)
    slope = sympy.expand(sympy.simplify(sympy.diff(room, x) * sympy.exp(-x)))
    require(room.subs(x, 0) == 0 and non_negative(slope), "the integral is not below d_2 B e^L t")
    require(longest == 1, "e^(Lt) is at most e^L for t up to 1 alone")
    numerator = sympy.cancel((d_3 - longest / (1 + A)) * (1 + A))  # t = longest / (1 + A)
    require(non_negative(numerator), "the truncated part is not within d_3 theta / t")
    return (
        r"Gronwall's inequality for the difference of the flows gives $B(e^{L\Delta t} - 1)/L$, at "
        r"most $Be^L\Delta t$; truncation adds $\vartheta$: $d_1 = 0$, $d_2 = Be^L$, $d_3 = 1$"
    )


@proof("fedlrt/claim-close-to-full")
def claim_close(own: Fraction = Fraction(1), stale: Fraction = Fraction(2)) -> str:
    r"""One client in one round, then the mean, then rounds.

    Let D be the distance of the servers' weights at the start of a round and $d_k$ that of a client's after k steps,
    $d_0 = D$. FedLin's step is along $\nabla \mathcal{L}_c(x) - \nabla \mathcal{L}_c(x_0) + \nabla\mathcal{L}(x_0)$,
    FeDLRT's along the projection of the same expression, which differs from it by at most $\epsilon$. So $d_{k+1} \le
    d_k + \lambda(Ld_k + 2LD + \epsilon)$: $d_k + 2D + \epsilon/L$ grows by $1 + \lambda L$ at most, and $d_{s_*} \le
    (3a - 2)D + (a - 1)\epsilon/L$. The mean over the clients is within the same, truncation adds $\vartheta$, and from
    D = 0 the bound stated follows by induction over T. For one step of one round it is $\lambda\epsilon + \vartheta$;
    then what the projection leaves out of the only direction, and what is cut, each alone are the distance.
    """
    rate, L, eps, theta, D, d, a, q = sympy.symbols("lambda L epsilon theta D d a q", positive=True)
    step = d + rate * (own * L * d + stale * L * D + eps)
    kept = 2 * D + eps / L
    require(sympy.expand(step + kept - (1 + rate * L) * (d + kept)) == 0, "what a step multiplies")
    end = a * (D + kept) - kept
    require(sympy.expand(end - ((3 * a - 2) * D + (a - 1) * eps / L)) == 0, "the end of a round")
    per = eps / (3 * L) + theta / (3 * (a - 1))
    # q stands for (3a - 2)^T.
    after = (3 * a - 2) * (q - 1) * per + (a - 1) * eps / L + theta
    require(sympy.simplify(after - ((3 * a - 2) * q - 1) * per) == 0, "the induction over the rounds")
    single = ((3 * a - 3) * per).subs(a, 1 + rate * L)
    require(sympy.simplify(single - rate * eps - theta) == 0, "one step of one round")
    return r"$d_k + 2D + \epsilon/L$ grows by $1 + \lambda L$ in a step, then induction over the rounds"


@proof("fedlrt/claim-close-to-full@as-theorem-5-bounds-it")
def claim_close_in_a_round(d_2: int = 1, d_3: int = 1) -> str:
    r"""One round of $s_*$ steps from common weights; $\epsilon$ is what the steps leave outside of the wide bases.

    Let $d_k$ be the distance of a client's weights after k steps from those it has with FedLin, $d_0 = 0$. FedLin's
    step is along $\nabla \mathcal{L}_c(w) - \nabla \mathcal{L}_c(w_0) + \nabla\mathcal{L}(w_0)$, FeDLRT's along the
    projection of the same expression, which differs from it by at most $\epsilon \le 3B$. So $d_{k+1} \le (1 + \lambda
    L)d_k + \lambda\epsilon$, and $d_{s_*} \le ((1 + \lambda L)^{s_*} - 1)\epsilon/L \le (e^x - 1)\epsilon/L$ with $x =
    s_*\lambda L$. As $xe^x - (e^x - 1)$ is 0 at 0 and has the derivative $xe^x \ge 0$, this is at most $s_*\lambda
    e^x\epsilon$, and $e^x \le e^L$ for $s_*\lambda \le 1$. The mean over the clients is within the same, and truncation
    adds at most $\vartheta \le \vartheta/(s_*\lambda)$.
    """
    rate, L, eps, d, x, a, A = sympy.symbols("lambda L epsilon d x a A", positive=True)
    step, kept = d + rate * (L * d + eps), eps / L
    require(sympy.expand(step + kept - (1 + rate * L) * (d + kept)) == 0, "what a step multiplies")
    require(sympy.expand(a * kept - kept - (a - 1) * eps / L) == 0, "the end of a round")
    room = d_2 * x * sympy.exp(x) - (sympy.exp(x) - 1)
    slope = sympy.expand(sympy.simplify(sympy.diff(room, x) * sympy.exp(-x)))
    require(room.subs(x, 0) == 0 and non_negative(slope), "the end is not below d_2 times s lambda")
    require(non_negative(sympy.cancel((d_3 - 1 / (1 + A)) * (1 + A))), "truncation, s lambda = 1/(1 + A)")
    return (
        r"$d_k + \epsilon/L$ grows by $1 + \lambda L$ in a step, $\epsilon \le 3B$, and truncation "
        r"adds $\vartheta$: $d_1 = 0$, $d_2 = 3Be^L$, $d_3 = 1$"
    )


@proof("fedlrt/claim-het-plateau")
def claim_het_plateau(
    curvature: Fraction = Fraction(1), clients: Sequence[int] = (2, 3, 4), steps: Sequence[int] = (1, 2, 4)
) -> str:
    r"""Clients of the same points have the same second derivative H, in W and in the coefficients of common bases.

    With full gradients a client steps by $w \mapsto (I - \lambda H)w + \lambda(b_c - v_c)$, with a correction
    $v_c$, none, the full one or its block, whose mean over the clients is zero. The mean of the clients after any
    number of steps is then one expression in the start and the mean of the $b_c$, without the $v_c$. So FedAvg's round
    is FedLin's; FeDLRT's variants send the same mean factor gradients, have the same wide bases, hence the same mean
    coefficients, and truncate the same matrix. By induction all rounds are the same, and where one method converges
    the other does.
    """
    require(clients and steps, "no sizes")
    H, start = sympy.symbols("H w", commutative=False)  # H stands for the step times the second derivative
    for C in clients:
        given = sympy.symbols(f"b_0:{C}", commutative=False)
        free = sympy.symbols(f"v_0:{C - 1}", commutative=False)
        added = [*free, -sum(free)]
        for count in steps:
            ends = []
            for c in range(C):
                w = start
                for _ in range(count):
                    w = sympy.expand(w - (curvature if c == 1 else 1) * H * w + given[c] - added[c])
                ends.append(w)
            left = sympy.expand(sum(ends)).free_symbols & set(free)
            require(not left, f"the correction is left after {count} steps of {C} clients")
    return "with one second derivative the corrections cancel in the mean after any number of steps"
