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
            "On equal clients an iteration is stated to shrink the angle to the true direction by a factor "
            r"(inequality (80)) for steps $\eta$ up to $1/L_{max}^2$, $L_{max}$ a bound on the norm of the solution "
            "$b^*$. It does for steps up to $1/(2L_{max}^2)$ (proved; $0.71/L_{max}^2$ by search), and not at the "
            r"largest one: at $\eta\|b^*\|^2 = 1$ the angle shrinks ever less near the minimiser, even with "
            "infinitely many samples.",
            ("rolora/lem-5.3", "rolora/lem-A.11", "rolora/eq-117"),
        ),
        Headline(
            "This contraction does not need new samples for each half of an iteration, as the analysis has them: "
            "with the same samples throughout, as Algorithm 2 reads literally, it holds for steps up to "
            "$1/(2L_{max}^2)$ without any probability. The condition is that every client's mean product of samples, "
            r"$X_i^\top X_i/m$, is within $\frac3{10}|\cos\theta(a^0, a^*)|$ of the identity, $\theta$ the angle at "
            r"the start; $m \ge 100q$ normal samples of each client are that near, with the stated q and thresholds, "
            r"but for a probability of $2\max\{\log N, d\}^{-10}$.",
            ("rolora/lem-5.3", "rolora/thm-5.4"),
        ),
        Headline(
            "The stated number of iterations for a given accuracy has a constant c, which has to be tied to the step "
            r"$\eta$: $c = \eta\|b^*\|^2$ for equal and $c = 2\eta\|\bar b^*\|^2$ for different clients, $b^*$ and "
            r"$\bar b^*$ the true factor and its mean. A count that ignores the step is too small for short steps.",
            ("rolora/thm-5.4", "rolora/thm-A.14"),
        ),
        Headline(
            "Lemmas A.9 and A.10 bound how far the trained factor and its gradient are from those for infinitely "
            "many samples; as printed their probabilities do not follow, since the number of samples is stated up to "
            r"a constant that ignores the thresholds $\epsilon$. With explicit numbers they hold: Lemma A.9 with "
            r"probability at least $1 - N(1 + \epsilon'^2)^{-m/2}$ for N clients of m samples, Lemma A.10 with the "
            r"factor of its proof from $m \ge 20q$ and $Nm \ge 100d\log(2/\epsilon_0)/\epsilon_3^2$ on.",
            ("rolora/lem-A.9", "rolora/lem-A.10", "rolora/eq-43", "rolora/eq-48", "rolora/eq-77"),
        ),
        Headline(
            "The expected training loss of FFA-LoRA, which trains one factor and freezes the other, is exactly as "
            "stated for 3 samples or more at a client, a condition that is not stated. With fewer it is infinite for "
            "two clients or more.",
            ("rolora/prop-5.5", "rolora/eq-241", "rolora/eq-205"),
        ),
        Headline(
            "RoLoRA's averages are exact, as stated: in each half of an iteration one factor is the same at all "
            "clients (eq. (4) being read with the factor B that was distributed). Averaging both factors one by one "
            "misses their covariance over the clients.",
            ("rolora/alg-1", "rolora/alg-lora", "rolora/eq-1", "rolora/eq-3", "rolora/eq-4"),
        ),
        Headline(
            "On different clients an iteration shrinks the angle to the true direction as stated, inequality (254). "
            "Its bound on the step cannot be raised for all angles at the start.",
            ("rolora/lem-A.16",),
        ),
        Headline(
            "For different clients and a random start in d dimensions the stated number of iterations grows in "
            r"proportion to d, through the factor $1/(1 - \delta_0^2)$, $\delta_0$ the sine of the angle at the "
            "start. Followed by the tangent of the angle, the order of log d is enough.",
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
            "Four of the twelve averages of Table 1 do not follow from their rows, by 0.06 to 8.2 points; the order "
            "of the methods is the same with the recomputed averages. One deviation differs between Tables 1 and 6.",
            ("rolora/table-1", "rolora/table-6"),
        ),
        Headline(
            "RoLoRA sends half of what LoRA does, as stated, for matrices with as many inputs as outputs, as all "
            "adapted ones in the paper are. In Table 8 the three methods send equally much, as it is to show; its "
            "printed sizes are 1000 times those in MiB.",
            ("rolora/txt-half-cost", "rolora/table-8"),
        ),
        Headline(
            "From 3 to 20 and to 50 clients RoLoRA falls by less than both others on every data set. It falls too, on "
            "RTE with 50 clients by 6.86 points, more than the two deviations printed there, 3.72; from 20 to 50 "
            "clients it falls there by more than the others.",
            ("rolora/txt-table1-rolora",),
        ),
        Headline(
            "The number of seeds behind Tables 1 and 6 is not stated. The fewest runs that can give every mean on "
            "SST-2 and RTE are six with each rounded to hundredths, and 30 with runs that are not rounded.",
            ("rolora/table-1-runs",),
        ),
        Headline(
            "Three trials can give every mean and deviation of Table 2 if each is rounded to hundredths, and those "
            "of Table 10 if each is cut off after them and 47.2 is not 47.20; no one of the ways tried gives both "
            "tables.",
            ("rolora/table-2", "rolora/table-10"),
        ),
        Headline(
            "With more clients the number of rounds is lowered to keep the number of samples used in training the "
            "same. It stays the same only if the 20 local epochs of Table 4 are batches.",
            ("rolora/table-4",),
        ),
        Headline(
            "With infinitely many samples the linear model converges exponentially for every step allowed but the "
            r"largest, $\eta\|b^*\|^2 = 1$, though not always at the rate of inequality (80), which is proved for "
            "steps up to half of that and fails at the largest.",
            ("rolora/txt-exponential",),
        ),
    ),
)
