"""From evidence to verdict: what a claim must show before anything is said about it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from paper_checks.claim import GRADES, Claim, Constants, Evidence, Form, Grade, Verdict
from paper_checks.lines import Strength, refuted, strength
from paper_checks.methods.sides import UndefinedError
from paper_checks.replay import Replayed
from paper_checks.sensitivity import NoticedChange, unnoticed


@dataclass(frozen=True)
class Neighbour:
    """A correction with one of its constants halved or doubled (or 1 away from 0), and what the check made of it."""

    constant: str
    value: float
    ok: bool | None


@dataclass(frozen=True)
class Judged:
    """All forms of one claim, judged on one measurement.

    Attributes:
        printed: the statement as printed.
        mutants: its mutants, judged only if the printed form passes.
        control: the weakened statement, judged only if the printed form fails.
        correction: the corrected statement, likewise.
        correction_mutants: mutants of the correction.
        neighbours: the correction with each of its numbers on either side; judged only if it passes.
        strength: what a correction that passes asks for, beside what is printed; None where that cannot be told.
    """

    printed: Evidence
    mutants: tuple[Evidence, ...] = ()
    control: Evidence | None = None
    correction: Evidence | None = None
    correction_mutants: tuple[Evidence, ...] = ()
    neighbours: tuple[Neighbour, ...] = ()
    strength: Strength | None = None

    @property
    def level(self) -> float:
        """Probability of a false alarm spent on the verdict: the forms that carry it share one measurement."""
        forms = [self.printed, self.control, self.correction]
        return max(form.level for form in forms if form is not None)

    def without_sides(self) -> Judged:
        """The same without the numbers that the lines compare, which are large and needed no more."""
        return replace(
            self, printed=_bare(self.printed), mutants=tuple(map(_bare, self.mutants)),
            control=self.control and _bare(self.control), correction=self.correction and _bare(self.correction),
            correction_mutants=tuple(map(_bare, self.correction_mutants)),
        )  # fmt: skip


def _bare(evidence: Evidence) -> Evidence:
    return replace(evidence, lines={name: line.bare() for name, line in evidence.lines.items()})


@dataclass(frozen=True)
class Decision:
    """Verdict and grade, never merged.

    Attributes:
        verdict: what was found.
        grade: how sure; None where nothing was found.
        reason: why not more can be said, or where a stored result comes from.
        defect: why the check itself cannot be trusted; empty if it can.
        excused: whether a missing extra kept the claim from being checked, which is no failure.
    """

    verdict: Verdict
    grade: Grade | None
    reason: str = ""
    defect: str = ""
    excused: bool = False


def judge(claim: Claim, data: object) -> Judged:
    """Judges the forms of a claim that the verdict needs."""
    printed = claim.judge(data)
    if printed.ok is None:
        return Judged(printed)
    if printed.ok:
        return Judged(printed, mutants=_judge_all(claim, data, {}, claim.mutants))
    control = claim.judge(data, **claim.control.constants) if claim.control else None
    if claim.correction is None:
        return Judged(printed, control=control)
    constants = claim.correction.constants
    correction = claim.judge(data, **constants)
    return Judged(
        printed,
        control=control,
        correction=correction,
        correction_mutants=_judge_all(claim, data, constants, claim.correction.mutants),
        neighbours=tuple(_neighbours(claim, data, claim.correction)) if correction.ok else (),
        strength=_strength(printed, correction, claim.correction) if correction.ok else None,
    )


def _neighbours(claim: Claim, data: object, correction: Form) -> Iterator[Neighbour]:
    """Both sides of every number that the correction sets or that varies, if it sets any."""
    if not any(isinstance(value, float) for value in correction.constants.values()):
        return
    values = {**claim.printed_constants(), **correction.constants}
    for name in dict.fromkeys((*correction.constants, *claim.vary)):
        value = values[name]
        if not isinstance(value, float):  # a sign, a power, a choice
            continue
        for other in (value / 2, value * 2) if value else (-1.0, 1.0):
            try:
                ok = claim.judge(data, **{**correction.constants, name: other}).ok
            except UndefinedError:
                ok = None
            yield Neighbour(name, other, ok)


def _strength(printed: Evidence, correction: Evidence, form: Form) -> Strength | None:
    """As the check finds it, else as it is stated."""
    return strength(printed.lines, correction.lines) or form.asks


def _judge_all(claim: Claim, data: object, base: object, mutants: Sequence[object]) -> tuple[Evidence, ...]:
    return tuple(claim.judge(data, **{**base, **mutant}) for mutant in mutants)  # type: ignore[dict-item]


def decide(
    claim: Claim, judged: Judged, replayed: Sequence[Replayed], changes: Mapping[Verdict, Sequence[NoticedChange]] = {}
) -> Decision:
    """Decides a claim.

    ``holds`` needs a passing printed form, assumptions that were met, and every mutant refuted. ``refuted`` needs a
    violated printed form, a stored witness confirmed by replay, and a control that passes. ``corrected`` needs both:
    a refutation, and a correction that passes with its own mutants refuted. Everything else is withheld, with reason.
    A certificate proves what stands, the printed form or the correction; one that does not verify is a defect.
    """
    printed = judged.printed
    witness = next((answer for answer in replayed if answer.kind == "witness"), None)
    certificate = next((answer for answer in replayed if answer.kind == "certificate"), None)
    if printed.ok is None:
        return Decision("not checkable here", None, printed.reason or "undecided at this budget")
    if printed.ok:
        if witness is not None and witness.confirmed:
            return _defect("the stored witness still violates the statement, but the check passes")
        flaw = _flaw(certificate, claim.printed_constants())
        if flaw:
            return _defect(f"the stored certificate does not verify: {flaw}")
        blind = _blind(claim, printed, judged.mutants, claim.mutants) or unnoticed(changes.get("holds", ()))
        if blind:
            return _defect(blind)
        return Decision("holds", "proof" if certificate is not None else printed.grade)
    if witness is None:
        return _defect("violated, but no witness is stored; keep one with --store")
    if not witness.confirmed:
        return _defect(f"violated, but the stored witness does not replay: {witness.detail}")
    if claim.control is None and claim.correction is None:
        return _defect("violated, but there is no control: a check that fails everything refutes nothing")
    if judged.control is not None and judged.control.ok is None:
        return _defect(f"violated, but its control is undecided: {judged.control.reason}")
    if judged.control is not None and not judged.control.ok:
        return _defect("violated, but its control is violated too: a check that fails everything refutes nothing")
    refutation: Grade = "proof" if witness.exact else "statistical"
    if claim.correction is None:
        return Decision("refuted", refutation)
    assert judged.correction is not None
    if not judged.correction.ok:
        return _defect(f"violated, and its correction does not pass either: {_shortfall(judged.correction)}")
    blind = _blind(claim, judged.correction, judged.correction_mutants, claim.correction.mutants) or unnoticed(
        changes.get("corrected", ())
    )
    if blind:
        return _defect(f"correction: {blind}")
    if judged.neighbours and not any(one.ok is False for one in judged.neighbours):
        names = ", ".join(dict.fromkeys(one.constant for one in judged.neighbours))
        return _defect(f"vacuous correction: no half and no double of {names} is refuted")
    flaw = _flaw(certificate, {**claim.printed_constants(), **claim.correction.constants})
    if flaw:
        return _defect(f"the stored certificate of the correction does not verify: {flaw}")
    if judged.strength is None:
        return _defect("the correction is not compared with what is printed: no sides are, and nothing is stated")
    established: Grade = "proof" if certificate is not None else judged.correction.grade
    return Decision("corrected", max(refutation, established, key=GRADES.index))


def _flaw(certificate: Replayed | None, constants: Constants) -> str:
    """Why a certificate does not prove the form with these constants; empty if there is none, or if it does."""
    if certificate is None:
        return ""
    if not certificate.confirmed:
        return certificate.detail
    for name, stated in certificate.proves.items():
        if not isinstance(stated, str) or not isinstance(constants.get(name), int | float):
            continue
        digits, number = len(stated.partition(".")[2]), Fraction(stated)
        # A constant without end is on file with four digits or more, rounded towards the proof.
        room = Fraction(1, 10**digits) if digits >= 4 else abs(number) / 10**12
        if abs(number - Fraction(constants[name])) > room:
            return f"it is one of another statement, with {name} = {stated} for {constants[name]:g}"
    return ""


def final_form(claim: Claim, decision: Decision) -> Form | None:
    """The form whose slack and sensitivity the report shows; None where nothing was established."""
    if decision.verdict == "holds":
        return Form(claim.says, {})
    if decision.verdict == "corrected":
        return claim.correction
    return claim.control if decision.verdict == "refuted" else None


def _blind(claim: Claim, passing: Evidence, mutants: Sequence[Evidence], constants: Sequence[Constants]) -> str:
    """Why a passing form supports nothing, or an empty text."""
    if passing.cases == 0:
        return "vacuous: no case satisfied the assumptions"
    if not mutants:
        return "it has no mutants, so nothing shows that the check can fail"
    for evidence, mutant in zip(mutants, constants, strict=True):
        if evidence == passing:
            return f"the mutant {mutant} changes nothing"
        if evidence.ok is not False:
            return f"the check does not notice the mutant {mutant}"
        if evidence.infinite:
            return f"the mutant {mutant} is refuted through an infinite side only"
        lines = {line for name in mutant for line in claim.stands_in.get(name, ())}
        if lines and not lines & refuted(evidence.lines):
            return f"the mutant {mutant} of {', '.join(sorted(lines))} is refuted by another line only"
    return ""


def _shortfall(evidence: Evidence) -> str:
    return evidence.reason or f"{evidence.printed}, obtained {evidence.obtained}"


def _defect(text: str) -> Decision:
    return Decision("not checkable here", None, f"defect of the check: {text}", text)
