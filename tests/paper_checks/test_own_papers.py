"""Papers in addition to the toolkit's: every command knows them, and reports an error in one in a line."""

import json
import re
import subprocess
import sys
from importlib.metadata import EntryPoint
from itertools import count
from pathlib import Path
from shutil import copytree, rmtree

import pytest

import rankproof
from paper_checks import own_papers as loading
from paper_checks.formal.theorems import Sources
from paper_checks.ledger import PAPERS, Ledger, LedgerError
from paper_checks.new_paper import EXAMPLES, write_paper
from paper_checks.own_papers import own_papers, pages_of
from paper_checks.your_paper.paper import PAPER as EXAMPLE

ROOT = Path(rankproof.__file__).parent
NUMBERS = count(1)
OUTCOMES = {
    "lem-1": ("holds", "search"),
    "lem-2": ("corrected", "proof"),
    "eq-1": ("holds", "proof"),
    "lem-3": ("holds", "statistical"),
    "lem-4": ("holds", "statistical"),
    "thm-1": ("holds", "statistical"),
    "alg-1": ("holds", "search"),
    "eq-2": ("holds", "proof"),
    "table-1": ("holds", "proof"),
    "fig-1": ("not checkable here", None),
}
"""Verdict and grade of each claim of the example."""
COUNTED = (
    "10 claims: 8 statements and numbers (7 hold, 1 is corrected) + 2 algorithms and experiments (1 holds, 1 is not "
    "checkable here)"
)
SECOND = """@claim(
    __package__.replace("_", "-") + "/lem-9", where="", says="", measure=measure_pairs, mutants=(),
    expect=("holds", "search"),
)
def lem_2(pairs: Searched) -> Evidence:
    return judge_sums(pairs, 1.0, 1.0)


@claim(
"""


@pytest.fixture(autouse=True)
def _import_path(monkeypatch):
    """Forget what is imported by name here, and restore the path."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    before = set(sys.modules)
    yield
    _forget(before)


def _forget(kept):
    """Forget what was imported from papers here, but for the modules to keep."""
    for name in set(sys.modules) - kept:
        if name.startswith("own_"):
            del sys.modules[name]


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """Return the folder of a new paper, as the command writes it."""
    place, before = tmp_path_factory.mktemp("written"), set(sys.modules)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        patch.setattr(sys, "path", [*sys.path])
        assert rankproof.main(["new-paper", "own-0"]) == 0
    _forget(before)
    return place / "own-0"


@pytest.fixture
def project(written, tmp_path, monkeypatch):
    """Return name and folder of a new paper that is not yet imported: the same under a name that no other test has."""
    monkeypatch.chdir(tmp_path)
    name = f"own-{next(NUMBERS)}"
    for file in (path for path in written.rglob("*") if path.suffix in (".py", ".json", ".md", ".toml")):
        place = tmp_path / name / _renamed(str(file.relative_to(written)), name)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(_renamed(file.read_text(), name))
    return name, tmp_path / name


def _renamed(text, name):
    return text.replace("own-0", name).replace("own_0", name.replace("-", "_"))


def _env():
    return {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "PATH": ""}


def run(capsys, *arguments):
    """Return the status, standard output and standard error of one command."""
    status = rankproof.main(arguments)
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def assert_refused(answer, *parts):
    status, out, err = answer
    assert status == 2
    assert out == ""
    assert err.startswith("rankproof: ")
    assert err.count("\n") == 1, err
    for part in parts:
        assert part in err


def changed(project, file, before, after):
    """Return the same project with one passage changed."""
    name, folder = project
    path = folder / name.replace("-", "_") / file
    text = path.read_text()
    assert before in text
    path.write_text(text.replace(before, after))
    return str(folder)


def test_a_new_paper_is_checked_shown_replayed_and_told(project, capsys, tmp_path):
    name, folder = project
    named = ("--papers", str(folder))
    status, out, err = run(capsys, "check", *named, f"{name}/", "--jobs", "1", "--json", "-")
    assert status == 0, err
    found = {entry["id"]: (entry["verdict"], entry["grade"]) for entry in json.loads(out)["claims"]}
    assert found == {f"{name}/{label}": outcome for label, outcome in OUTCOMES.items()}
    status, out, _ = run(capsys, "claims", *named, "--paper", name)
    assert (status, out.splitlines()[-1]) == (0, COUNTED)
    status, out, _ = run(capsys, "show", f"{name}/lem-2", *named)
    assert status == 0
    assert "The product 2ab is missing" in out
    status, out, _ = run(capsys, "replay", *named, "--paper", name)
    assert (status, out.count("confirmed")) == (0, 3)
    status, out, _ = run(capsys, "replay", *named, f"{name}/lem-2", "--script")
    assert status == 0
    alone = subprocess.run([sys.executable, "-I", "-"], input=out, capture_output=True, text=True, check=True)
    assert "violates the statement" in alone.stdout
    status, out, _ = run(capsys, "pages", *named, "--out", str(tmp_path / "again"))
    assert status == 0
    page = (tmp_path / "again" / f"{name}-findings.md").read_text()
    assert f"- [{name}/lem-2](#{name}lem-2) (corrected): The product 2ab is missing" in page
    assert "Every claim holds as printed" not in page
    for path in map(Path, out.split()):
        assert path.read_text() == (folder / "docs" / path.relative_to(tmp_path / "again")).read_text()
    status, out, _ = run(
        capsys, "report", *named, "--paper", name, "--no-figures", "--jobs", "1", "--out", str(tmp_path / "report")
    )
    assert status == 0
    front, own = ((tmp_path / "report" / file).read_text() for file in ("index.html", f"paper-{name}.html"))
    page = front + own
    assert "The claims of Example, checked" in front
    assert f"rankproof check --papers {folder} {name}/lem-2" in own
    assert f"<code>rankproof check --papers {folder}</code>" in front
    assert "Ten Statements about Sums of Updates" in page
    assert "The square of a sum is at most twice" in page
    assert page.count("= (a - b)^2") or "a square." in page
    assert "Own papers sha256" in page


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sides", "passes"),
    [("1 + a**2, -(b**2)", True), ("1 + 0 * a, 0 * b", False)],  # a counterexample at all values; one that reads none
)
def test_the_tests_of_a_new_paper_ask_whether_a_replay_can_fail_as_check_does(project, capsys, sides, passes):
    name, folder = project
    changed(project, "replays/lem_2.py", "Violation((a + b) ** 2, a**2 + b**2", f"Violation({sides}")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(folder), str(folder)]
    where = {"cwd": folder, "env": {**_env(), "PYTHONPATH": f"{folder}:{_env()['PYTHONPATH']}"}}
    done = subprocess.run([*command, "-k", "replay"], capture_output=True, text=True, check=False, **where)
    assert (done.returncode == 0) == passes, done.stdout
    assert ("its replay cannot fail: it comes to the same with" in done.stdout) != passes
    status, _, _ = run(capsys, "check", f"{name}/lem-2", "--papers", str(folder), "--jobs", "1")
    assert (status == 0) == passes


@pytest.mark.slow
def test_the_tests_of_a_new_paper_pass_and_notice_a_changed_verdict(project):
    _, folder = project
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(folder), str(folder)]
    where = {"cwd": folder, "env": {**_env(), "PYTHONPATH": f"{folder}:{_env()['PYTHONPATH']}"}}
    done = subprocess.run(command, capture_output=True, text=True, check=False, **where)
    assert done.returncode == 0, done.stdout
    changed(project, "measurements/pairs.py", "Fraction(K)", "Fraction(K) * 2")
    done = subprocess.run([*command, "-k", "lem-2"], capture_output=True, text=True, check=False, **where)
    assert done.returncode == 1
    assert "test_the_verdict_is_the_recorded_one" in done.stdout


def test_workers_find_a_paper_that_is_named(project, capsys):
    name, folder = project
    status, out, _ = run(
        capsys, "check", "--papers", str(folder), f"{name}/lem-1", f"{name}/eq-1", "--jobs", "2", "--json", "-"
    )
    assert (status, [entry["verdict"] for entry in json.loads(out)["claims"]]) == (0, ["holds", "holds"])


def test_a_check_that_ends_the_process_is_a_defect_and_no_success(project, capsys):
    name, _ = project
    folder = changed(project, "measurements/pairs.py", "    axes = [", "    raise SystemExit(0)\n    axes = [")
    status, out, _ = run(capsys, "check", "--papers", folder, f"{name}/lem-1", "--jobs", "1")
    assert status == 1
    assert "not as recorded" in out


def test_a_new_paper_takes_no_name_and_no_folder_that_is_in_use(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "kept").write_text("ours")
    for name, part in (
        ("rolora", "already used by the paper rolora"),
        ("fedlrt-2", "already used by the paper fedlrt"),
        ("My Paper", "lower-case letters"),
        ("class", "another meaning in Python"),
        ("numpy", "another meaning in Python"),
        ("../x", "lower-case letters"),
        ("1", "lower-case letters"),
        ("rmt", "another meaning in Python"),
    ):
        assert_refused(run(capsys, "new-paper", name), part)
    assert_refused(run(capsys, "new-paper", "own-of-no-folder", "--out", "full"), "not empty")
    assert_refused(run(capsys, "new-paper", "own-of-no-folder", "--out", "full/kept"), "kept")
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["full", "kept"]


@pytest.mark.parametrize("name", ["own--b", "own-", "own-b-", "Own", "9own", "own_b"])
def test_two_hyphens_end_a_name(tmp_path, capsys, name):  # pages of `own` would replace proofs of `own--b`
    refused = run(capsys, "new-paper", name, "--out", str(tmp_path / "new"))
    assert_refused(refused, f"'{name}' is not a valid name for a paper: use lower-case letters and digits, starting")
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    ("file", "before", "after", "part"),
    [
        ("paper.py", "PAPER = Paper(", "PAPERS = Paper(", "has no PAPER"),
        ("paper.py", "PAPER = Paper(", "PAPER = Paper(1 / 0,", "paper.py, line 10: ZeroDivisionError"),
        ("paper.py", "PAPER = Paper(", "PAPER = Paper((", "SyntaxError"),
        ("paper.py", "PAPER = Paper(", "raise SystemExit(0)\nPAPER = Paper(", "SystemExit"),
        ("paper.py", "__package__", "'elsewhere'", "write __package__"),
        ("paper.py", '("lem_1", ', '("lem_9", ', "does not contain the theme lem_9.py"),
        ("paper.py", "RESULTS,\n    (", '"lem_1",\n    (', "a tuple of module names"),
        ("paper.py", 'cited="', 'link="javascript:0", cited="', "a web address"),
        ("paper.py", '-findings"', '/../../x"', "names of its pages"),
        ("paper.py", "lem-2", "lem-9", "which the page does not contain"),
        ("paper.py", 'called="Example"', 'together=((lambda: 0,),), called="Example"', "cannot be loaded"),
        ("lem_1.py", "/lem-1", "", "a claim id must have the form paper/label"),
        ("lem_1.py", "/lem-1", "/lem-2", "is declared twice"),
        ("lem_2.py", '/lem-1",)', '/lem-9",)', "which no paper declares"),
        ("lem_1.py", '    "own-', '    "x-', "ids of this paper must begin with own-"),
        (
            "measurements/pairs.py",
            "import numpy as np",
            "import no_such_package",
            "pairs.py, line 8: ModuleNotFoundError",
        ),
        ("lem_1.py", "@claim(", "@print(", "cannot be loaded"),
        ("replays/lem_2.py", "import sympy", "import no_such_package", "lem_2.py, line 7: ModuleNotFoundError"),
        ("replays/lem_2.py", "@replay(", "@(lambda id: replay(5))(", "an id in quotes"),
        ("lem_2.py", 'where="Section 2, Lemma 2"', "where=None", "says and where must be text"),
        ("lem_2.py", '/lem-1",)', '/lem-1")', "uses a tuple of ids"),
        ("lem_2.py", '("corrected", "proof")', '("wrong", "proof")', "the verdict of expect= must be one of"),
        ("paper.py", 'called="Example"', "called=5", "must be text"),
        ("lem_2.py", "@claim(\n", SECOND, "are both named lem_2; rename one"),
        ("lem_2.py", "@claim(", "@(lambda judge: [judge])\n@claim(", "is declared without a name"),
        ("replays/lem_2.py", "def lem_2_corrected(", "def lem_2(", "are both named lem_2; rename one"),
    ],
)
def test_a_broken_paper_is_told_in_one_line(project, capsys, file, before, after, part):
    folder = changed(project, file, before, after)
    assert_refused(run(capsys, "claims", "--papers", folder), part)


@pytest.mark.parametrize("ends", ["raise SystemExit(0)", "import os; os._exit(0)"])
def test_a_replay_that_ends_its_process_confirms_nothing(project, capsys, ends):
    name, _ = project
    folder = changed(project, "replays/lem_2.py", "    a, b = Fraction", f"    if True: {ends}\n    a, b = Fraction")
    assert_refused(run(capsys, "replay", "--papers", folder, f"{name}/lem-2"), f"exited at the witness of {name}")


SQUARE = '    require(sympy.expand(difference - (a - b) ** 2) == 0, "the difference of the sides")'
PAIR = """    a, b = Fraction(values["a"]), Fraction(values["b"])
    return Violation((a + b) ** 2, a**2 + b**2,"""


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        (SQUARE, "", "it proves the mutant {'K': 1.98} as well, which is false: check each step by require"),
        (SQUARE, '    require(K >= 1, "K")', "it proves the mutant {'K': 1.98} as well, which is false"),
        (SQUARE, '    require(K == 2, "K")', ""),
        ("(K: Fraction = Fraction(2)) -> str:", "(L: int = 2) -> str:\n    K = L", ""),
        (PAIR, '    values["a"], values["b"]\n    return Violation(4, 2,', "its replay cannot fail"),
        (
            PAIR,
            '    {1.0: 1}[values["a"]], (1,).index(values["b"])\n    return Violation(4, 2,',
            "its replay cannot fail",
        ),
        (
            SQUARE,
            "    from paper_checks.replay import FlawError\n    if K != 2: raise FlawError('K')",
            "it cannot fail: no step is checked by require",
        ),
        (SQUARE, "    for _ in range(int(K) if K == 2 else K): pass", "an error ends it before a step fails"),
        (SQUARE, '    require(sum(range(K)) == 1 if K != 2 else True, "K")', "{'K': 1.98} an error ends it"),
        (SQUARE, '    require(True if K == 2 else sympy.Symbol("x") > 0, "K")', "{'K': 1.98} an error ends it"),
    ],
)
def test_a_proof_that_cannot_fail_proves_nothing(project, capsys, before, after, told):
    name, folder = project
    folder = changed(project, "replays/lem_2.py", before, after)
    status, out, err = run(capsys, "check", f"{name}/lem-2", "--papers", folder, "--jobs", "1", "--json", "-")
    (found,) = json.loads(out)["claims"]
    assert (status, found["verdict"]) == ((1, "not checkable here") if told else (0, "corrected")), err
    assert told in (found["reason"] or "")


@pytest.mark.parametrize("big", ["1e308", '"1e400"', '"-1e4300"', '"1e-400"', '"-1e-4300"'])
def test_a_witness_beyond_the_floats_is_confirmed_and_is_a_script(project, capsys, big):
    name, folder = project
    file = folder / name.replace("-", "_") / f"witnesses/{name}--lem-2.json"
    file.write_text(f'{{"id": "{name}/lem-2", "values": {{"a": {big}, "b": {big}}}}}')
    status, out, err = run(capsys, "replay", "--papers", str(folder), f"{name}/lem-2")
    exponent = 2 * int(big.strip('"').partition("e")[2])
    assert status == 0, err
    assert f"4e{exponent:+d} > 2e{exponent:+d} (exact" in " ".join(out.split())
    status, out, err = run(capsys, "check", "--papers", str(folder), f"{name}/lem-2", "--jobs", "1", "--json", "-")
    (found,) = json.loads(out)["claims"]
    assert (status, found["verdict"], found["grade"]) == (0, "corrected", "proof"), err
    _, script, _ = run(capsys, "replay", "--papers", str(folder), f"{name}/lem-2", "--script")
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    assert "violates the statement" in done.stdout


def test_a_paper_has_only_ids_and_pages_that_begin_with_its_own_name(written, tmp_path, capsys):
    own = f"own-{next(NUMBERS)}"
    other = f"{own}-b"
    for name in (own, other):
        for file in (path for path in written.rglob("*") if path.suffix in (".py", ".json", ".toml")):
            place = tmp_path / name / _renamed(str(file.relative_to(written)), name)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(_renamed(file.read_text(), name))
    both = [part for name in (own, other) for part in ("--papers", str(tmp_path / name))]
    status, out, err = run(capsys, "claims", *both, "--paper", own)
    assert (status, f"{own}/lem-1" in out, f"{other}/lem-1" in out) == (0, True, False), err
    papers = own_papers([str(tmp_path / name) for name in (own, other)])
    ledger = Ledger.of(papers)
    for asked in (own, other):
        assert {claim.paper for claim in ledger.select(paper=asked)} == {asked}
        assert {claim.paper for claim in ledger.select([asked])} == {asked}
    assert {claim.paper for claim in ledger.select(paper="own-")} == {own, other}
    for file, before, after in (
        ("lem_1.py", f'"{own}/lem-1"', f'"{other}/lem-99"'),
        ("lem_1.py", f'"{own}/lem-1"', f'"{other}-v2/lem-99"'),
        ("paper.py", f'"{own}-findings"', f'"{other}-findings"'),
    ):
        path = tmp_path / own / own.replace("-", "_") / file
        text = path.read_text()
        path.write_text(text.replace(before, after))
        _forget(set())
        refused = run(capsys, "claims", *both)
        path.write_text(text)
        assert_refused(refused, f"which begins with the name of the paper {other}")


THEOREM = """Definition lem_1_states {K : nat} : Prop := K = K.

(* proves: NAME/lem-1 *)
Theorem lem_1 : lem_1_states.
Proof. reflexivity. Qed.
"""


def test_a_record_of_theorems_that_an_author_wrote_says_so_on_the_card(project, capsys):
    name, folder = project
    changed(project, "lem_1.py", 'expect=("holds", "search")', 'expect=("holds", "kernel")')
    formal = folder / name.replace("-", "_") / "formal"
    formal.mkdir()
    (formal / "lem_1.v").write_text(THEOREM.replace("NAME", name))
    (one,) = Sources(formal, "Example", "formal").theorems()
    entry = {"id": one.id, "role": "proves", "digest": one.digest, "axioms": []}
    record = formal / "checked.json"
    record.write_text(json.dumps({"theorems": {"Example.lem_1.lem_1": entry}}))
    words = "recorded by the package's author, not compiled here"
    arguments = ("--papers", str(folder), f"{name}/lem-1", "--jobs", "1")
    status, out, err = run(capsys, "check", *arguments)
    assert status == 0, err
    assert words in out
    _, out, _ = run(capsys, "show", *arguments[:3])
    card = " ".join(out.split())
    assert f"theorems in Coq count as {words}" in card
    assert "compile it by `python -m paper_checks.formal --papers FOLDER`" in card
    _, out, _ = run(capsys, "check", *arguments, "--json", "-")
    assert json.loads(out)["claims"][0]["formal"][0]["status"].startswith(words)
    assert is_on_all_pages(capsys, folder, name, words)
    record.write_text(json.dumps({"theorems": {"Example.lem_1.lem_1": entry | {"axioms": ["nonsense.false"]}}}))
    assert_refused(run(capsys, "check", *arguments), "with the axiom nonsense.false")
    record.unlink()
    (formal / "lem_1.v").write_text(THEOREM.replace("NAME", name).replace("reflexivity. Qed", "Admitted"))
    assert_refused(run(capsys, "check", *arguments), "Admitted assumes what nobody proved")
    assert_refused(run(capsys, "pages", *arguments[:2], "--out", str(folder / "docs")), "Admitted assumes")


def is_on_all_pages(capsys, folder, name, words):
    """Return whether report and pages have the words."""
    named = ("--papers", str(folder))
    run(capsys, "report", *named, "--paper", name, "--out", str(folder / "report"), "--jobs", "1")
    run(capsys, "pages", *named, "--out", str(folder / "pages"))
    pages = [path.read_text() for path in (folder / "pages").glob("*.md")]
    report = (folder / "report" / f"paper-{name}.html").read_text()
    told = [" ".join(text.replace("&#39;", "'").split()) for text in (report, *pages)]
    return words in told[0] and any(words in text for text in told[1:])


def test_a_proof_without_a_step_and_without_a_constant_cannot_fail(project, capsys):
    name, folder = project
    body = 'def lem_2_corrected() -> str:\n    """By inspection."""\n    return "seen"'
    text = (folder / name.replace("-", "_") / "replays/lem_2.py").read_text()
    folder = changed(project, "replays/lem_2.py", text[text.index("def lem_2_corrected") :], body)
    status, out, err = run(capsys, "check", f"{name}/lem-2", "--papers", folder, "--jobs", "1", "--json", "-")
    (found,) = json.loads(out)["claims"]
    assert (status, found["verdict"]) == (1, "not checkable here"), err
    assert "it cannot fail: no step is checked by require" in found["reason"]


def test_a_witness_without_a_replay_is_no_script(project, capsys):
    name, _ = project
    folder = changed(project, "replays/lem_2.py", f'@replay("{name}/lem-2")', f'@replay("{name}/lem-9")')
    answer = run(capsys, "replay", "--papers", folder, f"{name}/lem-2", "--script")
    assert_refused(answer, "has no replay")


def test_parts_that_are_missing_are_named(project, capsys, tmp_path):
    name, folder = project
    package = folder / name.replace("-", "_")
    rmtree(package / "replays")
    assert_refused(run(capsys, "check", "--papers", str(folder), f"{name}/"), "has no module replays")
    (package / "__init__.py").unlink()
    assert_refused(run(capsys, "check", "--papers", str(folder), f"{name}/"), "__init__.py")
    (package / "paper.py").unlink()
    assert_refused(run(capsys, "check", "--papers", str(folder), f"{name}/"), "contains no package with a paper.py")
    assert_refused(run(capsys, "check", "--papers", str(tmp_path / "none")), "is neither a folder nor importable")
    assert_refused(run(capsys, "claims", "--papers", "numpy"), "numpy.paper")
    assert_refused(run(capsys, "pages"), "name a paper of your own")


def test_names_that_mean_something_else_are_refused(project, capsys, tmp_path):
    name, folder = project
    assert_refused(run(capsys, "claims", "--papers", "paper_checks.rolora"), "already used by the paper rolora")
    (folder / name.replace("-", "_")).rename(folder / "json")
    assert_refused(run(capsys, "claims", "--papers", str(folder)), "rename the folder")


def test_a_paper_is_added_once_under_any_of_its_names(project):
    name, folder = project
    package = name.replace("-", "_")
    (one,) = own_papers([str(folder), str(folder / package), package])
    assert one.name == name
    assert Ledger.of((*PAPERS, one)).home[f"{name}/lem-1"] == one
    with pytest.raises(LedgerError, match="already used"):
        own_papers([str(folder), str(_copy_under_another_package(project))])


def _copy_under_another_package(project):
    name, folder = project
    package, other = name.replace("-", "_"), f"own_other_{next(NUMBERS)}"
    place = folder.parent / other
    copytree(folder / package, place)
    for file in place.rglob("*.py"):
        file.write_text(file.read_text().replace(package, other))
    return place


def test_numbers_that_change_are_named_until_they_are_on_record(project, capsys):
    name, folder = project
    asked = ("check", "--papers", str(folder), f"{name}/lem-1", "--jobs", "1")
    assert "on record" not in run(capsys, *asked)[1], "nothing is recorded yet"
    status, out, _ = run(capsys, *asked, "--record")
    assert (status, "on record" in out) == (0, False)
    (record,) = folder.rglob("evidence.json")
    kept = record.read_text()
    numbers = json.loads(kept)
    assert list(numbers) == [f"{name}/lem-1"]
    found = numbers[f"{name}/lem-1"]["printed margin"]
    numbers[f"{name}/lem-1"]["printed margin"] = found + 1.0
    record.write_text(json.dumps(numbers, indent=1, ensure_ascii=False) + "\n")
    status, out, _ = run(capsys, *asked)
    assert f"{name}/lem-1: printed margin was {found + 1.0} and is {found}" in out
    assert "that differ from the record: 1; check --record stores them" in out
    assert status == 0
    report = ("report", "--papers", str(folder), "--no-figures", "--jobs", "1", "--out", str(folder.parent / "report"))
    status, out, _ = run(capsys, *report, f"{name}/lem-1")
    assert (status, f"{name}/lem-1: printed margin was {found + 1.0} and is {found}" in out) == (1, True)
    assert run(capsys, *report, f"{name}/lem-1", "--seed", "1")[0] == 0, "numbers of seed 0 are on record"
    assert "now recorded" in run(capsys, *asked, "--record")[1]
    assert record.read_text() == kept
    assert run(capsys, *report, f"{name}/lem-1")[0] == 0
    assert_refused(run(capsys, *asked, "--record", "--seed", "1"), "leave out --seed and --budget")


@pytest.mark.parametrize(("option", "place"), [("--store", "witnesses/{}--lem-2.json"), ("--record", "evidence.json")])
def test_a_file_that_is_in_the_way_of_the_record_is_named_with_its_remedy(project, capsys, option, place):
    """Its place is the paper's folder, and no option names another."""
    name, folder = project
    path = folder / name.replace("-", "_") / place.format(name)
    path.write_text(json.dumps(json.loads(path.read_text()) if path.exists() else {}, indent=3))
    status, _, err = run(capsys, "check", f"{name}/lem-2", "--papers", str(folder), "--jobs", "1", option)
    assert (status, err.splitlines()[-1]) == (
        2,
        f"rankproof: {option} cannot replace {path}: rankproof did not write it, or it has been changed since; "
        "move it away",
    )


def test_installed_papers_are_there_without_being_named(project, monkeypatch, capsys):
    name, folder = project
    package = name.replace("-", "_")
    points = [EntryPoint(name, f"{package}.paper:PAPER", loading.GROUP)]
    monkeypatch.setattr(loading, "entry_points", lambda group: points if group == loading.GROUP else [])
    assert_refused(run(capsys, "claims"), f"the installed paper {name} cannot be loaded", "fix or uninstall")
    monkeypatch.syspath_prepend(str(folder))
    status, out, _ = run(capsys, "claims", "--paper", name)
    assert (status, out.splitlines()[-1]) == (0, COUNTED)
    assert [paper.name for paper in own_papers([str(folder)])] == [name]


def test_a_page_that_cannot_be_made_is_told_in_one_line(project, tmp_path):
    changed(
        project,
        "paper.py",
        "            (\n                Headline(",
        "            (\n                *[None],\n                Headline(",
    )
    with pytest.raises(LedgerError, match="AttributeError"):
        pages_of(own_papers([str(project[1])]), tmp_path / "pages")


def test_a_failed_start_leaves_nothing_behind(tmp_path):
    with pytest.raises(LedgerError):
        write_paper("rolora-mine", tmp_path / "new")
    assert not (tmp_path / "new").exists()


METHODS = {"identity", "inequality", "limit", "mean", "printed", "probability", "relations", "units", "experiments"}


def test_the_example_has_a_claim_of_each_method_in_the_file_of_its_result():
    assert {claim.label: (claim.expect, claim.grade) for claim in EXAMPLE.claims()} == OUTCOMES
    assert all(claim.mutants or claim.correction or claim.kind == "experiment" for claim in EXAMPLE.claims())
    assert tuple(label.replace("-", "_") for label in OUTCOMES) == EXAMPLE.themes
    texts = [file.read_text() for file in EXAMPLE.folder.rglob("*.py")]
    shown = {method for text in texts for method in re.findall(r"^from paper_checks.methods.(\w+) import", text, re.M)}
    assert shown >= METHODS
    page = (ROOT / "docs" / "example-paper.md").read_text()
    rows = re.findall(r"^\| `(\w+)\.py`.* \| ([a-z, ]+) \|$", page, flags=re.M)
    told = {label.replace("-", "_"): ", ".join(filter(None, outcome)) for label, outcome in OUTCOMES.items()}
    assert {name: outcome for name, outcome in rows if name in EXAMPLE.themes} == told


def test_the_page_shows_the_example_as_it_stands():
    page = (ROOT / "docs" / "example-paper.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", page, flags=re.S)
    files = [file.read_text() for file in sorted((ROOT / "paper_checks" / "your_paper").rglob("*.py"))]
    assert len(blocks) == 3
    for block in blocks:
        assert any(block in text for text in files), block


def test_the_commands_of_the_page_are_commands():
    page = (ROOT / "docs" / "example-paper.md").read_text()
    commands = re.findall(r"^rankproof (.*?) *(?:#.*)?$", page, flags=re.M)
    assert len(commands) == 6
    for line in commands:
        rankproof._parser().parse_args(line.split())


@pytest.mark.sample(2)
@pytest.mark.parametrize("kind", EXAMPLES)
def test_an_example_of_one_kind_is_a_paper_of_its_own(kind, tmp_path, capsys):
    name = f"own-{next(NUMBERS)}"
    folder = tmp_path / name
    status, _, err = run(capsys, "new-paper", name, "--out", str(folder), "--example", kind)
    assert status == 0, err
    status, out, err = run(capsys, "check", "--papers", str(folder), f"{name}/", "--jobs", "1", "--json", "-")
    assert status == 0, err
    found = {entry["id"]: (entry["verdict"], entry["grade"]) for entry in json.loads(out)["claims"]}
    labels = [result.replace("_", "-") for result in EXAMPLES[kind]]
    assert found == {f"{name}/{label}": OUTCOMES[label] for label in labels}
    package = folder / name.replace("-", "_")
    assert (package / "measurements").exists() == (package / "replays" / "lem_2.py").exists() == (kind == "inequality")
    readme = (folder / "README.md").read_text()
    assert "Ten claims" not in readme
    assert f"`{package.name}/{EXAMPLES[kind][0]}.py`" in readme
    assert all(f"{name}/{other}" not in readme for other in OUTCOMES if other not in labels)


def test_several_examples_are_written_and_another_kind_is_refused(tmp_path, capsys):
    name = f"own-{next(NUMBERS)}"
    command = ("new-paper", name, "--out", str(tmp_path / name))
    assert_refused_usage(run_to_exit(capsys, *command, "--example", "lemma"), "--example")
    assert run(capsys, *command, "--example", "table", "--example", "identity")[0] == 0
    assert '("eq_1", "table_1",)' in (tmp_path / name / name.replace("-", "_") / "paper.py").read_text()


def run_to_exit(capsys, *arguments):
    status = rankproof.main(arguments)
    return status, capsys.readouterr().err


def assert_refused_usage(answer, part):
    status, err = answer
    assert status == 2
    assert part in err


def test_a_new_paper_leaves_no_bytecode(written):
    assert [path.name for path in written.rglob("*") if path.name == "__pycache__" or path.suffix == ".pyc"] == []


def test_a_headline_of_the_example_is_refused_on_other_claims(project, capsys):
    folder = changed(project, "lem_2.py", "For real $a$ and $b$: $(a + b)^2 \\le a^2 + b^2$.", "Every bound is tight.")
    assert_refused(run(capsys, "claims", "--papers", folder), "a headline of the page", "is still that of the example")


def test_commands_on_a_card_name_the_folder(project, capsys):
    name, folder = project
    _, out, _ = run(capsys, "show", "--papers", str(folder), f"{name}/lem-2", "--jobs", "1")
    assert f"again rankproof replay --papers {folder} {name}/lem-2" in " ".join(out.split())
    _, out, _ = run(capsys, "claims", "--papers", str(folder), f"{name}/lem-2", "--json")
    assert json.loads(out)[0]["replay"] == f"rankproof replay --papers {folder} {name}/lem-2"


def test_papers_that_are_named_add_up(project, capsys):
    name, folder = project
    _, out, _ = run(capsys, "claims", "--papers", str(folder), "--paper", name, "--paper", "fedlrt")
    both = sum(len(paper.claims()) for paper in PAPERS if paper.name == "fedlrt") + len(OUTCOMES)
    assert out.splitlines()[-1].startswith(f"{both} claims")
    assert_refused(
        run(capsys, "claims", "--papers", str(folder), "--paper", name, "--paper", "x", f"{name}/"), "no paper 'x'"
    )


def test_a_stored_witness_is_short_and_decides_at_once(project, capsys):
    name, folder = project
    file = folder / name.replace("-", "_") / f"witnesses/{name}--lem-2.json"
    file.unlink()
    command = ("check", "--papers", str(folder), f"{name}/lem-2", "--jobs", "1")
    status, out, _ = run(capsys, *command)
    assert status == 1
    assert "<-- the check has a defect: violated" in out
    assert "no witness is stored" in out
    status, out, err = run(capsys, *command, "--store", "--record")
    assert status == 0, err
    assert "corrected  proof" in out
    values = json.loads(file.read_text())["values"]
    assert set(values) == {"a", "b"}
    assert all(value == float(f"{value:.1g}") for value in values.values())
    assert run(capsys, *command)[0] == 0


MULTIPLIER = '''@proof("own/lem-1")
def lem_1(data: Values, K: Fraction = Fraction(1, 2)) -> str:
    """The difference is a multiple of a square."""
    a, b = sympy.symbols("a b", real=True)
    difference = K * (a**2 + b**2) - (a + b) ** 2 / 4
    require(sympy.expand(difference - Fraction(data["factor"]) * (a - b) ** 2) == 0, "the difference of the sides")
    return "a multiple of a square"


'''


def test_the_data_of_a_proof_are_stored_and_prove_at_once(project, capsys):
    name, folder = project
    changed(project, "replays/lem_2.py", '@proof("', MULTIPLIER.replace("own/", f"{name}/") + '@proof("')
    changed(
        project,
        "lem_1.py",
        "return judge_sums(pairs, K, share)",
        "found = judge_sums(pairs, K, share)\n    "
        'return found.with_certificate({"factor": "1/4"}) if found.ok else found',
    )
    command = ("check", "--papers", str(folder), f"{name}/lem-1", "--jobs", "1", "--json", "-")
    status, out, err = run(capsys, *command)
    assert (status, json.loads(out)["claims"][0]["verdict"]) == (1, "not checkable here"), err
    status, out, err = run(capsys, *command, "--store")
    (found,) = json.loads(out)["claims"]
    assert (found["verdict"], found["grade"], status) == ("holds", "proof", 1), (found["reason"], err)
    kept = folder / name.replace("-", "_") / f"certificates/{name}--lem-1.json"
    assert json.loads(kept.read_text()) == {"id": f"{name}/lem-1", "values": {"factor": "1/4"}}


def test_a_check_at_several_seeds_compares_them(project, capsys):
    name, folder = project
    command = ("check", "--papers", str(folder), f"{name}/lem-1", "--jobs", "1", "--seeds", "2")
    status, out, err = run(capsys, *command)
    assert status == 0, err
    assert out.splitlines()[-1] == "each claim was measured with seeds 0 to 1, and seed 0 a second time"
    changed(
        project,
        "measurements/pairs.py",
        "    axes = [",
        "    import os\n    context = Context(context.claim_id, int.from_bytes(os.urandom(4), 'big'))\n    axes = [",
    )
    for module in [module for module in sys.modules if module.startswith(name.replace("-", "_"))]:
        del sys.modules[module]
    status, out, err = run(capsys, *command)
    assert status == 1, err
    assert "measured again with the same seed, it comes to something else" in out


def test_a_traceback_is_printed_where_it_is_asked_for(project, capsys):
    name, _ = project
    folder = changed(project, "measurements/pairs.py", "    axes = [", "    {}[1]\n    axes = [")
    command = ("check", "--papers", folder, f"{name}/lem-1", "--jobs", "1")
    _, out, err = run(capsys, *command)
    place = f"{name.replace('-', '_')}/measurements/pairs.py, line "
    assert f"<-- the check has a defect: {place}" in out
    assert "KeyError: 1" in out
    assert "Traceback" not in err
    _, _, err = run(capsys, *command, "--traceback")
    assert "Traceback (most recent call last)" in err
    assert "{}[1]" in err


@pytest.mark.sample(1)
@pytest.mark.parametrize("ends", ["raise SystemExit(0)", "import os; os._exit(0)"])
def test_a_replay_that_ends_its_process_stops_no_other_claim(project, capsys, ends):
    name, _ = project
    folder = changed(project, "replays/lem_2.py", "    a, b = Fraction", f"    if True: {ends}\n    a, b = Fraction")
    command = ("check", "--papers", folder, f"{name}/lem-2", "fedlrt/eq-40", "--jobs", "1", "--json", "-")
    status, out, err = run(capsys, *command)
    found = {entry["id"]: entry for entry in json.loads(out)["claims"]}
    assert status == 1, err
    assert f"exited at the witness of {name}/lem-2" in found[f"{name}/lem-2"]["reason"]
    assert found["fedlrt/eq-40"]["verdict"] == found["fedlrt/eq-40"]["expected"]
