"""The setting of the homogeneous test of Section 4.1 and its step size, in the normalisations left open.

The paper leaves open the normalisation of the polynomials, the distribution of the target, and rank and size of the
start: unless stated otherwise, normal factors, and a normal start of size 0.01 cut to rank 8. Normal factors whose
last singular value is small are drawn again, see ``WEAKEST``.
"""

from __future__ import annotations

from paper_checks.claim import Reading
from paper_checks.context import Context
from paper_checks.fedlrt.measurements.legendre_runs import HOMOGENEOUS, WEAKEST

RATE, STEPS, RANK = HOMOGENEOUS.rate(), HOMOGENEOUS.steps, 4

SETTING = (
    "n = 20, target AB/sqrt(20) of rank 4 with normal factors, drawn again until its last singular value is above "
    f"{WEAKEST} of its norm, 10,000 points dealt evenly, s = 20, rate 1e-3, initial weights with normal entries times "
    "0.01/sqrt(20) (or another size if one is named), truncated to rank 8, tail after the last kept value below tau = "
    "0.1 of the norm"
)

NORMALISED = {
    "plain": (
        "value 1 at 1",
        "polynomials that equal 1 at x = 1",
        "The text does not give the normalisation; by default, Legendre polynomials equal 1 at x = 1.",
    ),
    "dx": (
        "orthonormal for dx",
        "polynomials orthonormal with respect to dx",
        "The text does not give the normalisation; a basis of polynomials on [-1, 1] is often orthonormal with respect "
        "to dx.",
    ),
    "uniform": (
        "orthonormal for the uniform law",
        "polynomials orthonormal with respect to the uniform distribution",
        "The text does not give the normalisation; the points are uniform, and these polynomials are orthonormal with "
        "respect to their distribution.",
    ),
}
"""Name of the reading, what it says, and why, by basis."""

BELOW_RANK = {"starts": 20, "rounds": 20}
"""Starts of size 0.01 whose median rank is below the target's after these rounds with polynomials of value 1 at 1."""

COMMAND = "benchmarks/ranges_over_points.py"
"""Program that computes the ranges over many draws that the cards print."""


def name_reading(run: str) -> str:
    """Name a run, or a basis, by its reading: "plain, size 1" is "value 1 at 1, size 1"."""
    basis, *rest = run.split(", ")
    return ", ".join((NORMALISED[basis][0] if basis in NORMALISED else basis, *rest))


def run_conditions(size: str, one: str = "target, points and start") -> str:
    """Return the conditions of a statement on a run besides the normalisation: law and scale of the target, start."""
    return (
        r", $W_r = AB/\sqrt{20}$ with standard normal $A \in \mathbb R^{20 \times 4}$, "
        rf"$B \in \mathbb R^{{4 \times 20}}$, if $\sigma_4(W_r) > {WEAKEST}\|W_r\|$, as for 99.5 % of such targets, "
        rf"and normal initial weights of standard deviation ${size}/\sqrt{{20}}$, truncated to rank 8, on one draw of "
        f"{one} as an example"
    )


def normalisation_readings(
    statement: str, *bases: str, run: bool = True, one: str = "target, points and start", why: str = ""
) -> tuple[Reading, ...]:
    """Return a statement with each normalisation, for a run also with its target and start; the first is the default.

    The parts in ``one`` are drawn once; ``why`` says what else is read into the text. The start has size 0.01,
    unless the basis names another ("uniform, size 1").
    """
    found = []
    for place, basis in enumerate(bases):
        normalisation, _, size = basis.partition(", size ")
        name, says, reason = NORMALISED[normalisation]
        start, left = (
            (run_conditions(size or "0.01", one), " The distribution of $W_r$ and the start are not given either.")
            if run
            else ("", "")
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


NOT_FOLLOWED = (
    "with value 1 at 1 starts of size 0.1 and 1, whose runs take hundreds of thousands of rounds, are not judged; with "
    "dx no start of size 1 is looked at"
)
"""Parts that the runs to the end leave out."""


def stream_of_one_target(context: Context) -> int:
    """Return one seed for the claims on one run, so it is made once."""
    return Context("fedlrt/exp-homogeneous", context.seed).integer_seed()
