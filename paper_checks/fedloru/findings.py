"""Findings about the paper: root causes, the most consequential first."""

from __future__ import annotations

from paper_checks.paper import Finding

FINDINGS = (
    Finding(
        "bulk-counted-at-edge",
        "Theorem 3.2's lower bound on the gap between stable ranks is four times too large: it puts all bulk "
        "eigenvalues at the edge of the bulk",
        "changes a main result",
        (
            "fedloru-v2/prop-3.1-bulk",
            "fedloru-v2/eq-36",
            "fedloru-v2/eq-36-conv",
            "fedloru-v2/eq-37",
            "fedloru-v2/thm-3.2",
            "fedloru-v2/thm-3.2-mono",
        ),
        "Let the non-zero eigenvalues of the true Hessian (the spikes) be -6 and 2, and the noise scale 1 at the "
        "client and 0.8 at the server. Then the bound (4) is 0.0365 per dimension, but the gap of the stable ranks, "
        "client minus server, is 0.0091.",
        "Use the sign of the gap, which is right under the theorem's hypotheses, and its growth with the number of "
        "weights R. Replace the bound (4) by the corrected limit (`rankproof show fedloru-v2/thm-3.2`).",
    ),
    Finding(
        "alignment-of-gradients",
        "Lower rank does not always align the gradients of two clients better: Theorem 3.3 confuses the mean of a "
        "quotient with a quotient of means",
        "changes a main result",
        (
            "fedloru-v2/assump-A.5",
            "fedloru-v2/thm-3.3",
            "fedloru-v2/eq-51-54",
            "fedloru-v2/eq-52-53",
            "fedloru-v2/eq-55",
            "fedloru-v2/eq-57-58",
        ),
        "Let each client have gradient errors of its own, and let the loss have a small slope along the first outlying "
        "eigenvector (0.1, against 5 and 2 along the next two). Then $C_1 - C_2$, the mean cosine of the clients' "
        "gradients at rank 1 minus the mean cosine at rank 2, is -0.719, but the theorem predicts +0.139.",
        "Expect better alignment at lower rank only among eigenvectors of the Hessian's bulk or if the clients' "
        "gradients have no errors of their own; otherwise measure it. Treat the slopes as random: the limit in "
        "Assumption A.5 is then 0 along the bulk, and (52) and (53) need bounded mean squares.",
    ),
    Finding(
        "outlier-threshold",
        r"Proposition 3.1 predicts outliers of the Hessian even for true eigenvalues $\theta_i$ below the noise "
        r"level $\sigma s_N$",
        "changes a main result",
        (
            "fedloru-v2/prop-3.1",
            "fedloru-v2/eq-5",
            "fedloru-v2/claim-overlap-mono",
            "fedloru-v2/eq-30-31",
            "fedloru-v2/eq-32",
            "fedloru-v1/prop-3.2",
            "fedloru-iclr/prop-3.1",
            "fedloru-v1/eq-29-32",
        ),
        r"For the true eigenvalue $\theta = 0.05$ and the noise level $\sigma s_N = 1$, the printed limit (2) of the "
        "largest eigenvalue is 20.05, but that eigenvalue tends to 2, the edge of the bulk.",
        r"The paper's condition $g_N^{-1}(\theta_i) > U_N$ says that the predicted limit is above the upper edge $U_N$ "
        r"of the bulk. Replace it by $|\theta_i| > \sigma s_N$, also in the definitions of $\mathcal{P}_N$ and "
        r"$\mathcal{Q}_N$, the sets of positive and negative outliers. In v1 and iclr, read $U_N$ as the upper edge "
        "and $L_N$ as the lower one.",
    ),
    Finding(
        "first-versions-gap",
        "In the first versions (v1, iclr) the stable-rank gap has no finite limit, and it can be negative when noise "
        "determines the norm",
        "changes a main result",
        ("fedloru-v1/thm-3.3",),
        "Let the noise eigenvalues have a uniform law, of scale $s_M = 0.8$ at the client and $s_N = 0.1$ at the "
        r"server. With one true eigenvalue $\theta = 1$, the gap divided by the number of weights R tends to 0.144. "
        "When noise determines both norms, 60 of 60 gaps were negative.",
        r"Cite version 2, which requires $\theta_0^2 \ge \sigma^2s_M^2$ (the largest true eigenvalue $\theta_0$ is at "
        r"least the client's noise level $\sigma s_M$), and read the limit as that of the gap divided by R.",
    ),
    Finding(
        "constants-of-theorem-4-2",
        "The printed constants $K_1$ and $K_2$ of Theorem 4.2 are wrong; the rate survives if the factors are "
        "reinitialised",
        "weakens a result",
        ("fedloru-v2/lem-B.8", "fedloru-v2/eq-63-66", "fedloru-v2/eq-76", "fedloru-v2/eq-77-K", "fedloru-v2/thm-4.2"),
        "The proof loses two factors, the smoothness constant L of the loss and $C_B^2$, where $C_B$ bounds the norm "
        r"of the factor B; and $K_2$ contains the step size $\eta$. With L = 100, $C_B$ about 4 and two rounds, the "
        "mean of the squared gradients is 16.0, but the bound with the printed constants is 5.36.",
        "Use the corrected constants of Theorem 4.2, and do not choose a step size from the printed ones.",
    ),
    Finding(
        "analysed-algorithm",
        "The proof of the rate needs weights that sum to 1 and have mean $p^{(k)}$, and factors that are "
        "reinitialised; Algorithm 1 has neither",
        "weakens a result",
        ("fedloru-v2/eq-agg", "fedloru-v2/thm-4.2-rate"),
        "Let two clients have weight 1/2 each, and let one of them be drawn. With the factors A = B = 1, the printed "
        "sums turn AB = 1 into 1/4.",
        "Choose weights of the drawn clients that sum to 1 and have the mean $p^{(k)}$: let all clients train, or draw "
        "them with probabilities $p^{(k)}$ and take the plain average, or, if all $p^{(k)}$ are equal, divide by their "
        "sum. Reinitialise the factors with AB = 0 after each accumulation.",
    ),
    Finding(
        "algorithm-1-reset",
        "Algorithms 1 to 3 keep the factors A and B where the analysis reinitialises them, so the update just merged "
        "into W is counted twice",
        "weakens a result",
        ("fedloru-v2/alg-1", "fedloru-iclr/alg-1", "fedloru-v1/alg-1", "fedloru-v2/alg-2", "fedloru-v2/alg-3"),
        r"In a run with a single weight, the update $\alpha AB$ with $\alpha = 2$ and an accumulation in round 2, the "
        "model jumps by 2.93. With the reset it does not move.",
        "Reset B (or A) to zero after each accumulation. The momentum initialisation of Appendix D.2 keeps both "
        "factors, so the model jumps, and no proof covers it.",
    ),
    Finding(
        "best-parameter-ratio",
        "At its best share of trained parameters FedLoRU is as close to FedAvg as stated, but at the smallest share it "
        "loses up to 11.8 points",
        "weakens a result",
        ("fedloru-v2/txt-5pct", "fedloru-v2/txt-beats-avg"),
        "On CIFAR-10, non-IID, at the smallest ratio (21 % of the parameters), the accuracies are 67.88 for FedLoRU "
        "and 79.65 for FedAvg, a loss of 11.77 points. At the largest ratio FedLoRU loses at most 4.46 points in all "
        "nine settings.",
        "Compare at the ratio that you plan to use. With 100 clients, no single ratio beats FedAvg on both CIFAR data "
        "sets.",
    ),
    Finding(
        "hundred-clients-fashion",
        "With 100 clients, FedLoRU at its best share of parameters has the highest accuracy on CIFAR-10 and CIFAR-100, "
        "but not on Fashion-MNIST",
        "weakens a result",
        ("fedloru-iclr/txt-100",),
        "On Fashion-MNIST, IID, with 100 clients, the best accuracies are 89.01 for FedLoRU and 89.43 for FedHM, "
        "another low-rank method.",
        "Quote the statement for the two CIFAR data sets only.",
    ),
    Finding(
        "estimated-stable-rank",
        "The estimated stable rank in Figure 1 depends on the kernel width and the grid if its weights are densities "
        "rather than masses",
        "weakens a result",
        ("fedloru-v2/eq-87",),
        "For a spectrum of 400 eigenvalues, one of them at 3, the estimate from the heights of the smoothed density is "
        "39.6 times the stable rank.",
        "Use the masses that pyHessian returns, averaged over many start vectors, or compare estimates only at the "
        "same width and grid.",
    ),
    Finding(
        "noise-scale",
        "The noise of a Hessian averaged over M samples falls like $M^{-1/2}$, not like $1/M$, so it decreases more "
        "slowly",
        "weakens a result",
        ("fedloru-v2/claim-scale",),
        "For linear regression with M = 4, the squared noise is 0.251 times the squared noise of one sample. The "
        "paper's typical noise scale $s_M = 1/M$ would give 0.0625.",
        r"Check Theorem 3.2's condition $\theta_0^2 \ge \sigma^2s_M^2$ (largest true eigenvalue $\theta_0$ against "
        r"the noise level $\sigma s_M$) with $s_M \propto M^{-1/2}$.",
    ),
    Finding(
        "inclusion-reversed",
        "The proof of Theorem 3.2 reverses the inclusion of the outlier sets: a client has fewer outliers than the "
        "server",
        "changes a proof only",
        ("fedloru-v2/claim-inclusion", "fedloru-v2/eq-38", "fedloru-v2/eq-42"),
        "Equation (38) splits the gap of the stable ranks into sums. For the true eigenvalues 2 and -3/4 and the noise "
        r"levels $\sigma s_M = 2$ at the client and $\sigma s_N = 1/2$ at the server, its two sides differ by 0.779.",
        r"Read (38), and the bound (42) on its last sums, with $\mathcal{P}_M \subseteq \mathcal{P}_N$ (the client's "
        "outliers are among the server's), as in the corrected statements.",
    ),
    Finding(
        "first-versions-proof",
        "The stable-rank proof of the first versions (v1, iclr) has a reversed sign and needs non-negative free "
        "cumulants of the noise",
        "changes a proof only",
        (
            "fedloru-v1/proof-3.3-sets",
            "fedloru-v1/eq-35",
            "fedloru-v1/Gj",
            "fedloru-v1/S3",
            "fedloru-v1/eq-36",
            "fedloru-v1/Fj1",
            "fedloru-v1/Fj2",
        ),
        "For noise with the semicircle law and the true eigenvalues 1.7 and -0.8, a sum that the proof calls negative "
        "is +1.41.",
        "Use the proof of version 2 as corrected, or the general correction of the theorem.",
    ),
    Finding(
        "cancelling-slips",
        "In the proof of Lemma B.7, which bounds how far the factors A and B move in a round, two false lines cancel",
        "changes a proof only",
        ("fedloru-v2/lem-B.7-mid",),
        "In one run with four local steps, the mean squared step of A is 3.9997, but the intermediate line allows only "
        "2.000.",
        "Use the lemma, which is right, but not the intermediate lines. Jensen's inequality gives $1/E$ for E local "
        "steps and no further factor.",
    ),
    Finding(
        "bulk-eigenvectors",
        "Bulk eigenvectors are not uniform orthogonally to the outliers' eigenvectors: along a spike they lean towards "
        "its outlier",
        "changes a proof only",
        ("fedloru-v2/assump-bulk",),
        r"Let one true eigenvalue (spike) be at $2\sigma s_N$, with the noise level $\sigma s_N = 1$, and weight each "
        "bulk eigenvalue by the squared component of its eigenvector along the spike's eigenvector. The weighted mean "
        "is 0.500 instead of 0.",
        "Use uniformity only for directions orthogonal to the spikes' eigenvectors. The limits of Lemma A.6, on inner "
        "products of two clients' eigenvectors, hold either way.",
    ),
    Finding(
        "auxiliary-statements",
        "Three auxiliary statements claim too much, though what the paper takes from them is right",
        "changes nothing",
        ("fedloru-v2/lem-A.1b", "fedloru-v1/lem-A.2", "fedloru-v1/eq-18-19"),
        r"For $\frac12(\delta_0 + \delta_n)$, with half of the mass at 0 and half at n, the Stieltjes transforms "
        "converge as n grows, but half of the mass escapes to infinity (Lemma A.1 b).",
        "Quote Lemma A.1 b with a limit of mass 1, Lemma A.2 of v1 (on the spectrum of a sum of two matrices) for "
        "rotation-invariant noise, and the construction of v2 for Proposition 3.1 of v1 (larger models have the "
        "true eigenvalues of smaller ones).",
    ),
    Finding(
        "bounded-factors",
        "A bounded second moment does not bound each gradient, so bounded factors A and B (Assumption B.3) remain "
        "an assumption",
        "changes nothing",
        ("fedloru-v2/claim-B3-just",),
        "With slopes -2, 0, 0, 0 at four samples and one step of size 1/2, the norms of the factors grow by a factor "
        "of 2, but the argument allows only 1.5.",
        "Treat Assumption B.3 as an assumption, or clip the gradients. Where its justification names Assumption A.2, "
        "read B.2.",
    ),
    Finding(
        "entries-of-one-law",
        "The spectral results need noise entries of one fixed law with a finite fourth moment; only the word “Wigner” "
        "implies this",
        "changes nothing",
        ("fedloru-v2/prop-3.1-dist", "fedloru-v2/eq-26-27", "fedloru-v2/eq-29"),
        "If each row of the noise matrix has about one non-zero entry, then for R = 10,000,000 rows the norm exceeds "
        "its limit by 20 % with a probability above 0.9999999.",
        "Assume that the entries are $R^{-1/2}$ times draws from one law with a finite fourth moment. The limits then "
        "hold in probability.",
    ),
    Finding(
        "index-slips",
        "Sums in the convergence proof start one index late: at local step 1 and at round 1 instead of 0",
        "changes nothing",
        (
            "fedloru-v2/eq-59-60",
            "fedloru-v2/eq-61-62",
            "fedloru-v2/eq-67-70",
            "fedloru-v2/eq-71-75",
            "fedloru-v2/eq-78-79",
        ),
        "In one run with one local step (E = 1), the printed average (59) of the gradients differs from the step of "
        "the factor A by 0.875. With the sum from 0 to E-1 it is exact.",
        "Read the averages over the local steps i = 0, ..., E-1 and the sum over the rounds t = 0, ..., T-1.",
    ),
    Finding(
        "missing-scales",
        "The formulas for the returned models lack the scales with which the low-rank updates were trained",
        "changes nothing",
        ("fedloru-v2/eq-WT", "fedloru-v2/alg-4"),
        r"In a run with $\alpha = 2$, the formula of Section 4.1 for the final model is 1.47 away from the model that "
        "the clients hold.",
        r"Include the scales in the returned models: $\alpha$ in Section 4.1 and $\alpha_p$ in Algorithm 4.",
    ),
    Finding(
        "misprints-in-proofs",
        "Fourteen slips in assumptions, definitions, proofs and settings, such as an angle for its cosine, change no "
        "result",
        "changes nothing",
        (
            "fedloru-v2/def-phi",
            "fedloru-v2/lem-A.6",
            "fedloru-v2/def-approx",
            "fedloru-v1/eq-20-22",
            "fedloru-v2/eq-28",
            "fedloru-v2/eq-44",
            "fedloru-v2/claim-Fj-mono",
            "fedloru-v2/eq-56",
            "fedloru-v2/assump-4.1",
            "fedloru-v2/lem-B.6-mid",
            "fedloru-v2/eq-83",
            "fedloru-v1/eq-14",
            "fedloru-v2/txt-alpha-ratio",
            "fedloru-v2/txt-pytorch",
        ),
        r"For a true eigenvalue $\theta = 1.1\,\sigma s_N$, 10 % above the noise level, the printed limit of the "
        "overlap between its eigenvector and the outlier's eigenvector is 0.174. The overlap is the square root of "
        "this, 0.417.",
        "Correct each slip as its entry says. PyTorch 11.4 does not exist, so treat the version as not given.",
    ),
    Finding(
        "when-low-rank-saves",
        "Communication and rank behave as claimed for generic matrices and a rank far below both sides of a layer",
        "changes nothing",
        ("fedloru-v2/claim-comm", "fedloru-v2/claim-mcomm", "fedloru-v2/claim-rank-growth"),
        "At rank 64, the factors of a 576 by 64 layer have 40,960 numbers, but the layer itself has 36,864.",
        "Check $r(m+n) < mn$ for each m by n layer at rank r, and draw a new random A in each cycle.",
    ),
    Finding(
        "relative-difference",
        "Captions divide the relative difference by FedLoRU's own accuracy; the printed numbers divide by the "
        "baseline's",
        "changes nothing",
        ("fedloru-v2/txt-ratio",),
        "For 400 clients the paper prints 0.673, but the formula in the caption gives 0.402.",
        "Read the printed ratios as gains relative to FedAvg, and replace -0.046, for FedLoRU with 20 clients, by "
        "-0.045.",
    ),
    Finding(
        "settings-and-counts",
        "Some settings contradict each other or are incomplete: model size, ranks, clients, splits, cycles, deviations",
        "changes nothing",
        (
            "fedloru-v2/txt-total20",
            "fedloru-iclr/txt-ratios",
            "fedloru-v2/txt-peft",
            "fedloru-v2/txt-std-a",
            "fedloru-iclr/tab-A2",
            "fedloru-v2/txt-splits",
            "fedloru-v2/txt-cycle",
            "fedloru-v2/txt-personal-params",
        ),
        "Both shares of trained parameters, 0.124 % and 0.248 %, fit LLaMA-2-7B, not a model of 3 billion parameters. "
        "6 + 6 + 7 clients make 19, not 20. Alpaca has 48,000 training samples in one place and 50,000 in another. The "
        "fine-tuning cycle of 15 rounds is not in the grid of 20 to 80.",
        "Ask the authors for the model, the ranks (96 is missing from the list) and the settings before you compare. "
        "The sizes in Table 3 count the shared parameters only, without the personal factors L and U.",
    ),
    Finding(
        "experiments-not-rerun",
        "We did not rerun full-scale experiments: CIFAR, a language model with billions of parameters, and incomplete "
        "settings",
        "changes nothing",
        (
            "fedloru-v2/txt-fig1",
            "fedloru-v2/txt-std-b",
            "fedloru-iclr/tab-1",
            "fedloru-v1/tab-1",
            "fedloru-v2/tab-5",
            "fedloru-v2/tab-3",
            "fedloru-v2/tab-4",
            "fedloru-v2/tab-6",
            "fedloru-v1/tab-2",
            "fedloru-v2/fig-2",
            "fedloru-iclr/fig-2b",
            "fedloru-v2/tab-7",
            "fedloru-v2/fig-3",
            "fedloru-v2/fig-5",
            "fedloru-v2/txt-align",
            "fedloru-v2/txt-ft",
            "fedloru-v2/txt-ft-train",
            "fedloru-iclr/fig-1",
        ),
        "18 entries depend on such runs or on pictures. We report laptop-scale runs with them, but these runs do not "
        "settle the statements.",
        "Take the printed accuracies as reported by the authors.",
    ),
)
