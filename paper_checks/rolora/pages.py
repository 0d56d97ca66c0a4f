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
    "Sections 3 to 5 and Appendix A: the methods and their boxes, the linear model, convergence on equal clients with "
    "every step of the proof, FFA-LoRA's expected loss, and different clients.",
    ANALYSIS_THEMES,
    (
        Headline(
            "RoLoRA's averages are exact: in each half of an iteration one factor is the same at all clients. "
            "Averaging both factors one by one misses their covariance over the clients.",
            ("rolora/alg-1", "rolora/alg-lora", "rolora/eq-1", "rolora/eq-3", "rolora/eq-4"),
        ),
        Headline(
            r"For steps up to $1/(2L_{max}^2)$ every iteration shrinks the angle at the stated rate, inequality (80). "
            r"It does so with the same samples throughout, without any probability, where every client's $X_i^\top "
            r"X_i/m$ is within $\frac3{10}|\cos\theta(a^0, a^*)|$ of the identity.",
            ("rolora/lem-5.3", "rolora/thm-5.4"),
        ),
        Headline(
            "Lemma A.9 holds with an explicit probability, at least $1 - N(1 + \\epsilon'^2)^{-m/2}$ for N clients of "
            r"m samples, and Lemma A.10 with the factor of its proof from $m \ge 20q$ and $Nm \ge "
            r"100d\log(2/\epsilon_0)/\epsilon_3^2$ on.",
            ("rolora/lem-A.9", "rolora/lem-A.10"),
        ),
        Headline(
            "The expected training loss of FFA-LoRA is exactly as stated for three samples or more at each client.",
            ("rolora/prop-5.5", "rolora/eq-205", "rolora/eq-241"),
        ),
        Headline(
            "On different clients an iteration shrinks the angle as stated, inequality (254). Its bound on the step "
            "cannot be raised for all angles at the start.",
            ("rolora/lem-A.16",),
        ),
        Headline(
            r"For different clients the number of iterations of Theorem A.14 is enough with $c = 2\eta\|\bar b^*\|^2$. "
            "From a random start in d dimensions it grows in proportion to d, but the order of log d is enough.",
            ("rolora/thm-A.14",),
        ),
    ),
)
NUMBERS = Page(
    "rolora-printed-numbers",
    "What we found in RoLoRA's printed numbers",
    "Tables 1 to 12 and what the text says of them, recomputed as far as their own numbers and the named architectures "
    "allow.",
    NUMBER_THEMES,
    (
        Headline(
            r"With infinitely many samples the linear model converges exponentially for every step with $0 < "
            r"\eta\|b^*\|^2 < 1$.",
            ("rolora/txt-exponential",),
        ),
        Headline(
            "The order of the methods in every setting of Table 1 is the same with the recomputed averages.",
            ("rolora/table-1",),
        ),
        Headline(
            "RoLoRA sends half of what LoRA does for square matrices, as all adapted ones in the paper are. The three "
            "methods of Table 8 send equally much.",
            ("rolora/txt-half-cost", "rolora/table-8"),
        ),
        Headline(
            "From 3 clients to 20 and to 50 RoLoRA loses less accuracy than LoRA and FFA-LoRA on every data set.",
            ("rolora/txt-table1-rolora",),
        ),
        Headline(
            "Three trials can give every mean and deviation of Table 2 if each is rounded to hundredths.",
            ("rolora/table-2",),
        ),
    ),
)
