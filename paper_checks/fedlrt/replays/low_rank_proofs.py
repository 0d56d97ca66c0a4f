r"""Proofs of what holds of bases and of whole rounds: Lemmas 1 to 3, truncation, Theorem 5, distance from FedLin."""

from __future__ import annotations

from collections.abc import Sequence

import sympy

from paper_checks.proof_steps import non_negative, rational
from paper_checks.replay import Proof, proof
from paper_checks.stored_values import Values


def _symbols(name: str, rows: int, columns: int) -> sympy.Matrix:
    return sympy.Matrix(rows, columns, lambda i, j: sympy.Symbol(f"{name}_{i}_{j}"))


@proof("fedlrt/lemma-1", corner="1", ranks=[1, 2, 3])
def lemma_1(values: Values) -> Proof:
    r"""$\tilde U = [U|\bar U]$ is orthonormal (eq. (22)), so that $\tilde U^\top U$ is the identity above zeros.

    Then $\tilde U^\top USV^\top\tilde V$ is S between two such matrices, the corner of zeros. The product is done for
    the ranks of the file; every entry outside the corner has a factor zero whatever the rank.
    """
    corner, flaws = rational(values["corner"]), ["" if values["ranks"] else "no ranks"]
    for r in map(int, values["ranks"]):
        S = _symbols("S", r, r)
        tall = sympy.eye(r).col_join(sympy.zeros(r, r))
        wanted = sympy.diag(corner * S, sympy.zeros(r, r))
        flaws.append("" if tall * S * tall.T == wanted else f"another matrix at rank {r}")
    return Proof.without_flaw(
        r"$\tilde U^\top U$ and $V^\top\tilde V$ are identities beside zeros, for any rank", *flaws
    )


@proof("fedlrt/lemma-2@the-same-spans", share="1", ranks=[1, 2, 3])
def lemma_2(values: Values) -> Proof:
    r"""Both pairs of columns are one up to an invertible matrix.

    With G the gradient at $U_0S_0V_0^\top$ the chain rule gives $\nabla_K\mathcal{L} = GV_0$ and $\nabla_U\mathcal{L} =
    GV_0S_0^\top$, so that $[U_0|K(t_1)] = [U_0|U_0S_0 - \lambda GV_0] = [U_0|-\nabla_U\mathcal{L}]\,M$ with $M =
    \begin{pmatrix}I & S_0\\0 & \lambda S_0^{-\top}\end{pmatrix}$, of determinant $\lambda^r/\det S_0 \ne 0$. So the
    spans are one; for V and L take the transposed problem. The models of (17) start at $P_{\tilde U}W_0P_{\tilde V}$
    and follow $\dot W = -P_{\tilde U}\nabla\mathcal{L}(W)P_{\tilde V}$: of the bases they know the spans only.
    """
    share, flaws = rational(values["share"]), ["" if values["ranks"] else "no ranks"]
    rate = sympy.Symbol("lambda", positive=True)
    for r in map(int, values["ranks"]):
        U, GV, S = _symbols("U", r + 1, r), _symbols("X", r + 1, r), _symbols("S", r, r)
        inverse = S.T.adjugate() / S.det(method="berkowitz")
        M = sympy.eye(r).row_join(S).col_join(sympy.zeros(r, r).row_join(share * rate * inverse))
        left = U.row_join(U * S - rate * GV)
        gap = (U.row_join(-GV * S.T) * M - left).applyfunc(sympy.cancel)
        flaws.append("" if gap.is_zero_matrix else f"[U|K] is not the product at rank {r}")
        away = sympy.cancel(M.det(method="berkowitz") * S.det(method="berkowitz") - rate**r)
        flaws.append("" if away == 0 else f"another determinant at rank {r}")
    return Proof.without_flaw(
        r"$[U_0|K(t_1)] = [U_0|-\nabla_U\mathcal{L}]\,M$ with M invertible for every $\lambda > 0$ and invertible "
        r"$S_0$",
        *flaws,
    )


@proof("fedlrt/lemma-3", constant="1", sizes=[[2, 1], [3, 2], [4, 4]])
def lemma_3(values: Values) -> Proof:
    r"""Projection loses norm, and $\|USV^\top\| = \|S\|$.

    Complete U and V to orthogonal matrices. They leave the Frobenius norm of $A = F(US_1V^\top) - F(US_2V^\top)$ as it
    is; the entries of $U^\top AV$, and of $P_UAP_V$ in these bases, are some of the entries, so that the square of
    their norm is less by a sum of squares. Then $\|A\| \le L\|U(S_1 - S_2)V^\top\| = L\|S_1 - S_2\|$, by
    $U^\top U = V^\top V = I$ in the trace. F(W) = LW attains it.
    """
    constant, flaws = rational(values["constant"]), ["" if values["sizes"] else "no sizes"]
    for n, r in values["sizes"]:
        A = _symbols("A", n, n)
        whole = sum(a**2 for a in A)
        part = sum(a**2 for a in A[:r, :r])
        flaws.append("" if r <= n and non_negative(constant**2 * whole - part) else f"more than {constant} at {n}, {r}")
        # Attained: a matrix that lives in the corner.
        corner = whole.subs({A[i, j]: 0 for i in range(n) for j in range(n) if i >= r or j >= r})
        flaws.append("" if sympy.expand(constant**2 * corner - part) == 0 else "not the least constant")
    return Proof.without_flaw(
        "in completed bases the projection drops entries, and what is left is attained by F(W) = LW", *flaws
    )


def flaw_of_tail(after: int, sizes: Sequence[int]) -> str:
    r"""That the squares from $\sigma_{r+1}$ on add up to what the best matrix of rank r misses, squared.

    With the tail from $\sigma_{r + after}$ on this is so for after = 1. The sum is $\sigma_r^2$ less than at r - 1.
    """
    flaws = ["" if sizes else "no sizes"]
    for size in map(int, sizes):
        s = sympy.symbols(f"s_1:{size + 1}", nonnegative=True)

        def tail(first: int, s: tuple[sympy.Symbol, ...] = s) -> sympy.Expr:
            return sum((x**2 for x in s[first - 1 :]), sympy.Integer(0))

        for rank in range(1, size + 1):
            missed = tail(rank + 1)
            flaws.append("" if sympy.expand(tail(rank + after) - missed) == 0 else "not what the best matrix misses")
            flaws.append("" if sympy.expand(tail(rank) - missed - s[rank - 1] ** 2) == 0 else "not a positive value")
        flaws.append("" if tail(size + 1) == 0 and tail(size) == s[-1] ** 2 else "the last ranks")
    return next((flaw for flaw in flaws if flaw), "")


@proof("fedlrt/claim-trunc", after=1, sizes=[2, 4, 6])
def claim_trunc(values: Values) -> Proof:
    r"""The rule asks of $r_1$ what the best matrix of rank $r_1$ misses (Eckart and Young) to be below the threshold.

    The square of that distance is the sum of $\sigma_i^2$ over $i > r_1$. It is 0 at 2r, so that some $r_1$ is
    admitted, and at 0 it is $\|\tilde S^*\|^2 \ge \vartheta^2$; the smallest admitted one is therefore the least
    rank within $\vartheta$. Between $r_1 - 1$ and $r_1$ it falls by $\sigma_{r_1}^2$, which is then positive, as
    the values before it are. With the tail from $\sigma_{r_1}$ on the sum at 2r is $\sigma_{2r}^2$, the smallest of
    all, so that none is admitted where $\sigma_{2r} \ge \vartheta$.
    """
    flaw = flaw_of_tail(int(values["after"]), values["sizes"])
    return Proof(
        not flaw,
        flaw
        or "the condition is that of the best approximation, and its left side falls by the "
        "square of the value that is kept last",
    )


@proof("fedlrt/alg-4", inside="1")
def alg_4(values: Values) -> Proof:
    r"""With $V_c = G - G_c$ inside the bracket a step is along $\nabla \mathcal{L}_c(w) - (G_c - G)$, as in (4).

    At a stationary point of the global loss G = 0; a client that stands there steps along $G_c + 0 - G_c = 0$ and
    stays, by induction over the steps.
    """
    inside = rational(values["inside"])
    w, rate, slope, G, G_c = sympy.symbols("w lambda g G G_c")
    box = w - inside * rate * (slope + (G - G_c))
    flaws = ["" if sympy.expand(box - (w - rate * (slope - (G_c - G)))) == 0 else "not the step of (4)"]
    flaws.append("" if sympy.expand(box.subs({G: 0, slope: G_c}) - w) == 0 else "a stationary point moves")
    return Proof.without_flaw("the step is that of (4) for any gradients, and 0 where the global gradient is", *flaws)


@proof("fedlrt/thm-5@steps-up-to-1", d_2="1", d_3="1", longest="1")
def thm_5(values: Values) -> Proof:
    r"""Both flows start at $W_0$, which lies in the wide bases; let P be the projection on them.

    $e = W - W_r$ has $e' = -(\nabla\mathcal{L}(W) - \nabla\mathcal{L}(W_r)) - (I - P)\nabla\mathcal{L}(W_r)$, so that
    $\|e\|' \le L\|e\| + B$ and, by Gronwall, $\|e\| \le y(t) = B(e^{Lt} - 1)/L$, the solution of $y' = Ly + B$ from 0.
    With $x = Lt$, $xe^x - (e^x - 1)$ is 0 at 0 and has the derivative $xe^x \ge 0$, so that $y \le Be^{Lt}t \le Be^Lt$
    for $t \le 1$. Truncation adds at most $\vartheta \le \vartheta/t$.
    """
    d_2, d_3, longest = rational(values["d_2"]), rational(values["d_3"]), rational(values["longest"])
    t, L, B, x, A = sympy.symbols("t L B x A", positive=True)
    y = B * (sympy.exp(L * t) - 1) / L
    flaws = ["" if sympy.simplify(sympy.diff(y, t) - L * y - B) == 0 and y.subs(t, 0) == 0 else "not the solution"]
    room = d_2 * x * sympy.exp(x) - (sympy.exp(x) - 1)
    slope = sympy.expand(sympy.simplify(sympy.diff(room, x) * sympy.exp(-x)))
    flaws.append("" if room.subs(x, 0) == 0 and non_negative(slope) else "the integral is not below d_2 B e^L t")
    flaws.append("" if longest == 1 else "e^(Lt) is at most e^L for t up to 1 alone")
    numerator = sympy.cancel((d_3 - longest / (1 + A)) * (1 + A))  # t = longest / (1 + A)
    flaws.append("" if non_negative(numerator) else "the truncated part is not within d_3 theta / t")
    return Proof.without_flaw(
        r"Gronwall's inequality for the difference of the flows gives $B(e^{L\Delta t} - 1)/L$, at "
        r"most $Be^L\Delta t$; truncation adds $\vartheta$: $d_1 = 0$, $d_2 = Be^L$, $d_3 = 1$",
        *flaws,
    )


@proof("fedlrt/claim-close-to-full", own="1", stale="2")
def claim_close(values: Values) -> Proof:
    r"""One client in one round, then the mean, then rounds.

    Let D be the distance of the servers' weights at the start of a round and $d_k$ that of a client's after k steps,
    $d_0 = D$. FedLin's step is along $\nabla \mathcal{L}_c(x) - \nabla \mathcal{L}_c(x_0) + \nabla\mathcal{L}(x_0)$,
    FeDLRT's along the projection of the same expression, which differs from it by at most $\epsilon$. So $d_{k+1} \le
    d_k + \lambda(Ld_k + 2LD + \epsilon)$: $d_k + 2D + \epsilon/L$ grows by $1 + \lambda L$ at most, and $d_{s_*} \le
    (3a - 2)D + (a - 1)\epsilon/L$. The mean over the clients is within the same, truncation adds $\vartheta$, and from
    D = 0 the bound stated follows by induction over T. For one step of one round it is $\lambda\epsilon + \vartheta$;
    then what the projection leaves out of the only direction, and what is cut, each alone are the distance.
    """
    own, stale = rational(values["own"]), rational(values["stale"])
    rate, L, eps, theta, D, d, a, q = sympy.symbols("lambda L epsilon theta D d a q", positive=True)
    step = d + rate * (own * L * d + stale * L * D + eps)
    kept = 2 * D + eps / L
    flaws = ["" if sympy.expand(step + kept - (1 + rate * L) * (d + kept)) == 0 else "what a step multiplies"]
    end = a * (D + kept) - kept
    flaws.append("" if sympy.expand(end - ((3 * a - 2) * D + (a - 1) * eps / L)) == 0 else "the end of a round")
    per = eps / (3 * L) + theta / (3 * (a - 1))
    # q stands for (3a - 2)^T.
    after = (3 * a - 2) * (q - 1) * per + (a - 1) * eps / L + theta
    flaws.append("" if sympy.simplify(after - ((3 * a - 2) * q - 1) * per) == 0 else "the induction over the rounds")
    single = ((3 * a - 3) * per).subs(a, 1 + rate * L)
    flaws.append("" if sympy.simplify(single - rate * eps - theta) == 0 else "one step of one round")
    return Proof.without_flaw(
        r"$d_k + 2D + \epsilon/L$ grows by $1 + \lambda L$ in a step, then induction over the rounds", *flaws
    )


@proof("fedlrt/claim-close-to-full@as-theorem-5-bounds-it", d_2=1, d_3=1)
def claim_close_in_a_round(values: Values) -> Proof:
    r"""One round of $s_*$ steps from common weights; $\epsilon$ is what the steps leave outside of the wide bases.

    Let $d_k$ be the distance of a client's weights after k steps from those it has with FedLin, $d_0 = 0$. FedLin's
    step is along $\nabla \mathcal{L}_c(w) - \nabla \mathcal{L}_c(w_0) + \nabla\mathcal{L}(w_0)$, FeDLRT's along the
    projection of the same expression, which differs from it by at most $\epsilon \le 3B$. So $d_{k+1} \le (1 + \lambda
    L)d_k + \lambda\epsilon$, and $d_{s_*} \le ((1 + \lambda L)^{s_*} - 1)\epsilon/L \le (e^x - 1)\epsilon/L$ with $x =
    s_*\lambda L$. As $xe^x - (e^x - 1)$ is 0 at 0 and has the derivative $xe^x \ge 0$, this is at most $s_*\lambda
    e^x\epsilon$, and $e^x \le e^L$ for $s_*\lambda \le 1$. The mean over the clients is within the same, and truncation
    adds at most $\vartheta \le \vartheta/(s_*\lambda)$.
    """
    d_2, d_3 = rational(values["d_2"]), rational(values["d_3"])
    rate, L, eps, d, x, a, A = sympy.symbols("lambda L epsilon d x a A", positive=True)
    step, kept = d + rate * (L * d + eps), eps / L
    flaws = ["" if sympy.expand(step + kept - (1 + rate * L) * (d + kept)) == 0 else "what a step multiplies"]
    flaws.append("" if sympy.expand(a * kept - kept - (a - 1) * eps / L) == 0 else "the end of a round")
    room = d_2 * x * sympy.exp(x) - (sympy.exp(x) - 1)
    slope = sympy.expand(sympy.simplify(sympy.diff(room, x) * sympy.exp(-x)))
    flaws.append("" if room.subs(x, 0) == 0 and non_negative(slope) else "the end is not below d_2 times s lambda")
    flaws.append(
        "" if non_negative(sympy.cancel((d_3 - 1 / (1 + A)) * (1 + A))) else "truncation, s lambda = 1/(1 + A)"
    )
    return Proof.without_flaw(
        r"$d_k + \epsilon/L$ grows by $1 + \lambda L$ in a step, $\epsilon \le 3B$, and truncation "
        r"adds $\vartheta$: $d_1 = 0$, $d_2 = 3Be^L$, $d_3 = 1$",
        *flaws,
    )


@proof("fedlrt/claim-het-plateau", curvature="1", clients=[2, 3, 4], steps=[1, 2, 4])
def claim_het_plateau(values: Values) -> Proof:
    r"""Clients of the same points have the same second derivative H, in W and in the coefficients of common bases.

    With full gradients a client steps by $w \mapsto (I - \lambda H)w + \lambda(b_c - v_c)$, with a correction
    $v_c$, none, the full one or its block, whose mean over the clients is zero. The mean of the clients after any
    number of steps is then one expression in the start and the mean of the $b_c$, without the $v_c$. So FedAvg's round
    is FedLin's; FeDLRT's variants send the same mean factor gradients, have the same wide bases, hence the same mean
    coefficients, and truncate the same matrix. By induction all rounds are the same, and where one method converges
    the other does.
    """
    other, flaws = rational(values["curvature"]), ["" if values["clients"] and values["steps"] else "no sizes"]
    H, start = sympy.symbols("H w", commutative=False)  # H stands for the step times the second derivative
    for clients in map(int, values["clients"]):
        given = sympy.symbols(f"b_0:{clients}", commutative=False)
        free = sympy.symbols(f"v_0:{clients - 1}", commutative=False)
        added = [*free, -sum(free)]
        for steps in map(int, values["steps"]):
            ends = []
            for c in range(clients):
                w = start
                for _ in range(steps):
                    w = sympy.expand(w - (other if c == 1 else 1) * H * w + given[c] - added[c])
                ends.append(w)
            left = sympy.expand(sum(ends)).free_symbols & set(free)
            flaws.append(f"the correction is left after {steps} steps of {clients} clients" if left else "")
    return Proof.without_flaw(
        "with one second derivative the corrections cancel in the mean after any number of steps", *flaws
    )
