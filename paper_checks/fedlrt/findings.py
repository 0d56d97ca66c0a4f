"""Findings about the paper: root causes, the most consequential first."""

from __future__ import annotations

from paper_checks.paper import Finding

FINDINGS = (
    Finding(
        "truncation-cost",
        r"Truncation can raise the loss by more than the term $L\vartheta$ of Theorem 2 (L: smoothness constant, "
        r"$\vartheta$: truncation threshold)",
        "changes a main result",
        ("fedlrt/thm-2", "fedlrt/eq-36"),
        r"With $L = 1$ and the truncation threshold $\vartheta = 9/4$, truncation raises the loss by 63.86, but the "
        r"paper allows only $L\vartheta = 2.25$. L-smoothness bounds how fast the gradient changes, but not its norm.",
        r"Take $\vartheta\|\nabla\mathcal{L}(\tilde W_r^*)\| + \frac L2\vartheta^2$ as the cost of a truncation, where "
        r"$\tilde W_r^*$ are the weights before truncation, or assume a bound on the gradient.",
    ),
    Finding(
        "projected-gradient-only",
        "Theorem 3 controls the gradient only within the low-rank bases, so FeDLRT can stop well away from "
        "every stationary point",
        "changes a main result",
        ("fedlrt/claim-thm3-text",),
        r"With the truncation threshold $\vartheta = 1/40$ and a solution of rank two, a run converges to a "
        "point where the gradient has norm 1/2, at a distance of 1/2 from the only stationary point.",
        "Check the gradient with respect to the full matrix at the end of a run, because a small gradient with "
        "respect to the coefficients does not prove stationarity.",
    ),
    Finding(
        "assumption-too-weak",
        "To bound what the simplified variance correction neglects, Assumption 1 uses each client's own gradient, not "
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
        r"In a round that meets Assumption 1 with its constant $\delta = 1/10$, the loss rises by 0.25, but Theorem 4 "
        "promises a decrease of at least 1.72.",
        "Assume instead that the clients' gradients outside the block of S, the coefficients in the old bases, have "
        r"norms of at most $\delta\|\nabla_{\tilde S}\mathcal{L}\|$, where $\tilde S$ are the coefficients in the "
        "augmented bases. Then the corrected Theorem 4 holds.",
    ),
    Finding(
        "one-rate",
        "Theorem 3 claims that its constant is valid for all small learning rates, but the proof covers a single rate",
        "changes a main result",
        ("fedlrt/thm-3",),
        r"At $s_*\lambda L = 1/1000$ ($s_*$ local steps at the learning rate $\lambda$, smoothness constant L) a "
        "squared gradient norm of 1.5 exceeds 0.0725, the bound in (13), in a round without truncation. The constant "
        r"48 is valid for $s_*\lambda L \ge 0.0213$.",
        r"Use $1/(s_*\lambda(1 - s_*\lambda L))$ instead of $48L$ for $s_*\lambda L \le 1/2$, or fix $s_*\lambda = "
        "1/(24L)$ as the proof does.",
    ),
    Finding(
        "assumption-near-solution",
        "Assumption 1 can fail near a stationary point, although the paper says that it holds there",
        "weakens a result",
        ("fedlrt/claim-assumption-when",),
        r"Its constant $\delta$ should be far below 1. But on a quadratic loss, near the minimiser after 60 rounds, it "
        "must be at least 0.41. In 24 draws of the homogeneous test of Section 4.1 (one target for all clients), the "
        "smallest value that suffices at a distance of 0.01 from the minimiser ranges from 0.68 to 1.24.",
        r"Measure $\delta$ along the run before you rely on Theorem 4 or Corollary 1.",
    ),
    Finding(
        "shared-data",
        "In the heterogeneous test as described, all clients have the same Hessian, so FedAvg with full gradients does "
        "not plateau",
        "weakens a result",
        ("fedlrt/fig-1", "fedlrt/claim-het-plateau"),
        r"If every client has all points, FedAvg's limit is $8.1 \cdot 10^{-15}$ from the minimiser, and in ten "
        r"rounds FeDLRT with variance correction differs by $2 \cdot 10^{-15}$ from FeDLRT without it.",
        "Divide the points among the clients to see client drift; as described, the test does not show the value of "
        "variance correction. Expect FeDLRT to need 0.41 to 1.006 times as many rounds as FedLin, as it did on 120 "
        "sets of points.",
    ),
    Finding(
        "normalisation",
        "Section 4.1 does not give the normalisation of its polynomials, the targets or the initial weights, and its "
        "results depend on them",
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
        "With polynomials that equal 1 at x = 1, runs from small initial weights fall below the target's rank of 4 in "
        "23 of 24 draws. With orthonormal polynomials FeDLRT finds the rank in all 16 draws, but the step size exceeds "
        "Theorem 2's limit for 32 clients.",
        "To reproduce Figure 4, use polynomials that are orthonormal with respect to the uniform distribution, and "
        "report the normalisation, the targets, the threshold and the initial weights.",
    ),
    Finding(
        "table-1-counts",
        "Table 1 has the right asymptotic orders, but its constants differ from what the algorithms send and store",
        "weakens a result",
        ("fedlrt/table-1",),
        "For an n by n layer at rank r, the full variance correction sends $6nr + 13r^2$ numbers, not the printed $6nr "
        "+ 10r^2$, and the server stores $4nr + 4r^2$ numbers, not $2nr + 4r^2$.",
        "Use Table 1 for asymptotic orders only, and the corrected counts for budgets and break-even ranks.",
    ),
    Finding(
        "break-even-rank",
        "By Table 1's own entries, Figure 3's break-even rank of 200 is right for communication only, not for client "
        "compute and memory",
        "weakens a result",
        ("fedlrt/fig-3",),
        "According to Table 1 as printed, FeDLRT with full variance correction breaks even with the full-rank method "
        "FedLin on a 512 by 512 layer at rank 205 in communication, 94 in client compute and 158 in client memory.",
        "Take break-even ranks from the corrected counts, not from Table 1. For n = 512 they are 225 in communication, "
        "201 in client compute and 203 in client memory with the simplified correction, and 189, 150 and 184 with the "
        "full one.",
    ),
    Finding(
        "no-full-svd",
        "Averaging C client models of rank r does not require the full n by n matrix as long as $Cr < n$",
        "weakens a result",
        ("fedlrt/claim-alg6",),
        "For two models of rank 1 with n = 4, an SVD of size 2 is enough; the paper says that it must have size 4.",
        "With few clients, average by a QR factorisation of the stacked bases and an SVD of size $Cr$. The server's "
        "cost is then also linear in n.",
    ),
    Finding(
        "more-clients",
        "More clients do not make FeDLRT converge faster in the homogeneous test (one target for all clients)",
        "weakens a result",
        ("fedlrt/claim-hom-clients",),
        "To come within 0.01 of the minimiser, one client needs 531 rounds. With 32 clients it takes 531 rounds with "
        "the full variance correction and 540 with the simplified one.",
        "Do not add clients to save rounds when the clients share one target and use full gradients.",
    ),
    Finding(
        "corollary-rate",
        "The proof of Corollary 1 uses a learning rate at which Theorem 4 promises no descent once $L \\ge 1/6$",
        "changes a proof only",
        ("fedlrt/cor-2-proof",),
        "Descent needs a positive bracket in Theorem 4's bound. At the proof's learning rate the bracket is negative "
        r"for every smoothness constant $L \ge 1/6$.",
        r"Use the corrected Theorem 4; under its assumption the factor 96 of the corollary is valid for $s_*\lambda "
        r"L$ from 1/94 to 1/2 ($s_*$ local steps at the learning rate $\lambda$).",
    ),
    Finding(
        "reversed-norms",
        "The last step of Theorem 4's proof uses an inequality of norms in the wrong direction",
        "changes a proof only",
        ("fedlrt/thm-11-combine",),
        r"With the smoothness constant $L = 1$, $s_*\lambda = 1/24$ ($s_*$ local steps at the learning rate $\lambda$) "
        r"and Assumption 1's constant $\delta = 1/10$, step (I) of the last chain of inequalities in Appendix G.1 "
        r"asserts $-0.02019 \le -0.02040$ (with $\delta$, as printed, instead of $\delta^2$, it asserts $-0.01628 \le "
        r"-0.01649$).",
        r"Under the assumption of the corrected Theorem 4, use $\|U^\top FV\|^2 \ge (1 - \delta^2)\|\tilde U^\top "
        r"F\tilde V\|^2$, where F is the negative gradient, U and V are the bases, and $\tilde U$ and $\tilde V$ are "
        "the augmented bases. Or use that theorem directly.",
    ),
    Finding(
        "close-to-full",
        r"“Gradients close to $\mathcal M_r$” (matrices of rank r) must mean a small normal component, not only a "
        r"small distance from $\mathcal M_r$",
        "changes nothing",
        ("fedlrt/claim-close-to-full",),
        r"With the loss $(W_{33} - 1)^2/2 + \eta(W_{12} + W_{21})$, $\eta = 10^{-4}$ and the start $e_1e_1^\top$, "
        r"the gradients are within $1.5 \cdot 10^{-4}$ of a matrix of rank one and truncation removes almost nothing. "
        "Nevertheless, after 300 steps of size 1/100, FeDLRT's weights are 0.95 away from those of full-rank training, "
        r"and just as far for smaller $\eta$ and smaller steps.",
        r"Read the paper's $\epsilon$ as a bound on $(I - UU^\top)G(I - VV^\top)$, the component of the gradient G "
        "normal to the tangent space at the low-rank weights. Then FeDLRT stays close to the full-rank method FedLin.",
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
        "With the printed sign, formula (32) for the aggregated weights is off by 3.30 in one round; with the other "
        "sign it is exact.",
        "Change the signs of the steps and of the inner products. No result depends on them.",
    ),
    Finding(
        "correction-outside-step",
        "In Algorithm 4 and (40) the variance correction of a local step is not multiplied by the learning rate and "
        "has the wrong sign",
        "changes nothing",
        ("fedlrt/alg-4", "fedlrt/eq-40"),
        "Let the losses of two clients be parabolas. From the stationary point of their mean, Algorithm 4 as printed "
        "moves by 0.0703 in a round with two local steps.",
        r"Implement $W \leftarrow W - \lambda(\nabla\mathcal{L}_c(W) + V_c)$, with the learning rate $\lambda$ and "
        "client c's correction $V_c$, as Algorithm 2 does.",
    ),
    Finding(
        "tail-index",
        "The truncation rule is off by one: its tail includes the last singular value that is kept",
        "changes nothing",
        ("fedlrt/claim-trunc",),
        r"For singular values 1 and 1 and the threshold $\vartheta = 1/10$, neither rank 1 nor rank 2 satisfies the "
        "printed rule.",
        r"Choose the smallest rank $r_1$ for which the norm of the singular values after the $r_1$-th is below the "
        r"threshold: $\|[\sigma_{r_1+1}, \ldots, \sigma_{2r}]\| < \vartheta$. Then the coefficient matrix S has full "
        "rank.",
    ),
    Finding(
        "figure-1-floor",
        "The paper says both that FeDLRT stops short of the minimiser in Figure 1 and that it reaches the minimiser",
        "changes nothing",
        ("fedlrt/claim-thm3-figure",),
        r"In the test of Figure 1, FeDLRT with full correction comes within $1.9 \cdot 10^{-7}$ of the minimiser if "
        r"the truncation threshold, relative to the norm of the coefficients, is $\tau = 0.01$. With $\tau = 0.1$ it "
        "stops 0.2 away, at rank 3.",
        "Do not take Figure 1 as evidence either way. Whether the threshold stops FeDLRT depends on its size, on the "
        "start and on the targets.",
    ),
    Finding(
        "naive-averaging",
        "Algorithm 6, the naive scheme, averages coefficients that belong to different bases",
        "changes nothing",
        ("fedlrt/alg-6",),
        "With two clients and a 3 by 3 matrix, the server's model differs by 0.25 from the mean of the clients' "
        "models.",
        r"Average the models $U_cS_cV_c^\top$ of the clients c (coefficients $S_c$ in the bases $U_c$ and $V_c$), as "
        "Section 3 says; no experiment uses Algorithm 6.",
    ),
    Finding(
        "small-misprints",
        "Thirteen statements have a misprinted transpose, index, letter, size, factor, exponent or word",
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
        "For n = 4 rows and rank r = 1, the second bound of Lemma 3, eq. (25), multiplies a basis U with 1 column by a "
        "matrix F with 4 rows. This product does not exist.",
        "Correct these misprints as you read. The lines around each one show the intended form.",
    ),
    Finding(
        "unsaid-conventions",
        "The paper leaves the usual conventions unstated: disjoint data, small rates, short steps, bounded gradients, "
        "operator norms",
        "changes nothing",
        ("fedlrt/eq-1", "fedlrt/claim-fedlin", "fedlrt/thm-5", "fedlrt/lemma-3-proof"),
        "Let two clients with two samples each share one sample. If the loss of this sample is 1 and all others are 0, "
        "the loss over the union of the samples is 1/3, but the mean of the clients' losses is 1/2.",
        "Give each client samples of its own. Take constant learning rates of at most $1/(Ls_*)$ (smoothness constant "
        r"L, $s_*$ local steps). Read Theorem 5 for $\Delta t \le 1$ and bounded gradients, and read the norms of "
        "orthonormal bases as operator norms.",
    ),
    Finding(
        "vision-settings",
        "The settings of the vision experiments omit choices that are needed to repeat them",
        "changes nothing",
        ("fedlrt/exp-resnet18", "fedlrt/exp-other-vision"),
        "32 clients share 240 local iterations, which makes 7.5 for each. With 7 each, a round has 224 batches, and "
        "with 8 each it has 256, but the paper intends 240.",
        "Choose the starting ranks, the low-rank layers of VGG16 and the rounding of local iterations yourself, and "
        "report them.",
    ),
    Finding(
        "not-rerun",
        "We did not rerun full-scale experiments or check statements about hardware and literature",
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
        "The paper's runs of 200 rounds on CIFAR10 and CIFAR100, with 10 initialisations for ResNet18, need more "
        "computing than we can do here.",
        "Take these results as the authors report them.",
    ),
)
