"""Request for a measurement of a network's spectrum, and its result."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from hessian.block_ranks import BlockRank
from hessian.operators.curvature import Cost
from hessian.spectrum import SpectrumReport, SpectrumSettings


@dataclass(frozen=True)
class SpectrumRequest:
    """A request for a measurement.

    Attributes:
        model: ``module:factory`` of the network; of a run's states, the run's folder.
        data: ``module:factory`` of the data; the same.
        loss: Name of a loss, or ``module:function``.
        matrix: One of `hessian.loss.output_curvature.MATRICES`.
        parameters: Names or patterns; empty: all that require gradients.
        batch_norm: `running` or `batch`, or nothing for a model without batch norm in training mode.
        reduction: `mean` or `sum`; nothing: the loss's own, else `mean`.
        double: Measure in float64.
        device: Torch device.
        settings: Accuracy, numbers of pairs and probes, seed.
        count: ``module:function`` that gives the samples of a batch; nothing: the length of its tensors.
        law: ``module:function`` from the output to the distribution of the targets, for `fisher`; nothing: the loss's.
        blocks: Depth of the modules whose blocks are measured too; 0: every module with parameters; nothing: none.
        trial: Time batches of one and of eight vectors, and use the faster.
        workers: Number or devices of the processes that share the data; None means this process.
        ray: Address of the Ray cluster that runs them, or `local`; None means processes of this machine.
    """

    model: str
    data: str
    loss: str = "cross-entropy"
    matrix: str = "hessian"
    parameters: tuple[str, ...] = ()
    batch_norm: str | None = None
    reduction: str | None = None
    double: bool = False
    device: str = "cpu"
    settings: SpectrumSettings = dataclasses.field(default_factory=SpectrumSettings)
    count: str | None = None
    law: str | None = None
    blocks: int | None = None
    trial: bool = False
    workers: str | None = None
    ray: str | None = None


@dataclass(frozen=True, eq=False)
class MeasuredNetwork:
    """The measured spectrum of a network, and what was measured.

    Attributes:
        request: Request for the measurement.
        report: Result of the measurement.
        samples: Number of samples.
        loss: Value of the loss.
        unused: Parameters that the loss does not depend on.
        cost: Cost of the products, without the products of the blocks.
        blocks: Stable ranks of the modules' blocks, where they were asked for.
        tied: Other names of parameters that have several, each with the name whose block holds it.
    """

    request: SpectrumRequest
    report: SpectrumReport
    samples: int
    loss: float
    unused: tuple[str, ...]
    cost: Cost
    blocks: tuple[BlockRank, ...] = ()
    tied: tuple[tuple[str, str], ...] = ()
