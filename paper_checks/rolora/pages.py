"""The pages that tell what was found in RoLoRA, and the order of its themes."""

from __future__ import annotations

from paper_checks.paper import Headline, Page

ANALYSIS_THEMES = (
    *("boxes", "alternating", "model", "sampled_steps", "convergence", "freezing", "two_layer"),
    *("auxiliary", "minimiser", "minimiser_steps", "minimiser_union"),
    *("gradient", "gradient_steps", "gradient_bound", "contraction", "contraction_steps", "denominator_steps"),
    "combined_steps",
    *("first_step", "iterations", "freezing_steps", "heterogeneous", "heterogeneous_rates", "heterogeneous_steps"),
)
NUMBER_THEMES = (
    *("running_text", "messages", "communication", "results", "number_of_clients", "experiments"),
    *("language_settings", "language_models", "mmlu"),
)

ANALYSIS = Page(
    "rolora-analysis",
    "What we found in RoLoRA's analysis",
    "Sections 3 to 5 and Appendix A: the methods and their boxes, the linear model, convergence on equal clients with "
    "every step of the proof, FFA-LoRA's expected loss, and different clients.",
    ANALYSIS_THEMES,
    (
        Headline(
            r"The contraction (80) on equal clients is shown for steps up to $1/(2L_{max}^2)$, where (117) stops, and "
            r"was found to hold up to $0.71/L_{max}^2$; not up to $1/L_{max}^2$, as stated: at $\eta\|b^*\|^2 = 1$ the "
            r"angle shrinks ever less near the minimiser, even with infinitely many samples.",
            ("rolora/lem-5.3", "rolora/lem-A.11", "rolora/eq-117"),
        ),
        Headline(
            r"It needs no fresh samples: with the same ones in both halves of all iterations, as Algorithm 2 reads "
            r"literally, every iteration with a step up to $1/(2L_{max}^2)$ contracts as stated, without any "
            r"probability, once every client's $X_i^\top X_i/m$ is within $\frac3{10}|\cos\theta(a^0, a^*)|$ of the "
            r"identity.",
            ("rolora/lem-5.3", "rolora/thm-5.4"),
        ),
        Headline(
            r"The constant c in the number of iterations has to be tied to the step, $c = \eta\|b^*\|^2$ for equal "
            r"and $c = 2\eta\|\bar b^*\|^2$ for different clients: for short steps, an iteration count that ignores "
            "the step size is too small.",
            ("rolora/thm-5.4", "rolora/thm-A.14"),
        ),
        Headline(
            "Lemma A.9 holds without a net for every number of samples, with probability at least $1 - N(1 + "
            r"\epsilon'^2)^{-m/2}$; Lemma A.10 with the factor of its proof, from $m \ge 20q$ and $Nm \ge "
            r"100d\log(2/\epsilon_0)/\epsilon_3^2$ on. As printed they count exponents and failure probabilities that "
            r"do not follow for a constant in $\Omega$ that knows nothing of the thresholds. The gradient's "
            r"expectation is that of samples that $\bar b$ is independent of.",
            ("rolora/lem-A.9", "rolora/lem-A.10", "rolora/eq-43", "rolora/eq-48", "rolora/eq-77"),
        ),
        Headline(
            "FFA-LoRA's expected training loss is exactly as stated, for 3 samples or more (which is not stated); with "
            "fewer it is infinite for two clients or more.",
            ("rolora/prop-5.5", "rolora/eq-241", "rolora/eq-205"),
        ),
        Headline(
            "Averaging is exact for RoLoRA in both halves of an iteration, (4) being read with the B that was "
            "distributed; averaging both factors misses their "
            "covariance.",
            ("rolora/alg-1", "rolora/alg-lora", "rolora/eq-1", "rolora/eq-3", "rolora/eq-4"),
        ),
        Headline(
            r"For different clients the contraction (254) holds as stated; its step bound cannot be raised for all "
            r"$\delta_0$.",
            ("rolora/lem-A.16",),
        ),
        Headline(
            r"Followed by the tangent of the angle, a random start in d dimensions costs a number of iterations of the "
            r"order of log d, where the stated $1/(1 - \delta_0^2)$ is of the order of d.",
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
            "adapted matrices of the paper are. In Table 8 the three methods send equally much, as it is to show; its "
            "sizes are 1000 times those in MiB.",
            ("rolora/txt-half-cost", "rolora/table-8"),
        ),
        Headline(
            "From 3 to 20 and to 50 clients RoLoRA falls by less than both others on every data set. It falls too, on "
            "RTE with 50 clients by 6.86 points, more than the two deviations printed there, 3.72; from 20 to 50 "
            "clients it falls there by more than the others.",
            ("rolora/txt-table1-rolora",),
        ),
        Headline(
            "With each run rounded to hundredths, six or nine runs can give every mean on SST-2 and RTE in Tables 1 "
            "and 6, and three runs all but three on SST-2; with runs that are not rounded no number up to ten can. "
            "The deviations are not used, and the number of seeds is not stated.",
            ("rolora/table-1-runs",),
        ),
        Headline(
            "Three trials can give every mean of Table 2 if each is rounded to hundredths, and every mean of Table "
            "10 if each is cut off after them; no one of the ways tried gives both tables.",
            ("rolora/table-2", "rolora/table-10"),
        ),
        Headline(
            "The number of samples stays the same with fewer rounds only if the local epochs of Table 4 are batches.",
            ("rolora/table-4",),
        ),
        Headline(
            r"Exponential convergence of the linear model, with unlimited samples (the expected loss), fails at the "
            r"largest step alone, $\eta\|b^*\|^2 = 1$.",
            ("rolora/txt-exponential",),
        ),
    ),
)
