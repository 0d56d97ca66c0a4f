"""The pictures of FeDLRT's Figures 1, 3 and 4: each line against its rows, and what their sentences count."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from seen import band, curve, drawn, key, level, same, styled, texts, within

from algorithms.descent import Descent
from figures.fedlrt import communication as fedlrt_communication
from figures.fedlrt import fig1 as fedlrt_fig1
from figures.fedlrt import fig3 as fedlrt_fig3
from figures.fedlrt import fig4 as fedlrt_fig4
from figures.fedlrt.fig1_properties import properties, summary
from figures.fedlrt.fig1_properties import unreached as fedlrt_fig1_unreached
from figures.fedlrt.fig4_properties import unreached as fedlrt_fig4_unreached
from figures.fedlrt.legendre_readings import Plan
from figures.fedlrt.vision_runs import VARIANTS
from figures.figure import Settings

METHODS = ("FedAvg", "FedLin", "FeDLRT", "FeDLRT, simplified", "FeDLRT, full")
PLAN = Plan(Descent(5, 1e-2), (1, 2), 3, 100, {"uniform": 12, "plain": 3}, 64, 2)


@pytest.fixture(scope="module")
def fig4():
    return fedlrt_fig4.fig4(fedlrt_fig4.Fig4Sizes(5, 2, PLAN, None, PLAN, ("basis plain",)), Settings())


@pytest.fixture(scope="module")
def fig1():
    plan = replace(PLAN, clients=(2,), full_rank=("FedAvg", "FedLin"))
    return fedlrt_fig1.fig1(fedlrt_fig1.Fig1Sizes(5, plan, ("first reading", "basis plain")), Settings())


def cells(axes, table, open=None):
    """Content of a panel of properties: where they are filled, where not, and where the rounds do not reach them."""
    table = np.asarray(table)
    open = np.zeros_like(table) if open is None else np.asarray(open)
    marks = (("yes", table & ~open), ("no", ~table & ~open), ("not reached", open))
    same(
        drawn(axes),
        [curve(name, *np.argwhere(has)[:, ::-1].T) for name, has in marks if name != "not reached" or has.any()],
    )
    return [text.get_text() for text in axes.get_yticklabels()], [text.get_text() for text in axes.get_xticklabels()]


@pytest.mark.slow
def test_figure_1_shows_the_first_reading_and_what_each_reading_has(fig1):
    picture = styled(fedlrt_fig1.draw_fig1, fig1)
    assert key(picture) == [*METHODS, "yes", "no"]
    has = properties(fig1)
    stated = ["plateau", "exact", "faster", "single", "admitted", "alike"]
    for place, split in enumerate(("all", "random", "region")):
        axes, matrix, marks = picture.axes[place], picture.axes[3 + place], [level(1e-5)]
        rows = fig1[(fig1.reading == f"first reading, {split}") & (fig1["round"] <= 12)]
        for method in METHODS:
            mine = rows[rows.method == method]
            marks += [
                curve(method, mine["round"], mine.distance),
                band(mine["round"], mine.distance_low, mine.distance_high),
            ]
        same(drawn(axes), marks)
        ordinate = "distance to the minimiser" * (split == "all")
        assert texts(axes) == (f"({'abc'[place]}) {split} points", "round", ordinate)
        assert (axes.get_xlim(), axes.get_yscale()) == ((0, 12), "log")
        assert within(axes)
        own = [f"{name}, {split}" for name in ("first reading", "basis plain")]
        later = fedlrt_fig1_unreached(fig1).reindex(columns=stated, fill_value=False)
        names, words = cells(matrix, has.loc[own, stated].to_numpy(), later.loc[own].to_numpy())
        assert names == (["first reading", "basis plain"] if split == "all" else ["", ""])
        assert len(words) == len(stated)
        assert words[0] == "stalls without correction"
        assert words[-1] == "variants alike"
        assert matrix.yaxis_inverted()


def figure_1(reading, ends, rounds=8, **known):
    """Rows of Figure 1 in which distances fall evenly, on a logarithmic scale, to their ends, and then rest."""
    base = {"smoothness": 1.0, "steps": 1, "learning_rate": 0.08, "size": 1.0, "reading": reading}
    for method, (end, falls) in ends.items():
        for count in range(rounds + 1):
            yield base | known | {"method": method, "round": count, "distance": end ** (min(count, falls) / falls)}


def test_properties_of_figure_1_one_by_one():
    stated = {
        "FedAvg": (1e-2, 2),
        "FeDLRT": (1e-2, 2),
        "FedLin": (1e-6, 8),
        "FeDLRT, simplified": (1e-6, 6),
        "FeDLRT, full": (1e-9, 8),
    }
    slower = stated | {"FeDLRT, full": (1e-5, 8)}
    resting = stated | {"FeDLRT, full": (1e-3, 2)}
    table = pd.DataFrame(
        [
            *figure_1("stated", stated),
            *figure_1("slower", slower),
            *figure_1("resting", resting),
            *figure_1("falling", stated | {"FedAvg": (1e-2, 8)}),
            *figure_1("alike", dict.fromkeys(stated, (1e-6, 8))),
            *figure_1("step", stated, learning_rate=0.09),
            *figure_1("large", stated, size=1e3),
        ]
    )
    has = properties(table)
    assert list(has.index) == ["stated", "slower", "resting", "falling", "alike", "step", "large"]
    assert list(has.index[has.plateau]) == ["stated", "slower", "resting", "step", "large"]
    assert list(has.index[has.exact]) == ["stated", "slower", "falling", "alike", "step", "large"]
    assert list(has.index[has.faster]) == ["stated", "falling", "step", "large"]
    assert list(has.index[has.single]) == ["stated", "falling", "step", "large"]
    assert list(has.index[has.alike]) == list(has.index[has.alike_full]) == ["alike"]
    assert "step" not in has.index[has.admitted]
    assert len(has.index[has.admitted]) == 6


def test_figure_4_shows_the_first_reading_twice_and_what_each_reading_has(fig4):
    """Two numbers of clients are one line in the first reading, and differ by a factor of 100 in the longer one."""
    first = fig4[(fig4.reading == "first reading") & (fig4.clients == 1)]
    longer = first[first["round"] <= 9].assign(reading="followed longer")
    other = longer.assign(clients=2)
    other[[f"{name}{end}" for name in ("distance", "loss") for end in ("", "_low", "_high")]] /= 100
    others = fig4[fig4.reading != "first reading"]
    table = pd.concat([first, first.assign(clients=2), others, longer, other], ignore_index=True)
    picture = styled(fedlrt_fig4.draw_fig4, table)
    assert key(picture) == ["every $C$ shown, alike", "$C=1$", "$C=2$", "yes", "no", "not reached"]
    panels = iter(picture.axes)
    for reading, rounds in (("first reading", 12), ("followed longer", 9)):
        losses = []
        for name, full, title in (
            ("rank", False, "rank"),
            ("distance", False, "distance"),
            ("loss", False, "loss, FeDLRT"),
            ("loss", True, "loss, FedLin"),
        ):
            axes = next(panels)
            rows = table[(table.reading == reading) & (table["round"] <= rounds) & ((table.method == "FedLin") == full)]
            marks = {"rank": [level(2.0)], "distance": [level(1e-5)]}.get(name, [])
            for C, text in (
                ((1, "every $C$ shown, alike"),) if reading == "first reading" else ((1, "$C=1$"), (2, "$C=2$"))
            ):
                mine = rows[rows.clients == C]
                marks += [
                    curve(text, mine["round"], mine[name]),
                    band(mine["round"], mine[f"{name}_low"], mine[f"{name}_high"]),
                ]
            same(drawn(axes), marks)
            first = reading == "first reading"
            told = [title] * first + [f"{reading}, {rounds} rounds"] * (name == "rank")
            assert texts(axes) == ("\n".join(told), "round", "")
            assert axes.get_xlim() == (0, rounds)
            assert axes.get_yscale() == ("linear" if name == "rank" else "log")
            assert within(axes)
            if name == "rank":
                assert axes.get_ylim()[0] == 0
            if name == "loss":
                losses.append(axes.get_ylim())
        assert losses[0] == losses[1]
    has = fedlrt_fig4.properties(table)
    stated = ["right", "above", "close", "faster", "admitted"]
    later = fedlrt_fig4_unreached(table).reindex(columns=stated, fill_value=False)
    names, words = cells(next(panels), has[stated].to_numpy(), later.to_numpy(dtype=bool))
    assert names == ["first reading", "basis plain", "followed longer"]
    assert words == ["rank found", "never below", "$10^{-5}$ reached", "before FedLin", "step of Theorem 2"]
    assert len(list(panels)) == 0


def test_properties_of_figure_4_one_by_one():
    ends = {"FeDLRT, simplified": 1e-6, "FedLin": 1e-3}
    table = pd.DataFrame(
        [
            *lines_of("stated", ends, smoothness=4.0),
            *lines_of("stated", ends, smoothness=4.0, clients=2),
            *lines_of("one of two", ends, smoothness=4.0),
            *lines_of("one of two", ends, smoothness=5.0, clients=2, right=2, below=1),
            *lines_of("far", {"FeDLRT, simplified": 1e-4, "FedLin": 1e-3}),
            *lines_of("slower", {"FeDLRT, simplified": 1e-6, "FedLin": 1e-7}),
        ]
    )
    has = fedlrt_fig4.properties(table)
    assert list(has.index[has.right]) == list(has.index[has.above]) == ["stated", "far", "slower"]
    assert list(has.index[has.close]) == ["stated", "one of two", "slower"]
    assert list(has.index[has.faster]) == ["stated", "one of two", "far"]
    assert list(has.index[has.admitted]) == ["stated", "far", "slower"]


def test_figure_4_starts_at_ranks_that_fit_the_weights(fig4):
    start = fig4[(fig4["round"] == 0) & (fig4.method != "FedLin")]
    assert set(start["rank"]) == {5}
    assert set(fig4.start_rank) == {5, 8}  # the first reading is as it is written


def test_figure_4_s_targets_are_the_same_for_every_number_of_clients(fig4):
    start = fig4[fig4["round"] == 0].groupby(["reading", "method"]).distance
    assert start.agg(np.ptp).max() < 1e-9
    assert start.first().min() > 0.1


def test_figure_3_shows_its_rows():
    table = fedlrt_fig3.fig3(fedlrt_fig3.Fig3Sizes(16, (1, 4, 8, 16)), Settings())
    picture = styled(fedlrt_fig3.draw_fig3, table)
    assert key(picture) == [*METHODS, "counted", "Table 1", "equal cost"]
    crossings = 0
    for axes, letter, panel, unit in zip(
        picture.axes,
        "abc",
        ("communication", "client compute", "client memory"),
        ("numbers", "operations", "numbers"),
        strict=True,
    ):
        marks = [level(200)]
        for method in METHODS:
            mine = table[(table.panel == panel) & (table.method == method)]
            marks += [curve(method if panel == "communication" else "", mine["rank"], mine.counted)]
            marks += [curve("", mine["rank"], mine.printed)]
        for low, full in fedlrt_fig3.PAIRS:
            rank = fedlrt_fig3.amortised(table, low, full, panel, "counted")
            if np.isfinite(rank):
                rows = table[(table.panel == panel) & (table.method == full)]
                marks += [curve("", [rank], rows.counted[:1])]
                assert f"{rank:.0f}" in [text.get_text() for text in axes.texts]
                crossings += 1
        found = drawn(axes) if panel == "communication" else [_nameless(mark) for mark in drawn(axes)]
        same(found, marks)
        solid = [line for line in axes.lines if len(line.get_xdata()) == 4 and line._unscaled_dash_pattern[1] is None]
        rows = table[table.panel == panel].groupby("method").counted.apply(list)
        assert [list(line.get_ydata()) for line in solid] == [rows[method] for method in METHODS]
        assert texts(axes) == (f"({letter}) {panel}", "rank $r$" * (letter == "c"), unit)
        assert axes.get_yscale() == "log"
    assert crossings > 4


def _nameless(mark):
    return mark if mark.kind == "level" else curve("", *mark.points.T)


@pytest.mark.parametrize(("n", "r"), [(16, 4), (512, 100)])
def test_table_1_by_hand(n, r):
    """Constants of Table 1's row as printed; s = 1 and b = 1."""
    rows = {
        "FedAvg": (2 * n**2, n**2, 2 * n**2),
        "FedLin": (4 * n**2, n**2, 2 * n**2),
        "FeDLRT": (6 * n * r + 6 * r**2, 4 * n * r + 4 * r**2, 4 * (n * r + 2 * r**2)),
        "FeDLRT, simplified": (6 * n * r + 8 * r**2, 4 * n * r + 5 * r**2, 4 * (n * r + 2 * r**2)),
        "FeDLRT, full": (6 * n * r + 10 * r**2, 4 * n * r + 8 * r**2, 4 * (n * r + 2 * r**2)),
    }
    for method, expected in rows.items():
        assert tuple(formula(n, r) for formula in fedlrt_fig3.PRINTED[method].values()) == expected


def lines_of(reading, ends, rounds=12, clients=1, **known):
    """Rows of Figure 4 in which distances fall evenly, on a logarithmic scale, to some ends."""
    base = {
        "starts": 3,
        "target_rank": 2,
        "samples": 10,
        "n": 5,
        "steps": 20,
        "tau": 0.1,
        "learning_rate": 1e-3,
        "smoothness": 1.0,
        "draws": 3,
        "curvature": 0.001,
        "curvature_low": 0.0002,
        "curvature_high": 0.03,
        "below": 0,
        "rank_high": 2.0,
        "right": 3,
    }
    for method, end in ends.items():
        for count in range(rounds + 1):
            distance = end ** (count / rounds)
            yield (
                base
                | {
                    "reading": reading,
                    "method": method,
                    "clients": clients,
                    "round": count,
                    "distance": distance,
                    "distance_low": distance / 10**0.6,
                    "distance_high": distance * 10**0.4,
                }
                | known
            )


def test_what_the_rounds_of_figure_1_do_not_reach():
    ends = {"FedAvg": (1e-2, 2), "FeDLRT": (1e-2, 2), "FeDLRT, simplified": (1e-6, 6), "FedLin": (1e-6, 8)}
    cut = {"rounds": 3}
    table = pd.DataFrame(
        [
            *figure_1("stalls", ends | {"FeDLRT, full": (1e-3, 2)}),
            *figure_1("falling", ends | {"FeDLRT, full": (1e-3, 8)}),
            *(row for row in figure_1("short", ends | {"FeDLRT, full": (1e-3, 2)}) if _kept(row, **cut)),
        ]
    )
    later = fedlrt_fig1_unreached(table)
    assert later.loc["stalls"].tolist() == [False, False, False, False]
    assert later.loc["falling"].tolist() == [False, True, False, True]
    assert later.loc["short"].tolist() == [True, True, True, True]


def _kept(row, rounds):
    """Whether a row is of FedLin or FedAvg, or of one of FeDLRT's first rounds."""
    return not row["method"].startswith("FeDLRT") or row["round"] <= rounds


def test_a_distance_that_rests_is_not_one_that_the_rounds_do_not_reach():
    ends = {"FeDLRT, simplified": 1e-2, "FedLin": 1e-3}
    table = pd.DataFrame([*lines_of("falls", ends), *lines_of("rests", ends), *lines_of("there", ends)])
    later = (table.reading == "rests") & (table.method != "FedLin") & (table["round"] > 6)
    table.loc[later, "distance"] = 0.0995  # by half a hundredth since round 6
    table.loc[(table.reading == "there") & (table["round"] > 10), "distance"] = 1e-6
    assert fedlrt_fig4_unreached(table).close.to_dict() == {"falls": True, "rests": False, "there": False}
    table.loc[later, "distance"] = 0.0985
    assert fedlrt_fig4_unreached(table).close["rests"]


def test_figure_4_says_what_its_rows_say():
    table = pd.DataFrame(
        [
            *lines_of("one", {"FeDLRT, simplified": 1e-6, "FedLin": 1e-6}, smoothness=5.0),
            *lines_of("one", {"FeDLRT, simplified": 1e-12, "FedLin": 1e-6}, clients=2, smoothness=4.0),
            *lines_of(
                "two", {"FeDLRT, simplified": 1e-2, "FedLin": 1e-1}, smoothness=1.0, right=2, below=1, rank_high=4.0
            ),
        ]
    )
    text = fedlrt_fig4.fig4_found(table).split("Found: ")[1]
    assert text.startswith(
        "at the last round every run has the target's rank in 1 of 2 readings (one), and no run has ever been below it "
        "in 1 of 2 readings (one). The median distance reaches 1e-5 in 1 of 2 readings (one); the rounds followed do "
        "not reach it in 1. FeDLRT gets to its nearest median distance in fewer rounds than FedLin, with every number "
        "of clients, in 1 of 2 readings (two)."
    )
    # 1/(12 L s) with L = 5, 4, 1 and s = 20: the step of 1e-3 is admitted by the last two alone.
    assert "Theorem 2 admits the step 0.001 in 1 of 2 readings (two). One, 12 rounds: " in text
    assert (
        "One, 12 rounds: rank 2 in 6 of 6 runs (from round 0 on); C = 1: 1.0e-05 at round 10, FedLin at round 10 "
        "(quartiles 9 and 11), 1.0 times as many; C = 2: 1.0e-05 at round 5, FedLin at round 10 (quartiles 9 and 11), "
        "2.0 times as many; the distance at the last round is smaller with every larger C. The points are "
        "drawn 3 times."
    ) in text
    assert text.endswith("whose median over the draws is 0.001 (0.0002 to 0.03) in the first reading.")
    followed = table[table.reading == "two"].assign(reading="followed longer")
    text = fedlrt_fig4.fig4_found(pd.concat([table, followed], ignore_index=True))
    assert (
        "Followed longer, 12 rounds: rank 2 in 2 of 3 runs (others up to 4); C = 1: 1.0e-02 at round 12, FedLin not "
        "within the rounds followed. The points"
    ) in text


@pytest.mark.parametrize(
    ("ends", "says"),
    [
        ((1.0, 0.5, 0.1), "smaller with every larger C"),
        ((1.0, 1.005, 1.0), "the same for every C within 1 %"),
        ((1.0, 0.5, 0.6), "not smaller with every larger C"),
        ((0.5, 1.0), "larger with every larger C"),
    ],
)
def test_the_order_of_distances_in_words(ends, says):
    assert fedlrt_fig4._order(ends) == f"; the distance at the last round is {says}"


def test_figure_1_s_ends_by_hand():
    rows = {
        "falls": np.logspace(0, -8, 9),
        "rests": np.full(9, 0.5),
        "slows": [1, 1, 1, 1, 1, 1, 1, 1, 0.6],
        "halves": [1, 1, 1, 1, 1, 1, 1, 1, 0.4],
    }
    table = pd.DataFrame(
        {"reading": "r", "method": method, "round": count, "distance": distance, "size": 2.0}
        for method, distances in rows.items()
        for count, distance in enumerate(distances)
    )
    found = summary(table).loc["r"]
    assert found.end.to_dict() == {"falls": 1e-8, "rests": 0.5, "slows": 0.6, "halves": 0.4}
    assert found.close.fillna(-1).to_dict() == {"falls": 5, "rests": -1, "slows": -1, "halves": -1}
    assert found.resting.to_dict() == {"falls": False, "rests": True, "slows": True, "halves": False}


def test_communication_shows_its_rows():
    figures = [f"fig-{number}" for number in (5, 6, 7, 8)]
    shares = {"without correction": 0.9, "full correction": 0.7, "simplified correction": 0.8}
    table = pd.DataFrame(
        {
            "figure": figure,
            "network": figure,
            "variant": row,
            "rank": rank,
            "of_layers": share - 0.01 * rank * place,
            "parameters": 1000,
            "factorised": 100,
        }
        for place, figure in enumerate(figures, start=1)
        for row, share in shares.items()
        for rank in range(1, 9)
    )
    picture = styled(fedlrt_communication.draw_communication, table)
    full = {row: VARIANTS[row][1] for row in shares}
    assert key(picture) == [f"{row}, against {full[row]}" for row in shares]
    assert full == {"without correction": "FedAvg", "full correction": "FedLin", "simplified correction": "FedLin"}
    stated = {"fig-5": (90,), "fig-6": (96, 97), "fig-8": (55,)}
    for axes, figure, title in zip(
        picture.axes, figures, ("ResNet18, head", "AlexNet, head", "VGG16, head", "ViT, all inner"), strict=True
    ):
        mine = table[table.figure == figure].groupby("variant")
        marks = [curve(f"{row}, against {full[row]}", part["rank"], 100 * part.of_layers) for row, part in mine]
        same(drawn(axes), [*marks, *map(level, stated.get(figure, ()))])
        assert texts(axes) == (title, "rank", "communication saved (%)" * (figure == "fig-5"))
