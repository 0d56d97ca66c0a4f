"""Lemma 2 (Appendix D): the mean factor gradients span what a step of the splitting does."""

from __future__ import annotations

from collections.abc import Sequence

import sympy
import torch
from torch import Tensor

from paper_checks.claim import Dropped, Intended, Reading
from paper_checks.context import Context
from paper_checks.fedlrt.measurements.splitting import STEP_SCOPE, Step, measure_steps
from paper_checks.fedlrt.measurements.symbolic_flow import Flow, entrywise, symbolic_flow
from paper_checks.methods.identity import Equations, Point, generic_points, identities, rational
from paper_checks.methods.relations import Relation, Relations, relations, same


def projector(*columns: Tensor) -> Tensor:
    """Return the orthogonal projector onto the span of columns, of the rank that is there to rounding.

    Columns are scaled to their group's size first: a basis and a gradient have no common unit.
    """
    groups = [part / max(float(torch.linalg.matrix_norm(part)), 1e-300) for part in columns]
    basis, sigma, _ = torch.linalg.svd(torch.cat(groups, dim=1), full_matrices=False)
    basis = basis[:, sigma > 1e-10]
    return basis @ basis.mT


RESOLVED = "directions that columns share up to 1e-10 taken as one"


def regular(steps: Sequence[Step], singular: bool) -> list[Step]:
    """Return the steps with S of full rank, as elements of the manifold have it."""
    return [one for one in steps if singular or one.kind != "singular"]


@relations(
    "fedlrt/lemma-2",
    where="Appendix D, Lemma 2, eqs. (18) and (19)",
    says=r"""Let $USV \in \mathcal M_r$ follow the projected gradient flow (5) by the splitting (15) with $K = US$ and
    $V = VS^\top$, and K and L take an explicit Euler step with learning rate $\lambda$, (18): $K(t_1) = K(0) -
    \lambda\nabla_K\mathcal{L}(K(0)V_0^\top)$, $K(0) = U_0S_0$, $L(t_1) = L(0) -
    \lambda\nabla_L\mathcal{L}(U_0L(0)^\top)$, $L(0) = V_0S_0^\top$. Then (16) can be expressed as (19): $\tilde UR =
    \mathrm{qr}([U_0|-\nabla_U\mathcal{L}(U_0S_0V_0^\top)]) \in \mathbb R^{n \times 2r}$ and $\tilde VR =
    \mathrm{qr}([V_0|-\nabla_V\mathcal{L}(U_0S_0V_0^\top)]) \in \mathbb R^{n \times 2r}$, and maintains the structure of
    the basis update and Galerkin operator split.""",
    measure=measure_steps,
    mutants=[{"beside": False}, {"tilt": 1e-3}],
    readings=(
        Reading(
            "the same spans",
            r"For $USV^\top \in \mathcal M_r$ with $K = US$ and $L = VS^\top$: where $[U_0|\nabla_U\mathcal{L}]$ and "
            r"$[V_0|\nabla_V\mathcal{L}]$ have 2r independent columns, or otherwise with bases of their column spaces, "
            "the bases of (16) and of (19) span the same spaces, so the coefficient step (17) that follows gives the "
            "same models with either.",
            why=r"$V = VS^\top$ and $USV$ mean nothing; (18) has $L(0) = V_0S_0^\top$. The proof is about spans, and "
            "qr may add any directions to dependent columns; what comes after the bases in the splitting is (17).",
        ),
    ),
    hypotheses=(Dropped(r"S of full rank, as elements of $\mathcal M_r$ have it", {"singular": True}),),
    uses=("fedlrt/eq-15", "fedlrt/eq-16", "fedlrt/lemma-2-step-20", "fedlrt/lemma-2-step-chain"),
    because=r"$USV$ and $V = VS^\top$ are slips for $USV^\top$ and $L = VS^\top$. The spans agree, but the two "
    "bases need not be equal.",
    expect=("holds", "proof"),
    intended=Intended(
        "the same spans",
        r"The proof shows “$\operatorname{span}(-\nabla_U\mathcal{L}(USV^\top)) = \operatorname{span}(\dot K)$”; “USV” "
        r"and “$V = VS^\top$” are slips for $USV^\top$ and $L = VS^\top$.",
    ),
    print="misprint",
)
def lemma_2(steps: list[Step], singular: bool = False, beside: bool = True, tilt: float = 0.0) -> Relations:
    """Projectors onto both spans, and the start of the model in (17) by them.

    ``tilt`` adds a share of a constant to the factor gradient.
    """
    for one in regular(steps, singular):
        spans = []
        for basis, first, slope, factor in one.sides:
            old, along = [basis] if beside else [], factor + tilt * torch.ones_like(factor)
            spans.append((projector(*old, first - one.rate * slope), projector(*old, -along)))
            left, right = spans[-1]
            yield same("span of (16) and of (19)", left, right, relative=1e-5, resolution=RESOLVED)
        left, right = (P @ one.G @ Q for P, Q in zip(*spans, strict=True))
        name = "first direction of the model in (17)"
        yield same(name, left, right, relative=1e-5, resolution=RESOLVED)
    return f"{STEP_SCOPE}; the orthogonal factors of (16) and (19) may differ, as S mixes the columns of the gradient"


def same_span(name: str, left: Sequence[Tensor], right: Sequence[Tensor]) -> Relation:
    """Return the promise that two sets of columns span the same space."""
    return same(name, projector(*left), projector(*right), relative=1e-5, resolution=RESOLVED)


@relations(
    "fedlrt/lemma-2-step-20",
    where="Appendix D, proof of Lemma 2, eq. (20)",
    says=r"""$\mathrm{span}([U_0|K(t_1)]) = \mathrm{span}([U_0|U_0 - \lambda\nabla_K\mathcal{L}(K(0)V_0^\top)]) =
    \mathrm{span}([U_0|-\lambda\nabla_K\mathcal{L}(K(0)V_0^\top)]) =
    \mathrm{span}([U_0|-\nabla_K\mathcal{L}(K(0)V_0^\top)])$.""",
    measure=measure_steps,
    mutants=[{"beside": False}, {"rate": 0}, {"tilt": 1e-3}],
    expect=("holds", "proof"),
)
def step_20(steps: list[Step], beside: bool = True, rate: int = 1, tilt: float = 0.0) -> Relations:
    """Projectors onto the four spans, for any S."""
    for one in steps:
        for basis, first, slope, _ in one.sides:
            old, step = [basis] if beside else [], rate * one.rate
            last = [*old, -slope + tilt * torch.ones_like(slope)]
            for name, columns in (
                ("K(t1)", first - step * slope),
                ("the start minus a step", basis - step * slope),
                ("the step", -step * slope),
            ):
                yield same_span(f"span with {name}", [*old, columns], last)
    return (
        f"{STEP_SCOPE}, all above 0; S also singular; a tilt is noticed at once where the gradient is zero, as it is a "
        "direction more"
    )


def measure_symbols(context: Context) -> tuple[tuple[Flow, ...], tuple[Point, ...]]:
    """Return symbolic S and gradient of square, tall and wide matrices."""
    flows = tuple(symbolic_flow(m, n, r) for m, n, r in ((1, 1, 1), (3, 3, 1), (4, 3, 2), (3, 4, 2)))
    symbols = sorted({s for flow in flows for s in (*flow.S, *flow.G)}, key=str)
    return flows, tuple(generic_points(context, symbols, 2))


SYMBOL_SCOPE = "all gradients and all invertible S, symbolic; square, tall and wide, r = 1, 2; bases at the axes"


@identities(
    "fedlrt/lemma-2-step-21",
    where="Appendix D, proof of Lemma 2, eq. (21), whose first line has lost its dots in our copy of the paper",
    says=r"""$\dot K = (US)^\cdot = \dot US + U\dot S = -(I - UU^\top)GVS^{-1}S - UU^\top GV = -(I - P_U)GV - P_UGV =
    (P_U - I)GV - P_UGV = -GV$ with $G = \nabla_W\mathcal{L}(USV^\top)$, by (5).""",
    measure=measure_symbols,
    mutants=[{"sign": -1}, {"left": True}, {"within": 0.99}],
    uses=("fedlrt/eq-5",),
    expect=("holds", "proof"),
    intended=Intended(
        "literal",
        r"“consider the continuous time dynamics of $\dot{K}$”: the left side is $\dot K$, and the lines for U and S "
        "of (5) are inserted.",
    ),
)
def step_21(
    data: tuple[Sequence[Flow], Sequence[Point]], sign: int = 1, left: bool = False, within: float = 1.0
) -> Equations:
    """Every line, with the lines of (5) for U and S; ``left`` takes the inverse of the transpose of S."""
    flows, points = data
    for flow in flows:
        U, S, V, G = flow.U, flow.S, flow.V, flow.G
        P, I = U * U.T, sympy.eye(G.rows)  # noqa: E741 - the paper's symbol
        S_dot, U_dot = -sign * U.T * G * V, -(I - P) * G * V * (S.inv().T if left else S.inv())
        end = -G * V
        rows = (
            ("product rule", U_dot * S + U * S_dot),
            ("(5) inserted", -(I - P) * G * V * S.inv() * S - rational(within) * P * G * V),
            ("S cancels", -(I - P) * G * V - rational(within) * P * G * V),
            ("sign taken in", (P - I) * G * V - rational(within) * P * G * V),
        )
        for name, row in rows:
            yield from entrywise(f"{name}, {flow.G.rows} x {flow.G.cols}, r = {S.rows}", row, end)
    return points, SYMBOL_SCOPE


@identities(
    "fedlrt/lemma-2-step-chain",
    where="Appendix D, proof of Lemma 2, after eq. (21)",
    says=r"""$\nabla_U\mathcal{L}(USV^\top) = \nabla_W\mathcal{L}(USV^\top)\nabla_U(USV^\top) =
    \nabla_W\mathcal{L}(USV^\top)VS^\top$. So $-\nabla_U\mathcal{L}(USV^\top)S^{-\top} = -\nabla_W\mathcal{L}(USV^\top)V
    = \dot K$, and as S has full rank $\mathrm{span}(-\nabla_U\mathcal{L}(USV^\top)) = \mathrm{span}(\dot K)$.""",
    measure=measure_symbols,
    mutants=[{"plain": True}, {"inverse": "S^-1"}, {"scale": 1.01}, {"rank": "any"}],
    uses=("fedlrt/lemma-2-step-21",),
    expect=("holds", "proof"),
)
def step_chain(
    data: tuple[Sequence[Flow], Sequence[Point]],
    plain: bool = False,
    inverse: str = "S^-T",
    scale: float = 1.0,
    rank: str = "full",
) -> Equations:
    """The chain rule by differentiating a quadratic loss in the entries of U; then the factor, which is invertible.

    The spans are the same because each of the two is the other times a square matrix.
    """
    flows, points = data
    for flow in flows:
        S, V, G = flow.S, flow.V, flow.G
        free = sympy.Matrix(flow.U.rows, S.rows, lambda i, j: sympy.Symbol(f"u_{i}{j}"))
        W = free * S * V.T
        # The loss <G, W> + |W|^2 / 2 with gradient G + W: its derivative in every entry of U, for all U at once.
        loss = sum(a * b + b**2 / 2 for a, b in zip(G, W, strict=True))
        slope = free.applyfunc(lambda entry, loss=loss: sympy.diff(loss, entry))
        in_W = G + W
        chain = rational(scale) * in_W * V * (S if plain else S.T)
        label = f"{G.rows} x {G.cols}, r = {S.rows}"
        yield from entrywise(f"gradient in U, {label}", slope, chain)
        back = {"S^-T": S.inv().T, "S^-1": S.inv()}[inverse] if rank == "full" else sympy.zeros(S.rows, S.rows)
        yield from entrywise(f"back to K, {label}", -in_W * V * S.T * back, -in_W * V)
    more = {sympy.Symbol(f"u_{i}{j}"): sympy.Rational(2 * i + 3, j + 2) for i in range(4) for j in range(2)}
    return [{**point, **more} for point in points], SYMBOL_SCOPE
