"""Completion in shells: the scripts offer the names that the registries have, where they belong."""

import re
import shutil
import subprocess

import pytest
import shtab

import rankproof
from figures.ledger import all_figures
from paper_checks.completion_command import SHELLS, script_of
from paper_checks.ledger import Ledger
from runs.catalogue import ALGORITHMS, PROBLEMS


@pytest.fixture(scope="module")
def scripts(tmp_path_factory):
    folder = tmp_path_factory.mktemp("completion")
    for shell in SHELLS:
        (folder / shell).write_text(script_of(shell, rankproof._parser(), shtab))
    return folder


def offered(scripts, *words):
    """Words that bash offers for the last one of a command line."""
    program = """
        source "$1"; shift
        COMP_WORDS=("$@"); COMP_CWORD=$(( $# - 1 ))
        _shtab_rankproof
        printf "%s\\n" "${COMPREPLY[@]}"
    """
    command = ["bash", "-c", program, "bash", str(scripts / "bash"), "rankproof", *words]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()


def test_claims_and_papers(scripts):
    ids = [claim.id for claim in Ledger.of().claims]
    for command in ("check", "claims", "show", "replay", "report"):
        assert offered(scripts, command, "fedlrt/thm-1") == [id for id in ids if id.startswith("fedlrt/thm-1")]
    assert set(offered(scripts, "check", "fedlrt/thm-1", "")) == set(ids)
    assert {"fedloru", "fedloru-v2", "fedlrt"} <= set(offered(scripts, "check", "--paper", "fedl"))
    assert {"fedloru", "fedlrt", "rolora"} <= set(offered(scripts, "findings", ""))


def test_figures_algorithms_problems_and_data(scripts):
    assert set(offered(scripts, "figure", "rolora/")) == {f.id for f in all_figures() if f.id.startswith("rolora/")}
    assert set(offered(scripts, "train", "")) >= set(ALGORITHMS)
    assert set(offered(scripts, "train", "fedlrt", "--data", "")) >= set(PROBLEMS)
    assert offered(scripts, "data", "fetch", "mn") == ["mnist"]
    assert "spectra" in offered(scripts, "help", "spec")


def test_actions_and_their_options(scripts):
    assert offered(scripts, "runs", "") == ["list", "show", "compare", "plot", "export"]
    assert "--against" in offered(scripts, "runs", "compare", "--a")
    assert not offered(scripts, "runs", "list", "--a")
    assert offered(scripts, "completion", "") == list(SHELLS)


def test_options_of_every_algorithm_with_their_words(scripts):
    assert {"--truncation", "--truncation-rule"} <= set(offered(scripts, "train", "fedlrt", "--trunc"))
    assert {"sgd", "adamw"} <= set(offered(scripts, "train", "fedavg", "--optimiser", ""))
    assert "--tracker" in offered(scripts, "train", "fedavg", "--tra")


@pytest.mark.parametrize("shell", SHELLS)
def test_scripts_are_valid_and_have_each_list_once(scripts, shell):
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not here")
    subprocess.run([shell, "-n", str(scripts / shell)], check=True)
    text = (scripts / shell).read_text()
    assert text.count(" fedlrt/thm-11-combine ") == 1
    assert len(re.findall(r"^_rankproof_\w+\(\)", text, flags=re.M)) == 7


def test_the_command_prints_the_script(capsys, scripts):
    assert rankproof.main(["completion", "zsh"]) == 0
    assert capsys.readouterr().out == (scripts / "zsh").read_text() + "\n"
    assert rankproof.main(["completion", "tcsh"]) == 2
    assert "invalid choice: 'tcsh'" in capsys.readouterr().err
