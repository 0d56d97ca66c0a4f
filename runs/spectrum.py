"""Spectra along a run: quantities of the Hessian at the server's weights every few rounds, in a table of the folder.

Every round is measured without the findings of earlier ones, with random streams of its own, so a run that is resumed
writes the same table. The checks of the network's structure are made once (`hessian.PassedChecks`). Modules of
`hessian` are imported when they are needed, so other runs start without SciPy.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from algorithms.rounds import RunState
from algorithms.weights import dense_tree
from runs.network_problem import NetworkProblem
from runs.plan import Parts, Plan
from runs.settings import ELSEWHERE, RunError
from runs.tables import rows_of
from workloads.written import FolderRecord

if TYPE_CHECKING:
    from hessian.loss.passed_checks import PassedChecks
    from hessian.quantities.names import Quantity

COLUMNS = ("round", "quantity", "value", "low", "high", "reached", "products")
DEFAULT = "sharpness"
WIDTH, PRODUCTS = 0.1, 500
"""Relative width asked of each interval, and largest number of products at a round."""


class SpectrumTable:
    """The table of spectra of one run."""

    def __init__(
        self,
        path: Path,
        parts: Parts,
        every: int,
        quantities: tuple[Quantity, ...],
        seed: int,
        say: Callable[[str], None],
        checks: PassedChecks,
    ) -> None:
        """Prepare the table; nothing is read or written yet.

        Args:
            path: Path of the table.
            parts: Algorithm and problem of the run.
            every: Rounds between two measurements.
            quantities: Quantities to measure.
            seed: Seed of the run.
            say: Called with a line if a quantity cannot be measured.
            checks: Checks that have passed.
        """
        self.path, self.parts, self.every, self.quantities = path, parts, every, quantities
        self.seed, self.say, self.checks = seed, say, checks
        self.rows: list[Mapping[str, Any]] = []
        self._failed: set[Quantity] = set()

    @staticmethod
    def of(plan: Plan, parts: Parts, path: Path, say: Callable[[str], None]) -> SpectrumTable | None:
        """Return the table that a run asks for; None if it asks for none. Nothing is written yet.

        Args:
            plan: The run.
            parts: Algorithm and problem of the run.
            path: Path of the table.
            say: Called with a line if a quantity cannot be measured.

        Raises:
            RunError: The run is not one of a network on images, a quantity is not a single number, or rankproof did
                not write the file at the path.
            CurvatureError: A name of a quantity is unknown.
        """
        conduct = plan.conduct
        if conduct.spectrum is None:
            if conduct.spectrum_quantities is not None:
                raise RunError("--spectrum-quantities needs --spectrum N, the number of rounds between measurements")
            return None
        from hessian.loss.passed_checks import PassedChecks
        from hessian.quantities.names import CURVES, read_quantities
        from runs.networks.language_network import LanguageProblem

        if not isinstance(parts.problem, NetworkProblem) or isinstance(parts.problem, LanguageProblem):
            raise RunError(
                f"--spectrum measures networks on images, such as --data mnist, not {plan.problem}; leave it out"
            )
        quantities = read_quantities(conduct.spectrum_quantities or DEFAULT)
        if curves := [one.name for one in quantities if one.name in CURVES]:
            raise RunError(
                f"--spectrum-quantities takes single numbers, not {' and '.join(curves)}; `rankproof spectrum "
                "--checkpoints` measures a finished run"
            )
        if path.exists() and not FolderRecord(path.parent).owns(path):
            raise RunError(
                f"{path}: rankproof did not write it, or it has been changed since", "move it away", ELSEWHERE
            )
        return SpectrumTable(path, parts, conduct.spectrum, quantities, plan.settings["seed"], say, PassedChecks())

    def resume(self, state: RunState) -> None:
        """Keep the rows up to a state, from which the run continues, and measure there what the table lacks.

        Raises:
            OSError: The table cannot be read or written.
        """
        found = rows_of(self.path.read_bytes()) if self.path.exists() else []
        self.rows = [row for row in found if row["round"] <= state.round]
        self.measure(state)

    def measure(self, state: RunState) -> None:
        """Measure what the table lacks at a state, if it is one of those asked for, and write its rows.

        If the quantities cannot be measured together, each is measured alone, so one that cannot be measured costs only
        its own row, and a run that is resumed has the same rows. It is named in a line, once.

        Raises:
            OSError: The table cannot be written.
        """
        known = {row["quantity"] for row in self.rows if row["round"] == state.round}
        lacking = tuple(quantity for quantity in self.quantities if str(quantity) not in known)
        if state.round % self.every or not lacking or not (rows := self._measured_rows(state, lacking)):
            return
        self.rows += rows
        text = io.StringIO()
        writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(self.rows)
        FolderRecord(self.path.parent).write({self.path: text.getvalue().encode()})

    def _measured_rows(self, state: RunState, quantities: tuple[Quantity, ...]) -> list[Mapping[str, Any]]:
        """Return a row for each of the quantities that can be measured."""
        from hessian.numerics.symmetric import CurvatureError

        rows: list[Mapping[str, Any]] = []
        failed: dict[str, list[Quantity]] = {}
        for some in dict.fromkeys([quantities, *((one,) for one in quantities)]):
            try:
                rows += self._rows_at(state, some)
            except CurvatureError as error:
                if len(some) == 1:
                    failed.setdefault(str(error), []).append(some[0])
            else:
                if some == quantities:
                    break
        for reason, of in failed.items():
            if new := [str(one) for one in of if one not in self._failed]:
                which = f"{' and '.join(new)} of round {state.round} {'is' if len(new) == 1 else 'are'}"
                self.say(f"{which} not measured, because {reason}; the run continues")
            self._failed.update(of)
        return rows

    def _rows_at(self, state: RunState, quantities: tuple[Quantity, ...]) -> list[Mapping[str, Any]]:
        """Return a row for each of the quantities."""
        from hessian.quantities.measurement import MeasureSettings, measure_with, stream_of
        from runs.networks.curvatures import SERVER, curvatures

        problem = self.parts.problem
        assert isinstance(problem, NetworkProblem)
        weights = dense_tree(self.parts.algorithm.weights(state.algorithm), problem.start)
        ((_, operator),) = curvatures(problem, weights, (SERVER,), checks=self.checks)
        found = measure_with(
            operator,
            quantities,
            MeasureSettings(WIDTH, products=PRODUCTS),
            lambda part: stream_of(part, self.seed, state.round),
        )
        products = sum(found.products.values())
        return [
            {
                "round": state.round,
                "quantity": str(quantity),
                "value": one.value,
                "low": one.low,
                "high": one.high,
                "reached": int(one.reached),
                "products": products,
            }
            for quantity, one in ((quantity, found[quantity]) for quantity in found)
        ]
