"""Lemma 1 and Appendix E: augmented bases and coefficients in them (eqs. (6), (22) and (23))."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import sympy
import torch
from torch import Tensor

from algorithms.low_rank import USV, append_columns, augment, pad, product
from algorithms.tree import Tree
from paper_checks.claim import Dropped, Intended, Reading
from paper_checks.context import Context
from paper_checks.fedlrt.measurements.splitting import BEYOND
from paper_checks.fedlrt.measurements.symbolic_flow import Flow, entrywise, symbolic_flow
from paper_checks.methods.identity import Equations, Point, generic_points, identities, rational
from paper_checks.methods.relations import Relation, Relations, orthonormal, relations, same


@dataclass(frozen=True)
class Wide:
    """A low-rank point, gradients of clients there, and the augmented bases of the toolkit.

    Attributes:
        kind: Kind of the gradients, in words.
        factors: U ``(m, r)``, S ``(r, r)``, V ``(n, r)``.
        slopes: Gradient of every client in W, ``(m, n)``.
        G_U: Mean gradient in U, ``(m, r)``.
        G_V: Mean gradient in V, ``(n, r)``.
        Ut: [U|Ubar] as the clients assemble it.
        Vt: [V|Vbar].
        library_u: The orthogonal factor of [U|G_U] of the library.
        library_v: The orthogonal factor of [V|G_V], likewise.
        St: S in the corner of zeros, as the clients assemble it.
    """

    kind: str
    factors: USV
    slopes: tuple[Tensor, ...]
    G_U: Tensor
    G_V: Tensor
    Ut: Tensor
    Vt: Tensor
    library_u: Tensor
    library_v: Tensor
    St: Tensor

    @property
    def parts(self) -> tuple[Tensor, Tensor, Tensor]:
        """Return U, S and V."""
        return self.factors.U["W"], self.factors.S["W"], self.factors.V["W"]

    @property
    def fits(self) -> bool:
        """Return whether 2r columns fit side by side."""
        U, S, V = self.parts
        return 2 * S.shape[0] <= min(U.shape[0], V.shape[0])


POINTS = (((2, 2), 1), ((4, 4), 2), ((5, 5), 2), ((7, 5), 2), ((3, 8), 1), ((12, 9), 4))


def widen(kind: str, factors: USV, slopes: Sequence[Tensor]) -> Wide:
    """Return the bases of one point, widened by the mean gradients as in eq. (6)."""
    U, S, V = (part["W"] for part in factors)
    mean = torch.stack(list(slopes)).mean(dim=0)
    G_U, G_V = mean @ V @ S.mT, mean.mT @ U @ S
    Ut = append_columns(factors.U, augment(factors.U, Tree(W=G_U)))
    Vt = append_columns(factors.V, augment(factors.V, Tree(W=G_V)))
    raw = [torch.linalg.qr(torch.cat(pair, dim=1))[0] for pair in ((U, G_U), (V, G_V))]
    return Wide(kind, factors, tuple(slopes), G_U, G_V, Ut["W"], Vt["W"], raw[0], raw[1], pad(factors.S, Ut, Vt)["W"])


def measure_wide(context: Context) -> list[Wide]:
    """Widen every shape with every kind of gradient, with S well and badly conditioned, and singular S at the end."""
    rng = context.rng("points")
    found = []
    for (m, n), r in (POINTS + BEYOND) * context.size(1, 5):
        U, V = (np.linalg.qr(rng.standard_normal((side, r)))[0] for side in (m, n))
        U = -U  # with this sign a library's orthogonal factor of [U|G] does not begin with U itself
        S = rng.standard_normal((r, r)) + 3.0 * np.eye(r)
        conditioned = S @ np.diag(np.geomspace(1.0, 1e-3, r))
        singular = S @ np.diag([*np.ones(r - 1), 0.0])
        noise = rng.standard_normal((3, m, n))
        within = U @ U.T @ noise @ V @ V.T
        made = {
            "generic": noise,
            "zero": 0.0 * noise,
            "within the bases": within,
            "of rank one": np.stack([np.outer(rng.standard_normal(m), rng.standard_normal(n)) for _ in range(3)]),
            "tiny beside the bases": within + 1e-9 * noise,
            "badly conditioned S": noise,
            "singular S": noise,
        }
        for kind, slopes in made.items():
            S_kind = {"badly conditioned S": conditioned, "singular S": singular}.get(kind, S)
            factors = USV(*(Tree(W=torch.from_numpy(part)) for part in (U, S_kind, V)))
            found.append(widen(kind, factors, [torch.from_numpy(slope) for slope in slopes]))
    return found


WIDE_SCOPE = (
    "points of rank 1 to 4 of square, tall and wide matrices, 2r up to the smaller side; three clients with gradients "
    "that are generic, zero, within the bases, of rank one, or almost within the bases; S also badly conditioned"
)


def regular(points: Sequence[Wide], beyond: bool = False, singular: bool = False) -> list[Wide]:
    """Return the points that meet the assumptions: 2r columns fit, S has full rank."""
    return [one for one in points if (beyond or one.fits) and (singular or one.kind != "singular S")]


@relations(
    "fedlrt/eq-6",
    where="Section 3.1, eq. (6)",
    says=r"""With the mean basis gradients $G_U = \frac1C\sum_c\nabla_U\mathcal{L}_c(U^tS^tV^{t,\top})$ and $G_V =
    \frac1C\sum_c\nabla_V\mathcal{L}_c(U^tS^tV^{t,\top})$ the augmented bases are $[U^t|\bar U]R =
    \mathrm{qr}([U^t|G_U]) \in \mathbb R^{n \times 2r}$ and $[V^t|\bar V]R = \mathrm{qr}([V^t|G_V]) \in \mathbb R^{n
    \times 2r}$, orthonormalised.""",
    measure=measure_wide,
    mutants=[{"mean": False}, {"assembled": False}, {"length": 1.01}],
    hypotheses=(Dropped(r"$2r \le n$, as the shapes imply", {"beyond": True}),),
    kind="definition",
    expect=("holds", "search"),
)
def eq_6(
    points: list[Wide], beyond: bool = False, mean: bool = True, assembled: bool = True, length: float = 1.0
) -> Relations:
    """The toolkit's augmented bases are as stated, for 2r <= n; ``mean`` False is the first client's gradient."""
    for one in regular(points, beyond):
        U, S, V = one.parts
        own = (one.G_U, one.G_V) if mean else (one.slopes[0] @ V @ S.mT, one.slopes[0].mT @ U @ S)
        wide = (one.Ut, one.Vt) if assembled else (one.library_u, one.library_v)
        for basis, first, G in zip(wide, (U, V), own, strict=True):
            r = first.shape[1]
            scaled = torch.cat([basis[:, :r], length * basis[:, r:]], dim=1)
            R = basis.mT @ torch.cat([first, G], dim=1)
            yield from [
                Relation("2r columns", basis.shape[1], 2 * r),
                orthonormal("orthonormal columns", scaled),
                same("the first r columns are the basis itself", basis[:, :r], first),
                same("[U|Ubar] R = [U|G_U]", basis @ R, torch.cat([first, G], dim=1)),
                same("R is upper triangular", torch.tril(R, -1), torch.zeros_like(R)),
            ]
    return WIDE_SCOPE


@relations(
    "fedlrt/claim-gu-gv-choice",
    where="Section 3.1, basis augmentation, with Appendix D",
    says="""$G_U$ and $G_V$ encapsulate the gradient flow dynamics (5) projected onto the original bases, and augmenting
    by them is consistent with the basis update of the augmented BUG splitting (which, the paper says, makes the
    clients' optimiser robust: fedlrt/claim-robust).""",
    measure=measure_wide,
    mutants=[{"shared": False}, {"beyond_tangent": 1.0}],
    readings=(
        Reading(
            "(5) as the gradient flow",
            r"With $G = \nabla_W\mathcal{L}$ and $\dot V = -(I - P_V)G^\top US^{-\top}$ in the third line of (5), "
            r"$\dot U$ and $\dot V$ lie in the spans of $[U|G_U]$ and of $[V|G_V]$, the gradient projected onto the "
            "tangent space lies in the augmented bases, and these span what the basis update of the splitting spans, "
            "if that is one explicit Euler step (fedlrt/lemma-2).",
            why="(5) is introduced as the projected gradient flow; its third line, as printed, lacks the transpose "
            "(fedlrt/eq-5).",
        ),
    ),
    hypotheses=(Dropped("S of full rank", {"singular": True}),),
    uses=("fedlrt/eq-5", "fedlrt/eq-6", "fedlrt/lemma-2"),
    expect=("holds", "proof"),
    intended=Intended(
        "(5) as the gradient flow",
        "“encapsulate the gradient flow dynamics (5) projected onto the original bases”: the "
        "flow; the transpose that (5) lacks is its own slip.",
    ),
)
def claim_gu_gv(
    points: list[Wide], singular: bool = False, shared: bool = True, beyond_tangent: float = 0.0
) -> Relations:
    """Directions of (5), its third line transposed, at the mean gradient, out of the augmented bases.

    ``beyond_tangent`` asks for a share of the gradient outside the tangent space too, ``shared`` False for a single
    client. Directions are GV and G'U, without the inverse of S, which does not change spans.
    """
    for one in regular(points, singular=singular):
        U, _, V = one.parts
        G = torch.stack(one.slopes).mean(dim=0) if shared else one.slopes[0]
        off, pulled = G - U @ (U.mT @ G), G.mT @ U
        moves_U, moves_V = off @ V, pulled - V @ (V.mT @ pulled)
        tangent = G - (1.0 - beyond_tangent) * (off - off @ V @ V.mT)
        inside = one.Ut @ (one.Ut.mT @ tangent @ one.Vt) @ one.Vt.mT
        yield from [
            same("the direction of U lies in the wide basis", one.Ut @ (one.Ut.mT @ moves_U), moves_U),
            same("the direction of V lies in the wide basis", one.Vt @ (one.Vt.mT @ moves_V), moves_V),
            same("the projected gradient lies in the wide bases", inside, tangent),
        ]
    return WIDE_SCOPE


@relations(
    "fedlrt/lemma-1",
    where="Section 3.1, Lemma 1",
    says=r"""$\tilde S = \tilde U^\top U^tS^tV^{t,\top}\tilde V$ takes the form $\begin{bmatrix}S^t & 0\\0 &
    0\end{bmatrix}$. So only $\bar U$, $\bar V$ and S have to be broadcast, not $\tilde S$.""",
    measure=measure_wide,
    mutants=[{"assembled": False}, {"corner": 1.01}, {"outside": 0.1}],
    hypotheses=(
        Dropped(r"$2r \le n$", {"beyond": True}, r"$\tilde U^\top U = [I; 0]$ regardless of how many columns follow U"),
        Dropped("S of full rank", {"singular": True}, "the products of the bases do not know S"),
    ),
    uses=("fedlrt/eq-22", "fedlrt/eq-23"),
    importance="result",
    expect=("holds", "kernel"),
)
def lemma_1(
    points: list[Wide],
    assembled: bool = True,
    corner: float = 1.0,
    outside: float = 0.0,
    beyond: bool = False,
    singular: bool = False,
) -> Relations:
    """Projected coefficients against those the clients assemble, and the model against the server's.

    The first columns of a library's orthogonal factor are U up to signs: signs of rows and columns change.
    """
    for one in regular(points, beyond, singular):
        Ut, Vt = (one.Ut, one.Vt) if assembled else (one.library_u, one.library_v)
        W = product(one.factors)["W"]
        yield same("St is S in the corner of zeros", Ut.mT @ W @ Vt, corner * one.St + outside * (one.St == 0.0))
        yield same("the assembled model is the server's", Ut @ one.St @ Vt.mT, W)
    return WIDE_SCOPE


FLIPPED = {"u": ["3/5", "4/5"], "g": ["1", "0"]}
"""A basis of one column and its gradient, of which -u begins a QR decomposition too."""


@relations(
    "fedlrt/eq-22",
    where="Appendix E, eq. (22)",
    says=r"""$[U, G_U]$ begins with the orthonormal columns of U, so a QR decomposition rearranges the columns of
    $G_U$ only, with $\tilde U = [U, \bar U]$, $\bar U \in \mathbb R^{n \times r}$ and $\bar U^\top U = 0$; likewise
    $\tilde V$. So $\tilde U^\top U = [U^\top U; \bar U^\top U] = [I; 0]$ and $\tilde V^\top V = [V^\top V; \bar V^\top
    V] = [I; 0]$.""",
    measure=measure_wide,
    readings=(
        Reading(
            "any QR decomposition",
            r"The same with the orthogonal factors of any QR decompositions of $[U|G_U]$ and $[V|G_V]$ for $\tilde U$ "
            r"and $\tilde V$.",
            why="“A QR decomposition therefor only rearranges the columns” refers to any of them.",
        ),
        Reading(
            "U kept in front",
            r"With the orthonormal $\tilde U = [U|\bar U]$ that spans the columns of $[U|G_U]$, and $\tilde V$ "
            r"likewise: $\tilde U^\top U = [I; 0]$ and $\tilde V^\top V = [I; 0]$.",
            {"kept": True},
            "(6) and Algorithm 1 have U itself in front, as a QR decomposition with a positive diagonal of R does.",
            ({"kept": True, "columns": 1}, {"kept": True, "corner": 1.01}),
        ),
    ),
    hypotheses=(Dropped(r"$2r \le n$, as the shapes imply", {"beyond": True}),),
    uses=("fedlrt/eq-6",),
    because="Some QR decompositions, also in libraries, begin with -u for a column u of U. With U in front, as "
    "printed, the statement holds.",
    expect=("holds", "proof"),
    intended=Intended(
        "U kept in front",
        r"“such that $\widetilde U = [U,\bar U]$”; Section 3.1 has “We denote the augmented bases by $\tilde U = "
        r"[U^t|\bar U]$”: U stays in front.",
    ),
)
def eq_22(
    points: list[Wide], kept: bool = False, columns: int = 0, corner: float = 1.0, beyond: bool = False
) -> Relations:
    """Products of the augmented bases with the original ones, also where gradients have too little rank.

    The augmented bases are the orthogonal factors of a library, or with U and V ``kept`` in front.
    """
    for point in regular(points, beyond):
        U, _, V = point.parts
        wide = (point.Ut, point.Vt) if kept else (point.library_u, point.library_v)
        for basis, first in zip(wide, (U, V), strict=True):
            r = first.shape[1]
            expected = torch.zeros(2 * r + columns, r, dtype=first.dtype)
            expected[:r] = corner * torch.eye(r, dtype=first.dtype)
            yield same("[U|Ubar]' U = [I; 0]", basis.mT @ first, expected, None if kept else FLIPPED)
    return WIDE_SCOPE


def measure_blocks(context: Context) -> tuple[tuple[Flow, ...], tuple[Point, ...]]:
    """Return symbolic points of square, tall and wide matrices."""
    flows = tuple(symbolic_flow(m, n, r) for m, n, r in ((2, 2, 1), (5, 3, 1), (4, 6, 2), (6, 6, 3)))
    symbols = sorted({s for flow in flows for s in flow.S}, key=str)
    return flows, tuple(generic_points(context, symbols, 1))


@identities(
    "fedlrt/eq-23",
    where="Appendix E, eq. (23)",
    says=r"$\tilde S = \tilde U^\top USV^\top\tilde V = \begin{bmatrix}S & 0\\0 & 0\end{bmatrix}$.",
    measure=measure_blocks,
    mutants=[{"first": -1}, {"lean": 0.1}, {"transposed": True}],
    uses=("fedlrt/eq-22",),
    expect=("holds", "proof"),
)
def eq_23(
    data: tuple[Sequence[Flow], Sequence[Point]], first: int = 1, lean: float = 0.0, transposed: bool = False
) -> Equations:
    r"""Every entry follows from $\tilde U^\top U = [I; 0]$; ``first`` and ``lean`` put another one in its place."""
    flows, points = data
    for flow in flows:
        r = flow.S.rows
        wide = [
            sympy.Matrix(side, 2 * r, lambda i, j: sympy.Integer(int(i == j))) for side in (flow.U.rows, flow.V.rows)
        ]
        wide[0][:, :r] *= first
        wide[0][0, r] += rational(lean)
        corner = sympy.zeros(2 * r, 2 * r)
        corner[:r, :r] = flow.S.T if transposed else flow.S
        left = wide[0].T * flow.U * flow.S * flow.V.T * wide[1]
        yield from entrywise(f"{flow.U.rows} x {flow.V.rows}, r = {r}", left, corner)
    return points, (
        "all r by r S, r = 1 to 3, symbolic; bases at the axes, as a turn of rows and of columns takes any bases "
        "there; square, tall and wide; for other r too an entry outside the corner has a factor 0"
    )
