"""Sizes of language experiments: equal to the algorithms' counts of what they send, and to the claims."""

import numpy as np
import pytest

from figures.figure import Settings
from figures.language.sizes import FEDLORU_FIGURE, ROLORA_FIGURE, trained
from paper_checks.context import Context
from paper_checks.rolora.messages import count_traffic

FIGURES = (ROLORA_FIGURE, FEDLORU_FIGURE)


@pytest.fixture(scope="module")
def rolora():
    return ROLORA_FIGURE.data(Settings())


def test_what_is_sent_is_what_the_algorithms_send():
    for (inputs, outputs), by_method in count_traffic(Context(0)).items():
        for method, directions in by_method.items():
            for sent in directions.values():
                assert tuple(sent) == trained(method, inputs, outputs, 2), (inputs, outputs, method)


def test_sizes_of_an_iteration_and_of_the_moments(rolora):
    np.testing.assert_array_equal(rolora.optimiser_bytes, 2 * 4 * rolora.trained)
    np.testing.assert_array_equal(rolora.bytes_up, 4 * rolora.trained)
    np.testing.assert_array_equal(rolora.bytes_down, rolora.bytes_up)  # in a round, as the caption has it
    rounds = rolora.method.map({"LoRA": 1, "FlexLoRA": 1, "FFA-LoRA": 1, "RoLoRA": 2})
    np.testing.assert_array_equal(rolora.bytes_of_an_iteration, rounds * rolora.bytes_up)
    # 3 layers x 2 matrices x both factors x 1024 x rank 4, by hand
    row = rolora[(rolora.setting == "P1, QNLI, MNLI, QQP, RTE") & (rolora["rank"] == 4) & (rolora.method == "LoRA")]
    assert row.trained.tolist() == [3 * 2 * 2 * 1024 * 4]
    assert row.share.round(4).tolist() == [0.0138]


def test_every_layer_set_stands_with_every_rank_and_method(rolora):
    budgets = rolora[rolora.setting.str.startswith("P")]
    counts = budgets.groupby("setting").size()
    assert set(counts) == {4 * 4}
    assert len(counts) == 7
    assert set(rolora[rolora.model == "Llama-2-7B"]["rank"]) == {8, 2, 1}


def test_printed_numbers_are_found_as_the_claims_find_them(rolora):
    assert "187.5 KB printed, 192 KiB with every method; 250 KB printed, 256 KiB" in ROLORA_FIGURE.found(rolora)
    assert "in 31 of 31 settings" in ROLORA_FIGURE.found(rolora)
    table = FEDLORU_FIGURE.data(Settings())
    agree = table[(table.published - table.recomputed).abs() <= 0.0005]
    assert set(agree.model) == {"LLaMA-2-7B"}
    assert len(agree) == 2


@pytest.mark.parametrize("figure", FIGURES, ids=lambda figure: figure.id)
def test_every_setting_is_drawn(figure):
    table = figure.data(Settings())
    texts = [text.get_text().strip() for text in figure.draw(table).axes[0].texts]
    assert {*table.group, *table.setting} <= set(texts)
    assert {f"{value:,}" for value in table[table.method.isin(["LoRA", "FedLoRU"])].trained} <= set(texts)
    assert figure.sizes(table).endswith("nothing is trained.")
