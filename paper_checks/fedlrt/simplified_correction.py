"""Section 3.1: the simplified correction on toy problems and in the tests of Section 4.1."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch

from algorithms.descent import Descent
from algorithms.fedlrt import Correction
from paper_checks.claim import Evidence, Intended, Reading, claim
from paper_checks.context import Context
from paper_checks.fedlrt.measurements.fast_rounds import Rounds, Step, by_matrices, low_rank_rounds
from paper_checks.fedlrt.measurements.heterogeneous_setting import START, stream_of_own_targets
from paper_checks.fedlrt.measurements.homogeneous_setting import stream_of_one_target
from paper_checks.fedlrt.measurements.legendre_runs import KINDS, Choice, Run, apart, heterogeneous_run, long_run
from paper_checks.fedlrt.measurements.traces import Array
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
        by_hand: Whether the problem is the one with short numbers.
    """

    agree: bool
    distances: Mapping[str, float]
    by_hand: bool = False


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


def _ends(
    clients: Sequence[Quadratic], low: Array, start: Array, local: Descent, agree: bool, by_hand: bool = False
) -> Ends:
    matrices, slopes = ([getattr(client, name).numpy() for client in clients] for name in ("matrix", "B"))
    centres = [np.linalg.solve(H, B.reshape(-1)).reshape(low.shape) for H, B in zip(matrices, slopes, strict=True)]
    bowls, size = Bowls(np.stack(matrices), np.stack(centres), low), float(np.linalg.norm(start - low))
    far = dict[str, float]()
    for kind in KINDS:
        settings = Rounds(RANK, kind, local.rate(), local.steps, 0.0, ROUNDS, most=RANK)
        far[kind] = low_rank_rounds(bowls, start, settings)[0][-1] / size
    return Ends(agree, far, by_hand)


def by_hand() -> Ends:
    """Return two clients (w11 - 1)^2/2 + h (w12 - t)^2/2 + w21^2/2 + w22^2/2; the mean has its minimiser at e1 e1'."""
    low = np.array([[1.0, 0.0], [0.0, 0.0]])
    clients = []
    for h, t in ((1.0, 1.0), (0.5, -2.0)):
        H = torch.diag(torch.tensor([1.0, h, 1.0, 1.0], dtype=torch.float64))
        clients.append(centred(H, torch.tensor([[1.0, t], [0.0, 0.0]], dtype=torch.float64)))
    return _ends(clients, low, np.array([[1.0, 0.5], [0.5, 0.25]]), Descent(2, 1.0 / 24.0), False, True)


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
            found.append(_ends(clients, low, start, LOCAL, agree))
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


@claim(
    "fedlrt/claim-simplified-sufficient",
    where="Section 3.1, client coefficient update with simplified variance correction",
    says="""Empirically, a simplified correction, which corrects only the non-augmented coefficients $S^t$, is
    sufficient (see Figure 5).""",
    measure=measure_sufficiency,
    readings=(
        Reading(
            "in the runs of Figure 5",
            "In the training of ResNet18 on CIFAR10 that Figure 5 shows, the simplified correction gives the accuracy "
            "of the full one.",
            why="The sentence says what was observed, and points to Figure 5.",
        ),
    ),
    uses=("fedlrt/thm-4", "fedlrt/claim-hom-clients", "fedlrt/claim-het-plateau", "fedlrt/fig-5"),
    seen_in=("fedlrt/fig-5",),
    kind="experiment",
    importance="result",
    expect=("not checkable here", None),
    expect_reason="the statement is about the runs of Figure 5, which we did not repeat (fedlrt/fig-5). Smaller "
    "problems show both outcomes. If the clients' gradients at the minimiser have parts outside the block of S, "
    "FeDLRT with the simplified correction can stall, for example at 0.0094 of the initial distance (2.2e-6 with the "
    "full correction). In the homogeneous test of Section 4.1 it needs 0.4 % more rounds than the full correction to "
    "come within 1e-2 of the minimiser",
    intended=Intended(
        "in the runs of Figure 5",
        "“Empirically, we observe that a simplified variance correction ... is sufficient, see Figure 5” reports on "
        "the runs of Figure 5.",
    ),
)
def claim_simplified_sufficient(found: Sufficiency) -> Evidence:
    """Undecided, with distances on toy problems after all rounds over the start's, and rounds of the two tests."""
    told = "; ".join(
        ("two clients in 2 x 2" if end.by_hand else "three in 4 x 4")
        + f", gradients at the minimiser {'in the block' if end.agree else 'that leave the block'}: "
        + ", ".join(f"{end.distances[kind]:.2g} {called}" for kind, called in zip(KINDS, CALLED, strict=True))
        for end in found.ends
    )
    rounds = ", ".join(f"{len(run.distances) - 1} ({name})" for name, run in found.runs.items())
    return Evidence(
        None,
        f"rank one, sλL = 1/12; distance from the minimiser after {ROUNDS} rounds over that of the start: {told}; "
        f"rounds of the homogeneous test with four clients to a distance of {NEAR:g}: {rounds}; distances in the "
        f"heterogeneous test differ by {found.apart:.1g} in ten rounds",
        cases=len(found.ends) + len(found.runs),
        reason=claim_simplified_sufficient.expect_reason,
    )
