"""Numbers of the page of experiments, recomputed from the stored tables."""

import re
from pathlib import Path

import pandas as pd
import pytest

DOCS = Path(__file__).parents[2] / "docs"
PAGE = " ".join((DOCS / "experiments.md").read_text(encoding="utf-8").split())


def stored(name):
    return pd.read_csv(DOCS / "figures" / f"{name}.csv")


@pytest.mark.parametrize("setting", ["setting 1", "setting 2"])
def test_bytes_of_clients_with_different_ranks(setting):
    table = stored("fedloru-tab-4")
    sent = table[(table.stage == "run") & (table.split == setting)].groupby(["method", "seed"]).bytes.max()
    (printed,) = re.findall(rf"\| {setting} \| [^|]* \| ([\d.]+) times \|", PAGE)
    assert printed == f"{sent['mFedLoRU'].sum() / sent['FedHM'].sum():.1f}"


def test_stable_ranks_of_layers_of_language_models():
    table = stored("fedloru-language-ranks")
    means = table.assign(server=table.client < 0).groupby(["model", "round", "layer", "server"]).value.mean()
    (before,) = re.findall(r"are (\d+) to (\d+) in SmolLM2-135M. In MiniLM they are (\d+) to (\d+) before", PAGE)
    spans = [means[model, number] for model, number in (("smollm2", 0), ("minilm", 0), ("minilm", 1))]
    (after,) = re.findall(r"before training and (\d+) to (\d+) after it", PAGE)
    assert [f"{end:.0f}" for span in spans for end in (span.min(), span.max())] == [*before, *after]
