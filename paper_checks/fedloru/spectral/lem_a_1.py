"""Lemma A.1: transforms of free sums."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import sympy
from numpy.typing import NDArray

from paper_checks.claim import LITERAL, Best, Evidence, Form, Intended, Reading, claim
from paper_checks.context import Context
from paper_checks.methods.domain import FROM_ONE, POSITIVE, tried
from paper_checks.methods.identity import rational
from paper_checks.methods.inequality import judge_inequality
from rmt.closed_laws import AtomicLaw, MarchenkoPastur, PointMass, Semicircle
from rmt.general_laws import DensityLaw

Complex = NDArray[np.complex128]

Transform = Callable[[Complex], Complex]


@dataclass(frozen=True)
class Converging:
    r"""Laws $\mu_n \to \mu$ with known distance; $|1/(z-x)|$ has range $1/v$ and Lipschitz constant $1/v^2$, v = Im z.

    Attributes:
        name: what converges to what.
        at: the Stieltjes transform of the n-th law.
        limit: the transform of the limit.
        distance: distance of the n-th law from the limit; tends to 0.
        power: 2 for the distance $W_1$, 1 for total variation.
        elsewhere: mass outside the part that has this distance, for any law; tends to 0.
    """

    name: str
    at: Callable[[int], Transform]
    limit: Transform
    distance: Callable[[int], float]
    power: int
    elsewhere: Callable[[int], float] = lambda n: 0.0

    def bound(self, n: int, v: NDArray[np.float64]) -> NDArray[np.float64]:
        """Bound on the difference of the transforms at a height v; it tends to 0."""
        return np.asarray(self.distance(n) / v**self.power + self.elsewhere(n) / v)


@dataclass(frozen=True)
class Approaches:
    """Each sequence at growing n: its transforms at the points z, the limit, and the distances."""

    z: Complex
    rungs: tuple[tuple[Converging, int, Complex], ...]


def _cauchy(scale: float) -> Transform:
    """Return the Stieltjes transform of the Cauchy law, which has no moments, in the upper half plane."""
    return lambda z: 1.0 / (z + 1j * scale)


GRID = 2000  # finest grid


def _grid(n: int) -> AtomicLaw:
    """Return equal atoms at the middles of n cells of [0, 1], at W_1 = 1/(4n) from the uniform law."""
    return AtomicLaw([(k + 0.5) / n for k in range(n)], [1.0 / n] * n)


def converging_laws() -> tuple[Converging, ...]:
    """Return moving, merging, escaping, reweighted atoms, grids, densities of moving shape, a law with no moments."""
    uniform = DensityLaw(lambda x: 1.0, (0.0, 1.0), "uniform")
    mean = MarchenkoPastur(0.5).mean
    return (
        Converging(
            "moving atom", lambda n: PointMass(1.0 / n).stieltjes, PointMass(0.0).stieltjes, lambda n: 1.0 / n, 2
        ),
        Converging(
            "alternating atom",
            lambda n: PointMass((-1.0) ** n / n).stieltjes,
            PointMass(0.0).stieltjes,
            lambda n: 1.0 / n,
            2,
        ),
        Converging(
            "merging atoms",
            lambda n: AtomicLaw((-1.0 / n, 1.0 / n), (0.5, 0.5)).stieltjes,
            PointMass(0.0).stieltjes,
            lambda n: 1.0 / n,
            2,
        ),
        Converging(
            "atom of mass 1/n at n^2",
            lambda n: AtomicLaw((0.3, n**2 + 1.0), (1.0 - 1.0 / (n + 1), 1.0 / (n + 1))).stieltjes,
            PointMass(0.3).stieltjes,
            lambda n: 1.0 / (n + 1),
            1,
        ),
        Converging(
            "weights of two atoms",
            lambda n: AtomicLaw((-1.0, 2.0), (0.5 + 0.4 / n, 0.5 - 0.4 / n)).stieltjes,
            AtomicLaw((-1.0, 2.0), (0.5, 0.5)).stieltjes,
            lambda n: 0.4 / n,
            1,
        ),
        Converging(
            "grids to the uniform law",
            lambda n: _grid(min(n, GRID)).stieltjes,
            uniform.stieltjes,
            lambda n: 0.25 / min(n, GRID),
            2,
        ),
        Converging(
            "grids to the uniform law with an atom of mass 1/n at n^2",
            lambda n: (
                lambda z: (1 - 1 / n) * _grid(min(n, GRID)).stieltjes(z) + PointMass(float(n) ** 2).stieltjes(z) / n
            ),
            uniform.stieltjes,
            lambda n: (1 - 1 / n) * 0.25 / min(n, GRID),
            2,
            lambda n: 1 / n,
        ),
        Converging(
            "semicircles",
            lambda n: Semicircle(1.0 + 1.0 / n, -1.0 / n).stieltjes,
            Semicircle(1.0).stieltjes,
            lambda n: 2.0 / n,
            2,
        ),
        Converging(
            "Marchenko-Pastur laws",
            lambda n: MarchenkoPastur(0.5, 1.0 + 1.0 / n).stieltjes,
            MarchenkoPastur(0.5).stieltjes,
            lambda n: mean / n,
            2,
        ),
        Converging(
            "Cauchy laws",
            lambda n: _cauchy(1.0 + 1.0 / n),
            _cauchy(1.0),
            lambda n: 2.0 / np.pi * np.arctan(0.5 * ((1 + 1 / n) ** 0.5 - (1 + 1 / n) ** -0.5)),
            1,
        ),
    )


def measure_approaches(context: Context) -> Approaches:
    """Measure at points with imaginary parts over twelve decades, above the atoms, inside and outside the supports."""
    rng = context.rng("points")
    real = [0.0, 0.3, 1.0, -1.0, 2.0, *rng.uniform(-4.0, 4.0, context.size(6, 40)), 1e3]
    heights = [1e-6, 1e-3, 0.1, 1.0, 1e3, 1e6, *10.0 ** rng.uniform(-4, 2, context.size(2, 20))]
    # Where |z|/v is larger, the rounding of z - x decides, and not the laws.
    z = np.array([u + 1j * v for u in real for v in heights if abs(u) <= 1e7 * v])
    rungs = [(laws, n, laws.at(n)(z)) for laws in converging_laws() for n in (1, 11, 1000, 1_000_001)]
    return Approaches(z, tuple(rungs))


@claim(
    "fedloru-v2/lem-A.1a",
    where="Appendix A.1, Lemma A.1 a)",
    says=r"""Let $\mu_n$ be probability measures on $\mathbb{R}$ with the Stieltjes transforms $g_{\mu_n}$: if $\mu_n
    \to \mu$ weakly, where $\mu$ is a measure on $\mathbb{R}$, then $g_{\mu_n}(z) \to g_\mu(z)$ pointwise for any $z = u
    + iv$, $v > 0$.""",
    measure=measure_approaches,
    mutants=[{"mass": 0.99}, {"shift": 0.01}, {"constant": 0.9}, {"uniform": True}],
    expect=("holds", "proof"),
)
def lem_A_1a(
    data: Approaches, mass: float = 1.0, shift: float = 0.0, constant: float = 1.0, uniform: bool = False
) -> Evidence:
    """The distance of the transforms against the laws' distance, which tends to 0; ``uniform`` takes |z| for v."""
    left, right, error, places = [], [], [], []
    limits: dict[str, Complex] = {}
    height = data.z.imag
    for laws, n, values in data.rungs:
        if laws.name not in limits:
            limits[laws.name] = mass * laws.limit(data.z - shift)
        left.append(np.abs(values - limits[laws.name]))
        right.append(constant * laws.bound(n, np.abs(data.z) if uniform else height))
        # Rounding of z - x, relative to z - x, plus the closed forms'; 1e-10 is the accuracy of the uniform law.
        rounding = 64 * np.finfo(float).eps * (2.0 + np.abs(data.z) / height) / height
        error.append(rounding + (1e-10 * np.abs(limits[laws.name]) if "uniform" in laws.name else 0.0))
        places += [{"laws": laws.name, "n": n, "u": float(z.real), "v": float(z.imag)} for z in data.z]
    return judge_inequality(
        np.concatenate(left),
        np.concatenate(right),
        np.concatenate(error),
        case=places,
        size=np.tile(1.0 / height, len(data.rungs)),  # no transform is larger
        scope=f"{len(limits)} sequences up to n = {data.rungs[-1][1]}, {len(data.z)} points with v from "
        f"{height.min():g} to {height.max():g}, |z|/v up to 10^7; these converge in W_1, in total variation, or in W_1 "
        "but for a mass that tends to 0; that weak convergence is enough in every other case is the certificate's",
        domain=tried(
            ("v", np.tile(height, len(data.rungs)), POSITIVE),
            ("n", np.repeat([n for _, n, _ in data.rungs], len(height)), FROM_ONE),
        ),
        printed="|g_n(z) - g(z)| <= a bound that tends to 0: W_1/v^2, TV/v (TV at most 1), or both for parts of mu_n",
    )


N, X, Z = sympy.symbols("n x z")

# Bounded continuous test functions; the last three vanish at infinity.
TESTS = {
    "1": sympy.Integer(1),
    "x^2/(1+x^2)": X**2 / (1 + X**2),
    "1/(1+x^2)": 1 / (1 + X**2),
    "x/(1+x^2)": X / (1 + X**2),
    "1/(1+(x-1)^2)": 1 / (1 + (X - 1) ** 2),
}

VANISHING = ("1/(1+x^2)", "x/(1+x^2)", "1/(1+(x-1)^2)")


def limit_in_n(expression: sympy.Expr) -> sympy.Expr:
    """Return the limit of a rational function as n grows, by leading coefficients; infinite for a positive degree."""
    above, below = (sympy.Poly(part, N) for part in sympy.fraction(sympy.together(expression)))
    if above.degree() > below.degree():
        return sympy.oo
    return sympy.cancel(above.LC() / below.LC()) if above.degree() == below.degree() else sympy.Integer(0)


@dataclass(frozen=True)
class Escaping:
    """A sequence of atomic laws with, exactly, the limits of its transform and of the integrals of the tests.

    Attributes:
        atoms: "mass location" of each atom.
        poles: location and residue of the limit of the transform: the measure it belongs to.
        integrals: limit of the integral of each test function.
    """

    atoms: tuple[str, ...]
    poles: tuple[tuple[sympy.Expr, sympy.Expr], ...]
    integrals: dict[str, sympy.Expr]

    @classmethod
    def of(cls, atoms: tuple[str, ...]) -> Escaping:
        """Take all limits."""
        pairs = [tuple(sympy.sympify(part, locals={"n": N}) for part in atom.split()) for atom in atoms]
        transform = limit_in_n(sum((mass / (Z - at) for mass, at in pairs), sympy.Integer(0)))
        roots = sympy.roots(sympy.Poly(sympy.fraction(sympy.together(transform))[1], Z))
        poles = tuple((root, sympy.cancel((Z - root) * transform).subs(Z, root)) for root in roots)
        integrals = {
            name: limit_in_n(sum((mass * test.subs(X, at) for mass, at in pairs), sympy.Integer(0)))
            for name, test in TESTS.items()
        }
        return cls(atoms, poles, integrals)


# Masses and locations as functions of n: no mass, half of it, all but a thousandth and all of it stay in place.
SEQUENCES = (
    ("1/2 0", "1/2 n"),
    ("1 n",),
    ("1 1+1/n",),
    ("1-1/n 0", "1/n n"),
    ("1-1/n 2", "1/n -n**2"),
    ("1/2 -1+1/n", "1/2 2-1/n**2"),
    ("1/3 -n", "1/3 1", "1/3 n**2"),
    ("1/2 -n", "1/2 n"),
    ("1/n -1", "1-1/n n"),
    ("999/1000 1/2", "1/1000 -n"),
)


def measure_escaping(context: Context) -> list[Escaping]:
    """Return the sequences as they are and, of the first ones, shifted by a drawn fraction."""
    found = [Escaping.of(atoms) for atoms in SEQUENCES]
    rng = context.rng("shifts")
    for atoms in SEQUENCES[: context.size(2, 6)]:
        shift = Fraction(int(rng.integers(1, 60)), int(rng.integers(2, 60)))
        found.append(Escaping.of(tuple(f"{atom}+{shift}" for atom in atoms)))
    return found


@claim(
    "fedloru-v2/lem-A.1b",
    where="Appendix A.1, Lemma A.1 b)",
    says=r"""For probability measures $\mu_n$: if $g_{\mu_n}(z) \to g(z)$ for all $z = u + iv$, $v > 0$, then there is a
    unique non-negative and finite measure $\mu$ such that $g = g_\mu$ and $\mu_n \to \mu$ weakly.""",
    measure=measure_escaping,
    readings=(
        LITERAL,
        Reading(
            "vaguely",
            r"For probability measures $\mu_n$: if $g_{\mu_n}(z) \to g(z)$ for all $z = u + iv$, $v > 0$, then there "
            r"is a unique non-negative and finite measure $\mu$ with $g = g_\mu$, and $\int f\,d\mu_n \to \int "
            r"f\,d\mu$ for all continuous f that vanish at infinity.",
            {"least_mass": 2.0},
            r"The lemma calls $\mu$ finite and not a probability measure, as limits are that may lose mass.",
            ({"sign": -1}, {"normalised": True}),
        ),
    ),
    correction=Form(
        r"""$\mu$ exists, is unique and $\mu_n \to \mu$ vaguely (test functions that vanish at infinity); weakly
        (bounded continuous test functions) if and only if $\mu(\mathbb{R}) = 1$. Mass can escape to infinity: for
        $\mu_n = \frac12(\delta_0+\delta_n)$, $g_{\mu_n}(z) \to g_\mu(z)$ with $\mu = \frac12\delta_0$. In the paper the
        limits have mass 1, so its use of the lemma is not affected.""",
        {"least_mass": 1.0, "converse": True},
        mutants=({"least_mass": 0.5}, {"least_mass": 1.5}, {"normalised": True}, {"sign": -1}),
        asks="neither",
    ),
    uses=("fedloru-v2/lem-A.1a",),
    because=r"Mass can escape to infinity: for $\frac12(\delta_0 + \delta_n)$ the transforms converge to the transform "
    r"of $\frac12\delta_0$.",
    best={"least_mass": Best(1.0, "proved: convergence is weak from mass 1 on, and for no smaller mass")},
    expect=("corrected", "proof"),
    intended=Intended(
        "literal",
        "“a unique non-negative and finite measure … and μ_n → μ weakly” (A.1 b): mass can "
        "escape; in use the limit has mass 1",
    ),
)
def lem_A_1b(
    sequences: Sequence[Escaping],
    least_mass: float = 0.0,
    converse: bool = False,
    normalised: bool = False,
    sign: int = 1,
) -> Evidence:
    """Weak convergence where the limit has at least ``least_mass`` (and there only, if ``converse``), else vague."""
    scope = f"{len(sequences)} sequences of atomic laws, {len(TESTS)} test functions, all limits exact"
    for sequence in sequences:
        total = sum((residue for _, residue in sequence.poles), sympy.Integer(0))
        factor = sign / total if normalised and total else sympy.Integer(sign)
        weak = bool(total >= rational(least_mass))
        differences = {}
        for name in TESTS:
            integral = sum((factor * mass * TESTS[name].subs(X, at) for at, mass in sequence.poles), sympy.Integer(0))
            differences[name] = sequence.integrals[name] - integral
        claimed = list(TESTS if weak else VANISHING)
        wrong = [name for name in claimed if differences[name] != 0]
        if converse and not weak and not any(differences.values()):
            wrong = ["all tests: weak convergence nevertheless"]
        if wrong:
            return Evidence(
                False,
                scope,
                f"integrals of {wrong[0]} converge to that against mu",
                f"limit mass {total}",
                margin=-float(len(wrong)),
                cases=len(sequences),
                witness={"atoms": list(sequence.atoms), "test": wrong[0]},
            )
    obtained = f"every difference of a limit and its integral is 0, limit masses 0 to 1; weak from mass {least_mass:g}"
    return Evidence(
        True,
        scope,
        "limits of integrals are integrals against mu",
        obtained,
        margin=float(len(sequences)),
        cases=len(sequences),
    )
