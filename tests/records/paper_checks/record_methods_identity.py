"""Records of symbolic identities, claims whose check yields what a method judges, and experiments that are reported."""

from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pandas as pd
import sympy
from evidence_shown import shown
from recording import refused

from paper_checks.claim import Evidence
from paper_checks.context import Context
from paper_checks.methods.experiments import StoredRuns, experiment, judge_runs
from paper_checks.methods.identity import Equation, generic_points, identities, judge_identity, rational
from paper_checks.methods.relations import Relation, relations
from paper_checks.methods.yielded import by

F = Fraction

x, y = sympy.symbols("x y", real=True)
p = sympy.Symbol("p", positive=True)
POINTS = [{x: 2, y: sympy.Rational(1, 3)}, {x: -1, y: 5}]


def _judge(equations, points=POINTS, scope="real numbers", positive=()):
    return shown(refused(judge_identity, equations, points, scope, positive))


def identities_proved_refuted_and_open():
    square = Equation("square", (x + y) ** 2, x**2 + 2 * x * y + y**2)
    factor, wrong = Equation("factor", x**2 - 1, (x - 1) * (x + 1)), Equation("wrong", x + y, x - y)
    hidden, late = Equation("hidden", (x - 2) * (y - 5), 0), Equation("late", x, x + 1)
    root = Equation("root", sympy.sqrt(x**2), sympy.Abs(x) * sympy.cos(0) + sympy.sin(x) ** 2 + sympy.cos(x) ** 2 - 1)
    for some in ([square], [square, factor], [square, wrong, late], [wrong, wrong], [factor, hidden], [root, square]):
        yield _judge(some)
    yield _judge([Equation(str(k), k * x, x * k) for k in range(4)])["printed"]
    yield _judge([Equation(str(k), k * x, x * k) for k in range(5)])
    yield _judge([Equation("apart", x, x + sympy.Rational(1, 10**9))]), _judge([wrong], [])
    yield _judge([Equation("irrational", x * sympy.sqrt(2), x)])
    yield _judge([Equation("one", 1, 1), Equation("two", 1, 2)], [{}])


def lines_of_one_name_and_lines_judged_on_demand():
    some = [Equation("a", x, x), Equation("b", x, y), Equation("a", x, -x), Equation("c", y, y), Equation("d", x**2, 4)]
    yield _judge(some), _judge([Equation("a", x, y), Equation("z", x / y, y / x), Equation("c", x, x)])
    yield _judge([Equation("a", x, y), Equation("p", (x - 2) * (x + 1), 0)])


def signs_that_the_statement_does_not_give():
    n, m, zero = sympy.Symbol("n", negative=True), sympy.Symbol("m", nonnegative=True), sympy.Symbol("o", zero=True)
    for symbol, value in ((p, 2), (n, -2), (m, 2), (zero, 0)):
        equation = Equation("line", symbol * x, x * symbol)
        yield _judge([equation], [{symbol: value, x: 3}])
        yield _judge([equation], [{symbol: value, x: 3}], positive=(str(symbol),))
    yield _judge([Equation("line", x, x)], [{x: -2}], positive=("x",))
    yield _judge([Equation("line", x, x)], [{x: 0}], positive=("x",))
    yield _judge([Equation("line", p, p)], [{p: -2}], positive=("p",)), _judge([Equation("line", 1, 1)], [{p: 2}])


def kinds_of_numbers_in_the_scope():
    k, r = sympy.Symbol("k", integer=True), sympy.Symbol("r", even=True)
    odd, no = sympy.Symbol("b", odd=True), sympy.Symbol("a", integer=False)
    yield _judge([Equation("line", k * r, r * k)], [{k: 3, r: 4}])["scope"]
    yield _judge([Equation("line", k, k)], [{k: F(1, 2)}])
    yield _judge([Equation("line", odd * no * k, no * odd * k)], [{odd: 3, no: F(1, 2), k: 1}], positive=("k",))[
        "scope"
    ]
    yield _judge([Equation("line", r, r)], [{r: 3}])
    yield _judge([Equation("line", odd, odd)], [{odd: 3, p: 1, k: 2}], positive=("p",))


def floats_and_texts_are_refused():
    for left in (0.5 * x, "x", None, [x], 0.1, np.float64(0.5), True, F(1, 3)):
        yield refused(lambda left=left: str(Equation("line", left, x).left))
        yield refused(lambda left=left: str(Equation("l", x, left).right))
    yield _judge([Equation("line", 0.5 * x, x / 2)]), _judge([Equation("line", x, x)], [{x: 0.5}])


def points_of_three_seeds_and_of_assumptions():
    for seed in (0, 1):
        yield generic_points(Context("a/b", seed), [x, y, p], 2)
    kinds = ({"positive": True}, {"negative": True}, {"integer": True}, {"even": True}, {"odd": True}, {"prime": True})
    symbols = [sympy.Symbol(str(k), **kind) for k, kind in enumerate(kinds)]
    yield generic_points(Context("a/c"), symbols, 2)
    for kind in ({"irrational": True}, {"zero": True}, {"imaginary": True}):
        yield refused(generic_points, Context("a/b"), [sympy.Symbol("i", **kind)], 1)
    many = generic_points(Context("a/b"), sympy.symbols("c0:60", real=True), 1)[0]
    yield len(set(map(abs, many.values()))), max(many.values()), generic_points(Context("a/b"), [x], 0)


def rational_numbers():
    for value in ("0.1", 0.1, 3, F(-1, 3), "half", float("inf")):
        try:
            yield rational(value)
        except (ValueError, OverflowError) as error:
            yield str(error)


def _declared(decorator, **rest):
    return decorator(
        "invented/any", where="", says="", measure=lambda context: None, expect=("not checkable here", None), **rest
    )


def claims_that_yield_equations_and_relations():
    @_declared(identities)
    def lines(data, half=0.5, third="1/3", some=(0.1, 2.0)):
        yield Equation("half", x * half, x / 2)
        yield Equation("some", some[0] * x, x / 10)
        return [{x: 2}], f"all {type(half).__name__} {third}"

    @_declared(relations, mutants=[{"K": 2.0}])
    def kept(data, K=1.0):
        yield Relation("r", K, 1.0, 1e-9)
        return "one run"

    @_declared(relations)
    def all_of_them(data):
        yield Relation("r", 2, 2)
        return "all", True

    yield shown(lines.judge(None)), shown(lines.judge(None, half=0.25)), lines.vary, kept.vary
    yield shown(kept.judge(None)), shown(kept.judge(None, K=3.0)), shown(all_of_them.judge(None))
    nothing = _declared(by(lambda found: Evidence(True, "")))(lambda data: None)
    yield refused(nothing.judge, None), kept.judge.__name__, kept.printed_constants()


def _effects(table):
    for name, low, high in (("a", 0.5, 1.5), ("b", -1.5, -0.5), ("c", -0.5, 0.5), ("d", -0.25, 0.75)):
        mean, half = (low + high) / 2, (high - low) / 2
        yield (
            name,
            SimpleNamespace(above=table[name].item(), verdict=f"verdict of {name}", text=f"{mean} within {half}"),
        )


def runs_at_laptop_scale_and_what_they_support():
    figure = SimpleNamespace(id="fedloru/fig-1")
    for d in ("supports", "contradicts", "undecided", "not reached"):
        table = pd.DataFrame({"a": ["supports"], "b": ["contradicts"], "c": ["not reached"], "d": [d]})
        yield shown(judge_runs(StoredRuns(figure, table), "too large", _effects, "the lead", lambda table: "remark"))
    table = pd.DataFrame({"a": ["undecided"], "b": ["supports"], "c": ["supports"], "d": ["supports"]})
    yield shown(judge_runs(StoredRuns(figure, table), "w", _effects))
    yield shown(judge_runs(StoredRuns(figure, None), "too large", _effects))


def an_experiment_as_a_claim():
    made = experiment(
        "some.module", "invented/fig", "fedloru/fig-1", "Fig. 1", "It is so.", "too large", also=["invented/tab"]
    )
    yield made.module, made.kind, made.seen_in, made.also, made.expect, made.grade, made.expect_reason
    yield made.intended.why
