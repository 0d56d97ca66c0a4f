"""Judging all forms of a claim on one measurement: readings, mutants, control, correction, dropped hypotheses."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from paper_checks.claim import AS_CORRECTED, Claim, Constants, Evidence, Form, Reading, made_by
from paper_checks.engine.lines import Strength, have_common_lines, strength
from paper_checks.evaluation import Replayed
from paper_checks.methods.sides import UndefinedError


@dataclass(frozen=True)
class Neighbour:
    """A correction with one of its constants halved or doubled (or 1 away from 0), and what the check made of it."""

    constant: str
    value: float | Fraction
    ok: bool | None


@dataclass(frozen=True)
class JudgedReading:
    """One reading of a statement, judged.

    Attributes:
        reading: what is read.
        first: whether it is the first, which replays and stored files do not name.
        evidence: what it came to.
        mutants: its perturbations and what they came to, judged only if it passes.
    """

    reading: Reading
    first: bool
    evidence: Evidence
    mutants: tuple[tuple[Constants, Evidence], ...] = ()

    @property
    def key(self) -> str:
        """Name of the reading in its replays and stored files."""
        return "" if self.first else self.reading.slug


@dataclass(frozen=True)
class Judged:
    """All forms of one claim, judged on one measurement.

    Attributes:
        printed: the statement as printed, in its first reading.
        mutants: its mutants, judged only if it passes.
        others: the other readings.
        control: the weakened statement, judged only if no reading passes.
        correction: the corrected statement, judged if a reading fails.
        correction_mutants: mutants of the correction.
        neighbours: the correction with each of its numbers on either side; judged only if it passes.
        strength: what a correction that passes requires, compared with the printed form; None if that is not known.
        dropped: for each hypothesis, whether the established statement passes without it; None if that is undecided.
    """

    printed: Evidence
    mutants: tuple[Evidence, ...] = ()
    others: tuple[JudgedReading, ...] = ()
    control: Evidence | None = None
    correction: Evidence | None = None
    correction_mutants: tuple[Evidence, ...] = ()
    neighbours: tuple[Neighbour, ...] = ()
    strength: Strength | None = None
    dropped: tuple[bool | None, ...] = ()

    def outcomes(self) -> list[str]:
        """Return what each form came to, as text."""
        forms = [self.printed, *self.mutants, self.control, self.correction, *self.correction_mutants]
        forms += [one for other in self.others for one in (other.evidence, *(found for _, found in other.mutants))]
        return [outcome_of(form) for form in forms if form is not None]

    @property
    def level(self) -> float:
        """Probability of a false alarm spent on the verdict: the forms that carry it share one measurement."""
        forms = [self.printed, self.control, self.correction, *(one.evidence for one in self.others)]
        return max(form.level for form in forms if form is not None)

    def readings(self, claim: Claim) -> tuple[JudgedReading, ...]:
        """Return all readings of a claim, the first one first."""
        mutants = tuple(zip(claim.mutants, self.mutants, strict=False))
        return (JudgedReading(claim.readings[0], True, self.printed, mutants), *self.others)

    def standing(self, claim: Claim) -> tuple[Constants, Evidence] | None:
        """Return constants and evidence of what is established: the intended reading, another, or the correction."""
        meant = claim.intended.reading
        readings = sorted(self.readings(claim), key=lambda one: one.reading.name != meant)
        forms = [(one.reading.constants, one.evidence) for one in readings]
        if claim.correction is not None and self.correction is not None:
            forms.insert(0 if meant == AS_CORRECTED else len(forms), (claim.correction.constants, self.correction))
        return next((form for form in forms if form[1].ok), None)

    def as_meant(self, claim: Claim) -> bool:
        """Return whether the statement passes in the reading that its author means."""
        if claim.intended.reading == AS_CORRECTED:
            return self.correction is not None and self.correction.ok is True
        meant = (one for one in self.readings(claim) if one.reading.name == claim.intended.reading)
        return any(one.evidence.ok is True for one in meant)

    def without_sides(self) -> Judged:
        """Return the same without the numbers that the lines compare, which are large and needed no more."""
        return self._with(_bare)

    def without_proofs_by_hand(self) -> Judged:
        """Return the same without facts and gaps of evidence that no method made: it proves and certifies nothing."""
        return self._with(_unproved)

    def _with(self, change: Callable[[Evidence], Evidence]) -> Judged:
        """Return the same with each evidence changed."""
        others = tuple(
            replace(one, evidence=change(one.evidence), mutants=tuple((c, change(e)) for c, e in one.mutants))
            for one in self.others
        )
        return replace(
            self,
            printed=change(self.printed),
            mutants=tuple(map(change, self.mutants)),
            others=others,
            control=self.control and change(self.control),
            correction=self.correction and change(self.correction),
            correction_mutants=tuple(map(change, self.correction_mutants)),
        )


def _unproved(evidence: Evidence) -> Evidence:
    return made_by(evidence.by_hand, replace(evidence, facts=(), gap=None)) if evidence.by_hand else evidence


def _bare(evidence: Evidence) -> Evidence:
    return replace(evidence, lines={name: line.bare() for name, line in evidence.lines.items()})


def require_same(first: Evidence, again: Evidence) -> None:
    """Check that a check comes to the same for the same constants and the same measurement.

    Raises:
        ValueError: It does not: it changes what it measured, counts its calls, or draws at random.
    """
    if outcome_of(first) != outcome_of(again):
        raise ValueError(
            f"judged again with the same constants, it comes to something else ({_told(first)}, then {_told(again)}): "
            "a check must neither change what was measured, nor keep a state, nor draw at random"
        )


def outcome_of(evidence: Evidence) -> str:
    """Return what evidence came to, as text that is the same for the same numbers, NaN included."""
    told = (evidence.scope, evidence.printed, evidence.obtained, evidence.cases, evidence.tight, evidence.sides)
    return repr((evidence.ok, evidence.margin, evidence.slack, evidence.level, evidence.facts, evidence.gap, told))


def _told(evidence: Evidence) -> str:
    outcome = {True: "it passes", False: "it is violated", None: "it is undecided"}[evidence.ok]
    return f"{outcome} with margin {evidence.margin:.6g}"


def judge(claim: Claim, data: object) -> Judged:
    """Judge the forms of a claim that the verdict needs.

    Raises:
        TypeError: The check returns something else than evidence.
    """
    printed = _judged(claim, data, {})
    others = tuple(_reading(claim, data, reading) for reading in claim.readings[1:])
    outcomes = [printed.ok, *(one.evidence.ok for one in others)]
    found = Judged(printed, _all(claim, data, {}, claim.mutants) if printed.ok else (), others)
    if None in outcomes:
        return found
    if claim.control is not None and not any(outcomes):
        found = replace(found, control=_judged(claim, data, claim.control.constants))
    if claim.correction is not None and not all(outcomes):
        found = _with_correction(found, claim, data, claim.correction)
    stands = found.standing(claim)
    if stands is None:
        return found
    dropped = (_outcome(claim, data, {**stands[0], **one.constants}) for one in claim.hypotheses)
    return replace(found, dropped=tuple(dropped))


def _judged(claim: Claim, data: object, constants: Constants) -> Evidence:
    """Return the evidence about one form; a class of somebody's own could say anything of itself."""
    found = claim.judge(data, **constants)
    if type(found) is not Evidence:
        raise TypeError(
            f"a check must return what a method such as judge_inequality returns, got {type(found).__name__}"
        )
    return found


def _reading(claim: Claim, data: object, reading: Reading) -> JudgedReading:
    evidence = _judged(claim, data, reading.constants)
    changes = (reading.mutants or claim.mutants) if evidence.ok else ()
    mutants = zip(changes, _all(claim, data, reading.constants, changes), strict=True)
    return JudgedReading(reading, False, evidence, tuple(mutants))


def _with_correction(found: Judged, claim: Claim, data: object, form: Form) -> Judged:
    correction = _judged(claim, data, form.constants)
    mutants = _all(claim, data, form.constants, form.mutants)
    if not correction.ok:
        return replace(found, correction=correction, correction_mutants=mutants)
    return replace(
        found,
        correction=correction,
        correction_mutants=mutants,
        neighbours=tuple(_neighbours(claim, data, form)),
        strength=_strength(found.printed, correction, form),
    )


def _strength(printed: Evidence, correction: Evidence, form: Form) -> Strength | None:
    """Return what a correction requires: as the lines in common show it, else as its author says."""
    shown = strength(printed.lines, correction.lines)
    return shown if have_common_lines(printed.lines, correction.lines) and shown else form.asks or shown


def _neighbours(claim: Claim, data: object, correction: Form) -> Iterator[Neighbour]:
    """Yield both sides of every number that the correction sets or that varies, if it sets any."""
    if not any(isinstance(value, float | Fraction) for value in correction.constants.values()):
        return
    values = {**claim.printed_constants(), **correction.constants}
    for name in dict.fromkeys((*correction.constants, *claim.vary)):
        value = values[name]
        if isinstance(value, float | Fraction):  # not a sign, a power, a choice
            for other in (value / 2, value * 2) if value else (type(value)(-1), type(value)(1)):
                yield Neighbour(name, other, _outcome(claim, data, {**correction.constants, name: other}))


def _outcome(claim: Claim, data: object, constants: Constants) -> bool | None:
    try:
        return _judged(claim, data, constants).ok
    except UndefinedError:
        return None


def _all(claim: Claim, data: object, base: Constants, changes: Sequence[Constants]) -> tuple[Evidence, ...]:
    return tuple(_judged(claim, data, {**base, **change}) for change in changes)


def obtained_beside(
    evidence: Evidence, stored: Mapping[str, Any] | None = None, replayed: Replayed | None = None
) -> str:
    """Return the obtained value, with a note if its case differs from the stored witness shown next to it.

    Args:
        evidence: Evidence of a form in this run.
        stored: the witness on file, as far as its replay reads it; none for a form that has none, such as a mutant.
        replayed: what its replay came to. One that draws has other numbers than this run; one that is exact and comes
            to other sides is of another case, or compares it in other units.
    """
    own = evidence.witness or {}
    exact = replayed is None or replayed.exact
    same = stored is not None and all(json.dumps(own.get(name)) == json.dumps(stored[name]) for name in stored)
    if same and exact and replayed is not None and evidence.sides and None not in (replayed.left, replayed.right):
        same = np.allclose(sorted(evidence.sides), sorted((replayed.left, replayed.right)), rtol=1e-6, atol=1e-12)
    if same and exact:
        return evidence.obtained
    return evidence.obtained.replace(
        "at the witness", "at the witness, in this run" if same else "at a case of this run"
    )
