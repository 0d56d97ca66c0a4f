"""Results of a run of claims: verdict, evidence and replays of each, and the entry of the command-line contract."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from paper_checks.claim import Claim, Dropped, Evidence, Grade
from paper_checks.context import SUITE_LEVEL, Budget
from paper_checks.engine.judging import Judged, obtained_beside
from paper_checks.engine.proved_constants import unnamed_constants
from paper_checks.engine.sensitivity import NoticedChange
from paper_checks.engine.verdict import Decision
from paper_checks.evaluation import as_in_json
from paper_checks.formal.theorems import FormalTheorem
from paper_checks.paper import Finding, Paper
from paper_checks.replay import Replayed, Stored
from paper_checks.replaying.places import check_place

OUTCOME = {True: "holds", False: "does not hold", None: "undecided"}
"""Outcome of a reading, in words."""


BY_HAND = "no method of the toolkit made this evidence or counted its cases: its check did so by hand"
"""Note on evidence that proves nothing by itself."""


@dataclass(frozen=True)
class Result:
    """Everything a run found about one claim.

    Attributes:
        claim: the claim.
        decision: verdict, grade and reason.
        judged: evidence for every form.
        stored: witness and certificate on file, as far as there are some.
        replayed: what the replay of each said.
        changes: smallest noticed changes of the form that passes.
        seconds: time to measure and judge.
        expected_grade: the grade on record at the budget of the run.
        finding: the finding that explains the entry; None where it simply holds.
        replays: the place of the evaluation that replays each stored file, ``file:line``; None where none is written.
        formal: theorems about the claim that a proof assistant's kernel checked, or has to check again.
        option: the option by which a command finds its paper, where it needs one.
        related: the other parts of the same result, whose ids extend its id or are extended by it.
    """

    claim: Claim
    decision: Decision
    judged: Judged | None
    stored: tuple[Stored, ...]
    replayed: tuple[Replayed, ...]
    changes: tuple[NoticedChange, ...]
    seconds: float
    expected_grade: Grade | None
    replays: tuple[str | None, ...] = ()
    finding: Finding | None = None
    formal: tuple[FormalTheorem, ...] = ()
    option: str = ""
    related: tuple[Claim, ...] = ()

    @property
    def is_stub(self) -> bool:
        """Whether nobody has written its check yet."""
        return self.claim.is_stub and self.as_expected

    @property
    def is_outside(self) -> bool:
        """Whether its claim is declared outside of the toolkit, whose tests have not seen it."""
        return not self.claim.module.startswith(f"{__name__.partition('.')[0]}.")

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on how the forms that pass do so, such as evidence by hand or a domain in the author's words.

        Checks of the toolkit have none, because its own tests and reviews cover them.
        """
        if self.judged is None or not self.is_outside:
            return ()
        forms = [one.evidence for one in self.judged.readings(self.claim)]
        forms += [self.judged.correction] if self.judged.correction is not None else []
        by_hand = (f"{BY_HAND} in {form.by_hand}" for form in forms if form.ok and form.by_hand)
        return tuple(dict.fromkeys((*by_hand, *(note for form in forms if form.ok for note in form.notes))))

    @property
    def source(self) -> str:
        """The place of its check, ``file:line`` from the root of the repository."""
        return str(check_place(self.claim))

    def replay_place(self, file: Stored) -> str | None:
        """Return the place of the replay of one of its stored files; None where it is not known."""
        return dict(zip((one.id + one.kind for one in self.stored), self.replays, strict=False)).get(
            file.id + file.kind
        )

    @property
    def as_expected(self) -> bool:
        """Whether verdict and grade are the ones on record and the check sound."""
        found = (self.decision.verdict, self.decision.grade)
        return self.decision.excused or (found == (self.claim.expect, self.expected_grade) and not self.decision.defect)

    @property
    def evidence(self) -> Evidence | None:
        """Evidence for the form that was established; for a withheld verdict, of the printed form."""
        if self.judged is None:
            return None
        stands = self.judged.standing(self.claim) if self.decision.grade else None
        return stands[1] if stands else self.judged.printed

    def as_json(self) -> dict[str, Any]:
        """Return the entry of the command-line contract."""
        evidence, claim, printed = self.evidence, self.claim, self.judged.printed if self.judged else None
        witness = next((dict(file.values) for file in self.stored if file.kind == "witness"), None)
        violated = next((answer for answer in self.replayed if answer.kind == "witness"), None)
        return {
            "id": claim.id,
            "also": list(claim.also),
            "paper": claim.paper,
            "where": claim.where,
            "verdict": self.decision.verdict,
            "grade": self.decision.grade,
            "expected": claim.expect,
            "expected_grade": self.expected_grade,
            "slack": evidence.slack if evidence else None,
            "scope": evidence.scope if evidence else "",
            "sensitivity": "; ".join(map(str, self.changes)) or None,
            "seconds": round(self.seconds, 3),
            "witness": witness,
            "correction": claim.correction.says if claim.correction else None,
            "correction_is": self.judged.strength if self.judged else None,
            "reason": self.decision.reason or "; ".join(self.notes) or None,
            "says": claim.says,
            "kind": claim.kind,
            "importance": claim.importance,
            "intended": claim.meaning,
            "print": claim.print,
            "finding": self.finding.id if self.finding else None,
            "family": claim.family or None,
            "because": claim.because or None,
            "readings": [
                {"name": one.reading.name, "says": one.reading.says or claim.says, "verdict": OUTCOME[one.evidence.ok]}
                for one in (self.judged.readings(claim) if self.judged else ())
            ],
            "constants": self._constants(),
            "hypotheses": [{"name": one.name, "needed": needed} for one, needed in self.hypotheses],
            "printed": printed.printed if printed else None,
            "obtained": obtained_beside(printed, witness, violated) if printed else None,
            "left": violated.left if violated else None,
            "right": violated.right if violated else None,
            "replay": f"rankproof replay {self.option}{claim.id}" if self.stored else None,
            "source": self.source,
            "replay_source": next(filter(None, self.replays), None),
            "proofs": [
                {"reading": answer.reading, "proves": dict(answer.proves), "unnamed": list(self.unnamed(answer))}
                for answer in self.replayed
                if answer.kind == "certificate"
            ],
            "witness_words": dict(violated.words) if violated else {},
            "formal": [one.as_json() for one in self.formal],
        }

    def distinct_files(self) -> list[tuple[Stored, Replayed, list[str]]]:
        """Return stored files with their replays and readings' names; a witness that readings share comes once.

        No names where there is one witness, or the claim was not judged, and none of certificates.
        """
        named = {one.key: one.reading.name for one in self.judged.readings(self.claim)} if self.judged else {}
        found: list[tuple[Stored, Replayed, list[str]]] = []
        for file, answer in zip(self.stored, self.replayed, strict=True):
            names = [named[file.reading]] if file.kind == "witness" and file.reading in named else []
            for other, before, shared in found:
                if (
                    names
                    and shared
                    and (other.values, before) == (file.values, replace(answer, reading=before.reading))
                ):
                    shared += names
                    break
            else:
                found.append((file, answer, names))
        several = sum(file.kind == "witness" for file in self.stored) > 1
        return [(file, answer, names if several else []) for file, answer, names in found]

    def unnamed(self, answer: Replayed) -> tuple[str, ...]:
        """Return the numbers of the check that its mutants change, if a proof of the claim names none of them."""
        if answer.kind != "certificate" or self.judged is None:
            return ()
        printed, fix = self.claim.printed_constants(), self.claim.correction
        for one in self.judged.readings(self.claim):
            if one.key == answer.reading and one.evidence.ok:
                return unnamed_constants(
                    answer, {**printed, **one.reading.constants}, [changed for changed, _ in one.mutants]
                )
        return (
            unnamed_constants(answer, {**printed, **fix.constants}, fix.mutants) if fix and not answer.reading else ()
        )

    @property
    def hypotheses(self) -> tuple[tuple[Dropped, bool | None], ...]:
        """Each hypothesis that was dropped, and whether it is needed; None where nobody knows."""
        dropped = self.judged.dropped if self.judged else ()
        return tuple(
            (one, False if one.superfluous else True if ok is False else None)
            for one, ok in zip(self.claim.hypotheses, dropped, strict=False)
        )

    def _constants(self) -> list[dict[str, Any]]:
        """Return for every constant that varies the smallest relative change that is noticed in all its lines."""
        printed, found = self.claim.printed_constants(), dict[str, dict[str, Any]]()
        for change in self.changes:
            best = self.claim.best.get(change.constant)
            entry = found.setdefault(
                change.constant,
                {
                    "name": change.constant,
                    "printed": as_in_json(printed[change.constant]),
                    "noticed": 0.0,
                    "best": best.value if best else None,
                    "how": best.how if best else None,
                },
            )
            seen = (entry["noticed"], change.relative)
            entry["noticed"] = None if None in seen else max(seen)
        return list(found.values())


@dataclass(frozen=True)
class Run:
    """Results of one run, with the settings that made them, stored files that no claim has, and the papers."""

    results: tuple[Result, ...]
    seed: int
    budget: Budget
    seconds: float = field(compare=False)
    of_no_claim: tuple[str, ...] = ()
    papers: tuple[Paper, ...] = ()

    @property
    def level(self) -> float:
        """Sum of the false-alarm probabilities of all stochastic claims."""
        return sum(r.judged.level for r in self.results if r.judged is not None)

    @property
    def as_expected(self) -> bool:
        """Whether every verdict and grade is the recorded one, within the error budget of the suite."""
        return all(r.as_expected for r in self.results) and self.level <= SUITE_LEVEL and not self.of_no_claim


def count_stubs(number: int, alone: bool = False) -> str:
    """Return the number of claims without a check as the end of a count, or as all of it; empty if there are none.

    >>> count_stubs(2), count_stubs(1, alone=True), count_stubs(0)
    ('; 2 not checked yet', ': 1 not checked yet', '')
    """
    return f"{':' if alone else ';'} {number} not checked yet" if number else ""


def describe_misprint(result: Result) -> str:
    """Return what is false in the print of a number that holds as meant; empty for every other result."""
    claim = result.claim
    if (result.decision.verdict, claim.print, claim.kind) != ("holds", "misprint", "number"):
        return ""
    return f"holds as meant; misprint: {claim.because}" if claim.because else "holds as meant; misprint"
