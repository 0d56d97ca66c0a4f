"""FedLoRU as a paper of the ledger: its themes in the order of the paper, and its pages of findings."""

from __future__ import annotations

from paper_checks.fedloru.findings import FINDINGS
from paper_checks.fedloru.tables import differences
from paper_checks.paper import Headline, Listing, Page, Paper

SPECTRAL = tuple(
    f"spectral.{theme}"
    for theme in (
        "sec_3",
        "eq_1",
        "prop_3_1",
        "noise_scale",
        "thm_3_2",
        "sec_3_2",
        "thm_3_3",
        "lem_a_1",
        "lem_a_2",
        "v1_lem_a_2",
        "lem_a_3",
        "prop_a_4",
        "prop_3_1_weyl",
        "prop_3_1_edges",
        "prop_3_1_outliers",
        "thm_3_2_limits",
        "thm_3_2_sets",
        "thm_3_2_signs",
        "thm_3_2_monotone",
        "lem_a_6",
        "assump_a_5",
        "thm_3_3_proof",
        "sec_a_6",
        "v1_prop_3_1",
        "v1_prop_3_2",
        "v1_thm_3_3",
        "v1_thm_3_3_proof",
        "v1_thm_3_3_series",
        "fig_1",
    )
)
CONVERGENCE = tuple(
    f"convergence.{theme}"
    for theme in (
        "alg_1",
        "alg_1_fine_tune",
        "sec_4_1",
        "sec_4_1_advantages",
        "assump_4_1",
        "thm_4_2",
        "sec_b",
        "lem_b_5",
        "lem_b_6",
        "lem_b_7",
        "lem_b_8",
        "thm_4_2_proof",
        "alg_2",
        "alg_3",
        "alg_4",
        "v1_eq_14",
    )
)
NUMBERS = tuple(
    f"numbers.{theme}"
    for theme in ("accuracies", "against_fedavg", "tables_2_to_7", "parameter_counts", "settings", "experiments")
)

THEORY_HEADLINES = (
    Headline(
        "The Hessian of a client with fewer samples has a larger stable rank, as Theorem 3.2 says, and the gap grows "
        r"in proportion to the number of weights R. This needs only $|\theta_0| > \sigma s_N$, which is less than the "
        "theorem requires.",
        ("fedloru-v2/thm-3.2",),
    ),
    Headline(
        r"Every spike $|\theta| > \sigma s_N$ produces an outlier at $\theta + \sigma^2s_N^2/\theta$, and the squared "
        r"overlap of the two eigenvectors is $1 - \sigma^2s_N^2/\theta^2$. The overlap is smaller for fewer samples.",
        ("fedloru-v2/prop-3.1", "fedloru-v2/eq-5", "fedloru-v2/eq-32", "fedloru-v2/claim-overlap-mono"),
    ),
    Headline(
        "If all noise entries follow one law with a finite fourth moment, the largest eigenvalue of the noise tends to "
        r"the edge $2\sigma s_N$, and so does every eigenvalue of fixed index that is not an outlier.",
        ("fedloru-v2/prop-3.1-dist", "fedloru-v2/eq-26-27", "fedloru-v2/eq-29"),
    ),
    Headline(
        "The terms of the lower bound have the signs that the proof gives them, and for a fixed number of outliers the "
        "bound decreases with M.",
        (
            "fedloru-v2/claim-Fj-sign",
            "fedloru-v2/eq-40",
            "fedloru-v2/eq-41",
            "fedloru-v2/eq-44",
            "fedloru-v2/thm-3.2-mono",
        ),
    ),
    Headline(
        "If clients have no gradient errors of their own, their gradients are better aligned at lower rank up to the "
        "last outlier, as Theorem 3.3 says. With such errors the alignment falls beyond the last outlier.",
        ("fedloru-v2/thm-3.3", "fedloru-v2/eq-57-58"),
    ),
    Headline(
        "If a model attains some set of true eigenvalues, all larger models attain it, as well.",
        ("fedloru-v2/prop-A.4", "fedloru-v1/prop-3.1"),
    ),
)
CONVERGENCE_HEADLINES = (
    Headline(
        "The squared gradient in the factors falls like $T^{-1/2}$, the rate of FedAvg, if the weights sum to 1 and "
        "have the mean $p^{(k)}$ and the factors restart at $AB = 0$, as in Appendix B. The constants need not depend "
        "on the variance of the gradients.",
        ("fedloru-v2/thm-4.2-rate", "fedloru-v2/thm-4.2"),
    ),
    Headline(
        r"The extension to other scales $\alpha$ is as simple as Appendix B says: $\alpha^2L$ replaces L, and "
        r"$|\alpha|G$ replaces G.",
        ("fedloru-v2/claim-alpha-ext",),
    ),
    Headline(
        "A restart at $AB = 0$ after an accumulation does not change the loss.",
        ("fedloru-v2/claim-reinit", "fedloru-v2/alg-1-init-random"),
    ),
    Headline(
        "Lemmas B.5, B.6 and B.7 hold with their printed constants.",
        ("fedloru-v2/lem-B.5", "fedloru-v2/lem-B.6", "fedloru-v2/lem-B.7"),
    ),
    Headline(
        "Low-rank factors cost less to send than the matrix W, and the server never has to compute a factorisation.",
        ("fedloru-v2/def-commcost", "fedloru-v2/claim-comm", "fedloru-v2/claim-noextra"),
    ),
    Headline(
        "An accumulation adds at most r to the rank of the model, and exactly r for almost all polynomial losses.",
        ("fedloru-v2/claim-rank-growth",),
    ),
)
NUMBER_HEADLINES = (
    Headline(
        "FedLoRU has the best accuracy of the three low-rank methods in 20 of 27 cases, as stated, and is better than "
        "FedLoRA in every cell.",
        ("fedloru-v2/txt-20of27", "fedloru-v2/txt-beats-lora"),
    ),
    Headline(
        "From 100 clients on, FedLoRU is more accurate than FedAvg, and its lead grows with the number of clients. At "
        "participation 0.1 all three low-rank methods are ahead of FedAvg.",
        ("fedloru-v2/txt-scal", "fedloru-v2/txt-part"),
    ),
    Headline(
        "At its best parameter ratio, FedLoRU loses at most 4.46 points to FedAvg in any setting of Table 1.",
        ("fedloru-v2/txt-5pct",),
    ),
    Headline(
        "pFedLoRU is more accurate than pFedLoRA with less than half of its parameters.", ("fedloru-v2/txt-hm-tables",)
    ),
)

PAPER = Paper(
    "fedloru",
    "Communication-Efficient Federated Low-Rank Update Algorithm and its Connection to Implicit Regularization",
    "paper_checks.fedloru",
    (*SPECTRAL, *CONVERGENCE, *NUMBERS),
    (
        Page(
            "fedloru-spectral-theory",
            "What we found in FedLoRU's spectral theory",
            "Section 3 and Appendix A of the newest version (`fedloru-v2`) in their order, then what the two earlier "
            "versions (`fedloru-iclr`, `fedloru-v1`) state differently. Spikes are the non-zero eigenvalues of the "
            "true Hessian; p of them are positive and q are negative. In some witnesses p or q is 0, which the paper's "
            "natural numbers include.",
            SPECTRAL,
            THEORY_HEADLINES,
        ),
        Page(
            "fedloru-convergence",
            "What we found in FedLoRU's algorithms and convergence analysis",
            "Section 4 and Appendices B to D of the newest version (`fedloru-v2`): the algorithm boxes, executed, the "
            "convergence theorem with every step of its proof, and the costs.",
            CONVERGENCE,
            CONVERGENCE_HEADLINES,
        ),
        Page(
            "fedloru-printed-numbers",
            "What we found in FedLoRU's printed numbers",
            "Counts, ratios, ranges, averages and parameter shares of the three versions, recomputed from their tables "
            "and from the architectures they name. For experiments that we cannot run at the paper's scale, the page "
            "reports what tables and figures state and what our runs at laptop scale show.",
            NUMBERS,
            NUMBER_HEADLINES,
            (
                Listing(
                    "Cells that the first version prints differently",
                    ("cell", "fedloru-v1", "fedloru-iclr and fedloru-v2"),
                    tuple((found.cell, found.v1, found.later) for found in differences()),
                ),
            ),
        ),
    ),
    findings=FINDINGS,
    called="FedLoRU",
    main="Clients train low-rank updates of the weights, which the server accumulates. The paper claims that a client "
    "with fewer samples has a Hessian of larger stable rank, and that the method converges at the rate of FedAvg. Both "
    "claims hold with corrections: the lower bound on the gap between clients' stable ranks is four times too large, "
    "and the rate needs weights that sum to 1 and factors that are reinitialised. But lower rank does not always align "
    "the gradients of two clients better.",
    facts=(
        Headline(
            "With fewer samples the Hessian has a larger stable rank, as Theorem 3.2 says, and the gap grows in "
            "proportion to the number of weights. The printed lower bound on the gap is four times too large.",
            ("fedloru-v2/thm-3.2",),
        ),
        Headline(
            "Lower rank does not always align the gradients of two clients better. Up to the last outlier, Theorem 3.3 "
            "is right for clients without gradient errors of their own.",
            ("fedloru-v2/thm-3.3",),
        ),
        Headline(
            "FedLoRU keeps the rate of FedAvg if the weights of each round's clients add up to 1 and are p^(k) on "
            "average, and the factors restart at AB = 0 after each accumulation. Algorithm 1 leaves the restart out, "
            "and the constants of Theorem 4.2 are too small.",
            ("fedloru-v2/thm-4.2-rate", "fedloru-v2/thm-4.2", "fedloru-v2/alg-1"),
        ),
    ),
    authors=("Haemin Park", "Diego Klabjan"),
    year=2024,
    cited="Haemin Park and Diego Klabjan, arXiv 2409.12371: first version of September 2024 (fedloru-v1), submission "
    "to ICLR 2025 (fedloru-iclr), second version of November 2025 (fedloru-v2)",
    link="https://arxiv.org/abs/2409.12371",
    rewritten="make docs",
)
