"""The file of a claim bears the name of its result, and its replays and proofs are in the file of the same name."""

import importlib
import pkgutil
import re
from collections import defaultdict
from pathlib import Path

import pytest

from paper_checks.evaluation import Replay, declared_in
from paper_checks.ledger import PAPERS
from paper_checks.replay import replays_of
from paper_checks.replaying.places import replay_place

ROOT = Path(__file__).parents[2]
CLAIMS = [claim for paper in PAPERS for claim in paper.claims()]
RESULT = re.compile(r"(thm|lem|lemma|prop|cor|alg|fig|tab|table|assump|assumption|asm)-([A-Z]?\.?\d+(?:\.\d+)*)")
"""A label that begins with a numbered result."""
FILE = re.compile(r"(?:v1_)?(?:thm|lem|lemma|lemmas|prop|cor|alg|fig|figs|table|assump|assumption|eq|sec)_\w+")
"""A file named by a result, an equation or a section."""

UNDER_ANOTHER_NAME = {
    "fedlrt/alg-2": "Algorithm 2 holds the auxiliary functions of Algorithm 1",
    "fedlrt/cor-2-proof": "Corollary 2 is Corollary 1 with its proof",
    "fedlrt/thm-6-proof": "Theorem 6 is Theorem 1 with its proof",
    "fedlrt/thm-6-recursion": "Theorem 6 is Theorem 1 with its proof",
    "fedlrt/thm-9-proof": "Theorem 9 is Theorem 2 with its proof",
    "fedlrt/thm-10-proof": "Theorem 10 is Theorem 3 with its proof",
    "fedlrt/thm-11-combine": "Theorem 11 is Theorem 4 with its proof",
    "fedlrt/thm-11-hat-first": "Theorem 11 is Theorem 4 with its proof",
    "fedlrt/thm-11-hat-lines": "Theorem 11 is Theorem 4 with its proof",
    "fedlrt/thm-11-hat-second": "Theorem 11 is Theorem 4 with its proof",
    "fedloru-iclr/prop-3.1": "it is Proposition 3.2 of v1",
    "rolora/asm-A.12": "the assumption belongs to the different clients of Appendix A.5",
    "rolora/cor-A.5": "Appendix A.2 lists auxiliary results in one file",
    "rolora/fig-1": "Figure 1 draws the rounds of Section 4",
    "rolora/lem-A.3": "Appendix A.2 lists auxiliary results in one file",
    "rolora/lem-A.4": "Appendix A.2 lists auxiliary results in one file",
    "rolora/lem-A.7": "Appendix A.2 lists auxiliary results in one file",
    "rolora/table-3": "Table 3 is the notation of Section 5.1",
    "rolora/table-10": "Table 10 is Table 2 at another rank",
    "rolora/thm-A.8": "Appendix A.2 lists auxiliary results in one file",
}
"""Numbered results that are in the file of another, with the reason."""

THEMES = {
    "paper_checks.fedlrt.client_drift": "running text of Section 2",
    "paper_checks.fedlrt.full_rank_distance": "running text of Section 3.1",
    "paper_checks.fedlrt.simplified_correction": "running text of Section 3.1 on all experiments",
    "paper_checks.fedlrt.step_restrictions": "running text of Appendix D",
    "paper_checks.fedloru.spectral.noise_scale": "running text of Section 3.1 and Appendix A",
    "paper_checks.fedloru.numbers.accuracies": "one sentence is judged by the tables of three versions",
    "paper_checks.fedloru.numbers.against_fedavg": "one sentence is judged by the tables of three versions",
    "paper_checks.fedloru.numbers.experiments": "what tables and figures say of runs, a few lines each",
    "paper_checks.fedloru.numbers.parameter_counts": "counts that several tables and versions print",
    "paper_checks.fedloru.numbers.settings": "settings that several tables and sections print",
    "paper_checks.fedloru.numbers.tables_2_to_7": "the versions number the same tables differently",
    "paper_checks.rolora.baselines": "methods of other papers, which have no box",
    "paper_checks.rolora.communication": "sizes and costs of Tables 4 to 11, which share their counts",
    "paper_checks.rolora.language_settings": "settings of Section 6 and Appendix B",
    "paper_checks.rolora.messages": "a sentence of Section 6.1 that holds for any shape",
    "paper_checks.rolora.running_text": "sentences of Sections 1, 3 and 5",
}
"""Files of themes, with the reason why no result names them."""


def numbers_of(stem: str) -> list[str]:
    """Return the numbers of a file's name: ``lemmas_4_to_7`` has 4, 5, 6 and 7, ``lem_a_10_bound`` has a_10."""
    spread = re.fullmatch(r"\w+?_(\d+)_to_(\d+)", stem)
    if spread:
        return [str(number) for number in range(int(spread[1]), int(spread[2]) + 1)]
    found = re.match(r"(?:v1_)?[a-z]+_((?:[a-z]_)?\d+(?:_\d+)*)", stem)
    return [found[1]] if found else []


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.id)
def test_a_claim_is_in_the_file_of_its_result_or_of_a_theme(claim):
    stem = claim.module.rpartition(".")[2]
    assert (claim.module in THEMES) != bool(FILE.fullmatch(stem)), "a theme needs its reason"
    result = RESULT.match(claim.label)
    if result and claim.module not in THEMES:
        number = result[2].lower().replace(".", "_")
        assert (claim.id in UNDER_ANOTHER_NAME) != (number in numbers_of(stem)), f"{claim.id} is in {stem}"


def files_of_replays(package: str) -> dict[str, set[str]]:
    """Return files of a paper's replays that declare one of a claim, by the claim's id."""
    replays = importlib.import_module(f"{package}.replays")
    found: dict[str, set[str]] = defaultdict(set)
    for one in pkgutil.iter_modules(replays.__path__):
        for _, item in declared_in(importlib.import_module(f"{replays.__name__}.{one.name}"), Replay):
            found[item.id.partition("@")[0]].add(one.name)
    return found


@pytest.mark.parametrize("paper", PAPERS, ids=lambda paper: paper.name)
def test_a_replay_is_in_the_file_of_the_name_of_its_check(paper):
    stems = {claim.id: {claim.module.rpartition(".")[2]} for claim in paper.claims()}
    found = files_of_replays(paper.package)
    assert set(found) == {id.partition("@")[0] for id, _ in replays_of(paper.package)}
    assert {id: files for id, files in found.items() if files != stems[id]} == {}


@pytest.mark.parametrize("paper", PAPERS, ids=lambda paper: paper.name)
def test_the_place_of_a_replay_is_where_its_paper_declares_it(paper):
    """Shared functions, such as `rank_below`, are in `replays/shared`; the place is the declaration of this claim."""
    homes = {claim.id: claim.module.rpartition(".")[2] for claim in paper.claims()}
    for (id, _), replay in replays_of(paper.package).items():
        claim, place = id.partition("@")[0], replay_place(replay)
        assert place.file == f"{paper.package.replace('.', '/')}/replays/{homes[claim]}.py", id
        below = "\n".join((ROOT / place.file).read_text().splitlines()[place.line - 1 :][:12])
        assert f"def {place.name}(" in below or (below.startswith(f"{place.name} = ") and id in below), id


def test_the_lists_of_exceptions_name_what_there_is():
    assert set(UNDER_ANOTHER_NAME) <= {claim.id for claim in CLAIMS}
    assert set(THEMES) <= {claim.module for claim in CLAIMS}
