"""One run compared with others: the same seed must come to the same again, and other seeds to the same verdict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from paper_checks.engine.verdict import Decision
from paper_checks.result import Result, Run


def over_seeds(first: Run, again: Run, others: Sequence[Run]) -> Run:
    """Return a run in which each claim that is not the same in the others has a defect.

    Args:
        first: The run.
        again: The same claims at the same seed, measured a second time.
        others: The same claims at other seeds.
    """
    results = []
    for place, result in enumerate(first.results):
        flaw = _unlike(result, again.results[place]) or _unsteady(
            [(run.seed, run.results[place]) for run in (first, *others)]
        )
        results.append(_with_defect(result, flaw) if flaw and not result.decision.defect else result)
    return replace(first, results=tuple(results), seconds=sum(run.seconds for run in (first, again, *others)))


def describe_seeds(first: Run, others: Sequence[Run]) -> str:
    """Return which seeds were compared, in words."""
    last = others[-1].seed if others else first.seed
    seeds = f"seeds {first.seed} to {last}, and seed {first.seed}" if others else f"seed {first.seed}"
    return f"each claim was measured with {seeds}{'' if others else ', and'} a second time"


def _unlike(result: Result, again: Result) -> str:
    """Say that the same seed comes to something else; empty if it does not."""
    both = [(one.judged.outcomes() if one.judged else one.decision, one.changes) for one in (result, again)]
    if both[0] == both[1]:
        return ""
    told = [
        f"{one.evidence.obtained or one.decision.reason}" if one.evidence else one.decision.reason
        for one in (result, again)
    ]
    numbers = f" ({told[0]}; then {told[1]})" if told[0] != told[1] else ""
    return (
        f"measured again with the same seed, it comes to something else{numbers}: draw from context.rng, and let "
        "nothing depend on the time or on what was measured before"
    )


def _unsteady(found: Sequence[tuple[int, Result]]) -> str:
    """Say that the verdict depends on the seed; empty if it does not."""
    seeds: dict[str, list[str]] = {}
    for seed, result in found:
        outcome = f"{result.decision.verdict} ({result.decision.grade or 'no grade'})"
        seeds.setdefault(outcome, []).append(str(seed))
    if len(seeds) < 2:
        return ""
    return "the verdict depends on the seed: " + "; ".join(
        f"{outcome} at {', '.join(some)}" for outcome, some in seeds.items()
    )


def _with_defect(result: Result, flaw: str) -> Result:
    return replace(result, decision=Decision("not checkable here", None, f"defect of the check: {flaw}", flaw))
