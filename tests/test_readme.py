"""The README does what it says."""

import json
import re
import shlex
from pathlib import Path

import pandas as pd
import pytest

import rankproof
from paper_checks.ledger import PAPERS
from paper_checks.pages.card import STATED, VERDICT_MEANS, count_verdicts
from workloads.data.datasets import find

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text()
VERDICTS = (ROOT / "docs" / "verdicts.md").read_text()
COMMANDS = (ROOT / "docs" / "commands.md").read_text()
SPECTRA = (ROOT / "docs" / "spectra.md").read_text()


def test_its_python_example_runs():
    (program,) = re.findall(r"```python\n(.*?)```", README, flags=re.S)
    names = {}
    exec(program, names)
    assert round(names["model"].outliers[0].location, 2) == 2.32
    assert round(names["model"].outliers[0].overlap, 2) == 0.84
    assert abs(names["draw"].top(1)[0] - 2.32) < 1e-4


@pytest.mark.slow
def test_its_first_run_learns_what_it_says(tmp_path):
    (command,) = re.findall(r"^rankproof (train fedloru .*)$", README, flags=re.M)
    start, end = re.search(r"from (\d+) % to (\d+) % accuracy on MNIST", README).groups()
    if find("mnist") is None:
        pytest.skip("MNIST is not here: rankproof data fetch mnist")
    assert rankproof.main([*shlex.split(command), "--out", str(tmp_path / "run")]) == 0
    rows = pd.read_csv(tmp_path / "run" / "metrics.csv")
    assert [round(100 * rows.accuracy.iloc[i]) for i in (0, -1)] == pytest.approx([int(start), int(end)], abs=2)


def test_it_is_read_in_one_sitting():
    assert len(README.splitlines()) <= 120


def test_its_counterexample_is_the_stored_one(capsys):
    (block,) = re.findall(r"```console\n(.*?)```", README, flags=re.S)
    command, first, _, *replayed = block.splitlines()
    assert rankproof.main(command.removeprefix("$ rankproof ").split()) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert first in printed
    for part in " ".join(" ".join(replayed).split()).split(" [...] "):
        assert part in printed
    promised, found = re.search(r"falls by at least ([\d.]+) in this round. It falls by ([\d.]+)\.", README).groups()
    assert f"-{found} > -{promised}" in printed


@pytest.mark.parametrize("paper", PAPERS, ids=lambda paper: paper.name)
def test_its_counts_are_those_of_the_ledger(paper):
    """Counts of a paper's statements and numbers, by verdict on record."""
    stated = [claim.expect for claim in paper.claims() if claim.kind in STATED]
    (row,) = (line for line in README.splitlines() if line.startswith(f"| **{paper.called}**"))
    assert row.split("|")[2].strip() == f"{len(stated)}: {count_verdicts(stated)}"


@pytest.mark.parametrize("verdict", VERDICT_MEANS)
def test_definitions_of_verdicts_are_those_of_the_report(verdict):
    assert f"\n| {verdict} | {VERDICT_MEANS[verdict].rstrip('.')} |\n" in VERDICTS


@pytest.fixture
def written(tmp_path, monkeypatch):
    """A folder with the file of options that pages name, which is read together with the command line."""
    (tmp_path / "run.toml").write_text('algorithm = "fedlrt"\n')
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("line", sorted(set(re.findall(r"`rankproof ([^`]+)`", README + COMMANDS)) - {"--help"}))
def test_its_commands_are_understood(line, written):
    options = rankproof._parser().parse_args(shlex.split(line))
    assert callable(options.command)


def test_the_page_on_spectra_runs():
    names = {}
    for program in re.findall(r"```python\n(.*?)```", SPECTRA, flags=re.S):
        exec(program, names)
    assert names["found"].low <= names["found"].value <= names["found"].high
    assert {"0", "2"} == set(names["whole"].blocks())
    assert names["report"].largest == 5


def commands_of(page):
    """Commands in a page's blocks of shell lines, without what they redirect."""
    text = (ROOT / page).read_text(encoding="utf-8").replace("\\\n", " ")
    for block in re.findall(r"```(?:bash|sh|console)\n(.*?)```", text, flags=re.S):
        for line in block.splitlines():
            words = shlex.split(line.removeprefix("$ ").split(">")[0], comments=True)
            if words[:1] == ["rankproof"]:
                yield words[1:]


@pytest.mark.parametrize(
    "page", ["README.md", "CONTRIBUTING.md", *sorted(f"docs/{p.name}" for p in ROOT.glob("docs/*.md"))]
)
def test_commands_in_blocks_are_understood(page, written):
    for command in commands_of(page):
        if not any(word == "--help" or word.startswith("$") for word in command):
            assert callable(rankproof._parser().parse_args(command).command), command


def test_commands_are_found_in_blocks():
    assert [command[0] for command in commands_of("README.md")] == ["replay", "train", "runs"]
    assert len(list(commands_of("docs/spectra.md"))) >= 6


def test_the_printed_example_is_the_stored_one():
    """The numbers on the page are those of the file next to its picture."""
    stored = json.loads((ROOT / "docs" / "figures" / "spectrum-mnist.json").read_text())
    (block,) = re.findall(r"```text\n(Hessian.*?)```", SPECTRA, flags=re.S)
    rank, fit, cost = stored["stable_rank"], stored["fit"], stored["cost"]
    norm = rank["frobenius"]
    ends = {end: [e["value"] for e in stored["eigenvalues"] if e["end"] == end] for end in ("upper", "lower")}
    for line in (
        f"{stored['parameters']:,} parameters, {stored['samples']:,} samples, loss {stored['loss']:.4g} (",
        f"stable rank    {rank['value']:.4g}, {rank['low']:.4g} to {rank['high']:.4g} at 95 %",
        f"spectral {rank['spectral_norm']['value']:.4g} (eigenvalue {rank['eigenvalue']:+.4g})",
        f"Frobenius {norm['value']:.4g}, {norm['low']:.4g} to {norm['high']:.4g}",
        f"largest        {', '.join(f'{value:.4g}' for value in ends['upper'][:6])}, ...",
        f"smallest       {', '.join(f'{value:.4g}' for value in ends['lower'][::-1][:6])}, ...",
        f"sigma {fit['sigma']:.3g} +- {fit['sigma_sd']:.1g}, bulk edge {2 * fit['sigma']:.3g}",
        f"outliers       above: {fit['outliers_above']['text']}; below: {fit['outliers_below']['text']}",
        f"distance {fit['semicircle_distance']['value']:.2f} from the fitted semicircle",
        f"{cost['products']} products (stable rank {cost['products_by_part']['stable rank']}, ",
        f"the time of {cost['gradients']:.0f} gradients, {cost['seconds_of_products']:.1f} s; "
        f"checks {cost['seconds_of_checks']:.1f} s",
    ):
        assert line in block
