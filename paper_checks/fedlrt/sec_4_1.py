"""Section 4.1, homogeneous test: its setting, its step size, and what the paper says it shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite

import torch

from algorithms.fedlrt import Correction
from paper_checks.claim import Best, Dropped, Form, Intended, Reading
from paper_checks.context import Context
from paper_checks.fedlrt.measurements.homogeneous_setting import (
    BELOW_RANK,
    COMMAND,
    NORMALISED,
    NOT_FOLLOWED,
    RANK,
    RATE,
    SETTING,
    STEPS,
    name_reading,
    normalisation_readings,
    stream_of_one_target,
)
from paper_checks.fedlrt.measurements.least_squares import EARLY, Followed, follow_all, settling_round
from paper_checks.fedlrt.measurements.legendre_runs import (
    CLOSE,
    STARTS,
    WEAKEST,
    Choice,
    Run,
    apart,
    homogeneous_run,
    long_run,
    one_target,
)
from paper_checks.methods.relations import Relation, Relations, relations
from toymodels.legendre import BASES, homogeneous

CLIENTS = (1, 2, 4, 8, 16, 32)


@dataclass(frozen=True)
class Setting:
    """Distance of the minimiser from the target, and the least curvature over the largest."""

    distance: float
    curvature: float


def make_problems(context: Context) -> dict[tuple[str, int], Setting]:
    """Make the problem with four clients in every basis on the same points, and with fewer points than entries of W."""
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


@relations(
    "fedlrt/exp-homogeneous",
    where="Section 4.1, homogeneous test, with Figure 4 and, for the sizes of the $X_c$, Section 2",
    says=r"""Losses $\mathcal{L}_c(W) = \frac1{2|X_c|}\sum_{(x,y) \in X_c}\|p(x)^\top Wp(y) - f(x,y)\|_2^2$, $W \in
    \mathbb R^{n \times n}$, p the Legendre polynomial basis of degree n - 1; target $f(x,y) = p(x)^\top W_rp(y)$ with
    random $W_r$ of rank r; n = 20, r = 4; 10,000 points uniform on $[-1,1]^2$, spread uniformly among C = 1, 2, 4, 8,
    16, 32 clients, each $X_c$ of the same size; FeDLRT with variance correction (Figure 4: the simplified one) is
    compared with FedLin; $s_* = 20$, $\lambda = 10^{-3}$; $\vartheta = \tau\|\tilde S^*\|$, $\tau = 0.1$; medians over
    20 random initial weights. The minimiser is $W^* = W_r$.""",
    measure=make_problems,
    mutants=[{"samples": 300}, {"moved": 0.01}, {"clients": CLIENTS}],
    readings=(
        Reading(
            "in each normalisation of the polynomials",
            """With 10,000 points and polynomials that equal 1 at x = 1, or are orthonormal with respect to dx or to the
            uniform distribution, the minimiser is $W_r$, the only one, and with 1, 2, 4, 8 or 16 clients, all clients
            have equally many points. (With 32 clients each would have 312.5, which has to be rounded.)""",
            why="A setting is judged by whether what it defines exists. The paper leaves open the normalisation of "
            "the polynomials, the distribution of $W_r$, the rank and size of the initial weights, the number of "
            "rounds, how 32 clients are weighted and, in Section 4.1 but not in Figure 4, which correction is used.",
        ),
    ),
    kind="setting",
    because="The paper does not state the normalisation, on which the step sizes that work and the ratio of "
    "curvatures (1 or 1521) depend.",
    expect=("holds", "search"),
    intended=Intended(
        "in each normalisation of the polynomials",
        r"“$p : [-1,1] \to \mathbb{R}^n$ is the Legendre polynomial basis of degree n-1”: no normalisation, "
        "start or number of rounds; 32 clients share 10,000 points.",
    ),
    print="unstated",
)
def exp_homogeneous(
    problems: Mapping[tuple[str, int], Setting],
    samples: int = 10_000,
    moved: float = 0.0,
    clients: tuple[int, ...] = (1, 2, 4, 8, 16),
) -> Relations:
    """The clients' shares of the points, and the minimiser, in every basis.

    ``moved``: a minimiser so far from the target.
    """
    for C in clients:
        yield Relation("points left over when all clients have as many", samples % C, 0)
    for basis in BASES:
        one = problems[basis, samples]
        yield Relation(f"positive curvature, {basis}", 1e-7, one.curvature, at_most=True)
        if isfinite(one.distance):  # otherwise the minimiser is not unique
            yield Relation(f"distance of minimiser and target, {basis}", one.distance, moved, error=1e-6)
    told = ", ".join(f"{name_reading(basis)} {problems[basis, 10_000].curvature:.1e}" for basis in BASES)
    return (
        f"{SETTING}, four clients; least over largest curvature, on one set of points: {told}, and in the mean over "
        "the points 1/1521, 1 and 1; one draw of points alone moves them many times over, and two normalisations that "
        "differ by a factor have equal ones on the same points; of 20,000 targets with normal factors 102 are drawn "
        f"again ({COMMAND})"
    )


OF_32 = f"{SETTING}; 312 or 313 points for each of 32 clients"


def find_smoothness(context: Context) -> dict[str, dict[int, float]]:
    """Find the largest curvature of any client, by basis and number of clients; points dealt at random or by region."""
    seed, found = stream_of_one_target(context), dict[str, dict[int, float]]()
    for name, basis, split, counts in (
        *((basis, basis, "random", CLIENTS) for basis in BASES),
        ("plain, by region", "plain", "region", (32,)),
    ):
        found[name] = {
            C: max(float(torch.linalg.eigvalsh(client.H)[-1]) for client in one_target(seed, basis, C, split))
            for C in counts
        }
    return found


ORTHONORMAL, WITH_VALUE_1 = normalisation_readings(
    "the step is admitted for C = 1, 2, 4, 8, 16, 32.", "uniform", "plain", run=False
)

ADMITTED = (
    "of 24 draws of the points the step is admitted with value 1 at 1 for every C on all; with polynomials orthonormal "
    "for the uniform law for one client on 17, for two on 2 and for more on none; with those for dx for one and two "
    f"clients on all, for four on 19, for eight on 9 and for 16 and 32 on none ({COMMAND})"
)
"""Draws on which the step is admitted, by polynomials and clients."""


@relations(
    "fedlrt/claim-hom-stepsize",
    where="Section 4.1, homogeneous test",
    says=r"""The homogeneous test ($s_* = 20$, $\lambda = 10^{-3}$, C = 1, 2, 4, 8, 16, 32 clients) satisfies the
    step-size restriction of Theorem 2, $\lambda \le \frac1{12Ls_*}$.""",
    measure=find_smoothness,
    readings=(
        ORTHONORMAL,
        replace(
            WITH_VALUE_1,
            mutants=({"basis": "plain", "steps": 100}, {"basis": "plain", "rate": 5e-3}, {"basis": "plain, by region"}),
        ),
    ),
    best={"rate": Best(3.99e-3, "searched: the largest admitted rate for 32 clients, the least of 24 draws")},
    because="If polynomials equal 1 at x = 1, the step size suits any number of clients. If they are orthonormal, "
    "32 clients need a smaller one.",
    expect=("ambiguous", "search"),
    intended=Intended(
        "value 1 at 1",
        "“the Legendre polynomial basis of degree n-1” (Section 4.1): by default, Legendre polynomials equal 1 at "
        "x = 1.",
    ),
    print="unstated",
    ambiguous="Section 4.1 does not state the normalisation. By default, Legendre polynomials equal 1 at x = 1. "
    "Orthonormal ones bring the rank “within a few aggregation rounds”, as the text says of this test",
)
def claim_hom_stepsize(
    smoothness: Mapping[str, Mapping[int, float]], basis: str = "uniform", rate: float = RATE, steps: int = STEPS
) -> Relations:
    """The rate is at most the bound, for every number of clients."""
    yield from [
        Relation(
            f"the rate for C = {C}",
            rate,
            1.0 / (12.0 * L * steps),
            at_most=True,
            case={"clients": C} if C == 32 else None,
        )
        for C, L in smoothness[basis].items()
    ]
    told = "; ".join(
        f"{name_reading(name)}: " + ", ".join(f"{1.0 / (12.0 * L * STEPS):.2g} (C = {C})" for C, L in values.items())
        for name, values in smoothness.items()
    )
    return f"{OF_32}; largest admitted rates, {told}; {ADMITTED}"


LARGER_STARTS = (
    "with value 1 at 1, on other draws of target and points, the median rank over 20 starts of size 0.01 falls below 4 "
    "within 200 rounds on 23 of 24 draws; over 20 of size 0.1 it is 4 after 1500 rounds, from round 294 on at the "
    "earliest, and was never below, on 6 of 8; from one start of size 1 it is 4 from round 25,053 to 64,182 on, and "
    "never below, on four, and the distance 0.11 to 0.15 after 160,000, so larger starts may do; their runs are "
    "too long to be judged; with the other polynomials, from one start, the rank is 4 after 18 % of the run at the "
    f"latest, and never below, on 16 draws ({COMMAND})"
)
"""Results of runs from other starts, longer than a check allows."""

MEDIANS = (
    rf"with one client the median rank over {STARTS} starts, as far as they are followed, and from there on that of "
    "the first one, is 4 after a quarter of the rounds to 1e-5 and never below it, and every matrix of rank 3 has more "
    "than a thousand times the loss at the end of the run."
)

WITH_32 = " So is the rank from the first start with 32 clients and the simplified correction."


@dataclass(frozen=True)
class Errors:
    """Runs to an error of 1e-5.

    Attributes:
        followed: Runs with one client.
        more: Runs with more clients and the simplified correction, by the number of clients.
        away: Largest relative difference of these from the algorithm's own first rounds.
    """

    followed: Followed
    more: Mapping[int, Run]
    away: float


def follow_errors(context: Context) -> Errors:
    """Follow one client in all readings, and 32 clients, at the full budget also 2 to 16, in the one that is meant.

    A seed is drawn once, so the claims on these runs share them.
    """
    seed, more, away = stream_of_one_target(Context(context.claim_id, 0, context.budget)), dict[int, Run](), 0.0
    for C in CLIENTS[context.size(len(CLIENTS) - 1, 1) :]:
        choice = Choice(clients=C)
        more[C] = long_run(seed, choice, 10_000, CLOSE)
        away = max(away, apart(more[C], homogeneous_run(seed, choice, 4)))
    return Errors(follow_all(context), more, away)


@relations(
    "fedlrt/claim-hom-rank",
    where="Section 4.1 and Figure 4",
    says="""The results, medians over 20 random initial weights, indicate that FeDLRT is able to identify the correct
    rank within a few aggregation rounds and, furthermore, never underestimates it, which would have increased the loss
    value significantly.""",
    measure=follow_errors,
    mutants=[{"rank": 5}, {"basis": "tau 0.5"}, {"own": -1.0}, {"times": 1e15}],
    readings=(
        *normalisation_readings(MEDIANS + WITH_32, "uniform", one="target and points", why=EARLY),
        *normalisation_readings(
            MEDIANS, "uniform", "uniform, size 1", "dx", "plain", one="target and points", why=EARLY
        )[1:],
    ),
    hypotheses=(Dropped(f"last singular value of the target above {WEAKEST} of its norm", {"basis": "weak target"}),),
    vary=("early",),
    best={"early": Best(0.18, f"searched: the latest on 16 draws, one start, in the readings that pass ({COMMAND})")},
    because="Normalisation and start are not given. If polynomials equal 1 at x = 1, starts of size 0.01 lead to a "
    "rank below 4 in most draws.",
    uses=("fedlrt/exp-homogeneous",),
    expect=("holds", "search"),
    intended=Intended(
        "orthonormal for the uniform law with a start of size 0.01",
        "“identify the correct rank within a few aggregation rounds”; with these polynomials this takes tens of "
        "rounds, but with polynomials that equal 1 at x = 1 it takes at least 285 from starts of size 0.1, and "
        "hundreds of thousands to 1e-5.",
    ),
    print="unstated",
)
def claim_hom_rank(
    errors: Errors, basis: str = "uniform", rank: int = RANK, early: float = 0.25, times: float = 1e3, own: float = 1e-8
) -> Relations:
    """The median rank, when it is found and the loss of lower ranks are as stated, in runs that agree with FeDLRT's.

    The median is over all starts while they are followed, and then the rank of the first one.
    """
    followed, more = errors.followed, errors.more if basis == "uniform" else {}
    away = max(followed.away, errors.away) if more else followed.away
    yield from [Relation("the first rounds are the algorithm's own", away, own, at_most=True)]
    run, ranks = followed.runs[basis], followed.ranks(basis)
    latest, lower = early * (len(run.ranks) - 1), followed.lower.get(basis.split(",")[0], followed.lower["uniform"])
    case = BELOW_RANK if basis == "plain" else None
    yield Relation("rank never below the target's", rank, min(ranks), at_most=True, case=case)
    yield Relation("the target's rank from an early round on", settling_round(ranks, rank), latest, at_most=True)
    for C, other in more.items():
        yield Relation(f"rank never below the target's with {C} clients", rank, min(other.ranks), at_most=True)
        settled = settling_round(other.ranks, rank)
        quarter = early * (len(other.ranks) - 1)
        yield Relation(f"the target's rank early with {C} clients", settled, quarter, at_most=True)
    yield Relation("the loss of rank 3 far above that at the end", times * run.losses[-1], lower, at_most=True)
    told = "; ".join(
        f"{name_reading(name)}: median rank {medians[-1]:g} at round {len(medians) - 1}, least {min(medians):g}"
        + (f", {RANK} from round {settling_round(medians)} on" if medians[-1] == RANK else "")
        + f"; first start: rank {one.ranks[-1]} at round {len(one.ranks) - 1}, least {min(one.ranks)}"
        for name, medians in followed.medians.items()
        for one in [followed.runs[name]]
    )
    with_more = "; ".join(
        f"{C} clients: least rank {min(other.ranks)}, {RANK} from round {settling_round(other.ranks)} on"
        for C, other in errors.more.items()
    )
    return (
        f"{SETTING}; one client: {told}, which stands for the median after the last round that has one; its first "
        f"rounds are compared with the algorithm's own; orthonormal for the uniform law, first start, simplified "
        f"correction, {with_more}; the numbers of clients between are followed at the full budget; {LARGER_STARTS}"
    )


OTHER_STARTS = (
    "1,610 to 1,630 rounds, 1,292 to 1,965 from those of size 1, and 6,421 to 6,498 with polynomials orthonormal "
    f"for dx ({COMMAND})"
)
"""Rounds to 1e-5 from other starts."""


@relations(
    "fedlrt/claim-hom-error",
    where="Section 4.1 and Figure 4",
    says="FeDLRT converges to the minimiser $W^* = W_r$ up to an error of $10^{-5}$.",
    measure=follow_errors,
    mutants=[{"basis": "tau 0.5"}, {"error": 5e-6}],
    readings=(
        *normalisation_readings(
            "with one client and with 32, the fewest and the most, and the simplified correction the run comes within "
            "$10^{-5}$ in the Frobenius norm, in however many rounds.",
            "uniform",
            why=" The correction is that of Figure 4.",
        ),
        *normalisation_readings(
            "with one client the run comes within $10^{-5}$ in the Frobenius norm, in however many rounds.",
            "uniform",
            "uniform, size 1",
            "dx",
        )[1:],
    ),
    uses=("fedlrt/exp-homogeneous",),
    because="Normalisation and start are not given. If polynomials equal 1 at x = 1, a start of size 0.01 can lead to "
    "a final rank below 4.",
    expect=("holds", "search"),
    intended=Intended(
        "orthonormal for the uniform law with a start of size 0.01",
        "“converges to the minimizer $W^* = W_r$ up to a 1e-5 error”, in the run whose rank comes "
        "“within a few aggregation rounds”.",
    ),
    print="unstated",
)
def claim_hom_error(errors: Errors, basis: str = "uniform", error: float = CLOSE) -> Relations:
    """A run ends at the stated distance; long runs end once they are within 1e-5.

    With polynomials of value 1 at 1 the small start is soon at a rank below the target's, and what a round then adds in
    new directions is less than what the truncation cuts. From larger starts the least curvature is 1/1521 of the
    largest in the mean over the points, and nobody follows such a run to the end in a check: no reading has them.
    """
    followed, more = errors.followed, errors.more if basis == "uniform" else {}
    yield Relation("distance at the end", followed.runs[basis].distances[-1], error, at_most=True)
    for C, run in more.items():
        yield Relation(f"distance at the end with {C} clients", run.distances[-1], error, at_most=True)
        yield Relation("the first rounds are the algorithm's own", errors.away, 1e-8, at_most=True)
    told = "; ".join(
        f"{name_reading(name)}: {one.distances[-1]:.2g} at round {len(one.distances) - 1}"
        for name, one in followed.runs.items()
        if name.split(", ")[0] in NORMALISED
    )
    with_more = "; ".join(
        f"{C} clients: {run.distances[-1]:.2g} at round {len(run.distances) - 1}" for C, run in errors.more.items()
    )
    return (
        f"{SETTING}; distances with one client: {told}; orthonormal for the uniform law with {with_more}; the "
        "numbers of clients between are followed at the full budget; with one client, from 20 starts on this draw of "
        f"target and points {OTHER_STARTS}; "
        f"{NOT_FOLLOWED}"
    )


@dataclass(frozen=True)
class Counts:
    """Rounds to a distance with one client and with 32.

    Attributes:
        basis: Normalisation of the polynomials.
        distance: Distance that is reached.
        one: Rounds with one client.
        many: Rounds with 32 clients, by correction.
        away: Largest relative difference from the algorithm's own rounds in the first ones.
    """

    basis: str
    distance: float
    one: float
    many: Mapping[str, float]
    away: float


def count_rounds(context: Context) -> list[Counts]:
    """Count rounds to 1e-2 at the quick budget; to 1e-5, and with another basis, at the full one."""
    seed, found = stream_of_one_target(context), []
    plans = (("uniform", 1e-2), ("uniform", 1e-5), ("dx", 0.1))
    for basis, distance in plans[: context.size(1, 3)]:
        one = long_run(seed, Choice(basis), 10_000, distance)
        kinds: tuple[Correction, ...] = ("simplified", "full")
        runs = {kind: long_run(seed, Choice(basis, 32, correction=kind), 10_000, distance) for kind in kinds}
        own = {kind: homogeneous_run(seed, Choice(basis, 32, correction=kind), 4) for kind in runs}
        away = max(apart(runs[kind], own[kind]) for kind in runs)
        found.append(
            Counts(basis, distance, one.reaches(distance), {k: r.reaches(distance) for k, r in runs.items()}, away)
        )
    return found


@relations(
    "fedlrt/claim-hom-clients",
    where="Section 4.1 and Figure 4",
    says="FeDLRT converges faster with more clients.",
    measure=count_rounds,
    readings=(
        Reading(
            "rounds to a distance",
            "With polynomials orthonormal with respect to the uniform distribution and the simplified correction, "
            "32 clients need fewer rounds than one to come within a distance of the minimiser.",
            why="Figure 4 shows the simplified correction and distances by rounds; the text does not give the "
            "normalisation. With polynomials that equal 1 at x = 1, the run from a start of size 0.01 does not come "
            "near a minimiser (fedlrt/claim-hom-error).",
        ),
    ),
    control=Form(
        """With the simplified correction 32 clients need somewhat more rounds than one, at most 6 %: on eight sets of
        points 1.3 to 3.1 % more to distances of 1e-2 and 1e-5 with polynomials orthonormal with respect to the uniform
        distribution, and 0.09 to 0.6 % to a distance of 0.1 with those for dx. With the full correction they need the
        same number within one round, on these sets to these distances.""",
        {"least": 0.0, "most": 0.06, "within": 1.0},
    ),
    vary=(),
    uses=("fedlrt/exp-homogeneous",),
    because="The mean loss is the same for every C, so 32 clients need as many rounds as one, or 0.1 to 3 % more.",
    expect=("refuted", "statistical"),
    intended=Intended(
        "rounds to a distance",
        "“converges faster with more clients”, in rounds: Figure 4 is “with respect to the aggregation rounds”.",
    ),
)
def claim_hom_clients(
    counts: Sequence[Counts], least: float = -1.0, most: float = 0.0, within: float = 1e6
) -> Relations:
    """Shares of rounds more with 32 clients than with one, strictly between two bounds; and with full correction."""
    told = []
    case = {"basis": "uniform", "clients": 32, "rounds": 10}
    for one in counts:
        more = one.many["simplified"] / one.one - 1.0
        # A whole round is the least that can be seen.
        seen = 0.5 / one.one
        yield Relation("share of rounds more with 32 clients, at most", more + seen, most, at_most=True, case=case)
        yield Relation("share of rounds more with 32 clients, at least", least + seen, more, at_most=True)
        yield Relation("full correction: rounds more or fewer", abs(one.many["full"] - one.one), within, at_most=True)
        yield Relation("the first rounds are the algorithm's own", one.away, 1e-8, at_most=True)
        told.append(
            f"{name_reading(one.basis)}, to {one.distance:g}: {one.one:.0f} with one, "
            f"{one.many['simplified']:.0f} with 32 (simplified), {one.many['full']:.0f} (full)"
        )
    return f"{OF_32}; rounds, {'; '.join(told)}"


LEVELS = (1e-2, 1e-3, 1e-4, 1e-5)


@relations(
    "fedlrt/claim-hom-10x",
    where="Section 4.1",
    says="FeDLRT shows up to ten times faster convergence than FedLin.",
    measure=follow_all,
    mutants=[{"factor": 1e5}, {"swapped": True}],
    readings=(
        normalisation_readings(
            "with one client FedLin needs at least ten times as many rounds as FeDLRT to reach one of the distances "
            "1e-2 to 1e-5. We read “up to” as: a factor of ten is reached.",
            "uniform",
            "uniform, size 1",
            "dx",
        )
    ),
    best={
        "factor": Best(
            14.9,
            "searched: what is reached on the draw that is judged; on sixteen sets of points the largest quotient at "
            "the distances 1e-2 to 1e-5 is 9.0 to 298 with polynomials orthonormal for the uniform law, 8.4 to 260 "
            f"from its starts of size 1, and 9.1 to 293 with those for dx ({COMMAND})",
        )
    },
    importance="result",
    uses=("fedlrt/claim-hom-error",),
    because="Normalisation, targets and start are not given. The speed-up reaches 10 in our run; in 16 draws its "
    "maximum is 8.4 to 298.",
    expect=("holds", "search"),
    intended=Intended(
        "orthonormal for the uniform law with a start of size 0.01",
        "“shows up to 10x faster convergence than FedLin”means that a factor of ten is reached, in the run that finds "
        "the rank “within a few aggregation rounds”.",
    ),
    print="unstated",
)
def claim_hom_10x(followed: Followed, basis: str = "uniform", factor: float = 10.0, swapped: bool = False) -> Relations:
    """On one set of points, as an example, the largest quotient of rounds is as stated, with FedLin's from below."""
    run = followed.runs[basis]
    pairs = {level: (followed.full_rank(basis, level), run.reaches(level)) for level in LEVELS}
    quotients = [ours / theirs if swapped else theirs / ours for theirs, ours in pairs.values()]
    told = ", ".join(f"{level:.0e}: {ours:.0f} and {theirs:.0f}" for level, (theirs, ours) in pairs.items())
    yield Relation("fewer rounds to every distance", 1.0, min(quotients), at_most=True)
    yield Relation("times fewer rounds to one of them", factor, max(quotients), at_most=True)
    larger = (
        "; with value 1 at 1 a start of size 0.01 can end below rank 4, and from a start of size 0.1, on another draw, "
        "one run is within 1e-5 after 781,269 rounds, and FedLin more than 1e-2 away after 16,777,216, more than 21 "
        f"times as many ({COMMAND})"
    )
    return f"{SETTING}, one client; rounds of FeDLRT and, at least, of FedLin to {told}; {NOT_FOLLOWED}{larger}"
