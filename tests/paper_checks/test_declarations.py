"""Claims and replays that would vanish, and replays that return what they should not, are reported; others not."""

import ast
import sys
from contextlib import suppress
from itertools import count
from pathlib import Path

import pytest

import paper_checks
from paper_checks.paper import LedgerError, Paper
from paper_checks.replay import ReplayError, Stored, replay_in_fresh_process, replays_of

NUMBERS = count(1)
IMPORTS = """
from dataclasses import replace
from fractions import Fraction

import sympy

from paper_checks.claim import Evidence, claim
from paper_checks.methods.experiments import experiment
from paper_checks.replay import Proof, Violation, proof, replay

fields = {"where": "Section 1", "says": "$1 = 1$", "measure": lambda context: None, "expect": ("holds", "search")}
stored = {"figure": "toy", "where": "Section 1", "says": "It learns.", "why": "It is large."}
"""
JUDGE = "def {}(data, K=1.0):\n    return Evidence(True, 'all')\n"
PROOF = "def {}(K=1):\n    return 'steps'\n"


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Yield a function that writes and names a package with these modules after the imports above."""
    monkeypatch.syspath_prepend(str(tmp_path))
    name = f"declared_{next(NUMBERS)}"
    folder = tmp_path / name
    (folder / "replays").mkdir(parents=True)

    def written(**modules):
        (folder / "__init__.py").write_text("")
        for module in {"theme": "", "replays/__init__": "", "replays/one": "", "replays/two": ""} | modules:
            text = modules.get(module, "").replace("IMPORTS", IMPORTS)
            (folder / f"{module}.py").write_text(text)
        return name

    yield written
    for module in [module for module in sys.modules if module.startswith(name)]:
        del sys.modules[module]


def told(name):
    return [claim.id for claim in Paper("own", "Own", name, ("theme",)).read_theme("theme")[1]]


@pytest.mark.parametrize(
    ("first", "second", "name"),
    [
        (
            f"@claim('own/a', **fields)\n{JUDGE.format('lem')}",
            f"@claim('own/b', **fields)\n{JUDGE.format('lem')}",
            "lem",
        ),
        ("lem = claim('own/a', **fields)(judge)\n", "lem = claim('own/b', **fields)(other)\n", "lem"),
        ("lem = claim('own/a', **fields)(judge)\n", "lem = claim('own/b', **fields)(judge)\n", "lem"),
        ("lem = claim('own/a', **fields)(judge)\n", f"@claim('own/b', **fields)\n{JUDGE.format('lem')}", "lem"),
        (
            "runs = experiment(__name__, 'own/a', **stored)\n",
            "runs = experiment(__name__, 'own/b', **stored)\n",
            "runs",
        ),
        (
            "lem: object = claim('own/a', **fields)(judge)\n",
            "if True:\n    lem = claim('own/b', **fields)(judge)\n",
            "lem",
        ),
        (
            f"@claim('own/a', **fields)\n{JUDGE.format('lem')}",
            f"@claim('own/a', **fields)\n{JUDGE.format('lem')}",
            "lem",
        ),
    ],
)
def test_two_claims_of_one_name_are_an_error_that_names_both(package, first, second, name):
    judges = JUDGE.format("judge") + JUDGE.format("other")
    found = package(theme=f"IMPORTS{judges}{first}{second}")
    ids = ["own/a", "own/b" if "own/b" in second else "own/a"]
    message = rf"^{ids[0]} \({found}.theme, line \d+\) and {ids[1]} \(line \d+\) are both named {name}; rename one"
    with pytest.raises(LedgerError, match=message):
        told(found)


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("lem = claim('own/a', **fields)(judge)\nlem = 5\n", r"own/a .* and \(line \d+\) are both named lem"),
        ("all_of_them = [claim('own/a', **fields)(judge)]\n", "own/a .* is declared without a name"),
        ("for id in 'ab':\n    lem = claim(f'own/{id}', **fields)(judge)\n", "own/a .* declared without a name"),
        ("lem = claim('own/a', **fields)(sympy.expand)\n", "own/a .* has a judge from the module sympy"),
    ],
)
def test_a_claim_that_no_name_keeps_is_an_error(package, statement, message):
    with pytest.raises(LedgerError, match=message):
        told(package(theme=f"IMPORTS{JUDGE.format('judge')}{statement}"))


def test_claims_with_names_of_their_own_are_kept(package):
    statements = (
        "a = claim('own/a', **fields)(judge)",
        "b, c = claim('own/b', **fields)(judge), claim('own/c', **fields)(judge)",
        "a = replace(a, importance='result')",
        "runs = experiment(__name__, 'own/d', **stored)",
        "more = experiment(__name__, 'own/e', **stored)",
    )
    found = package(theme=f"IMPORTS{JUDGE.format('judge')}" + "\n".join(statements))
    assert told(found) == told(found) == ["own/a", "own/b", "own/c", "own/d", "own/e"]


@pytest.mark.parametrize(
    ("one", "two", "message"),
    [
        (
            f"@proof('own/a')\n{PROOF.format('p')}@proof('own/a')\n{PROOF.format('q')}",
            "",
            r"one, line 13, and .*one, line 16",
        ),
        (
            f"@proof('own/a')\n{PROOF.format('p')}",
            f"@proof('own/a')\n{PROOF.format('p')}",
            r"one, line 13, and .*two, line 13",
        ),
        (
            f"@proof('own/a')\n{PROOF.format('p')}@proof('own/b')\n{PROOF.format('p')}",
            "",
            r"own/a .* and own/b \(line 16\)",
        ),
        (
            f"@proof('own/a')\n{PROOF.format('p')}@proof('own/a')\n{PROOF.format('p')}",
            "",
            r"own/a .* and own/a \(line 16\)",
        ),
        (f"@replay('own/a')\n{PROOF.format('p')}@proof('own/a')\n{PROOF.format('p')}", "", "both named p; rename one"),
        (
            "@replay('own/a')\ndef p(values): ...\nq = replay('own/a')(lambda values: 1)\n",
            "",
            "own/a has more than one replay",
        ),
        (
            f"kept = [proof('own/a')({PROOF.format('p').split(':')[0].replace('def p(K=1)', 'lambda K=1: 1')})]\n",
            "",
            "without a name",
        ),
    ],
)
def test_two_proofs_of_one_claim_or_of_one_name_are_an_error(package, one, two, message):
    found = package(**{"replays/one": f"IMPORTS{one}", "replays/two": f"IMPORTS{two}"})
    with pytest.raises(ReplayError, match=message):
        replays_of(found)


def test_a_replay_that_is_imported_is_one(package):
    found = package(
        **{"replays/one": f"IMPORTS@proof('own/a')\n{PROOF.format('p')}", "replays/two": "from .one import p\n"}
    )
    assert list(replays_of(found)) == [("own/a", "certificate")]


BAD = {
    "flaw": "Proof('a flaw', 'steps')",
    "number": "Proof(1, 'steps')",
    "steps": "Proof(True, ['steps'])",
    "nothing": "None",
    "violation": "Violation(1, 0)",
    "loop": "bad_loop.evaluate(values)",
    "error": "1 / 0",
    "symbol": "Proof(sympy.Symbol('x') > 0, 'steps')",
    "words": "Proof(True, 'steps')",
}


def test_a_bad_replay_answers_for_itself_alone(package):
    functions = [
        f"@proof('own/{name}'{', dict(a=object())' if name == 'words' else ''})\n"
        f"def bad_{name}(values):\n    return {value}\n"
        for name, value in BAD.items()
    ]
    good = (
        "@proof('own/sympy', K=sympy.Rational(1, 2), n=sympy.Integer(2))\n"
        "def good(values):\n    return Proof(sympy.true, f\"K = {values['K']}, n = {values['n']}\")\n"
        "@replay('own/seen')\n"
        "def seen(values):\n    return Violation(Fraction(1), 1, strict=sympy.true)\n"
        "@replay('own/unseen')\n"
        "def unseen(values):\n    return Proof(True, 'steps')\n"
    )
    imports = "from fractions import Fraction\nimport sympy\nfrom paper_checks.replay import *\n"
    found = package(**{"replays/one": imports + "".join(functions) + good})
    files = [Stored(f"own/{name}", "certificate", {}) for name in BAD]
    files += [Stored("own/sympy", "certificate", {"K": "1/2", "n": "2"})]
    files += [Stored("own/seen", "witness", {}), Stored("own/unseen", "witness", {})]
    answers = {file.id: answer for file, answer in zip(files, replay_in_fresh_process(found, files), strict=True)}
    assert [id for id, answer in answers.items() if answer.confirmed] == ["own/sympy", "own/seen"]
    assert answers["own/sympy"].detail == "K = 1/2, n = 2"
    assert answers["own/sympy"].proves == {"K": "1/2", "n": "2"}
    assert "True or False, got str 'a flaw'" in answers["own/flaw"].detail
    assert "must return a Violation, got Proof" in answers["own/unseen"].detail
    for id, answer in answers.items():
        of_code = f"an error in the {'proof' if answer.kind == 'certificate' else 'replay'} of {id}: "
        heads = {"own/error": "not a case of this claim: ", "own/words": "the replay of own/words returns a value that"}
        head = heads.get(id, of_code)
        assert answer.confirmed or answer.detail.startswith(head), answer.detail


def test_the_full_budget_is_larger_than_the_quick_one():
    """Each `context.size(quick, full)` whose sizes are written out."""
    sizes = []
    for path in Path(paper_checks.__file__).parent.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)) if ".size(" in text else ():
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "context.size":
                with suppress(ValueError):
                    sizes.append((path.name, *map(ast.literal_eval, node.args)))
    assert len(sizes) > 100
    for name, quick, full in sizes:
        assert quick != full if isinstance(quick, tuple) else quick < full, name
