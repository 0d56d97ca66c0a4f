"""The command line: its contract, and one clear line for every error a user can make."""

import contextlib
import io
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import rankproof

QUICK = "fedloru-v2/eq-43"
ROOT = Path(rankproof.__file__).parent


def run(capsys, *arguments):
    """Status, standard output and standard error of one command."""
    try:
        status = rankproof.main(arguments)
    except SystemExit as stop:
        status = stop.code
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def assert_one_line(err, *parts):
    lines = [line for line in err.splitlines() if line.startswith("rankproof:")]
    assert len(lines) == 1
    assert "Traceback" not in err
    for part in parts:
        assert part in lines[0]


def test_check_writes_json_and_a_table(capsys, tmp_path):
    target = tmp_path / "verdicts.json"
    status, out, _ = run(
        capsys, "check", QUICK, "fedloru-v2/eq-39", "--json", str(target), "--seed", "3", "--jobs", "1"
    )
    assert status == 0
    assert "2 hold" in out
    answer = json.loads(target.read_text())
    assert [entry["id"] for entry in answer["claims"]] == ["fedloru-v2/eq-39", QUICK]
    assert {"commit", "seed", "budget", "packages", "wall_seconds"} <= set(answer["manifest"])
    assert answer["manifest"]["seed"] == 3


def test_claims_lists_the_ledger(capsys):
    status, out, _ = run(capsys, "claims", "--json")
    entries = json.loads(out)
    assert status == 0
    assert out == json.dumps(entries, indent=1) + "\n"
    assert set(entries[0]) == {
        "id",
        "also",
        "paper",
        "source",
        "replay_source",
        "where",
        "kind",
        "importance",
        "because",
        "expected",
        "expected_grade",
        "intended",
        "print",
        "finding",
        "says",
        "replay",
    }
    status, out, _ = run(capsys, "claims", "--paper", "fedloru")
    assert f"{sum(entry['paper'].startswith('fedloru') for entry in entries)} claims" in out


def test_check_says_statement_numbers_and_how_to_replay(capsys):
    status, out, err = run(capsys, "check", "fedloru-v2/txt-total20", "--json", "-")
    (entry,) = json.loads(out)["claims"]
    assert status == 0
    # Standard output holds nothing but JSON.
    assert "1 claim: 1 is corrected (1 printed inconsistently); every verdict as recorded" in err
    assert (entry["expected"], entry["expected_grade"], entry["kind"]) == ("corrected", "proof", "number")
    assert (entry["print"], entry["finding"]) == ("inconsistent", "settings-and-counts")
    assert entry["says"]
    assert entry["printed"]
    assert entry["obtained"]
    assert entry["left"] > entry["right"]
    assert entry["replay"] == "rankproof replay fedloru-v2/txt-total20"


def test_claims_are_filtered_by_verdict_and_paper(capsys, tmp_path):
    status, out, _ = run(capsys, "claims", "--json")
    everything = json.loads(out)
    status, _, _ = run(
        capsys, "claims", "--verdict", "corrected", "--paper", "rolora", "--json", str(tmp_path / "found")
    )
    found = json.loads((tmp_path / "found").read_text())
    assert status == 0
    assert found == [e for e in everything if e["expected"] == "corrected" and e["paper"] == "rolora"] != []
    status, out, _ = run(capsys, "claims", "--verdict", "not checkable here")
    assert out.splitlines()[-1].startswith(f"{sum(e['expected'] == 'not checkable here' for e in everything)} claims: ")
    kept = [run(capsys, "claims", "--print", *prints, "--json")[1] for prints in (["misprint"], ["unstated"])]
    status, out, _ = run(capsys, "claims", "--print", "misprint", "--print", "unstated", "--json")
    assert len(json.loads(out)) == sum(len(json.loads(one)) for one in kept) > len(json.loads(kept[0])) > 0
    status, out, _ = run(capsys, "claims", "--print", "unstated", "--verdict", "corrected", "--json")
    assert json.loads(out) == [e for e in everything if (e["print"], e["expected"]) == ("unstated", "corrected")] != []


@pytest.mark.parametrize("form", ["as-meant", "as-printed"])
def test_claims_that_fail_are_listed_in_either_form(capsys, form):
    status, out, _ = run(capsys, "claims", "--paper", "fedlrt", "--json")
    verdicts = {"corrected", "refuted"} | ({"ambiguous"} if form == "as-printed" else set())
    slips = {"misprint", "unstated", "inconsistent"} if form == "as-printed" else set()
    expected = [
        e for e in json.loads(out) if e["expected"] in verdicts or (e["expected"] == "holds" and e["print"] in slips)
    ]
    status, out, _ = run(capsys, "claims", "--paper", "fedlrt", "--fails", form, "--json")
    assert status == 0
    assert json.loads(out) == expected != []


def test_no_claim_fails_and_holds(capsys):
    status, _, err = run(capsys, "claims", "--verdict", "holds", "--fails", "as-meant")
    assert status == 2
    assert "no claim is on record as holds and false as meant" in err


def test_the_first_screen_of_a_card_says_what_is_wrong_and_what_to_use(capsys):
    status, out, _ = run(capsys, "show", "thm-4.2")
    assert status == 0
    screen = out.splitlines()[:24]
    labels = [line.split()[0] for line in screen if line[:1].strip(" =")]
    assert labels[:7] == ["fedloru-v2/thm-4.2", "where", "verdict", "because", "instead", "finding", "advice"]
    said = " ".join(" ".join(screen).split())
    for part in (
        "corrected (proof)",
        "If the factors are kept, as in Algorithm 1, no constants work",
        "(2E − 1)G²Qη",
        "fedloru-v2/thm-4.2-rate (holds,",
    ):
        assert part in said
    status, out, _ = run(capsys, "show", "fedloru-v2/thm-4.2-rate")
    assert "see also     fedloru-v2/thm-4.2 (corrected, printed inconsistently): Theorem 4.2, eq. (9)" in out


def test_show_prints_an_entry_for_bibtex_and_checks_nothing(capsys):
    status, out, err = run(capsys, "show", "fedlrt/thm-2", "Lemma 1 of FeDLRT", "--bibtex")
    assert status == 0
    assert "measuring" not in err
    assert out.count("@software{rankproof-fedlrt-") == 2
    assert out.count("@misc{fedlrt,") == 1


@pytest.mark.parametrize(
    ("ids", "cited"),
    [
        (["fedlrt/truncation-cost"], ["@software{rankproof-fedlrt-truncation-cost,", "@misc{fedlrt,"]),
        (
            ["rolora/eq-3", "fedlrt/truncation-cost"],
            ["@software{rankproof-fedlrt-truncation-cost,", "@software{rankproof-rolora-eq-3,", "@misc{fedlrt,"],
        ),
    ],
)
def test_show_cites_the_papers_of_findings_and_claims_once_each(capsys, ids, cited):
    status, out, _ = run(capsys, "show", *ids, "--bibtex")
    assert status == 0
    assert [line for line in out.splitlines() if line.startswith(("@", "% Cite"))][: len(cited)] == cited


def test_show_prints_a_finding_next_to_a_claim(capsys):
    status, out, _ = run(capsys, "show", "truncation-cost", "fedloru-v2/txt-total20")
    assert status == 0
    assert out.startswith("fedlrt/truncation-cost: Changes a main result.\nfound        Truncation can raise the loss")
    assert "\nfedloru-v2/txt-total20\n====" in out
    status, out, _ = run(capsys, "show", "rolora/truncation-cost")
    assert status == 2


def test_show_prints_a_card(capsys):
    status, out, _ = run(capsys, "show", "fedloru-v2/txt-total20")
    assert status == 0
    assert "corrected (proof)" in out
    assert "print        inconsistent: two places of the paper disagree" in out
    assert "rankproof replay fedloru-v2/txt-total20" in out
    assert max(map(len, out.splitlines())) <= 100


def test_replay_confirms_witnesses_and_certificates(capsys):
    status, out, _ = run(capsys, "replay", "fedloru-v2/prop-3.1")
    assert status == 0
    assert "witness confirmed" in out
    status, out, _ = run(capsys, "replay", "fedloru-v2/eq-40")
    assert status == 0
    assert "certificate confirmed" in out


def test_replay_of_a_prefix_ends_in_counts(capsys):
    status, out, _ = run(capsys, "replay", "rolora/table-", "fedloru-v2/txt-ratio")
    lines = out.splitlines()
    files = [line for line in lines if "confirmed: " in line]
    assert status == 0
    assert len(files) > 3
    assert lines[-1].startswith(f"{len(files)} files of ")
    assert lines[-1].endswith(f": {len(files)} confirmed, 0 not")


def test_replay_says_what_is_lost(capsys, monkeypatch):
    from paper_checks import replay

    whole = replay.stored
    monkeypatch.setattr(
        replay, "stored", lambda folder, id: tuple(file for file in whole(folder, id) if file.kind == "witness")
    )
    status, out, _ = run(capsys, "replay", "fedlrt/thm-4", "fedlrt/alg-6")
    assert status == 1
    assert "fedlrt/thm-4: its certificate is not stored" in out
    assert out.splitlines()[-1] == "2 files of 2 claims: 2 confirmed, 0 not, 1 not stored"


def test_replay_without_a_stored_witness_says_what_to_do(capsys):
    status, _, err = run(capsys, "replay", QUICK)
    assert status == 2
    assert_one_line(err, "no stored witness", f"rankproof show {QUICK}")
    status, _, err = run(capsys, "replay", "--paper", "rolora", "--verdict", "not checkable here")
    assert status == 2
    assert_one_line(err, "none of these claims has a stored witness", "rankproof check")


def test_replay_prints_the_script_of_one_witness(capsys):
    status, out, _ = run(capsys, "replay", "--script", "fedlrt/claim-trunc")
    assert status == 0
    assert "\nfrom itertools import pairwise\n" in out
    exec(compile(out, "script", "exec"), {"__name__": "__main__"})
    assert capsys.readouterr().out.endswith(" violates the statement\n")


@pytest.mark.parametrize(
    "arguments", [("rolora/table-",), ("--all",), ("--paper", "rolora"), ("--verdict", "corrected")]
)
def test_a_script_of_several_witnesses_is_refused(capsys, arguments):
    status, out, err = run(capsys, "replay", "--script", *arguments)
    assert (status, out) == (2, "")
    assert_one_line(err, "--script prints one witness, and these claims have ")
    assert int(err.split()[-1]) > 3


def test_a_reading_is_replayed_by_its_name(capsys):
    several = "fedloru-v2/eq-1"
    status, _, err = run(capsys, "replay", "--script", several)
    assert status == 2
    names = re.findall(rf"{several}@[a-z-]+", err)
    assert len(names) == 2
    for name in names:
        status, out, _ = run(capsys, "replay", "--script", name)
        assert status == 0
        exec(compile(out, "script", "exec"), {"__name__": "__main__"})
        assert capsys.readouterr().out.endswith(" violates the statement\n")
    status, out, _ = run(capsys, "replay", "--script", "fedlrt/claim-hom-stepsize")  # that of its first reading
    assert status == 0
    status, out, _ = run(capsys, "replay", names[1])
    assert status == 0
    assert re.findall(r"^(\S+): witness confirmed", out, flags=re.M) == [names[1]]
    status, _, err = run(capsys, "replay", f"{several}@nowhere")
    assert status == 2
    assert_one_line(err, f"no witness {several}@nowhere is stored; known witnesses: ", *names)


@pytest.mark.parametrize("command", ["check", "show", "replay"])
def test_unknown_ids_are_named_with_near_ones(capsys, command):
    status, _, err = run(capsys, command, "fedloru-v2/prop-3.2")
    assert status == 2
    assert_one_line(err, "no claim 'fedloru-v2/prop-3.2'", "did you mean fedloru-v2/prop-3.1")


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (("check", "--paper", "fedavg"), ("no paper 'fedavg'", "known: fedloru-iclr, fedloru-v1, fedloru-v2")),
        (("check", "--budget", "huge"), ("invalid choice: 'huge'",)),
        (("check", "--seed", "-1"), ("--seed", "at least 0, got '-1'")),
        (("check", "--jobs", "0"), ("--jobs", "at least 1, got '0'")),
        (("figure", "rmt/spectrum", "--seed", "x"), ("at least 0, got 'x'",)),
        (("figure", "rmt/spectra"), ("rmt/spectrum",)),
        (("figure",), ("name figures, or use --all without names",)),
        (("figure", "?", "--all"), ("name figures, or use --all without names",)),
        (("figure", "rmt/spectrum", "--scale", "huge"), ("invalid choice: 'huge'",)),
        (("data", "fetch", "imagenet"), ("unknown data set 'imagenet'", "known: cifar-10, cifar-100, fashion-mnist")),
        (("check", ""), ("argument ID", "must not be empty")),
        (("check", "--paper", "rolora", "fedlrt/thm-2"), ("no claim among fedlrt/thm-2 is of rolora",)),
        (
            ("check", "--paper", "fedloru-iclr", "--verdict", "refuted"),
            ("no claim is of fedloru-iclr and on record as refuted",),
        ),
        (("check", QUICK, "--json", ""), ("--json", "must not be empty")),
        (("check", QUICK, "--seed", "9" * 400), ("--seed", "must be a whole number")),
        (("check", QUICK, "two\nlines", "--nosuch"), ("unrecognized arguments: --nosuch",)),
        (("check", "two\nlines"), ("no claim is called 'two",)),
        (("claims", "--verdict", "refuted", "--paper", "fedloru-iclr"), ("no claim is of fedloru-iclr",)),
        (("claims", "--verdict", "refuted", "--print", "misprint"), ("no claim is on record as refuted, misprint",)),
        (("replay",), ("name claims or a paper, or use --all without names",)),
        (("replay", QUICK, "--all"), ("name claims or a paper, or use --all without names",)),
        (("figure", "rmt/spectrum", "--seed", "0", ""), ("a name must not be empty",)),
        (("figure", ""), ("argument ID", "must not be empty")),
        (("figure", "rmt/spectrum", "--json"), ("--list",)),
        (("figure", "rmt/spectrum", "--out", ""), ("--out", "must not be empty")),
        (("data", "verify", "--root", "", "mnist"), ("--root", "must not be empty")),
        (("nonsense",), ("invalid choice: 'nonsense'",)),
        ((), ("arguments are required",)),
    ],
)
def test_bad_usage_is_one_line_and_status_2(capsys, arguments, parts):
    status, out, err = run(capsys, *arguments)
    assert status == 2
    assert not out
    assert_one_line(err, *parts)


def test_an_absent_accelerator_is_one_line(capsys, tmp_path):
    import torch

    if torch.cuda.is_available():
        pytest.skip("this machine has one")
    status, _, err = run(capsys, "figure", "rmt/spectrum", "--device", "cuda", "--out", str(tmp_path))
    assert status == 2
    assert_one_line(err, "cuda")


@pytest.mark.parametrize(
    "arguments",
    [
        ("check", QUICK, "--json", "{}/verdicts.json"),
        ("report", "--out", "{}"),
        ("figure", "rmt/spectrum", "--out", "{}"),
    ],
)
def test_a_folder_that_cannot_be_written_fails_before_the_work(capsys, tmp_path, arguments):
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    status, out, err = run(capsys, *(part.format(blocked / "sub") for part in arguments))
    assert status == 2
    assert not out
    assert_one_line(err, "file")
    assert list(tmp_path.iterdir()) == [blocked]


@pytest.mark.parametrize(
    ("place", "part"),
    [("folder", "Is a directory"), ("nowhere/verdicts.json", "its folder does not exist"), ("circle", "links")],
)
def test_a_json_target_that_is_no_file_fails_before_the_work(capsys, tmp_path, place, part):
    (tmp_path / "folder").mkdir()
    (tmp_path / "circle").symlink_to("circle")
    before = sorted(tmp_path.rglob("*"))
    status, out, err = run(capsys, "check", QUICK, "--json", str(tmp_path / place))
    assert status == 2
    assert not out
    assert_one_line(err, f"cannot use {tmp_path / place}", part)
    assert sorted(tmp_path.rglob("*")) == before


def test_json_goes_through_links(capsys, tmp_path):
    (tmp_path / "link").symlink_to("target")
    assert run(capsys, "check", QUICK, "--json", str(tmp_path / "link"))[0] == 0
    assert (tmp_path / "link").is_symlink()
    assert len(json.loads((tmp_path / "target").read_text())["claims"]) == 1


@contextlib.contextmanager
def standard_streams(out, encoding=None):
    """Standard output is this open file, by its descriptor as well; standard error has the same encoding."""
    sys.stdout.flush()
    before = os.dup(1)
    os.dup2(out.fileno(), 1)
    try:
        with (
            open(1, "w", encoding=encoding, closefd=False) as own,
            io.TextIOWrapper(io.BytesIO(), encoding=encoding) as err,
            contextlib.redirect_stdout(own),
            contextlib.redirect_stderr(err),
        ):
            yield err
    finally:
        os.dup2(before, 1)
        os.close(before)


def test_json_on_standard_output_by_any_name(tmp_path):
    for name in ("-", "/dev/stdout", "/dev/fd/1", str(tmp_path / "out")):
        with (tmp_path / "out").open("w") as out, standard_streams(out) as err:
            assert rankproof.main(["check", QUICK, "--json", name]) == 0
            err.seek(0)
            assert "1 claim: 1 holds" in err.read()
        assert len(json.loads((tmp_path / "out").read_text())["claims"]) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize("arguments", ["claims", "claims --json", "figure --list", "data list", "check no\u00fc"])
def test_letters_that_the_terminal_lacks_are_no_error(tmp_path, monkeypatch, arguments):
    with (tmp_path / "out").open("w") as out, standard_streams(out, "ascii") as err:
        assert rankproof.main(arguments.split()) == (2 if "check" in arguments else 0)
        err.seek(0)
        assert ("no\\xfc" in err.read()) == ("check" in arguments)
    assert (tmp_path / "out").read_bytes().isascii()


def rankproof_in(folder, *arguments, **rest):
    """One command in a process of its own, for what happens at its start and its end: one that needs no ledger."""
    program = f"import sys; sys.path.insert(0, {str(ROOT)!r}); import rankproof; sys.exit(rankproof.main())"
    rest.setdefault("stdout", subprocess.PIPE)
    return subprocess.run(
        [sys.executable, "-c", program, *arguments], cwd=folder, stderr=subprocess.PIPE, text=True, check=False, **rest
    )


def test_a_terminal_of_another_encoding(tmp_path):
    settings = {**os.environ, "PYTHONIOENCODING": "ascii", "LC_ALL": "C", "PYTHONUTF8": "0", "COLUMNS": "80"}
    for arguments, status in ((("--help",), 0), (("data", "list"), 0), (("data", "fetch", "no\u00fc"), 2)):
        done = rankproof_in(tmp_path, *arguments, env=settings)
        assert "Traceback" not in done.stderr
        assert done.returncode == status
        assert done.stdout.isascii()


FULL = pytest.mark.skipif(not Path("/dev/full").exists(), reason="the full device is not here")


@FULL
@pytest.mark.parametrize("arguments", [("data", "list"), ("--help",)])
def test_a_full_disk_is_one_line(tmp_path, arguments):
    with open("/dev/full", "w") as full:
        done = rankproof_in(tmp_path, *arguments, stdout=full)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "No space left on device" in done.stderr


@FULL
@pytest.mark.parametrize("arguments", [("claims",), ("claims", "--json", "/dev/full"), ("claims", "--json")])
def test_more_than_is_written_at_once_on_a_full_disk(arguments):
    with open("/dev/full", "w") as full, standard_streams(full) as err:
        assert rankproof.main(arguments) == 2
        err.seek(0)
        (line,) = err.read().splitlines()
    assert "No space left on device" in line


@pytest.mark.parametrize("arguments", [("data", "list"), ("--help",), ("--version",)])
def test_a_reader_that_has_enough_is_no_error_and_no_success(tmp_path, arguments):
    reads, writes = os.pipe()
    os.close(reads)
    done = rankproof_in(tmp_path, *arguments, stdout=writes)
    os.close(writes)
    assert done.returncode == 141
    assert done.stderr == ""


def test_no_standard_streams_at_all(tmp_path):
    program = f"import sys; sys.path.insert(0, {str(ROOT)!r}); import rankproof; sys.exit(rankproof.main())"
    for arguments, status in (("data list", 0), ("--help", 0), ("data fetch nothing", 2), (f"show {QUICK}", 0)):
        line = f'exec "{sys.executable}" -c "$0" {arguments} >&- 2>&-'
        assert subprocess.run(["sh", "-c", line, program], cwd=tmp_path, check=False).returncode == status, arguments


def test_version(capsys):
    status, out, _ = run(capsys, "--version")
    assert status == 0
    assert out.split()[0] == "rankproof"


def test_options_may_stand_before_names(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("RANKPROOF_DATA", raising=False)
    status, _, err = run(capsys, "data", "verify", "--root", str(tmp_path), "mnist")
    assert status == 2
    assert_one_line(err, "MNIST was not found", str(tmp_path))
    status, out, _ = run(capsys, "figure", "rmt/spectrum", "--list", "rmt/transition")
    assert status == 0
    assert [line.split()[0] for line in out.splitlines()] == ["rmt/spectrum", "rmt/transition"]


def test_missing_and_damaged_data_are_named(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("RANKPROOF_DATA", raising=False)
    status, out, err = run(capsys, "data", "verify", "mnist")
    assert status == 2
    assert_one_line(err, "rankproof data fetch mnist")
    folder = tmp_path / "data" / "MNIST" / "raw"
    folder.mkdir(parents=True)
    for name in (
        "train-images-idx3-ubyte",
        "train-labels-idx1-ubyte",
        "t10k-images-idx3-ubyte",
        "t10k-labels-idx1-ubyte",
    ):
        (folder / name).write_bytes(b"altered")
    status, _, err = run(capsys, "data", "verify", "mnist")
    assert status == 2
    assert_one_line(err, "ubyte")
    status, out, _ = run(capsys, "data", "list", "mnist")
    assert status == 0
    assert "damaged" in out


def every_command():
    """Names and parsers of all commands."""
    (commands,) = (action for action in rankproof._parser()._actions if hasattr(action, "choices") and action.choices)
    found = {}
    for name, parser in commands.choices.items():
        found[name] = parser
        found |= {f"{name} {action}": other for action, other in parser.actions.items()}
    return found


def test_examples_in_the_help_use_options_that_the_same_help_lists(capsys):
    commands = every_command()
    assert len(commands) > 10
    for name, parser in commands.items():
        (example,) = re.findall(r"^example: rankproof (.*)$", parser.epilog, flags=re.M)
        words = shlex.split(example)
        assert words[: len(name.split())] == name.split()
        assert rankproof._parser().parse_args(words).command
        status, help, _ = run(capsys, *name.split(), "--help")
        assert status == 0
        for option in (word for word in words if word.startswith("-")):
            assert re.search(rf"^  (?:-\w, )?{option}\b", help, flags=re.M), f"{name} --help lacks {option}"


@pytest.mark.parametrize("name", sorted(every_command()))
def test_every_command_suggests_the_nearest_option(capsys, name):
    parser = every_command()[name]
    own = [flag for flag in parser.flags if flag != "--help" and not flag.startswith("--no-")]
    if name == "train":
        own = ["--data", "--resume"]
    wrong = {f"--x{flag[2:]}": flag for flag in own if len(flag) > 6} or {"--helq": "--help"}
    for flag, meant in wrong.items():
        for words in ([flag], [f"{flag}=1"], ["some", flag, "1"]):
            if parser.actions and parser.prog.count(" ") == 1 and words[0] == "some":
                continue  # an action that there is not
            status, out, err = run(capsys, *name.split(), *words)
            if name == "train" and words[0] == "some":
                continue  # an algorithm that there is not
            assert (status, out) == (2, ""), words
            assert_one_line(err, f"unrecognized arguments: {flag}", f"did you mean {meant}?")


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (("train", "rolora", "--lr", "0.1"), "--learning-rate"),
        (("train", "rolora", "--lora-alpha", "16"), "--scale"),
        (("train", "fedlora", "--lora_r=4"), "--rank"),
        (("train", "fedlora", "--loraplus-lr-ratio", "16"), "--b-rate"),
        (("train", "fedavg", "--warmup-steps", "5"), "--schedule-warmup"),
        (("train", "fedavg", "--batch-size", "8"), "--batch"),
        (("train", "fedavg", "--num-clients", "8"), "--clients"),
        (("train", "fedavg", "--optimizer", "adam"), "--optimiser"),
        (("spectrum", "--gpu"), "--device"),
        (("spectrum", "--bn", "batch"), "--batch-norm"),
        (("spectrum", "--float64"), "--double"),
        (("check", "--threads", "2"), "--jobs"),
        (("figure", "rmt/", "--output-dir", "x"), "--out"),
        (("data", "--rot", "x", "list"), "--root"),
        (("show", "--bugdet", "full"), "--budget"),
        (("--vresion",), "--version"),
    ],
)
def test_names_of_other_software_lead_to_the_options_here(capsys, words, meant):
    status, out, err = run(capsys, *words)
    assert (status, out) == (2, "")
    assert_one_line(err, f"did you mean {meant}?")


def test_an_option_like_none_is_refused_without_a_suggestion(capsys):
    status, _, err = run(capsys, "check", "--quux")
    assert status == 2
    assert_one_line(err, "unrecognized arguments: --quux")
    assert "did you mean" not in err


def test_help_helps(capsys):
    for command in ("check", "claims", "show", "replay", "figure", "spectrum", "data", "train", "report", ""):
        status, out, _ = run(capsys, *command.split(), "--help")
        assert status == 0
        assert f"usage: rankproof {command}".rstrip() in out
        assert f"example: rankproof {command}".rstrip() in out
        if command in ("check", "show", "report"):
            assert re.search(r"--jobs N +number of processes; default: one per processor", out)
        if command == "report":
            assert re.search(r"--out DIR +folder to write to; default: report\n", out)


def test_the_console_command_runs_and_what_few_commands_need_is_loaded_by_these():
    """Help needs no numpy, a worker no paper, and the list of the papers neither torch nor scipy."""
    steps = (
        ("rankproof", "numpy"),
        ("paper_checks.run", "paper_checks.ledger"),
        ("paper_checks.ledger", "scipy"),
        ("paper_checks.ledger", "torch"),
    )
    program = "import sys\n" + "".join(f"import {name}; print({other!r} in sys.modules)\n" for name, other in steps)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.split() == ["False"] * len(steps)
    command = Path(sys.executable).with_name("rankproof")
    if command.exists():
        done = subprocess.run([command, "data", "list"], capture_output=True, text=True, check=True)
        assert "fashion-mnist" in done.stdout
