"""Algorithm 6: the naive low-rank scheme, executed and compared with its text.

Setting: `shared.wide_bases`.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import sympy

from paper_checks.fedlrt.replays.shared.update_symbols import same
from paper_checks.fedlrt.replays.shared.wide_bases import X, row
from paper_checks.replay import Hypothesis, Violation, assuming, proof, replay, require
from paper_checks.stored_values import Values, square


@replay("fedlrt/alg-6")
def alg_6(values: Values) -> Violation:
    """Take one step of two clients with losses |W - T|^2 / 2 from W = e1 e1', U = V = e1.

    The gradients in U and V are -(T - W) e1 and -(T - W)' e1, so client c's bases are e1 and, up to sign, the
    axis of its target. For any signs, a mean of coefficients in the bases of either client has no entry outside
    these two axes.
    """
    targets, rate = (
        [square(target, len(values["targets"][0])) for target in values["targets"]],
        Fraction(values["rate"]),
    )
    size = len(targets[0])
    W = [[Fraction(int(i == j == 0)) for j in range(size)] for i in range(size)]
    axes, assumes = [], [Hypothesis("learning rate", rate, ">", 0)]
    assumes += assuming(Hypothesis("clients", len(targets), "=", 2))
    for c, target in enumerate(targets, 1):
        moves = [target[i][0] - W[i][0] for i in range(size)], [target[0][j] - W[0][j] for j in range(size)]
        axes.append([{i for i in range(size) if move[i]} for move in moves])
        assumes.append(Hypothesis(f"entry (1, 1) of target {c}", target[0][0], "=", 1))
        assumes += [Hypothesis(f"axes along which client {c} leaves e1", len(axis), "=", 1) for axis in axes[-1]]
    both = sum(len(one & beside) for one, beside in zip(*axes, strict=True))
    assumes.append(Hypothesis("axes that both clients have", both, "=", 0))
    # A step in the bases moves the entries within them towards the target.
    mean = [[Fraction(0)] * size for _ in range(size)]
    for target, (rows, columns) in zip(targets, axes, strict=True):
        for i in range(size):
            for j in range(size):
                inside = i in {0, *rows} and j in {0, *columns}
                mean[i][j] += (W[i][j] + (rate * (target[i][j] - W[i][j]) if inside else 0)) / len(targets)
    missed = []
    for rows, columns in axes:
        outside = [
            abs(mean[i][j]) for i in range(size) for j in range(size) if i not in {0, *rows} or j not in {0, *columns}
        ]
        missed.append(max(outside, default=Fraction(0)))
    return Violation(
        min(missed),
        0,
        assumes=assumes,
        given={"targets": targets, "mean model": mean},
        reads="the losses are |W - T|^2 / 2, and each client takes one step from W = e1 e1'. We compute an entry of "
        "the mean model that would be 0 in the bases of a client, and take the smaller of its values for the two "
        "clients' bases",
    )


@replay("fedlrt/claim-alg6")
def claim_alg6_as_printed(values: Values) -> Violation:
    """Evaluate the mean of S_c U_c V_c' over the columns, U diag(S)/count V': its singular values are in diag."""
    size, weights = int(values["size"]), [Fraction(s) for s in values["S"]]
    count, assumes = len(weights), list[Hypothesis]()
    for name in ("U", "V"):
        columns = [[Fraction(entry) for entry in column] for column in values[name]]
        products = [[sum((x * y for x, y in zip(u, v, strict=True)), Fraction(0)) for v in columns] for u in columns]
        apart = max(abs(products[i][j] - (i == j)) for i in range(len(columns)) for j in range(len(columns)))
        assumes.append(Hypothesis(f"columns of {name}", len(columns), "=", count))
        assumes.append(Hypothesis(f"entries of a column of {name}", len(columns[0]), "=", size))
        assumes.append(Hypothesis(f"largest entry of {name}'{name} - I", apart, "=", 0))
    assumes += [Hypothesis(f"S_{c}", weight, ">", 0) for c, weight in enumerate(weights, 1)]
    return Violation(
        size,
        count,
        assumes=assumes,
        reads="the mean of the models S_c U_c V_c' is formed by columns. We compare n with the size of a matrix that "
        "has the same nonzero singular values",
    )


@proof("fedlrt/claim-alg6")
def claim_alg6(
    spread: Fraction = Fraction(0),
    cases: Sequence[tuple[int, int, int]] = ((12, 2, 3), (6, 2, 3), (6, 2, 4), (5, 1, 1), (4, 3, 2)),
) -> str:
    r"""With $[U_1|\ldots|U_C] = Q_UR_U$ and $[V_1|\ldots|V_C] = Q_VR_V$ the mean is $Q_U(R_UDR_V^\top)Q_V^\top$.

    $CD$ has $S_1, \ldots, S_C$ along its diagonal. For $Cr < n$ the core $R_UDR_V^\top$ is Cr by Cr; its SVD gives the
    SVD of the mean, as $Q_U$ and $Q_V$ have orthonormal columns. The rank is at most the rank of D, hence at most Cr
    and n. Attained: let client c have the axes $(c-1)r + 1, \ldots, cr$, counted around the n axes, for its columns in
    U and in V, and $S_c = I$. The mean is diagonal and not negative, with as many positive entries as there are axes
    used.
    """
    require(len(cases) > 0, "no cases")
    for C in (1, 2, 3):
        Us, Ss, Vs = (sympy.symbols(f"{name}_1:{C + 1}", commutative=False) for name in ("U", "S", "V^T"))
        stacked = row(*Us) * sympy.diag(*Ss) * row(*Vs).T / C
        mean = sum((a * b * c for a, b, c in zip(Us, Ss, Vs, strict=True)), sympy.Integer(0)) / C
        same(stacked[0, 0] + spread * X, mean, f"not the mean of {C} clients")
    for n, r, C in cases:
        mean = sympy.zeros(n, n)
        for axis in range(C * r):
            mean[axis % n, axis % n] += sympy.Rational(1, C)
        require(r <= n and mean.rank() == min(n, C * r), f"not the rank min(n, Cr) at {n}, {r}, {C}")
    return "the mean is a product with the stacked factors; if the bases are axes, its rank is min(n, Cr)"
