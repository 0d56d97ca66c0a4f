"""Appendix A.3, proof of Proposition 3.1: the edges of the bulk (eqs. (26) to (29))."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import partial
from math import isqrt

import numpy as np
from numpy.typing import NDArray

from paper_checks.claim import Best, Dropped, Evidence, Form, Intended, Reading, claim
from paper_checks.context import LEVEL, Context
from paper_checks.fedloru.spectral.measurements.spectra import Setting
from paper_checks.fedloru.spectral.prop_3_1 import FIXED_LAWS
from paper_checks.methods.limit import Ladder, judge_limit
from paper_checks.methods.parts import judge_parts
from paper_checks.methods.probability import Counted, Law, judge_probability
from rmt.banded import draw_banded
from rmt.dense import ENTRY_LAWS, EntryLaw, wigner

# One law for all entries: +-3 sigma with probability R^(-3/2) / 9, Gaussian otherwise, variance sigma^2 / R in all.
RARE_SIZE = 3.0


def rare_rate(R: int) -> float:
    """Return the probability that an entry of the rare law is large: about the root of R of the R^2/2 entries are."""
    return R**-1.5 / RARE_SIZE**2


def _rare(rng: np.random.Generator, count: int, R: int) -> NDArray[np.float64]:
    rate = rare_rate(R)
    rest = np.sqrt((1.0 - RARE_SIZE**2 * R * rate) / (1.0 - rate))
    large = rng.random(count) < rate
    signs = 2.0 * rng.integers(0, 2, count) - 1.0
    return np.where(large, RARE_SIZE * np.sqrt(R) * signs, rest * rng.standard_normal(count))


RARE = EntryLaw("rare", _rare, np.inf)

LAWS = {**{name: ENTRY_LAWS[name] for name in FIXED_LAWS}, RARE.name: RARE}

DIMENSION = 200


def measure_edges(context: Context) -> dict[str, NDArray[np.float64]]:
    """Measure all eigenvalues of dense pure noise in units of sigma s, decreasing, shape (draws, R), by law."""
    found = {}
    for name, entries in LAWS.items():
        rng = context.rng(name)
        draws = [np.linalg.eigvalsh(wigner(1.0, DIMENSION, rng, entries)) for _ in range(context.size(30, 100))]
        found[name] = np.array(draws)[:, ::-1]
    return found


RARE_DIMENSIONS = (10**4, 10**6, 10**8)

INDICES = (1, 2, 3)

# Distance from an edge that counts, in units of sigma s: 14 R^(-2/3) at that dimension, where the third eigenvalue lags
# by 4.4 R^(-2/3) and, with the rare law, by another 0.07.
FAR = 0.4


def rare_probability(R: int) -> float:
    r"""Return the probability that $X_{ij} = \pm 3\sigma$ for some $i < j$.

    The Rayleigh quotients of $(e_i \pm e_j)/\sqrt2$ are then $3\sigma$ above and below $(X_{ii} + X_{jj})/2$, so
    $\lambda_1(X) \ge 3\sigma$ or $\lambda_R(X) \le -3\sigma$.
    """
    return float(-np.expm1(0.5 * R * (R - 1.0) * np.log1p(-rare_rate(R))))


def _edge_events(
    data: dict[str, NDArray[np.float64]], converging: tuple[str, ...], edge: float, share: float
) -> Iterator[Evidence]:
    """Judge events that must have a probability of at most one half, since they have none in the limit."""
    level = LEVEL / (2 * len(data))
    for name, spectra in data.items():
        draws, R = spectra.shape
        scope = f"{draws} dense draws of each law at R = {R}, i = 1 to {len(INDICES)}"
        indices = np.array([*INDICES, round(share * R)] if share else INDICES)
        short = (spectra[:, indices - 1] < edge - FAR) | (spectra[:, R - indices] > FAR - edge)
        what = f"lambda_i or -lambda_R+1-i < ({edge:g} - {FAR:g}) sigma s for some i, {name} entries"
        counted = Counted(int(short.any(axis=1).sum()), draws)
        yield judge_probability(counted, 0.0, 0.5, scope=scope, what=what, level=level)
        if name not in converging:
            continue
        what = f"max(lambda_1, -lambda_R) > ({edge:g} + {FAR:g}) sigma s, {name} entries"
        if name == RARE.name:
            R = min(RARE_DIMENSIONS, key=rare_probability)
            yield judge_probability(
                Law(rare_probability(R), 1e-9) if edge + FAR < RARE_SIZE else Law(Fraction(0)),
                0.0,
                0.5,
                what=what,
                scope=f"exact probability of one large entry, smallest over R = {', '.join(map(str, RARE_DIMENSIONS))}",
                witness={"root_of_R": isqrt(R), "size": RARE_SIZE, "edge": edge},
            )
            continue
        happened = np.maximum(spectra[:, 0], -spectra[:, -1]) > edge + FAR
        counted = Counted(int(happened.sum()), draws)
        yield judge_probability(counted, 0.0, 0.5, scope=scope, what=what, level=level)


@claim(
    "fedloru-v2/eq-26-27",
    where="Appendix A.3, eqs. (26) and (27)",
    says=r"""Since $\epsilon_N$ has the limiting spectral density $\mu_N$ with lower and upper bounds $L_N$, $U_N$, for
    all fixed $i \ge 1$: $\liminf \lambda_i(\epsilon_N) \ge U_N$ and $\limsup \lambda_{R+1-i}(\epsilon_N) \le L_N$ (26),
    $\lambda_1(\epsilon_N) \to U_N$ and $\lambda_R(\epsilon_N) \to L_N$ (27); from these relations
    $\lambda_i(\epsilon_N) \to U_N$ and $\lambda_{R+1-i}(\epsilon_N) \to L_N$.""",
    measure=measure_edges,
    readings=(
        Reading(
            "from the limiting density",
            r"(26), (27) and what follows for independent entries of mean 0 and variance $\sigma^2/R$ whose limiting "
            r"spectral density is $\mu_N$.",
            why="The paper says that they follow from the limiting density, and eq. (1) requires nothing else of the "
            "entries.",
        ),
        Reading(
            "for Wigner matrices",
            "(26), (27) and what follows for entries that are $R^{-1/2}$ times a fixed law of mean 0, variance "
            r"$\sigma^2$ and finite fourth moment, taken from one infinite matrix for all R.",
            {"converging": FIXED_LAWS},
            r"Appendix A calls $X^R$ a Wigner matrix.",
            ({"edge": 2.5}, {"edge": 1.4}, {"share": 0.1}),
        ),
    ),
    correction=Form(
        r"""Eq. (26) follows from the limiting density; eq. (27) does not, it holds, with what follows, for entries
        $R^{-1/2}$ times a fixed law of mean 0 and finite fourth moment (Bai and Yin; almost surely if all matrices are
        parts of one infinite matrix, otherwise in probability). Independent entries from one law that is $\pm3\sigma$
        with probability $R^{-3/2}/9$ and else Gaussian have mean 0, variance $\sigma^2/R$ and the same limiting
        density, since they differ from a Gaussian matrix in $O(\sqrt{R})$ entries, but $\max(\lambda_1, -\lambda_R) \ge
        3\sigma s_N$ with probability tending to 1.""",
        {"converging": FIXED_LAWS},
        mutants=({"converging": ("rare",)}, {"edge": 2.5}, {"edge": 1.4}, {"share": 0.1}),
    ),
    vary=("edge",),
    uses=("fedloru-v2/prop-3.1-dist",),
    because="The limiting density bounds single eigenvalues only from one side: a few large entries do not change it, "
    r"but move $\lambda_1$.",
    best={"edge": Best(2.0, "proved: the semicircle of this variance ends there (Wigner; Bai and Yin)")},
    hypotheses=(
        Dropped(r"a law of the entries that does not change with R but for its scale", {"converging": tuple(LAWS)}),
    ),
    expect=("holds", "proof"),
    intended=Intended(
        "for Wigner matrices",
        "App. A: “X^R is a Wigner matrix”; (27) is Bai and Yin's theorem for a finite fourth moment, which is nowhere "
        "printed, and “has the limiting spectral density” alone does not give it",
    ),
    print="unstated",
)
def eq_26_27(
    data: dict[str, NDArray[np.float64]],
    converging: tuple[str, ...] = tuple(LAWS),
    edge: float = 2.0,
    share: float = 0.0,
) -> Evidence:
    """Eq. 26 for every law and eq. 27 for the laws ``converging``; with ``share`` > 0 the index grows like R."""
    judged = judge_parts(_edge_events(data, converging, edge, share))
    scope = f"{judged.scope}; (26) for {', '.join(data)}; (27) for {', '.join(converging) or 'none'}"
    return replace(judged, scope=scope, cases=len(data))


EDGES = Setting((2.0, -2.0), 2.0, 0.5)  # one spike of either sign, far above the threshold


def measure_fixed_indices(context: Context, dimensions: tuple[int, int] = (10**4, 10**6)) -> dict[str, Ladder]:
    """Measure the first eigenvalues at either end, for one spike of either sign, by the index counted from the top."""
    rng, rungs = context.rng("banded"), []
    for R in dimensions:
        draws = [
            draw_banded(EDGES.model(), R, rng, top=len(INDICES), bottom=len(INDICES))
            for _ in range(context.size(16, 80))
        ]
        rungs.append((R, np.array([[*d.top(len(INDICES)), *d.bottom(len(INDICES))] for d in draws])))
    names = [*(f"lambda_{i}" for i in INDICES), *(f"lambda_R+1-{i}" for i in INDICES)]
    return {name: Ladder(tuple((R, found[:, column]) for R, found in rungs)) for column, name in enumerate(names)}


@claim(
    "fedloru-v2/eq-28",
    where="Appendix A.3, eq. (28)",
    says=r"For all fixed $i \ge 1$: $\liminf \lambda_i(H_N) \ge U_N$ and $\limsup \lambda_i(H_N) \le L_N$.",
    measure=measure_fixed_indices,
    control=Form(r"The first half, $\liminf \lambda_i(H_N) \ge U_N$.", {"second": ""}),
    correction=Form(
        r"""$\liminf \lambda_i(H_N) \ge U_N$ and $\limsup \lambda_{R+1-i}(H_N) \le L_N$ for all fixed $i \ge 1$ (the
        index of eq. 26), with equality for $i > p$ and $i > q$ if the noise is a Wigner matrix, as for (29). With the
        printed index, $U_N \le L_N$.""",
        {"second": "lambda_R+1-", "equal": True},
        mutants=({"second": "lambda_"}, {"edge": 2.05}, {"edge": 1.95}, {"past": 0}),
    ),
    uses=("fedloru-v2/eq-21-25", "fedloru-v2/eq-26-27"),
    importance="detail",
    because=r"With the printed index the two lines give $U_N \le L_N$. The second holds for $\lambda_{R+1-i}$, as in "
    "(26).",
    expect=("holds", "proof"),
    intended=Intended(
        "as corrected", "(26), from which it is drawn, has “λ_{R+1-i}” in the second half; (28) prints λ_i twice"
    ),
    print="misprint",
)
def eq_28(
    ladders: dict[str, Ladder], second: str = "lambda_", edge: float = 2.0, equal: bool = False, past: int = 1
) -> Evidence:
    """One-sided limits through what exceeds them; ``equal`` asks for both sides at every index above ``past``."""

    def quantities(second: str, edge: float, equal: bool, past: int) -> dict[str, tuple[str, float, float]]:
        """Return each form's statement: the ladder, its limit, and on which side of it the ladder counts (0: both)."""
        found = {}
        for i in INDICES:
            for half, prefix, sign in (("liminf", "lambda_", 1.0), ("limsup", second, -1.0)):
                if prefix:
                    limit = sign * edge * EDGES.noise
                    sided = 0.0 if equal and i > past else sign
                    found[f"{half} {prefix}{i}"] = (f"{prefix}{i}", limit, sided)
        return found

    def beyond(values: NDArray[np.float64], limit: float, sided: float) -> NDArray[np.float64]:
        if not sided:
            return values
        return np.minimum(values, limit) if sided > 0 else np.maximum(values, limit)

    stated = quantities(second, edge, equal, past)
    judged = {
        name: Ladder(tuple((R, beyond(values, limit, sided)) for R, values in ladders[source].rungs))
        for name, (source, limit, sided) in stated.items()
    }

    return judge_limit(
        judged,
        {name: limit for name, (_, limit, _) in stated.items()},
        scope=f"one spike at {EDGES.spikes[0] / EDGES.noise:g} sigma s at either end, i = 1 to {len(INDICES)}, "
        "Gaussian noise",
        settings={name: {"sigma": EDGES.sigma, "s": EDGES.s} for name in judged},
    )


FAR_OUT = RARE_SIZE - 0.5  # in units of sigma s: what the eigenvalues of several large entries exceed


def far_probability(R: int, positive: int, negative: int) -> float:
    r"""Bound the probability of $\lambda_{p+1}(H_N) \ge 2.5\sigma s_N$ from below, for any p + q spikes.

    In each of $m = p + q + 1$ blocks of $R/m$ indices let there be a large entry $X_{ij}$ with $i < j$. The $(e_i \pm
    e_j)/\sqrt2$, of its sign, are m orthonormal vectors on which $\epsilon_N/s_N$ is $3\sigma I + E$. The entries of
    E lie on the diagonal or between the blocks, and so do not depend on the choice; $E\|E\|_F^2 \le m^2\sigma^2/R$.
    """
    blocks = positive + negative + 1
    size = R // blocks
    lacking = blocks * np.exp(0.5 * size * (size - 1.0) * np.log1p(-rare_rate(R)))
    return float(1.0 - lacking - blocks**2 / R / (RARE_SIZE - FAR_OUT) ** 2)


@claim(
    "fedloru-v2/eq-29",
    where="Appendix A.3, eq. (29)",
    says=r"""By combining (25), (27) and (28), for all fixed $i > p$ (respectively $i \ge q$): $\lambda_i(H_N) \to U_N$
    (respectively $\lambda_{R-i}(H_N) \to L_N$).""",
    measure=partial(measure_fixed_indices, dimensions=(10**6, 10**8)),
    readings=(
        Reading(
            "from the limiting density",
            r"(29) for independent entries of mean 0 and variance $\sigma^2/R$ whose limiting spectral density is "
            r"$\mu_N$.",
            why="It depends on (27), which, the paper says, follows from the limiting density; eq. (1) requires "
            "nothing else of the entries.",
        ),
        Reading(
            "for Wigner matrices",
            r"(29) for entries that are $R^{-1/2}$ times a fixed law of mean 0, variance $\sigma^2$ and finite fourth "
            "moment, taken from one infinite matrix for all R.",
            {"laws": ("gaussian",)},
            r"Appendix A calls $X^R$ a Wigner matrix.",
            ({"first": 0}, {"edge": 2.005}, {"edge": 1.995}),
        ),
    ),
    uses=("fedloru-v2/eq-21-25", "fedloru-v2/eq-26-27"),
    because=r"Rare large entries, some $\sqrt R/18$, keep the density and move every fixed eigenvalue; Wigner matrices "
    "of finite fourth moment have none.",
    expect=("holds", "proof"),
    intended=Intended(
        "for Wigner matrices",
        "App. A: “X^R is a Wigner matrix”; “By combining (25), (27), and (28)” it needs the finite fourth moment of "
        "(27), which is nowhere printed",
    ),
    print="unstated",
)
def eq_29(
    ladders: dict[str, Ladder], edge: float = 2.0, first: int = 1, laws: tuple[str, ...] = ("gaussian", RARE.name)
) -> Evidence:
    """Fixed indices past one spike at either end, ``first`` = 0 with it; then the law with a few large entries."""
    predicted = {name: edge * EDGES.noise * (-1.0 if "R" in name else 1.0) for name in ladders if int(name[-1]) > first}
    limits = judge_limit(
        {name: ladders[name] for name in predicted},
        predicted,
        scope=f"one spike at {EDGES.spikes[0] / EDGES.noise:g} sigma s at either end, Gaussian noise; "
        f"{', '.join(predicted)}",
    )
    if RARE.name not in laws:
        return limits
    R = RARE_DIMENSIONS[1]
    far = judge_probability(
        Law(far_probability(R, 1, 1), 1e-9) if edge < FAR_OUT else Law(Fraction(0)),
        0.0,
        0.5,
        what=f"lambda_2(H_N) >= {FAR_OUT:g} sigma s, rare entries, one spike of either sign",
        scope="the probability from below, by a large entry in each of three blocks",
        witness={"root_of_R": isqrt(R), "size": RARE_SIZE, "edge": edge, "positive": 1, "negative": 1},
    )
    return judge_parts((limits, far))
