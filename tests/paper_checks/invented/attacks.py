"""False or empty statements that look like good claims, each by another way of deceiving a check."""

from fractions import Fraction

import numpy as np
import sympy

from paper_checks.claim import Evidence, Form, claim
from paper_checks.context import LEVEL, Context
from paper_checks.methods.bands import Interval, judge_bands
from paper_checks.methods.domain import UNIT, UP_TO_ONE, Axis, tried
from paper_checks.methods.identity import Equation, judge_identity
from paper_checks.methods.inequality import collect_cases, judge_inequality
from paper_checks.methods.limit import Ladder, judge_limit, mean_interval
from paper_checks.methods.mean import Tails, judge_means
from paper_checks.methods.parts import judge_parts
from paper_checks.methods.probability import Counted, Law, judge_probability
from paper_checks.methods.relations import Relation, judge_relations
from paper_checks.methods.units import judge_units


def attack(id, says, **rest):
    rest.setdefault("measure", lambda context: None)
    return claim(f"invented/{id}", where="nowhere", says=says, expect=("not checkable here", None), **rest)


def over(x, left, right, error=0.0, **rest):
    return judge_inequality(left, right, error, scope="", case=lambda i: {"x": float(x[i])}, **rest)


def numbers(context: Context) -> np.ndarray:
    return np.linspace(-1.0, 1.0, 201)


@attack("nan-side", r"$\sqrt x \le 1/2$ on $[-1, 0)$", measure=numbers, mutants=[{"K": -1.0}])
def nan_side(x, K=0.0):
    below = x[x < 0]
    with np.errstate(invalid="ignore"):
        left = np.sqrt(below) if K == 0 else 1.0 + 0.0 * below
    return over(below, left, np.full(len(below), 0.5))


@attack("nan-interval", "The means are 1 and 5; the second is not a number.", mutants=[{"mean": 2.0}])
def nan_interval(_, mean=1.0):
    intervals = {"a": Interval(0.99, 1.01, LEVEL / 2), "b": mean_interval(np.array([4.0, 6.0]) * np.nan, LEVEL / 2)}
    return judge_bands(intervals, {"a": mean, "b": 5.0}, scope="")


@attack("overflow", r"$10^{19} + x \le 0$ in integers of 64 bits", mutants=[{"K": 0}])
def overflow(_, K=10**18):
    x = np.arange(1, 5)
    with np.errstate(over="ignore"):
        return over(x, K * np.full(4, 10) + x, np.zeros(4, dtype=int), 0.0)


@attack("nan-promise", "What is not a number is kept.", mutants=[{"left": 1.0}])
def nan_promise(_, left=float("-inf")):
    return judge_relations([Relation("at most 0", left, 0.0, at_most=True)], "")


@attack("crowd", r"$x \le 1$ for a hundred cases that are none, and one that is 2", mutants=[{"K": -1.0}])
def crowd(_, K=1.0):
    x = np.concatenate([np.zeros(300), np.full(100, np.nan), [2.0]])
    return over(x, x, np.full(len(x), K), exact=lambda case: (case["x"], Fraction(K)))


@attack("tolerance", r"$x + 1/2 \le x$ within 0.6", measure=numbers, mutants=[{"shift": 10.0}])
def tolerance(x, shift=0.5):
    return over(x, x + shift, x, 0.6)


@attack("tolerant-promise", "Half is nothing, within 0.6.", mutants=[{"left": 10.0}])
def tolerant_promise(_, left=0.5):
    return judge_relations([Relation("nothing is left", left, 0.0, 0.6)], "")


@attack("far-rival", "A mean of 2 is 2.05.", mutants=[{"mean": 4.0}])
def far_rival(_, mean=2.05):
    interval = {"mean": Interval(1.99, 2.01, LEVEL)}
    return judge_bands(interval, {"mean": mean}, scope="")


@attack("numpy-false", "An outcome of another type.", mutants=[{"K": 0.5}])
def numpy_false(_, K=2.0):
    return Evidence(np.bool_(K > 1), "", margin=abs(K))


@attack("negative-margin", "It passes and fails by 1.", mutants=[{"margin": -2.0}])
def negative_margin(_, margin=-1.0):
    return Evidence(margin == -1.0, "", margin=margin)


@attack("undecided-mutant", "The mutant cannot be resolved.", mutants=[{"K": 0.5}])
def undecided_mutant(_, K=1.0):
    return Evidence(True if K == 1.0 else None, "", margin=K, reason="too few draws")


@attack(
    "infinite-mutant", r"$x \le K$, and the mutant compares with infinity", measure=numbers, mutants=[{"power": -1}]
)
def infinite_mutant(x, power=1):
    with np.errstate(divide="ignore"):
        return over(x, np.abs(x[100:101]) ** float(power), np.array([10.0]), infinite=True)


@attack("declared-fact", "A proof by declaration.", mutants=[{"K": 2.0}])
def declared_fact(_, K=1.0):
    from paper_checks.facts import Fact

    return Evidence(K == 1.0, "", margin=2.0 - K, facts=(Fact("because I say so", True),))


@attack("positive-symbol", r"$\sqrt{x^2} = x$ for every real x", mutants=[{"factor": 2}])
def positive_symbol(_, factor=1):
    x = sympy.Symbol("x", positive=True)
    return judge_identity([Equation("root", sympy.sqrt(x**2), factor * x)], [{x: sympy.Rational(2, 3)}], "all real x")


@attack("one-ulp", r"$3 x \le 3x$, true, and one unit of rounding off", control=Form("$3x < 4x$", {"K": 4.0}))
def one_ulp(_, K=3.0):
    x = np.array([0.1])
    return over(x, np.array([0.1 + 0.1 + 0.1]), K * x, exact=lambda case: (0.1 + 0.1 + 0.1, K * float(case["x"])))


@attack("float-probability", "The probability is 0.3, in floats.", mutants=[{"low": 0.5}])
def float_probability(_, low=0.1):
    return judge_probability(Law(0.1 + 0.2), low, 1.0, scope="", what="rain")


def slowly(context: Context) -> tuple[np.ndarray, ...]:
    rng = context.rng()
    return tuple(0.01 * R + 1e-4 * rng.standard_normal(20) for R in (4, 6, 9))


@attack("one-dimension", r"$\log_{10}(R)/100$ tends to 0.09", measure=slowly, mutants=[{"limit": 0.2}])
def one_dimension(draws, limit=0.09):
    return judge_limit({"x": Ladder(((10**9, draws[-1]),))}, {"x": limit}, scope="")


@attack("never-settles", r"$\log_{10}(R)/100$ tends to 0.09", measure=slowly, mutants=[{"limit": 0.1}])
def never_settles(draws, limit=0.09):
    ladder = Ladder(tuple((10**R, x) for R, x in zip((4, 6, 9), draws, strict=True)))
    return judge_limit({"x": ladder}, {"x": limit}, scope="")


@attack("moves-away", r"$\log_{10}(R)/100$ tends to 0.065", measure=slowly, mutants=[{"limit": 0.2}])
def moves_away(draws, limit=0.065):
    ladder = Ladder(tuple((10**R, x) for R, x in zip((4, 6, 9), draws, strict=True)))
    return judge_limit({"x": ladder}, {"x": limit}, scope="", resolution=0.05)


@attack("high-level", "A level that nobody may spend.", mutants=[{"low": 0.9}])
def high_level(_, low=0.1):
    return judge_probability(Counted(50, 100), low, 1.0, scope="", what="heads", level=1e-3)


@attack("twice-the-level", "Two statements, each at the level of one claim.", mutants=[{"low": 0.9}])
def twice_the_level(_, low=0.1):
    return judge_parts(judge_probability(Counted(50, 100), low, 1.0, scope="", what=side) for side in ("a", "b"))


@attack("no-part", "A statement of no parts.", mutants=[{"K": 2.0}])
def no_part(_, K=1.0):
    return judge_parts([] if K == 1.0 else [Evidence(False, "", margin=-1.0)])


@attack("zero-units", "0 m is 0 s.", mutants=[{"power": 1}])
def zero_units(_, power=0):
    zero = Fraction(power)
    return judge_units({"line": lambda p: (zero * p["x"] + zero, zero)}, {"x": 1}, [{"x": Fraction(2)}], "")


@attack("few-draws", "A mean of no draws.", mutants=[{"mean": 3.0}])
def few_draws(_, mean=1.0):
    draws = {"x": np.array([np.nan, 1.0, 1.0]) if mean == 1.0 else np.array([1.0, 1.1])}
    return judge_means(draws, {"x": mean}, scope="", tails=Tails(normal="they look it"))


def lottery(wins: int) -> np.ndarray:
    """1,000 draws of mean 1: each wins 2,000 with probability 1/2,000; often none does, and sometimes one."""
    return np.concatenate([np.full(wins, 2000.0), np.zeros(1000 - wins)])


def mean_of_lottery(draws, mean, tails):
    return judge_means({"x": draws}, {"x": mean}, scope="", tails=tails, resolution=0.5)


@attack("heavy-tail", "A lottery gives nothing.", measure=lambda context: lottery(0), mutants=[{"mean": 1.0}])
def heavy_tail(draws, mean=0.0):
    return mean_of_lottery(draws, mean, Tails())


@attack(
    "missed-tail",
    "A lottery gives nothing, and its draws are normal.",
    measure=lambda context: lottery(0),
    mutants=[{"mean": 1.0}],
)
def missed_tail(draws, mean=0.0):
    return mean_of_lottery(draws, mean, Tails(normal="by the central limit theorem"))


@attack(
    "met-tail", "The same on another seed, that wins once.", measure=lambda context: lottery(1), mutants=[{"mean": 1.0}]
)
def met_tail(draws, mean=0.0):
    return mean_of_lottery(draws, mean, Tails(normal="by the central limit theorem"))


@attack(
    "small-deviation",
    "Standard normal draws, said to have a standard deviation of 0.01, have mean 0.3.",
    measure=lambda context: context.rng().standard_normal(1000) + 0.25,
    mutants=[{"mean": 0.9}],
)
def small_deviation(draws, mean=0.3):
    return judge_means({"x": draws}, {"x": mean}, scope="", tails=Tails({"x": 0.01}), resolution=0.3)


@attack(
    "pinned",
    r"$x - 100 \le K x$, for any K of order 1, and a line of the check says that K is 1",
    measure=numbers,
    mutants=[{"K": 0.9}],
    vary=("K",),
)
def pinned(x, K=1.0):
    left, right = np.concatenate([x - 100.0, [1.0]]), np.concatenate([K * x, [K]])
    return judge_inequality(
        left, right, 0.0, scope="", case=lambda i: {"i": i}, lines=["the statement"] * len(x) + ["K is 1"]
    )


@attack(
    "other-line",
    "A promise with a constant that another promise holds fast.",
    mutants=[{"K": 0.9}],
    vary=("K",),
    stands_in={"K": ("the bound",)},
)
def other_line(_, K=1.0):
    return judge_relations([Relation("the bound", 0.01, K, at_most=True), Relation("K is 1", K, 1.0)], "")


def two_cases(context: Context):
    axes = (Axis("x", 1e-3, 1.0, UNIT), Axis("y", 1e-3, 1.0, UNIT))
    return collect_cases(
        context, axes, lambda c: (c["x"] == 1.0) & (c["y"] == 1.0), lambda c: c["x"], examples=50, restarts=0
    )


@attack("two-cases", r"$x \le 1$ where an assumption leaves next to nothing", measure=two_cases, mutants=[{"K": 0.5}])
def leaves_two(cases, K=1.0):
    return over(cases["x"], cases["x"], np.full(len(cases["x"]), K))


def half_of_it(context: Context):
    axes = (Axis("x", 1e-3, 1.0, UNIT),)
    return collect_cases(context, axes, lambda c: c["x"] < 0.5, lambda c: c["x"], examples=300, restarts=1)


@attack("half-domain", r"$x \le 1/2$ on $(0, 1]$, for x below 1/2", measure=half_of_it, mutants=[{"K": 0.1}])
def half_domain(cases, K=0.5):
    return over(cases["x"], cases["x"], np.full(len(cases["x"]), K))


def narrow(context: Context):
    return collect_cases(
        context, (Axis("x", 0.4, 0.6, UNIT),), lambda c: c["x"] > 0, lambda c: c["x"], examples=300, restarts=0
    )


@attack("narrow-domain", r"$x \le 0.6$ on $(0, 1)$", measure=narrow, mutants=[{"K": 0.5}])
def narrow_domain(cases, K=0.6):
    return over(cases["x"], cases["x"], np.full(len(cases["x"]), K))


@attack("narrow-grid", r"$x \le 0.8$ on $(0, 1]$", measure=lambda _: np.linspace(0.2, 0.8, 31), mutants=[{"K": 0.5}])
def narrow_grid(x, K=0.8):
    return over(x, x, np.full(len(x), K), domain=tried(("x", x, UP_TO_ONE)))
