"""FedAvg and FedLoRU at the paper's scale: its runs, and the statements about them."""

import pandas as pd
import pytest

from figures.fedloru import paper_scale as scale
from figures.fedloru.paper_scale import PAPER_SCALE, ROUNDS, TAU
from figures.figure import Settings


@pytest.mark.parametrize("name", ["quick", "laptop", "paper"])
def test_two_methods_of_the_largest_federation_are_run_without_a_choice(name):
    made = scale.design(Settings(name))
    fedavg, fedloru = made.lines
    assert [line.algorithm for line in made.lines] == ["fedavg", "fedloru"]
    assert (made.rounds, made.seeds, made.runs) == (ROUNDS[name], 1, 2)
    assert fedloru.options["tau"] == TAU[name] < made.rounds
    assert fedavg.keys["clients"] == fedloru.keys["clients"] == {"quick": 4}.get(name, 100)
    trial = fedloru.trial(made.rounds, (0,), 0.1)
    assert trial.settings["schedule_period"] == {"quick": 2, "laptop": 16, "paper": 400}[name]


def runs(rounds):
    """FedAvg sends 10 a round and FedLoRU 4, after 6 at the start."""
    rows = []
    for method, first, each, gain in (("FedAvg", 0, 10, 0.03), ("FedLoRU", 6, 4, 0.02)):
        for number in range(rounds + 1):
            at = {"round": number, "value": 0.1 + gain * number, "bytes": (first + each * number) * 10**9}
            rows.append({"stage": "run", "method": method, "clients": 100, "seed": 0, **at})
    return pd.DataFrame(rows)


def test_methods_are_compared_after_as_many_rounds_and_as_many_bytes():
    table = runs(22)  # 94 GB of FedLoRU: nine rounds of FedAvg
    assert scale.ends(table) == {
        "FedAvg": (22, pytest.approx(0.76)),
        "FedLoRU": (22, pytest.approx(0.54)),
        "as many bytes": (9, pytest.approx(0.37)),
    }
    words = (
        "After 22 rounds FedAvg has 76.0 %, FedLoRU 54.0 %; with as many bytes as FedLoRU, FedAvg runs 9 rounds "
        "and reaches "
        "37.0 %"
    )
    assert scale.paper_scale_outcome(table) == words
    assert words in PAPER_SCALE.found(table)
    assert PAPER_SCALE.sizes(table) == "22 rounds, 100 clients, seed 0, learning rate 0.1."


@pytest.mark.parametrize("name", ["laptop", "paper"])
def test_the_accumulation_is_marked_where_it_is(name):
    by_round, by_bytes = scale.draw(runs(ROUNDS[name])).axes
    assert [list(line.get_xdata()) for line in by_round.lines if len(line.get_xdata()) == 2] == [[TAU[name]] * 2]
    assert max(by_bytes.lines[0].get_xdata()) == 10 * ROUNDS[name]
