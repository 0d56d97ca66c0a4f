"""Checks that were written to pass: each is refused, or what it does is on its card."""

import json
import random
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from paper_checks.context import Context
from paper_checks.engine.over_seeds import over_seeds
from paper_checks.ledger import Ledger
from paper_checks.pages.card import card_text, summary_table
from paper_checks.paper import Paper
from paper_checks.run import run

HERE = Path(__file__).parent
WITNESSES = (
    *(f"replay-{name}" for name in ("ends", "imports", "constant", "of-no-case", "of-text", "reads-nothing")),
    "empty-control",
    "idle-correction",
    "always-false",
)
"""Claims with a stored witness, which is x = 2."""
REFUSED = {
    "no-domain": "it passes without a domain",
    "searched-almost": "x = 2 is not searched, although it belongs to (0, 2]",
    "searched-little": "x from 0.001 to 1.4 is a small part of (0, 2] as stated",
    "assumed-away": "the assumption leaves no case at",
    "tried-almost": "x = 2 is not tried",
    "tried-few": "3 cases are tried, fewer than 10",
    "empty": "vacuous: no case",
    "empty-control": "its control is vacuous",
    "own-class": "must return what a method such as judge_inequality returns, got Sure",
    "no-evidence": "must return what a method such as judge_inequality returns, got dict",
    "truthy": "claims.py, line",
    "always-true": "changes nothing",
    "always-false": "its control is violated too",
    "no-mutants": "it has no mutants",
    "mutant-of-a-name": "changes nothing",
    "infinite-mutant": "through an infinite side only",
    "idle-correction": "vacuous correction",
    "best-of-all": "is said to be the best value known",
    "tolerance": "more than rounding",
    "tolerant-relation": "more than rounding",
    "not-a-number": "left sides are not numbers",
    "floats-as-exact": "must not contain floats",
    "first-call": "judged again with the same constants, it comes to something else",
    "used-up": "judged again with the same constants",
    "changed-data": "judged again with the same constants",
    "drawn-in-the-judge": "judged again with the same constants",
    "by-the-clock": "judged again with the same constants",
    "exits": "SystemExit: 0",
    "stops": "Stop: now",
    "deep": "RecursionError",
    "key-error": "KeyError: 1",
    "huge": "no witness is stored",
    "replay-ends": "exited at the witness of attacked/replay-ends",
    "replay-imports": "may not import attacked.claims",
    "replay-constant": "its replay cannot fail",
    "replay-of-no-case": "an assumption is not met: x = 2 <= 1",
    "replay-of-text": "must return a Violation",
    "replay-reads-nothing": "the replay does not use x",
    "proof-declared": "it cannot fail: no step is checked by require",
    "proof-undecided": "must be True or False",
    "proof-of-text": "must be True or False",
    "proof-without-step": "it proves the mutant {'K': 1.98} as well",
    "proof-of-another": "it is one of another statement, with K = 3.0 for 2",
    "proof-of-the-mutant": "it proves the mutant {'K': 1.98} as well",
    "proof-by-error": "an error ends it before a step fails",
    "proof-that-ends": "exited at the certificate of attacked/proof-that-ends",
}
"""Why the check supports nothing, by claim."""
SHOWN = {
    "left-out": "cases of the domain are judged",
    "left-out-of-a-grid": " of the 200 cases of the domain are judged",
    "own-words": "the domain is described in the author's words",
    "settled": "larger ones behave alike",
    "by-hand": "no method of the toolkit made this evidence or counted its cases",
    "proof-by-hand": "no method of the toolkit made this evidence",
    "certified-by-hand": "no method of the toolkit made this evidence",
    "turned-over": "no method of the toolkit made this evidence",
    "more-cases": "no method of the toolkit made this evidence",
    "facts-added": "no method of the toolkit made this evidence",
    "hidden-in-parts": "no method of the toolkit made this evidence",
    "singled-out": "a relative change of",
    "other-print": "x^2 <= 2 x",
    "size": "cases pass only within their error bound",
    "proof-unnamed": "the proof names none of the constants that the mutants change: K",
    "full-by-hand": "recorded by the package's author, not run here",
    "no-such-extra": "needs no_such_extra, not installed",
    "wrong-grade": "on record: holds (proof)",
    "one-variable": "holds (search (one-variable quadratics))",
}
"""Words on the card of a check that passes, by claim."""
STEADY = ("unseeded", "by-the-time", "kept-state")
"""Claims that a second measurement tells something about."""


@pytest.fixture(scope="module")
def ledger(tmp_path_factory):
    """The claims as a package outside of the toolkit."""
    place = tmp_path_factory.mktemp("attacked")
    folder = place / "attacked"
    for part in ("witnesses", "full"):
        (folder / part).mkdir(parents=True)
    (folder / "__init__.py").touch()
    for module in ("claims", "replays"):
        shutil.copy(HERE / f"attacked_{module}.py", folder / f"{module}.py")
    for label in WITNESSES:
        content = {"id": f"attacked/{label}", "values": {"x": 2.0}}
        (folder / "witnesses" / f"attacked--{label}.json").write_text(json.dumps(content))
    stored = {"verdict": "holds", "grade": "proof", "commit": "0000000", "seed": 0}
    (folder / "full" / "attacked--full-by-hand.json").write_text(json.dumps(stored))
    sys.path.append(str(place))
    yield Ledger.of([Paper("attacked", "Attacked", "attacked", ("claims",))])
    sys.path.remove(str(place))


@pytest.fixture(scope="module")
def results(ledger):
    return {result.claim.label: result for result in run(ledger.claims, ledger).results}


def test_every_attack_is_expected_somewhere(results):
    assert set(results) == {*REFUSED, *SHOWN, *STEADY}
    assert len(results) > 60


@pytest.mark.parametrize("label", REFUSED)
def test_a_check_that_supports_nothing_is_refused(results, label):
    decision = results[label].decision
    assert (decision.verdict, decision.grade) == ("not checkable here", None)
    assert REFUSED[label] in decision.defect
    assert REFUSED[label] in " ".join(card_text(results[label]).split())


@pytest.mark.parametrize("label", SHOWN)
def test_what_a_check_does_is_on_its_card(results, label):
    assert SHOWN[label] in " ".join(card_text(results[label]).split())


def test_evidence_by_hand_proves_and_certifies_nothing(results):
    for label in ("proof-by-hand", "certified-by-hand", "facts-added"):
        assert (results[label].decision.verdict, results[label].decision.grade) == ("holds", "search")
        assert not results[label].as_expected


def test_an_error_names_the_innermost_line_of_the_paper(results):
    for label, line in (("key-error", "{}[1]"), ("deep", "return deeper(context)"), ("stops", 'raise Stop("now")')):
        place, _, number = results[label].decision.defect.split(": ")[0].partition(", line ")
        assert place == "attacked/claims.py"
        source = (HERE / "attacked_claims.py").read_text().splitlines()
        assert line in source[int(number) - 1]
        assert line in results[label].decision.traceback


def test_the_table_says_at_once_what_is_wrong(results, ledger):
    found = run([results[label].claim for label in ("key-error", "by-hand")], ledger)
    by_hand, error, _ = summary_table(found).splitlines()[1:]  # what differs comes last
    assert "the check has a defect: attacked/claims.py, line" in error
    assert "KeyError: 1" in error
    assert "see NOTE on its card" in by_hand


def test_draws_without_a_seed_come_from_the_claim_and_the_seed(ledger):
    claims = ledger.select(["attacked/unseeded"])
    first, again, other = (run(claims, ledger, seed=seed) for seed in (3, 3, 4))
    told = [one.results[0].judged.printed.printed for one in (first, again, other)]
    assert told[0] == told[1]
    assert all(a != b for a, b in zip(told[0].split(), told[2].split(), strict=True) if "." in a)
    assert over_seeds(first, again, [other]).results[0].decision == first.results[0].decision


@pytest.mark.parametrize("label", ["by-the-time", "kept-state"])
def test_a_measurement_that_changes_is_seen_at_the_same_seed(label, ledger):
    claims = ledger.select([f"attacked/{label}"])
    first, again = run(claims, ledger), run(claims, ledger)
    assert first.results[0].decision.verdict == "holds"
    found = over_seeds(first, again, []).results[0].decision
    assert "measured again with the same seed, it comes to something else" in found.defect


def test_a_global_generator_goes_on_after_a_check(ledger):
    random.seed(5)
    expected = [random.random() for _ in range(2)]
    random.seed(5)
    first = random.random()
    run(ledger.select(["attacked/unseeded"]), ledger)
    assert [first, random.random()] == expected
    assert Context("a", 1).integer_seed() != Context("a", 2).integer_seed()


class _Ended(BaseException):
    """A request to end, such as the one that a signal makes."""


def _end(context):
    raise _Ended


def test_a_request_to_end_is_no_defect_of_the_check_that_runs(ledger):
    (claim,) = ledger.select(["attacked/key-error"])
    with pytest.raises(_Ended):
        run([replace(claim, measure=_end)], ledger)
