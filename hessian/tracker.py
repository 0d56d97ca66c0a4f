"""Spectra followed through training, from a user's own loop."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from math import isfinite
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm

from hessian.lanczos.krylov import Progress
from hessian.lanczos.memory import Budget
from hessian.loss.batches import Loss
from hessian.loss.model_state import norms_of_batches
from hessian.loss.passed_checks import PassedChecks
from hessian.numerics.symmetric import CurvatureError
from hessian.operators.curvature import Curvature
from hessian.quantities.estimates import Measurement, Profile
from hessian.quantities.measurement import MeasureSettings
from hessian.quantities.names import Quantity, read_quantities
from hessian.quantities.sequence import MeasurementSequence
from rmt.results import Result, join_texts

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class TrackedState(Result):
    """Quantities at one step of a training.

    Attributes:
        step: Number of the step.
        loss: Loss over the data of the measurement.
        measurement: Quantities with their intervals.
        warm: The search started from the findings of an earlier state, or the trace from the trace of one.
        gradients: Time of the checks, the graph and the products in units of a gradient over the same data, which is
            timed at the first state.
        seconds: Wall time of everything.
    """

    step: int
    loss: float
    measurement: Measurement
    warm: bool
    gradients: float
    seconds: float

    def __getitem__(self, quantity: Quantity | str) -> Any:
        """Return one result by the quantity's name."""
        return self.measurement[quantity]

    def words(self) -> dict[str, str]:
        """Return loss, quantities and cost in words."""
        rows = self.measurement.words()
        start = "from the state before" if self.warm else "without an earlier state"
        cost = f"{self.measurement.words()['cost']} {start}, the time of {self.gradients:.0f} gradients"
        return {f"step {self.step}": f"loss {self.loss:.4g}", **rows, "cost": cost}


class SpectrumTracker:
    """Measurements of a network's Hessian every few steps of a training loop.

    Call the tracker after each step. The checks of a structure run once, and every later state takes one reading of the
    data for them (`hessian.PassedChecks`). The search at a state starts from the eigenvectors of the one before and
    plans its probes by what that found (`hessian.quantities.warm_search`), unless starting from nothing is likely to be
    cheaper. After a state that cost more than the earlier ones from nothing, the next 4 start from nothing, then 16.

    A trace that takes many probes is followed by the trace of the difference from an earlier state, where the matrix
    changes slowly (`hessian.quantities.trace_changes`). These states share random vectors, so their errors are alike,
    and the training must not depend on the traces that were measured.

    Each interval holds at its own state with the stated confidence, regardless of earlier states. A bound of what the
    earlier eigenvectors leave out rests on a new random vector in their complement, and the other probes are new as
    well. Both are independent of the matrix and of all earlier states. The earlier findings decide only how much is
    computed, not what is certain. Of many states at 95 %, up to 5 % may have an interval that misses.

    Measured in evaluation mode: dropout is off, and batch norm uses its running statistics. With ``batch_norm="batch"``
    it uses those of each batch, except in norms that are frozen while others are not (see `Curvature`), and a state at
    which other norms are frozen than at the first is refused. The model does not change, and its modes are restored.

    Attributes:
        states: Measured states, in the order of the calls.
    """

    def __init__(
        self,
        model: nn.Module,
        loss: Loss,
        data: Any,
        *,
        every: int = 1,
        quantities: str | Quantity | Iterable[str | Quantity] = ("sharpness",),
        relative_width: float = 0.05,
        confidence: float = 0.95,
        seed: int = 0,
        products: int = 2000,
        basis: int = 120,
        steps: int = 60,
        memory: Budget | int | str | None = None,
        progress: Progress | None = None,
        **options: Any,
    ) -> None:
        """Prepare the measurement; nothing is computed before the first call.

        Args:
            model: The network that is trained; the tracker reads its weights at each call.
            loss: Maps (output, target) to a scalar, as for `Curvature`.
            data: Data of the measurement, the same at every state; they need not be those of the training.
            every: A state is measured at the steps that this divides, 0 included.
            quantities: Names, as for `measure`. Those by quadrature (counts, effective dimension, log-det, density) and
                the diagonal start from nothing at each state.
            relative_width: As for `measure`.
            confidence: Confidence level of each interval.
            seed: Seed of starting vectors and probes; each state has streams of its own.
            products: Largest number of products at each state.
            basis: Largest number of rows of the basis; the eigenvectors of the state before take 24 more, and what a
                trace is followed from up to 72.
            steps: As for `measure`.
            memory: A budget, as in `stable_rank_of`.
            progress: Called with a description of the current step.
            options: As for `Curvature`: matrix, parameters, batch_norm, reduction, count, vectorize, workers.

        Raises:
            CurvatureError: A quantity or a number that is not valid.
        """
        _require_whole("every", every, 1)
        _require_whole("seed", seed, 0)
        budget = None if memory is None else Budget.of(memory)
        self._settings = MeasureSettings(relative_width, confidence, products, basis, steps, 1, budget)
        self._quantities = read_quantities(quantities)
        self._model, self._loss, self._data = model, loss, data
        self._every, self._progress = int(every), progress
        self._options: dict[str, Any] = {"checks": PassedChecks(), "memory": budget, **options}
        self._states: list[TrackedState] = []
        self._sequence = MeasurementSequence(self._quantities, int(seed))
        self._gradient_seconds: float | None = None
        self._by_batch: frozenset[str] = frozenset()

    @property
    def states(self) -> tuple[TrackedState, ...]:
        """The measured states."""
        return tuple(self._states)

    def __call__(self, step: int) -> TrackedState | None:
        """Measure the state after a step if it is one of those asked for.

        Args:
            step: Number of the step.

        Raises:
            CurvatureError: As `measure`; the step is not a whole number, or the model, the loss or the data cannot be
                measured at this state.
        """
        _require_step(step)
        return self.measure(step) if step % self._every == 0 else None

    def measure(self, step: int) -> TrackedState:
        """Measure the present state.

        Args:
            step: Number under which it is listed.

        Raises:
            CurvatureError: As in a call.
        """
        _require_step(step)
        started = time.perf_counter()
        try:
            self._require_same_norms()
            with _evaluating(self._model, self._options.get("batch_norm") == "batch"):
                operator = Curvature(self._model, self._loss, self._data, **self._options)
                settings = replace(self._settings, chunk=operator.chunk)
                measured = self._sequence.measure(operator, settings, self._progress)
                cost = operator.cost(self._gradient_seconds)
        except CurvatureError as error:
            raise CurvatureError(f"step {step}: {error}", keywords=error.keywords) from error
        self._gradient_seconds = cost.gradient_seconds
        gradients, seconds = cost.gradients_with_checks, time.perf_counter() - started
        self._states.append(TrackedState(int(step), operator.loss, measured, measured.warm, gradients, seconds))
        return self._states[-1]

    def _require_same_norms(self) -> None:
        """Require that batch norm takes the statistics of each batch in the same norms at every state."""
        if self._options.get("batch_norm") != "batch":
            return
        named = dict(self._model.named_modules())
        by_batch = norms_of_batches(list(named.values()), [module.training for module in named.values()])
        names = frozenset(name for name, module in named.items() if module in by_batch)
        if not self._states:
            self._by_batch = names
        if names != self._by_batch:
            raise CurvatureError(
                f"the first state used the statistics of each batch in {_listed(self._by_batch)}, and this one would "
                f"in {_listed(names)}, because frozen norms keep their running statistics; put the batch norms in the "
                "modes of the first call",
                keywords=("batch_norm",),
            )

    def to_frame(self) -> pd.DataFrame:
        """Return a row for each quantity at each state.

        Returns:
            Columns step, loss, quantity, value, low, high, reached, products (of the state), gradients, warm. Values of
            a diagonal or a density, which are many, are missing: read them from `states`.
        """
        import pandas as pd

        rows = []
        for state in self._states:
            for quantity, found in state.measurement.found.items():
                value, low, high = (None,) * 3 if isinstance(found, Profile) else (found.value, found.low, found.high)
                rows.append(
                    {
                        "step": state.step,
                        "loss": state.loss,
                        "quantity": str(quantity),
                        "value": value,
                        "low": low,
                        "high": high,
                        "reached": found.reached,
                        "products": sum(state.measurement.products.values()),
                        "gradients": state.gradients,
                        "warm": state.warm,
                    }
                )
        return pd.DataFrame(rows)

    def __repr__(self) -> str:
        names = join_texts([str(one) for one in self._quantities])
        return f"SpectrumTracker({names}, {len(self._states)} states)"


def _listed(names: frozenset[str]) -> str:
    return join_texts(sorted(names)) or "none"


def _require_whole(name: str, value: Any, least: int) -> None:
    if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
        raise CurvatureError(f"{name} must be a whole number of at least {least}, got {value!r}", keywords=(name,))


def _require_step(step: Any) -> None:
    """Require a whole number; floats such as 2.0 are accepted."""
    if not isinstance(step, Real) or isinstance(step, bool) or not isfinite(step) or step % 1:
        raise CurvatureError(f"step must be a whole number such as 3, got {step!r}", keywords=("step",))


@contextmanager
def _evaluating(model: nn.Module, norms_as_they_are: bool) -> Iterator[None]:
    """Put a model in evaluation mode inside the context, with or without its batch norms, and restore all modes."""
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    for module, mode in modes:
        if norms_as_they_are and mode and isinstance(module, _BatchNorm):
            module.training = True
    try:
        yield
    finally:
        for module, mode in modes:
            module.training = mode
