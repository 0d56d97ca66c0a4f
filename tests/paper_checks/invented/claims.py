"""Statements about uniform random numbers; x^2 <= K x with best constant K = 1 on [0, 1]."""

import numpy as np

from paper_checks.claim import LITERAL, Best, Dropped, Evidence, Form, Intended, Reading, claim
from paper_checks.context import LEVEL, Context
from paper_checks.methods.bands import judge_bands
from paper_checks.methods.domain import describe_draws
from paper_checks.methods.inequality import judge_inequality
from paper_checks.methods.limit import mean_interval


def draw(context: Context) -> np.ndarray:
    return np.append(context.rng().random(context.size(200, 2000)), [0.0, 1.0])


def bound(x: np.ndarray, K: float = 1.0, power: int = 1) -> Evidence:
    """Both sides on the grid."""
    return judge_inequality(
        x**2,
        K * x**power,
        0.0,
        scope=f"{len(x)} numbers in [0, 1]",
        case=lambda i: {"x": float(x[i])},
        printed=f"x^2 <= {K:g} x",
        quotient=True,
        domain=describe_draws(len(x)),
    )


def statement(id, **rest):
    rest.setdefault("expect", ("not checkable here", None))
    return claim(f"invented/{id}", where="nowhere", says=r"$x^2 \le K x$ on $[0, 1]$", **rest)


true = statement("true", measure=draw, mutants=[{"K": 0.9}, {"power": 2, "K": 0.5}], expect=("holds", "search"))(bound)


@statement("loose", measure=draw, mutants=[{"K": 0.9}], expect=("holds", "search"))
def loose(x, K=5.0):
    return bound(x, K)


@statement("false", measure=draw, control=Form("with K = 1", {"K": 1.0}), expect=("refuted", "proof"))
def false(x, K=0.5):
    return bound(x, K)


@statement(
    "fixable",
    measure=draw,
    control=Form("K = 2", {"K": 2.0}),
    uses=("invented/true",),
    expect=("corrected", "search"),
    correction=Form("$K = 1$", {"K": 1.0}, mutants=({"K": 0.95},)),
)
def fixable(x, K=0.5):
    return bound(x, K)


@statement(
    "proved-fix",
    measure=draw,
    control=Form("K = 2", {"K": 2.0}),
    expect=("corrected", "proof"),
    correction=Form("$K = 1$", {"K": 1.0}, mutants=({"K": 0.95},)),
)
def proved_fix(x, K=0.5):
    return bound(x, K)


@statement(
    "unproved-fix",
    measure=draw,
    control=Form("K = 2", {"K": 2.0}),
    correction=Form("$K = 1$", {"K": 1.0}, mutants=({"K": 0.95},)),
)
def unproved_fix(x, K=0.5):
    return bound(x, K)


def reading(name, K, *mutants):
    return Reading(name, rf"$x^2 \le {K} x$ on $[0, 1]$", {"K": K}, "Section 2 writes it so.", mutants)


read_twice = statement(
    "read-twice",
    measure=draw,
    mutants=[{"K": 0.9}],
    expect=("holds", "search"),
    readings=(LITERAL, reading("double", 2.0, {"K": 0.9})),
)(bound)
ambiguous = statement(
    "ambiguous",
    measure=draw,
    mutants=[{"K": 0.9}],
    expect=("ambiguous", "search"),
    ambiguous="Section 2 has one and Section 3 has half of it",
    importance="result",
    because="At x = 1 half is too small.",
    readings=(LITERAL, reading("half, as in eq. 2", 0.5)),
)(bound)


@statement(
    "other-way-round",
    measure=draw,
    mutants=[{"K": 0.4}],
    expect=("holds", "proof"),
    intended=Intended("double", "Section 2 writes “$x^2 \\le x$”"),
    print="misprint",
    readings=(LITERAL, reading("double", 1.0, {"K": 0.9})),
)
def other_way_round(x, K=0.5):
    return bound(x, K)


unshown = statement("unshown-reading", measure=draw, mutants=[{"K": 0.9}], readings=(LITERAL, reading("loose", 0.5)))(
    bound
)
blind = statement(
    "blind-reading", measure=draw, mutants=[{"K": 0.9}], readings=(LITERAL, reading("strict", 2.0, {"K": 1.0}))
)(bound)


@statement(
    "half-read",
    measure=draw,
    mutants=[{"K": 0.4}],
    control=Form("K = 1", {"K": 1.0}),
    readings=(LITERAL, reading("mean", 0.6)),
)
def half_read(x, K=0.5):
    return bound(x, K)


@statement(
    "bounded",
    measure=draw,
    mutants=[{"K": 0.9}],
    vary=("K",),
    expect=("holds", "search"),
    best={"K": Best(1.0, "proved: at x = 1")},
    hypotheses=(
        Dropped(r"$x \le 1$", {"most": 10.0}),
        Dropped(r"$x \ge 0.1$"),
        Dropped(r"$x \ge 0$", {}, "$x^2 \\le 5|x|$"),
    ),
)
def bounded(x, K=5.0, most=1.0):
    return bound(x * most, K)


@statement(
    "needed-after-all",
    measure=draw,
    mutants=[{"K": 0.9}],
    hypotheses=(Dropped(r"$x \le 1$", {"most": 2.0}, "said to be superfluous"),),
)
def needed_after_all(x, K=1.0, most=1.0):
    return bound(x * most, K)


@statement("overstated", measure=draw, mutants=[{"K": 0.9}], best={"K": Best(0.5, "searched")})
def overstated(x, K=1.0):
    return bound(x, K)


vacuous = statement("vacuous", measure=lambda context: np.empty(0), mutants=[{"K": 0.9}])(bound)


@statement("always-passes", measure=draw, mutants=[{"K": 0.9}], vary=())
def always_passes(x, K=1.0):
    return Evidence(True, "nothing", margin=K)


@statement("always-fails", measure=draw, control=Form("K = 2", {"K": 2.0}))
def always_fails(x, K=1.0):
    return Evidence(False, "nothing", margin=-K, witness={"x": 1.0})


@statement("idle-mutant", measure=draw, mutants=[{"K": 0.9}, {"spelling": "other"}])
def idle_mutant(x, K=1.0, spelling="this"):
    return bound(x, K)


no_mutants = statement("no-mutants", measure=draw)(bound)


@statement("tampered", measure=draw, control=Form("K = 1", {"K": 1.0}))
def tampered(x, K=0.5):
    return bound(x, K)


@statement("outside", measure=draw, control=Form("K = 1", {"K": 1.0}))
def outside(x, K=0.5):
    return bound(x, K)


@statement("cheating-replay", measure=draw, control=Form("K = 1", {"K": 1.0}))
def cheating_replay(x, K=0.5):
    return bound(x, K)


@statement("no-witness", measure=draw, control=Form("K = 1", {"K": 1.0}))
def no_witness(x, K=0.5):
    return bound(x, K)


no_control = statement("no-control", measure=draw)(lambda x, K=0.5: bound(x, K))
missed = statement("missed-witness", measure=lambda context: np.array([0.25]), mutants=[{"K": 0.1}])(
    lambda x, K=0.5: bound(x, K)
)
certified = statement("certified", measure=draw, mutants=[{"K": 0.9}], expect=("holds", "proof"))(bound)
other_constant = statement("other-constant", measure=draw, mutants=[{"K": 0.9}])(lambda x, K=1.5: bound(x, K))
bad_certificate = statement("bad-certificate", measure=draw, mutants=[{"K": 0.9}])(bound)


@statement("raises", measure=lambda context: 1 / 0)
def raises(x):
    raise AssertionError("never judged")


def mean_of(context: Context) -> np.ndarray:
    return context.rng().random(context.size(30, 20_000))


@statement("undecidable", measure=mean_of, mutants=[{"mean": 0.47}])
def undecidable(draws, mean=0.5):
    """The mean of uniform numbers within 0.015, which thirty of them cannot tell."""
    name = "mean"
    return judge_bands({name: mean_interval(draws, LEVEL)}, {name: mean}, scope="uniform", resolution=0.015)


@statement("full-only", measure=mean_of, mutants=[{"mean": 0.47}], budget="full", expect=("holds", "statistical"))
def full_only(draws, mean=0.5):
    return undecidable.judge(draws, mean)


@statement("extra", measure=draw, mutants=[{"K": 0.9}], needs=("no_such_package",), expect=("holds", "search"))
def extra(x, K=1.0):
    return bound(x, K)
