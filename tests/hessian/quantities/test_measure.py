"""Quantities against dense eigenvalues: both signs, unequal sizes, one parameter, zero and repeated eigenvalues."""

import json
import math

import numpy as np
import pytest
import torch
from scipy.stats import t as student
from torch import nn

from hessian import (
    Curvature,
    CurvatureError,
    DenseOperator,
    Profile,
    Quantity,
    SpectrumSettings,
    exact_hessian,
    measure,
    measure_spectrum,
    stable_rank_of,
)
from hessian.lanczos.memory import Budget
from hessian.quantities.block_measurements import measure_blocks
from hessian.quantities.measurement import MeasureSettings, measure_from, stream_of
from hessian.quantities.names import read_quantities

OUTLIERS = np.r_[20.0, 12.0, -5.0, 3.0, 0.05 * np.linspace(-1.0, 1.0, 143)]
SEMIDEFINITE = np.r_[9.0, 4.0, 2.0, np.geomspace(1e-3, 1.0, 137)]
ALL = "trace,sharpness,smallest,frobenius-squared,stable-rank,count-above=1,count-below=1,diagonal,density"


def rotated(values, seed=0):
    Q = np.linalg.qr(np.random.default_rng(seed).standard_normal((len(values),) * 2))[0]
    dense = torch.from_numpy(Q * values @ Q.T)
    return (dense + dense.T) / 2.0


def exact(text, values):
    quantity = Quantity.of(text)
    T = quantity.threshold
    return {
        "trace": lambda: values.sum(),
        "sharpness": lambda: values.max(),
        "smallest": lambda: values.min(),
        "frobenius-squared": lambda: (values**2).sum(),
        "stable-rank": lambda: (values**2).sum() / (values**2).max(),
        "count-above": lambda: (values > T).sum(),
        "count-below": lambda: (values < -T).sum(),
        "effective-dimension": lambda: (values / (values + T)).sum(),
        "log-det": lambda: np.log(values + T).sum(),
    }[quantity.name]()


def close(found, truth, width=0.1):
    """Whether an estimate is near the truth, regardless of its interval."""
    return abs(found.value - truth) <= 1.5 * width * max(abs(truth), 1.0)


@pytest.mark.parametrize(
    ("values", "names"),
    [
        (OUTLIERS, "trace,sharpness,smallest,frobenius-squared,stable-rank,count-above=1,count-below=1"),
        (-OUTLIERS, "trace,sharpness,smallest,frobenius-squared,stable-rank,count-above=1,count-below=1"),
        (SEMIDEFINITE, "trace,log-det=0.5,effective-dimension=0.5,count-above=1.5,smallest"),
        (np.repeat([3.0, 1.0, -2.0], [4, 60, 46]), "trace,count-above=2,count-above=0,count-below=1"),
    ],
    ids=["outliers", "mirrored", "semidefinite", "copies"],
)
def test_every_number_is_near_the_dense_one_and_mostly_within_its_interval(values, names):
    operator, missed = DenseOperator(rotated(values)), 0
    for seed in range(3):
        found = measure(operator, names, relative_width=0.1, steps=30, basis=40, seed=seed)
        for text in names.split(","):
            one, truth = found[text], exact(text, values)
            assert one.low <= one.value <= one.high
            assert close(one, truth), (text, one, truth)
            missed += truth not in one
    assert missed <= 2


def test_all_of_a_small_matrix_is_exact():
    """As many rows as dimensions leave nothing to chance."""
    values = np.r_[4.0, 1.2, 1.2, 0.0, -2.5]
    matrix = rotated(values)
    found = measure(DenseOperator(matrix), ALL + ",count-above=0.5,count-below=0")
    for text in (*ALL.split(",")[:7], "count-above=0.5"):
        truth = exact(text, values)
        assert truth == pytest.approx(found[text].value, abs=1e-12)
        assert found[text].low - 1e-13 <= truth <= found[text].high + 1e-13
        assert found[text].width < 1e-10 if text != "stable-rank" else True
    below = found["count-below=0"]  # an eigenvalue is exactly there
    assert (below.low, below.high) == (1, 2)
    assert not below.reached
    assert found["diagonal"].value == pytest.approx(matrix.diagonal().numpy(), abs=1e-12)
    low, high = found["density"].bracket(np.array([-3.0, -1.0, 0.5, 2.0, 5.0]))
    assert low == pytest.approx([0.0, 0.2, 0.4, 0.8, 1.0])
    assert high == pytest.approx([0.0, 0.2, 0.4, 0.8, 1.0])


@pytest.mark.parametrize("entry", [3.0, -0.5])
def test_one_parameter(entry):
    found = measure(DenseOperator(torch.tensor([[entry]]).double()), ALL)
    assert [found[name].value for name in ("trace", "sharpness", "smallest")] == pytest.approx([entry] * 3)
    assert found["frobenius-squared"].value == pytest.approx(entry**2)
    assert found["count-above=1"].value == (entry > 1.0)
    assert found["diagonal"].value == pytest.approx([entry])


def test_a_zero_matrix_has_all_but_a_stable_rank():
    zero = DenseOperator(torch.zeros(30, 30).double())
    names = "trace,sharpness,smallest,frobenius-squared,count-above=0.1,count-below=0.1,diagonal,density"
    found = measure(zero, f"{names},log-det=2,effective-dimension=2", basis=10, steps=5)
    for name in ("trace", "sharpness", "smallest", "frobenius-squared", "count-above=0.1", "count-below=0.1"):
        assert (found[name].low, found[name].value, found[name].high) == (0.0, 0.0, 0.0)
        assert found[name].reached
    assert found["log-det=2"].value == pytest.approx(30 * math.log(2.0))
    assert found["effective-dimension=2"].value == 0.0
    assert not found["diagonal"].value.any()
    with pytest.raises(CurvatureError, match="zero to rounding: its stable rank is not defined"):
        measure(zero, "trace,stable-rank")


def test_zeros_along_the_axes_are_not_beyond_a_threshold():
    """Outside the basis all products are zeros to rounding, as for weights on which the loss does not depend."""
    matrix = DenseOperator(torch.diag(torch.tensor([3.0, 2.5, 2.0, 1.5, 1.0] + 35 * [0.0]).double()))
    found = measure(matrix, "count-above=0.5,count-below=0.5,count-above=2.2,density", steps=3, products=100)
    assert found["count-above=0.5"].value == pytest.approx(5.0)
    assert found["count-below=0.5"].high == 0.0
    assert found["count-above=2.2"].value == pytest.approx(2.0)
    low, high = found["density"].bracket(np.array([-0.5, 0.9, 2.2]))
    assert (low <= np.array([0.0, 35.0, 38.0]) / 40.0).all()
    assert (high >= np.array([0.0, 35.0, 38.0]) / 40.0).all()


@pytest.mark.parametrize(("unit", "taken"), [(1e-144, True), (1e-146, False), (1e144, True), (1e146, False)])
def test_squares_beyond_double_precision_are_refused(unit, taken):
    operator = DenseOperator(unit * torch.diag(torch.tensor([3.0, -1.0]).double()))
    assert measure(operator, "sharpness,stable-rank")["sharpness"].value == pytest.approx(3.0 * unit, rel=1e-9, abs=0.0)
    if taken:
        found = measure(operator, "sharpness,frobenius-squared")["frobenius-squared"]
        assert found.value / unit == pytest.approx(10.0 * unit, rel=1e-9, abs=0.0)
        assert found.low <= found.value <= found.high
    else:
        with pytest.raises(
            CurvatureError,
            match=r"squared norm of eigenvalues near 2e[-+]14. is beyond .* multiply the loss by 5e[-+]14",
        ):
            measure(operator, "sharpness,frobenius-squared")


@pytest.mark.parametrize("unit", [2.0**-100, 2.0**100])
def test_all_numbers_of_a_result_have_the_unit_of_the_matrix(unit):
    """A power of two changes no digit: also those of what is uncertain, and of the parts' deviations."""
    names = ("trace", "sharpness", "smallest", "frobenius-squared", "diagonal")
    matrix = rotated(np.r_[4.0, 3.0, np.linspace(0.0, 1.0, 28)])
    one, other = (
        measure(DenseOperator(matrix * size), ",".join(names), basis=6, products=50, relative_width=0.01)
        for size in (1.0, unit)
    )
    for name in names:
        power = 2 if name == "frobenius-squared" else 1
        for part in ("value", "low", "high", *(("sd",) if name == "diagonal" else ("uncertain",))):
            np.testing.assert_allclose(getattr(other[name], part), unit**power * getattr(one[name], part), rtol=1e-9)
        assert other[name].reached == one[name].reached
        assert other[name].probes == one[name].probes
    assert one["sharpness"].uncertain > 0.0
    assert one["diagonal"].sd.min() > 0.0


@pytest.mark.parametrize("unit", [1e-30, 1e30])
def test_units_of_the_matrix_change_results_by_their_powers(unit):
    values = SEMIDEFINITE
    one = measure(DenseOperator(rotated(values)), "trace,sharpness,frobenius-squared,log-det=0.5,count-above=1.5")
    scaled = DenseOperator(rotated(values) * unit)
    other = measure(scaled, f"trace,sharpness,frobenius-squared,log-det={0.5 * unit!r},count-above={1.5 * unit!r}")
    assert other["trace"].value == pytest.approx(one["trace"].value * unit, rel=0.1)
    assert other["sharpness"].value == pytest.approx(9.0 * unit)
    assert other["frobenius-squared"].value == pytest.approx(one["frobenius-squared"].value * unit**2, rel=0.1)
    moved = exact("log-det=0.5", values) + len(values) * math.log(unit)
    assert other[f"log-det={0.5 * unit!r}"].value == pytest.approx(moved, rel=1e-2)
    assert other[f"count-above={1.5 * unit!r}"].value == pytest.approx(exact("count-above=1.5", values))


@pytest.mark.parametrize("name", ["log-det=0.1", "effective-dimension=0.1"])
@pytest.mark.parametrize("place", [0, -1], ids=["found by the basis", "found by a probe"])
def test_a_matrix_that_is_not_semidefinite_is_refused_where_it_must_be(name, place):
    values = SEMIDEFINITE.copy()
    values[place] = -0.7 if place else -9.0
    message = r"is for positive semidefinite matrices, but this one has an eigenvalue of at most -[0-9.]+: measure"
    with pytest.raises(CurvatureError, match=message) as error:
        measure(DenseOperator(rotated(values)), f"trace,{name}", steps=20)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("kind", [torch.float64, torch.float32])
def test_zeros_that_are_rounded_to_negative_numbers_are_zeros(kind):
    values = np.r_[np.linspace(0.5, 2.0, 20), np.zeros(60)]
    operator = DenseOperator(rotated(values).to(kind))
    for seed in range(8):
        found = measure(operator, "log-det=0.02,effective-dimension=0.02", steps=12, basis=24, seed=seed, products=200)
        assert close(found["log-det=0.02"], exact("log-det=0.02", values), width=0.2)
        assert close(found["effective-dimension=0.02"], exact("effective-dimension=0.02", values), width=0.4)


def test_a_threshold_below_the_rounding_is_refused():
    with pytest.raises(CurvatureError, match="not above the rounding of the products: choose more than"):
        measure(DenseOperator(rotated(SEMIDEFINITE).float()), "log-det=1e-9")


class Spoiled:
    """A matrix whose products are not numbers from one call on."""

    def __init__(self, matrix, good):
        self._inner, self._left = DenseOperator(matrix), good
        self.P, self.dtype, self.device = self._inner.P, self._inner.dtype, self._inner.device

    def products(self, vectors):
        self._left -= 1
        return self._inner.products(vectors) * (math.nan if self._left < 0 else 1.0)


@pytest.mark.parametrize(
    ("names", "good"),
    [("sharpness", 0), ("sharpness", 5), ("trace", 1), ("trace", 14), ("diagonal", 14), ("density", 40)],
)
def test_products_that_are_not_numbers_are_an_error(names, good):
    with pytest.raises(CurvatureError, match="not finite"):
        measure(Spoiled(rotated(OUTLIERS), good), names, relative_width=1e-4, steps=20, basis=60, products=400)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("spread", "'spread' is not a quantity: choose among trace, sharpness"),
        ("", "name at least one quantity"),
        ([], "name at least one quantity"),
        ("count-above", "count-above needs a threshold, such as count-above=0.1"),
        ("trace=2", "trace takes no threshold: leave out =2"),
        ("count-above=x", "the threshold of count-above must be a number, got 'x'"),
        ("count-above=nan", "must be finite and at least 0, got nan"),
        ("count-below=-1", "must be finite and at least 0, got -1"),
        ("log-det=0", "must be finite and positive, got 0"),
        ("log-det=inf", "must be finite and positive, got inf"),
    ],
)
def test_quantities_that_cannot_be_measured_are_named(given, message):
    with pytest.raises(CurvatureError, match=message):
        measure(DenseOperator(torch.eye(3).double()), given)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"relative_width": 0.0}, "relative_width must be positive"),
        ({"relative_width": math.nan}, "relative_width must be positive"),
        ({"confidence": 1.0}, "confidence in"),
        ({"products": 21}, "products must be a whole number of at least 22, got 21"),
        ({"steps": 0}, "steps must be a whole number of at least 1"),
        ({"basis": 2.5}, "basis must be a whole number"),
        ({"chunk": 0}, "chunk must be a whole number"),
        ({"seed": -1}, "seed must be a whole number of at least 0, got -1"),
        ({"seed": True}, "seed must be a whole number"),
    ],
)
def test_numbers_beyond_their_range_are_refused(options, message):
    with pytest.raises(CurvatureError, match=message):
        measure(DenseOperator(torch.eye(3).double()), "trace", **options)


def test_names_are_read_in_any_form_and_kept_once():
    names = read_quantities(["largest", "sharpness", Quantity("count-above", np.float64(0.1)), "count-above=1e-1"])
    assert names == (Quantity("sharpness"), Quantity("count-above", 0.1))
    assert [str(one) for one in names] == ["sharpness", "count-above=0.1"]
    assert Quantity.of("count-below=-0.0").label == "below 0"


def test_several_quantities_share_basis_and_probes():
    operator = DenseOperator(rotated(OUTLIERS))
    together = measure(operator, "trace,sharpness,frobenius-squared,stable-rank")
    alone = [measure(operator, name) for name in ("trace", "sharpness", "frobenius-squared", "stable-rank")]
    cost = [sum(one.products.values()) for one in alone]
    assert sum(together.products.values()) <= max(cost) + 6 < sum(cost)
    assert measure(operator, "trace").to_dict() == alone[0].to_dict()  # the same seed, the same numbers
    assert measure(operator, "trace", seed=1)["trace"].value != alone[0]["trace"].value


def test_a_stable_rank_alone_is_within_the_interval_of_the_dedicated_function():
    operator = DenseOperator(rotated(OUTLIERS))
    one = measure(operator, "stable-rank")["stable-rank"]
    other = stable_rank_of(operator, rng=np.random.default_rng(3))
    assert one.low <= other.high
    assert other.low <= one.high
    assert one.steps == other.steps


def test_extremes_of_few_rows_have_a_lower_end_that_is_certain():
    values = np.cos(np.linspace(0.0, np.pi, 90))
    operator = DenseOperator(rotated(values))
    for seed in range(20):
        found = measure(operator, "sharpness,smallest", basis=6, seed=seed, relative_width=1e-3)
        top, bottom = found["sharpness"], found["smallest"]
        assert top.low <= 1.0
        assert bottom.high >= -1.0
        assert not top.reached
        assert top.limit == "raise basis"
        assert top.width > 1e-3
        assert top.high < 10.0
    few = measure(operator, "sharpness", products=22, relative_width=1e-9)["sharpness"]
    assert few.limit == "raise products"


def test_products_bound_the_work():
    operator = DenseOperator(rotated(np.cos(np.linspace(0.0, np.pi, 150))))
    found = measure(operator, "trace,count-above=0.5,diagonal,density", products=300, relative_width=1e-3)
    assert sum(found.products.values()) <= 300
    assert not found.reached
    assert found["diagonal"].limit == "raise products"


@pytest.mark.parametrize(("names", "least"), [("trace", 22), ("density", 42), ("count-above=1,diagonal", 52)])
def test_the_fewest_products_suffice_and_fewer_are_refused(names, least):
    operator = DenseOperator(rotated(OUTLIERS))
    found = measure(operator, names, steps=20, products=least)
    assert sum(found.products.values()) <= least
    with pytest.raises(CurvatureError, match=f"at least {least}, got {least - 1}"):
        measure(operator, names, steps=20, products=least - 1)


def test_a_distribution_function_is_within_its_band():
    values = np.sort(np.r_[OUTLIERS, np.zeros(20)])
    found = measure(DenseOperator(rotated(values)), "density", steps=30)["density"]
    assert isinstance(found, Profile)
    low, high = found.bracket(values)
    truth = np.arange(1, len(values) + 1) / len(values)
    apart = np.abs(values) > 1e-9
    assert (low[apart] <= truth[apart] + 1e-12).all()
    assert (high[apart] >= truth[apart] - 1e-12).all()
    outside = found.bracket(np.array([-6.0, 21.0]))
    assert outside[0][0] == 0.0
    assert outside[1][1] == 1.0
    assert (np.diff(found.low) >= 0.0).all()
    assert (np.diff(found.high) >= 0.0).all()


def test_a_diagonal_is_unbiased_with_standard_errors_of_the_right_size():
    matrix = rotated(OUTLIERS)
    scores = []
    for seed in range(30):
        found = measure(DenseOperator(matrix), "diagonal", relative_width=0.3, products=60, seed=seed)["diagonal"]
        scores.append((found.value - matrix.diagonal().numpy()) / found.sd)
        quantile = student.ppf(0.975, found.probes - 1)
        assert found.high - found.value == pytest.approx(quantile * found.sd, rel=1e-6)
        assert found.value - found.low == pytest.approx(quantile * found.sd, rel=1e-6)
        width = np.linalg.norm(found.high - found.low) / np.linalg.norm(found.value)
        assert found.reached is bool(width <= 0.3)
    scores = np.array(scores)
    assert abs(scores.mean()) < 0.05
    assert 0.9 < scores.std() < 1.3  # of Student's law with few degrees of freedom


def test_a_nearly_diagonal_matrix_needs_no_probe_of_its_diagonal():
    found = measure(DenseOperator(torch.diag(torch.linspace(-1.0, 2.0, 80).double())), "diagonal", basis=4)["diagonal"]
    assert found.value == pytest.approx(np.linspace(-1.0, 2.0, 80), abs=1e-12) or found.sd.max() > 0.0
    assert abs(found.value - np.linspace(-1.0, 2.0, 80)).max() <= 6.0 * max(found.sd.max(), 1e-12)


def network(outputs=3):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(7, 5), nn.Tanh(), nn.Linear(5, outputs)).double()
    return model, torch.randn(40, 7).double(), torch.randint(0, outputs, (40,))


def test_a_network_and_its_blocks_against_the_dense_hessian():
    model, inputs, targets = network()
    loss = nn.CrossEntropyLoss()
    dense = exact_hessian(model, loss, inputs, targets)
    operator = Curvature(model, loss, (inputs, targets))
    found = measure(operator, ["trace", "sharpness", "count-below=0.001"], basis=30)
    values = np.linalg.eigvalsh(dense.numpy())
    assert close(found["trace"], values.sum())
    assert values.max() in found["sharpness"]
    assert close(found["count-below=0.001"], (values < -0.001).sum())
    assert found.gradients > 0.0
    blocks = measure_blocks(operator, read_quantities("trace,smallest"), MeasureSettings())
    assert [(block.name, block.P) for block in blocks] == [("0", 40), ("2", 18)]
    for block, part in zip(blocks, (dense[:40, :40], dense[40:, 40:]), strict=True):
        assert block.measurement["trace"].value == pytest.approx(float(part.trace()), rel=0.1)
        assert block.measurement["smallest"].low <= float(torch.linalg.eigvalsh(part)[0]) + 1e-12


def test_blocks_that_cannot_be_measured_say_why_and_leave_the_others():
    model, inputs, targets = network()
    operator = Curvature(model, nn.CrossEntropyLoss(), (inputs, targets))
    first, last = measure_blocks(operator, read_quantities("log-det=0.1"), MeasureSettings())
    assert (first.measurement, first.why) == (None, "not positive semidefinite")
    assert last.why == ""
    part = exact_hessian(model, nn.CrossEntropyLoss(), inputs, targets)[40:, 40:]
    assert last.measurement["log-det=0.1"].value == pytest.approx(
        float(torch.logdet(part + 0.1 * torch.eye(18).double())), rel=1e-6
    )


def test_a_report_holds_further_quantities_and_their_stable_rank():
    operator = DenseOperator(rotated(OUTLIERS))
    settings = {"outliers": 3, "probes": 2, "steps": 20}
    plain = measure_spectrum(operator, SpectrumSettings(**settings))
    assert plain.quantities is None
    report = measure_spectrum(operator, SpectrumSettings(**settings, quantities=("trace", "count-above=1")))
    assert report.stable_rank is report.quantities["stable-rank"]
    assert close(report.quantities["trace"], OUTLIERS.sum())
    assert report.quantities["count-above=1"].value == 3
    assert report.words()["trace"] == report.quantities["trace"].words()["trace"]
    assert sum(report.quantities.products.values()) == report.products["stable rank"]
    stored = json.loads(json.dumps(report.to_dict()))
    assert stored["quantities"]["found"]["trace"]["value"] == report.quantities["trace"].value
    with pytest.raises(CurvatureError, match="'spread' is not a quantity"):
        SpectrumSettings(quantities=("spread",))


def test_a_budget_of_memory_is_kept_or_refused():
    matrix = rotated(OUTLIERS).float()
    row = 4 * len(matrix)
    found = measure(DenseOperator(matrix), "trace,sharpness", memory=Budget(40 * row), relative_width=0.1)
    assert found.given_up.startswith("basis in float16")
    assert close(found["trace"], OUTLIERS.sum())
    assert found["sharpness"].low <= 20.0 <= found["sharpness"].high
    for names in ("density", "diagonal"):
        with pytest.raises(CurvatureError, match="memory is too small for a basis of 120 rows and a"):
            measure(DenseOperator(matrix), names, memory=Budget(90 * row))


def test_results_are_plain_values_for_json():
    found = measure(DenseOperator(rotated(OUTLIERS)), "trace,stable-rank,count-above=1,density", steps=10)
    stored = json.loads(json.dumps(found.to_dict()))
    assert set(stored["found"]) == {"trace", "stable-rank", "count-above=1", "density"}
    assert stored["found"]["count-above=1"]["quantity"] == {"name": "count-above", "threshold": 1.0}
    assert len(stored["found"]["density"]["low"]) == len(found["density"].low)
    assert str(found).splitlines()[0].startswith("trace          ")
    assert list(found.words()) == ["trace", "stable rank", "above 1", "density", "cost"]


@pytest.mark.parametrize("steps", [1, 2])
def test_few_steps_do_not_hide_how_much_a_function_varies(steps):
    values = np.r_[np.logspace(-1.0, 2.0, 13), np.zeros(6)]
    operator, names = DenseOperator(rotated(values)), ("effective-dimension=10", "log-det=10")
    truth = (values / (values + 10.0)).sum(), np.log(values + 10.0).sum()
    missed = np.zeros(2, dtype=int)
    for seed in range(25):
        found = measure(operator, names, steps=steps, products=80, relative_width=0.5, seed=seed)
        missed += [not found[name].low <= right <= found[name].high for name, right in zip(names, truth, strict=True)]
    assert missed.max() <= 4  # nodes of one step alone miss 9 and 12; at 5 %, 5 or more have a chance of 0.7 %


@pytest.mark.parametrize("names", ["sharpness", "smallest", "sharpness,smallest"])
def test_extreme_eigenvalues_alone_take_few_products_and_hold_the_truth(names):
    """The basis stops where the bounds are close: fewer products for a wide interval, the same answers."""
    values = np.r_[8.0, 5.0, -6.0, 0.02 * np.random.default_rng(2).standard_normal(397)]
    operator = DenseOperator(rotated(values))
    exact = {"sharpness": 8.0, "smallest": -6.0}
    counts = {}
    for width in (0.3, 0.01):
        found = [measure(operator, names, relative_width=width, seed=seed) for seed in range(25)]
        counts[width] = [sum(one.products.values()) for one in found]
        for one in found:
            for quantity, result in one.found.items():
                assert exact[quantity.name] in result
                assert result.reached
                assert result.width <= width * 8.0
    assert max(counts[0.3]) < 12
    assert np.mean(counts[0.3]) < np.mean(counts[0.01])
    assert min(counts[0.3]) >= 4


def test_the_trace_alone_has_half_of_the_error_probability_if_it_is_one_of_two():
    """`choices` widens the interval of the trace, and leaves the others as they are."""
    operator = DenseOperator(rotated(np.r_[5.0, 1.0 + 0.3 * np.random.default_rng(3).standard_normal(299)]))
    settings, names = MeasureSettings(0.1, products=60), read_quantities("trace, frobenius-squared, sharpness")
    one, other = (
        measure_from(operator, names, settings, lambda part: stream_of(part, 7), None, choices=choices)[0]
        for choices in (1, 2)
    )
    assert one["trace"].confidence == other["trace"].confidence == 0.95
    roots = [found["trace"].width * found["trace"].probes ** 0.5 for found in (one, other)]
    assert roots[1] > 1.1 * roots[0]
    assert one["sharpness"].width == pytest.approx(other["sharpness"].width)
