"""The page of findings on FeDLRT, and the order of its results."""

from __future__ import annotations

from fractions import Fraction

from paper_checks.methods.worst_case.closed_form import needed_constant, worst_descent, worst_drift
from paper_checks.paper import Headline, Listing, Page

THEMES = (
    "sec_2",
    "alg_3",
    "alg_4",
    "client_drift",
    "fig_1",
    "sec_3",
    "fig_2",
    "alg_6",
    "alg_1",
    "alg_5",
    "lemma_1",
    "sec_3_1",
    "full_rank_distance",
    "simplified_correction",
    "lemma_3",
    "thm_1",
    "thm_2",
    "thm_3",
    "assumption_1",
    "thm_4",
    "thm_4_equations",
    "cor_1",
    "table_1",
    "sec_3_3",
    "fig_3",
    "sec_4_1",
    "fig_4",
    "sec_4_2",
    "fig_5_to_8",
    "thm_5",
    "step_restrictions",
    "lemma_2",
    "lemmas_4_to_7",
    "thm_7",
    "thm_8",
)


def constants_at(steps: int) -> tuple[str, ...]:
    """Return the printed and the least constants for some local steps, from the exact worst cases."""
    from paper_checks.fedlrt.measurements.traces import descent_constant

    asked, larger = Fraction(1, 12 * steps), Fraction(1, 2 * steps)
    least: tuple[Fraction, ...] = (
        worst_drift(steps - 1, Fraction(1, steps)),
        needed_constant(steps, asked),
        needed_constant(steps, larger),
        -1 / worst_descent(steps, asked),
        -1 / worst_descent(steps, asked / 2),
    )
    shown = [*map(float, least), descent_constant(steps, 0.1), descent_constant(steps, 1.0)]
    return (str(steps), *(f"{value:.3f}" for value in shown))


def constants() -> tuple[tuple[str, ...], ...]:
    """Return the printed and the least constants for few and many steps."""
    return tuple(constants_at(steps) for steps in (1, 2, 5, 10, 100))


CONSTANTS = Listing(
    "Printed and smallest possible constants",
    (
        "local steps $`s_*`$",
        "Theorem 1, printed $`e = 2.718`$: at $`\\lambda = 1/(Ls_*)`$",
        "Theorem 2, printed 12: at $`1/(12Ls_*)`$",
        "the same at $`1/(2Ls_*)`$",
        "Theorem 3, printed 48: at $`1/(12Ls_*)`$",
        "the same at $`1/(24Ls_*)`$",
        "Theorem 4 as corrected, printed 12: all small rates, $`\\delta = 1/10`$",
        "the same, $`\\delta = 1`$",
    ),
    constants,
)
STEP_SIZES = Listing(
    "Step sizes: what the paper requires, and what is needed",
    ("statement", "the paper requires", "what we found"),
    (
        ("drift, Theorem 1", "$`\\lambda \\le 1/(Ls_*)`$", "this is enough; the exact drift is known for every step"),
        (
            "descent before truncation, Theorems 2 and 8",
            "$`\\lambda \\le 1/(12Ls_*)`$",
            "constant $`1 - 1/(2s_*)`$ instead of 12 for all $`\\lambda \\le 1/(Ls_*)`$ (proved); rounds of many steps "
            "that ascend exist from $`s_*\\lambda L = 2.64`$ on: nine clients with losses $`w + \\frac h2w^2`$ of one "
            "number, $`h = 1`$ for seven and $`h = -1`$ for two, 4,000 steps from 0 (at 2.63 they descend)",
        ),
        (
            "descent with truncation, Theorem 2",
            "$`\\lambda \\le 1/(12Ls_*)`$",
            "the truncation term is not $`L\\vartheta`$, at any step",
        ),
        (
            "convergence, Theorem 3",
            "any $`\\lambda \\le 1/(12Ls_*)`$",
            "a lower bound on the rate is needed as well: the constant grows like $`1/(s_*\\lambda)`$; 48 is enough "
            "for $`s_*\\lambda L`$ from 0.0213 to 1/2",
        ),
        (
            "simplified correction, Theorem 4",
            "$`\\lambda \\le 1/(12Ls_*)`$",
            "$`\\lambda \\le 1/(Ls_*)`$ if the clients' gradients outside the block are at most the global one in root "
            "mean square at the start of the round (proved); Assumption 1 is not enough, however small $`\\delta`$ "
            "(witness at $`s_*\\lambda L = 1/16`$)",
        ),
        (
            "simplified correction, Corollary 1",
            "$`\\lambda \\le 1/(s_*(12L + \\delta^2))`$",
            "the limit adds quantities of different units; 96 is enough for $`s_*\\lambda L`$ from 1/94 to 1/2",
        ),
    ),
)

ANALYSIS = Page(
    "fedlrt-analysis",
    "What we found in FeDLRT's analysis",
    "The findings come first, the most consequential at the top. The entries follow: the main results, then the steps, "
    "then the details. Each of these parts follows the order of the paper (preprint of 27 June 2024).",
    THEMES,
    (
        Headline(
            "Before truncation, a round with the full correction lowers the loss by more than Theorem 8 states: its "
            r"constant 12 can be replaced by $1 - \frac1{2s_*}$, and learning rates up to $\frac1{Ls_*}$ are allowed.",
            ("fedlrt/thm-8", "fedlrt/thm-7"),
        ),
        Headline(
            r"A client drifts less than stated: by at most $(e - 1)s_*\lambda$ times the norm of the gradient. The "
            "paper has $e$ instead of $e - 1$.",
            ("fedlrt/thm-1",),
        ),
        Headline(
            "FedLin converges with constant learning rates, in the sense that gradients tend to 0, for losses that "
            "need not be convex.",
            ("fedlrt/claim-fedlin",),
        ),
        Headline(
            "The augmented coefficients are S in the upper left corner of a matrix of zeros, so only the new basis "
            "vectors have to be sent.",
            ("fedlrt/lemma-1", "fedlrt/eq-23"),
        ),
        Headline(
            "Small, large or nearly singular coefficients S do not impose an upper limit on the learning rate.",
            ("fedlrt/claim-robust",),
        ),
        Headline(
            "At a given rank, every cost of FeDLRT is linear in n, and no round forms the full matrix.",
            ("fedlrt/claim-linear-n", "fedlrt/claim-svd-size", "fedlrt/claim-no-full-matrix"),
        ),
        Headline(
            "With polynomials that are orthonormal with respect to the uniform distribution, FeDLRT finds the "
            "target's rank in the homogeneous test early, comes within 1e-5 of the minimiser, and is more than ten "
            "times as fast as FedLin on the points that we drew.",
            ("fedlrt/claim-hom-rank", "fedlrt/claim-hom-error", "fedlrt/claim-hom-10x", "fedlrt/fig-4"),
        ),
    ),
    (CONSTANTS, STEP_SIZES),
)
