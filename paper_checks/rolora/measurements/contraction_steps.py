"""One step of the angle on random samples, for the lines of the proof of Lemma A.11."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import log
from typing import Any

import numpy as np
import torch

from algorithms.exact_rolora import ExactRoLoRA
from algorithms.federation import Federation
from algorithms.rounds import one_round
from algorithms.tree import Tree
from paper_checks.context import Context
from paper_checks.rolora.measurements.laws import COSINE, SINE, student_tail
from toymodels.regression import Regressor


@dataclass(frozen=True)
class Step:
    r"""One iteration, in units of $\|b^*\|$.

    Attributes:
        s: $\eta\|b^*\|^2$.
        sine: $\delta^t$.
        after: $\delta^{t+1}$.
        b: $\bar b$ in units of $b^*$.
        level: least $\epsilon'$ of (13).
        tilde: least $\tilde\epsilon$ of (66).
        deviation: $\|\nabla - E\nabla\|$.
        along: $a^\top(\nabla - E\nabla)$.
        slope: $a^\top E\nabla$.
        gradient: $\|\nabla\|^2$.
        square: $\|\hat a^+\|^2$.
        case: the Gram matrices, if short.
    """

    s: float
    sine: float
    after: float
    b: float
    level: float
    tilde: float
    deviation: float
    along: float
    slope: float
    gradient: float
    square: float
    case: dict[str, Any] | None = None


def measure_step(grams: list[np.ndarray], a: np.ndarray, truth: np.ndarray, s: float, case: Any = None) -> Step:
    """Run the toolkit's iteration; gradient and expectation follow from the Gram matrices."""
    d = len(a)
    own = np.zeros((1, d))
    own[0, 0] = 1.0
    target = torch.from_numpy(np.outer(truth, own))
    fed = Federation(tuple(Regressor(torch.from_numpy(G), target) for G in grams))
    algorithm = ExactRoLoRA(s)
    state = algorithm.start(fed, Tree(W=torch.from_numpy(np.outer(a, own))))
    state = one_round(algorithm.round, fed, state)
    next_a, b = state.A["W"].numpy()[:, 0], float(state.B["W"][0, 0])
    cosine = float(a @ truth)
    sine = float(np.linalg.norm(truth - cosine * a))
    moved = (b * a - truth) * b
    gradient = 2.0 * np.mean(grams, axis=0) @ moved
    off = gradient - 2.0 * moved
    level = abs(b - cosine) / sine
    tilde = float(np.linalg.norm(off)) / (2.0 * float(np.linalg.norm(moved)))
    return Step(
        s,
        sine,
        float(np.linalg.norm(next_a - truth * (truth @ next_a))),
        b,
        level,
        tilde,
        float(np.linalg.norm(off)),
        float(a @ off),
        float(a @ (2.0 * moved)),
        float(gradient @ gradient),
        float(((a - s * gradient) ** 2).sum()),
        case,
    )


BALANCED = {"uu": "101/100", "sine": "3/5", "s": "1", "eps": "1/1000", "eps_3": "1/50"}
"""One client whose b is g exactly: X'X/m is diagonal in the basis of a and u, 1 along a, and not the identity."""


def run_steps(context: Context) -> list[Step]:
    """Run the balanced case first; then samples of every size and steps of every length."""
    gram = np.diag([1.0, float(Fraction(BALANCED["uu"]))])
    found = [measure_step([gram], np.array([1.0, 0.0]), np.array([0.8, 0.6]), 1.0, BALANCED)]
    rng = context.rng("samples")
    for (N, d), m, (s, sine) in product(((1, 2), (4, 8), (3, 20)), (5, 200), ((0.3, 0.05), (1.0, 0.6), (1e-3, 0.95))):
        basis = np.linalg.qr(rng.standard_normal((d, 2)))[0].T
        truth = np.sqrt(1.0 - sine**2) * basis[0] + sine * basis[1]
        Xs = rng.standard_normal((N, m, d))
        found.append(measure_step([X.T @ X / m for X in Xs], basis[0], truth, s))
    return found


def scope(steps: list[Step]) -> str:
    """Return the scope of the check, in words."""
    told = f"{len(steps)} iterations of Algorithm 2: 1 to 4 clients, d up to 20, m from 5 to 200"
    return f"{told}, eta |b*|^2 from 0.001 to 1"


def gradient_tail(bound: float, m: float) -> float:
    r"""Bound $\log P$ that a gradient is farther than $2\delta\,bound\,\|b^*\|^2$ from its expectation, from below.

    So it is from (49), and from the mean over all samples of Algorithm 2. Along a the gradient is 0 and (49) is
    $2\delta T(\cos + \delta T)$. Across it the gradient misses its mean by $2\delta|\cos(R - 1 + \frac1m) + \delta
    TR|$, mR a chi-square of m - 1 degrees of freedom that T is independent of: more than $\frac95\delta^2|T|$ for $R
    \ge \frac9{10}$ and one sign of T.
    """
    return log(0.25) + student_tail(bound / min(0.9 * SINE, COSINE), m)
