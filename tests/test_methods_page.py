"""The page on methods against the catalogue and the ledger: every row is run."""

import re
from pathlib import Path

import pytest
import torch

from algorithms.federation import Federation
from algorithms.rounds import one_round
from algorithms.tree import Tree
from hessian.numerics.live_bytes import measure_memory
from runs.catalogue import ALGORITHMS, options_of
from runs.plan import PER_CLIENT, make_plan, parts_of

PAGE = (Path(__file__).resolve().parent.parent / "docs" / "methods.md").read_text()
TABLE = PAGE.split("## What travels")[1].split("\n## ")[0]
ROWS = {
    cells[1].strip("`"): cells
    for line in re.findall(r"^\| (.+) \|$", TABLE, flags=re.M)
    if (cells := line.split(" | "))[1].startswith("`")
}
SIZES = {"m": 7, "n": 5, "r": 2, "K": 3}


def value(formula):
    """Return the value of a formula such as $`2(m + n)r + r^2`$ at the sizes of this test."""
    plain = formula.strip("$`").replace("^", "**")
    return eval(re.sub(r"(?<=[\w)])(?=[a-zA-Z(])", "*", plain), {}, dict(SIZES))


def run(name, cohort=(0, 1, 2), federation=None):
    """Return the algorithm, the federation and the state after one round of a layer of these sizes."""
    problem = "regression" if name == "rolora-exact" else "quadratics"
    given = {"rank": 2, "clients": 3, "steps": 3, "rows": 7, "columns": 5, "truncation": 0.0, "heterogeneity": 0.5}
    known = options_of(name, problem, {})
    parts = parts_of(make_plan(name, problem, {key: entry for key, entry in given.items() if key in known}))
    start = Tree(W=torch.eye(7, 5, dtype=torch.float64))
    clients, shares = parts.problem.clients, (1.0, 2.0, 3.0)
    if name == "central":
        clients, shares = parts.algorithm.pool(clients, shares)
        cohort = (0,)
    fed = Federation(clients, shares=shares)
    return parts.algorithm, fed, one_round(parts.algorithm.round, fed, parts.algorithm.start(fed, start), cohort)


def test_every_method_has_a_row():
    assert list(ROWS) == list(ALGORITHMS), "docs/methods.md needs a row for each method, in the catalogue's order"


@pytest.mark.parametrize("name", ROWS)
def test_what_travels_is_what_the_ledger_counts(name):
    _, _, up, down, *_ = ROWS[name]
    _, fed, _ = run(name)
    assert (fed.ledger.count("up", 1), fed.ledger.count("down", 1)) == (3 * value(up), 3 * value(down))


@pytest.mark.parametrize("name", ROWS)
def test_ranks_and_what_is_kept_are_those_of_the_code(name):
    *_, ranks, kept, _ = ROWS[name]
    assert (ranks == "yes") is bool(set(PER_CLIENT) & set(options_of(name, "quadratics", {})))
    _, fed, _ = run(name)
    assert (kept != "nothing") is bool(fed.personal(0))


def test_what_goes_to_all_clients_in_a_round_is_in_the_table():
    """Two of five clients take part, others in the second round, and updates accumulate in each."""
    table = PAGE.split("| sent to all clients in a round | methods |")[1].split("\n\n")[0]
    found = {}
    for name in ROWS:
        if name == "central":
            continue
        problem = "regression" if name == "rolora-exact" else "quadratics"
        given = {"rank": 2, "clients": 5, "steps": 2, "rows": 7, "columns": 5, "truncation": 0.0, "tau": 1}
        known = options_of(name, problem, {})
        parts = parts_of(make_plan(name, problem, {key: entry for key, entry in given.items() if key in known}))
        fed = Federation(parts.problem.clients)
        state = parts.algorithm.start(fed, Tree(W=torch.eye(7, 5, dtype=torch.float64)))
        for cohort in ((0, 1), (2, 3)):
            state = one_round(parts.algorithm.round, fed, state, cohort)
        receivers = {entry.clients for entry in fed.ledger.entries if (entry.round, entry.direction) == (2, "down")}
        assert receivers <= {2, 5}
        found[name] = 5 in receivers
    assert {name for name, to_all in found.items() if to_all} == set(re.findall(r"`([a-z-]+)`", table))


def test_the_cohort_of_rolora_receives_what_the_page_says():
    algorithm, fed, state = run("rolora", cohort=(0, 1))
    one_round(algorithm.round, fed, state, (1, 2))
    (formula,) = re.findall(r"(\$`[^`]+`\$) numbers instead of \$`\(m \+ n\)r`\$", PAGE)
    assert fed.ledger.count("down", 2) == 2 * value(formula)


ONE_EXCHANGE = [
    name
    for name in ROWS
    if name not in ("fedlin", "local", "central", "rolora", "rolora-exact", "fedsa-lora", "pfedpara")
    and not name.startswith("fedlrt")
]


@pytest.mark.parametrize("name", ONE_EXCHANGE)
def test_a_mean_is_exact_if_the_model_is_the_mean_of_the_clients_models(name):
    """The model of a client is that of a round without the others. FedHM starts from truncated weights in both."""
    algorithm, _, state = run(name)
    mean = sum(
        share / 6.0 * algorithm.weights(run(name, cohort=(k,))[2])["W"] for k, share in enumerate((1.0, 2.0, 3.0))
    )
    off = float((algorithm.weights(state)["W"] - mean).abs().max())
    exact = ROWS[name][4].startswith("exact")
    assert exact or ROWS[name][4].startswith("inexact")
    assert off < 1e-12 if exact else off > 1e-9


HELD = PAGE.split("| numbers held for each client | until | methods |")[1].split("\n\n")[0]
FORMULAS = {
    name: tuple(value(formula) for formula in re.findall(r"\$`[^`]+`\$", line.split("|")[1]))
    for line in HELD.splitlines()
    for name in re.findall(r"`([a-z0-9-]+)`", line.split("|")[3] if line.count("|") > 3 else "")
}


def peak(name, count):
    """Return the largest number of numbers that the first round of some clients holds at a time."""
    problem = "regression" if name == "rolora-exact" else "quadratics"
    given = {"rank": 2, "personal_rank": 2, "clients": count, "steps": 1, "rows": 7, "columns": 5, "truncation": 0.0}
    known = options_of(name, problem, {})
    parts = parts_of(make_plan(name, problem, {key: entry for key, entry in given.items() if key in known}))
    fed = Federation(parts.problem.clients)
    state = parts.algorithm.start(fed, Tree(W=torch.eye(7, 5, dtype=torch.float64)))
    cohort = tuple(range(count))
    return measure_memory(lambda: one_round(parts.algorithm.round, fed, state, cohort), torch.device("cpu"))[1].peak / 8


@pytest.mark.parametrize("name", [name for name in ROWS if name != "central"])
def test_memory_grows_with_the_clients_as_the_page_says(name):
    """Central training has one client. A scalar for each client, such as a loss, does not count."""
    assert set(FORMULAS) < set(ROWS)
    least, most = (FORMULAS.get(name, (0,))[place] for place in (0, -1))
    growth = (peak(name, 16) - peak(name, 8)) / 8
    assert least <= growth < most + 3


def test_the_pages_sizes_are_right():
    kilobytes = [4 * (768 + 768) * rank / 1000 for rank in (2, 16)]
    assert [round(size) for size in kilobytes] == [12, 98]
    assert [int(1000 / (2 * size)) for size in kilobytes] == [40, 5]
