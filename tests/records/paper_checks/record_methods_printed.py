"""Records of printed numbers, orders and counts, of relations, units and statements of several parts."""

from dataclasses import replace
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import torch
from evidence_shown import line_shown, shown
from recording import refused

from paper_checks.claim import Evidence
from paper_checks.engine.lines import line_of
from paper_checks.facts import compare
from paper_checks.methods import promises
from paper_checks.methods.parts import judge_parts
from paper_checks.methods.printed import Cell, Order, judge_count, judge_order, judge_printed
from paper_checks.methods.relations import Relation, judge_relations, orthonormal, same
from paper_checks.methods.rounded import Rounded, as_rounded, largest, smallest
from paper_checks.methods.sides import UndefinedError
from paper_checks.methods.units import judge_units

F = Fraction

P = Rounded.printed


def _ends(one):
    return one if isinstance(one, str) else [str(one.low), str(one.high), [str(end) for end in one.inner], str(one)]


def printed_numbers_and_their_ends():
    for text in ("0.5", "-0.5", "12", "1.50", "1.5e3", "2e-3", ".5", "+3."):
        yield _ends(P(text))
    for text in ("", "half", "1/2", "1.2.3"):
        yield _ends(refused(P, text))
    yield _ends(Rounded.exact(3)), _ends(Rounded.about(0.1, F(1, 100))), _ends(Rounded.about(F(1, 3), F(1, 6)))
    yield _ends(Rounded(F(-1), F(2))), _ends(refused(Rounded, F(2), F(1)))
    for value in (2, F(1, 3), True, 0.5, "0.5", None, Decimal("0.5")):
        yield _ends(refused(as_rounded, value))


def sums_differences_products_and_quotients():
    a, b, c = P("2.0"), P("-0.5"), Rounded(F(-1), F(3))
    for one, other in ((a, b), (b, a), (a, c), (c, b), (c, c), (a, a)):
        yield _ends(one + other), _ends(one - other), _ends(one * other), _ends(refused(lambda x=one, y=other: x / y))
    yield _ends(3 + a), _ends(3 - a), _ends(3 * b), _ends(3 / b), _ends(a / 4), _ends(a - F(1, 2))
    yield _ends(refused(lambda: 1 / P("0.0"))), _ends(refused(lambda: 1 / Rounded(F(0), F(1))))
    yield _ends(refused(lambda: 1 / Rounded(F(-1), F(0)))), _ends(refused(lambda: a + 0.5))


def numbers_that_occur_twice():
    a, b, c = P("2.0"), P("5.0"), P("1.0")
    yield _ends(a / (a + b)), _ends((a - b) / b), _ends(a * a), _ends((a - c) * (a + c)), _ends(a * b / a)
    yield _ends(a + b - a)
    yield _ends(c * (a - c)), _ends((a - c) * (b - c) / c)
    total = sum((P(str(k)) for k in range(1, 9)), Rounded.exact(0))
    many = [P(str(k)) for k in range(1, 11)]
    yield _ends(P("1") / total), _ends(many[0] / sum(many, Rounded.exact(0)))
    yield _ends(many[9] / sum(many, Rounded.exact(0)))


def extremes_of_several():
    a, b, c = P("2.0"), P("2.04"), P("1.9")
    yield _ends(largest([a, b, c])), _ends(smallest([a, b, c])), _ends(largest([a]) - a), _ends(smallest([a, b]) - a)
    yield _ends(largest([a, b]) / smallest([a, c]))


def pairs_that_meet_or_not():
    a = P("2.0")
    for other in (P("2.1"), P("2.2"), P("2.09"), P("2.11"), P("1.9"), P("1.8"), a):
        yield a.meets(other), other.meets(a)
    b, c = P("1.0"), P("0.5")
    yield (a * a - b * a).meets(P("2")), (b * c - c * b).meets(Rounded.exact(0)), (b * b - b).meets(P("0.4"))
    yield (b * b - b).meets(P("0.11")), (b * b - b).meets(P("-0.2"))


def cells_of_a_table():
    good = Cell(P("0.33"), P("1") / 3, {"n": "1"})
    exact = Cell(3, Rounded.exact(3), {"n": 3})
    edge, off = Cell(P("0.5"), P("0.6"), {"x": "0.6"}), Cell(P("0.5"), P("0.61"), {"x": "0.61"})
    far = Cell(P("9"), P("7"), {"y": "7"})
    for one in (good, exact, edge, off, far):
        yield str(one.apart), one.meets
    yield shown(judge_printed({"a": good, "b": exact}, "Table 1"))
    yield shown(judge_printed({"e": edge, "a": good}, "Table 1"))
    yield shown(judge_printed({"a": good, "o": off, "f": far}, "Table 1"))
    yield shown(judge_printed({"f": far, "o": off}, "T"))
    yield shown(refused(judge_printed, {}, "Table 1")), refused(lambda: str(Cell(0.5, P("1"), {})))
    a = P("1.0")
    unclear = Cell(P("0.11"), a * a - a, {"a": "1.0"})
    yield unclear.meets, str(unclear.apart), shown(judge_printed({"u": unclear, "a": good}, "T"))
    yield shown(judge_printed({"u": unclear, "f": far}, "T"))


def orders_of_numbers():
    wide, close, open_, tie, wrong = (
        Order(P(one), P(other), {"x": one})
        for one, other in (("5.0", "3.0"), ("3.2", "3.0"), ("3.1", "3.0"), ("2.9", "3.0"), ("2.5", "3.0"))
    )
    equal = Order(3, 3, {"x": "3"})
    for one in (wide, close, open_, tie, wrong, equal):
        yield _ends(one.lead), one.holds
    yield shown(judge_order({"w": wide, "c": close}, "T")), shown(judge_order({"w": wide, "o": open_}, "T"))
    yield shown(judge_order({"w": wide, "o": open_, "x": wrong, "t": equal}, "T"))
    yield shown(judge_order({"t": equal}, "T"))
    yield shown(judge_order({"t": tie}, "T")), refused(judge_order, {}, "T")


def counts_of_orders():
    orders = {
        name: Order(P(one), P("3.0"), {})
        for name, one in {"a": "5.0", "b": "3.2", "c": "3.1", "d": "2.5", "e": "2.0"}.items()
    }
    for count in (1, 2, 2.5, 3, 4):
        yield shown(judge_count(orders, count, "T", {"row": "1"}))
    sure = {name: orders[name] for name in "abde"}
    for count in (1, 2, 3, 2.0):
        yield shown(judge_count(sure, count, "T"))
    yield refused(judge_count, {}, 1, "T"), refused(judge_count, orders, np.nan, "T")
    yield refused(judge_count, orders, True, "T")


def relations_and_their_excess():
    for left, right, error, at_most in (
        (1.0, 1.5, 0.1, False),
        (1.0, 1.5, 0.1, True),
        (1.5, 1.0, 0.5, True),
        (1.5, 1.0, 0.6, False),
    ):
        one = Relation("r", left, right, error, at_most)
        yield one.distance, one.excess, one.loose
    for error, size in ((1e-6, 1.0), (1.1e-6, 1.0), (1.1e-6, 2.0), (3e-6, 0.0)):
        yield Relation("r", 2e-7, 0.0, error, size=size).loose, Relation("r", 2.0 + 2e-7, 2.0, error, size=size).loose
        yield Relation("r", 0.0, 0.0, error, size=size).loose
        yield Relation("r", 2e-7, 0.0, error, resolution="a figure").loose
        yield Relation("r", -3.0 - 2e-7, -3.0, error, size=size).loose
    for fields in (
        {"error": -0.1},
        {"size": -1.0},
        {"left": np.nan},
        {"right": np.inf},
        {"left": F(1, 3), "right": 1 / 3},
    ):
        yield refused(lambda fields=fields: Relation(**({"name": "r", "left": 1.0, "right": 1.0} | fields)).excess)
    decimal = Decimal("1." + "0" * 30 + "1")
    for name in ("left", "right", "error", "size"):
        one = Relation("r", **({"left": F(1), "right": F(1)} | {name: decimal}))
        with localcontext(prec=5):
            yield name, str(getattr(one, name)), one.excess, one.loose
    yield Relation("r", Decimal("0.1"), F(1, 10)).excess, Relation("r", np.float32(0.1), 0.1).distance


def equal_tensors():
    one = torch.tensor([[1.0, -2.0], [3.0, 4.0]], dtype=torch.float64)
    for other in (one, one + 5e-11, one * 100, one[:1]):
        found = same("same", one, other, {"n": 2})
        yield found, found.excess <= 0
    low = torch.tensor([-500.0, 2.0], dtype=torch.float64)
    yield same("same", low, low + 2e-8), same("same", -low, low), same("same", 1j * low, 1j * low + 1.0)
    ints = torch.tensor([1, 2, 3])
    yield same("same", ints, torch.tensor([1, 5, 4]))
    yield same("same", ints, torch.tensor([1, 5, 4]), resolution="digits", relative=0.1)
    yield same("same", ints[:0], ints[:0]), same("same", one[:0], one[:0]), same("same", one, one + 1.0, relative=0.5)
    yield orthonormal("o", torch.eye(3, 2, dtype=torch.float64)), orthonormal("o", one)


def relations_kept_and_broken():
    kept, near = Relation("kept", 1.0, 2.0, at_most=True), Relation("near", 0.5, 0.5, 1e-9)
    read = (
        Relation("read", 0.5, 0.6, 0.2, resolution="the figure"),
        Relation("read", 0.5, 0.6, 0.3, resolution="the figure"),
    )
    coded = Relation("read", 0.5, 0.6, 0.15, resolution="a code")
    broken = (
        Relation("b", 1.0, 0.5),
        Relation("c", 3.0, 1.0, 0.5, True, {"n": 1}),
        Relation("b", 1.0, 0.9, case={"n": 2}),
    )
    for some in (
        [kept, near],
        [kept, near, *read, coded],
        [],
        [kept, *broken],
        [broken[0], near],
        [Relation("nan", 1.0, 0.0, 0.5)],
    ):
        yield shown(refused(judge_relations, some, "runs"))
    yield shown(
        refused(judge_relations, [kept, Relation("loose", 1.0, 1.1, 0.2), Relation("looser", 1.0, 1.1, 0.3)], "runs")
    )
    exact = [Relation("n", 3, 3), Relation("m", F(1, 3), F(1, 2), at_most=True)]
    yield shown(judge_relations(exact, "entries", True)), shown(judge_relations(exact, "entries"))
    yield shown(refused(judge_relations, [near], "entries", True))
    yield shown(judge_relations([Relation("n", 3, 4)], "entries", True))
    yield sorted(promises.__all__), promises.judge_promises is judge_relations


def _units(sides, weights, points):
    return shown(refused(judge_units, sides, weights, points, "lines"))


def units_that_scale_alike_or_not():
    point = {"L": F(2), "g": F(3), "n": F(5)}
    sides = {
        "a": lambda p: (p["L"] * p["g"], p["g"] * p["L"] * p["n"]),
        "b": lambda p: (p["L"] ** 2, p["g"]),
        "zero": lambda p: (p["L"] - 2, p["L"]),
    }
    for names, weights in (
        ("a", {"L": 1, "g": 2}),
        ("ab", {"L": 1, "g": 2}),
        ("ab", {"L": 1, "g": 1}),
        ("a", {"L": -1}),
    ):
        yield _units({name: sides[name] for name in names}, weights, [point])
    yield _units({"zero": sides["zero"]}, {"L": 1}, [point]), _units({"a": sides["a"]}, {"L": 0}, [point])
    yield _units({"a": sides["a"]}, {"x": 1, "L": 1, "y": 2}, [point])
    yield _units({"zero": sides["zero"]}, {"L": 1}, [point, {"L": F(3)}])
    yield _units({"a": lambda p: (p["L"], 0.5)}, {"L": 1}, [point]), _units({}, {"L": 1}, [point])


def statements_of_several_parts():
    fact = compare("x", 1, "<", 2)
    line = {"": line_of(True, [1.0], [2.0]), "b": line_of(True, [0.0], [2.0])}
    one = Evidence(
        True, "one", "p1", "o1", 0.5, cases=3, level=1e-7, facts=(fact,), whole=True, gap=1e-9, lines=line, notes=("n",)
    )
    two = Evidence(
        True, "two", "p2", "o2", 0.25, cases=7, level=2e-7, gap=2e-9, lines=line, notes=("n", "m"), flaw="none"
    )
    proved = replace(one, level=0.0, gap=None)
    other = replace(proved, scope="three", margin=0.1, cases=0)
    bad = Evidence(False, "bad", margin=-1.0, level=3e-7, lines={"": line_of(False, [3.0], [2.0], strict=True)})
    undecided = Evidence(None, "open", reason="few", level=1e-7)

    def stops():
        yield one
        raise UndefinedError("no more")

    def stops_late():
        yield bad
        raise UndefinedError("no more")

    for some in (
        [one],
        [one, two],
        [two, one],
        [proved, other],
        [proved, proved],
        [one, bad, two],
        [bad, bad],
        [undecided, bad],
    ):
        yield shown(judge_parts(some))
    yield shown(judge_parts([bad, undecided])), shown(judge_parts([replace(one, gap=None), two]))
    yield shown(refused(judge_parts, [])), shown(refused(judge_parts, stops()))
    yield shown(refused(judge_parts, stops_late()))
    yield judge_parts([one, two]).by_hand, line_shown(line["b"])
