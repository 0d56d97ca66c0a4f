"""Section 3.1: the simplified correction on toy problems and in the tests of Section 4.1."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch

from algorithms.descent import Descent
from algorithms.federation import Federation
from algorithms.fedlrt import Correction, FeDLRT
from algorithms.low_rank import Truncation
from algorithms.rounds import final, go_on
from algorithms.tree import Tree
from paper_checks.claim import Form, Intended, Reading
from paper_checks.context import Context
from paper_checks.fedlrt.measurements.fast_rounds import Rounds, Step, by_matrices, low_rank_rounds
from paper_checks.fedlrt.measurements.heterogeneous_setting import START, stream_of_own_targets
from paper_checks.fedlrt.measurements.homogeneous_setting import stream_of_one_target
from paper_checks.fedlrt.measurements.legendre_runs import KINDS, Choice, Run, apart, heterogeneous_run, long_run
from paper_checks.fedlrt.measurements.traces import Array
from paper_checks.methods.relations import Relation, Relations, relations
from toymodels.quadratic import Quadratic, centred

CALLED = ("without correction", "with the simplified one", "with the full one")

SIZE, RANK, CLIENTS, ROUNDS, FIRST = 4, 1, 3, 200, 4

NEAR = 1e-2
"""Distance from the minimiser to which the homogeneous test is followed."""


@dataclass(frozen=True)
class Ends:
    """Distances from the minimiser after the rounds, over the distance of the start, by correction.

    Attributes:
        agree: Whether the clients' gradients at the minimiser lie in its block.
        distances: Distances of FeDLRT.
        left: How far one round leads away from the minimiser itself.
        away: Largest relative difference from the distances of the algorithm's own first rounds.
        witness: The instance in short numbers, if it has any.
    """

    agree: bool
    distances: Mapping[str, float]
    left: Mapping[str, float]
    away: float
    witness: Mapping[str, object] | None = None


@dataclass(frozen=True, eq=False)
class Sufficiency:
    """Results of the simplified correction.

    Attributes:
        ends: Ends on toy problems.
        runs: Runs of the homogeneous test with four clients, by correction.
        apart: How far its rounds are from those with the full correction in the heterogeneous test.
    """

    ends: Sequence[Ends]
    runs: Mapping[str, Run]
    apart: float


LOCAL = Descent(4, 1.0 / 48.0)


@dataclass(frozen=True, eq=False)
class Bowls:
    """Losses of equal weight, each with a second derivative and a minimiser of its own.

    Attributes:
        matrices: Second derivatives in the entries row by row, ``(clients, mn, mn)``.
        centres: Minimisers, ``(clients, m, n)``.
        target: Minimiser of the mean loss, ``(m, n)``.
    """

    matrices: Array
    centres: Array
    target: Array

    @property
    def shares(self) -> Array:
        """Return equal shares."""
        return np.full(len(self.centres), 1.0 / len(self.centres))

    def gradients(self, W: Array) -> Array:
        """Return the gradients of the clients' losses, ``(clients, m, n)``."""
        apart = (W - self.centres).reshape(len(self.centres), -1, 1)
        return np.asarray((self.matrices @ apart).reshape(self.centres.shape))

    def excess(self, W: Array) -> float:
        """Return the mean loss above its least value, at the point where its gradient is zero."""
        apart = (W - self.target).ravel()
        return float(0.5 * apart @ self.matrices.mean(axis=0) @ apart)

    def step(self, U: Array, V: Array, rate: float) -> Step:
        """Return a step in the coefficients of U S V'."""
        both = np.kron(U, V)
        return by_matrices(both.T @ self.matrices @ both, rate)


def _rounds(clients: Sequence[Quadratic], start: Array, kind: Correction, local: Descent, rounds: int) -> Array:
    algorithm = FeDLRT(local, RANK, Truncation(0.0, most=RANK), kind)
    fed = Federation(list(clients))
    state = algorithm.start(fed, Tree({"W": torch.from_numpy(start)}))
    state = final(go_on(algorithm.round, fed, state, rounds), state)
    end: Array = algorithm.weights(state)["W"].numpy()
    return end


def _ends(
    clients: Sequence[Quadratic],
    low: Array,
    start: Array,
    local: Descent,
    agree: bool,
    rounds: int,
    witness: Mapping[str, object] | None = None,
) -> Ends:
    matrices, slopes = ([getattr(client, name).numpy() for client in clients] for name in ("matrix", "B"))
    centres = [np.linalg.solve(H, B.reshape(-1)).reshape(low.shape) for H, B in zip(matrices, slopes, strict=True)]
    bowls, size = Bowls(np.stack(matrices), np.stack(centres), low), float(np.linalg.norm(start - low))
    far, left, away = dict[str, float](), dict[str, float](), 0.0
    for kind in KINDS:
        settings = Rounds(RANK, kind, local.rate(), local.steps, 0.0, rounds, most=RANK)
        distances, _, _ = low_rank_rounds(bowls, start, settings)
        own = float(np.linalg.norm(_rounds(clients, start, kind, local, FIRST) - low))
        far[kind], away = distances[-1] / size, max(away, abs(distances[FIRST] / own - 1.0))
        left[kind] = float(np.linalg.norm(_rounds(clients, low, kind, local, 1) - low))
    return Ends(agree, far, left, away, witness)


WITNESS = {"curvatures": ["1", "1/2"], "centres": ["1", "-2"], "step": "1/24", "steps": 2}
"""Two losses (w11 - 1)^2/2 + h (w12 - t)^2/2 + w21^2/2 + w22^2/2, whose mean has its minimiser at e1 e1'."""


def by_hand() -> Ends:
    """Return the two clients of the witness; the second columns of the wide bases are e2, as n = 2r."""
    low = np.array([[1.0, 0.0], [0.0, 0.0]])
    clients = []
    for h, t in ((1.0, 1.0), (0.5, -2.0)):
        H = torch.diag(torch.tensor([1.0, h, 1.0, 1.0], dtype=torch.float64))
        clients.append(centred(H, torch.tensor([[1.0, t], [0.0, 0.0]], dtype=torch.float64)))
    return _ends(clients, low, np.array([[1.0, 0.5], [0.5, 0.25]]), Descent(2, 1.0 / 24.0), False, ROUNDS, WITNESS)


def measure_ends(context: Context) -> list[Ends]:
    """Draw curvatures in [1/2, 1] and gradients at a minimiser of rank one, anywhere or in its block."""
    found = [by_hand()]
    for agree in (False, True):
        rng = context.rng(f"agree {agree}")
        for _ in range(context.size(1, 6)):
            u, v = (np.linalg.qr(rng.standard_normal((SIZE, RANK)))[0] for _ in range(2))
            low = 2.0 * u @ v.T
            pulls = rng.standard_normal((CLIENTS, SIZE, SIZE))
            pulls = (u @ u.T) @ pulls @ (v @ v.T) if agree else pulls
            clients = []
            for pull in pulls - pulls.mean(axis=0):  # gradients at the minimiser
                Q = np.linalg.qr(rng.standard_normal((SIZE**2, SIZE**2)))[0]
                H = Q * rng.uniform(0.5, 1.0, SIZE**2) @ Q.T
                centre = low - np.linalg.solve(H, pull.reshape(-1)).reshape(SIZE, SIZE)
                clients.append(centred(torch.from_numpy(H), torch.from_numpy(centre)))
            start = low + 0.3 * rng.standard_normal((SIZE, SIZE))
            found.append(_ends(clients, low, start, LOCAL, agree, ROUNDS))
    return found


def measure_sufficiency(context: Context) -> Sufficiency:
    """Run toy problems, and the tests of Section 4.1 as their own claims run them."""
    one_target, own_targets = stream_of_one_target(context), stream_of_own_targets(context)
    kinds: tuple[Correction, ...] = ("simplified", "full")
    runs: Mapping[str, Run] = {
        kind: long_run(one_target, Choice(clients=4, correction=kind), 10_000, NEAR) for kind in kinds
    }
    firsts = [heterogeneous_run(own_targets, replace(START, correction=kind), 10) for kind in kinds]
    return Sufficiency(measure_ends(context), runs, apart(*firsts))


@relations(
    "fedlrt/claim-simplified-sufficient",
    where="Section 3.1, client coefficient update with simplified variance correction",
    says="""Empirically, a simplified correction, of the coefficients $S^t$ that are not augmented only, is sufficient
    (see Figure 5).""",
    measure=measure_sufficiency,
    readings=(
        Reading(
            "in general, on toy problems",
            "On toy problems with a minimiser of rank r and rounds truncated to it, the minimiser stays where it is, "
            "and FeDLRT comes to it as with the full correction.",
            why="The sentence recommends it without a condition. The training of Figure 5, which it points to, is "
            "not checkable here: see fedlrt/fig-5.",
        ),
        Reading(
            "in the tests of Section 4.1",
            "With polynomials orthonormal for the uniform law, on one draw of targets, points and starts as an "
            "example, FeDLRT with the simplified correction comes within 1e-2 of the minimiser of the homogeneous test "
            "with four clients, in at most 6 % more rounds than with the full one, and in the heterogeneous test its "
            "rounds are those with the full one.",
            {"among": "Section 4.1"},
            "The sentence says what was observed, and these tests are the paper's own where the solution is known; for "
            '"sufficient" 1e-2 and 6 % are taken (0.4 % more rounds are needed on the draw judged; to 1e-5, with 32 '
            "clients, see fedlrt/claim-hom-clients).",
            ({"more": -0.05}, {"near": 1e-3}, {"same": -1.0}),
        ),
    ),
    correction=Form(
        r"""The minimiser stays fixed where the clients' gradients at it lie in the block of S, $\nabla_{\hat
        S}\mathcal{L}_c = 0$ there; more is not corrected. Where they leave the block and the curvatures differ, a round
        of two or more local steps can lead away from the minimiser, and FeDLRT can stall, more than three times as far
        from it as with the full correction after as many rounds; the distances of each run, also without correction,
        stand in the check's scope. Whether it is sufficient in the training of Figure 5 these problems do not tell
        (fedlrt/fig-5).""",
        {"among": "agreeing"},
        mutants=({"among": "all"}, {"kind": "none"}, {"close": 1e-9}, {"own": -1.0}, {"farther": 1e6}),
    ),
    uses=("fedlrt/thm-4", "fedlrt/claim-hom-clients", "fedlrt/claim-het-plateau", "fedlrt/fig-5"),
    seen_in=("fedlrt/fig-5",),
    importance="result",
    because="Where clients' gradients leave the block and curvatures differ, two or more local steps can lead away.",
    vary=(),
    expect=("corrected", "search"),
    intended=Intended(
        "in general, on toy problems",
        "“Empirically, we observe that a simplified variance correction ... is sufficient, see "
        "Figure 5”: a report on the runs of Figure 5.",
    ),
)
def claim_simplified_sufficient(
    found: Sufficiency,
    kind: str = "simplified",
    among: str = "all",
    close: float = 1e-3,
    near: float = NEAR,
    more: float = 0.06,
    same: float = 1e-9,
    own: float = 1e-8,
    farther: float = 3.0,
) -> Relations:
    """Distances after all rounds over the start's, a round from the minimiser, rounds against full correction.

    Where gradients leave the block: the distance over the one with full correction, ``farther`` times or more.
    """
    if among == "Section 4.1":
        simplified, full = (found.runs[correction] for correction in ("simplified", "full"))
        most = (1.0 + more) * (len(full.distances) - 1)
        yield from [
            Relation("distance, homogeneous test", simplified.distances[-1], near, at_most=True),
            Relation("rounds beside the full correction's", len(simplified.distances) - 1, most, at_most=True),
            Relation("rounds of the heterogeneous test", found.apart, same, at_most=True),
        ]
    for end in found.ends:
        if among == "all" or (among == "agreeing" and end.agree):
            yield Relation("the first rounds are the algorithm's own", end.away, own, at_most=True)
            yield Relation("the minimiser stays", end.left[kind], 0.0, 1e-9, case=end.witness)
            yield Relation("it comes near the minimiser", end.distances[kind], close, at_most=True)
        elif among == "agreeing":
            least = farther * end.distances["full"]
            yield Relation("it stalls farther than with full correction", least, end.distances[kind], at_most=True)
    told = "; ".join(
        ("two clients in 2 x 2" if end.witness else "three in 4 x 4")
        + f", gradients at the minimiser {'in the block' if end.agree else 'that leave the block'}: "
        + ", ".join(f"{end.distances[kind]:.2g} {called}" for kind, called in zip(KINDS, CALLED, strict=True))
        for end in found.ends
    )
    rounds = ", ".join(f"{len(run.distances) - 1} ({name})" for name, run in found.runs.items())
    return (
        f"rank one, sλL = 1/12; distance from the minimiser after {ROUNDS} rounds over that of the start: {told}; "
        f"rounds of the homogeneous test with four clients to a distance of {NEAR:g}: {rounds}"
    )
