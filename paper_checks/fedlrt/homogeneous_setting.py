"""Section 4.1, homogeneous test: its setting, in the normalisations that the text leaves open, and its step size.

The paper leaves open the normalisation of the polynomials, the distribution of the target, and rank and size of the
start: normal factors, and a normal start of size 0.01 cut to rank 8, if nothing else is said. Normal factors whose
last singular value is small are drawn again, see ``WEAKEST``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite

import numpy as np
import torch
from numpy.polynomial.legendre import leggauss

from paper_checks.claim import Best, Dropped, Form, Reading
from paper_checks.context import Context
from paper_checks.fedlrt.legendre_runs import HOMOGENEOUS, WEAKEST, one_target
from paper_checks.methods.promises import Promise, Promises, promises
from toymodels.legendre import BASES, homogeneous, legendre_features

CLIENTS = (1, 2, 4, 8, 16, 32)
RATE, STEPS, RANK = HOMOGENEOUS.rate(), HOMOGENEOUS.steps, 4
SETTING = (
    "n = 20, target AB/sqrt(20) of rank 4 with normal factors, drawn again until its last singular value is above "
    f"{WEAKEST} of its norm, 10,000 points dealt evenly, s = 20, rate 1e-3, start of "
    "normal entries times 0.01/sqrt(20), or another size if one is named, cut to rank 8, tail after the last kept "
    "value below tau = 0.1 of the norm"
)
OF_32 = f"{SETTING}; 312 or 313 points for each of 32 clients"
NORMALISED = {
    "plain": (
        "value 1 at 1",
        "polynomials of value 1 at 1",
        "The text names no normalisation; Legendre polynomials without further word have the value 1 at 1.",
    ),
    "dx": (
        "orthonormal for dx",
        "polynomials orthonormal for dx",
        "The text names no normalisation; a basis of polynomials on [-1, 1] is often orthonormal for dx.",
    ),
    "uniform": (
        "orthonormal for the uniform law",
        "polynomials orthonormal for the uniform law",
        "The text names no normalisation; the points are uniform, and these are orthonormal for their law.",
    ),
}
"""Name of the reading, what it says, and why, by basis."""
COMMAND = "benchmarks/ranges_over_points.py"
"""Program that computes the ranges over many draws told by cards."""


def called(run: str) -> str:
    """A run, or a basis, by the name of its reading: "plain, size 1" is "value 1 at 1, size 1"."""
    basis, *rest = run.split(", ")
    return ", ".join((NORMALISED[basis][0] if basis in NORMALISED else basis, *rest))


def started(size: str, one: str = "target, points and start") -> str:
    """Conditions of a statement on a run beside the normalisation: law and scale of the target, start, what is one."""
    return (
        r", $W_r = AB/\sqrt{20}$ with standard normal $A \in \mathbb R^{20 \times 4}$, "
        rf"$B \in \mathbb R^{{4 \times 20}}$, if $\sigma_4(W_r) > {WEAKEST}\|W_r\|$, as for 99.5 % of such targets, "
        "and a start of normal entries of standard deviation "
        rf"${size}/\sqrt{{20}}$ cut to rank 8, on one draw of {one} as an example"
    )


def read_in(
    statement: str, *bases: str, run: bool = True, one: str = "target, points and start", why: str = ""
) -> tuple[Reading, ...]:
    """A statement with each normalisation, for a run also with its target and start; the first is the default.

    The parts in ``one`` are drawn once; ``why`` says what else is read into the text. The start has size 0.01,
    unless the basis names another ("uniform, size 1").
    """
    found = []
    for place, basis in enumerate(bases):
        normalisation, _, size = basis.partition(", size ")
        name, says, reason = NORMALISED[normalisation]
        start, left = (
            (started(size or "0.01", one), " Law of $W_r$ and start are not given either.") if run else ("", "")
        )
        found.append(
            Reading(
                f"{name} with a start of size {size or '0.01'}" if run else name,
                f"With {says}{start}: {statement}",
                {"basis": basis} if place else {},
                reason + left + why,
            )
        )
    return tuple(found)


LOST = 50
"""Rounds after which a median that has fallen below the rank is looked at by the replays."""
LARGER_STARTS = (
    "with value 1 at 1, on other draws of target and points, the median rank over 20 starts of size 0.01 falls below 4 "
    "within 200 rounds on 23 of 24 draws; over 20 of size 0.1 it is 4 after 1500 rounds, and was never below, on 6 of "
    "8; from one start of size 1 it is 4 from round 25,053 to 64,182 on, and never below, on four, and the distance "
    "0.11 to 0.15 after 160,000, so that larger starts may do; their runs are too long to be judged; with the other "
    "polynomials, from one start, the rank is 4 after 18 % of the run at the latest, and never below, on 16 draws "
    f"({COMMAND})"
)
"""Results of longer runs than those of a check, from other starts."""
NOT_FOLLOWED = (
    "with value 1 at 1 starts of size 0.1 and 1, whose runs take hundreds of thousands of rounds, are not judged; with "
    "dx no start of size 1 is looked at"
)
"""Parts that the runs to the end leave out."""


def stream_of_one_target(context: Context) -> int:
    """One seed for the claims on one run, so that it is made once."""
    return Context("fedlrt/exp-homogeneous", context.seed).integer_seed()


@dataclass(frozen=True)
class Setting:
    """Distance of the minimiser from the target, and the least curvature over the largest."""

    distance: float
    curvature: float


def make_problems(context: Context) -> dict[tuple[str, int], Setting]:
    """The problem with four clients in every basis on the same points, and with fewer points than entries of W."""
    found = {}
    for basis in BASES:
        for samples in (10_000, 300):
            problem = homogeneous(4, context.rng(f"{samples}"), basis=basis, samples=samples)
            low, high = problem.facts["curvature"]
            target = problem.facts["target"]
            away = (
                float("inf")
                if problem.minimiser is None
                else float(torch.linalg.vector_norm(problem.minimiser["W"] - target))
            )
            found[basis, samples] = Setting(away, low / high)
    return found


def expected_spread(basis: str, n: int) -> float:
    """The least curvature over the largest of the expected loss, points uniform: n nodes of Gauss are exact here."""
    nodes, weights = leggauss(n)
    p = legendre_features(nodes, n, basis)
    low, *_, high = np.linalg.eigvalsh(p.T * (weights / 2.0) @ p)
    return float(low / high) ** 2


def determined(bases: Sequence[str], n: int) -> list[Promise]:
    """Whether the text determines the expected curvatures: in all bases they spread as in the first, up to a half.

    Args:
        bases: Bases that may be meant.
        n: Degree of the polynomials plus one.
    """
    first = expected_spread(bases[0], n)
    found = []
    for basis in bases:
        low, high = sorted((first, expected_spread(basis, n)))
        found.append(
            Promise(
                "the text determines how curvatures of the expected loss spread",
                1.0 - low / high,
                0.5,
                1e-10,
                at_most=True,
                case={"n": n} if basis == "uniform" else None,
            )
        )
    return found


@promises(
    "fedlrt/exp-homogeneous",
    where="Section 4.1, homogeneous test, with Figure 4 and, for the sizes of the $X_c$, Section 2",
    says=r"Losses $\mathcal{L}_c(W) = \frac1{2|X_c|}\sum_{(x,y) \in X_c}\|p(x)^\top Wp(y) - f(x,y)\|_2^2$, $W \in "
    r"\mathbb R^{n \times n}$, p the Legendre polynomial basis of degree n - 1; target $f(x,y) = p(x)^\top W_rp(y)$ "
    r"with random $W_r$ of rank r; n = 20, r = 4; 10,000 points uniform on $[-1,1]^2$, spread uniformly among C = 1, "
    r"2, 4, 8, 16, 32 clients, each $X_c$ of the same size; FeDLRT with variance correction (Figure 4: the simplified "
    r"one) is compared with FedLin; $s_* = 20$, $\lambda = 10^{-3}$; $\vartheta = \tau\|\tilde S^*\|$, $\tau = 0.1$; "
    r"medians over 20 random initial weights. The minimiser is $W^* = W_r$.",
    measure=make_problems,
    control=Form(
        "In every normalisation of the polynomials the minimiser is $W_r$, the only one.", {"keep": ("minimiser",)}
    ),
    correction=Form(
        "With one of the normalisations named the second derivatives of the expected loss are determined, and those "
        "of a run up to the draw of its points; with 10,000 points the minimiser is $W_r$, the only one, and 1, 2, 4, "
        "8 and 16 clients have as many points each. For 32 clients that cannot be: 312.5 points each. Left open are "
        "the normalisation of the polynomials, the law of $W_r$, and with it the loss, rank and size of the start, "
        "the number of rounds, how 32 clients are weighted, and in Section 4.1, not in Figure 4, which correction is "
        "used.",
        {"bases": ("uniform",), "clients": (1, 2, 4, 8, 16)},
        ({"bases": ("plain", "uniform")}, {"samples": 300}, {"moved": 0.01}, {"clients": CLIENTS}),
        asks="weaker",
    ),
    kind="setting",
    because="No normalisation is given: in the mean over the points curvatures spread 1 to 1 or 1 to 1521, and other "
    "steps are admitted.",
    expect=("corrected", "search"),
)
def exp_homogeneous(
    problems: Mapping[tuple[str, int], Setting],
    samples: int = 10_000,
    moved: float = 0.0,
    bases: tuple[str, ...] = tuple(BASES),
    clients: tuple[int, ...] = CLIENTS,
    keep: tuple[str, ...] = ("complete", "sizes", "minimiser"),
) -> Promises:
    """Whether the text determines how curvatures spread, the clients' shares of the points, and the minimiser.

    ``moved``: a minimiser so far from the target.
    """
    yield from determined(bases, 20) if "complete" in keep else []
    for C in clients if "sizes" in keep else ():
        yield Promise("points left over when all clients have as many", samples % C, 0)
    for basis in bases:
        one = problems[basis, samples]
        yield Promise(f"positive curvature, {basis}", 1e-7, one.curvature, at_most=True)
        if isfinite(one.distance):  # else there is no single minimiser
            yield Promise(f"distance of minimiser and target, {basis}", one.distance, moved, error=1e-6)
    told = ", ".join(f"{called(basis)} {problems[basis, 10_000].curvature:.1e}" for basis in BASES)
    return (
        f"{SETTING}, four clients; least over largest curvature, on one set of points: {told}, and in the mean over "
        "the points 1/1521, 1 and 1; one draw of points alone moves them many times over, and two normalisations that "
        "differ by a factor have equal ones on the same points; of 20,000 targets with normal factors 102 are drawn "
        f"again ({COMMAND})"
    )


def find_smoothness(context: Context) -> dict[str, dict[int, float]]:
    """The largest curvature of any client, by basis and number of clients; points dealt at random, and by region."""
    seed, found = stream_of_one_target(context), dict[str, dict[int, float]]()
    for name, basis, split, counts in (
        ("plain", "plain", "random", CLIENTS),
        ("dx", "dx", "random", (1, 2, 4, 8, 32)),
        ("uniform", "uniform", "random", (1, 32)),
        ("plain, by region", "plain", "region", (32,)),
    ):
        found[name] = {
            C: max(float(torch.linalg.eigvalsh(client.H)[-1]) for client in one_target(seed, basis, C, split))
            for C in counts
        }
    return found


@promises(
    "fedlrt/claim-hom-stepsize",
    where="Section 4.1, homogeneous test",
    says=r"The homogeneous test ($s_* = 20$, $\lambda = 10^{-3}$, C = 1, 2, 4, 8, 16, 32 clients) satisfies the "
    r"step-size restriction of Theorem 2, $\lambda \le \frac1{12Ls_*}$.",
    measure=find_smoothness,
    mutants=[{"steps": 100}],
    readings=read_in("the step is admitted for C = 1, 2, 4, 8, 16, 32.", "plain", "dx", "uniform", run=False),
    hypotheses=(Dropped("points spread uniformly among the clients", {"basis": "plain, by region"}),),
    best={
        "rate": Best(
            3.7e-3,
            "searched: admitted with value 1 at 1 on each of 120 sets of points, where the largest admitted rate is "
            f"3.77e-3 to 4.07e-3 ({COMMAND})",
        )
    },
    because="Where the polynomials are orthonormal the curvature of some clients is larger than the step admits.",
    expect=("depends on the reading", "search"),
)
def claim_hom_stepsize(
    smoothness: Mapping[str, Mapping[int, float]], basis: str = "plain", rate: float = RATE, steps: int = STEPS
) -> Promises:
    """The rate against the bound, for every number of clients."""
    yield from [
        Promise(
            f"the rate for C = {C}",
            rate,
            1.0 / (12.0 * L * steps),
            at_most=True,
            case={"clients": C} if C == 32 else None,
        )
        for C, L in smoothness[basis].items()
    ]
    told = "; ".join(
        f"{called(name)}: " + ", ".join(f"{1.0 / (12.0 * L * STEPS):.2g} (C = {C})" for C, L in values.items())
        for name, values in smoothness.items()
    )
    return f"{OF_32}; largest admitted rates, {told}"
