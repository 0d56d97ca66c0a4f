"""Counting of FeDLRT's rounds: known answers, a second route, and polynomials that say what was counted."""

from math import sqrt

import numpy as np
import pytest
import sympy
import torch

from figures.fedlrt.fig3 import count_costs
from paper_checks.fedlrt.fig_3 import equal_cost_rank, fig_3
from paper_checks.fedlrt.measurements.counting import (
    FACTORISATIONS,
    LOW_RANK,
    METHODS,
    Layer,
    Operation,
    Recorder,
    Sizes,
    count_round,
    describe_polynomial,
    evaluate,
    interpolate,
    polynomials,
    unbounded_term,
)
from paper_checks.fedlrt.replays.shared import boxes
from paper_checks.fedlrt.table_1 import TABLE_1, WIDTH, claim_order_of_magnitude, largest_ranks


@pytest.mark.parametrize("method", METHODS)
def test_what_travels_is_what_the_figure_counts(method: str) -> None:
    other = count_costs(method, 12, 3, np.random.default_rng(0))
    one = count_round(method, Sizes(12, 3))
    assert one.costs["communication"] == other["communication"] == sum(one.messages.values())
    assert len(one.trips) == other["trips"]


@pytest.mark.parametrize(
    ("cost", "rank"), [("client compute", "200.7"), ("client memory", "203.0"), ("communication", "225.5")]
)
def test_ranks_that_figure_3_tells_of_the_simplified_correction_are_the_counted_ones(cost: str, rank: str) -> None:
    counts = (polynomials(method)[cost] for method in ("FeDLRT, simplified", "FedLin"))
    assert f"{equal_cost_rank(*counts, WIDTH):.1f}" == rank
    assert fig_3.correction is not None
    assert rank in fig_3.correction.says


@pytest.mark.parametrize("method", LOW_RANK)
def test_polynomials_hold_at_sizes_they_were_not_made_from(method: str) -> None:
    sizes = Sizes(25, 6, 4, 3)
    costs = count_round(method, sizes).costs
    for cost, polynomial in polynomials(method).items():
        assert evaluate(polynomial, sizes.n, sizes.r, sizes.s, sizes.b) == costs[cost], cost


def test_rectangular_layers_send_both_sides() -> None:
    one = count_round("FeDLRT", Sizes(9, 2, rows=14))
    assert one.costs["communication"] == 3 * (9 + 14) * 2 + 5 * 4


def test_multiplications_of_known_operations() -> None:
    assert Operation("client", "mm", ((3, 4), (4, 5)), (3, 5)).multiplications == 60
    assert Operation("client", "add", ((3, 4), (3, 4)), (3, 4)).multiplications == 12
    assert Operation("client", "t", ((3, 4),), (4, 3)).multiplications == 0
    assert Operation("client", "mv", ((3, 4), (4,)), (3,)).multiplications == 12
    assert Operation("server", "linalg_qr", ((7, 2),), (7, 2)).multiplications == 2 * 7 * 2**2
    assert [Operation("server", "_linalg_svd", (shape,), (3,)).multiplications for shape in ((5, 3), (3, 5))] == [
        45,
        45,
    ]


def test_an_operation_on_lists_counts_once_for_each_tensor() -> None:
    a, b = [torch.ones(3, 4), torch.ones(2)], [torch.ones(3, 4), torch.ones(2)]
    with Recorder() as recorder:
        torch._foreach_mul(a, 2.0)
        torch._foreach_add_(a, b)
    assert [one.name for one in recorder.operations] == ["mul", "mul", "add", "add"]
    assert [one.multiplications for one in recorder.operations] == [12, 2, 12, 2]
    assert [one.result for one in recorder.operations] == [(3, 4), (2,)] * 2


def test_a_layer_in_bases_is_the_layer_at_the_product() -> None:
    X, T, U, S, V = (torch.randn(*shape, dtype=torch.float64) for shape in ((5, 4), (5, 3), (4, 2), (2, 2), (3, 2)))
    layer = Layer(X, T)
    whole, in_bases = layer.loss({"W": U @ S @ V.mT}), layer.factored({"W": U}, {"W": S}, {"W": V})
    assert float(whole) == pytest.approx(float(in_bases), rel=1e-12)


def test_terms_are_bounded_for_all_ranks_up_to_the_width() -> None:
    n_squared, nr, r_cubed, n_cubed = (2, 0, 0, 0), (1, 1, 0, 0), (0, 3, 0, 0), (3, 0, 0, 0)
    assert unbounded_term({nr: 7}, {n_squared: 1}) is None
    assert unbounded_term({n_squared: 1}, {nr: 100}) == n_squared
    assert unbounded_term({r_cubed: 1}, {n_squared: 1}) == r_cubed
    assert unbounded_term({r_cubed: 1}, {n_cubed: 1}) is None


def test_amortisation_solves_the_quadratic() -> None:
    low, full = {(1, 1, 0, 0): 6, (0, 2, 0, 0): 10}, {(2, 0, 0, 0): 4}
    assert equal_cost_rank(low, full, 512) == pytest.approx(512 * (-6 + sqrt(36 + 160)) / 20, rel=1e-12)
    assert equal_cost_rank({(1, 1, 0, 0): 1}, {(3, 0, 0, 0): 1}, 8) == float("inf")


def test_counts_that_are_no_polynomial_are_refused() -> None:
    with pytest.raises(ValueError, match="no polynomial"):
        interpolate({Sizes(n, r): n * r + (n == 12) for n in range(8, 20) for r in (1, 2, 3)})


def test_polynomials_are_written_in_words() -> None:
    assert describe_polynomial({(1, 1, 0, 0): 6, (0, 2, 0, 0): -5}) == "6nr - 5r^2"


AT = {boxes.m: 9, boxes.n: 12, boxes.r: 3, boxes.b: 2}


@pytest.mark.parametrize("method", METHODS)
def test_the_lines_of_the_boxes_send_and_decompose_what_the_algorithms_do(method: str) -> None:
    one = count_round(method, Sizes(12, 3, b=2, rows=9))
    sides = [side for one in boxes.exchanges(LOW_RANK.get(method, method)) for side in (one.sent, one.back)]
    sent = [sum((sympy.sympify(rows * columns) for rows, columns in side.values()), sympy.Integer(0)) for side in sides]
    assert [numbers.subs(AT) for numbers in sent] == list(one.messages.values())
    if method in LOW_RANK:
        factored = [step for step in boxes.steps() if step.does != "product"]
        stated = [(step.does, *(side.subs(AT) for side in step.takes[0])) for step in factored]
        found = [(FACTORISATIONS[step.name], *step.shapes[0]) for step in one.factorisations()]
        assert sorted(stated) == sorted(found)


def test_a_product_of_shapes_that_do_not_meet_is_told() -> None:
    with pytest.raises(ValueError, match="do not meet"):
        _ = boxes.Step("client", "product", ((boxes.m, boxes.r), (boxes.n, boxes.r))).gives


def test_the_ranks_that_save_a_factor_of_ten_are_those_that_the_reason_names() -> None:
    def ranks(bases: int, factor: int = 10) -> list[int]:
        return list(largest_ranks(TABLE_1, factor, bases).values())

    assert ranks(0) == [31, 31, 12, 12]  # communication, then compute; simplified and full correction
    assert ranks(4) == [31, 31, 6, 6]
    assert ranks(0, 1000) == [0] * 4
    assert "up to rank 31" in claim_order_of_magnitude.expect_reason
    assert "up to rank 12, or up to rank 6 if" in claim_order_of_magnitude.expect_reason
