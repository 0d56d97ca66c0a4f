"""Findings about the paper: root causes, the most consequential first."""

from __future__ import annotations

from paper_checks.paper import Finding

FINDINGS = (
    Finding(
        "truncation-cost",
        r"Truncation can raise the loss by more than $L\vartheta$, because smoothness does not "
        "bound the gradient",
        "changes a main result",
        ("fedlrt/thm-2", "fedlrt/eq-36"),
        r"With $L = 1$ and $\vartheta = 9/4$ truncation raises the loss by 63.86, where the paper "
        r"allows $L\vartheta = 2.25$.",
        r"Charge $\vartheta\|\nabla\mathcal{L}(\tilde W_r^*)\| + \frac L2\vartheta^2$ for a "
        "truncation, or assume a bound on the gradient.",
    ),
    Finding(
        "projected-gradient-only",
        "Theorem 3 controls the gradient only within the bases, so FeDLRT can stop away from any stationary point",
        "changes a main result",
        ("fedlrt/claim-thm3-text",),
        r"With $\vartheta = 1/40$ and a solution of rank two, a run leads to a point 1/2 away from "
        "the only stationary point, with a gradient of norm 1/2.",
        "Check the gradient of the full matrix at the end of a run; small gradients of the "
        "coefficients do not prove stationarity.",
    ),
    Finding(
        "assumption-too-weak",
        "Assumption 1 does not bound the part of the gradient that the simplified correction leaves out",
        "changes a main result",
        (
            "fedlrt/assumption-1",
            "fedlrt/thm-4",
            "fedlrt/cor-1",
            "fedlrt/eq-46",
            "fedlrt/thm-11-hat-first",
            "fedlrt/thm-11-hat-second",
        ),
        r"In a round that meets Assumption 1 with $\delta = 1/10$ the loss rises by 0.25, where "
        "Theorem 4 promises a fall of at least 1.72.",
        "Assume instead that the clients' gradients outside the block of S are at most "
        r"$\delta\|\nabla_{\tilde S}\mathcal{L}\|$; the corrected Theorem 4 then holds.",
    ),
    Finding(
        "one-rate",
        "Theorem 3 claims its constant for all small learning rates, but the proof covers a single rate",
        "changes a main result",
        ("fedlrt/thm-3",),
        r"Even without truncation the factor 48 is valid only from $s_*\lambda L = 0.0213$ on, and "
        "no constant is valid for all smaller rates.",
        r"Use $1/(s_*\lambda(1 - s_*\lambda L))$ instead of $48L$ for $s_*\lambda L \le 1/2$, or "
        r"fix $s_*\lambda = 1/(24L)$ as the proof does.",
    ),
    Finding(
        "assumption-near-solution",
        "Assumption 1 can fail near a stationary point, where the paper says that it holds",
        "weakens a result",
        ("fedlrt/claim-assumption-when",),
        r"Assumption 1 needs $\delta$ of at least 0.41 after 60 rounds near the solution of a quadratic, and 0.94 at "
        "a distance of 0.01 in the homogeneous test.",
        r"Measure $\delta$ along the run before you rely on Theorem 4 or Corollary 1.",
    ),
    Finding(
        "close-to-full",
        "Gradients close to low rank do not keep Algorithm 1 close to the full-rank method",
        "weakens a result",
        ("fedlrt/claim-close-to-full",),
        "If the loss is a function of one entry outside the bases, gradients have rank one and truncation cuts "
        "nothing, but after 5 rounds FeDLRT is 0.97 away from the weights of full-rank training.",
        "Look at the part of the gradients outside the augmented bases; the corrected bound is in terms of that part.",
    ),
    Finding(
        "shared-data",
        "In the heterogeneous test as described all clients have the same Hessian, so FedAvg with full "
        "gradients does not plateau",
        "weakens a result",
        ("fedlrt/fig-1", "fedlrt/claim-het-plateau"),
        r"With all points at every client FedAvg's limit is $8.1 \cdot 10^{-15}$ from the "
        r"minimiser, and FeDLRT's variants differ by $2 \cdot 10^{-15}$ in ten rounds.",
        "Divide the points among the clients to see client drift; as described, the test does not "
        "show the value of variance correction.",
    ),
    Finding(
        "step-too-long",
        "With the polynomials that give Figure 4's results, 32 clients break the step-size restriction of Theorem 2",
        "weakens a result",
        ("fedlrt/claim-hom-stepsize",),
        "The largest admitted rate is 0.0014 for one client and 0.000099 for 32 with orthonormal "
        "polynomials; the test uses 0.001.",
        "Do not take the homogeneous test with many clients as covered by Theorem 2; compute L "
        "from each client's own points.",
    ),
    Finding(
        "normalisation",
        "Section 4.1 names neither the normalisation of its polynomials nor its targets and starts, and its results "
        "depend on them",
        "weakens a result",
        (
            "fedlrt/exp-homogeneous",
            "fedlrt/claim-hom-rank",
            "fedlrt/claim-hom-error",
            "fedlrt/claim-hom-10x",
            "fedlrt/fig-4",
            "fedlrt/exp-heterogeneous",
            "fedlrt/claim-het-converge",
        ),
        "With value 1 at 1 small starts fall below rank 4 on 23 of 24 draws; with orthonormal "
        "polynomials the rank is found on all 16 draws tried.",
        "Use polynomials that are orthonormal for the uniform law to reproduce Figure 4, and name "
        "normalisation and start.",
    ),
    Finding(
        "table-1-counts",
        "Table 1 has the right orders, but its constants are not the numbers that the algorithms send and store",
        "weakens a result",
        ("fedlrt/table-1",),
        "The full correction sends $6nr + 13r^2$ numbers where $6nr + 10r^2$ is printed, and the "
        "server stores $4nr + 4r^2$ where $2nr + 4r^2$ is.",
        "Use Table 1 for orders only, and the corrected counts for budgets and break-even ranks.",
    ),
    Finding(
        "break-even-rank",
        "Figure 3's break-even rank of 200 agrees with Table 1 for communication only, not for "
        "client compute and memory",
        "weakens a result",
        ("fedlrt/fig-3",),
        "By Table 1 at n = 512 full correction breaks even with FedLin at rank 205 in "
        "communication, 94 in client compute and 158 in client memory.",
        "Count on savings of client compute below about 18 % of full rank, and of client memory below 31 %.",
    ),
    Finding(
        "no-full-svd",
        "Averaging low-rank client models does not require the full matrix as long as $Cr < n$",
        "weakens a result",
        ("fedlrt/claim-alg6",),
        "For two models of rank 1 with n = 4 an SVD of size 2 is enough, where one of size 4 is said to be required.",
        "With few clients, average by QR of the stacked bases and an SVD of size $Cr$; the server "
        "cost is then linear in n as well.",
    ),
    Finding(
        "more-clients",
        "More clients do not make FeDLRT converge faster in the homogeneous test",
        "weakens a result",
        ("fedlrt/claim-hom-clients",),
        "To a distance of 0.01 one client needs 531 rounds, and 32 clients need 531 with the full "
        "and 540 with the simplified correction.",
        "Do not add clients to save rounds when the clients share one target and use full gradients.",
    ),
    Finding(
        "corollary-rate",
        "The proof of Corollary 1 uses a learning rate at which Theorem 4 promises no descent",
        "changes a proof only",
        ("fedlrt/cor-2-proof",),
        "Theorem 4's bracket is negative at that rate from $L = 1/6$ on.",
        r"Use the corrected Theorem 4; under its assumption the factor 96 is valid for $s_*\lambda L$ from 1/94 "
        "to 1/2.",
    ),
    Finding(
        "reversed-norms",
        "The last step of Theorem 4's proof uses an inequality of norms in the wrong direction",
        "changes a proof only",
        ("fedlrt/thm-11-combine",),
        r"At $L = 1$, $s_*\lambda = 1/24$ and $\delta = 1/10$ step (I), in the last chain of Appendix G.1, asserts "
        r"$-0.01628 \le -0.01649$.",
        r"Use $\|U^\top FV\|^2 \ge (1 - \delta^2)\|\tilde U^\top F\tilde V\|^2$ under the stronger "
        "assumption, or the corrected Theorem 4.",
    ),
    Finding(
        "signs-of-f",
        "Some formulas treat F as the gradient, although Appendix C defines it as the negative gradient",
        "changes nothing",
        (
            "fedlrt/eq-26-gradients",
            "fedlrt/eq-32",
            "fedlrt/eq-33",
            "fedlrt/eq-39b",
            "fedlrt/eq-43-44",
            "fedlrt/thm-7-clients",
        ),
        "With the printed sign (32) misses the aggregated weights by 3.30 in one round; with the "
        "other sign it is exact.",
        "Change the signs of the steps and inner products; no result depends on them.",
    ),
    Finding(
        "correction-outside-step",
        "Algorithm 4 and (40) print the variance correction outside the learning rate and with the wrong sign",
        "changes nothing",
        ("fedlrt/alg-4", "fedlrt/eq-40"),
        "From a stationary point of two parabolas a round of Algorithm 4 as printed, with two "
        "local steps, moves by 0.0703.",
        r"Implement $W \leftarrow W - \lambda(\nabla\mathcal{L}_c(W) + V_c)$, as Algorithm 2 does.",
    ),
    Finding(
        "tail-index",
        r"The truncation rule is off by one index: the discarded tail starts at $\sigma_{r_1+1}$, "
        r"not at $\sigma_{r_1}$",
        "changes nothing",
        ("fedlrt/claim-trunc", "fedlrt/claim-factors"),
        r"For the singular values 1, 1 and $\vartheta = 1/10$ no rank from 1 to 2 satisfies the "
        "printed rule.",
        r"Choose the least $r_1$ with $\|[\sigma_{r_1+1}, \ldots, \sigma_{2r}]\| < \vartheta$; "
        "then S has full rank.",
    ),
    Finding(
        "figure-1-floor",
        "The paper says both that FeDLRT stops short of the minimiser in Figure 1 and that it reaches the minimiser",
        "changes nothing",
        ("fedlrt/claim-thm3-figure",),
        r"In the test of Figure 1 with the truncation threshold $\tau = 0.01$ FeDLRT with full correction comes within "
        r"$1.9 \cdot 10^{-7}$ of the minimiser.",
        "Do not take Figure 1 as evidence that the truncation threshold sets a floor.",
    ),
    Finding(
        "naive-averaging",
        "Algorithm 6 averages coefficients that belong to different bases",
        "changes nothing",
        ("fedlrt/alg-6",),
        "With two clients in 3 x 3 the server's model differs by 0.25 from the mean of the clients' models.",
        r"Average the models $U_cS_cV_c^\top$, as Section 3 says; no experiment uses Algorithm 6.",
    ),
    Finding(
        "small-misprints",
        "Transposes, indices, sizes, factors and exponents are misprinted in a dozen places",
        "changes nothing",
        (
            "fedlrt/eq-2",
            "fedlrt/eq-4",
            "fedlrt/eq-5",
            "fedlrt/lemma-3",
            "fedlrt/claim-server-qr-svd",
            "fedlrt/fig-2",
            "fedlrt/eq-17",
            "fedlrt/lemma-2",
            "fedlrt/thm-8-proof",
            "fedlrt/thm-10-proof",
            "fedlrt/eq-42",
            "fedlrt/thm-7-first-term-lines",
            "fedlrt/thm-11-hat-lines",
        ),
        "In (25), for n = 4 and r = 1, U has 1 column and F has 4 rows, so that the product does not exist.",
        "Correct them as you read; the lines around each one show the intended form.",
    ),
    Finding(
        "unsaid-conventions",
        "Usual conventions are left unsaid: disjoint data, small rates, operator norms, the signs "
        "of a QR decomposition",
        "changes nothing",
        ("fedlrt/eq-1", "fedlrt/claim-fedlin", "fedlrt/eq-22", "fedlrt/thm-5", "fedlrt/lemma-3-proof"),
        r"A library's QR may return -u for a column u of U, and then $\tilde U^\top U$ differs "
        "from $[I; 0]$ by 2.",
        r"Assemble $\tilde U = [U|\bar U]$ with U itself in front, and read the other conventions "
        "as usual.",
    ),
    Finding(
        "vision-settings",
        "The settings of the vision experiments leave out choices that a rerun needs",
        "changes nothing",
        ("fedlrt/exp-resnet18", "fedlrt/exp-other-vision", "fedlrt/exp-data"),
        "240/32 is 7.5 local iterations: 7 give 224 batches a round and 8 give 256, but 240 are intended.",
        "Choose starting ranks, VGG16's low-rank layers and the rounding of local iterations "
        "yourself, and report them.",
    ),
    Finding(
        "not-rerun",
        "Full-scale experiments were not rerun, and statements about hardware and literature were not checked",
        "changes nothing",
        (
            "fedlrt/claim-simplified-sufficient",
            "fedlrt/claim-order-of-magnitude",
            "fedlrt/claim-only-method",
            "fedlrt/exp-compute",
            "fedlrt/fig-5",
            "fedlrt/fig-6",
            "fedlrt/fig-7",
            "fedlrt/fig-8",
        ),
        "CIFAR10 and CIFAR100 runs of 200 rounds, with 10 initialisations for ResNet18, are beyond what is run here.",
        "Take these figures as reported by the authors.",
    ),
)
