"""Statements about experiments at the paper's scale: undecided here, with what stored runs at laptop scale show.

Nothing is trained in a check: the table stored in `docs/figures` is read, where there is one, seed by seed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from io import StringIO
from typing import Any

import pandas as pd

from figures.experiments.disclosures import close_rates, finding
from figures.experiments.effects import Effect
from figures.figure import Figure, Settings
from figures.ledger import select
from figures.stored_numbers import stored_numbers
from paper_checks.claim import Claim, Evidence, Grade, Verdict, claim
from paper_checks.context import Context

Comparisons = Iterable[tuple[str, Effect]]
"""Statements in words, each with the difference that is above zero where it is true."""


UNDECIDED: tuple[Verdict, Grade | None] = ("not checkable here", None)


@dataclass(frozen=True, eq=False)
class StoredRuns:
    """A figure of an experiment, and its table at laptop scale; none where it is not stored yet."""

    figure: Figure
    table: pd.DataFrame | None


def runs_of(figure: str) -> Callable[[Context], StoredRuns]:
    """Read what is stored of a figure.

    Args:
        figure: Id of the figure.
    """

    def measure(context: Context) -> StoredRuns:
        (known,) = select([figure])
        stored = stored_numbers(known, Settings("laptop"))
        return StoredRuns(known, None if stored is None else pd.read_csv(StringIO(stored["csv"])))

    return measure


def judge_runs(
    runs: StoredRuns,
    reason: str,
    comparisons: Callable[[pd.DataFrame], Comparisons] | None = None,
    counted: str = "it",
    remark: Callable[[pd.DataFrame], str] | None = None,
) -> Evidence:
    """Return undecided evidence with what the stored runs show of each comparison, or of the whole figure.

    The scope also names the learning rates that were chosen by little, which may decide small differences.

    Args:
        runs: Stored runs of a figure.
        reason: Why it is undecided.
        comparisons: Statements, comparison by comparison; default: the figure's own words.
        counted: Statement of the comparisons, where it is not the whole one.
        remark: Words on what the runs show of a part that no comparison covers; left out if empty.
    """
    id = runs.figure.id
    if runs.table is None:
        scope = f"no runs at laptop scale are stored yet; `rankproof figure {id} --scale laptop` makes them"
        return Evidence(None, scope, cases=0, reason=reason)
    if comparisons is None:
        told = finding(runs.figure, runs.table).removesuffix(".")
        return Evidence(None, f"at laptop scale ({id}): {told}", reason=reason)
    found = list(comparisons(runs.table))
    counts = Counter(effect.above for _, effect in found)
    told = "; ".join(f"{stated}: {effect.verdict}, {effect.text}" for stated, effect in found)
    undecided, missed = counts["undecided"], counts["not reached"]
    unreached = f", {missed} {'is' if missed == 1 else 'are'} not reached by the runs" if missed else ""
    scope = (
        f"at laptop scale ({id}) {counts['supports']} of {len(found)} comparisons support {counted}, "
        f"{counts['contradicts']} contradict it, {undecided} {'is' if undecided == 1 else 'are'} undecided"
        f"{unreached}: {told}"
    )
    said = remark(runs.table) if remark is not None else ""
    rates = close_rates(runs.table).removesuffix(".").replace("Learning", "learning", 1)
    scope = "; ".join(filter(None, (scope, said, rates)))
    return Evidence(None, scope, cases=len(found), reason=reason)


def experiment(
    module: str,
    id: str,
    figure: str,
    where: str,
    says: str,
    why: str,
    comparisons: Callable[[pd.DataFrame], Comparisons] | None = None,
    also: Sequence[str] = (),
    counted: str = "it",
    remark: Callable[[pd.DataFrame], str] | None = None,
    **rest: Any,
) -> Claim:
    """Return a claim about runs at the paper's scale.

    Args:
        module: Module that declares it.
        id: Id of the claim.
        figure: Figure whose stored runs are reported.
        where: Place in the paper.
        says: Statement of the claim.
        why: It is undecided here.
        comparisons: Statements, comparison by comparison, from the figure's table; default: the figure's words.
        also: Further inventory ids of the same statement.
        counted: Statement of the comparisons, where it is not the whole one.
        remark: Words on what the runs show of a part that no comparison covers.
        rest: More fields of the claim.
    """

    def judge(runs: StoredRuns) -> Evidence:
        return judge_runs(runs, why, comparisons, counted, remark)

    judge.__module__ = module
    return claim(
        id,
        where=where,
        says=says,
        measure=runs_of(figure),
        expect=UNDECIDED,
        expect_reason=why,
        seen_in=(figure,),
        kind="experiment",
        also=tuple(also),
        **rest,
    )(judge)
