"""Edge of stability: sharpness of a network on an invented image set, and what is read off known tables."""

import numpy as np
import pandas as pd
import pytest
import torch
from stripes import stripes

from figures.figure import Settings
from figures.hessian.edge_of_stability import (
    EDGE_OF_STABILITY,
    EdgeSizes,
    edge_found,
    edge_headline,
    edge_sizes,
    edge_table,
    runs_of,
)
from figures.spectrum.spiked_prediction import shuffle
from hessian import exact_hessian
from workloads.image_networks.small import perceptron

SIZES = EdgeSizes(4, (5,), 60, (0.2, 0.5), 40, 20)


@pytest.fixture(scope="module")
def table():
    return edge_table(stripes(), SIZES, Settings())


def test_every_interval_contains_the_largest_eigenvalue_of_the_dense_hessian(table):
    settings = Settings()
    x, y = shuffle(stripes(), SIZES.side, SIZES.samples, settings, "edge of stability")
    x = x.flatten(1)
    x, targets = x - x.mean(dim=0), torch.nn.functional.one_hot(y, 10).double()
    seed = int(settings.rng("edge of stability", "weights").integers(2**31))
    loss = torch.nn.MSELoss()
    for rate in SIZES.rates:
        model = perceptron(16, SIZES.hidden, 10, seed)
        optimiser = torch.optim.SGD(model.parameters(), lr=rate)
        for step in range(SIZES.steps + 1):
            if step % SIZES.every == 0:
                row = table[(table.rate == rate) & (table.step == step)].iloc[0]
                largest = float(torch.linalg.eigvalsh(exact_hessian(model, loss, x, targets))[-1])
                assert row.low - 1e-9 <= largest <= row.high + 1e-9
                assert row.loss == pytest.approx(float(loss(model(x), targets).detach()), rel=1e-9)
                assert row.edge == 2.0 / rate
            optimiser.zero_grad()
            loss(model(x), targets).backward()
            optimiser.step()
    assert list(table.step) == [0, 20, 40] * 2
    assert set(table.parameters) == {16 * 5 + 5 + 5 * 10 + 10}
    assert f"$P={16 * 5 + 5 + 5 * 10 + 10}$, 60 images, 40 steps, measured every 20 steps" in edge_sizes(table)


def invented(values, rate=1.0, half=0.01, rises=None):
    """A run with an edge of 2 / rate, measured every ten steps, with intervals of a given half width."""
    count = len(values)
    value = np.array(values, dtype=float)
    return pd.DataFrame(
        {
            "rate": rate,
            "step": 10 * np.arange(count),
            "loss": np.linspace(1.0, 0.1, count),
            "value": value,
            "low": value - half,
            "high": value + half,
            "edge": 2.0 / rate,
            "rises": rises or [0] * count,
            "every": 10,
            "products": 12,
            "parameters": 7,
            "samples": 5,
        }
    )


def test_a_run_arrives_where_its_whole_interval_is_above_the_edge():
    values = [2.5, 1.0, 1.5, 2.005, 2.2, 1.8, 2.0]  # above at the start; then 2.005 +- 0.01 is not certain
    (run,) = runs_of(invented(values, rises=[0, 0, 1, 0, 4, 5, 6]))
    assert (run.arrival, run.start) == (40, pytest.approx(2.49 / 2))
    assert "at η = 1 it starts at 1.25 times 2/η and falls below; its interval" in edge_found(invented(values))
    assert "starts at" not in edge_found(invented(values[1:]))
    assert (run.low, run.high) == (pytest.approx(1.79 / 2), pytest.approx(2.21 / 2))
    assert run.before == pytest.approx(5 / 40)
    assert run.after == pytest.approx(11 / 20)


def test_a_run_below_the_edge_does_not_arrive():
    (run,) = runs_of(invented([2.5, 1.0, 1.6, 1.9, 1.99]))
    assert run.arrival is None
    assert run.share == pytest.approx(2.0 / 2)
    assert "stays below 2/η: at most 1.00 of it" in edge_headline(invented([2.5, 1.0, 1.99]))
    assert "exceeds 2/η in 0 of 1 runs. In detail, at η = 1 it stays below 2/η" in edge_found(invented([2.5, 1.0, 1.5]))


def test_headline_and_finding_count_the_runs_and_give_the_range():
    both = pd.concat([invented([1.0, 2.2, 1.8]), invented([1.0, 1.2], rate=0.5)])
    assert edge_headline(both) == "Sharpness reaches 2/η in 1 of 2 runs, then stays 0.90 to 1.10 times it"
    assert "at η = 0.5 it stays below 2/η (at most 0.30 of it)" in edge_found(both)


def test_the_picture_shows_each_run_with_its_edge():
    both = pd.concat([invented([1.0, 2.2, 1.8]), invented([1.0, 1.2], rate=0.5)])
    left, right = EDGE_OF_STABILITY.draw(both).axes
    dashed = sorted({float(line.get_ydata()[0]) for line in left.lines if line.is_dashed() and len(line.get_ydata())})
    assert dashed == [2.0, 4.0]
    assert [list(line.get_ydata()) for line in right.lines] == [list(part.loss) for _, part in both.groupby("rate")]
    assert len(left.collections) == 2  # a band for each run
