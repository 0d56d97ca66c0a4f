"""The printed tables are whole, cannot be changed, and differ between the versions where they are known to differ."""

import pytest

from figures.language.sizes import MODELS_OF_FEDLORU
from paper_checks.fedloru.numbers.parameter_counts import count_network
from paper_checks.fedloru.tables import (
    LOW_RANK,
    TABLE_1_ICLR,
    TABLE_1_V1,
    TABLE_2_V1,
    TABLE_6,
    by_setting,
    differences,
    in_percent,
)
from paper_checks.methods.printed import Rounded


def test_table_1_has_a_cell_for_every_setting_and_size():
    assert len(TABLE_1_ICLR) == 27
    assert len(TABLE_1_V1) == 18
    assert len({case.name for case in TABLE_1_ICLR + TABLE_1_V1}) == 45
    assert all(len(cases) == 3 for cases in by_setting(TABLE_1_ICLR).values())
    for case in TABLE_1_ICLR:
        assert tuple(case.accuracies) == LOW_RANK
    for cases in by_setting(TABLE_1_V1).values():
        assert ["FedLoRA" in case.accuracies for case in cases] == [True, False, False]


def test_cells_are_where_they_are_printed():
    cases = {case.name: case for case in TABLE_1_ICLR + TABLE_1_V1}
    assert cases["CIFAR-100 NonIID K=20 31%"].accuracies["FedLoRU"] == "15.70"
    assert cases["Fashion-MNIST IID K=100 22%"].fedavg == "90.19"
    assert cases["CIFAR-10 IID K=100 3.44M"].accuracies["FedHM"] == "81.58"


def test_tables_cannot_be_changed():
    with pytest.raises(TypeError):
        TABLE_1_ICLR[0].accuracies["FedLoRU"] = "99.99"


def test_the_same_quantity_is_printed_alike_within_a_version():
    large = {row.method: row.accuracy for row in TABLE_6 if row.clients == 100}
    (case,) = (case for case in TABLE_1_ICLR if case.name == "CIFAR-100 IID K=100 41%")
    assert {name: case.accuracies[name] for name in large} == large
    (old,) = (case for case in TABLE_1_V1 if case.name == "CIFAR-100 IID K=100 4.63M")
    assert old.accuracies["FedLoRU"] == next(row.accuracy for row in TABLE_2_V1 if row.clients == 100)


def test_differences_between_the_versions():
    found = {difference.cell: (difference.v1, difference.later) for difference in differences()}
    assert len(found) == 16
    assert found["Table 1, CIFAR-10 IID K=100 41% (4.59M), FedLoRU"] == ("81.36", "81.46")
    assert found["v1 Table 2 / v2 Table 6, K=400, ratio"] == ("0.551", "0.673")
    assert not any("FedAvg" in cell for cell in found)


def test_fractions_are_read_in_per_cent():
    assert in_percent({"a": "0.5382"}, unit=100)["a"] == Rounded.printed("53.82")


@pytest.mark.parametrize(
    ("name", "parameters"),
    [("LLaMA-2-7B", 6_738_415_616), ("OpenLLaMA-3B", 3_426_473_600), ("Llama-3.2-3B", 3_212_749_824)],
)
def test_language_models_have_the_published_sizes(name, parameters):
    assert MODELS_OF_FEDLORU[name].parameters == parameters


def test_networks_are_counted_by_their_parts():
    network = count_network(18, 10, 3)
    assert network.total == 11_173_962
    assert (network.stem, network.norms, network.head) == (1728, 9600, 5130)
    assert sum(layer.shortcut for layer in network.convolutions) == 3
