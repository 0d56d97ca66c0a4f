"""Quantities of similar matrices that are measured one after the other, as at the states of a training."""

from __future__ import annotations

from hessian.lanczos.krylov import Progress
from hessian.numerics.symmetric import SymmetricOperator
from hessian.quantities.estimates import Measurement
from hessian.quantities.measurement import MeasureSettings, measure_from, stream_of
from hessian.quantities.names import Quantity
from hessian.quantities.warm_search import WarmStart


class MeasurementSequence:
    """Measurements of similar matrices, each from the findings of the one before.

    Each matrix has random streams of its own, so the interval of each holds regardless of the others
    (`hessian.quantities.warm_search`).
    """

    def __init__(self, quantities: tuple[Quantity, ...], seed: int) -> None:
        """Start a sequence; nothing is computed before the first matrix.

        Args:
            quantities: Quantities to measure.
            seed: Seed of starting vectors and probes.
        """
        self._quantities, self._seed = quantities, seed
        self._start: WarmStart | None = None
        self._place = 0

    def measure(
        self, operator: SymmetricOperator, settings: MeasureSettings, progress: Progress | None = None
    ) -> Measurement:
        """Measure the next matrix; one of another size starts from nothing.

        Args:
            operator: The matrix.
            settings: Accuracy and limits.
            progress: Called with a description of the current step.

        Raises:
            CurvatureError: As in `measure`; the next matrix then starts from the last one that was measured.
        """
        start = self._start if self._start is not None and self._start.fits(operator.P) else None
        place = self._place
        measured, self._start = measure_from(
            operator, self._quantities, settings, lambda part: stream_of(part, self._seed, place), start, progress
        )
        self._place += 1
        return measured
