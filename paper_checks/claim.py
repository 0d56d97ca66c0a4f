"""Claims, evidence about them, and how a claim is declared with its check.

A claim measures once and is judged many times: every printed constant, sign, power and index is a keyword default of
its judge, so the printed form, the mutants, the correction, the control and the search for the smallest change
that the check would notice share one measurement.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isfinite
from typing import Any, Literal

from paper_checks.context import BUDGETS, LEVEL, Budget, Context
from paper_checks.engine.lines import STRENGTHS, Lines, Strength
from paper_checks.evaluation import as_bool, note, require_word
from paper_checks.facts import Fact

Verdict = Literal["holds", "corrected", "refuted", "ambiguous", "not checkable here"]
Print = Literal["as meant", "misprint", "unstated", "inconsistent"]
Wording = Literal["as-meant", "as-printed"]
Grade = Literal["kernel", "proof", "certified", "statistical", "search"]
Kind = Literal["statement", "number", "assumption", "definition", "setting", "algorithm", "experiment"]
Importance = Literal["result", "step", "detail"]

VERDICTS: tuple[Verdict, ...] = ("refuted", "corrected", "ambiguous", "not checkable here", "holds")
FAILING: tuple[Verdict, ...] = ("refuted", "corrected", "ambiguous")  # the author's meaning fails, or one of two does
NOT_AS_MEANT: tuple[Verdict, ...] = ("refuted", "corrected")
PRINTS: tuple[Print, ...] = ("as meant", "misprint", "unstated", "inconsistent")
KINDS: tuple[Kind, ...] = ("statement", "number", "assumption", "definition", "setting", "algorithm", "experiment")
IMPORTANCES: tuple[Importance, ...] = ("result", "step", "detail")
NO_CHECK = "no check yet"  # why a stub, a claim of which nobody has written the check, has no verdict
LONGEST_REASON = 140  # characters of the sentence that says why a statement fails
GRADES: tuple[Grade, ...] = ("kernel", "proof", "certified", "statistical", "search")  # strongest first

Constants = Mapping[str, Any]
Measure = Callable[[Context], Any]
Judge = Callable[..., "Evidence"]

_ID = re.compile(r"[a-z0-9-]+/[A-Za-z0-9.-]+")
_METHODS = "paper_checks.methods."
_BETWEEN = (__name__, "dataclasses", "copy")
"""Modules whose frames lie between the statement that makes evidence and its checks."""


@dataclass(frozen=True)
class _Seal:
    """Outcome of evidence as it was made, and the module that made it by hand."""

    by_hand: str
    found: tuple[Any, ...]


@dataclass(frozen=True)
class Evidence:
    """Outcome of one form of a statement on one measurement.

    How sure it is follows from how it was found and is declared nowhere; see ``grade``.

    Attributes:
        ok: True if the form passed on the whole scope, False if it was violated, None if this budget cannot tell;
            nothing else that Python takes for true or false.
        scope: what was covered, in words and numbers, as measured.
        printed: what the form says, in numbers.
        obtained: what was found, in numbers.
        margin: signed distance from failing, in any fixed unit; at most 0 where violated, at least 0 where not.
        slack: least quotient of what the form allows over what was found; 1 is tight, None where it means nothing.
        cases: number of cases that satisfied the assumptions; 0 makes the statement vacuous.
        tight: share of cases within one per cent of equality, where that is meaningful.
        level: probability of a false alarm spent on this form.
        witness: the violating case in plain numbers and strings, ready for storage.
        sides: what was compared there, left and right, where it is two numbers.
        reason: why this budget cannot tell.
        facts: what was shown exactly.
        whole: whether the cases are all that the statement needs: every printed cell, one example of an existence.
        gap: largest difference between a value and its bound that a solver left.
        infinite: whether it is violated through an infinite side only, which no mutant is refuted by.
        lines: what each line of the statement came to, where it has several.
        notes: what a reader must know about how it passes, such as a domain that no method described.
        flaw: why it establishes nothing although it passes; empty if it does.
        certificate: the data of a proof that the measurement found, ready for storage.
        by_hand: the module that made it without a method, or changed what a method found; empty where none did.
            Nobody sets it, nor ``seal``, by which a copy knows what it was.

    Raises:
        TypeError: an outcome, a margin or a count of another type.
        ValueError: a number that is none, or a margin that contradicts the outcome.
    """

    ok: bool | None
    scope: str
    printed: str = ""
    obtained: str = ""
    margin: float = 0.0
    slack: float | None = None
    cases: int = 1
    tight: float | None = None
    level: float = 0.0
    witness: Mapping[str, Any] | None = None
    sides: tuple[float, float] | None = None
    reason: str = ""
    facts: tuple[Fact, ...] = ()
    whole: bool = False
    gap: float | None = None
    infinite: bool = False
    lines: Lines = field(default_factory=dict, repr=False, compare=False)
    notes: tuple[str, ...] = ()
    flaw: str = ""
    certificate: Mapping[str, Any] | None = field(default=None, repr=False, compare=False)
    by_hand: str = field(default="", init=False, repr=False, compare=False)
    seal: _Seal | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        found = (self.ok, self.margin, self.cases, self.level, self.facts, self.whole, self.gap, self.notes, self.flaw)
        if self.seal is None or self.seal.found != found:
            maker = _maker()
            object.__setattr__(self, "seal", _Seal("" if maker.startswith(_METHODS) else maker, found))
        assert self.seal is not None
        object.__setattr__(self, "by_hand", self.seal.by_hand)
        if self.ok is not None and not isinstance(self.ok, bool):
            raise TypeError(f"the outcome must be True, False or None, got {type(self.ok).__name__} {self.ok!r}")
        as_bool(self.whole, "whether the cases are exhaustive")
        as_bool(self.infinite, "whether it is violated through an infinite side")
        if isinstance(self.cases, bool) or not isinstance(self.cases, int) or self.cases < 0:
            raise TypeError(f"the number of cases must be a whole number of at least 0, got {self.cases!r}")
        if not all(isinstance(fact, Fact) for fact in self.facts):
            raise TypeError("facts must come from the functions of paper_checks.facts")
        if not isfinite(self.margin):
            raise ValueError(f"the margin must be a finite number, got {self.margin}")
        if (self.ok and self.margin < 0) or (self.ok is False and self.margin > 0):
            outcome = "passes" if self.ok else "is violated"
            raise ValueError(f"a form that {outcome} has a margin of {self.margin:.3g}: {self.printed} {self.obtained}")
        if not 0 <= self.level <= LEVEL * (1 + 1e-9):
            raise ValueError(f"one claim may spend a level of {LEVEL:g}, but this evidence spends {self.level:g}")

    @property
    def grade(self) -> Grade:
        """Degree of certainty: the weakest link of how it was found.

        An interval of stated level makes it statistical. Facts prove a violation, a statement whose cases are all
        there, and one of them that holds everywhere any statement. A solver that reports its gap certifies. All else
        is search.
        """
        if self.level:
            return "statistical"
        if self.facts and (self.ok is False or self.whole or any(fact.everywhere for fact in self.facts)):
            return "proof"
        return "certified" if self.gap is not None else "search"

    @property
    def shown(self) -> str:
        """Facts that hold for all values of their symbols, in words, where ``obtained`` does not tell them."""
        if not self.ok or "identically 0" in self.obtained:
            return ""
        return "; ".join(dict.fromkeys(fact.says for fact in self.facts if fact.everywhere))

    def with_certificate(self, values: Mapping[str, Any]) -> Evidence:
        """Return the same evidence with the data of a proof, such as multipliers, which `--store` keeps for it.

        Args:
            values: Plain numbers, texts, lists and mappings, as the proof reads them.
        """
        return replace(self, certificate=dict(values))


def made_by(maker: str, evidence: Evidence) -> Evidence:
    """Return evidence that a method joined from parts, as made by the module that made one of them by hand."""
    assert evidence.seal is not None
    object.__setattr__(evidence, "by_hand", maker)
    object.__setattr__(evidence, "seal", _Seal(maker, evidence.seal.found))
    return evidence


def _maker() -> str:
    """Return the name of the module whose statement makes the evidence that is being checked."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__") in _BETWEEN:
        frame = frame.f_back
    return str(frame.f_globals.get("__name__"))


def in_one_line(text: str) -> str:
    r"""Return a statement that is written over several lines of the source with single spaces.

    >>> in_one_line("Let $a$ be\n    positive.")
    'Let $a$ be positive.'
    """
    return " ".join(text.split())


@dataclass(frozen=True)
class Form:
    """Another form of a statement: the constants that make it, and what it says.

    Attributes:
        says: the statement in words and LaTeX (between dollar signs); lines may break anywhere between words.
        constants: keyword arguments for the judge.
        mutants: perturbations of this form that the check must refute.
        asks: what a correction requires compared with the printed form, where the compared sides do not show it:
            "weaker", "stronger" or "neither".

    Raises:
        ValueError: ``asks`` is another word.
    """

    says: str
    constants: Constants
    mutants: tuple[Constants, ...] = ()
    asks: Strength | None = None

    def __post_init__(self) -> None:
        if self.asks is not None:  # what it requires, compared with what is printed
            require_word(f"the form {self.says[:60]!r}", "asks", self.asks, STRENGTHS)
        object.__setattr__(self, "says", in_one_line(self.says))


@dataclass(frozen=True)
class Reading:
    """One precise and complete reading of what is printed, fixed by the text before anything is run.

    Attributes:
        name: what tells it from the others, in a few words.
        says: the whole statement in this reading, in words and LaTeX; empty for the literal one.
        constants: keyword arguments for the judge; none for the first reading, which the judge's defaults are.
        why: what in the paper suggests it: context, definitions in force, later use.
        mutants: perturbations of this reading that the check must refute if it passes; for the first reading they are
            those of the claim.
    """

    name: str
    says: str = ""
    constants: Constants = field(default_factory=dict)
    why: str = ""
    mutants: tuple[Constants, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "says", in_one_line(self.says))

    @property
    def slug(self) -> str:
        """Its name in the ids of its replays and stored files, ``claim@slug``.

        >>> Reading("per step, not per round").slug
        'per-step-not-per-round'
        """
        return "-".join(re.findall("[a-z0-9]+", self.name.lower()))


LITERAL = Reading("literal")
AS_CORRECTED = "as corrected"
"""Name of the correction as the intended reading: a reader makes it without thinking."""


@dataclass(frozen=True)
class Intended:
    """The reading that the author would confirm, decided from the paper's text before anything is run.

    Attributes:
        reading: name of the reading; ``AS_CORRECTED`` for the correction, where the print has a slip.
        why: what in the paper decides it, with the place quoted.
    """

    reading: str
    why: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "why", in_one_line(self.why))


_FIRST = Intended(LITERAL.name, "the paper says so word for word")


@dataclass(frozen=True)
class Best:
    """The best value known of a constant of which a change of 5 % goes unnoticed.

    Attributes:
        value: the constant with which the statement still holds.
        how: how that is known: proved, certified, searched, and by what.
    """

    value: float
    how: str


@dataclass(frozen=True)
class Dropped:
    """A statement without one of its hypotheses.

    Attributes:
        name: the hypothesis, in words or LaTeX.
        constants: keyword arguments for the judge that drop it.
        superfluous: why it is not needed, where that is proved.
    """

    name: str
    constants: Constants = field(default_factory=dict)
    superfluous: str = ""


def constants_of(judge: Callable[..., Any]) -> dict[str, Any]:
    """Return the keyword defaults of a judge."""
    return {one.name: one.default for one in list(inspect.signature(judge).parameters.values())[1:]}


@dataclass(frozen=True)
class Claim:
    """One numbered statement of a paper together with its check.

    Attributes:
        id: stable id, ``paper/label``.
        where: where the paper says it.
        says: what is printed, nothing added and nothing dropped: formulas symbol for symbol, misprints included,
            sentences restated (words, and LaTeX between dollar signs).
        measure: draws or computes everything the judge needs, once.
        judge: turns a measurement and constants into evidence; its defaults are the first reading.
        mutants: perturbations of the first reading that the check must refute if it passes.
        readings: what the print can mean, the literal reading first unless it has no meaning; each is judged.
        intended: the reading that the author means, which decides the verdict; by default the first.
        print: how the intended reading is printed.
        ambiguous: why the author could mean either of two readings; empty unless the text supports both.
        family: instances of the statement that a proof covers, where these are not all.
        vary: constants of the judge whose smallest noticed change is reported: those whose default is a float, unless
            the claim names others. Flags, names, powers and signs that are integers are not constants.
        stands_in: for a constant that moves other lines of the check as well, the lines of the statement in which it
            is printed: what another line notices does not count.
        control: the nearest weakened statement, which must pass the same check if the printed form does not.
        correction: the corrected statement, with its own mutants.
        expect: the verdict on record.
        grade: the grade on record, at the quick budget; None with "not checkable here" only.
        full_grade: the grade on record at the full budget, where it is another one.
        expect_reason: for a recorded "not checkable here", why.
        uses: ids of claims that this one rests on.
        seen_in: ids of figures that show it on real networks or data, in addition to the judged check.
        also: further inventory ids that are literally the same statement.
        kind: what kind of thing is printed.
        importance: whether it is a result of the paper, a step towards one, or a detail.
        because: why it fails, in one plain sentence, where a reading does.
        best: for constants of which a change of 5 % goes unnoticed, the best value known.
        hypotheses: the statement without each of its hypotheses.
        budget: the smallest budget that can decide it.
        needs: extras without which it cannot be checked.
    """

    id: str
    where: str
    says: str
    measure: Measure
    judge: Judge
    mutants: tuple[Constants, ...]
    expect: Verdict
    grade: Grade | None = None
    full_grade: Grade | None = None
    readings: tuple[Reading, ...] = (LITERAL,)
    intended: Intended = _FIRST
    print: Print = "as meant"
    ambiguous: str = ""
    family: str = ""
    vary: tuple[str, ...] = ()
    stands_in: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    control: Form | None = None
    correction: Form | None = None
    expect_reason: str = ""
    uses: tuple[str, ...] = ()
    seen_in: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    kind: Kind = "statement"
    importance: Importance = "step"
    because: str = ""
    best: Mapping[str, Best] = field(default_factory=dict)
    hypotheses: tuple[Dropped, ...] = ()
    budget: Literal["quick", "full"] = "quick"
    needs: tuple[str, ...] = ()
    module: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "says", in_one_line(self.says))
        if not _ID.fullmatch(self.id):
            raise ValueError(f"a claim id must have the form paper/label, got {self.id!r}")
        require_word(self.id, "the verdict of expect", self.expect, VERDICTS)
        allowed = (None,) if self.expect == "not checkable here" else GRADES
        if self.grade not in allowed or self.full_grade not in (None, *allowed):
            needed = f"a grade, one of {', '.join(GRADES)}" if allowed is GRADES else "no grade"
            got = repr(self.grade) if self.grade not in allowed else f"full_grade={self.full_grade!r}"
            raise ValueError(f"{self.id}: expect= with the recorded verdict {self.expect!r} needs {needed}; got {got}")
        require_word(self.id, "kind", self.kind, KINDS)
        require_word(self.id, "importance", self.importance, IMPORTANCES)
        require_word(self.id, "budget", self.budget, BUDGETS)
        if len(self.because) > LONGEST_REASON:
            raise ValueError(
                f"{self.id}: because= has {len(self.because)} characters, but at most {LONGEST_REASON} are allowed"
            )
        self._check_classes()
        self._check_readings()
        self._check_intended()
        known = self.printed_constants()
        forms = [*self.mutants, *(one.constants for one in self.hypotheses)]
        for form in (self.control, self.correction, *self.readings):
            if form is not None:
                forms += [form.constants, *form.mutants]
        for name in {*self.vary, *self.stands_in, *self.best, *(name for constants in forms for name in constants)}:
            if name not in known:
                raise ValueError(f"{self.id}: the judge has no constant {name!r}; it has {', '.join(known) or 'none'}")

    def _check_classes(self) -> None:
        """Check that each field has the class that its name promises."""
        if not isinstance(self.intended, Intended):
            of = "AS_CORRECTED" if self.intended == AS_CORRECTED else repr(self.intended)
            raise ValueError(
                f"{self.id}: intended= needs the reading and what in the paper decides it: "
                f'write Intended({of}, "why"); got {self.intended!r}'
            )
        for name in ("control", "correction"):
            found = getattr(self, name)
            if found is not None and not isinstance(found, Form):
                raise ValueError(f'{self.id}: {name}= must be a Form("statement", {{constants}}); got {found!r}')
        for name, wanted in (("readings", Reading), ("hypotheses", Dropped)):
            found = getattr(self, name)
            if not isinstance(found, tuple | list) or not all(isinstance(one, wanted) for one in found):
                raise ValueError(
                    f"{self.id}: {name}= must be a tuple of {wanted.__name__}, ({wanted.__name__}(...),); got {found!r}"
                )
        if not all(isinstance(one, Best) for one in self.best.values()):
            raise ValueError(f'{self.id}: best= must map constants to Best(value, "how"); got {self.best!r}')
        forms = [("mutants=", self.mutants)]
        forms += [(f"the mutants of {one.name}", one.mutants) for one in self.readings]
        for name in ("control", "correction"):
            if (form := getattr(self, name)) is not None:
                forms.append((f"the mutants of {name}=", form.mutants))
        for name, mutants in forms:
            if isinstance(mutants, Mapping) or not all(isinstance(one, Mapping) for one in mutants):
                raise ValueError(
                    f'{self.id}: {name} must be a tuple of changed constants, ({{"K": 2.0}},); got {mutants!r}'
                )

    def _check_readings(self) -> None:
        slugs = [reading.slug for reading in self.readings]
        if not slugs or not all(slugs) or len(set(slugs)) < len(slugs):
            names = ", ".join(repr(reading.name) for reading in self.readings)
            raise ValueError(
                f"{self.id}: a reading needs a name of letters and digits that no other reading has; "
                f"got {names or 'none'}"
            )
        first, *others = self.readings
        if first.constants or first.mutants:
            raise ValueError(f"{self.id}: the first reading must use the judge's defaults and the mutants of the claim")
        if first.name != LITERAL.name and not (first.says and first.why):
            raise ValueError(
                f"{self.id}: without a literal reading, the first reading must have a statement and a reason"
            )
        for reading in others:
            if not (reading.says and reading.why and reading.constants):
                raise ValueError(f"{self.id}: the reading {reading.name!r} needs a statement, a reason and constants")
            if not reading.mutants and not self.mutants:
                raise ValueError(
                    f"{self.id}: the reading {reading.name!r} needs mutants, which are wrong variants that the check "
                    f"must refute: give them to the reading, Reading(..., mutants=({{...}},)), or to the claim, "
                    f"mutants=[{{...}}]"
                )

    def _check_intended(self) -> None:
        first = self.readings[0]
        if self.intended is _FIRST:
            object.__setattr__(self, "intended", Intended(first.name, first.why or _FIRST.why))
        names = [reading.name for reading in self.readings] + [AS_CORRECTED] * (self.correction is not None)
        if self.intended.reading not in names:
            remedy = "; give correction= too" if self.intended.reading == AS_CORRECTED else ""
            raise ValueError(
                f"{self.id}: the reading of intended= must name one of {', '.join(names)}; "
                f"got {self.intended.reading!r}{remedy}"
            )
        require_word(self.id, "print", self.print, PRINTS)
        if self.intended.reading == AS_CORRECTED and self.print == "as meant":
            raise ValueError(f"{self.id}: intended= is the correction, so print= must say how the print differs")
        if bool(self.ambiguous) != (self.expect == "ambiguous"):
            raise ValueError(
                f"{self.id}: ambiguous= must give a reason if the recorded verdict is ambiguous, and only then"
            )
        if self.ambiguous and len(self.readings) == 1:
            raise ValueError(f"{self.id}: an ambiguous statement needs several readings")

    def expected_grade(self, budget: Budget) -> Grade | None:
        """Return the grade on record at a budget."""
        return self.full_grade or self.grade if budget == "full" else self.grade

    @property
    def paper(self) -> str:
        """The part of the id before the slash: paper and version."""
        return self.id.split("/")[0]

    @property
    def label(self) -> str:
        """The part of the id after the slash."""
        return self.id.split("/")[1]

    @property
    def is_stub(self) -> bool:
        """Whether nobody has written its check yet."""
        return self.expect == "not checkable here" and self.expect_reason == NO_CHECK

    @property
    def meant(self) -> Reading | Form:
        """The form that the author means: a reading, or the correction of a slip."""
        if self.intended.reading == AS_CORRECTED and self.correction is not None:
            return self.correction
        return next(reading for reading in self.readings if reading.name == self.intended.reading)

    @property
    def meaning(self) -> dict[str, str]:
        """The intended statement and its reason, as in the command-line contract."""
        return {"says": self.meant.says or self.says, "why": self.intended.why}

    @property
    def says_how_it_is_meant(self) -> bool:
        """Whether the claim gives a reason for how its author means it, rather than the one that claims have first."""
        return self.intended.why != _FIRST.why

    @property
    def is_plain(self) -> bool:
        """Whether the verdict on record is that it holds as meant, and it is printed so."""
        return self.expect == "holds" and self.print == "as meant"

    def fails(self, form: Wording) -> bool:
        """Return whether the claim on record does not hold as its author means it, or as it is printed.

        A claim that does not hold as meant does not hold as printed either. An ambiguous claim fails as printed, but it
        is open whether it does as meant. A claim that cannot be checked here is not known to fail in either form.
        """
        if form == "as-meant":
            return self.expect in ("corrected", "refuted")
        return self.expect != "not checkable here" and not self.is_plain

    def printed_constants(self) -> dict[str, Any]:
        """Return the constants of the printed form: the keyword defaults of the judge."""
        return constants_of(self.judge)

    def file_ids(self) -> tuple[str, ...]:
        """Return names of replays and stored files of its readings: ``claim`` for the first, then ``claim@reading``."""
        return (self.id, *(f"{self.id}@{reading.slug}" for reading in self.readings[1:]))


def claim(
    id: str,
    *,
    where: str,
    says: str,
    measure: Measure,
    expect: tuple[Verdict, Grade | None],
    mutants: Sequence[Constants] = (),
    vary: tuple[str, ...] | None = None,
    **rest: Any,
) -> Callable[[Judge], Claim]:
    """Declare the decorated judge as the check of one claim.

    The other fields are those of ``Claim``.

    Args:
        id: stable id, ``paper/label``.
        where: where the paper says it.
        says: what is printed.
        measure: draws or computes what the judge needs.
        expect: verdict and grade on record.
        mutants: perturbations that the check must refute.
        vary: the constants that vary, where those are not all of the judge's floats.
        rest: further fields.

    >>> @claim("demo/eq-1", where="eq. 1", says="$1 + 1 = 2$", measure=lambda context: 1 + 1,
    ...        mutants=[{"total": 3}], expect=("holds", "search"))
    ... def eq_1(data, total=2.0):
    ...     return Evidence(data == total, "one sum", margin=-abs(data - total))
    >>> eq_1.paper, eq_1.vary
    ('demo', ('total',))
    """
    if isinstance(expect, str) or not isinstance(expect, tuple | list) or len(expect) != 2:
        raise ValueError(f'{id}: expect= must be a verdict and a grade, such as ("holds", "proof"); got {expect!r}')
    verdict, grade = expect

    def declare(judge: Judge) -> Claim:
        floats = tuple(name for name, value in constants_of(judge).items() if isinstance(value, float))
        found = Claim(
            id=id,
            where=where,
            says=says,
            measure=measure,
            judge=judge,
            mutants=tuple(mutants),
            expect=verdict,
            grade=grade,
            vary=floats if vary is None else vary,
            module=judge.__module__,
            **rest,
        )
        return note(found)

    return declare
