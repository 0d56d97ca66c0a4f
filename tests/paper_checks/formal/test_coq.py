"""Coq files compile from nothing, and the kernel's axioms are read. Skipped where Coq is absent."""

import shutil

import pytest

from paper_checks.formal import __main__ as command
from paper_checks.formal.__main__ import main
from paper_checks.formal.compile import CoqError, compile_papers, differences, write_record
from paper_checks.formal.theorems import RECORD, FormalError, sources_of
from paper_checks.ledger import PAPERS

needs_coq = pytest.mark.skipif(shutil.which("coqc") is None, reason="Coq is not installed: apt-get install coq")
STATED = "(* proves: a/b *)\nTheorem x : 1 + 1 = 2.\n"


class Invented:
    """A paper with one Coq file."""

    name, called, package = "x", "X", "x"

    def __init__(self, folder, text):
        self.folder = folder
        (folder / "formal").mkdir()
        (folder / "formal" / "x.v").write_text(text, encoding="utf-8")


class Other(Invented):
    """The same, of a folder that is written."""

    def __init__(self, folder):
        self.folder = folder


@needs_coq
def test_a_theorem_is_compiled_and_recorded(tmp_path):
    invented = Invented(tmp_path, f"{STATED}Proof. reflexivity. Qed.\n")
    seen = []
    (found,) = compile_papers([invented], tmp_path / "build", seen.append)
    assert seen == ["X/x.v"]
    assert found.axioms == {"X.x.x": ()}
    (told,) = (text for text in differences(found, []) if "record" in text)
    assert told == "X.x.x is not the recorded theorem: read the new statement, then record it"
    assert write_record(found, "8") == tmp_path / "formal" / RECORD
    assert (tmp_path / "formal" / RECORD).exists()
    assert not list((tmp_path / "formal").glob("*.vo"))


@needs_coq
def test_an_axiom_beyond_the_reals_is_named_and_never_recorded(tmp_path):
    chosen = "constructive_indefinite_description (fun n => n = 2) (ex_intro _ 2 eq_refl)"
    proof = f"Proof. destruct ({chosen}). reflexivity. Qed.\n"
    invented = Invented(tmp_path, f"From Coq Require Import ClassicalEpsilon.\n{STATED}{proof}")
    (found,) = compile_papers([invented], tmp_path / "build")
    assert any("which is not an axiom of Coq's real numbers" in text for text in differences(found, []))
    with pytest.raises(CoqError, match=r"assumes .*constructive_indefinite_description"):
        write_record(found, "8")
    assert not (tmp_path / "formal" / RECORD).exists()


@pytest.mark.parametrize("proof", ["Proof. Admitted.\n", "Proof. apply wish. Qed.\n"])
def test_an_axiom_of_ones_own_is_refused_without_coq(tmp_path, proof):
    invented = Invented(tmp_path, f"Axiom wish : 1 + 1 = 2.\n{STATED}{proof}")
    with pytest.raises(FormalError, match=r"x\.v, line 1: Axiom assumes what nobody proved"):
        sources_of(invented).theorems()


@needs_coq
def test_no_file_of_another_paper_and_no_second_paper_of_the_same_name_is_mixed_in(tmp_path):
    for name, text in (("one", f"{STATED}Proof. reflexivity. Qed.\n"), ("two", STATED.replace("= 2", "= 1 + 1"))):
        (tmp_path / name).mkdir()
        Invented(tmp_path / name, text if "Qed" in text else f"{text}Proof. reflexivity. Qed.\n")
    one, two = (Other(tmp_path / name) for name in ("one", "two"))
    found = compile_papers([one, two], tmp_path / "build")
    assert [len(some.axioms) for some in found] == [1, 1]
    (tmp_path / "two" / "formal" / "x.v").write_text(f"From X Require Import y.\n{STATED}Proof. reflexivity. Qed.\n")
    (tmp_path / "one" / "formal" / "y.v").write_text("Definition y := 1.\n")
    with pytest.raises(FormalError, match=r"imports X\.y, and there is no"):
        compile_papers([one, two], tmp_path / "again")


@needs_coq
def test_what_is_recorded_for_a_package_of_ones_own_is_as_coq_says(tmp_path, monkeypatch, capsys):
    invented = Invented(tmp_path, f"{STATED}Proof. reflexivity. Qed.\n")
    monkeypatch.setattr(command, "named_papers", lambda names: (invented,))
    invented.claims = tuple
    for arguments, status in ((["--record"], 1), ([], 1)):  # the paper has no such claim
        monkeypatch.setattr("sys.argv", ["formal", "--papers", str(tmp_path), *arguments])
        assert main() == status
        assert capsys.readouterr().err == "NOT AS RECORDED: X.x.x is of a/b, which is not a claim of the ledger\n"
    (theorem,) = sources_of(invented).theorems()
    assert (theorem.checked, theorem.outside, theorem.axioms) == (True, True, ())
    assert theorem.status.startswith("recorded by the package's author, not compiled here; compile it by `python -m")
    record = tmp_path / "formal" / RECORD
    record.write_text(record.read_text().replace('"axioms": []', '"axioms": ["nonsense.false"]'))
    with pytest.raises(FormalError, match=r"records X\.x\.x with the axiom nonsense\.false"):
        sources_of(invented).theorems()
    monkeypatch.setattr("sys.argv", ["formal", "--papers", str(tmp_path), "--record"])
    assert main() == 1
    assert sources_of(invented).theorems()[0].checked
    record.write_text("mine")
    assert main() == 1
    assert "does not hold a record of theorems" in capsys.readouterr().err
    assert record.read_text() == "mine"


@needs_coq
def test_a_false_theorem_does_not_compile(tmp_path):
    invented = Invented(tmp_path, f"{STATED.replace('= 2', '= 3')}Proof. reflexivity. Qed.\n")
    with pytest.raises(CoqError, match=r"X/x\.v does not compile: .*Unable to unify"):
        compile_papers([invented], tmp_path / "build")


def test_without_coq_one_line_says_how_to_install_it(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr("sys.argv", ["formal"])
    monkeypatch.setattr(shutil, "which", lambda name: None)
    assert main() == 2
    assert capsys.readouterr().err == "coqc is not installed: apt-get install coq libcoq-coquelicot\n"
    with pytest.raises(CoqError, match="coqc is not installed"):
        compile_papers([], tmp_path)


@needs_coq
@pytest.mark.slow
def test_every_theorem_compiles_from_nothing_as_recorded(tmp_path):
    found = compile_papers(PAPERS, tmp_path)
    assert [text for one in found for text in differences(one, one.paper.claims())] == []
    assert sum(len(one.theorems) for one in found) >= 12
