"""From evidence to verdict: what a claim must show before anything is said about it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from paper_checks.claim import AS_CORRECTED, GRADES, LITERAL, Claim, Constants, Evidence, Form, Grade, Verdict
from paper_checks.engine.judging import Judged, JudgedReading
from paper_checks.engine.lines import refuted_lines
from paper_checks.engine.proved_constants import is_same_constant
from paper_checks.engine.sensitivity import NoticedChange, describe_overstated, describe_unnoticed
from paper_checks.evaluation import as_in_json, plain
from paper_checks.formal.bridge import flaws
from paper_checks.formal.theorems import FormalTheorem, established
from paper_checks.replay import Replayed


@dataclass(frozen=True)
class Decision:
    """Verdict and grade, never merged.

    Attributes:
        verdict: what was found.
        grade: how sure; None where nothing was found.
        reason: why not more can be said, or where a stored result comes from.
        defect: why the check itself cannot be trusted; empty if it can.
        excused: whether a missing extra kept the claim from being checked, which is not a failure.
        traceback: where an error of the check came from, in full; empty if none ended it.
    """

    verdict: Verdict
    grade: Grade | None
    reason: str = ""
    defect: str = ""
    excused: bool = False
    traceback: str = field(default="", repr=False, compare=False)


NO_CERTIFICATE = "no certificate is stored; keep one with --store"
"""Answer for a proof that reads data of which nothing is stored."""


class _DefectError(Exception):
    """Why the check itself cannot be trusted."""


def decide(
    claim: Claim,
    judged: Judged,
    replayed: Sequence[Replayed],
    changes: Sequence[NoticedChange] = (),
    formal: Sequence[FormalTheorem] = (),
) -> Decision:
    """Decide a claim.

    The verdict is about the reading that the author means. Every reading is established: one that passes needs
    assumptions that were met and every mutant refuted, one that fails a stored witness confirmed by replay. The
    statement ``holds`` if the intended reading passes; others may fail, and the claim declares how the print differs.
    If it fails, the statement is ``corrected`` by a correction or another reading that passes, with its own mutants
    refuted, and ``refuted`` if only a weaker control passes. It is ``ambiguous`` where the claim says why the author
    could mean either reading, one passes and one fails. Everything else is withheld, with its reason. A certificate
    proves the established form, a reading or the correction; one that does not verify is a defect. A part of the
    verdict whose theorems a kernel checked, in the files that are there, has the grade ``kernel``.

    Args:
        claim: the claim.
        judged: its forms.
        replayed: the results of its stored witnesses and certificates.
        changes: smallest noticed changes of the established form.
        formal: theorems about the claim in a proof assistant's files.
    """
    readings = judged.readings(claim)
    for one in readings:
        if one.evidence.ok is None:
            return Decision(
                "not checkable here", None, f"{_of(one, readings)}{one.evidence.reason or 'undecided at this budget'}"
            )
    try:
        return _decide(claim, judged, readings, replayed, changes, formal)
    except _DefectError as error:
        return Decision("not checkable here", None, f"defect of the check: {error}", str(error))


def _decide(
    claim: Claim,
    judged: Judged,
    readings: Sequence[JudgedReading],
    replayed: Sequence[Replayed],
    changes: Sequence[NoticedChange],
    formal: Sequence[FormalTheorem],
) -> Decision:
    flaw = next(flaws(claim, formal), "")
    if flaw:
        raise _DefectError(flaw)
    failing = [one for one in readings if not one.evidence.ok]
    correctable = claim.correction is not None  # its certificate is stored as one of the first reading
    refutations = [_grade_refuted(one, readings, replayed, formal, correctable=correctable) for one in failing]
    passing = [_stands(claim, one, readings, replayed, formal) for one in readings if one.evidence.ok]
    if failing and not passing:
        _require_control(claim, judged)
    blind = describe_unnoticed(changes) if judged.standing(claim) is not None else ""
    if blind:
        raise _DefectError(blind if passing else f"correction: {blind}")
    beyond = describe_overstated({name: best.value for name, best in claim.best.items()}, changes)
    if beyond:
        raise _DefectError(beyond)
    for hypothesis, ok in zip(claim.hypotheses, judged.dropped, strict=False):
        if hypothesis.superfluous and ok is False:
            raise _DefectError(f"superfluous is said to be {hypothesis.name}, and a case needs it")
    flaw = next(
        (_of(one, readings) + one.evidence.flaw for one in readings if one.evidence.ok and one.evidence.flaw), ""
    )
    if flaw:
        raise _DefectError(flaw)
    _require_print(claim, judged, readings)
    if not failing:
        return Decision("holds", _weakest(passing))
    fix = claim.correction
    correction = [] if fix is None else [_grade_corrected(claim, judged, fix, replayed, formal)]
    grade = _weakest([*refutations, *passing, *correction])
    if claim.ambiguous and passing:
        return Decision("ambiguous", grade)
    if judged.as_meant(claim):
        return Decision("holds", grade)
    return Decision("corrected" if correction or passing else "refuted", grade)


def _require_print(claim: Claim, judged: Judged, readings: Sequence[JudgedReading]) -> None:
    """Compare what is declared about the print with what the literal reading came to."""
    literal = next((one.evidence.ok for one in readings if one.reading.name == LITERAL.name), None)
    if literal is False and claim.print == "as meant" and judged.as_meant(claim):
        raise _DefectError("it holds as meant and fails as printed: say by print= how")
    if claim.intended.reading == AS_CORRECTED and all(one.evidence.ok for one in readings):
        raise _DefectError(
            "the author is said to mean the correction, but every reading passes: name the one that is meant"
        )
    if literal is True and claim.print == "misprint":
        raise _DefectError("a misprint is declared, but the literal reading passes")


def _weakest(grades: Iterable[Grade]) -> Grade:
    return max(grades, key=GRADES.index)


def _of(one: JudgedReading, readings: Sequence[JudgedReading]) -> str:
    """Return the reading's name, where there are several."""
    return f"{one.reading.name}: " if len(readings) > 1 else ""


def _answer(kind: str, key: str, replayed: Sequence[Replayed]) -> Replayed | None:
    return next((answer for answer in replayed if answer.kind == kind and answer.reading == key), None)


def _grade_refuted(
    one: JudgedReading,
    readings: Sequence[JudgedReading],
    replayed: Sequence[Replayed],
    formal: Sequence[FormalTheorem],
    *,
    correctable: bool,
) -> Grade:
    """Return the grade of a reading's refutation, which has a witness of its own."""
    if _answer("certificate", one.key, replayed) and not (one.first and correctable):
        raise _DefectError(f"{_of(one, readings)}violated, but a certificate of it is stored")
    witness = _answer("witness", one.key, replayed)
    if witness is None:
        raise _DefectError(f"{_of(one, readings)}violated, but no witness is stored; keep one with --store")
    if not witness.confirmed:
        raise _DefectError(f"{_of(one, readings)}violated, but the stored witness does not replay: {witness.detail}")
    if witness.cannot_fail:
        raise _DefectError(f"{_of(one, readings)}violated, but {witness.cannot_fail}")
    if established(formal, "refutes", one.key):
        return "kernel"
    return "proof" if witness.exact else "statistical"


def _stands(
    claim: Claim,
    one: JudgedReading,
    readings: Sequence[JudgedReading],
    replayed: Sequence[Replayed],
    formal: Sequence[FormalTheorem],
) -> Grade:
    """Return the grade of a reading that passes."""
    of = _of(one, readings)
    witness = _answer("witness", one.key, replayed)
    if witness is not None and witness.confirmed:
        raise _DefectError(f"{of}the stored witness still violates the statement, but the check passes")
    certificate = _answer("certificate", one.key, replayed)
    mutants = [mutant for mutant, _ in one.mutants]
    flaw = _flaw(certificate, {**claim.printed_constants(), **one.reading.constants}, mutants)
    if flaw:
        raise _DefectError(of + _describe_flaw("the stored certificate", flaw))
    blind = _blind(claim, one.evidence, one.mutants)
    if blind:
        raise _DefectError(of + blind)
    if established(formal, "proves", one.key):
        return "kernel"
    return "proof" if certificate is not None else one.evidence.grade


def _require_control(claim: Claim, judged: Judged) -> None:
    if claim.control is None and claim.correction is None:
        raise _DefectError("violated, but without a control: a check that fails everything refutes nothing")
    if judged.control is not None and judged.control.ok is None:
        raise _DefectError(f"violated, but its control is undecided: {judged.control.reason}")
    if judged.control is not None and not judged.control.ok:
        raise _DefectError("violated, but its control is violated too: a check that fails everything refutes nothing")
    if judged.control is not None and judged.control.cases == 0:
        raise _DefectError("violated, but its control is vacuous: no case satisfied its assumptions")


def _grade_corrected(
    claim: Claim, judged: Judged, form: Form, replayed: Sequence[Replayed], formal: Sequence[FormalTheorem]
) -> Grade:
    """Return the grade of a correction that passes."""
    correction = judged.correction
    assert correction is not None
    if not correction.ok:
        raise _DefectError(f"violated, and its correction does not pass either: {_shortfall(correction)}")
    blind = _blind(claim, correction, tuple(zip(form.mutants, judged.correction_mutants, strict=True)))
    if blind:
        raise _DefectError(f"correction: {blind}")
    if judged.neighbours and not any(one.ok is False for one in judged.neighbours):
        names = ", ".join(dict.fromkeys(one.constant for one in judged.neighbours))
        raise _DefectError(f"vacuous correction: no half and no double of {names} is refuted")
    certificate = None if judged.printed.ok else _answer("certificate", "", replayed)
    flaw = _flaw(certificate, {**claim.printed_constants(), **form.constants}, form.mutants)
    if flaw:
        raise _DefectError(_describe_flaw("the stored certificate of the correction", flaw))
    if judged.strength is None:
        raise _DefectError(
            "the correction is not compared with what is printed: no sides are, and nothing is stated; say in its "
            'Form what it requires compared with the print: asks="weaker", "stronger" or "neither"'
        )
    if form.asks not in (None, judged.strength):
        raise _DefectError(
            f"the correction is said by asks= to be {form.asks!r}, and the compared sides show {judged.strength!r}: "
            f'write asks="{judged.strength}", or leave asks= out, because the sides show it'
        )
    if correction.flaw:
        raise _DefectError(f"correction: {correction.flaw}")
    if not judged.printed.ok and established(formal, "proves", ""):
        return "kernel"
    return "proof" if certificate is not None else correction.grade


def _describe_flaw(certificate: str, flaw: str) -> str:
    return flaw if flaw == NO_CERTIFICATE else f"{certificate} does not verify: {flaw}"


def _flaw(certificate: Replayed | None, constants: Constants, mutants: Sequence[Constants]) -> str:
    """Say why a certificate does not prove the form with these constants; empty if there is none, or if it does.

    Args:
        certificate: The result of its replay.
        constants: Constants of the form.
        mutants: Mutants of the form, none of which it may prove.
    """
    if certificate is None:
        return ""
    if not certificate.confirmed:
        return certificate.detail
    for name, stated in certificate.proves.items():
        if name in constants and is_same_constant(stated, constants[name]) is False:
            constant = plain(constants[name])
            constant = str(constants[name]) if constant == str(stated) else constant
            return f"it is one of another statement, with {name} = {stated} for {constant}"
    proved = next((mutant for mutant in mutants if as_in_json(mutant) in certificate.proves_too), None)
    if proved is not None:
        return f"it proves the mutant {dict(proved)} as well, which is false: check each step by require"
    for mutant, error in certificate.ended_at:
        if any(as_in_json(one) == mutant for one in mutants):
            return f"at the mutant {dict(mutant)} an error ends it before a step fails, which refutes nothing: {error}"
    return certificate.cannot_fail


def _blind(claim: Claim, passing: Evidence, mutants: Sequence[tuple[Constants, Evidence]]) -> str:
    """Say why a passing form supports nothing; empty if it supports its statement."""
    if passing.cases == 0:
        return "vacuous: no case satisfied the assumptions"
    if not mutants:
        return "it has no mutants, so nothing shows that the check can fail"
    for mutant, evidence in mutants:
        if evidence == passing:
            return f"the mutant {mutant} changes nothing"
        if evidence.ok is not False:
            return f"the check does not notice the mutant {mutant}"
        if evidence.infinite:
            return f"the mutant {mutant} is refuted through an infinite side only"
        lines = {line for name in mutant for line in claim.stands_in.get(name, ())}
        if lines and not lines & refuted_lines(evidence.lines):
            return f"the mutant {mutant} of {', '.join(sorted(lines))} is refuted by another line only"
    return ""


def _shortfall(evidence: Evidence) -> str:
    return evidence.reason or f"{evidence.printed}, obtained {evidence.obtained}"
