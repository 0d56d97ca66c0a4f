"""RoLoRA's Tables 1 and 6 and Figures 3 to 8 with a smaller language model on available texts.

We do not compare values with the paper's, because model, texts and rounds differ. We compare the order of methods, by
differences paired over seeds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import pandas as pd

from figures.experiments.effects import Effect, by_seed, mean_and_half_width, paired_effect
from figures.experiments.experiment import RUN, finals
from figures.experiments.tables import Contrast, Value, count_effects, draw_table, lead_headline
from figures.figure import Figure, Settings
from figures.language.designs import (
    ALGORITHMS,
    BUDGETS,
    SIZES,
    TEXTS,
    THREE,
    Sizes,
    budgets_lines,
    clients_lines,
    table_of,
    uplinks_lines,
    whole_designs,
)
from figures.style import BLUE, GREEN, ORANGE, VERMILION, WIDTH

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

LORA, FFA, ROLORA = THREE
LOOKS: dict[str, tuple[str, str]] = {
    LORA: (VERMILION, "s"),
    FFA: (GREEN, "^"),
    ROLORA: (BLUE, "o"),
    "FlexLoRA": (ORANGE, "v"),
    "FedLoRU": ("0.4", "D"),
}


GLUE: Mapping[str, tuple[str, ...]] = {"data": ("five tasks of GLUE",)}
"""The paper's data, which no registry of packages has."""


BEYOND: Mapping[str, tuple[str, str]] = {
    "accuracy that is compared": (
        "the best on the test set, over learning rates",
        "after the last round, with a rate chosen on validation samples",
    ),
    "tasks other than SST-2": (
        "batches of 32; P2 from block 15 or 16 on, P3 from block 12 on; 200 rounds for RTE",
        "none",
    ),
}
"""Settings that no option of a run has: the paper's, and ours."""
CONVENTIONS = {"steps": "Table 4, read so", "tuning_rounds": "not printed", "tau": "not printed"}


def clients_data(settings: Settings) -> pd.DataFrame:
    """Compute the table of Tables 1 and 6 and Figure 3."""
    sizes = settings.sizes(SIZES)
    return table_of(clients_lines(sizes), sizes, settings)


def budgets_data(settings: Settings) -> pd.DataFrame:
    """Compute the table of Figures 4 and 6 to 8."""
    sizes = settings.sizes(SIZES)
    return table_of(budgets_lines(sizes), sizes, settings)


def uplinks_data(settings: Settings) -> pd.DataFrame:
    """Compute the table of Figure 5."""
    sizes = settings.sizes(SIZES)
    return table_of(uplinks_lines(sizes), sizes, settings)


def settings_of(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the settings in which methods are compared, in the order of the table."""
    names = [name for name in ("split", "clients", "rank", "budget", "uplink") if name in table]
    return [
        {str(key): value for key, value in row.items()} for row in table[names].drop_duplicates().to_dict("records")
    ]


def describe_setting(keys: dict[str, Any]) -> str:
    """Describe a setting.

    >>> settings = {"split": "IID", "clients": 3}, {"rank": 4, "budget": "P1"}, {"uplink": "low"}
    >>> tuple(map(describe_setting, settings))
    ('3 clients, IID', 'rank 4, P1', 'low uplink budget')
    """
    if "uplink" in keys:
        return f"{keys['uplink']} uplink budget"
    if "budget" in keys:
        return f"rank {keys['rank']}, {keys['budget']}"
    return f"{keys['clients']} clients, {keys['split']}"


def values(table: pd.DataFrame) -> list[Value]:
    """Return final accuracies by setting and method."""
    ends, found = finals(table), []
    for keys in settings_of(ends):
        for method in ALGORITHMS:
            mine = _chosen(ends, {**keys, "method": method})
            if len(mine):
                mean, half = mean_and_half_width(dict(zip(mine.seed, mine.value, strict=True)))
                found.append(
                    Value(describe_setting(keys), method, None, 100 * mean, 100 * half, int(mine.failed.sum()))
                )
    return found


def leads(table: pd.DataFrame) -> list[tuple[dict[str, Any], str, Effect]]:
    """Return RoLoRA minus each other method in every setting."""
    ends, found = finals(table), []
    for other in (name for name in ALGORITHMS if name != ROLORA):
        for keys in settings_of(ends):
            if len(_chosen(ends, {**keys, "method": other})):
                ours, theirs = by_seed(ends, **keys, method=ROLORA), by_seed(ends, **keys, method=other)
                found.append((keys, other, paired_effect(ours, theirs)))
    return found


def _chosen(ends: pd.DataFrame, keys: dict[str, Any]) -> pd.DataFrame:
    for name, value in keys.items():
        ends = ends[ends[name] == value]
    return ends


def falls(table: pd.DataFrame) -> list[tuple[str, Effect]]:
    """Return effects for the text on Table 1: LoRA and FFA-LoRA lose more than RoLoRA from few clients to many."""
    ends = finals(table)
    same = ends[ends.split == "IID"]
    few, many = int(same.clients.min()), int(same.clients.max())

    def fall(method: str) -> dict[int, float]:
        before, after = (by_seed(same, clients=clients, method=method) for clients in (few, many))
        return {seed: before[seed] - after[seed] for seed in before}

    return [
        (f"{other} falls by more than RoLoRA from {few} to {many} clients", paired_effect(fall(other), fall(ROLORA)))
        for other in (LORA, FFA)
    ]


def robustness(table: pd.DataFrame) -> list[tuple[str, Effect]]:
    """Return effects for the text on Figures 4, 6 to 8: FFA-LoRA loses more than RoLoRA as the budget shrinks.

    Returns:
        The effect for each rank.
    """
    ends = finals(table)

    def fall(rank: int, method: str) -> dict[int, float]:
        most, least = (by_seed(ends, rank=rank, budget=budget, method=method) for budget in (BUDGETS[-1], BUDGETS[0]))
        return {seed: most[seed] - least[seed] for seed in most}

    return [
        (
            f"rank {rank}: FFA-LoRA falls by more than RoLoRA from P3 to P1",
            paired_effect(fall(rank, FFA), fall(rank, ROLORA)),
        )
        for rank in dict.fromkeys(map(int, ends["rank"]))
    ]


def contrasts(table: pd.DataFrame, stated: Iterable[tuple[str, Effect]]) -> list[Contrast]:
    """Return the comparisons to draw: RoLoRA's leads, then the other statements."""
    found = [
        Contrast(f"RoLoRA minus {other}", describe_setting(keys), None, effect) for keys, other, effect in leads(table)
    ]
    return found + [Contrast("stated", name, None, effect) for name, effect in stated]


def language_outcome(table: pd.DataFrame) -> str:
    """Return the outcome: in how many settings RoLoRA is above each other method."""
    found = leads(table)
    names = dict.fromkeys(other for _, other, _ in found)
    return "; ".join(
        count_effects(ROLORA, name, [effect for _, other, effect in found if other == name]) for name in names
    )


def best_evaluations(table: pd.DataFrame) -> pd.DataFrame:
    """Return the runs of a table, each with the best of its evaluations instead of all.

    The start is left out, and so is every round before a run's last in which not all methods of its setting and seed
    were evaluated: the best of more evaluations is better by chance.
    """
    runs = table[(table.stage == RUN) & ((table["round"] > 0) | (table.failed > 0))].reset_index(drop=True)
    paired = [*(name for name in ("split", "clients", "rank", "budget", "uplink") if name in runs), "seed"]
    line = [*paired, "method"]
    ended = runs[runs.failed == 0]
    methods = ended.groupby(paired).method.transform("nunique")
    shared = ended.groupby([*paired, "round"]).method.transform("nunique") == methods
    last = runs["round"] == runs.groupby(line)["round"].transform("max")
    runs = runs[last | shared.reindex(runs.index, fill_value=False)]
    best = runs.groupby(line, sort=False).value.transform("max")
    return runs.assign(value=best).drop_duplicates(line, keep="last")


def headline_against(other: str) -> Callable[[pd.DataFrame], str]:
    """Return the function that gives the headline: the comparison of RoLoRA with another method."""
    return lambda table: lead_headline(ROLORA, other, [effect for _, name, effect in leads(table) if name == other])


def no_statements(table: pd.DataFrame) -> list[tuple[str, Effect]]:
    """Return an empty list, for a table without further statements."""
    return []


def drawing(stated: Callable[[pd.DataFrame], Sequence[tuple[str, Effect]]]) -> Callable[[pd.DataFrame], Picture]:
    """Return the function that draws a table."""
    return lambda table: draw_table(values(table), contrasts(table, stated(table)))


def found_in(
    says: str, stated: Callable[[pd.DataFrame], Sequence[tuple[str, Effect]]]
) -> Callable[[pd.DataFrame], str]:
    """Return the function that gives the paper's statement and the finding."""

    def found(table: pd.DataFrame) -> str:
        each = [
            f"RoLoRA minus {other}, {describe_setting(keys)}: {effect.text}" for keys, other, effect in leads(table)
        ]
        each += [f"{name}: {effect.verdict}, {effect.text}" for name, effect in stated(table)]
        return (
            f"Stated: {says}. Found, at this scale: {language_outcome(table)}. {'; '.join(each)}. By the best "
            "evaluation of each run on the test sentences, which the paper compares, but only in rounds in which every "
            f"method was evaluated: {language_outcome(best_evaluations(table))}."
        )

    return found


def draw_curves(table: pd.DataFrame) -> Picture:
    """Draw accuracy by communication round, a panel for each setting: means over the seeds, with bands."""
    from matplotlib.figure import Figure as New

    runs = table[(table.stage == RUN) & (table.failed == 0)]
    every = settings_of(table[table.stage == RUN])
    picture = New(figsize=(WIDTH, 1.0 + 1.9 * ((len(every) + 2) // 3)))
    grid = picture.subplots((len(every) + 2) // 3, 3, sharey=True, squeeze=False).flat
    for axes, keys in zip(grid, every, strict=False):
        for method, mine in _chosen(runs, keys).groupby("method", sort=False):
            colour, marker = LOOKS[str(method)]
            by_round = 100 * mine.groupby("round").value.agg(["mean", "min", "max"])
            axes.plot(by_round.index, by_round["mean"], color=colour, marker=marker, markersize=3, label=str(method))
            axes.fill_between(by_round.index, by_round["min"], by_round["max"], color=colour, alpha=0.15, lw=0)
        axes.set_title(describe_setting(keys), fontsize=8.5)
        axes.set_xlabel("communication round", fontsize=8)
    for axes in picture.axes[len(every) :]:
        axes.set_axis_off()
    first = picture.axes[0]
    first.set_ylabel("test accuracy (%)")
    picture.legend(*first.get_legend_handles_labels(), loc="outside lower center", ncols=5)
    return picture


def sizes_of(table: pd.DataFrame) -> str:
    """Describe model, texts and training."""
    table = table[table.stage == RUN]
    sizes = _scale_of(table)
    of = sizes.common
    rates = ", ".join(f"{method} {rate:g}" for method, rate in table.groupby("method", sort=False).rate.first().items())
    tried = ", ".join(f"{rate:g}" for rate in sizes.rates)
    chosen = (
        f", of {tried} the best after {sizes.tuning_rounds} communication rounds of {sizes.skewed} clients on "
        f"{sizes.tuning['held_out']} training sentences held out"
        if len(sizes.rates) > 1
        else ""
    )
    blocks = ", ".join(f"{name} {count}" for name, count in sizes.blocks.items())
    rounds = ", ".join(f"{count} with {clients} clients" for clients, count in sizes.rounds.items())
    if "clients" not in table:
        rounds = f"{sizes.budget_rounds} with {sizes.few} clients"
    return (
        f"{of['model'].removeprefix('hf:')} on {TEXTS}, {of.get('samples', 'all')} training sentences, "
        f"{of.get('test_samples', 'all')} test sentences, at most {of['max_length']} tokens, longer ones cut; "
        f"adapters on query and value of the last blocks ({blocks}); {of['steps']} local steps in batches of "
        f"{of['batch']} by AdamW; communication rounds: {rounds}; learning rates: {rates}{chosen}; "
        f"seeds {', '.join(map(str, sorted(set(table.seed))))}."
    )


def _scale_of(table: pd.DataFrame) -> Sizes:
    """Return the sizes that a table was computed with, from its rounds."""
    last = int(table["round"].max())
    name = "rounds" if "clients" in table else "budget_rounds"
    for sizes in SIZES.values():
        most = max(sizes.rounds.values()) if name == "rounds" else sizes.budget_rounds
        if most == last:
            return sizes
    raise LookupError(f"no scale has {last} rounds")


NAMED = "The data are sentences rated by people, not GLUE; the model is smaller than the paper's. "
DIFFERENCES = (
    "Right: differences between methods, paired over the seeds (same texts, clients and start), with 95 % "
    "intervals: blue if the whole interval is above zero, orange if it is below, grey if the runs do not decide."
)
CLIENTS_SAY = "with more clients LoRA and FFA-LoRA fall and RoLoRA keeps its accuracy"
CLIENTS_FIGURE = Figure(
    "rolora/clients-texts",
    "RoLoRA, Tables 1 and 6 on rated sentences: increasing numbers of clients",
    NAMED + "Left: final accuracies with 95 % intervals over the seeds. " + DIFFERENCES,
    clients_data,
    drawing(falls),
    headline_against(FFA),
    found_in(CLIENTS_SAY, falls),
    sizes_of,
    (TEXTS,),
    quick_decides=False,
    designs=partial(whole_designs, clients_lines),
    conventions={**CONVENTIONS, "rounds": "printed for 3 clients only"},
    printed=GLUE,
    beyond=BEYOND,
)
FIG_3 = Figure(
    "rolora/fig-3",
    "RoLoRA, Figure 3 on rated sentences: accuracy by communication round",
    NAMED + "One panel per number of clients and division of the texts. Lines: means over the seeds; bands: "
    "ranges. The runs are those of rolora/clients-texts.",
    clients_data,
    draw_curves,
    headline_against(LORA),
    found_in("with 50 clients RoLoRA converges substantially faster than LoRA and FFA-LoRA", no_statements),
    sizes_of,
    (TEXTS,),
    quick_decides=False,
    designs=partial(whole_designs, clients_lines),
    conventions={**CONVENTIONS, "rounds": "printed for 3 clients only"},
    printed=GLUE,
    beyond=BEYOND,
)
FIG_4 = Figure(
    "rolora/fig-4",
    "RoLoRA, Figures 4 and 6 to 8 on rated sentences: layers and ranks",
    NAMED
    + "Left: final accuracies with 95 % intervals over the seeds, for three layer budgets and four ranks. "
    + DIFFERENCES,
    budgets_data,
    drawing(robustness),
    headline_against(FFA),
    found_in("with fewer parameters FFA-LoRA loses more than RoLoRA, which stays comparable to LoRA", robustness),
    sizes_of,
    (TEXTS,),
    quick_decides=False,
    designs=partial(whole_designs, budgets_lines),
    conventions=CONVENTIONS,
    printed=GLUE,
    beyond=BEYOND,
)
FIG_5 = Figure(
    "rolora/fig-5",
    "RoLoRA, Figure 5 on rated sentences: equal uplink",
    NAMED + "FFA-LoRA and RoLoRA have adapters on twice as many blocks as LoRA, so all methods send equally much "
    "per round, apart from the head. Left: final accuracies with 95 % intervals over the seeds. " + DIFFERENCES,
    uplinks_data,
    drawing(no_statements),
    headline_against(LORA),
    found_in("with the same uplink RoLoRA is above LoRA and FFA-LoRA for most tasks", no_statements),
    sizes_of,
    (TEXTS,),
    quick_decides=False,
    designs=partial(whole_designs, uplinks_lines),
    conventions=CONVENTIONS,
    printed=GLUE,
    beyond=BEYOND,
)
