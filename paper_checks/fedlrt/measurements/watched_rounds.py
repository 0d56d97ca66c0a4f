"""Rounds of FeDLRT with every value that its boxes name, from the algorithm as it runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from algorithms.descent import Descent
from algorithms.fedlrt import Correction, FeDLRT
from algorithms.low_rank import USV, Truncation, append_columns, product
from algorithms.rounds import one_round
from paper_checks.claim import Dropped
from paper_checks.context import Context
from paper_checks.fedlrt.measurements.federations import Case, draw_beyond, draw_cases
from paper_checks.methods.relations import Relation, orthonormal, same
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
        slopes: Gradient of each client in the augmented coefficients at the start.
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
        """Return the augmented coefficients at the start: S in the corner of zeros."""
        S = self.before.S["W"]
        wide = torch.zeros(self.U.shape[1], self.V.shape[1], dtype=S.dtype)
        wide[: S.shape[0], : S.shape[1]] = S
        return wide

    @property
    def fits(self) -> bool:
        """Return whether 2r columns fit side by side."""
        return 2 * self.before.S["W"].shape[0] <= min(self.case.shape)

    @property
    def model(self) -> Tensor:
        """Return the model before truncation."""
        return self.U @ torch.stack(self.coefficients).mean(dim=0) @ self.V.mT


def _with_corrections(watched: Round, fed: Watched, correction: Correction, slopes: tuple[Tensor, ...]) -> Round:
    """Return the corrections that clients add, from the trips: the mean that was sent minus their own gradient."""
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


def watch(case: Case, correction: Correction, steps: int = STEPS) -> list[Round]:
    """Run some rounds of FeDLRT at half the admissible step of Theorem 2."""
    local = Descent(steps, 0.5 / (12.0 * case.smoothness * steps))
    algorithm = FeDLRT(local, case.rank, Truncation(TAU), correction)
    fed = Watched(case.clients)
    state, rounds = case.factors, []
    for _ in range(ROUNDS):
        before, state = state, one_round(algorithm.round, fed, state)
        bars = next(trip.sent for trip in fed.trips if "Ubar" in trip.sent)
        U, V = append_columns(before.U, bars["Ubar"]), append_columns(before.V, bars["Vbar"])
        wide = [client.projected(U, V) for client in case.clients]
        watched = Round(
            case, before, state, U["W"], V["W"], tuple(u["W"] for u in fed.trips[-1].uploads), (), (), len(fed.trips)
        )
        start = watched.start
        slopes = tuple(client.gradient({"W": start})["W"] for client in wide)
        rounds.append(_with_corrections(watched, fed, correction, slopes))
    return rounds


@dataclass(frozen=True)
class Watching:
    """Watched rounds by correction, and with one local step under full correction."""

    rounds: Mapping[str, tuple[Round, ...]]

    def of(self, kind: str, beyond: bool, each: int = 1) -> list[Round]:
        """Return the rounds in which the augmented bases fit, or all of them; optionally only every so many."""
        return [one for one in self.rounds[kind][::each] if beyond or one.fits]


def watch_all(context: Context) -> Watching:
    """Watch every case, and at the end one in which the augmented bases do not fit."""
    cases = [*draw_cases(context), draw_beyond(context)]
    kinds: tuple[Correction, ...] = ("none", "full", "simplified")
    watched: dict[str, tuple[Round, ...]] = {
        kind: tuple(one for case in cases for one in watch(case, kind)) for kind in kinds
    }
    return Watching({**watched, "one step": tuple(one for case in cases for one in watch(case, "full", steps=1))})


def promised_of_all(one: Round, mean: float = 1.0) -> list[Relation]:
    """Return the promises of the text for every variant of FeDLRT in a round."""
    U, S, V = (part["W"] for part in one.after)
    sigma = S.diagonal()
    wide = torch.stack([one.U @ S_c @ one.V.mT for S_c in one.coefficients]).mean(dim=0)
    tail = float(torch.linalg.matrix_norm(product(one.after)["W"] - one.model))
    theta = TAU * float(torch.linalg.matrix_norm(one.model))
    r = one.before.S["W"].shape[0]
    return [
        *(Relation("wide bases of 2r columns", basis.shape[1], 2 * r) for basis in (one.U, one.V)),
        orthonormal("U is orthonormal", U),
        orthonormal("V is orthonormal", V),
        same("S is diagonal", S, torch.diag(sigma)),
        Relation("S has full rank", 0.0, float(sigma.min()) - 1e-12, at_most=True),
        same("averaging coefficients averages the clients' models", mean * wide, one.model),
        same("St is S in the corner of zeros (Lemma 1)", one.U.mT @ product(one.before)["W"] @ one.V, one.start),
        Relation("the truncated part is at most theta", tail, theta, 1e-12, at_most=True),
    ]
