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
        "sec_4_jointly",
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
        "The stable rank of a Hessian (its squared Frobenius norm over its squared spectral norm) is stated to have "
        "a finite limit as the number R of weights grows; it grows in proportion to R, since the many small "
        "eigenvalues carry the Frobenius norm. The message of Theorem 3.2, that a client with fewer data has the "
        "larger one, survives for the stable ranks in a stronger form (larger by a multiple of R); the lower bound "
        "stated for the difference is four times too large if it counts all small eigenvalues, and between the "
        "paper's finite estimates it holds or fails with the set that they count.",
        ("fedloru-v2/eq-36", "fedloru-v2/eq-36-conv", "fedloru-v2/thm-3.2"),
    ),
    Headline(
        r"A spike, a non-zero eigenvalue $\theta$ of the true Hessian, shows in the Hessian of N samples as an "
        r"eigenvalue outside the noise if and only if $|\theta| > \sigma s_N$, the standard deviation of the "
        r"eigenvalues of the noise. Printed is the condition that $\theta + \sigma^2s_N^2/\theta$ lies beyond the "
        r"edge of the noise, $2\sigma s_N$, which weaker spikes meet as well.",
        ("fedloru-v2/prop-3.1", "fedloru-v2/eq-5", "fedloru-v2/eq-32"),
    ),
    Headline(
        r"For the largest eigenvalue of the noise matrix to tend to the edge $2\sigma s_N$, independent entries of "
        "the stated variance are not enough: with a law of the entries that changes with the dimension it can tend "
        "to infinity. With one fixed law of finite fourth moment it does tend to the edge.",
        ("fedloru-v2/prop-3.1-dist", "fedloru-v2/eq-26-27", "fedloru-v2/eq-29"),
    ),
    Headline(
        "The noise in the Hessian of M samples is said to fall typically like $1/M$; a mean of M independent samples "
        "deviates by the order of $M^{-1/2}$. The noise of server and client is called decoupled, which is left "
        "open: for a client that samples from the server's data, the covariance of the two is the variance of the "
        "server's.",
        ("fedloru-v2/claim-scale", "fedloru-v2/eq-1"),
    ),
    Headline(
        "Theorem 3.3 says how much the alignment of two clients' gradients, each projected to r leading "
        "eigenvectors, falls from r to r + 1. Where clients' gradients have no errors of their own it is right up to "
        "the number of eigenvalues outside the noise, and nothing falls beyond; with such errors another formula "
        "holds, which falls beyond that number and can rise below it.",
        ("fedloru-v2/thm-3.3", "fedloru-v2/eq-51-54", "fedloru-v2/eq-57-58", "fedloru-v2/assump-A.5"),
    ),
    Headline(
        "The proof of Theorem 3.2 takes the spikes that show outside the noise at the server for a part of those "
        "that show at the client; it is the other way round, since the client has more noise. Where a spike shows at "
        "the server alone, the algebra between the paper's finite estimates fails, if the sets hold the eigenvalues "
        "that do show.",
        ("fedloru-v2/claim-inclusion", "fedloru-v2/eq-38", "fedloru-v2/eq-42"),
    ),
    Headline(
        "In the first version the noise may have any law; a spike shows outside the noise if and only if it is above "
        "$1/g(U+)$, g the Stieltjes transform of that law and U its upper edge, which is not the printed condition. "
        "The difference of stable ranks is taken apart there into terms, whose formula (36) has a sign error; the "
        "sign stated for their main part holds for laws with free cumulants that are not negative, not for all.",
        ("fedloru-v1/prop-3.2", "fedloru-v1/eq-36", "fedloru-v1/Fj1", "fedloru-v1/Fj2"),
    ),
    Headline(
        "The stable ranks of Figure 1 are estimated from the spectrum: with a smoothed density in the formula the "
        "result is a multiple of the stable rank that depends on kernel width and grid, with exact weights of the "
        "eigenvalues it is right. The weights that pyHessian estimates from one random vector scatter around those, "
        "the one in the denominator like a chi-square variable of one degree of freedom.",
        ("fedloru-v2/eq-87",),
    ),
)
CONVERGENCE_HEADLINES = (
    Headline(
        "Theorem 4.2 states that the squared gradient falls like $T^{-1/2}$ in T rounds, as for FedAvg. This holds for "
        "the gradients in the two factors, with averages over all clients as in Appendix B and with other constants, "
        "which depend neither on the variance nor on the step; it fails with the printed weights of a cohort, which "
        "enter squared, and with factors that go on after an accumulation, and the gradient in the weight matrix W "
        "itself need not fall.",
        ("fedloru-v2/thm-4.2", "fedloru-v2/thm-4.2-rate", "fedloru-v2/eq-76", "fedloru-v2/eq-77-K"),
    ),
    Headline(
        r"What Section 4 says of accumulation, averages, final model and rate holds together for the scaling $\alpha "
        "= 1$, sums over all clients, and factors that start again at $AB = 0$ after each accumulation. For the "
        "algorithms as listed it does not.",
        ("fedloru-v2/sec-4-jointly", "fedloru-v2/claim-reinit", "fedloru-v2/eq-WT"),
    ),
    Headline(
        "The listed algorithms add the product AB of the factors to the weights and then go on with the same factors "
        "(which may be intended, as momentum initialisation), so that the product counts twice from then on. The "
        "analysis needs a restart at $AB = 0$, which leaves the model as it is, and so does not cover that.",
        ("fedloru-v2/alg-1", "fedloru-v2/alg-1-init-momentum", "fedloru-v2/claim-reinit"),
    ),
    Headline(
        "The model that the listed algorithms return is not the trained one: the scaling factors used in training "
        "are missing, and so are factors that are not accumulated yet. Where W in the returned sum is the updated "
        "matrix, what was accumulated counts twice.",
        ("fedloru-v2/alg-2", "fedloru-v2/alg-3", "fedloru-v2/alg-4", "fedloru-v2/eq-WT"),
    ),
    Headline(
        "Where only some clients take part in a round, the server's sum of their factors is an average only if the "
        "weights are renormalised to add up to 1 over those clients. The text calls the sum an average, which may "
        "mean this.",
        ("fedloru-v2/eq-agg", "fedloru-v2/eq-61-62"),
    ),
    Headline(
        "Factors of rank r cost less to send than the matrix W if r is below about the smaller side of W; the stated "
        "cost leaves out that each accumulation sends both factors to all clients (for the paper's cycles at most 7 "
        "per cent more with half of the clients in a round, up to 25 with a tenth). An accumulation adds at most r "
        "to the rank of the model, exactly r for almost all coefficients of the losses, and less or nothing in least "
        "squares with few samples.",
        ("fedloru-v2/def-commcost", "fedloru-v2/claim-comm", "fedloru-v2/claim-rank-growth"),
    ),
)
NUMBER_HEADLINES = (
    Headline(
        "FedLoRU is best of the three low-rank methods in 20 of 27 cases, as stated, and in 4 where FedAvg counts too; "
        "11 of the 27 differences from the better other low-rank method are below the largest standard deviation "
        "stated for their split. Whether it stays within 5 % of FedAvg depends on the reading: at the best parameter "
        "ratio of each setting and in points it does, and it surpasses FedAvg on CIFAR with 100 clients; cell by cell "
        "it is up to 11.77 points below, and ahead in 3 of these 6 cells; relative to FedAvg it is up to 14 % below "
        "even at the best ratio.",
        ("fedloru-v2/txt-20of27", "fedloru-v2/txt-5pct", "fedloru-v2/txt-beats-avg"),
    ),
    Headline(
        "The shares of trainable parameters printed for the language model are those of LLaMA-2-7B. The text names a "
        "LLaMA-2 of 3 billion parameters, which does not exist.",
        ("fedloru-v2/txt-peft",),
    ),
    Headline(
        "At participation 0.1 the low-rank methods are ahead of FedAvg, as stated; for K = 200 the printed FedAvg has "
        "the digits of that at participation 0.5, 0.3885 and 38.85, while for K = 100 the two differ.",
        ("fedloru-v2/txt-part",),
    ),
    Headline(
        "The ratios of Table 6 compare clients with FedAvg, not with the method itself as their formula says. The "
        "one for 20 clients follows from neither.",
        ("fedloru-v2/txt-ratio",),
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
            "versions (`fedloru-iclr`, `fedloru-v1`) state otherwise. Spikes are the non-zero eigenvalues of the true "
            "Hessian, p positive and q negative ones; some witnesses have none of one sign (natural numbers start at "
            "0).",
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
            "and from the architectures they name; and what tables and figures say of experiments that are not run "
            "here at the printed scale, beside runs at laptop scale.",
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
    main="Clients train low-rank updates of the weights, which the server accumulates; fewer data are said to give a "
    "client's Hessian a larger stable rank, and the method the rate of FedAvg. In the paper's random-matrix model the "
    "stable rank of a client is larger indeed, by a multiple of the dimension in place of the finite bound; the rate "
    "holds with the averages of the appendix. In networks trained here the client's is the larger one in 5 of 18 "
    "measurements, in layers of two language models in 14 of 36 and 23 of 27; runs of a narrow network on "
    "Fashion-MNIST, which decide nothing about the paper's own, find FedLoRU slightly below FedAvg with 20 clients, as "
    "printed, and with 100 and 200, too, where Tables 6 and 7 have a lead, and the opposite of the leads of personal "
    "models.",
    cited="Haemin Park and Diego Klabjan, arXiv 2409.12371: first version of September 2024 (fedloru-v1), submission "
    "to ICLR 2025 (fedloru-iclr), second version of November 2025 (fedloru-v2)",
    link="https://arxiv.org/abs/2409.12371",
    rewritten="make docs",
)
