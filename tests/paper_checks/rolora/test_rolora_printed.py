"""RoLoRA's printed numbers: the tables are whole, and what is recomputed from them agrees with counts by hand."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from figures.rolora.printed import (
    COMMONSENSE,
    GLUE,
    METHODS,
    MMLU,
    TABLE_1,
    TABLE_2,
    TABLE_5,
    TABLE_6,
    TABLE_7,
    TABLE_10,
    TABLE_12,
    TESTS,
    Configuration,
    LayerSet,
    Score,
    find,
)
from paper_checks.context import Context
from paper_checks.ledger import Ledger
from paper_checks.methods.printed import Rounded
from paper_checks.rolora.communication import of_configuration
from paper_checks.rolora.language_settings import SUB_TASKS, TRAINING
from paper_checks.rolora.measurements.whole_counts import attainable
from paper_checks.rolora.running_text import least_q, next_tangent_squared, run_courses
from paper_checks.rolora.table_1 import VALIDATION, mean, mean_of
from paper_checks.rolora.table_2 import welch, with_deviation
from workloads.architectures import LLAMA_2_7B, ROBERTA_LARGE


def test_every_row_has_every_score():
    assert [len(table) for table in (TABLE_1, TABLE_6, TABLE_2, TABLE_10)] == [12, 16, 3, 3]
    assert all(tuple(row.scores) == GLUE and row.average for row in TABLE_1 + TABLE_6)
    assert all(tuple(row.scores) == COMMONSENSE for row in TABLE_2 + TABLE_10)
    assert all(tuple(scores) == METHODS for scores in TABLE_12.values())
    assert len({row.name for row in TABLE_1 + TABLE_6 + TABLE_2 + TABLE_10}) == 34
    for row in TABLE_1 + TABLE_6 + TABLE_2 + TABLE_10:
        assert all(0 < Fraction(score.mean) < 100 and Fraction(score.deviation) >= 0 for score in row.scores.values())


def test_scores_are_where_they_are_printed():
    assert find(TABLE_1, "RoLoRA", 50).scores["RTE"] == ("75.57", "2.88")
    assert find(TABLE_6, "FlexLoRA", 50, rank=8).average == "52.85"
    assert TABLE_2[1].scores["WinoGrande"] == ("1.61", "2.14")
    assert TABLE_10[0].scores["OBQA"] == ("12.33", "7.46")
    with pytest.raises(LookupError, match="no row for FlexLoRA"):
        find(TABLE_1, "FlexLoRA", 3)


def test_tables_cannot_be_changed():
    with pytest.raises(TypeError):
        TABLE_1[0].scores["RTE"] = Score("99.99", "0.00")
    with pytest.raises(TypeError):
        TABLE_7["P1"]["RTE"] = TABLE_5["RTE"]


def test_a_mean_is_that_of_whole_counts_or_not():
    counts = (144, 140, 151)
    value = f"{float(Fraction(100 * sum(counts), 3 * 277)):.2f}"
    assert attainable(value, 3, 277, "whole")
    assert not attainable("50.10", 1, 277)
    # The means of three runs of 300 examples are the multiples of 1/9.
    assert attainable("0.33", 3, 300, "whole")
    assert not attainable("0.37", 3, 300)
    # 1,838 examples: three trials add up to 154.353 or 154.407, or by roundings to at most 154.36 or at least 154.40.
    assert not attainable("51.46", 3, 1838)
    assert attainable("51.46", 3, 1838, "cut")
    assert attainable("51.45", 3, 1838)
    # One of 32 is 3.125 %: a tie, rounded either way, and cut to the lower one only.
    assert [attainable(text, 1, 32) for text in ("3.11", "3.12", "3.13", "3.14")] == [False, True, True, False]
    assert [attainable(text, 1, 32, "cut") for text in ("3.11", "3.12", "3.13")] == [False, True, False]
    assert [attainable(text, 2, 32) for text in ("1.55", "1.56", "1.57")] == [False, True, True]
    assert [attainable(text, 1, 32, "whole") for text in ("3.11", "3.12", "3.13", "3.14")] == [False, True, True, False]


@pytest.mark.parametrize(
    ("first", "last", "there"),
    [(0, 5, True), (28, 31, True), (28, 32, False), (-1, 5, False), (31, 31, True), (6, 5, False)],
)
def test_a_configuration_is_told_by_its_numbers(first, last, there):
    """LLaMA-2-7B has layers 0 to 31 and a width of 4096; 7 rounds of 30 epochs at batch 2 are 420 samples."""
    setup = Configuration(7, 2, 30, LayerSet(("W_q", "W_o", "W_k"), first, last))
    scope = of_configuration(setup, (3, 8), "undecided").scope
    assert scope.startswith(f"the layers {'exist' if there else 'do not all exist'} in Llama-2-7B, which has 32,")
    layers = last - first + 1
    for rank in (3, 8):
        size = layers * 3 * rank * 2 * 4096
        share = 100 * size / LLAMA_2_7B.parameters
        assert f"{size:,} at rank {rank} ({share:.4f} % of the model; {4 * size / 1e6:.2f} MB in 32 bits" in scope
    assert f"7 rounds, in which A and B are trained by RoLoRA, 1 being left over; {3 * layers} square matrices" in scope
    assert "420 samples a client and 21,000 of 50 clients" in scope
    even = of_configuration(replace(setup, rounds=8), (3,), "undecided", of_layers=last + 1).scope
    assert "8 rounds, in which A and B are trained by RoLoRA, none being left over" in even
    assert f"which has {last + 1}, counted" in even


def test_mean_and_deviation_together_are_those_of_three_runs_or_not():
    # 47, 50 and 53 right answers of 100: mean 50, squared distances 9, 0 and 9.
    assert with_deviation(Score("50.00", "3.00"), 100)
    assert with_deviation(Score("50.00", "2.45"), 100, divisor=3)
    assert not with_deviation(Score("50.00", "3.01"), 100)
    assert not with_deviation(Score("50.01", "3.00"), 100)
    assert with_deviation(Score("47.2", "0.64"), 1267, "cut")
    assert not with_deviation(Score("47.2", "0.64"), 1267, "cut", places=2)


def test_the_mean_of_intervals_is_the_interval_of_means():
    assert mean([Rounded.printed("1.0"), Rounded.printed("2.00")]) == Rounded(
        Fraction(1472500, 10**6), Fraction(15275, 10**4)
    )
    assert mean_of(TABLE_1, "RoLoRA", 3) == Fraction("88.28")


def test_sizes_of_test_sets():
    assert sum(MMLU["anatomy in stem"].values()) == sum(MMLU["anatomy in other"].values()) == 14_042
    assert tuple(TESTS) == COMMONSENSE
    assert all(2 * largest > size for size, largest in VALIDATION.values())


def test_parameters_of_the_networks():
    matrices = sum(a * b for a, b in LLAMA_2_7B.shapes.values())
    assert LLAMA_2_7B.parameters == 2 * 32_000 * 4096 + 32 * (matrices + 2 * 4096) + 4096
    layer = sum(a * b + b for a, b in ROBERTA_LARGE.shapes.values()) + 4 * 1024
    embeddings = (50_265 + 514 + 1 + 2) * 1024
    pooler = 1024 * 1024 + 1024
    assert ROBERTA_LARGE.parameters == embeddings + 24 * layer + pooler


def test_adapters_are_counted_like_factors():
    where = LayerSet(("W_q", "W_up"), 3, 5)
    factors = [np.zeros(shape) for a, b in ((1024, 1024), (1024, 4096)) for shape in ((a, 2), (2, b))]
    assert ROBERTA_LARGE.adapters(where.matrices, 2, where.layers) == 3 * sum(factor.size for factor in factors)
    assert where.layers == 3
    assert where.adapted == 6


def test_share_of_the_factor_b():
    assert ROBERTA_LARGE.share_of_outputs(("W_q", "W_v")) == Fraction(1, 2)
    assert ROBERTA_LARGE.share_of_outputs(("W_up",)) == Fraction(4, 5)
    assert LLAMA_2_7B.share_of_outputs(tuple(LLAMA_2_7B.shapes)) == Fraction(42_496, 78_080)


def test_welch_against_a_known_value():
    # Equal deviations and sizes give Student's test with 4 degrees of freedom: t = 2.776 is its 5 % point.
    lead = 2.7764451051977934 * (2 / 3) ** 0.5
    assert welch(Score(f"{50 + lead!r}", "1"), Score("50", "1")) == pytest.approx(0.05, abs=1e-9)
    divided = f"{(2 / 3) ** 0.5!r}"  # the same deviation, if its square is divided by 3
    assert welch(Score(f"{50 + lead!r}", divided), Score("50", divided), divisor=3) == pytest.approx(0.05, abs=1e-9)


def test_runs_that_are_not_rounded_give_every_mean_from_thirty_on():
    sizes = {name: size for name, (size, _) in VALIDATION.items()}
    means = [(row.scores[name].mean, size) for name, size in sizes.items() for row in TABLE_6]
    every = [runs for runs in range(1, 31) if all(attainable(text, runs, size, "whole") for text, size in means)]
    assert every == [30]


def test_the_algorithm_follows_the_recursion_down_to_the_minimiser():
    courses = run_courses(Context("test"))
    assert max(course.mismatch for course in courses) < 1e-6
    assert {course.step for course in courses if course.tangents[-1] > 1e-2 and course.step > 0.5} == {1.0}
    for course in courses:
        assert course.frozen == pytest.approx(course.sine**2, rel=1e-9)


def test_at_the_largest_step_the_inverse_square_grows_linearly():
    square = 1e-4
    after = square
    for _ in range(1000):
        after = next_tangent_squared(after, 1.0)
    assert (1 / after - 1 / square) / 1000 == pytest.approx(8.0, rel=0.01)


def test_the_least_q_is_least():
    trial = [256 * 10 * np.log(2 / e) / (1 - e) ** 2 / 0.1**2 for e in np.linspace(0.01, 0.9, 90)]
    assert least_q(10, 0.1) <= min(trial) <= 1.01 * least_q(10, 0.1)


def test_every_claim_on_printed_numbers_is_in_the_ledger():
    labels = {claim.label for claim in Ledger.of().claims if claim.paper == "rolora"}
    assert {f"table-{number}" for number in (1, 2, 4, 5, 6, 7, 8, 9, 10, 11, 12)} <= labels
    assert {"fig-3", "fig-4", "fig-5", "fig-6", "exp-6", "exp-glue", "exp-commonsense", "exp-generation"} <= labels


def test_training_sets_are_as_published():
    assert sum(SUB_TASKS.values()) == 170_420
    assert tuple(SUB_TASKS) == COMMONSENSE
    assert tuple(TRAINING) == GLUE
