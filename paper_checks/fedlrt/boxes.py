"""Section 3.1: FeDLRT's boxes (Algorithms 1, 2 and 5), executed and compared with their text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from algorithms.descent import Descent
from algorithms.fedlrt import Correction, FeDLRT
from algorithms.low_rank import USV, Truncation, augment, beside, product
from algorithms.rounds import one_round
from algorithms.tree import Tree
from paper_checks.claim import Dropped, Reading
from paper_checks.context import Context
from paper_checks.fedlrt.federations import SCOPE, Case, draw_beyond, draw_cases
from paper_checks.methods.promises import Promise, Promises, orthonormal, promises, same
from paper_checks.recorded_federation import Watched

STEPS, TAU, ROUNDS = 4, 0.1, 3
ROOM = Dropped(r"$2r \le n$ in every round, as the shapes of eq. (6) imply", {"beyond": True})
"""A later round may have a higher rank than the first."""


@dataclass(frozen=True)
class Round:
    """One round of FeDLRT as it was watched.

    Attributes:
        case: The federation.
        before: Factors at its start.
        after: Factors at its end.
        U: Wide basis ``(m, 2r)``.
        V: Wide basis ``(n, 2r)``.
        coefficients: Coefficients that each client sends at the end, ``(2r, 2r)``.
        slopes: Gradient of each client in the wide coefficients at the start.
        corrections: Corrections that each client adds to its gradients: worked out from what was sent.
        trips: Number of trips.
    """

    case: Case
    before: USV
    after: USV
    U: Tensor
    V: Tensor
    coefficients: tuple[Tensor, ...]
    slopes: tuple[Tensor, ...]
    corrections: tuple[Tensor, ...]
    trips: int

    @property
    def start(self) -> Tensor:
        """The wide coefficients at the start: S in the corner of zeros."""
        S = self.before.S["W"]
        wide = torch.zeros(self.U.shape[1], self.V.shape[1], dtype=S.dtype)
        wide[: S.shape[0], : S.shape[1]] = S
        return wide

    @property
    def fits(self) -> bool:
        """Whether 2r columns fit beside each other."""
        return 2 * self.before.S["W"].shape[0] <= min(self.case.shape)

    @property
    def model(self) -> Tensor:
        """The model before truncation."""
        return self.U @ torch.stack(self.coefficients).mean(dim=0) @ self.V.mT


def watch(case: Case, correction: Correction, steps: int = STEPS) -> list[Round]:
    """Some rounds of FeDLRT at half the admissible step of Theorem 2."""
    local = Descent(steps, 0.5 / (12.0 * case.smoothness * steps))
    algorithm = FeDLRT(local, case.rank, Truncation(TAU), correction)
    fed = Watched(case.clients)
    state, rounds = case.factors, []
    for _ in range(ROUNDS):
        before, state = state, one_round(algorithm.round, fed, state)
        bars = next(trip.sent for trip in fed.trips if "Ubar" in trip.sent)
        U, V = beside(before.U, bars["Ubar"]), beside(before.V, bars["Vbar"])
        wide = [client.projected(U, V) for client in case.clients]
        watched = Round(
            case, before, state, U["W"], V["W"], tuple(u["W"] for u in fed.trips[-1].uploads), (), (), len(fed.trips)
        )
        start = watched.start
        slopes = tuple(client.gradient({"W": start})["W"] for client in wide)
        rounds.append(_with_corrections(watched, fed, correction, slopes))
    return rounds


def _with_corrections(watched: Round, fed: Watched, correction: Correction, slopes: tuple[Tensor, ...]) -> Round:
    """Corrections that clients add: the mean that was sent minus their own, from the trips, not from the algorithm."""
    last = fed.trips[-1].sent
    own: list[Tensor] = [torch.zeros_like(watched.start) for _ in slopes]
    r = watched.before.S["W"].shape[0]
    if correction == "full":
        own = [last["G_St"]["W"] - upload["W"] for upload in fed.trips[1].uploads]
    elif correction == "simplified":
        for added, upload in zip(own, fed.trips[0].uploads, strict=True):
            added[:r, :r] = last["G_S"]["W"] - upload["S"]["W"]
    return Round(
        watched.case,
        watched.before,
        watched.after,
        watched.U,
        watched.V,
        watched.coefficients,
        slopes,
        tuple(own),
        watched.trips,
    )


@dataclass(frozen=True)
class Watching:
    """Rounds that were watched, by correction, and with one local step under the full one."""

    rounds: Mapping[str, tuple[Round, ...]]

    def of(self, kind: str, beyond: bool, each: int = 1) -> list[Round]:
        """The rounds that have room for the wide bases, or all of them; or only each so many of these."""
        return [one for one in self.rounds[kind][::each] if beyond or one.fits]


def watch_all(context: Context) -> Watching:
    """Every case, and at the end one without room for the wide bases."""
    cases = [*draw_cases(context), draw_beyond(context)]
    kinds: tuple[Correction, ...] = ("none", "full", "simplified")
    watched: dict[str, tuple[Round, ...]] = {
        kind: tuple(one for case in cases for one in watch(case, kind)) for kind in kinds
    }
    return Watching({**watched, "one step": tuple(one for case in cases for one in watch(case, "full", steps=1))})


def promised_of_all(one: Round, mean: float = 1.0) -> list[Promise]:
    """Promises of the text for every variant of FeDLRT in a round."""
    U, S, V = (part["W"] for part in one.after)
    sigma = S.diagonal()
    wide = torch.stack([one.U @ S_c @ one.V.mT for S_c in one.coefficients]).mean(dim=0)
    tail = float(torch.linalg.matrix_norm(product(one.after)["W"] - one.model))
    theta = TAU * float(torch.linalg.matrix_norm(one.model))
    r = one.before.S["W"].shape[0]
    return [
        *(Promise("wide bases of 2r columns", basis.shape[1], 2 * r) for basis in (one.U, one.V)),
        orthonormal("U is orthonormal", U),
        orthonormal("V is orthonormal", V),
        same("S is diagonal", S, torch.diag(sigma)),
        Promise("S has full rank", 0.0, float(sigma.min()) - 1e-12, at_most=True),
        same("averaging coefficients averages the clients' models", mean * wide, one.model),
        same("St is S in the corner of zeros (Lemma 1)", one.U.mT @ product(one.before)["W"] @ one.V, one.start),
        Promise("the truncated part is at most theta", tail, theta, 1e-12, at_most=True),
    ]


@promises(
    "fedlrt/alg-1",
    where="Algorithm 1 with Section 4.1 (the rule of Section 3.1 for the rank is judged in fedlrt/claim-trunc)",
    says=r"From orthonormal $U^1$, $V^1$, full-rank $S^1$, a flag var_cor and the threshold $\tau$, each of T rounds: "
    r"broadcast $U^t, V^t, S^t$; aggregate the clients' $\nabla_U\mathcal{L}_c$, $\nabla_V\mathcal{L}_c$; augment "
    r"both bases on the server and broadcast $\bar U$, $\bar V$; clients assemble $\tilde U = [U^t|\bar U]$, $\tilde "
    r"V$ and $\tilde S^{s=0} = \begin{bmatrix}S^t & 0\\0 & 0\end{bmatrix}$; with var_cor, aggregate $G_{\tilde S,c} = "
    r"\nabla_{\tilde S}\mathcal{L}_c$, broadcast $G_{\tilde S}$ and update with $G_{\tilde S} - G_{\tilde S,c}$, else "
    r"update without; aggregate $\tilde S_c^{s_*}$ to $\tilde S^*$; take its SVD with threshold $\vartheta$; $U^{t+1} "
    r"= \tilde UP_{r_1}$, $V^{t+1} = \tilde VQ_{r_1}$, $S^{t+1} = \Sigma_{r_1}$.",
    measure=watch_all,
    readings=(
        Reading(
            "tail from the first value that is cut",
            r"The same with $\vartheta = \tau\|\tilde S^*\|$, and the least rank for which the norm of the singular "
            r"values that go is below $\vartheta$.",
            why=r"The box takes $\tau$ and truncates by $\vartheta$; Section 4.1 relates the two. Neither says which "
            "values go; the rule of Section 3.1 counts one that stays, with which S need not have full rank.",
        ),
    ),
    mutants=[{"rate": 1.01}, {"trips": 1}, {"mean": 1.01}, {"corrected": "simplified"}],
    hypotheses=(ROOM,),
    kind="algorithm",
    expect=("holds", "search"),
)
def alg_1(
    watching: Watching,
    rate: float = 1.0,
    trips: int = 0,
    mean: float = 1.0,
    corrected: str = "full",
    beyond: bool = False,
) -> Promises:
    r"""The promises of the text for every round, without and with the full correction.

    The box names its threshold $\tau$ and $\vartheta$: $\vartheta = \tau\|\tilde S^*\|$ is taken, as in Section 4, and
    the tail from $\sigma_{r_1+1}$ on (see fedlrt/claim-trunc).
    """
    for kind, count in (("none", 2), (corrected, 3)):
        for one in watching.of(kind, beyond):
            yield from promised_of_all(one, mean)
            yield Promise("number of communication rounds", one.trips + trips, count)
    for one in watching.of("one step", beyond):
        step = rate * 0.5 / (12.0 * one.case.smoothness)
        stepped = one.start - step * torch.stack(one.slopes).mean(dim=0)
        yield from [same("the first corrected step is the mean gradient's", S_c, stepped) for S_c in one.coefficients]
    return (
        f"{SCOPE}; {ROUNDS} rounds of {STEPS} local steps, from a full S; threshold tau times the norm, which only "
        "Section 4 says, tail from the first value that is cut; rounds whose rank is above n/2 have no wide bases of "
        "2r columns and are left out"
    )


@dataclass(frozen=True)
class Augmented:
    """A basis, a direction, what the box's QR factorisation gives, and what the toolkit returns."""

    B: Tensor
    G: Tensor
    raw: Tensor
    Bbar: Tensor


@dataclass(frozen=True)
class Auxiliary:
    """Augmentations, and watched rounds for aggregation and coefficient updates."""

    augmented: tuple[Augmented, ...]
    watching: Watching


def measure_auxiliary(context: Context) -> Auxiliary:
    """Random bases with directions of full rank, and the rounds of all variants."""
    rng = context.rng("bases")
    found = []
    for m, r in (*((2, 1), (4, 2), (7, 3), (40, 4)) * context.size(2, 10), (3, 2)):
        signs = torch.from_numpy(rng.choice([-1.0, 1.0], r))
        B = torch.linalg.qr(torch.from_numpy(rng.standard_normal((m, r))))[0] * signs
        G = torch.from_numpy(rng.standard_normal((m, r)))
        raw = torch.linalg.qr(torch.cat([B, G], dim=1))[0]
        found.append(Augmented(B, G, raw, augment(Tree(W=B), Tree(W=G))["W"]))
    return Auxiliary(tuple(found), watch_all(context))


@promises(
    "fedlrt/alg-2",
    where="Algorithm 2 (auxiliary functions)",
    says=r"broadcast: the server sends all $M_i$ to all clients. aggregate: clients send $M_{c,i}$, and $M_i "
    r"\leftarrow \frac1C\sum_{c=1}^CM_c$ for all i. coefficient_update_var_cor: $\tilde S_c^{s+1} \leftarrow \tilde "
    r"S_c^s - \lambda(\nabla_{\tilde S}\mathcal{L}_c(\tilde U_c\tilde S_c^s\tilde V_c^\top) + V_c)$ for $s = 0, "
    r"\ldots, s_*-1$; coefficient_update: the same without $V_c$. basis_augmentation: $[B|\bar B] \leftarrow "
    r"\mathrm{qr}([B|G_B])$ on the server, return $\bar B$.",
    measure=measure_auxiliary,
    mutants=[{"assembled": False}, {"share": 1.01}, {"added": 0.99}],
    hypotheses=(ROOM,),
    readings=(
        Reading(
            "the matrices that were sent",
            r"The same with $M_i \leftarrow \frac1C\sum_{c=1}^CM_{c,i}$ in aggregate.",
            why=r"$M_c$ is defined nowhere; what clients send, and what line 3 names, is $M_{c,i}$.",
        ),
    ),
    vary=("share",),
    kind="algorithm",
    expect=("holds", "search"),
)
def alg_2(
    found: Auxiliary, assembled: bool = True, share: float = 1.0, added: float = 1.0, beyond: bool = False
) -> Promises:
    """Bases as assembled by the clients, and coefficient updates step by step.

    The orthogonal factor of a library begins with columns of B up to their sign; only its second half is used.
    """
    for basis in found.augmented:
        m, r = basis.B.shape
        if 2 * r > m and not beyond:
            continue
        whole = torch.cat([basis.B, basis.Bbar], dim=1) if assembled else basis.raw
        yield orthonormal("[B|Bbar] is orthonormal", whole)
        yield Promise("wide bases of 2r columns", whole.shape[1], 2 * r)
        yield same("its first columns are B", whole[:, :r], basis.B)
        yield same("it spans G", whole @ (whole.mT @ basis.G), basis.G)
    for kind in ("none", "full", "simplified"):
        for one in found.watching.of(kind, beyond, ROUNDS):
            rate = 0.5 / (12.0 * one.case.smoothness * STEPS)
            bases = Tree(W=one.U), Tree(W=one.V)
            for client, correction, sent in zip(one.case.clients, one.corrections, one.coefficients, strict=True):
                S, projected = one.start, client.projected(*bases)
                for _ in range(STEPS):
                    S = S - rate * (projected.gradient({"W": S})["W"] + added * correction)
                yield same("a client's coefficients are those of the recursion", S, sent)
            total = share * torch.stack(one.corrections).mean(dim=0)
            yield same("the corrections cancel in the mean", total, torch.zeros_like(total))
            mean = share * torch.stack(one.coefficients).mean(dim=0)
            yield same("the aggregate is the mean", one.U @ mean @ one.V.mT, one.model)
    return f"{SCOPE}; bases of 2 to 40 rows with directions of full rank"


@promises(
    "fedlrt/alg-5",
    where="Algorithm 5 (simplified variance correction) with eq. (9)",
    says=r"As Algorithm 1, but clients send $G_{S,c} = \nabla_S\mathcal{L}_c(U^tS^tV^{t,\top})$ together with the "
    r"basis gradients, the server sends $G_S$ together with $\bar U$, $\bar V$, and client c updates with $\check "
    r"G_{\tilde S} - \check G_{\tilde S,c}$, where $\check G_{\tilde S} = \begin{bmatrix}G_S & 0\\0 & 0\end{bmatrix}$ "
    r"and $\check G_{\tilde S,c} = \begin{bmatrix}G_{S,c} & 0\\0 & 0\end{bmatrix}$.",
    measure=watch_all,
    readings=(
        Reading(
            "tail from the first value that is cut",
            r"The same with the threshold of fedlrt/alg-1: $\vartheta = \tau\|\tilde S^*\|$, and the least rank for "
            r"which the norm of the singular values that go is below $\vartheta$.",
            why=r"The box takes $\tau$ and truncates by a $\vartheta$ that it does not define.",
        ),
    ),
    mutants=[{"block": 1.01}, {"outside": 1.0}, {"trips": 1}],
    hypotheses=(ROOM,),
    kind="algorithm",
    expect=("holds", "search"),
)
def alg_5(
    watching: Watching, block: float = 1.0, outside: float = 0.0, trips: int = 0, beyond: bool = False
) -> Promises:
    """The correction as it follows from what travels, against the full one in the same bases."""
    for one in watching.of("simplified", beyond):
        r = one.before.S["W"].shape[0]
        mean = torch.stack(one.slopes).mean(dim=0)
        yield from promised_of_all(one)
        for slope, correction in zip(one.slopes, one.corrections, strict=True):
            full = mean - slope
            expected = outside * full
            expected[:r, :r] = block * full[:r, :r]
            yield same("the correction is the block of the full one", correction, expected)
        yield Promise("number of communication rounds", one.trips + trips, 2)
    return f"{SCOPE}; {ROUNDS} rounds of {STEPS} local steps, from a full S"
