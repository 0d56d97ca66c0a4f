"""Section 3.1, after Theorem 3.2: when the difference of the stable ranks is negative."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from paper_checks.claim import Evidence, Reading, claim
from paper_checks.context import LEVEL, Context
from paper_checks.fedloru.spectral.spike_sets import READINGS, Gap, Instance, draw_instances, judge_instances
from paper_checks.fedloru.spectral.spike_sets import SetReading as Sets
from paper_checks.fedloru.spectral.stable_rank_estimates import difference
from paper_checks.fedloru.spectral.stable_rank_limit import ABOVE, BELOW, BETWEEN, draw_ranks
from paper_checks.methods.parts import judge_parts
from paper_checks.methods.probability import Counted


@dataclass(frozen=True)
class Gaps:
    """How often the difference of the stable ranks was negative, and exact instances for those of eq. (36).

    Attributes:
        counts: Negative differences for the largest spike above both thresholds, between them and below both.
        single: One spike, around the size at which the difference of the expressions (36) turns, in seven units.
        drawn: Instances of several spikes.
    """

    counts: dict[str, Counted]
    single: tuple[Instance, ...]
    drawn: tuple[Instance, ...]


def _single() -> tuple[Instance, ...]:
    r"""$\sigma s_M = 32/5$ and $\sigma s_N = 18/5$, the spike at several shares of their geometric mean, 24/5."""
    ratios = [Fraction(text) for text in ("1/2", "49/50", "1", "51/50", "5/4")]
    factors = Fraction(16, 25), Fraction(9, 25), Fraction(1, 2)
    return tuple(
        Instance(((-1) ** place * ratio * Fraction(24, 5) * unit,), 10 * unit, *factors, 1 + place)
        for unit in (Fraction(10) ** power for power in range(-3, 4))
        for place, ratio in enumerate(ratios)
    )


def measure_gaps(context: Context) -> Gaps:
    """Signs at R = 10^5, and exact instances."""
    counts = {}
    for place, settings in (("above", ABOVE), ("between", BETWEEN), ("below", BELOW)):
        name, sizes = list(settings.items())[-1]
        gaps = draw_ranks(sizes, 10**5, context.size(120, 1000), context.rng(name)).gaps()
        counts[place] = Counted(int((gaps < 0).sum()), len(gaps))
    return Gaps(counts, _single(), tuple(draw_instances(context)))


def _judge_signs(
    counts: dict[str, Counted], possible: tuple[str, ...], impossible: tuple[str, ...], share: float
) -> Evidence:
    """Where a negative gap has a probability of more than ``share``, and where of less."""
    level = LEVEL / (len(possible) + len(impossible))
    shares = {place: counts[place].interval(level) for place in (*possible, *impossible)}
    room = min([shares[place][0] - share for place in possible] + [share - shares[place][1] for place in impossible])
    apart = max([share - shares[place][1] for place in possible] + [shares[place][0] - share for place in impossible])
    found = "; ".join(f"{place}: {count.happened} of {count.draws}" for place, count in counts.items())
    scope = (
        "negative gaps at R = 10^5: the largest spike above both thresholds, between sigma s_N and sigma s_M with "
        "theta_0^2 < sigma^2 s_M s_N, where the right side of (4) is negative, and below both, independent noise"
    )
    printed = f"P(gap < 0) > {share:g} {', '.join(possible)}; < {share:g} {', '.join(impossible)}"
    draws = counts["below"].draws
    if room >= 0:
        return Evidence(True, scope, printed, found, room, level=LEVEL, cases=draws)
    if apart > 0:
        return Evidence(
            False, scope, printed, found, -apart, level=LEVEL, cases=draws, witness={"share": share, "found": found}
        )
    return Evidence(None, scope, printed, found, room, level=LEVEL, reason="an interval straddles a bound")


def _judge_expressions(instances: Sequence[Instance], product: float) -> Evidence:
    r"""Between the expressions (36): negative only for $\theta_0^2 < \sigma^2s_Ms_N$, and so for one spike."""

    def gap(one: Instance, sets: Sets) -> Gap:
        turns = Fraction(str(product)) * one.noise_M * one.noise_N
        found, small = difference(one, sets), one.theta_0**2 < turns
        fails = not small if found < 0 else small and len(one.spikes) == 1
        return Gap(fails, abs(one.theta_0**2 - turns), f"gap {float(found):.6g}")

    return judge_instances(
        [one for one in instances if one.rest],
        gap,
        ("condition",),
        proof=tuple,
        scope="expressions (36) with 1 to 19 indices beside the spikes, the same number at M and at N",
        printed=f"gap < 0 only for theta_0^2 < {product:g} sigma^2 s_M s_N, and there for one spike",
    )


def _judge_sizes(instances: Sequence[Instance], most: float, relative: bool) -> Evidence:
    """That the spike is at most a fixed number wherever the expressions (36) have a negative gap, by either sets.

    The number is one of the noise at M, if ``relative``.
    """

    def size_of(one: Instance) -> Fraction:
        return abs(one.theta_0) / (one.noise_M if relative else 1)

    negative = [one for one in instances if all(difference(one, sets) < 0 for sets in READINGS)]
    largest = max(negative, key=size_of)
    size, name = size_of(largest), "|theta_0|/(sigma s_M)" if relative else "|theta_0|"
    witness = {
        "theta_0": str(largest.theta_0),
        "sigma": str(largest.sigma),
        "s_M": str(largest.s_m),
        "s_N": str(largest.s_n),
        "rest": largest.rest,
        "most": str(Fraction(str(most))),
    }
    return Evidence(
        size <= most,
        f"one spike, in units from 1/1000 to 1000; {len(negative)} instances of a negative gap",
        f"{name} <= {most:g}",
        f"{name} up to {float(size):g}",
        float(most - size),
        cases=len(negative),
        witness=witness,
    )


@claim(
    "fedloru-v2/claim-ill",
    where="Section 3.1, after Theorem 3.2",
    says=r"In the special case $\theta_0^2 \le \sigma^2s_M^2$ the gap can become negative; this scenario arises only "
    "when the Hessian is extremely ill-conditioned, meaning that the largest singular value is extremely small.",
    measure=measure_gaps,
    readings=(
        Reading(
            "small in itself",
            r"A negative gap arises only where the largest singular value of $H_{\mathrm{true}}$, $|\theta_0|$, is "
            "small as a number: below a fixed one, here 1.",
            why="The sentence names no scale beside which the singular value is small.",
        ),
        Reading(
            "extremely small against the noise",
            r"A negative gap arises only where $|\theta_0|$ is much smaller than the noise: below a fixed share "
            r"of $\sigma s_M$, here a tenth.",
            {"against": "noise at M", "most": 0.1},
            r"The singular value is called extremely small, and the case is told by $\theta_0^2 \le \sigma^2s_M^2$. "
            "Every share below 1 fails, for $s_N/s_M$ near enough to 1.",
            ({"most": 0.05},),
        ),
        Reading(
            "small against the noise",
            r"A negative gap arises, and only where $|\theta_0|$ is at most of the size of the noise. For independent "
            "Gaussian noise at M and at N the stable ranks have one with a probability that does not vanish for some "
            r"$|\theta_0| \le \sigma s_N$, and with one that vanishes as $R \to \infty$ for every $|\theta_0| > \sigma "
            "s_N$. The expressions (36), with finite counts, as many indices at M as at N, and the sets of the "
            r"theorem, have one only for $\theta_0^2 < \sigma^2s_Ms_N$, and there for a single spike.",
            {"against": "noise"},
            r"The case is told by $\theta_0^2 \le \sigma^2s_M^2$, and is called unlikely since $\sigma^2s_M^2$ is "
            "small.",
            (
                {"possible": ("above",)},
                {"impossible": ("below",)},
                {"possible": ("between",)},
                {"product": 1.05},
                {"product": 0.95},
            ),
        ),
    ),
    uses=("fedloru-v2/thm-3.2", "fedloru-v2/eq-43"),
    because="Stable ranks do not depend on units: below the noise, and not far below it, the gap can be negative for "
    "any size.",
    vary=(),
    expect=("depends on the reading", "proof"),
)
def claim_ill(
    data: Gaps,
    against: str = "nothing",
    possible: tuple[str, ...] = ("below",),
    impossible: tuple[str, ...] = ("above",),
    share: float = 0.15,
    product: float = 1.0,
    most: float = 1.0,
) -> Evidence:
    """The signs of the stable ranks' gaps and of those of (36), or the sizes of the spike where the latter is < 0."""
    if against != "noise":
        return _judge_sizes(data.single, most, against == "noise at M")
    expressions = _judge_expressions((*data.single, *data.drawn), product)
    return judge_parts((expressions, _judge_signs(data.counts, possible, impossible, share)))
