"""FedLoRU as a paper of the ledger: its themes in the order of the paper, and its pages of findings."""

from __future__ import annotations

from paper_checks.fedloru.tables import differences
from paper_checks.paper import Headline, Listing, Page, Paper

SPECTRAL = tuple(
    f"spectral.{theme}"
    for theme in (
        *("risk_and_hessians", "noise_model", "noise", "eigenvalues", "stable_rank_limit", "negative_gap"),
        *("eigenvectors", "alignment"),
        *("transforms", "free_convolution", "weyl", "richness", "edges", "outlier_map"),
        *("index_sets", "stable_rank", "monotonicity", "alignment_steps", "several_steps"),
        *("general_laws", "general_map", "stable_rank_v1_proof", "cumulant_series", "measured_spectra"),
    )
)
CONVERGENCE = tuple(
    f"convergence.{theme}"
    for theme in (
        *("accumulation", "fine_tuning", "low_rank_descent", "smoothness", "drift", "descent_steps"),
        *(
            "theorem",
            "rate",
            "jointly",
            "variants",
            "communication",
            "accumulated_rank",
            "computation",
            "low_rank_updates",
        ),
    )
)
NUMBERS = tuple(
    f"numbers.{theme}"
    for theme in ("accuracies", "against_fedavg", "tables_2_to_7", "parameter_counts", "settings", "experiments")
)

THEORY_HEADLINES = (
    Headline(
        "The stable rank has no finite limit: it grows in proportion to R, since the interior of the bulk carries "
        "the Frobenius norm. For the stable ranks the message of Theorem 3.2 survives in a stronger form (the "
        r"client's is larger by a multiple of R, whenever $|\theta_0| > \sigma s_N$), and its lower bound is four "
        "times too large. Between the estimates (36), with finite counts and the printed sets, the theorem holds; "
        "with sets of eigenvalues that leave the bulk it fails where a spike lies between the thresholds.",
        ("fedloru-v2/eq-36", "fedloru-v2/eq-36-conv", "fedloru-v2/thm-3.2"),
    ),
    Headline(
        r"A spike shows as an outlier if and only if $|\theta| > \sigma s_N$. The printed condition, $\theta + "
        r"\sigma^2s_N^2/\theta$ beyond the edge, is met by every spike but one: k is not inverted below the threshold.",
        ("fedloru-v2/prop-3.1", "fedloru-v2/eq-5", "fedloru-v2/eq-32"),
    ),
    Headline(
        "Independent entries of the stated variance are not enough for the edges; a Wigner matrix, with a fixed law of "
        "finite fourth moment, is.",
        ("fedloru-v2/prop-3.1-dist", "fedloru-v2/eq-26-27", "fedloru-v2/eq-29"),
    ),
    Headline(
        r"The noise falls like $M^{-1/2}$. What decoupled models are is left open; a client that samples from the "
        r"server's data has noise whose covariance with the server's is that of the server's.",
        ("fedloru-v2/claim-scale", "fedloru-v2/eq-1"),
    ),
    Headline(
        "Theorem 3.3 gives the alignment of gradients without errors of their own below the number of outliers. Beyond "
        "it nothing decreases without such errors; with them there is another closed form, which decreases there, and "
        "can increase below.",
        ("fedloru-v2/thm-3.3", "fedloru-v2/eq-51-54", "fedloru-v2/eq-57-58", "fedloru-v2/assump-A.5"),
    ),
    Headline(
        "The proof takes the spikes that show at the server for a part of those that show at the client; it is the "
        "other way round, since the client has more noise. With finite counts of edge eigenvalues, and sets of those "
        "that leave the bulk, the algebra fails for a spike between the two thresholds.",
        ("fedloru-v2/claim-inclusion", "fedloru-v2/eq-38", "fedloru-v2/eq-42"),
    ),
    Headline(
        r"For a general noise law a spike shows if and only if it is above $1/g(U+)$, at the edge of the noise; the "
        r"first version's eq. (36) has a sign error, and its monotonicity holds for non-negative free cumulants, not "
        "for all laws.",
        ("fedloru-v1/prop-3.2", "fedloru-v1/eq-36", "fedloru-v1/Fj1", "fedloru-v1/Fj2"),
    ),
    Headline(
        "Taken with densities, the estimate of the stable rank behind Figure 1 is a multiple of it that depends on "
        "kernel width and grid; with exact masses it is right. The weights of one random vector that pyHessian returns "
        "scatter around them, the one in the denominator like a chi-square of one degree.",
        ("fedloru-v2/eq-87",),
    ),
)
CONVERGENCE_HEADLINES = (
    Headline(
        "Theorem 4.2's rate holds for averages over all clients, as Appendix B has them, and not with the printed "
        "weights of a cohort, which enter squared; it is one of the gradients in the factors, and that in W need not "
        "fall. Its bound holds with other constants, which depend neither on the "
        "variance nor on the step and keep under changes of units.",
        ("fedloru-v2/thm-4.2", "fedloru-v2/thm-4.2-rate", "fedloru-v2/eq-76", "fedloru-v2/eq-77-K"),
    ),
    Headline(
        r"What Section 4 says of accumulation, averages, final model and rate holds together for $\alpha = 1$, sums "
        "over all clients and a restart at $AB = 0$; as listed it does not.",
        ("fedloru-v2/sec-4-jointly", "fedloru-v2/claim-reinit", "fedloru-v2/eq-WT"),
    ),
    Headline(
        r"The listings restart nothing after an accumulation; read with momentum initialisation, which may be "
        r"intended, the product counts twice from then on. The analysis needs a restart at $AB = 0$, which leaves the "
        r"model as it is, and so does not cover that initialisation.",
        ("fedloru-v2/alg-1", "fedloru-v2/alg-1-init-momentum", "fedloru-v2/claim-reinit"),
    ),
    Headline(
        "What the boxes return lacks the scales that training has, and the factors that are not accumulated yet; where "
        "W is the updated one, the sum counts twice.",
        ("fedloru-v2/alg-2", "fedloru-v2/alg-3", "fedloru-v2/alg-4", "fedloru-v2/eq-WT"),
    ),
    Headline(
        "Under partial participation the sums are averages only if the weights are renormalised over the clients that "
        "take part, as averaging may mean.",
        ("fedloru-v2/eq-agg", "fedloru-v2/eq-61-62"),
    ),
    Headline(
        "Less is communicated if r is below about the smaller side of W. Every accumulation sends both factors to all "
        "clients, which the stated cost leaves out (with half of the clients in a round at most 7 per cent for the "
        "paper's cycles, with a tenth up to 25 per cent); it adds at most r to "
        "the rank, exactly r for almost all coefficients of the losses; least squares with few samples adds less, or "
        "nothing.",
        ("fedloru-v2/def-commcost", "fedloru-v2/claim-comm", "fedloru-v2/claim-rank-growth"),
    ),
)
NUMBER_HEADLINES = (
    Headline(
        "FedLoRU is best of the three low-rank methods in 20 of 27 cases, as stated. Whether it stays within 5 % of "
        "FedAvg depends on the reading: at the best parameter ratio of each setting and in points it does, and it "
        "surpasses FedAvg on CIFAR with 100 clients; cell by cell it is up to 11.77 points below, and ahead in 3 of "
        "these 6 cells; relative to FedAvg it is up to 14 % below even at the best ratio.",
        ("fedloru-v2/txt-20of27", "fedloru-v2/txt-5pct", "fedloru-v2/txt-beats-avg"),
    ),
    Headline(
        "The trainable shares of the language model are those of LLaMA-2-7B; there is no LLaMA-2 of 3 billion "
        "parameters.",
        ("fedloru-v2/txt-peft",),
    ),
    Headline(
        "At participation 0.1 the low-rank methods are ahead of FedAvg, as stated; for K = 200 the printed FedAvg has "
        "the digits of that at participation 0.5, 0.3885 and 38.85, while for K = 100 the two differ.",
        ("fedloru-v2/txt-part",),
    ),
    Headline(
        "The ratios of Table 6 are relative to FedAvg, not to the method as their formula says; the one for 20 clients "
        "follows from neither.",
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
    called="FedLoRU",
    main="Clients train low-rank updates of the weights, which the server accumulates; fewer data are said to give a "
    "client's Hessian a larger stable rank, and the method the rate of FedAvg. In the paper's random-matrix model the "
    "stable rank of a client is larger indeed, by a multiple of the dimension in place of the finite bound; the rate "
    "holds with the averages of the appendix.",
    cited="Haemin Park and Diego Klabjan; first version (fedloru-v1), conference submission (fedloru-iclr), second "
    "version (fedloru-v2)",
    rewritten="make docs",
)
