"""The figures of RoLoRA at tiny sizes: numbers with known answers, and whole pictures."""

import numpy as np
import pytest
import torch

from figures.figure import Settings
from figures.make import make
from figures.rolora import aggregations as rolora_aggregations
from figures.rolora import angle as rolora_angle
from figures.rolora import ffa as rolora_ffa
from figures.rolora.runs import angle_of, rate_of, run_exact
from toymodels.regression import regression
from toymodels.regression_rates import ffa_correction, ffa_population_correction

ANGLE = rolora_angle.AngleSizes((2, 6), (1.0, 30.0), 3, 6, (0.25, 0.5, 1.0))
FFA = rolora_ffa.FFASizes((8, 20), (1, 3), (2, 5), (0.5,), (3,), 20)
AGGREGATIONS = rolora_aggregations.AggregationSizes(2, 2, 1, (2.0**-6,))


@pytest.fixture(autouse=True)
def _tiny(monkeypatch):
    monkeypatch.setitem(rolora_angle.ANGLE_SIZES, "quick", ANGLE)
    monkeypatch.setitem(rolora_ffa.FFA_SIZES, "quick", FFA)
    monkeypatch.setitem(rolora_aggregations.AGGREGATION_SIZES, "quick", AGGREGATIONS)


@pytest.fixture(scope="module")
def angle_table():
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(rolora_angle.ANGLE_SIZES, "quick", ANGLE)
        return rolora_angle.angle_data(Settings())


@pytest.mark.slow
@pytest.mark.parametrize(
    "figure",
    [rolora_angle.ANGLE, rolora_ffa.FFA_PLATEAU, rolora_aggregations.AGGREGATIONS],
    ids=lambda figure: figure.id,
)
def test_made_whole(tmp_path, figure):
    made = make(figure, Settings(), tmp_path)
    assert made.found.startswith("Stated")
    assert "nan" not in made.found
    assert made.caption.endswith("Scale quick, seed 0.")
    assert made.caption.count("$") % 2 == 0
    assert made.paths["svg"].stat().st_size < 400_000


def test_runs_in_expectation_follow_the_exact_map(angle_table):
    table = angle_table
    curves = table[(table.panel == "angle") & (table.data == "expectation")]
    assert set(curves.clients) == {"equal", "different"}
    assert (curves["median"] - curves.exact).abs().max() < 1e-12
    worst = table[(table.panel == "worst") & (table.data == "expectation")]
    assert worst["median"].to_numpy() == pytest.approx(worst.exact.to_numpy(), rel=1e-4)
    equal = worst[worst.clients == "equal"].set_index("step").over
    assert (equal[0.25], equal[1.0]) == (0.0, 1.0)
    assert np.isnan(equal[1.2])
    assert worst[(worst.clients == "different") & (worst.step <= 0.5)].over.max() == 0.0


def test_worst_ratio_leaves_rounding_out():
    assert rolora_angle.worst_ratio(np.array([0.8, 0.4, 0.3, 1e-16, 1e-15])) == pytest.approx(0.75)
    assert rolora_angle.worst_ratio(np.array([0.8, 1e-17])) == 0.0


def test_enough_samples_means_from_there_on(angle_table):
    table = angle_table
    part = table[(table.panel == "worst") & (table.data == "fixed") & (table.d == 6)].copy()
    part = part[part.clients == "equal"].assign(over=[0.2, 0.0])
    assert rolora_angle._enough(part) == "180"
    assert rolora_angle._enough(part.assign(over=[0.0, 0.1])) == "none (m up to 180)"


@pytest.mark.parametrize(
    ("fixed", "fresh", "said"),
    [
        ([0.2, 0.0], [0.0, 0.0], "180"),
        ([0.0, 0.0], [0.0, 0.1], "none (m up to 180)"),
        ([0.0, 0.1], [0.0, 0.0], "none (m up to 180)"),
    ],
)
def test_the_number_of_samples_said_holds_for_both_kinds_of_data_and_from_there_on(angle_table, fixed, fresh, said):
    table = angle_table.copy()
    for data, over in (("fixed", fixed), ("fresh", fresh)):
        rows = (table.panel == "worst") & (table.data == data) & (table.clients == "equal") & (table.d == 6)
        table.loc[rows, "over"] = over
    found = rolora_angle.angle_found(table)
    assert f" {said} at d = 6" in found[found.index("with fixed and with new samples, is") :]


def test_a_run_with_fresh_data_draws_it_anew_and_ends_with_the_best_b():
    given = regression(6, 3, 3, np.random.default_rng(0), samples=40, sine=0.7)
    fixed, state = run_exact(given, 0.25, 4)
    fresh, _ = run_exact(given, 0.25, 4, np.random.default_rng(1))
    assert fixed[0] == pytest.approx(0.7, abs=1e-12)
    assert fresh[1] == fixed[1]  # the first iteration has the problem's own samples
    assert fresh[2] != fixed[2]
    assert angle_of(given, state) == fixed[-1]
    best = torch.stack([client.best_b(state.A)["W"] for client in given.clients]).mean(dim=0)
    torch.testing.assert_close(state.B["W"], best)
    assert rate_of(given, 0.25) == pytest.approx(0.25 / float((given.facts["mean_B"] ** 2).sum()))


def test_ffa_losses_are_those_of_the_printed_expectation():
    """Means of the algorithm's own runs, at 5 standard errors."""
    N, m, draws = 3, 20, 300
    found = [
        rolora_ffa.ffa_plateau(regression(4, 3, N, np.random.default_rng([5, n]), samples=m, sine=0.6, constants=False))
        for n in range(draws)
    ]
    for values, mean in (
        ([one.training for one in found], 1 + ffa_correction(N, m)),
        ([one.excess for one in found], ffa_correction(N, m)),
        ([one.population for one in found], 1 + ffa_population_correction(N, m)),
    ):
        assert abs(np.mean(values) - mean) < 5 * np.std(values) / draws**0.5
    assert np.std([one.excess for one in found]) < np.std([one.training for one in found])


def test_ffa_of_different_clients_in_expectation_is_the_printed_value():
    given = regression(7, 4, 5, np.random.default_rng(2), heterogeneity=0.9, sine=0.6)
    found = rolora_ffa.ffa_plateau(given)
    unit = float((given.facts["mean_B"] ** 2).sum()) * 0.36
    assert found.training * unit == pytest.approx(given.facts["gamma_squared"] + unit, rel=1e-12)


def test_courses_count_trips_and_bytes():
    given = rolora_aggregations.aggregation_problem(Settings(), "different, samples", "here")
    rows, columns, clients = rolora_aggregations.ROWS, rolora_aggregations.COLUMNS, rolora_aggregations.CLIENTS
    both, number = rows + columns, 8 * clients
    a_round = {  # numbers a client sends and receives in one communication round
        "FedLoRA": (2 * both, 1),
        "FlexLoRA": (2 * both, 1),
        "FFA-LoRA": (2 * columns, 1),
        "RoLoRA": (2 * both, 2),
        "exact RoLoRA": (2 * both, 2),
        "FedAvg": (2 * rows * columns, 1),
    }
    for method, (numbers, trips) in a_round.items():
        course = rolora_aggregations.course(given, method, 0.01, 2, 0)
        assert course.rounds == (0, 1, 2) if trips == 1 else (0, 2)
        assert course.bytes[1] == numbers * number
    starts = [rolora_aggregations.course(given, method, 0.01, 1, 0).training[0] for method in a_round]
    assert starts == pytest.approx([starts[0]] * len(starts))
    for method in ("FedLoRA", "FlexLoRA", "RoLoRA", "FedAvg"):
        assert rolora_aggregations.course(given, method, 50.0, 400, 0) is None


def test_aggregation_losses_are_above_their_least_values():
    table = rolora_aggregations.aggregation_data(Settings())
    assert set(table.method) == set(rolora_aggregations.METHODS)
    assert (table.diverged == 0).all()
    assert (table.runs == 2).all()
    assert " 0 runs diverged at the rate chosen." in rolora_aggregations.aggregation_found(table)
    assert table["median"].min() > -1e-12
    same = table[table["case"].str.endswith("expected")].pivot_table(
        index=["case", "method", "round"], columns="quantity", values="median"
    )
    assert same.training.to_numpy() == pytest.approx(same.population.to_numpy(), abs=1e-12)
