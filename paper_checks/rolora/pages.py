"""The pages of findings on RoLoRA, and the order of its results."""

from __future__ import annotations

from paper_checks.paper import Headline, Page

ANALYSIS_THEMES = (
    "alg_1",
    "baselines",
    "alg_2",
    "sec_3_2",
    "sec_4",
    "sec_5_1",
    "lem_5_3",
    "thm_5_4",
    "prop_5_5",
    "sec_5_2",
    "sec_a_2",
    "lem_a_9",
    "lem_a_9_minimiser",
    "lem_a_9_sums",
    "lem_a_9_union",
    "lem_a_10",
    "lem_a_10_gradient",
    "lem_a_10_bound",
    "lem_a_11_numerator",
    "lem_a_11_denominator",
    "lem_a_11_combined",
    "thm_5_4_first_iteration",
    "thm_5_4_iterations",
    "prop_5_5_algebra",
    "prop_5_5_minimiser",
    "prop_5_5_squares",
    "sec_a_5",
    "thm_a_14",
    "lem_a_15",
    "lem_a_16",
    "prop_a_17",
)
NUMBER_THEMES = (
    "running_text",
    "messages",
    "communication",
    "table_1",
    "table_6",
    "figs_2_to_8",
    "language_settings",
    "table_2",
    "table_12",
)

ANALYSIS = Page(
    "rolora-analysis",
    "What we found in RoLoRA's analysis",
    "Sections 3 to 5 and Appendix A: the methods and their boxes, the linear model, convergence for identical clients "
    "with every step of the proof, FFA-LoRA's expected loss, and different clients.",
    ANALYSIS_THEMES,
    (
        Headline(
            "RoLoRA's averages are exact because in each half of an iteration one factor is the same at all clients. "
            "Averaging the two factors separately misses their covariance over the clients.",
            ("rolora/alg-1", "rolora/alg-lora", "rolora/eq-1", "rolora/eq-3", "rolora/eq-4"),
        ),
        Headline(
            "For step sizes up to $1/(2L_{max}^2)$, every iteration shrinks the angle at the stated rate, inequality "
            r"(80). This even holds with certainty, and with the same samples throughout, if every client's $X_i^\top "
            r"X_i/m$ is within $\frac3{10}|\cos\theta(a^0, a^*)|$ of the identity.",
            ("rolora/lem-5.3", "rolora/thm-5.4"),
        ),
        Headline(
            "Lemma A.9 holds with an explicit probability, at least $1 - N(1 + \\epsilon'^2)^{-m/2}$ for N clients "
            r"with m samples each. Lemma A.10 holds with the factor of its proof for $m \ge 20q$ and $Nm \ge "
            r"100d\log(2/\epsilon_0)/\epsilon_3^2$.",
            ("rolora/lem-A.9", "rolora/lem-A.10"),
        ),
        Headline(
            "The expected training loss of FFA-LoRA is exactly as stated if each client has three samples or more.",
            ("rolora/prop-5.5", "rolora/eq-205", "rolora/eq-241"),
        ),
        Headline(
            "If the clients differ, an iteration shrinks the angle as stated in inequality (254). Its bound on the "
            "step size cannot be raised for all initial angles.",
            ("rolora/lem-A.16",),
        ),
        Headline(
            r"If the clients differ, Theorem A.14's number of iterations is sufficient with $c = 2\eta\|\bar b^*\|^2$. "
            "For a random start in d dimensions it grows in proportion to d, but iterations of the order of log d are "
            "sufficient.",
            ("rolora/thm-A.14",),
        ),
    ),
)
NUMBERS = Page(
    "rolora-printed-numbers",
    "What we found in RoLoRA's printed numbers",
    "Tables 1 to 12 and what the text says about them, recomputed as far as the printed numbers and the named "
    "architectures allow.",
    NUMBER_THEMES,
    (
        Headline(
            "With infinitely many samples, the linear model converges exponentially for every step size with $0 < "
            r"\eta\|b^*\|^2 < 1$.",
            ("rolora/txt-exponential",),
        ),
        Headline(
            "The ranking of the methods in every setting of Table 1 does not change with the recomputed averages.",
            ("rolora/table-1",),
        ),
        Headline(
            "For square matrices, such as all adapted ones in the paper, RoLoRA sends half as much as LoRA. The three "
            "methods of Table 8 send equal amounts.",
            ("rolora/txt-half-cost", "rolora/table-8"),
        ),
        Headline(
            "From 3 clients to 20 and to 50, RoLoRA loses less accuracy than LoRA and FFA-LoRA on every data set.",
            ("rolora/txt-table1-rolora",),
        ),
        Headline(
            "Three trials can give every mean and deviation of Table 2 if each is rounded to hundredths.",
            ("rolora/table-2",),
        ),
    ),
)
