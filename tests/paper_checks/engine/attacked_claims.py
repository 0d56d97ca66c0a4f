"""Statements with checks that were written to pass, each by another way of talking the engine into a verdict."""

import os
import random
import time
from dataclasses import replace

import numpy as np
import sympy

from paper_checks.claim import Best, Evidence, Form, claim
from paper_checks.context import Context
from paper_checks.facts import identity
from paper_checks.methods.domain import Axis, Stated, tried
from paper_checks.methods.identity import Equation, judge_identity
from paper_checks.methods.inequality import collect_cases, judge_inequality
from paper_checks.methods.parts import judge_parts
from paper_checks.methods.relations import Relation, judge_relations

UP_TO_TWO = Stated(0.0, 2.0, "(]")
SHOWN = identity("0", sympy.Symbol("x") - sympy.Symbol("x"))


def grid(context: Context) -> np.ndarray:
    return np.linspace(0.01, 2.0, 200)


def attack(id, *, says=r"For $0 < x \le 2$: $x^2 \le 1.5 x$.", **rest):
    rest = {"measure": grid, "mutants": [{"K": 0.5}], "expect": ("holds", "search")} | rest
    return claim(f"attacked/{id}", where="nowhere", says=says, **rest)


def bound(x, K=1.5, **rest):
    rest = {"domain": tried(("x", x, UP_TO_TWO))} | rest
    error = rest.pop("error", 0.0)
    return judge_inequality(x**2, K * x, error, scope="x", case=lambda i: {"x": float(x[i])}, **rest)


def true_bound(x, K=2.0):
    return bound(x, K)


# The scope is cut.


@attack("no-domain")
def no_domain(x, K=1.5):
    return bound(x[x <= 1.4], K, domain="")


def search(high, keep=2.0):
    def measure(context: Context):
        axis = Axis("x", 1e-3, high, of=UP_TO_TWO)
        return collect_cases(context, [axis], lambda c: c["x"] <= keep, lambda c: 2 - c["x"], examples=50, restarts=0)

    return measure


@attack("searched-almost", measure=search(1.7), mutants=[{"K": 0.5}])
def searched_almost(cases, K=1.9):
    return bound(cases["x"], K, domain=cases.domain)


@attack("searched-little", measure=search(1.4))
def searched_little(cases, K=1.5):
    return bound(cases["x"], K, domain=cases.domain)


@attack("assumed-away", measure=search(2.0, keep=1.4))
def assumed_away(cases, K=1.5):
    return bound(cases["x"], K, domain=cases.domain)


@attack("tried-almost")
def tried_almost(x, K=1.9):
    x = x[x <= 1.9]
    return bound(x, K)


@attack("tried-few")
def tried_few(x, K=1.5):
    return bound(np.array([0.1, 1.0, 1.4]), K)


@attack("left-out", measure=search(2.0))
def left_out(cases, K=1.5):
    return bound(cases["x"][cases["x"] <= 1.4], K, domain=cases.domain)


@attack("left-out-of-a-grid")
def left_out_of_a_grid(x, K=1.5):
    return bound(x[x <= 1.4], K, domain=tried(("x", x, UP_TO_TWO)))


@attack("own-words")
def own_words(x, K=1.5):
    return bound(x[x <= 1.4], K, domain="every x in (0, 2]")


@attack("settled")
def settled(x, K=1.5):
    x = x[x <= 1.4]
    return bound(x, K, domain=tried(("x", x, UP_TO_TWO), settled={"x": "larger ones behave alike"}))


@attack("empty")
def empty(x, K=1.5):
    return bound(x[x > 3], K)


@attack("empty-control", control=Form("$K = 3$", {"K": 3.0}), mutants=())
def empty_control(x, K=1.0):
    return bound(x if K == 1.0 else x[:0], K)


# Evidence without a method.


@attack("by-hand")
def by_hand(x, K=1.0):
    return Evidence(K == 1.0, "every x in (0, 2]", margin=-abs(K - 1.0), cases=1000)


@attack("proof-by-hand", expect=("holds", "proof"))
def proof_by_hand(x, K=1.0):
    return Evidence(K == 1.0, "every x", margin=-abs(K - 1.0), facts=(SHOWN,), whole=True)


@attack("certified-by-hand", expect=("holds", "certified"))
def certified_by_hand(x, K=1.0):
    return Evidence(K == 1.0, "every x", margin=-abs(K - 1.0), gap=0.0)


@attack("turned-over")
def turned_over(x, K=1.5):
    found = bound(x, K)
    return replace(found, ok=True, margin=1.0, witness=None) if K == 1.5 else found


@attack("more-cases", says=r"$x^2 \le 2x$", mutants=[{"K": 1.0}])
def more_cases(x, K=2.0):
    return replace(bound(x, K), cases=10**6)


@attack("facts-added", says=r"$x^2 \le 2x$", mutants=[{"K": 1.0}], expect=("holds", "proof"))
def facts_added(x, K=2.0):
    found = bound(x, K)
    return replace(found, facts=(SHOWN,)) if found.ok else found


@attack("hidden-in-parts", mutants=[{"K": 1.0}])
def hidden_in_parts(x, K=1.5):
    return judge_parts([bound(x, K + 0.5), Evidence(K == 1.5, "every x", margin=-abs(K - 1.5), cases=1000)])


class Sure(Evidence):
    """Evidence that says of itself how sure it is."""

    @property
    def grade(self):
        return "kernel"


@attack("own-class", expect=("holds", "kernel"))
def own_class(x, K=1.5):
    return Sure(K == 1.5, "every x", margin=-abs(K - 1.5))


@attack("no-evidence")
def no_evidence(x, K=1.5):
    return {"ok": True}


@attack("truthy")
def truthy(x, K=1.5):
    return Evidence("yes" if K == 1.5 else False, "every x")


# Nothing is compared.


@attack("always-true")
def always_true(x, K=1.5):
    return judge_inequality(0 * x, 1 + 0 * x, 0.0, scope="x", domain=tried(("x", x, UP_TO_TWO)))


@attack("always-false", mutants=(), control=Form("$K = 3$", {"K": 3.0}))
def always_false(x, K=1.5):
    return bound(x, 0.0 * K)


@attack("no-mutants", mutants=())
def no_mutants(x, K=2.0):
    return bound(x, K)


@attack("mutant-of-a-name", mutants=[{"name": "other"}])
def mutant_of_a_name(x, K=2.0, name="this"):
    return bound(x, K)


@attack("singled-out")
def singled_out(x, K=1.5):
    left = 0 * x if K == 1.5 else 1 + 0 * x
    return judge_inequality(left, 0.5 + 0 * x, 0.0, scope="x", domain=tried(("x", x, UP_TO_TWO)))


@attack("infinite-mutant", mutants=[{"power": -1}])
def infinite_mutant(x, power=1):
    with np.errstate(divide="ignore"):
        left = np.append(np.ones(len(x)), 0.0) ** float(power)
    both = np.append(x, 2.0)
    return judge_inequality(
        left, np.full(len(left), 2.0), 0.0, scope="x", infinite=True, domain=tried(("x", both, UP_TO_TWO))
    )


@attack(
    "idle-correction", mutants=(), correction=Form("$L = 5$", {"L": 5.0}, ({"K": 0.1},)), control=Form("", {"L": 9.0})
)
def idle_correction(x, K=2.0, L=1.0):
    return bound(x, 1.0 if L == 1.0 else 2.0 if K >= 1 else K)


@attack("best-of-all", best={"K": Best(0.1, "obvious")}, mutants=[{"K": 1.0}])
def best_of_all(x, K=2.0):
    return bound(x, K)


@attack("other-print", says=r"For $0 < x \le 2$: $x^2 \le 1.5 x$.", mutants=[{"K": 1.9}])
def other_print(x, K=2.0):
    return bound(x, K, printed=f"x^2 <= {K:g} x")


# Tolerances.


@attack("tolerance")
def tolerance(x, K=1.5):
    return bound(x, K, error=1.1)


@attack("size", mutants=[{"K": -1.0}])
def size(x, K=1.5):
    return bound(x, K, error=1.1, size=1e9)


@attack("tolerant-relation", mutants=[{"K": 9.0}])
def tolerant_relation(_, K=1.5):
    return judge_relations([Relation("K is 2", K, 2.0, 0.6)], "")


@attack("not-a-number")
def not_a_number(x, K=1.5):
    with np.errstate(invalid="ignore"):
        left = np.sqrt(1.4 - x) if K == 1.5 else 1e9 + 0 * x
    return judge_inequality(left, 2 + 0 * x, 0.0, scope="x", domain=tried(("x", x, UP_TO_TWO)))


@attack("floats-as-exact", says="$3 x / 3 = x$", mutants=[{"K": 2.0}])
def floats_as_exact(_, K=0.3333333333333333):
    x = sympy.Symbol("x")
    return judge_identity([Equation("line", 3 * K * x, x)], [{x: sympy.Rational(2, 3)}], "all x")


# State, time and chance.

CALLS = []


@attack("first-call")
def first_call(x, K=1.5):
    CALLS.append(K)
    return bound(x, 2.0 if len(CALLS) == 1 else 0.5)


@attack("used-up", measure=lambda context: iter([np.linspace(0.01, 2.0, 200)]))
def used_up(data, K=2.0):
    return bound(next(data, np.array([3.0])), K)


@attack("changed-data")
def changed_data(x, K=2.0):
    found = bound(x.copy(), K)
    x *= 1.5
    return found


@attack("drawn-in-the-judge")
def drawn_in_the_judge(x, K=2.0):
    return bound(np.append(np.random.default_rng().uniform(0.01, 2.0, 50), 2.0), K)


@attack("by-the-clock")
def by_the_clock(x, K=2.0):
    return bound(x, K, printed=f"x^2 <= {K} x at {time.perf_counter_ns()}")


def unseeded(context: Context):
    numbers = [random.random(), np.random.rand(), np.random.default_rng().random(), random.Random(1).random()]  # noqa: NPY002
    return np.append(2.0 * np.array(numbers), np.linspace(0.01, 2.0, 200))


@attack("unseeded", measure=unseeded, mutants=[{"K": 1.0}])
def unseeded_draws(x, K=2.0):
    return bound(x, K, printed=f"first {x[0]!r}, {x[1]!r}, {x[2]!r}")


@attack("by-the-time", measure=lambda context: time.time_ns() + np.zeros(200), mutants=[{"K": -1.0}])
def by_the_time(t, K=2.0):
    return bound(np.linspace(0.01, 2.0, 200), K, printed=f"at {t[0]}")


BEFORE = []


def kept(context: Context):
    BEFORE.append(1)
    return np.linspace(0.01, 2.0, 200 + len(BEFORE))


@attack("kept-state", measure=kept)
def kept_state(x, K=2.0):
    return bound(x, K)


# The end of everything.


@attack("exits", measure=lambda context: os._exit(0))
def exits(x, K=2.0):
    return bound(x, K)


class Stop(BaseException):
    """No exception that a program expects."""


def stop(context: Context):
    raise Stop("now")


@attack("stops", measure=stop)
def stops(x, K=2.0):
    return bound(x, K)


def deeper(context: Context):
    return deeper(context)


@attack("deep", measure=deeper)
def deep(x, K=2.0):
    return bound(x, K)


@attack("key-error", measure=lambda context: {}[1])
def key_error(x, K=2.0):
    return bound(x, K)


@attack("huge", control=Form("$K = 2$", {"K": 2.0}), mutants=())
def huge(x, K=1.0):
    found = bound(x, K)
    return replace(found, witness={"n": 10**5000}) if found.witness else found


# Replays and proofs.

FAILING = {"control": Form("$K = 2$", {"K": 2.0}), "mutants": (), "expect": ("refuted", "proof")}


def failing(x, K=1.5):
    return bound(x, K)


ends = attack("replay-ends", **FAILING)(failing)
imports = attack("replay-imports", **FAILING)(failing)
constant = attack("replay-constant", **FAILING)(failing)
of_another_case = attack("replay-of-no-case", **FAILING)(failing)
not_json = attack("replay-of-text", **FAILING)(failing)
unread = attack("replay-reads-nothing", **FAILING)(failing)
PROVED = {"mutants": [{"K": 1.98}], "expect": ("holds", "proof")}
declared = attack("proof-declared", **PROVED)(true_bound)
undecided = attack("proof-undecided", **PROVED)(true_bound)
text = attack("proof-of-text", **PROVED)(true_bound)
no_step = attack("proof-without-step", **PROVED)(true_bound)
other = attack("proof-of-another", **PROVED)(true_bound)
mutant = attack("proof-of-the-mutant", **PROVED)(true_bound)
by_error = attack("proof-by-error", **PROVED)(true_bound)
unnamed = attack("proof-unnamed", **PROVED)(true_bound)
slow = attack("proof-that-ends", **PROVED)(true_bound)


# Records.


@attack("full-by-hand", budget="full", expect=("holds", "proof"))
def full_by_hand(x, K=1.5):
    return bound(x, K)


@attack("no-such-extra", needs=("no_such_extra",))
def no_such_extra(x, K=1.5):
    return bound(x, K)


@attack("wrong-grade", says=r"$x^2 \le 2x$", mutants=[{"K": 1.9}], expect=("holds", "proof"))
def wrong_grade(x, K=2.0):
    return bound(x, K)


@attack("one-variable", says="For every smooth $f$.", mutants=[{"K": 1.9}], family="one-variable quadratics")
def one_variable(x, K=2.0):
    return bound(x, K)
