"""The page that tells what was found in FeDLRT, and the order of its themes."""

from __future__ import annotations

from fractions import Fraction

from paper_checks.methods.worst_case.closed_form import constant_needed, worst_descent, worst_drift
from paper_checks.paper import Headline, Listing, Page

THEMES = (
    *("federated_methods", "client_drift", "bases", "coefficients", "boxes", "aggregation", "full_rank_distance"),
    *(
        "truncated_rounds",
        "convergence",
        "simplified",
        "simplified_runs",
        "costs",
        "table_of_costs",
        "equal_costs",
        "homogeneous_setting",
        "least_squares",
        "homogeneous_jointly",
        "heterogeneous_setting",
        "different_targets",
        "vision_settings",
        "vision_experiments",
    ),
    *("baseline_boxes", "splitting", "step_restrictions", "splitting_steps"),
    *("worst_cases", "descent_steps", "truncation_steps", "simplified_steps", "simplified_bounds"),
)


def constants_at(steps: int) -> tuple[str, ...]:
    """Printed constants beside the least ones for some local steps, from the exact worst cases."""
    from paper_checks.fedlrt.traces import descent_constant  # brings torch, which few commands need

    asked, larger = Fraction(1, 12 * steps), Fraction(1, 2 * steps)
    least: tuple[Fraction, ...] = (
        worst_drift(steps - 1, Fraction(1, steps)),
        constant_needed(steps, asked),
        constant_needed(steps, larger),
        -1 / worst_descent(steps, asked),
        -1 / worst_descent(steps, asked / 2),
    )
    shown = [*map(float, least), descent_constant(steps, 0.1), descent_constant(steps, 1.0)]
    return (str(steps), *(f"{value:.3f}" for value in shown))


def constants() -> tuple[tuple[str, ...], ...]:
    """The same for few and many steps."""
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
            "steps that ascend exist from $`s_*\\lambda L = 2.64`$ on (nine quadratic clients, two of them concave)",
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
            r"The drift and descent of a round without truncation are as stated, with room to spare: the worst drift "
            r"after s steps is $((1 + \lambda L)^s - 1)/L$ times the gradient, so that $e - 1$ serves for $e$, and "
            r"$1 - \frac1{2s_*}$ serves for the constant 12 of the descent, for all $s_*\lambda L \le 1$.",
            ("fedlrt/thm-1", "fedlrt/thm-7", "fedlrt/thm-8"),
        ),
        Headline(
            r"The price of truncation is not $L\vartheta$: it is $\vartheta\|\nabla L\| + L\vartheta^2/2$, and an "
            "instance with integers violates the printed bound.",
            ("fedlrt/thm-2", "fedlrt/thm-3", "fedlrt/eq-36"),
        ),
        Headline(
            r"Assumption 1 does not bound what the simplified correction leaves out: the loss can rise in a round that "
            r"meets every assumption of Theorem 4, however small $\delta$ is. With the clients' gradients outside the "
            r"block at most $\delta\|\nabla L\|$ in root mean square at the start of the round, the descent holds with "
            r"$\frac12(1 + (1 - \frac1{s_*})\sqrt{1 + \delta^2})$ in place of 12 and without loss of $\delta^2$.",
            ("fedlrt/thm-4", "fedlrt/cor-1", "fedlrt/assumption-1", "fedlrt/cor-2-proof"),
        ),
        Headline(
            "The simplified correction is sufficient where the clients' gradients at the solution lie in the block; on "
            "toy problems where they do not, it can stall away from the solution.",
            ("fedlrt/claim-simplified-sufficient",),
        ),
        Headline(
            r"What vanishes in the limit is the gradient projected to the tangent space, not the gradient: on a loss "
            r"whose solution has rank two, a run from rank one can stop at another point.",
            ("fedlrt/claim-thm3-text",),
        ),
        Headline(
            r"The truncation rule prints the tail from $\sigma_{r_1}$ on: it can keep a singular value that is zero, "
            r"or find no rank at all. From $\sigma_{r_1+1}$ on, it is the least rank within the threshold.",
            ("fedlrt/claim-trunc", "fedlrt/claim-factors"),
        ),
        Headline(
            "With all points at every client, as the heterogeneous test is described, all clients have one curvature: "
            "with full gradients FedAvg is FedLin there and FeDLRT with a correction is FeDLRT without one, round by "
            "round, so that none stalls for lack of a correction. Where the points are divided, FedAvg does stall; "
            "steps on minibatches are not covered.",
            ("fedlrt/claim-het-plateau", "fedlrt/fig-1"),
        ),
        Headline(
            "What is said of the homogeneous test depends on the normalisation of the Legendre polynomials, which is "
            "not given: with the value 1 at 1 the step of Theorem 2 is admitted for all C = 1 to 32, but a start of "
            "size 0.01 can fall below the rank for good, and one of size 1 is still at rank 8 after 200 rounds; with "
            "those orthonormal for dx or for the uniform law rank and minimiser are found, on an example more than "
            "ten times faster than by FedLin, and the step is admitted for few clients (one to eight, by the points) "
            "or for two at most. Whether all of it is true of one setting is open: with the value 1 at 1 and a start "
            "of size 0.1 the run to 1e-5 is too long for a check.",
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
            "full correction and 1 to 4 % more with the simplified one.",
            ("fedlrt/claim-hom-clients",),
        ),
        Headline(
            r"Table 1 is right in its orders. Counted, a round of FeDLRT sends $6nr + 5r^2$ without correction, "
            r"$6nr + 7r^2$ with the simplified and $6nr + 13r^2$ with the full one; printed are $6nr + 6r^2$, "
            r"$6nr + 8r^2$ and $6nr + 10r^2$. Figure 3's 40 % of full rank is where its entries for communication "
            "cross, with the full correction; those for compute and memory cross at about 20 % and 30 %. Counted, "
            "compute and memory with the simplified correction cross at 39 to 40 %.",
            ("fedlrt/table-1", "fedlrt/fig-3"),
        ),
        Headline(
            r"Line 9 of FedLin's box has its correction outside the bracket, where it moves stationary points; "
            r"Algorithm 6 averages coefficients that belong to different bases.",
            ("fedlrt/alg-4", "fedlrt/alg-6"),
        ),
        Headline(
            "That gradients are close to low rank does not keep FeDLRT close to the full-rank method; that they are "
            "close to the span of its bases does, with a bound.",
            ("fedlrt/claim-close-to-full", "fedlrt/thm-5"),
        ),
    ),
    (CONSTANTS, STEP_SIZES),
)
