"""The page on experiments has the right counts, and names existing figures."""

import re
from pathlib import Path

import pandas as pd

import rankproof
from figures.fedloru.designs import (
    LEFT_OUT,
    network_of,
    parameters,
    restarts_design,
    tab1_design,
    tab3_design,
    tab4_design,
    tab6_design,
    tab7_design,
)
from figures.fedloru.fig4 import design as fine_tuning
from figures.fedloru.paper_scale import design as paper_scale_design
from figures.fedloru.scales import RANKS, SIZES
from figures.figure import Settings
from figures.language.designs import ALGORITHMS, budgets_lines, clients_lines, tuning_designs, uplinks_lines
from figures.language.designs import SIZES as LANGUAGE
from figures.ledger import all_figures

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = (DOCS / "experiments.md").read_text()


def row_of(start):
    (line,) = re.findall(rf"^\| {re.escape(start)}.*\|$", PAGE, flags=re.M)
    return line


def test_what_the_paper_leaves_out_is_what_is_told():
    for entry in LEFT_OUT:
        assert f"\n| {entry.name} | {entry.value} | {entry.source} |\n" in PAGE


def test_parameters_are_counted():
    cases = {
        "ResNet-10 of 64 channels": ("paper", "fashion-mnist"),
        "ResNet-18 of 64 channels, CIFAR-10 ": ("paper", "cifar-10"),
        "ResNet-18 of 64 channels, CIFAR-100": ("paper", "cifar-100"),
        "ResNet-10 of 8 channels": ("laptop", "fashion-mnist"),
    }
    for start, (scale, data) in cases.items():
        network = network_of(SIZES[scale], data)
        every = parameters(network)
        cells = [f"{every:,}"]
        for size in RANKS:
            trained = parameters(network, SIZES[scale].rank(size))
            cells.append(f"{trained:,} ({100 * trained / every:.1f} %)")
        assert row_of(start).endswith(f"| {' | '.join(cells)} |")


def test_figures_and_numbers_of_runs():
    known = {figure.id for figure in all_figures()}
    named = re.findall(r"^\| `(fedloru/[\w-]+)` \| .* \| (.*) \|$", PAGE, flags=re.M)
    assert {id for id, _ in named} <= known
    assert {id for id in known if id.startswith("fedloru/")} - {id for id, _ in named} == {
        "fedloru/fig-1",
        "fedloru/language-sizes",
        "fedloru/toy",
    }
    designs = {
        "1": tab1_design,
        "3": tab3_design,
        "4": tab4_design,
        "6": tab6_design,
        "7": tab7_design,
        "restarts": restarts_design,
        "paper-scale": paper_scale_design,
    }
    for id, runs in named:
        if runs.isdigit():
            assert int(runs) == designs[id.removeprefix("fedloru/").removeprefix("tab-")](Settings("laptop")).runs


def test_runs_of_language_models():
    sizes = LANGUAGE["laptop"]
    runs = {"clients-texts": clients_lines, "fig-4": budgets_lines, "fig-5": uplinks_lines}
    for id, lines in runs.items():
        row = row_of(f"`rolora/{id}` | ")
        assert f"| {sizes.seeds * len(lines(sizes))}" in row
    choosing = sum(design.runs for design in tuning_designs(sizes, ALGORITHMS))
    assert f"{choosing} that choose" in row_of("`rolora/clients-texts` | ")
    shared = {str(line.options) for line, _ in budgets_lines(sizes)}
    both = sum(str(line.options) in shared for line, _ in uplinks_lines(sizes))
    assert f"of them {both * sizes.seeds} those" in row_of("`rolora/fig-5` | ")
    assert row_of("`fedloru/fig-4` | ").split(" | ")[2].startswith(f"{fine_tuning(Settings('laptop')).runs},")


def test_settings_of_the_scales():
    laptop, paper = SIZES["laptop"], SIZES["paper"]
    assert row_of("rounds | not printed").endswith(f"| {laptop.rounds}, accumulation every {laptop.tau} |")
    assert row_of("seeds | ") == f"| seeds | {paper.seeds} | {laptop.seeds} |"
    for name, sizes in (("paper", paper), ("laptop", laptop)):
        cell = row_of("learning rates | ").split(" | ")[1 if name == "paper" else 2]
        assert cell.removesuffix(" |") == f"from {', '.join(f'{rate:g}' for rate in sizes.rates)}"
    assert f"{laptop.federation['samples']:,} training samples" in row_of("data | ")


def test_bytes_of_clients_with_different_ranks():
    table = pd.read_csv(DOCS / "figures" / "fedloru-tab-4.csv")
    sent = table[table.stage == "run"].groupby(["split", "method", "seed"]).bytes.max()
    for setting in ("setting 1", "setting 2"):
        ratio = sent[setting, "mFedLoRU"].sum() / sent[setting, "FedHM"].sum()
        (printed,) = re.findall(rf"^\| {setting} \| [^|]* \| ([\d.]+) times \|$", PAGE, flags=re.M)
        assert printed == f"{ratio:.1f}"


def test_stable_ranks_of_layers_of_language_models():
    table = pd.read_csv(DOCS / "figures" / "fedloru-language-ranks.csv")
    means = table.assign(server=table.client < 0).groupby(["model", "round", "layer", "server"]).value.mean()
    spans = [means["smollm2", 0], means["minilm", 0], means["minilm", 1]]
    number = r"(\d+) to (\d+)"
    pattern = rf"{number} in SmolLM2-135M. In MiniLM they are {number} before training and {number} after"
    (printed,) = re.findall(pattern, " ".join(PAGE.split()))
    assert list(printed) == [f"{end:.0f}" for span in spans for end in (span.min(), span.max())]


def test_commands_are_understood():
    for block in re.findall(r"```bash\n(.*?)```", PAGE, flags=re.S):
        for line in block.splitlines():
            options = rankproof._parser().parse_args(line.split("#")[0].split()[1:])
            assert callable(options.command)
