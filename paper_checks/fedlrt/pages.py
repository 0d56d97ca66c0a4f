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
    "Printed constants, and the least ones",
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
    "Step sizes: what the paper asks, and what is needed",
    ("statement", "the paper asks", "what is found"),
    (
        ("drift, Theorem 1", "$`\\lambda \\le 1/(Ls_*)`$", "this is enough; the exact drift is known for every step"),
        (
            "descent before truncation, Theorems 2 and 8",
            "$`\\lambda \\le 1/(12Ls_*)`$",
            "constant $`1 - 1/(2s_*)`$ in place of 12 for all $`\\lambda \\le 1/(Ls_*)`$ (proved); rounds of many "
            "steps that ascend exist from $`s_*\\lambda L = 2.64`$ on: nine clients with losses $`w + \\frac h2w^2`$ "
            "of one number, $`h = 1`$ for seven and $`h = -1`$ for two, 4,000 steps from 0 (at 2.63 they descend)",
        ),
        (
            "descent with truncation, Theorem 2",
            "$`\\lambda \\le 1/(12Ls_*)`$",
            "the truncation term is not $`L\\vartheta`$, whatever the step",
        ),
        (
            "convergence, Theorem 3",
            "any $`\\lambda \\le 1/(12Ls_*)`$",
            "a lower bound on the rate is needed as well: the constant grows like $`1/(s_*\\lambda)`$; 48 serves from "
            "$`s_*\\lambda L`$ of 0.0213 to 1/2",
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
            "the limit adds quantities of different units; 96 serves from $`s_*\\lambda L`$ of 1/94 to 1/2",
        ),
    ),
)

ANALYSIS = Page(
    "fedlrt-analysis",
    "What we found in FeDLRT's analysis",
    "The paper (preprint of 27 June 2024) in its order: "
    "the methods and their boxes, bases and coefficients, the theorems on drift and descent "
    "with their proofs, the costs, the least squares problems, and the splitting of Appendix D.",
    THEMES,
    (
        Headline(
            r"Without truncation a round behaves as stated, and better, for all steps $\lambda$ up to $1/(Ls_*)$ (L "
            "the smoothness, $s_*$ the local steps). The drift of a client, stated as at most e times "
            r"$s_*\lambda$ times the gradient, is at most $e - 1$ times that: after s steps "
            r"$((1 + \lambda L)^s - 1)/L$ times the gradient. The loss falls by at least "
            r"$s_*\lambda(1 - ks_*\lambda L)$ times the squared gradient, stated with k = 12; it does with "
            r"$k = 1 - 1/(2s_*)$.",
            ("fedlrt/thm-1", "fedlrt/thm-7", "fedlrt/thm-8"),
        ),
        Headline(
            r"Truncating the weights to a lower rank with an error of at most $\vartheta$ is stated to raise the loss "
            r"by at most $L\vartheta$, L the smoothness. It is $\vartheta$ times the norm of the gradient, plus "
            r"$L\vartheta^2/2$; an instance with integers violates the printed bound.",
            ("fedlrt/thm-2", "fedlrt/thm-3", "fedlrt/eq-36"),
        ),
        Headline(
            "The simplified correction leaves out the part of clients' gradients that lies outside the block of "
            r"coefficients of the old basis, and Assumption 1, with its small constant $\delta$, does not bound that "
            "part: the loss can rise in a round that meets every assumption of Theorem 4. If that part is at most "
            r"$\delta$ times the global gradient, in root mean square over the clients at the start of the round, the "
            r"loss falls as stated, with $\frac12(1 + (1 - \frac1{s_*})\sqrt{1 + \delta^2})$ for the constant 12 and "
            r"no loss of $\delta^2$.",
            ("fedlrt/thm-4", "fedlrt/cor-1", "fedlrt/assumption-1", "fedlrt/cor-2-proof"),
        ),
        Headline(
            r"Assumption 1 is said to hold when FeDLRT has found the rank or approaches a stationary point. In the "
            r"homogeneous test its $\delta$ can be a few hundredths when the rank is found, and grows to "
            r"0.6 to 1.1 on the way to the solution, where the bases still turn.",
            ("fedlrt/claim-assumption-when",),
        ),
        Headline(
            "The simplified correction is called sufficient; it is where clients' gradients at the solution lie in "
            "the block of coefficients that it corrects. On toy problems where they do not, it can stall away from "
            "the solution.",
            ("fedlrt/claim-simplified-sufficient",),
        ),
        Headline(
            "Theorem 3 is read as convergence to a stationary point of the loss; what vanishes in the limit is the "
            "gradient projected to the tangent space of the matrices of low rank. On a loss whose solution has rank "
            "two, a run that starts at rank one can stop at another point.",
            ("fedlrt/claim-thm3-text",),
        ),
        Headline(
            r"The new rank $r_1$ is printed as one for which the singular values from $\sigma_{r_1}$ on, "
            r"$\sigma_{r_1}$ included, are below the threshold in norm: this can keep a singular value that is zero, "
            r"or find no rank at all. With the values from $\sigma_{r_1+1}$ on, those that are cut off, it is the "
            "least rank within the threshold.",
            ("fedlrt/claim-trunc", "fedlrt/claim-factors"),
        ),
        Headline(
            "The heterogeneous test is to show that methods without correction stall. With all points at every "
            "client, as it is described, all clients' losses have one curvature, so that with full gradients FedAvg "
            "equals FedLin and FeDLRT with a correction equals FeDLRT without one, and none stalls for lack of it; "
            "with the points divided, FedAvg does (steps on minibatches are not covered).",
            ("fedlrt/claim-het-plateau", "fedlrt/fig-1"),
        ),
        Headline(
            "What is said of the homogeneous test (step, rank, error, speed) depends on how the Legendre polynomials "
            "are normalised, which is not given: with the value 1 at the end point the step is admitted for all C = "
            "1 to 32 clients, but runs from starts of size 0.01 lose the rank for good on most draws; with orthonormal "
            "ones rank and minimiser are found, and the step is admitted for few clients. Whether all of it is true of "
            "one setting is open here: it is of one run from a start of size 0.1, of 781,269 rounds, which is too long "
            "for a check.",
            (
                "fedlrt/claim-hom-jointly",
                "fedlrt/claim-hom-stepsize",
                "fedlrt/claim-hom-rank",
                "fedlrt/claim-hom-error",
                "fedlrt/claim-hom-10x",
                "fedlrt/fig-4",
            ),
        ),
        Headline(
            "More clients do not make the homogeneous test converge faster: 32 need as many rounds as one with the "
            "full correction and 1.3 to 3.1 % more with the simplified one.",
            ("fedlrt/claim-hom-clients",),
        ),
        Headline(
            "Table 1 gives the costs of training an n x n matrix of rank r; its orders are right, its counts are "
            "not: a round of FeDLRT sends $6nr + 5r^2$ numbers without correction, $6nr + 7r^2$ with the simplified "
            "and $6nr + 13r^2$ with the full one, where $6nr + 6r^2$, $6nr + 8r^2$ and $6nr + 10r^2$ are printed. "
            "Figure 3 puts the rank from which low rank no longer pays at 40 % of full rank; by the printed entries "
            "that is so of communication with the full correction (compute 18 %, memory 31 %), by the counts of "
            "compute and memory with the simplified one (39 to 40 %).",
            ("fedlrt/table-1", "fedlrt/fig-3"),
        ),
        Headline(
            "In the listing of FedLin (Algorithm 4, line 9) the correction stands outside the bracket with the "
            "gradient, so that stationary points move. Algorithm 6 averages coefficients of clients that belong to "
            "different bases.",
            ("fedlrt/alg-4", "fedlrt/alg-6"),
        ),
        Headline(
            "FeDLRT is said to stay close to the method on full matrices if gradients are close to low rank, which "
            "is not enough. It does if they are close to the span of the method's bases, with a bound.",
            ("fedlrt/claim-close-to-full", "fedlrt/thm-5"),
        ),
    ),
    (CONSTANTS, STEP_SIZES),
)
