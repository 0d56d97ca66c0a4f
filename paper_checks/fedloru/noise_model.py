"""Section 3.1, eq. (1), v1 eqs. (3) and (4): how the noises of two samples are coupled, and which laws they have."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import combinations
from math import isfinite

import numpy as np
import sympy

from paper_checks.claim import Evidence, Form, claim
from paper_checks.context import Context
from paper_checks.fedloru.setup import SIZES, draw_laws, samples
from paper_checks.methods.identity import Equation, Point, judge_identity, rational
from paper_checks.methods.inequality import judge_inequality
from rmt.closed_laws import MarchenkoPastur, Semicircle
from rmt.laws import Law

ENTRIES = tuple(sympy.symbols(f"{name}1:4") for name in ("h", "g"))  # two entries of the Hessian of each data point


@dataclass(frozen=True)
class Covariances:
    """Exact covariances of the Hessians of two samples of N and M points, as polynomials in the law of one point.

    Attributes:
        one: covariance of the two entries for one data point.
        big: of entries of H_N.
        small: of entries of H_M.
        nested: of an entry of H_M with one of H_N, for M points drawn from the N without replacement.
        disjoint: the same for independent samples.
    """

    one: sympy.Expr
    big: sympy.Expr
    small: sympy.Expr
    nested: sympy.Expr
    disjoint: sympy.Expr


def _covariance(weighted: Iterable[tuple[sympy.Expr, sympy.Expr, sympy.Expr]]) -> sympy.Expr:
    """Covariance of two random variables from all their values with probabilities."""
    terms = list(weighted)
    first, second, both = (
        sum((p * value for p, value in values), start=sympy.Integer(0))
        for values in ([(p, a) for p, a, _ in terms], [(p, b) for p, _, b in terms], [(p, a * b) for p, a, b in terms])
    )
    return sympy.expand(both - first * second)


def measure_covariances(context: Context) -> tuple[dict[tuple[int, int], Covariances], list[Point]]:
    """Every sample of N points and every subset of M, with symbolic entries and probabilities."""
    h, g = ENTRIES

    def mean(values: tuple[sympy.Symbol, ...], sample: tuple[int, ...]) -> sympy.Expr:
        return sum(values[a] for a in sample) / len(sample)

    def alone(size: int) -> sympy.Expr:
        return _covariance((p, mean(h, sample), mean(g, sample)) for sample, p in samples(size))

    found = {}
    for N, M in SIZES:
        subsets = [(p, sample, list(combinations(sample, M))) for sample, p in samples(N)]
        nested = ((p / len(parts), mean(h, part), mean(g, sample)) for p, sample, parts in subsets for part in parts)
        disjoint = ((p, mean(h, sample[:M]), mean(g, sample[M:])) for sample, p in samples(N + M))
        found[N, M] = Covariances(alone(1), alone(N), alone(M), _covariance(nested), _covariance(disjoint))
    return found, draw_laws(context, {*h, *g})


@claim(
    "fedloru-v2/eq-1",
    where="Section 3.1, eq. (1), and Appendix A, problem setup",
    says=r"Server and client Hessians, on $D_N$ and on $D_M \subseteq D_N$ drawn without replacement, are two "
    r"decoupled additive perturbed models $H_N = H_{\mathrm{true}} + \epsilon_N$, $H_M = H_{\mathrm{true}} + "
    r"\epsilon_M$, with noise of mean 0 scaled by the sample size; decoupled is read as "
    r"$\mathrm{Cov}(\epsilon_M, \epsilon_N) = 0$.",
    measure=measure_covariances,
    control=Form("The statement for data sets that share no sample.", {"nested": False}),
    correction=Form(
        r"By themselves the noises have mean 0 and covariances $V/N$ and $V/M$, with $V$ that of the Hessian of one "
        r"data point. Jointly the shared samples couple them: $\mathrm{Cov}(\epsilon_M, \epsilon_N) = V/N$, entry by "
        r"entry a correlation of $\sqrt{M/N}$, neither 0 nor that of one $X$ at two scales. In $H_M = H_N + "
        r"(\epsilon_M - \epsilon_N)$ the last term is uncorrelated with $H_N$ and has covariance "
        r"$V(\frac1M - \frac1N)$.",
        {"coupling": 1.0},
        mutants=({"coupling": 0.99}, {"coupling": 0.0}, {"shared": True}, {"nested": False}),
    ),
    vary=("coupling",),
    uses=("fedloru-v2/def-risk",),
    expect="corrected",
    method="identity",
)
def eq_1(data: tuple[dict[tuple[int, int], Covariances], list[Point]], coupling: float = 0.0, nested: bool = True,
         shared: bool = False) -> Evidence:  # fmt: skip
    """Covariances within and between the two models; ``shared`` gives both one and the same matrix X."""
    found, points = data
    scope = (
        f"any law of two Hessian entries on three data points, (N, M) = {', '.join(map(str, found))}, all samples and "
        "subsets; the law of the entries within X is a modelling assumption and not judged"
    )
    evidence = None
    for (N, M), at in found.items():
        between = at.nested if nested else at.disjoint
        form = at.one / sympy.sqrt(N * M) if shared else rational(coupling) * at.one / N
        lines = [
            Equation("Cov(epsilon_N) = V/N", at.big, at.one / N),
            Equation("Cov(epsilon_M) = V/M", at.small, at.one / M),
            Equation("Cov(epsilon_M, epsilon_N)", between, form),
        ]
        evidence = judge_identity(lines, points, scope)
        if not evidence.ok:
            return replace(evidence, witness={**(evidence.witness or {}), "N": N, "M": M})
    assert evidence is not None
    return evidence


RATIOS = (0.25, 0.01, 0.99, 1.0, 4.0)  # dimensions over samples of a Wishart matrix


def named_laws(context: Context) -> dict[str, Law]:
    """Limiting laws of the ensembles that the text names, in their usual normalisation; the first two share theirs."""
    wishart = {f"Wishart of ratio {ratio:g}": MarchenkoPastur(ratio) for ratio in RATIOS}
    return {"Wigner": Semicircle(1.0), "Gaussian orthogonal": Semicircle(2.0**0.5), **wishart}


def _conditions(law: Law) -> dict[str, float]:
    """How far a law is from each assumption; 0 where it meets it."""
    lower, upper = law.support
    return {
        "limiting law": abs(law.moment(0) - 1.0),
        "compact support": 0.0 if isfinite(lower) and isfinite(upper) else 1.0,
        "mean 0": abs(law.free_cumulants(1)[0]),
        "no atom": sum(mass for _, mass in law.atoms),
        "bounded density": 0.0 if isfinite(law.pdf(lower)) and isfinite(law.pdf(upper)) else 1.0,
    }


@claim(
    "fedloru-v1/eq-3-4",
    where="v1 Section 3.1, eqs. (3) and (4); iclr Section 3.1, eq. (1)",
    says=r"$H_N = H_{\mathrm{true}} + s(N)X^R$, where $X^R$ has a limiting spectral law $\mu$ with compact support and "
    r"a smooth density; Wigner, Wishart and Gaussian ensembles are named as examples, and no mean is fixed. Read with "
    r"the definition of $H_N$, by which $E H_N = H_{\mathrm{true}}$ and so $E\,\mathrm{tr}X^R = 0$.",
    measure=named_laws,
    control=Form(
        "Each named ensemble has a limiting spectral law, and its support is compact.",
        {"conditions": ("limiting law", "compact support")},
    ),
    correction=Form(
        r"The examples qualify once centred, $X - EX$, so that $\mu$ has mean 0, and the Wishart matrix with fewer "
        r"dimensions than samples: otherwise $\mu$ has an atom at 0, or at equality an unbounded density there.",
        {"centring": 1.0, "largest_ratio": 0.99},
        mutants=(
            {"centring": 0.0},
            {"centring": 0.99},
            {"largest_ratio": 1.0},
            {"largest_ratio": 4.0, "conditions": ("limiting law", "no atom")},
        ),
    ),
    vary=("centring", "largest_ratio"),
    uses=("fedloru-v2/def-risk",),
    also=("fedloru-iclr/eq-1",),
    expect="corrected",
    method="inequality",
)
def eq_3_4(laws: dict[str, Law], centring: float = 0.0, largest_ratio: float = max(RATIOS),
           conditions: tuple[str, ...] = ("limiting law", "compact support", "mean 0", "no atom", "bounded density"),
           ) -> Evidence:  # fmt: skip
    """The assumptions on the noise, for each named ensemble up to a ratio of dimensions to samples."""
    kept = {name: law for name, law in laws.items()
            if not isinstance(law, MarchenkoPastur) or law.ratio <= largest_ratio}  # fmt: skip
    rows = []
    for name, law in kept.items():
        numbers = {"ensemble": name.split()[0], "ratio": law.ratio if isinstance(law, MarchenkoPastur) else 0.0}
        met = _conditions(law.shifted(-centring * law.free_cumulants(1)[0]))
        rows += [({**numbers, "condition": condition}, met[condition]) for condition in conditions]
    left = np.array([distance for _, distance in rows])
    return judge_inequality(
        left, np.zeros(len(left)), 1e-9, case=lambda index: rows[index][0], compare=False,
        scope=f"{', '.join(kept)} (dimensions per sample); smoothness is meant inside the support, since already the "
        "semicircle ends in square roots",
        printed=f"each ensemble meets: {', '.join(conditions)}",
    )  # fmt: skip
