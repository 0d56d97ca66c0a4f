"""Section 4.1, Practical advantages: the arithmetic of local training, counted by the tensor library."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch.utils.flop_counter import FlopCounterMode

from paper_checks.claim import Evidence, Form, claim
from paper_checks.context import Context
from paper_checks.methods.promises import Promise, judge_promises

SVDS = 30
"""Operations of a compression, in units of mn min(m, n): more than a singular value decomposition takes."""


@dataclass(frozen=True)
class Step:
    """Operations of one training step of a linear layer, forward and backward, as counted.

    Attributes:
        m: Outputs.
        n: Inputs.
        r: Rank.
        b: Samples of the batch (and positions, for a convolution).
        full: W trained.
        beside: A and B trained, the input passed through them beside the frozen W.
        merged: A and B trained, W + AB formed in every step.
    """

    m: int
    n: int
    r: int
    b: int
    full: int
    beside: int
    merged: int

    @property
    def case(self) -> dict[str, int]:
        """The sizes, with the local steps of five epochs of 2,500 samples in batches of 32."""
        return {"m": self.m, "n": self.n, "r": self.r, "b": self.b, "steps": STEPS}


STEPS = 390


def _operations(m: int, n: int, r: int, b: int, way: str) -> int:
    x = torch.zeros(b, n, requires_grad=True)
    W = torch.zeros(m, n, requires_grad=way == "full")
    A, B = (torch.zeros(size, requires_grad=way != "full") for size in ((m, r), (r, n)))
    with FlopCounterMode(display=False) as counter:
        if way == "full":
            y = x @ W.mT
        elif way == "beside":
            y = x @ W.mT + (x @ B.mT) @ A.mT
        else:
            y = x @ (W + A @ B).mT
        y.sum().backward()
    return int(counter.get_total_flops())


def count_steps(context: Context) -> list[Step]:
    """Square, tall and wide layers, small and large batches, ranks up to those that save communication."""
    sizes = [(64, 64, 24, 32), (64, 64, 16, 32), (64, 64, 10, 32), (48, 48, 8, 1), (48, 96, 16, 8), (48, 96, 31, 8),
             (96, 24, 6, 128), (96, 24, 19, 4), (128, 128, 1, 16),
             (30, 60, 10, 16), (30, 60, 7, 16), (30, 60, 6, 16)]  # fmt: skip
    return [Step(*size, *(_operations(*size, way) for way in ("full", "beside", "merged"))) for size in sizes]


@claim(
    "fedloru-v2/claim-noextra",
    where="Section 4.1, Practical advantages, last sentence",
    says=r"Since nothing is compressed there is no additional computation compared to compression-based algorithms. "
    r"(Read as a comparison of arithmetic at ranks that save communication, $r(m+n) < mn$: local training of A and B, "
    r"by the cheaper of two ways, against that of W and a compression each round that costs $30mn\min(m,n)$.)",
    measure=count_steps,
    control=Form("For ranks with $3r(m+n) \\le mn$.", {"share": 1 / 3}),
    correction=Form(
        r"Nothing is computed between training and sending. Training itself takes no more than that of W, even without "
        r"any compression, if $r(m+n) \le \frac13mn$, since a sample then costs $4mn + 6r(m+n)$ operations instead of "
        r"$6mn$; beyond that it takes $6r(m+n) - 2mn$ more of each sample, or $6mnr$ of each step if $W + AB$ is "
        r"formed.",
        {"share": 1 / 3, "compression": 0.0},
        ({"share": 0.4}, {"beside": 6.1}, {"kept": 5.0}, {"formed": 5.0}),
    ),
    vary=("share", "beside"),
    expect="corrected",
    method="counted operations",
)
def claim_noextra(steps: list[Step], share: float = 1.0, compression: float = SVDS, beside: float = 6.0,
                  kept: float = 4.0, formed: float = 6.0) -> Evidence:  # fmt: skip
    """Counts against their formulas, then a round of training and compression on either side."""
    promises = []
    for one in steps:
        m, n, r, b = one.m, one.n, one.r, one.b
        told = "operations of a step"
        promises.append(Promise(f"{told}, W trained", one.full, 6 * m * n * b))
        promises.append(Promise(f"{told}, factors beside W", one.beside, (kept * m * n + beside * r * (m + n)) * b))
        promises.append(Promise(f"{told}, W + AB formed", one.merged, 6 * m * n * b + formed * m * n * r))
        if r * (m + n) < m * n and r * (m + n) <= share * m * n:
            ours = STEPS * min(one.beside, one.merged)
            theirs = STEPS * one.full + compression * m * n * min(m, n)
            promises.append(Promise("no more arithmetic in a round", ours, theirs, at_most=True, case=one.case))
    return judge_promises(promises, f"{len(steps)} linear layers, forward and backward, square, tall and wide, batches "
                          f"of 1 to 128, {STEPS} local steps (five epochs of 2,500 samples)")  # fmt: skip
