"""The text of a result, shared by the report and the terminal, and the card in the terminal."""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from paper_checks.claim import AS_CORRECTED, KINDS, LITERAL, Claim, Evidence, Grade, Kind, Print, Verdict
from paper_checks.context import SUITE_LEVEL
from paper_checks.engine.judging import obtained_beside
from paper_checks.engine.lines import Strength
from paper_checks.formal.theorems import AS_RECORDED, FormalTheorem, Role
from paper_checks.pages.plain_mathematics import as_ascii, plain_text
from paper_checks.replay import Replayed, Stored
from paper_checks.result import Result, Run, count_stubs, describe_misprint

WIDTH = 100
_LABEL = 13
LONGEST_DEFECT = 240
"""Characters of a defect in the table of a check; the card and the JSON have all of it."""
NOTED = "see NOTE on its card"
STRENGTH_MEANS: Mapping[Strength, str] = {
    "weaker": "weaker: in none of the judged cases does it require more",
    "stronger": "stronger: in none of the judged cases does it require less",
    "neither": "neither weaker nor stronger: it states another equation, or asks for more in some cases and for less "
    "in others",
}
FOUND: Mapping[Kind, tuple[str, str]] = {
    "statement": ("Holds as printed", "Does not hold as printed"),
    "number": (
        "Agrees with the numbers from which it is computed",
        "Disagrees with the numbers from which it is computed",
    ),
    "assumption": (
        "Can be met; nothing that its entry says the paper draws from it fails",
        "Cannot be met, or does not imply what the paper concludes from it",
    ),
    "definition": ("Well posed", "Not well posed as printed"),
    "setting": ("Complete and consistent", "Not complete, or not consistent"),
    "algorithm": ("Runs as printed", "Does not run as printed, or does not do what the paper says"),
    "experiment": ("Shown by runs at the printed scale", "Contradicted by runs at the printed scale"),
}
"""Words for each kind that passes, and for each that fails."""
STATED: tuple[Kind, ...] = ("statement", "number")
"""Kinds that can be true; the counts of statements that hold refer to them."""
OTHERS = "assumptions, definitions, settings, algorithms and experiments"
"""All other kinds, in words."""
VERDICT_MEANS: Mapping[Verdict, str] = {
    "refuted": "fails in the sense that its author intended, with a witness that a second, naive evaluation confirms, "
    "and no statement that serves the same purpose remains; the nearest weaker statement passes the same check.",
    "corrected": "fails in the sense that its author intended, with a witness, but a corrected statement that serves "
    "the same purpose passes the same check.",
    "ambiguous": "has two readings, either of which its author could mean; one holds, the other fails, and both are "
    "shown.",
    "not checkable here": "nothing is said about the statement; the reason is given.",
    "holds": "passes on its whole stated scope in the sense that its author intended, and the same check refutes "
    "deliberately wrong variants (mutants).",
}
"""Definitions of the verdicts, the same in the report, on the pages of findings and on the main page."""
PRINT_MEANS: Mapping[Print, str] = {
    "as meant": "the words and formulas say what the author means.",
    "misprint": "a slip that a reader corrects without thinking, and on which nothing depends.",
    "unstated": "a hypothesis or a definition is missing that the text uses or that the field takes for granted.",
    "inconsistent": "two places of the paper disagree.",
}
"""Definitions of how a statement is printed."""
COUNTED: tuple[Verdict, ...] = ("holds", "corrected", "refuted", "ambiguous", "not checkable here")
"""Verdicts in the order in which counts are printed."""
_VERBS: Mapping[Verdict, tuple[str, str]] = {
    "holds": ("holds", "hold"),
    "corrected": ("is corrected", "are corrected"),
    "refuted": ("is refuted", "are refuted"),
    "ambiguous": ("is ambiguous", "are ambiguous"),
    "not checkable here": ("is not checkable here", "are not checkable here"),
}
"""Verbs for one statement and for several."""
_PRINTED: Mapping[Print, str] = {
    "as meant": "",
    "misprint": "the printed form has a slip",
    "unstated": "the printed form leaves something unstated",
    "inconsistent": "the paper states it in two ways",
}
_FAULTS: Mapping[Print, str] = {
    "misprint": "with a misprint",
    "unstated": "with something unstated",
    "inconsistent": "printed inconsistently",
}
"""Faults of the print as parts of a count."""
_READ = {True: "holds", False: "does not hold", None: "is undecided"}
_ABBREVIATION = re.compile(r"\b(?:[Ee]qs?|Prop|cf)$")


@dataclass(frozen=True)
class Mutant:
    """One perturbation of a form: what was changed, and how the check judged it."""

    changed: str
    evidence: Evidence

    @property
    def caught(self) -> bool:
        """Whether the check refuted it."""
        return self.evidence.ok is False

    @property
    def outcome(self) -> str:
        """Its prediction and the obtained value, in one line."""
        predicts = f"{shorten(self.evidence.printed, 70)}; " if self.evidence.printed else ""
        return f"{predicts}obtained {shorten(obtained_beside(self.evidence), 120)}"


@dataclass(frozen=True)
class JudgedForm:
    """One form of a statement with its evidence.

    Attributes:
        name: name of the form, in plain words.
        says: its statement; empty for the printed form, which the claim states.
        why: for a reading, the passage of the paper that suggests it.
        evidence: the evidence about it.
        mutants: its perturbations, if they were judged.
        compared: for a correction, its requirement compared with the printed form.
        stored: its stored witness, and the outcome of the replay.
    """

    name: str
    says: str
    evidence: Evidence
    mutants: tuple[Mutant, ...] = ()
    compared: str = ""
    why: str = ""
    stored: tuple[Mapping[str, Any], Replayed] | tuple[()] = ()

    @property
    def obtained(self) -> str:
        """The finding in numbers, and where, if not at the witness on file."""
        return obtained_beside(self.evidence, *self.stored)

    @property
    def slack(self) -> float | None:
        """Smallest ratio of the stated bound to the observed value; None if it is violated or has no meaning."""
        return self.evidence.slack if self.evidence.ok else None


def judged_forms(result: Result) -> tuple[JudgedForm, ...]:
    """Return the forms of a claim that were judged: as printed in each reading, corrected, weakened."""
    judged, claim = result.judged, result.claim
    if judged is None:
        return ()
    readings = judged.readings(claim)
    pairs = zip(result.stored, result.replayed, strict=True)
    witnesses = {file.reading: (file.values, answer) for file, answer in pairs if file.kind == "witness"}
    forms = [
        JudgedForm(
            f"reading: {one.reading.name}" if len(readings) > 1 or one.reading.says else "as printed",
            one.reading.says,
            one.evidence,
            tuple(Mutant(constants_text(constants), evidence) for constants, evidence in one.mutants),
            why=one.reading.why,
            stored=witnesses.get(one.key, ()),
        )
        for one in readings
    ]
    if claim.correction is not None and judged.correction is not None:
        told = zip(claim.correction.mutants, judged.correction_mutants, strict=True)
        mutants = tuple(Mutant(constants_text(constants), evidence) for constants, evidence in told)
        compared = STRENGTH_MEANS[judged.strength] if judged.strength else ""
        forms.append(JudgedForm("corrected", claim.correction.says, judged.correction, mutants, compared))
    if claim.control is not None and judged.control is not None:
        forms.append(JudgedForm("weaker statement", claim.control.says, judged.control))
    return tuple(forms)


def other_forms(result: Result) -> tuple[tuple[str, str], ...]:
    """Return names and statements of the corrected and the weakened form, if they affect the verdict."""
    if result.judged is not None:
        forms_told = ((form, f" ({_READ[form.evidence.ok]})") for form in judged_forms(result) if form.says)
        return tuple((f.name + found * f.name.startswith("reading: "), f.says) for f, found in forms_told)
    if result.decision.verdict in ("corrected", "refuted"):  # a stored result
        forms = (("corrected", result.claim.correction), ("weaker statement", result.claim.control))
        return tuple((name, form.says) for name, form in forms if form is not None)
    return ()


def columns(forms: Sequence[JudgedForm]) -> tuple[bool, bool]:
    """Return whether any form has a printed value or a prediction, and whether any has a slack."""
    return any(form.evidence.printed for form in forms), any(form.slack is not None for form in forms)


def constants_text(constants: Mapping[str, Any]) -> str:
    """Return the constants of a form as ``name = value``.

    >>> constants_text({"K": 0.9, "laws": ("a", "b")})
    'K = 0.9, laws = (a, b)'
    """
    return ", ".join(f"{name} = {_plain(value)}" for name, value in constants.items())


def _plain(value: object) -> str:
    if isinstance(value, list | tuple):
        return f"({', '.join(map(_plain, value))})"
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


def headline(result: Result) -> str:
    """Return the verdict as a sentence about the statement, not about its authors."""
    verdict, claim = result.decision.verdict, result.claim
    passes, fails = FOUND[claim.kind]
    if verdict == "holds":
        if claim.print != "as meant":
            return f"{_as_meant(passes)}; {_PRINTED[claim.print]}."
        return f"{passes}." if claim.intended.reading == LITERAL.name else f"{_as_meant(passes)}."
    if verdict == "corrected":
        return f"{_as_meant(fails)}; the corrected statement below passes the same check."
    if verdict == "refuted":
        return _as_meant(fails) + (
            "; the weaker statement below passes the same check." if other_forms(result) else "."
        )
    if verdict == "ambiguous":
        return f"{sentence_case(describe_readings(result))}."
    return "Not checkable here."


def _as_meant(found: str) -> str:
    return found.replace("as printed", "as meant")


def describe_grade(grade: Grade | None, family: str) -> str:
    """Return a grade with the instances that it covers, where these are not all; empty if there is no grade.

    >>> describe_grade("proof", "one-variable quadratics"), describe_grade("search", ""), describe_grade(None, "K = 2")
    ('proof (one-variable quadratics)', 'search', '')
    """
    return f"{grade} ({family})" if grade and family else grade or ""


def describe_verdict(verdict: Verdict, print: Print) -> str:
    """Return a verdict with the fault of the print, if it has one.

    >>> describe_verdict("holds", "misprint"), describe_verdict("corrected", "as meant")
    ('holds, with a misprint', 'corrected')
    """
    return verdict if print == "as meant" else f"{verdict}, {_FAULTS[print]}"


def describe_meaning(claim: Claim) -> str:
    """Return how the author means a statement, and why; empty if it simply holds as printed and reads one way.

    It is also empty for a statement without a verdict, if the claim does not say how it is meant.
    """
    if claim.is_plain and len(claim.readings) == 1:
        return ""
    if claim.expect == "not checkable here" and not claim.says_how_it_is_meant:
        return ""
    named = _name_meaning(claim)
    return f"{named if named.startswith('as ') else f'in the reading {named}'}: {claim.intended.why}"


def _name_meaning(claim: Claim) -> str:
    name = claim.intended.reading
    return {LITERAL.name: "as printed", AS_CORRECTED: "as corrected below"}.get(name, f"“{name}”")


def say_meaning(claim: Claim) -> str:
    """Return `describe_meaning` in two sentences; empty if that is."""
    if not describe_meaning(claim):
        return ""
    named = _name_meaning(claim)
    says = f"The authors mean it {named}." if named.startswith("as ") else f"The intended reading is {named}."
    return end_sentence(f"{says} Evidence: {claim.intended.why}")


def describe_readings(result: Result) -> str:
    """Return in one sentence which readings hold and which do not; for a stored result, that some do."""
    if result.judged is None:
        return "holds under one reading and fails under another"
    readings = result.judged.readings(result.claim)
    parts = {
        f"{words} if read as": " or ".join(f"“{one.reading.name}”" for one in readings if one.evidence.ok is ok)
        for ok, words in _READ.items()
    }
    return ", ".join(f"{words} {names}" for words, names in parts.items() if names)


def describe_hypotheses(result: Result) -> list[str]:
    """Describe each hypothesis that was dropped, and the result without it."""
    told = {True: "needed: a case without it violates the statement", None: "not known to be needed: no case was found"}
    return [f"{one.name}: {told.get(needed) or f'not needed: {one.superfluous}'}" for one, needed in result.hypotheses]


def summary_line(result: Result) -> str:
    """Return the finding in one line, with formulas between dollar signs."""
    claim, decision, evidence = result.claim, result.decision, result.evidence
    if decision.verdict == "corrected" and claim.correction is not None:
        return f"Correction: {first_sentence(claim.correction.says)}"
    if decision.verdict == "not checkable here" or evidence is None:
        return sentence_case(decision.reason)
    if decision.verdict == "ambiguous":
        return sentence_case(describe_readings(result))
    if misprinted := describe_misprint(result):
        return sentence_case(misprinted)
    if decision.verdict == "holds" and claim.because:
        return sentence_case(claim.because)
    if decision.verdict == "refuted":
        return shorten(f"Printed: {evidence.printed}; obtained: {evidence.obtained}", 160)
    return shorten(f"Scope: {evidence.scope}", 160)


def describe_record(result: Result) -> str:
    """Return verdict and grade on record."""
    grade = describe_grade(result.expected_grade, result.claim.family)
    return result.claim.expect + (f" ({grade})" if grade else "")


def mark(result: Result) -> str:
    """Return why a result differs from the record; empty if it does not."""
    if result.as_expected:
        return ""
    return "the check has a defect" if result.decision.defect else f"on record: {describe_record(result)}"


def command(run: Run, result: Result) -> str:
    """Return the command that checks one claim as this run did."""
    budget = "" if run.budget == "quick" else f" --budget {run.budget}"
    return f"rankproof check {result.option}{result.claim.id}{budget}" + (f" --seed {run.seed}" if run.seed else "")


def tally(run: Run) -> str:
    """Return counts by verdict that add up to all claims, and whether all agree with the record."""
    different = sum(not result.as_expected for result in run.results)
    number = len(run.results)
    judged = [result for result in run.results if not result.is_stub]
    told = count_by_kind(
        [(result.claim.kind, result.decision.verdict) for result in judged], [result.claim.print for result in judged]
    ) + count_stubs(number - len(judged), alone=not judged)
    claims = f"{number} claim{'' if number == 1 else 's'}{told}"
    if run.level > SUITE_LEVEL:
        return f"{claims}; the levels spent add up to {run.level:.2g}, above the bound {SUITE_LEVEL:g}"
    stray = f"; stored for no claim: {', '.join(run.of_no_claim)}" if run.of_no_claim else ""
    off = f"{different} {'is' if different == 1 else 'are'} not as recorded"
    return f"{claims}; {off if different else 'every verdict as recorded'}{stray}"


def count_verdicts(verdicts: Iterable[Verdict], prints: Sequence[Print] = ()) -> str:
    """Return the numbers of verdicts as part of a sentence, and of the faults of the print if they are given.

    >>> count_verdicts(["holds", "refuted", "holds", "ambiguous"])
    '2 hold, 1 is refuted, 1 is ambiguous'
    >>> count_verdicts(["holds", "refuted", "holds"], ["as meant", "unstated", "misprint"])
    '2 hold (1 with a misprint), 1 is refuted (1 with something unstated)'
    """
    found = list(verdicts)
    counts = Counter(found)
    told = []
    for verdict in COUNTED:
        if counts[verdict]:
            faults = count_faults([one for of, one in zip(found, prints, strict=False) if of == verdict])
            told.append(f"{counts[verdict]} {verb(verdict, counts[verdict])}" + (f" ({faults})" if faults else ""))
    return ", ".join(told)


def count_faults(prints: Iterable[Print]) -> str:
    """Return the numbers of statements whose print differs from what is meant; empty if none does.

    >>> count_faults(["misprint", "as meant", "inconsistent", "misprint"])
    '2 with a misprint, 1 printed inconsistently'
    """
    counts = Counter(prints)
    return ", ".join(f"{counts[print]} {words}" for print, words in _FAULTS.items() if counts[print])


def verb(verdict: Verdict, number: int) -> str:
    """Return a verdict as a predicate for a number of statements.

    >>> verb("holds", 2), verb("corrected", 1)
    ('hold', 'is corrected')
    """
    return _VERBS[verdict][number != 1]


def count_by_kind(found: Sequence[tuple[Kind, Verdict]], prints: Sequence[Print] = ()) -> str:
    """Return the numbers of verdicts; if there are other kinds, statements and numbers are counted separately.

    Args:
        found: kind and verdict of each entry.
        prints: how each entry is printed, if the faults of the print are to be counted too.

    >>> count_by_kind([("statement", "holds"), ("number", "refuted"), ("setting", "holds")])
    ': 2 statements and numbers (1 holds, 1 is refuted) + 1 setting (1 holds)'
    >>> count_by_kind([("statement", "holds"), ("number", "holds")], ["misprint", "as meant"])
    ': 2 hold (1 with a misprint)'
    """
    how = prints or ["as meant"] * len(found)
    entries = [(kind, verdict, print) for (kind, verdict), print in zip(found, how, strict=True)]
    parts = [[entry for entry in entries if (entry[0] in STATED) == stated] for stated in (True, False)]
    told = [
        (
            describe_kinds([kind for kind, _, _ in part]),
            count_verdicts([verdict for _, verdict, _ in part], [print for _, _, print in part]),
        )
        for part in parts
        if part
    ]
    if len(told) > 1:
        return ": " + " + ".join(f"{kinds} ({counts})" for kinds, counts in told)
    return f": {told[0][1]}" if told else ""


def describe_kinds(kinds: Sequence[Kind]) -> str:
    """Return the number of entries of each kind; statements and numbers, which can be true, count as one kind.

    >>> describe_kinds(["number", "statement", "number"]), describe_kinds(["setting"])
    ('3 statements and numbers', '1 setting')
    """
    stated = len(kinds) > 1 and all(kind in STATED for kind in kinds)
    named = STATED if stated else [kind for kind in KINDS if kind in kinds]
    names = [kind if len(kinds) == 1 else f"{kind}s" for kind in named]
    return f"{len(kinds)} {join_words(names)}"


def join_words(words: Sequence[str]) -> str:
    """Return words as a list in a sentence.

    >>> join_words(["a", "b", "c"]), join_words(["a"])
    ('a, b and c', 'a')
    """
    return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))


def first_sentence(text: str) -> str:
    """Return the text up to the first full stop outside formulas and abbreviations that a blank follows.

    >>> first_sentence("Holds by eq. (5) for $x > 0. 5$ only. More.")
    'Holds by eq. (5) for $x > 0. 5$ only.'
    """
    inside = False
    for i, character in enumerate(text):
        inside ^= character == "$"
        abbreviated = _ABBREVIATION.search(text[:i])
        if character == "." and not inside and not abbreviated and text[i + 1 : i + 2].isspace():
            return text[: i + 1]
    return text


def shorten(text: str, most: int) -> str:
    """Cut a text at a blank to a number of characters, with an ellipsis."""
    return textwrap.shorten(text, most, placeholder=" …")


def sentence_case(text: str) -> str:
    """Return the text with a capital first letter."""
    return text[:1].upper() + text[1:]


def card_text(result: Result, encoding: str = "utf-8") -> str:
    """Return the card of one claim for a terminal of some encoding: plain text of at most 100 columns."""
    claim, decision = result.claim, result.decision
    grade = f" ({describe_grade(decision.grade, claim.family)})" if decision.grade else ""
    lines = [claim.id, "=" * len(claim.id), *entry_lines("where", plain_text(claim.where, encoding))]
    plain = decision.verdict == "not checkable here" or (decision.verdict == "holds" and claim.kind in STATED)
    explained = "" if plain else f". {headline(result)}"
    lines += entry_lines("verdict", f"{decision.verdict}{grade}{explained}")
    lines += entry_lines("grade", describe_record_of_kernel(result))
    lines += entry_lines("read else" if claim.is_plain else "because", plain_text(claim.because, encoding))
    lines += entry_lines("instead", plain_text(_instead(result), encoding))
    if result.finding is not None:
        found = f"{result.finding.headline} ({result.finding.id}, which {result.finding.changes})"
        lines += entry_lines("finding", plain_text(found, encoding))
        lines += entry_lines("advice", plain_text(end_sentence(result.finding.advice), encoding))
    for number, other in enumerate(result.related):
        told = f"{other.id} ({describe_verdict(other.expect, other.print)}): {other.where}"
        lines += entry_lines("" if number else "see also", plain_text(told, encoding))
    lines += entry_lines("NOT AS RECORDED", mark(result))
    lines += entry_lines("reason", plain_text(decision.reason, encoding))
    lines += entry_lines("kind", f"{claim.kind}, {claim.importance}")
    lines += entry_lines("check at", result.source)
    lines += entry_lines("statement", plain_text(claim.says, encoding))
    lines += entry_lines("print", "" if claim.print == "as meant" else f"{claim.print}: {PRINT_MEANS[claim.print]}")
    nothing_decided = decision.verdict == "not checkable here" and not claim.says_how_it_is_meant
    lines += entry_lines("meant", "" if nothing_decided else plain_text(describe_meaning(claim), encoding))
    lines += entry_lines("ambiguous", plain_text(claim.ambiguous, encoding))
    for name, says in other_forms(result) if result.judged is None else ():
        lines += entry_lines(name, plain_text(says, encoding))
    first: dict[str, str] = {}
    for form in judged_forms(result):
        told = first.setdefault(form.evidence.scope, form.name)
        scope = form.evidence.scope if told == form.name else f"that of [{told}]"
        lines += ["", f"[{form.name}]", *_form_lines(form, scope, encoding)]
    lines += [""] if result.judged else []
    for note in result.notes:
        lines += entry_lines("NOTE", note)
    lines += entry_lines("noticed", "; ".join(map(str, result.changes)))
    known = "; ".join(f"{name} = {best.value:g}: {best.how}" for name, best in claim.best.items())
    lines += entry_lines("best known", plain_text(known, encoding))
    for number, hypothesis in enumerate(describe_hypotheses(result)):
        lines += entry_lines("" if number else "hypotheses", plain_text(hypothesis, encoding))
    for file, answer, names in result.distinct_files():
        place = result.replay_place(file)
        lines += entry_lines("of", " and ".join(f"“{name}”" for name in names)) + stored_lines(
            file, answer, encoding, place
        )
        lines += entry_lines("not named", describe_unnamed(result, answer))
    lines += [line for one in result.formal for line in _formal_lines(one)]
    if result.stored:  # in one line, so that it can be copied
        lines.append(f"{'again':{_LABEL}}rankproof replay {result.option}{claim.id}")
    lines += entry_lines("on real data", ", ".join(f"rankproof figure {id}" for id in claim.seen_in))
    lines += entry_lines("also", ", ".join(claim.also)) + entry_lines("uses", ", ".join(claim.uses))
    lines += entry_lines("time", f"{result.seconds:.2f} s")
    return "\n".join(lines) if encoding == "utf-8" else as_ascii("\n".join(lines))


def _instead(result: Result) -> str:
    """Return the first sentence of the statement that replaces one that fails; empty where none does."""
    form = {"corrected": result.claim.correction, "refuted": result.claim.control}.get(result.decision.verdict)
    return first_sentence(form.says) if form is not None else ""


def end_sentence(text: str) -> str:
    """Return a text with a full stop, unless it ends like a sentence."""
    return text if text.endswith((".", "!", "?")) else f"{text}."


def measured_lines(when: datetime, id: str) -> list[str]:
    """Return the lines of a card with the date of its results, and the command that measures them again."""
    again = f"by this code and these packages; `rankproof show --again {id}` measures it again"
    return entry_lines("measured", f"{when:%Y-%m-%d at %H:%M} UTC {again}")


def _form_lines(form: JudgedForm, scope: str, encoding: str) -> Iterator[str]:
    evidence = form.evidence
    yield from entry_lines("states", plain_text(form.says, encoding))
    yield from entry_lines("read so", plain_text(form.why, encoding))
    yield from entry_lines("compared", form.compared)
    yield from entry_lines("printed" if not form.says else "predicted", evidence.printed)
    yield from entry_lines("obtained", form.obtained)
    yield from entry_lines("shown", evidence.shown)
    yield from entry_lines("slack", f"{form.slack:.6g}" if form.slack is not None else "")
    yield from entry_lines("scope", f"{scope}; {cases_text(evidence)}")
    for mutant in form.mutants:
        verb = "caught" if mutant.caught else "NOT CAUGHT"
        yield from entry_lines("mutant", f"{mutant.changed}: {verb}; {mutant.outcome}")


def cases_text(evidence: Evidence) -> str:
    """Describe the number of cases, the fraction near equality, and the level spent."""
    parts = [f"{evidence.cases} case{'' if evidence.cases == 1 else 's'}"]
    if evidence.tight is not None:
        parts.append(f"{evidence.tight:.1%} of them within one per cent of equality")
    if evidence.level:
        parts.append(f"false-alarm probability at most {evidence.level:g}")
    return ", ".join(parts)


def scopes(forms: Sequence[JudgedForm]) -> dict[str, list[str]]:
    """Return scopes with their cases, and the names of the forms judged on each."""
    found: dict[str, list[str]] = {}
    for form in forms:
        found.setdefault(f"{form.evidence.scope} ({cases_text(form.evidence)})", []).append(form.name)
    return found


def stored_lines(file: Stored, answer: Replayed, encoding: str = "utf-8", place: str | None = None) -> list[str]:
    """Return a witness in full, or what a certificate proves, and the outcome of its replay, with file and line."""
    lines: list[str] = []
    given = set(answer.given) | set(answer.proves)
    for name, value in file.values.items():
        if name not in given:
            told = f"{name} = {shorten(_stored_value(value), 400)}"
            lines += entry_lines(file.kind if not lines else "", told + _describe_unit(name, answer, "  "))
    for number, (name, text) in enumerate(answer.given.items()):
        lines += entry_lines("" if number else "set-up", f"{name} = {text}")
    for number, (told, met) in enumerate(answer.assumes):
        lines += entry_lines("" if number else "assumed", told if met else f"NOT MET: {told}")
    proves = ", ".join(
        f"{name} = {_stored_value(value)}{_describe_unit(name, answer)}" for name, value in answer.proves.items()
    )
    lines += entry_lines("proves", f"the established statement, with {proves}" if proves else "")
    outcome = "confirmed" if answer.confirmed else "NOT CONFIRMED"
    lines += entry_lines("replay", plain_text(f"{outcome}: {answer.detail}", encoding))
    return lines + entry_lines("replay at", place or "")


FORMAL_ROLES: Mapping[Role, str] = {
    "proves": "proves the established statement",
    "refutes": "refutes the printed statement",
    "part of": "proves a part of the established statement",
    "best": "proves it with the best constants known",
}
"""Relations of a formal theorem to its claim, in words."""


def describe_formal(theorem: FormalTheorem) -> str:
    """Return what a theorem is to its claim, its constants, and whether the kernel checked these very files."""
    reading = f", read as “{theorem.reading.replace('-', ' ')}”" if theorem.reading else ""
    covers = f" ({theorem.covers})" if theorem.covers else ""
    constants = f", with {constants_text(theorem.constants)}" if theorem.constants else ""
    return f"{theorem.name} {FORMAL_ROLES[theorem.role]}{covers}{reading}{constants}: {theorem.status}"


def describe_record_of_kernel(result: Result) -> str:
    """Return that a grade rests on a record for which only a package's author vouches; empty if none does."""
    counted = [one for one in result.formal if one.outside and one.checked and one.role in ("proves", "refutes")]
    return f"theorems in Coq count as {AS_RECORDED}" if counted and result.decision.grade else ""


def _formal_lines(theorem: FormalTheorem) -> Iterator[str]:
    """Yield the lines of a formal theorem: what it is, its place, and its source as it is written."""
    yield from entry_lines("kernel", describe_formal(theorem))
    imports = f", which imports {', '.join(theorem.imports)}" if theorem.imports else ""
    yield from entry_lines("in Coq", f"{theorem.file}:{theorem.line}{imports}")
    yield from (f"  | {line}" for line in theorem.statement.splitlines())


def _describe_unit(name: str, answer: Replayed, space: str = " ") -> str:
    """Return the meaning of a value or a constant in brackets; empty if its name is enough."""
    return f"{space}({answer.words[name]})" if name in answer.words else ""


def describe_unnamed(result: Result, answer: Replayed) -> str:
    """Return in words that a proof names none of what the mutants change; empty if it names one of the numbers."""
    names = ", ".join(result.unnamed(answer))
    if names:
        return f"the proof names none of the constants that the mutants change: {names}"
    return "the proof names nothing that a mutant changes, so it was tried on none" if answer.tried == 0 else ""


def _stored_value(value: object) -> str:
    """Return a stored value as text: fractions and decimals as written, without quotes."""
    if isinstance(value, list):
        return f"[{', '.join(map(_stored_value, value))}]"
    if isinstance(value, dict):
        return ", ".join(f"{name}: {_stored_value(part)}" for name, part in value.items())
    return str(value)


def entry_lines(label: str, text: str) -> list[str]:
    """Return a label and its wrapped text; empty for an empty text."""
    head = f"{label:{_LABEL}}" if len(label) < _LABEL else f"{label}  "
    if not text:
        return []
    return textwrap.wrap(text, WIDTH, initial_indent=head, subsequent_indent=" " * _LABEL, break_on_hyphens=False)


def summary_rows(run: Run) -> list[tuple[str, str, str, str, str]]:
    """Return id, verdict, grade and seconds of every claim, and a mark if the record differs; these come last."""
    rows = [("claim", "verdict", "grade", "seconds", "")]
    for result in sorted(run.results, key=lambda one: (not one.as_expected, one.is_stub)):
        decision = result.decision
        note = mark(result)
        note += f": {shorten(decision.defect, LONGEST_DEFECT)}" if note and decision.defect else ""
        marked = f"  <-- {note}" if note else "  (excused)" if decision.excused else ""
        marked += f"  ({NOTED})" if result.notes and decision.grade else ""
        marked += f"  ({AS_RECORDED})" if describe_record_of_kernel(result) else ""
        verdict = "not checked yet" if result.is_stub else describe_verdict(decision.verdict, result.claim.print)
        grade = describe_grade(decision.grade, result.claim.family) or "-"
        rows.append((result.claim.id, verdict, grade, f"{result.seconds:.2f}", marked))
    return rows


def summary_table(run: Run) -> str:
    """Return the rows about all claims as aligned lines, and a line of counts."""
    rows = summary_rows(run)
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    lines = [
        f"{row[0]:{widths[0]}}  {row[1]:{widths[1]}}  {row[2]:{widths[2]}}  {row[3]:>{widths[3]}}{row[4]}"
        for row in rows
    ]
    return "\n".join([*lines, tally(run)])
