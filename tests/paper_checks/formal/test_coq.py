"""Coq files compile from nothing, and the kernel's axioms are read. Skipped where Coq is absent."""

import shutil

import pytest

from paper_checks.formal.__main__ import main
from paper_checks.formal.compile import CoqError, compile_papers, differences, write_record
from paper_checks.formal.theorems import RECORD
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
@pytest.mark.parametrize("proof", ["Proof. Admitted.\n", "Proof. apply wish. Qed.\n"])
def test_an_axiom_of_ones_own_is_named_and_never_recorded(tmp_path, proof):
    invented = Invented(tmp_path, f"Axiom wish : 1 + 1 = 2.\n{STATED}{proof}")
    (found,) = compile_papers([invented], tmp_path / "build")
    assumed = "X.x.x" if "Admitted" in proof else "wish"
    assert any("which is not an axiom of Coq's real numbers" in text for text in differences(found, []))
    with pytest.raises(CoqError, match=f"assumes .*{assumed.rpartition('.')[2]}"):
        write_record(found, "8")
    assert not (tmp_path / "formal" / RECORD).exists()


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
