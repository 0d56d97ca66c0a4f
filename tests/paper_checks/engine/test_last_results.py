"""`rankproof show` answers from the last results of the same code; checks and replays have places in the source."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import rankproof
from paper_checks.engine import last_results
from paper_checks.ledger import PAPERS, Ledger
from paper_checks.replaying.places import check_place, replay_places

ROOT = Path(__file__).resolve().parents[3]
QUICK = "fedloru-v2/eq-43"  # without a stored file, whose replay would start a process


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv(last_results.FOLDER, str(tmp_path / "cache"))
    return tmp_path / "cache"


def show(capsys, *arguments):
    status = rankproof.main(["show", "--jobs", "1", *arguments])
    return status, *capsys.readouterr()


def test_the_second_answer_comes_from_disk(capsys, monkeypatch):
    status, first, err = show(capsys, QUICK)
    assert status == 0
    assert f"rankproof: measuring {QUICK}, because this code has no stored results for it\n" in err
    assert "measured " not in first
    with monkeypatch.context() as patch:
        patch.setattr("paper_checks.run.run", lambda *_, **__: pytest.fail("measured again"))
        patch.setattr(Ledger, "of", lambda *_, **__: pytest.fail("read all claims"))
        status, second, err = show(capsys, QUICK)
        assert (status, err) == (0, "")
    assert second.startswith(first.rstrip("\n"))
    assert " UTC by this code and these packages; `rankproof show --again" in second
    _, third, err = show(capsys, "--again", QUICK)
    assert err.startswith(f"rankproof: measuring {QUICK}\n")
    assert "measured " not in third
    for other in (("--seed", "1"), ("--budget", "full")):
        assert "measuring" in show(capsys, QUICK, *other)[2]


@pytest.mark.sample(1)
@pytest.mark.parametrize("flaw", ["not JSON", "[]", "{}", '{"made_by": "other code"}'])
def test_results_of_other_code_and_damaged_files_do_not_count(capsys, folder, flaw):
    show(capsys, QUICK)
    (file,) = folder.iterdir()
    file.write_text(flaw)
    status, out, err = show(capsys, QUICK)
    assert status == 0
    assert "measuring" in err
    assert "measured " not in out


def test_results_of_code_that_was_edited_meanwhile_are_not_kept(capsys, monkeypatch, folder):
    digests = iter(["before", "before", "after"])
    monkeypatch.setattr(last_results, "made_by", lambda: next(digests, "after"))
    folder.mkdir()
    (folder / last_results._path().name).write_text('{"made_by": "another"}')
    assert show(capsys, QUICK)[0] == 0
    assert QUICK not in (folder / last_results._path().name).read_text()


def test_every_source_and_package_counts(monkeypatch, tmp_path):
    (tmp_path / "room").mkdir()
    source = tmp_path / "room" / "check.py"
    monkeypatch.setattr(last_results, "_ROOT", tmp_path)
    monkeypatch.setattr(last_results, "ROOMS", ("room",))

    def digest():
        return last_results.made_by()

    source.write_text("x = 1\n")
    first = digest()
    assert digest() == first
    source.write_text("x = 2\n")
    assert digest() != first
    source.write_text("x = 1\n")
    (tmp_path / "room" / "witness.json").write_text("{}")
    assert digest() != first
    (tmp_path / "room" / "witness.json").unlink()
    (tmp_path / "figures").mkdir()
    monkeypatch.setattr(last_results, "FIGURES", tmp_path / "figures")
    first = digest()
    table = tmp_path / "figures" / "experiment.csv"  # what claims on experiments report
    table.write_text("seed,value\n0,0.5\n")
    assert digest() != first
    table.unlink()
    assert digest() == first
    monkeypatch.setattr(last_results, "package_versions", lambda names: dict.fromkeys(names, "0"))
    assert digest() != first


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="needs a folder that is a file")
def test_a_folder_that_cannot_be_written_is_no_error(capsys, monkeypatch, tmp_path):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv(last_results.FOLDER, str(tmp_path / "file"))
    status, out, _ = show(capsys, QUICK)
    assert status == 0
    assert out.startswith(f"{QUICK}\n")


def test_a_name_of_many_lists_them(capsys):
    status, out, err = show(capsys, "Figure 2")
    assert (status, err) == (0, "")
    lines = out.splitlines()
    assert [line.split()[0] for line in lines[:-1]] == [
        "fedloru-v2/txt-fig1",
        "fedloru-v2/fig-2",
        "fedloru-iclr/fig-2b",
        "fedlrt/fig-2",
        "rolora/fig-2",
    ]
    assert lines[-1] == "5 claims match 'Figure 2'; `rankproof show fedloru-v2/txt-fig1` shows one of them"


def test_replay_and_claims_take_names(capsys):
    assert rankproof.main(["replay", "Theorem 9 of FeDLRT"]) == 0
    out = capsys.readouterr().out
    assert "fedlrt/thm-2: witness confirmed" in out
    place = replay_places("paper_checks.fedlrt", PAPERS[1].to_replay("fedlrt/thm-2"))[0]
    assert f"replay at    {place}" in out
    assert rankproof.main(["replay", "eq. (1) of FedLoRU v2@one-matrix-x"]) == 0
    assert "fedloru-v2/eq-1@one-matrix-x: witness confirmed" in capsys.readouterr().out
    assert rankproof.main(["claims", "prop 3.1"]) == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith("3 claims: ")


def test_places_are_those_of_checks_and_replays(capsys):
    assert rankproof.main(["claims", "--json"]) == 0
    entries = {entry["id"]: entry for entry in json.loads(capsys.readouterr().out)}
    ledger = Ledger.of()
    for claim in ledger.claims:
        place = check_place(claim)
        assert entries[claim.id]["source"] == str(place)
        below = "\n".join((ROOT / place.file).read_text().splitlines()[place.line - 1 :])
        assert f"def {place.name}(" in below or below.startswith(f"{place.name} = "), claim.id
        files = ledger.home[claim.id].to_replay(claim.id)
        places = replay_places(ledger.home[claim.id].package, files)
        assert entries[claim.id]["replay_source"] == (str(places[0]) if places else None)
        for one in places:
            below = "\n".join((ROOT / one.file).read_text().splitlines()[one.line - 1 :][:12])
            assert f"def {one.name}(" in below or below.startswith(f"{one.name} = "), claim.id
    assert entries["fedlrt/thm-2"]["source"].startswith("paper_checks/fedlrt/thm_2.py:")


def test_one_process_reads_the_results_of_another(capsys):
    show(capsys, QUICK)
    program = f"import sys, rankproof; rankproof.main(['show', {QUICK!r}]); sys.exit('numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, cwd=ROOT)
    assert (done.returncode, done.stderr) == (0, "")
    assert "measured " in done.stdout
