"""First rounds of FeDLRT, for the equations of Section 3.1 and Appendix F."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from algorithms.fedlrt import Correction
from paper_checks.context import Context
from paper_checks.fedlrt.measurements.federations import SCOPE, draw_cases
from paper_checks.fedlrt.measurements.watched_rounds import STEPS, Round, watch

ROUND_SCOPE = f"{SCOPE}; the first round, of {STEPS} local steps"


def first_rounds(context: Context, correction: Correction, steps: int = STEPS) -> list[Round]:
    """Follow the first round of every case."""
    return [watch(case, correction, steps)[0] for case in draw_cases(context)]


def rate_of(one: Round, steps: int = STEPS) -> float:
    """Return the learning rate that was watched."""
    return 0.5 / (12.0 * one.case.smoothness * steps)


def gradient_by_autograd(one: Round, client: Any, S: Tensor) -> Tensor:
    r"""Return the gradient of the client's loss of $\tilde US\tilde V^\top$ in S, by automatic differentiation."""
    slope: Tensor = torch.func.grad(lambda free: client.loss({"W": one.U @ free @ one.V.mT}))(S)
    return slope


def projected_gradient(one: Round, client: Any, S: Tensor) -> Tensor:
    r"""Return the gradient as $\tilde U^\top\nabla_W\mathcal{L}_c\tilde V$."""
    slope: Tensor = one.U.mT @ client.gradient({"W": one.U @ S @ one.V.mT})["W"] @ one.V
    return slope


@dataclass(frozen=True)
class Corrected:
    """Rounds with several local steps and with one, and the trips of a round without correction."""

    rounds: tuple[Round, ...]
    single: tuple[Round, ...]
    plain_trips: int


def measure_full(context: Context) -> Corrected:
    """Follow rounds with the full correction."""
    plain = watch(draw_cases(context)[0], "none")[0]
    return Corrected(tuple(first_rounds(context, "full")), tuple(first_rounds(context, "full", 1)), plain.trips)
