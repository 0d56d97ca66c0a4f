"""Arguments of toy problems: tensors are copied, and those of another kind are refused in one line."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from algorithms.federation import Federation
from toymodels.legendre import (
    admissible_rate,
    heterogeneous,
    homogeneous,
    homogeneous_on_demand,
    legendre_features,
    many_targets,
    random_targets,
)
from toymodels.on_demand import ClientsOnDemand
from toymodels.one_sample import OneSample
from toymodels.problem import Problem, ProblemError
from toymodels.quadratic import Quadratic, centred, quadratic_problem, quadratics_on_demand, random_quadratics
from toymodels.regression import in_expectation, regression, regression_on_demand, with_fresh_data
from toymodels.ridges import Pieces, PseudoHuber, ridge_problem, ridges_on_demand

RNG = np.random.default_rng(0)
SHAPE: Any = (2, 3)


def test_tensors_that_are_used_again_do_not_change_a_problem() -> None:
    """w^2 - 2 w has its least value -1 at 1; the start is 3 away from there."""
    H, B, start = torch.full((1, 1, 1, 1), 2.0), torch.full((1, 1), 2.0), torch.full((1, 1), 4.0)
    client = Quadratic(H.double(), B.double(), torch.zeros(()).double())
    given = quadratic_problem("by hand", [client, client], start := start.double())
    for part in (client.H, client.B, start):
        part.fill_(7.0)
    assert given.minimiser is not None
    assert (float(given.minimiser["W"]), given.least, given.loss(given.minimiser)) == (1.0, -1.0, -1.0)
    assert given.measures["distance"](given.start) == 3.0
    assert given.clients[0] is given.clients[1]


def test_knots_that_are_used_again_do_not_change_a_profile() -> None:
    knots = np.array([1.0])
    profile = Pieces(knots, (1.0, 3.0))  # type: ignore[arg-type]
    knots[0] = 5.0
    assert float(profile.slope(torch.tensor(2.0))) == 4.0  # 1 up to the knot, 3 after it


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (lambda: random_quadratics(3, 2, RNG), "shape must be two whole numbers"),  # type: ignore[arg-type]
        (lambda: random_quadratics((2, 2.5), 2, RNG), "n of the shape .* must be a whole number, got 2.5"),  # type: ignore[arg-type]
        (lambda: random_quadratics(SHAPE, 1.5, RNG), "clients must be a whole number, got 1.5"),  # type: ignore[arg-type]
        (lambda: random_quadratics(SHAPE, 2, RNG, curvatures=1.0), "curvatures must be two numbers"),  # type: ignore[arg-type]
        (lambda: random_quadratics(SHAPE, 2, RNG, target_rank="a"), "target_rank must be a whole number, got 'a'"),  # type: ignore[arg-type]
        (lambda: quadratics_on_demand(3, 2, 0), "shape must be two"),  # type: ignore[arg-type]
        (lambda: ridge_problem((2, 2, 2), 2, RNG), "shape must be two"),  # type: ignore[arg-type]
        (lambda: ridge_problem(SHAPE, 2, RNG, samples=2.5), "a number of samples must be a whole number, got 2.5"),  # type: ignore[arg-type]
        (lambda: ridge_problem(SHAPE, 2, RNG, samples=[3, None]), "a number of samples must be a whole number"),  # type: ignore[list-item]
        (lambda: ridges_on_demand(SHAPE, 2, 0, profile="flat", samples=3, heterogeneity=0.1), "unknown profile 'flat'"),
        (lambda: Pieces(1.0, (1.0, 2.0)), "knots must be a sequence of numbers, got 1.0"),  # type: ignore[arg-type]
        (lambda: Pieces((1.0,), None), "heights must be a sequence of numbers, got None"),  # type: ignore[arg-type]
        (lambda: regression("3", 2, 2, RNG), "d must be a whole number, got '3'"),  # type: ignore[arg-type]
        (lambda: regression(3, 2, 2, RNG, samples="ab"), "a number of samples must be a whole number"),  # type: ignore[arg-type]
        (lambda: regression_on_demand(3, 2, 1.5, 0, samples=3, heterogeneity=0.0), "clients must be a whole"),  # type: ignore[arg-type]
        (lambda: homogeneous(2, RNG, shape=5), "shape must be two"),  # type: ignore[arg-type]
        (lambda: homogeneous(2, RNG, shape=(5, 5), rank=1.5), "rank must be a whole number"),  # type: ignore[arg-type]
        (lambda: heterogeneous(None, RNG), "clients must be a whole number, got None"),  # type: ignore[arg-type]
        (
            lambda: homogeneous_on_demand(2, 0, shape=5, rank=1, samples=9, basis="plain"),  # type: ignore[arg-type]
            "shape must be two",
        ),
        (lambda: legendre_features(np.zeros(3), 2.5), "degrees must be a whole number, got 2.5"),  # type: ignore[arg-type]
        (
            lambda: quadratic_problem("", random_quadratics(SHAPE, 1, RNG).clients, torch.zeros(2, 3), 1.0),  # type: ignore[arg-type]
            "shares must be a sequence of numbers, got 1.0",
        ),
    ],
)
def test_arguments_of_another_kind_are_refused_in_one_line(made: Callable[[], Any], message: str) -> None:
    with pytest.raises(ProblemError, match=message) as caught:
        made()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf"), "a", -1.0])
@pytest.mark.parametrize(
    "made",
    [
        lambda h: random_quadratics(SHAPE, 2, RNG, heterogeneity=h),
        lambda h: quadratics_on_demand(SHAPE, 2, 0, heterogeneity=h),
        lambda h: regression(6, 4, 3, RNG, heterogeneity=h),
        lambda h: regression_on_demand(6, 4, 3, 0, samples=3, heterogeneity=h),
        lambda h: ridge_problem(SHAPE, 2, RNG, heterogeneity=h),
        lambda h: ridges_on_demand(SHAPE, 2, 0, profile="welsch", samples=3, heterogeneity=h),
    ],
)
def test_heterogeneity_is_finite_and_not_negative(made: Callable[[Any], Any], value: Any) -> None:
    with pytest.raises(
        ProblemError, match=r"^(heterogeneity must be (a number|finite)|expected .*heterogeneity >= 0), got"
    ) as caught:
        made(value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_other_numbers_that_are_not_finite_are_refused(bad: float) -> None:
    cases: list[tuple[Callable[[], Any], str]] = [
        (lambda: Pieces((bad,), (0.0, 0.0)), "one of the knots"),
        (lambda: Pieces((0.0,), (0.0, bad)), "one of the heights"),
        (lambda: Pieces((0.0,), (0.0, 1.0), bad), "slope_at_zero"),
        (lambda: random_quadratics(SHAPE, 2, RNG, scale=bad), "scale"),
        (lambda: homogeneous(2, RNG, shape=(3, 3), rank=1, samples=40, start_scale=bad), "start_scale"),
        (lambda: heterogeneous(2, RNG, shape=(3, 3), samples=40, start_scale=bad), "start_scale"),
        (lambda: quadratics_on_demand(SHAPE, 2, 0, scale=bad), "scale"),
        (lambda: random_quadratics(SHAPE, 2, RNG, curvatures=(0.1, bad)), "the high curvature"),
        (lambda: quadratics_on_demand(SHAPE, 2, 0, curvatures=(bad, 1.0)), "the low curvature"),
    ]
    for made, name in cases:
        with pytest.raises(ProblemError, match=f"^{name} must be finite, got {bad}"):
            made()


def test_whole_floats_are_whole_numbers() -> None:
    drawn = [ridge_problem(SHAPE, n, np.random.default_rng(3), samples=m) for n, m in ((2, 4), (2.0, 4.0))]  # type: ignore[arg-type]
    assert torch.equal(drawn[0].start["W"], drawn[1].start["W"])


SIZES = r"^(expected positive sizes|expected at least one|every client needs at least one|rank 1 does not fit)"


@pytest.mark.parametrize(
    "made",
    [
        lambda m, n, clients, samples: random_quadratics((m, n), clients, RNG),
        lambda m, n, clients, samples: quadratics_on_demand((m, n), clients, 0),
        lambda m, n, clients, samples: regression(m, n, clients, RNG, samples=samples),
        lambda m, n, clients, samples: regression_on_demand(m, n, clients, 0, samples=samples, heterogeneity=0.0),
        lambda m, n, clients, samples: ridge_problem((m, n), clients, RNG, samples=samples),
        lambda m, n, clients, samples: ridges_on_demand(
            (m, n), clients, 0, profile="welsch", samples=samples, heterogeneity=0.0
        ),
        lambda m, n, clients, samples: homogeneous_on_demand(
            clients, 0, shape=(m, n), rank=1, samples=samples, basis="plain"
        ),
    ],
)
def test_sizes_are_positive_for_clients_of_both_kinds(made: Callable[[int, int, int, int], Any]) -> None:
    assert made(2, 3, 2, 4).loss({"W": torch.zeros(2, 3, dtype=torch.float64)}) > 0.0
    bad = [(0, 3, 2, 4), (2, 0, 2, 4), (-1, 3, 2, 4), (2, 3, 0, 4), (2, 3, -1, 4)]
    quadratic = {"random_quadratics", "quadratics_on_demand"} & set(made.__code__.co_names)
    for sizes in bad if quadratic else [*bad, (2, 3, 2, 0), (2, 3, 2, -5)]:
        with pytest.raises(ProblemError, match=SIZES) as caught:
            made(*sizes)
        assert "\n" not in str(caught.value)


def test_numbers_of_samples_are_whole_and_as_many_as_clients() -> None:
    for made in (
        lambda n: regression_on_demand(3, 2, 3, 0, samples=n, heterogeneity=0.0),
        lambda n: ridges_on_demand(SHAPE, 2, 0, profile="welsch", samples=n, heterogeneity=0.0),
    ):
        with pytest.raises(ProblemError, match=r"samples must be a whole number, got 2\.5"):
            made(2.5)
        for client in (made(2.0).clients[1], made(2).clients[1]):
            assert client.samples == 2.0
    for given in ([3], [3, 4, 5]):
        with pytest.raises(ProblemError, match=f"samples of 2 clients, got {len(given)} numbers"):
            regression(3, 2, 2, RNG, samples=given)
        with pytest.raises(ProblemError, match=f"samples of 2 clients, got {len(given)} numbers"):
            ridge_problem(SHAPE, 2, RNG, samples=given)


@pytest.mark.parametrize("number", [np.array(5), torch.tensor(5), np.float64(5.0), np.array(5.0), np.int8(5)])
def test_a_number_without_dimensions_is_a_number(number: Any) -> None:
    for made in (
        lambda n: regression(3, 2, 2, np.random.default_rng(0), samples=n),
        lambda n: regression(3, 2, 2, np.random.default_rng(0), samples=[n, 4]),
        lambda n: ridge_problem(SHAPE, 2, np.random.default_rng(0), samples=n),
        lambda n: regression_on_demand(3, 2, n, 0, samples=n, heterogeneity=0.0),
        lambda n: ridges_on_demand(SHAPE, n, 0, profile="welsch", samples=n, heterogeneity=0.0),
        lambda n: homogeneous(2, np.random.default_rng(0), shape=SHAPE, rank=1, samples=10 * n),
        lambda n: random_quadratics(SHAPE, n, np.random.default_rng(0)),
    ):
        given, expected = made(number), made(5)
        assert given.loss(given.start) == expected.loss(expected.start)
        assert [client.samples for client in given.clients] == [client.samples for client in expected.clients]
    with pytest.raises(ProblemError, match="a number of samples must be a whole number, got "):
        regression(3, 2, 2, RNG, samples=np.array(2.5))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "made",
    [
        lambda c: random_quadratics(SHAPE, 3, RNG, curvatures=c),
        lambda c: quadratics_on_demand(SHAPE, 3, 0, curvatures=c),
    ],
)
def test_curvatures_are_in_order(made: Callable[[Any], Any]) -> None:
    with pytest.raises(ProblemError, match=r"curvatures in order, .* got .*\(1.0, 0.1\)"):
        made((1.0, 0.1))
    assert made((-2.0, 0.5)).smoothness == pytest.approx(2.0)


@pytest.mark.parametrize("shape", [(1, 1), (1, 2), (2, 1), (2, 3)])
@pytest.mark.parametrize("curvatures", [(0.1, 1.0), (-3.0, 1.0)])
def test_the_smoothness_of_quadratics_is_attained(shape: tuple[int, int], curvatures: tuple[float, float]) -> None:
    for problem in (
        random_quadratics(shape, 3, np.random.default_rng(1), curvatures=curvatures),
        quadratics_on_demand(shape, 3, 1, curvatures=curvatures),
    ):
        largest = max(float(torch.linalg.eigvalsh(client.matrix).abs().max()) for client in problem.clients[:3])
        assert problem.smoothness == pytest.approx(largest, rel=1e-12)


@pytest.mark.parametrize(
    "made",
    [
        lambda seed: homogeneous_on_demand(3, seed, shape=(3, 3), rank=1, samples=5, basis="dx"),
        lambda seed: quadratics_on_demand(SHAPE, 2, seed),
        lambda seed: regression_on_demand(6, 4, 3, seed, samples=3, heterogeneity=0.1),
        lambda seed: ridges_on_demand(SHAPE, 2, seed, profile="welsch", samples=3, heterogeneity=0.1),
        lambda seed: ClientsOnDemand(lambda rng: None, 3, seed),
    ],
)
def test_seeds_are_whole_numbers_of_at_least_0(made: Callable[[Any], Any]) -> None:
    for seed in (-1, 0.5, "1", None, float("nan")):
        with pytest.raises(ProblemError, match=r"^seed must be a whole number( of at least 0)?, got") as caught:
            made(seed)
        assert "\n" not in str(caught.value)
    assert made(np.int64(3)) is not None


@pytest.mark.parametrize("value", ["no", "", 1, 0, None])
def test_constants_are_true_or_false(value: Any) -> None:
    given = regression(4, 3, 2, RNG, samples=9)
    for ask in (
        lambda: regression(4, 3, 2, RNG, constants=value),
        lambda: with_fresh_data(given, RNG, constants=value),
        lambda: in_expectation(given, constants=value),
    ):
        with pytest.raises(ProblemError, match=f"^constants must be True or False, got {value!r}$"):
            ask()


@pytest.mark.parametrize("shares", [[1e308] * 4, [1e-320] * 4, [3, 3, 3, 3], [8.9e307, 8.9e307, 8.9e307, 8.9e307]])
def test_shares_of_any_size_add_up_to_1(shares: list[float]) -> None:
    clients = random_quadratics(SHAPE, 4, RNG).clients
    given = quadratic_problem("x", clients, torch.ones(2, 3).double(), shares=shares)
    assert given.shares == pytest.approx([0.25] * 4, rel=1e-12)
    expected = quadratic_problem("x", clients, torch.ones(2, 3).double())
    assert given.loss(given.start) == pytest.approx(expected.loss(expected.start))
    uneven = quadratic_problem("x", clients, torch.ones(2, 3).double(), shares=[1.5e308, 0.5e308, 1e308, 0.0])
    assert uneven.shares == pytest.approx([0.5, 1 / 6, 1 / 3, 0.0])


@pytest.mark.parametrize("curvatures", [(1e-320, 2e-320), (5e-324, 5e-324), (-1e-300, 1e-300), (1e-310, 1e-291)])
def test_curvatures_without_digits_are_refused(curvatures: tuple[float, float]) -> None:
    message = r"^the largest curvature, .*, is below 1e-290, where double precision loses digits; rescale the loss"
    for ask in (
        lambda: random_quadratics((2, 2), 3, RNG, curvatures=curvatures),
        lambda: quadratics_on_demand((2, 2), 3, 0, curvatures=curvatures),
        lambda: quadratic_problem("x", [centred(curvatures[1] * np.eye(4), np.ones((2, 2)))], torch.zeros(2, 2)),
    ):
        with pytest.raises(ProblemError, match=message):
            ask()
    small = random_quadratics((2, 2), 3, np.random.default_rng(0), curvatures=(1e-289, 2e-289)).minimiser
    usual = random_quadratics((2, 2), 3, np.random.default_rng(0), curvatures=(1.0, 2.0)).minimiser
    assert small is not None
    assert usual is not None
    torch.testing.assert_close(small["W"], usual["W"])
    assert random_quadratics((2, 2), 3, RNG, curvatures=(0.0, 0.0)).minimiser is None
    assert random_quadratics((1, 1), 1, RNG, curvatures=(1e-290, 1e-290)).smoothness == 1e-290
    bent = [centred(np.diag([-2.0, 1e-300]), np.ones((2, 1)))]  # the largest modulus has its digits
    assert quadratic_problem("x", bent, torch.zeros(2, 1)).smoothness == 2.0


@pytest.mark.parametrize("samples", [-3, 0, 0.0, float("nan"), float("inf"), "3"])
def test_numbers_of_samples_of_a_quadratic_are_positive(samples: Any) -> None:
    with pytest.raises(ProblemError, match=r"^samples must be (positive|finite|a number), got"):
        centred(np.eye(2), np.zeros((2, 1)), samples=samples)


def test_masked_entries_are_not_numbers() -> None:
    masked = np.ma.masked_array(np.ones((2, 1)), [[True], [False]])
    for ask in (
        lambda: centred(np.eye(2), masked),
        lambda: centred(np.ma.masked_array(np.eye(2), np.eye(2) > 0), np.ones((2, 1))),
        lambda: quadratic_problem("x", [centred(np.eye(2), np.ones((2, 1)))], masked),
        lambda: legendre_features(masked[:, 0], 3),
    ):
        with pytest.raises(ProblemError, match="must have no masked entries"):
            ask()


@pytest.mark.parametrize("profile", [3, None, PseudoHuber, ["welsch"]])
def test_a_profile_is_a_name_or_has_a_slope(profile: Any) -> None:
    with pytest.raises(ProblemError, match=r"^profile must be one of .*, or have value, slope, .*, got"):
        ridge_problem(SHAPE, 3, RNG, profile=profile)
    with pytest.raises(ProblemError, match=r"^profile must be one of .*, or have value, slope, .*, got"):
        ridges_on_demand(SHAPE, 3, 0, profile=profile, samples=3, heterogeneity=0.1)


def test_steps_and_problems_are_counted_from_1() -> None:
    given = homogeneous(2, RNG, shape=(3, 3), rank=1, samples=40)
    for steps in (0, -1, 1.5, "2"):
        with pytest.raises(
            ProblemError, match=r"^(expected at least one local step|steps must be a whole number), got"
        ):
            admissible_rate(given, steps)  # type: ignore[arg-type]
    drawn = homogeneous_on_demand(3, 0, shape=(3, 3), rank=1, samples=5, basis="dx")
    flat = quadratic_problem("flat", [centred(np.zeros((4, 4)), np.ones((2, 2)))], torch.zeros(2, 2))
    for problem, found in ((drawn, "inf"), (flat, "0")):
        with pytest.raises(ProblemError, match=f"^the smoothness L .* must be positive and finite, got {found}; of"):
            admissible_rate(problem, 2)
    for problems in (0, -2, 1.5):
        with pytest.raises(
            ProblemError, match=r"^(expected at least one problem|problems must be a whole number), got"
        ):
            random_targets(problems, (3, 3), 1, RNG)  # type: ignore[arg-type]


def test_a_quadratic_has_one_problem() -> None:
    clients = many_targets(torch.from_numpy(RNG.standard_normal((2, 3, 4, 2))), RNG, samples=30)
    with pytest.raises(ProblemError, match=r"a Quadratic has one problem, got 3; select one, as by select\(\[0\]\)"):
        clients[1].as_quadratic()
    with pytest.raises(ProblemError, match="a Quadratic has one problem, got 0"):
        clients[1].select([]).as_quadratic()
    W = torch.from_numpy(RNG.standard_normal((4, 2)))
    alone = clients[1].select([1]).as_quadratic()
    assert float(alone.loss({"W": W})) == pytest.approx(float(clients[1].loss({"W": W})[1]))
    assert alone.samples == clients[1].samples


def _clients_of_every_kind() -> list[Any]:
    """Return a problem of each constructor, of matrices (2, 3)."""
    return [
        random_quadratics(SHAPE, 2, RNG),
        quadratics_on_demand(SHAPE, 2, 0),
        regression(2, 3, 2, RNG),
        regression_on_demand(2, 3, 2, 0, samples=4, heterogeneity=0.1),
        ridge_problem(SHAPE, 2, RNG),
        ridges_on_demand(SHAPE, 2, 0, profile="welsch", samples=3, heterogeneity=0.1),
        homogeneous(2, RNG, shape=SHAPE, rank=1, samples=40),
        homogeneous_on_demand(2, 0, shape=SHAPE, rank=1, samples=9, basis="dx"),
    ]


@pytest.mark.parametrize("shape", [(1, 3), (2, 1), (3, 2), (3, 3), (2, 4), (6,), (1, 2, 3), ()])
def test_start_and_clients_have_one_shape(shape: tuple[int, ...]) -> None:
    """Among these are shapes that broadcasting would accept."""
    start = torch.zeros(shape, dtype=torch.float64)
    for given in _clients_of_every_kind():
        assert given.start["W"].shape == SHAPE
        for make in (
            lambda g=given: replace(g, start={"W": start}),
            lambda g=given: Problem("x", g.clients, {"W": start}, [0.5, 0.5], 1.0),
        ):
            with pytest.raises(
                ProblemError, match=r"^start and clients must have one shape, got .*\(2, 3\) for client 0"
            ):
                make()
    one = OneSample(torch.ones(1, 2), torch.ones(1, 3), torch.tensor(1.0))
    with pytest.raises(ProblemError, match=r"\(2, 3\) for client 0"):
        Problem("one", [one], {"W": start}, [1.0], 1.0)
    quadratics = random_quadratics(SHAPE, 2, RNG).clients
    with pytest.raises(ProblemError, match=r"must have one shape, got .* for the start and \(2, 3\) for client 0"):
        quadratic_problem("x", quadratics, start)


def test_clients_have_one_shape_and_type() -> None:
    two, wide, tall, row = (centred(np.eye(m * n), np.ones((m, n))) for m, n in ((2, 2), (2, 3), (3, 2), (1, 4)))
    start, H, B, c = torch.zeros(2, 2), two.H, two.B, two.c
    cases: list[tuple[list[Any], str]] = [
        ([two, wide], r"clients must have one shape, got \(2, 2\) for client 0 and \(2, 3\) for client 1"),
        ([wide, tall], r"clients must have one shape, got \(2, 3\) for client 0 and \(3, 2\) for client 1"),
        ([two, two, row], r"clients must have one shape, got \(2, 2\) for client 0 and \(1, 4\) for client 2"),
        ([two, Quadratic(H.float(), B.float(), c.float())], "have one type of real floats, got torch.float32, torch.f"),
        ([Quadratic(H.float(), B, c)], "have one type of real floats, got torch.float32, torch.float64"),
        ([Quadratic(H.int(), B.int(), c.int())], "have one type of real floats, got torch.int32"),
        ([Quadratic(H.reshape(4, 4), B, c)], r"client 0 has \(4, 4\), \(2, 2\), \(\)$"),
        ([two, Quadratic(H, B, c.reshape(1))], r"client 1 has \(2, 2, 2, 2\), \(2, 2\), \(1,\)$"),
        ([two, regression(2, 2, 1, RNG).clients[0]], "clients must be Quadratic, client 1 is a Regressor"),
    ]
    for clients, message in cases:
        with pytest.raises(ProblemError, match=message) as caught:
            quadratic_problem("x", clients, start)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_start_of_any_type_becomes_that_of_the_clients(dtype: torch.dtype) -> None:
    double = centred(np.diag([1.0, 2.0, 3.0, 4.0]), [[1.0, 0.5], [0.0, 2.0]], samples=3)
    client = Quadratic(double.H.to(dtype), double.B.to(dtype), double.c.to(dtype), 3.0)
    numbers = [[0.1, -1.0], [3.0, 0.0]]
    for start in (
        numbers,
        tuple(map(tuple, numbers)),
        np.array(numbers),
        np.array(numbers)[:, ::-1][:, ::-1],
        torch.tensor(numbers, dtype=torch.float64),
        torch.tensor(numbers, dtype=torch.float64).requires_grad_(False),
    ):
        given = quadratic_problem("x", [client], start)
        assert torch.equal(given.start["W"], torch.tensor(numbers, dtype=dtype))
        assert given.loss(given.start) == pytest.approx(0.5 * (0.81 + 2 * 2.25 + 3 * 9 + 4 * 4), rel=1e-6)
    assert quadratic_problem("x", [client], torch.zeros(2, 2).half()).start["W"].dtype == dtype
    assert quadratic_problem("x", [client], torch.zeros(2, 2).int()).start["W"].dtype == dtype
    others: list[Any] = ["ab", [["a", "b"]], np.full((2, 2), 1j), 1j * torch.ones(2, 2), [[1.0], [2.0, 3.0]]]
    for other in others:
        with pytest.raises(ProblemError, match=r"^start must be an array of real numbers, got"):
            quadratic_problem("x", [client], other)
    for bad in (float("nan"), -float("inf")):
        with pytest.raises(ProblemError, match="the start W must be finite"):
            quadratic_problem("x", [client], torch.full((2, 2), bad))


def test_numbers_that_make_a_client_are_real() -> None:
    for ask in (lambda: centred(1j * np.eye(2), np.ones((2, 1))), lambda: centred(np.eye(2), 1j * torch.ones(2, 1))):
        with pytest.raises(ProblemError, match="must be an array of real numbers, got"):
            ask()


@pytest.mark.filterwarnings("ignore:overflow")
def test_starts_beyond_double_precision_are_refused() -> None:
    for ask in (
        lambda: random_quadratics((9, 9), 2, np.random.default_rng(0), scale=1.7e308),
        lambda: homogeneous(2, np.random.default_rng(0), shape=(3, 3), rank=1, samples=40, start_scale=-1.7e308),
    ):
        with pytest.raises(ProblemError, match="the start W must be finite, but an entry is not: lower its scale"):
            ask()


def test_quadratics_are_weighed_by_their_samples() -> None:
    """The minimiser of 100/101 (w - 0)^2 / 2 + 1/101 (w - 1)^2 / 2 is 1/101, as for every algorithm."""
    clients = [centred(np.eye(2), np.full((2, 1), place), samples=n) for place, n in ((0.0, 100), (1.0, 1))]
    given = quadratic_problem("x", clients, torch.zeros(2, 1))
    assert given.shares == pytest.approx([100 / 101, 1 / 101])
    assert given.shares == pytest.approx(Federation(given.clients).shares / 101)
    assert given.minimiser is not None
    assert given.minimiser["W"].tolist() == [[pytest.approx(1 / 101)]] * 2
    assert quadratic_problem("x", clients, torch.zeros(2, 1), [1, 1]).shares == [0.5, 0.5]
    assert random_quadratics(SHAPE, 3, RNG).shares == [1 / 3] * 3
