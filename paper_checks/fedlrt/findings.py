"""Findings about the paper: root causes, the most consequential first."""

from __future__ import annotations

from paper_checks.paper import Finding

FINDINGS = (
    Finding(
        "truncation-cost",
        r"Truncation can raise the loss by more than Theorem 2's $L\vartheta$ (L: smoothness constant, $\vartheta$: "
        "threshold of the cut)",
        "changes a main result",
        ("fedlrt/thm-2", "fedlrt/eq-36"),
        r"With $L = 1$ and the truncation threshold $\vartheta = 9/4$ truncation raises the loss by 63.86, where the "
        r"paper allows $L\vartheta = 2.25$. Smoothness bounds how fast the gradient changes, not the gradient.",
        r"Charge $\vartheta\|\nabla\mathcal{L}(\tilde W_r^*)\| + \frac L2\vartheta^2$ for a truncation, with the "
        r"gradient at the weights $\tilde W_r^*$ before it, or assume a bound on the gradient.",
    ),
    Finding(
        "projected-gradient-only",
        "Theorem 3 controls the gradient only within the low-rank bases, so FeDLRT can stop away from any "
        "stationary point",
        "changes a main result",
        ("fedlrt/claim-thm3-text",),
        r"With the truncation threshold $\vartheta = 1/40$ and a solution of rank two, a run leads to a point 1/2 "
        "away from the only stationary point, with a gradient of norm 1/2.",
        "Check the gradient of the full matrix at the end of a run; small gradients of the coefficients do not "
        "prove stationarity.",
    ),
    Finding(
        "assumption-too-weak",
        "Assumption 1 bounds what the simplified variance correction leaves out by each client's own gradient, not by "
        "the global one",
        "changes a main result",
        (
            "fedlrt/assumption-1",
            "fedlrt/thm-4",
            "fedlrt/cor-1",
            "fedlrt/eq-46",
            "fedlrt/thm-11-hat-first",
            "fedlrt/thm-11-hat-second",
        ),
        r"In a round that meets Assumption 1 with its constant $\delta = 1/10$ the loss rises by 0.25, where Theorem "
        "4 promises a fall of at least 1.72.",
        "Assume instead that the clients' gradients outside the block of S, the coefficients in the old bases, are "
        r"at most $\delta\|\nabla_{\tilde S}\mathcal{L}\|$, where $\tilde S$ are the coefficients in the augmented "
        "bases; the corrected Theorem 4 then holds.",
    ),
    Finding(
        "one-rate",
        "Theorem 3 claims its constant for all small learning rates, but the proof covers a single rate",
        "changes a main result",
        ("fedlrt/thm-3",),
        r"At $s_*\lambda L = 1/1000$ ($s_*$ local steps at the learning rate $\lambda$, smoothness constant L) a "
        "squared gradient of 1.5 exceeds the bound (13) of 0.0725 in a round that cuts nothing; 48 is valid from "
        "0.0213 on.",
        r"Use $1/(s_*\lambda(1 - s_*\lambda L))$ instead of $48L$ for $s_*\lambda L \le 1/2$, or fix $s_*\lambda = "
        "1/(24L)$ as the proof does.",
    ),
    Finding(
        "assumption-near-solution",
        "Assumption 1 can fail near a stationary point, where the paper says that it holds",
        "weakens a result",
        ("fedlrt/claim-assumption-when",),
        r"Its constant $\delta$, which should be far below 1, must be at least 0.41 after 60 rounds near the "
        "solution of a quadratic, and 0.68 to 1.24 at a distance of 0.01 in the homogeneous test of Section 4.1 (one "
        "target for all clients), on 24 draws.",
        r"Measure $\delta$ along the run before you rely on Theorem 4 or Corollary 1.",
    ),
    Finding(
        "shared-data",
        "In the heterogeneous test as described all clients have the same Hessian, so FedAvg with full gradients "
        "does not plateau",
        "weakens a result",
        ("fedlrt/fig-1", "fedlrt/claim-het-plateau"),
        r"With all points at every client FedAvg's limit is $8.1 \cdot 10^{-15}$ from the minimiser, and FeDLRT's "
        r"variants, with variance correction and without, differ by $2 \cdot 10^{-15}$ in ten rounds.",
        "Divide the points among the clients to see client drift; as described, the test does not show the value of "
        "variance correction. Expect 0.41 to 1.006 times FedLin's rounds, as on 120 sets of points.",
    ),
    Finding(
        "normalisation",
        "Section 4.1 names neither the normalisation of its polynomials nor its targets and starts, and its results "
        "depend on them",
        "weakens a result",
        (
            "fedlrt/exp-homogeneous",
            "fedlrt/claim-hom-stepsize",
            "fedlrt/claim-hom-rank",
            "fedlrt/claim-hom-error",
            "fedlrt/claim-hom-10x",
            "fedlrt/fig-4",
            "fedlrt/exp-heterogeneous",
            "fedlrt/claim-het-converge",
        ),
        "With polynomials of value 1 at 1 small starts fall below the target's rank 4 on 23 of 24 draws; with "
        "orthonormal ones the rank is found on all 16 draws, but the step size exceeds Theorem 2's limit for 32 "
        "clients.",
        "Use polynomials that are orthonormal for the uniform law to reproduce Figure 4, and name normalisation, "
        "targets, threshold and start.",
    ),
    Finding(
        "table-1-counts",
        "Table 1 has the right orders, but its constants are not the numbers that the algorithms send and store",
        "weakens a result",
        ("fedlrt/table-1",),
        "For a layer of n by n at rank r the full variance correction sends $6nr + 13r^2$ numbers where $6nr + "
        "10r^2$ is printed, and the server stores $4nr + 4r^2$ where $2nr + 4r^2$ is.",
        "Use Table 1 for orders only, and the corrected counts for budgets and break-even ranks.",
    ),
    Finding(
        "break-even-rank",
        "By Table 1's own entries, Figure 3's break-even rank of 200 is right for communication only, not for client "
        "compute and memory",
        "weakens a result",
        ("fedlrt/fig-3",),
        "By Table 1 as printed, for a layer of 512 by 512, FeDLRT with full variance correction breaks even with the "
        "full-rank method FedLin at rank 205 in communication, 94 in client compute and 158 in client memory.",
        "Take break-even ranks from the corrected counts, not from Table 1. For n = 512 they are 225 in communication, "
        "201 in client compute and 203 in client memory with the simplified correction, and 189, 150 and 184 with the "
        "full one.",
    ),
    Finding(
        "no-full-svd",
        "Averaging C client models of rank r does not require the full n by n matrix as long as $Cr < n$",
        "weakens a result",
        ("fedlrt/claim-alg6",),
        "For two models of rank 1 with n = 4 an SVD of size 2 is enough, where one of size 4 is said to be required.",
        "With few clients, average by QR of the stacked bases and an SVD of size $Cr$; the server cost is then "
        "linear in n as well.",
    ),
    Finding(
        "more-clients",
        "More clients do not make FeDLRT converge faster in the homogeneous test (one target for all clients)",
        "weakens a result",
        ("fedlrt/claim-hom-clients",),
        "To a distance of 0.01 from the minimiser one client needs 531 rounds, and 32 clients need 531 with the "
        "full and 540 with the simplified variance correction.",
        "Do not add clients to save rounds when the clients share one target and use full gradients.",
    ),
    Finding(
        "corollary-rate",
        "The proof of Corollary 1 uses a learning rate at which Theorem 4 promises no descent once $L \\ge 1/6$",
        "changes a proof only",
        ("fedlrt/cor-2-proof",),
        "From the smoothness constant $L = 1/6$ on, the bracket of Theorem 4's bound, which must be positive for a "
        "descent, is negative at that rate.",
        r"Use the corrected Theorem 4; under its assumption the factor 96 of the corollary is valid for $s_*\lambda "
        r"L$ from 1/94 to 1/2 ($s_*$ local steps at the learning rate $\lambda$).",
    ),
    Finding(
        "reversed-norms",
        "The last step of Theorem 4's proof uses an inequality of norms in the wrong direction",
        "changes a proof only",
        ("fedlrt/thm-11-combine",),
        r"At the smoothness constant $L = 1$, $s_*\lambda = 1/24$ ($s_*$ local steps at the learning rate $\lambda$) "
        r"and Assumption 1's constant $\delta = 1/10$ step (I), in the last chain of Appendix G.1, asserts $-0.02019 "
        r"\le -0.02040$ (with the printed $\delta$ for $\delta^2$ it asserts $-0.01628 \le -0.01649$).",
        r"Use $\|U^\top FV\|^2 \ge (1 - \delta^2)\|\tilde U^\top F\tilde V\|^2$ (F the negative gradient, U and V "
        r"the bases, $\tilde U$ and $\tilde V$ the augmented ones) under the stronger assumption, or the corrected "
        "Theorem 4.",
    ),
    Finding(
        "close-to-full",
        r"Gradients close to $\mathcal M_r$ must be those with a small part normal to it; a small distance from rank r "
        "is not enough",
        "changes nothing",
        ("fedlrt/claim-close-to-full",),
        r"With the loss $(W_{33} - 1)^2/2 + \eta(W_{12} + W_{21})$ from $e_1e_1^\top$ and $\eta = 10^{-4}$, gradients "
        r"are within $1.5 \cdot 10^{-4}$ of rank one and truncation cuts next to nothing, but after 300 steps of 1/100 "
        r"FeDLRT is 0.95 away from full-rank training, and as far for smaller $\eta$ and steps.",
        r"Read $\epsilon$ as a bound of $(I - UU^\top)G(I - VV^\top)$, the part of the gradient G that no tangent "
        "direction at the low-rank weights follows; then FeDLRT stays close to the full-rank method FedLin.",
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
        "With the printed sign (32), the formula for the aggregated weights, misses them by 3.30 in one round; with "
        "the other sign it is exact.",
        "Change the signs of the steps and inner products; no result depends on them.",
    ),
    Finding(
        "correction-outside-step",
        "Algorithm 4 and (40) print the variance correction of a local step outside the learning rate and with the "
        "wrong sign",
        "changes nothing",
        ("fedlrt/alg-4", "fedlrt/eq-40"),
        "From a stationary point of two parabolas a round of Algorithm 4 as printed, with two local steps, moves by "
        "0.0703.",
        r"Implement $W \leftarrow W - \lambda(\nabla\mathcal{L}_c(W) + V_c)$, with the learning rate $\lambda$ and "
        "client c's correction $V_c$, as Algorithm 2 does.",
    ),
    Finding(
        "tail-index",
        "The truncation rule is off by one: the tail that it measures contains the last singular value that is kept",
        "changes nothing",
        ("fedlrt/claim-trunc",),
        r"For the singular values 1, 1 and the threshold $\vartheta = 1/10$ no rank from 1 to 2 satisfies the "
        "printed rule.",
        r"Choose the least rank $r_1$ with $\|[\sigma_{r_1+1}, \ldots, \sigma_{2r}]\| < \vartheta$, the norm of the "
        "singular values after the $r_1$-th; then the coefficient matrix S has full rank.",
    ),
    Finding(
        "figure-1-floor",
        "The paper says both that FeDLRT stops short of the minimiser in Figure 1 and that it reaches the minimiser",
        "changes nothing",
        ("fedlrt/claim-thm3-figure",),
        r"In the test of Figure 1 with the truncation threshold $\tau = 0.01$, relative to the norm of the "
        r"coefficients, FeDLRT with full correction comes within $1.9 \cdot 10^{-7}$ of the minimiser; with $\tau = "
        "0.1$ it stops 0.2 away, at rank 3.",
        "Do not take Figure 1 as evidence either way: whether the threshold stops FeDLRT depends on its size, the "
        "start and the targets.",
    ),
    Finding(
        "naive-averaging",
        "Algorithm 6, the naive scheme, averages coefficients that belong to different bases",
        "changes nothing",
        ("fedlrt/alg-6",),
        "With two clients and a 3 by 3 matrix the server's model differs by 0.25 from the mean of the clients' models.",
        r"Average the models $U_cS_cV_c^\top$ of the clients c (coefficients $S_c$ in the bases $U_c$ and $V_c$), as "
        "Section 3 says; no experiment uses Algorithm 6.",
    ),
    Finding(
        "small-misprints",
        "Transposes, indices, letters, sizes, factors, exponents and a word are misprinted in thirteen statements",
        "changes nothing",
        (
            "fedlrt/eq-2",
            "fedlrt/alg-2",
            "fedlrt/eq-4",
            "fedlrt/eq-5",
            "fedlrt/eq-10",
            "fedlrt/lemma-3",
            "fedlrt/claim-server-qr-svd",
            "fedlrt/eq-17",
            "fedlrt/lemma-2",
            "fedlrt/thm-8-proof",
            "fedlrt/eq-42",
            "fedlrt/thm-7-first-term-lines",
            "fedlrt/thm-11-hat-lines",
        ),
        "In (25), the second bound of Lemma 3, for n = 4 rows and rank r = 1, the basis U has 1 column and the "
        "matrix F has 4 rows, so that the product does not exist.",
        "Correct them as you read; the lines around each one show the intended form.",
    ),
    Finding(
        "unsaid-conventions",
        "Usual conventions are left unsaid: disjoint data, small rates, short steps, bounded gradients, operator norms",
        "changes nothing",
        ("fedlrt/eq-1", "fedlrt/claim-fedlin", "fedlrt/thm-5", "fedlrt/lemma-3-proof"),
        "Two clients with two samples each share one: where its loss is 1 and that of the others 0, the loss over the "
        "union of their samples is 1/3, and the mean of their losses is 1/2.",
        r"Give each client samples of its own, take constant rates of at most $1/(Ls_*)$ (smoothness constant L, $s_*$ "
        r"local steps), read Theorem 5 for $\Delta t \le 1$ and bounded gradients, and norms of orthonormal bases as "
        "operator norms.",
    ),
    Finding(
        "vision-settings",
        "The settings of the vision experiments leave out choices that a rerun needs",
        "changes nothing",
        ("fedlrt/exp-resnet18", "fedlrt/exp-other-vision"),
        "With 32 clients the 240 local iterations that they share are 7.5 for each: 7 give 224 batches a round and "
        "8 give 256, but 240 are intended.",
        "Choose starting ranks, VGG16's low-rank layers and the rounding of local iterations yourself, and report "
        "them.",
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
