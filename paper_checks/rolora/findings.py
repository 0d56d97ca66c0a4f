"""Findings about the paper: root causes, the most consequential first."""

from __future__ import annotations

from paper_checks.paper import Finding

FINDINGS = (
    Finding(
        "step-too-long",
        "Lemma 5.3 (contraction) and Theorem 5.4 fail for steps near the stated maximum $1/L_{max}^2$, but hold up to "
        "half of it",
        "changes a main result",
        ("rolora/lem-5.3", "rolora/thm-5.4", "rolora/eq-100", "rolora/eq-117", "rolora/a4-first-step", "rolora/eq-124"),
        r"Let the step size $\eta$ and the true factor $b^*$ satisfy $\eta\|b^*\|^2 = 1$, and let the start have an "
        r"angle of sine $\delta^0 = 0.28$ to the true factor $a^*$. With unlimited samples, the first step multiplies "
        "this sine by 0.743, but the lemma promises 0.28.",
        r"Use $\eta \le 1/(2L_{max}^2)$, where $L_{max}$ is a bound on $\|b^*\|$; we prove the stated rate for such "
        "steps. Above this limit, a search found that the rate holds up to $0.71/L_{max}^2$ and fails at "
        r"$0.72/L_{max}^2$. With unlimited samples it holds exactly up to $\eta\|b^*\|^2 = (3 + (\delta^0)^2)/4$. Read "
        r"(9) as (80), and take $c = \eta\|b^*\|^2$ in Theorem 5.4.",
    ),
    Finding(
        "c-not-tied-to-step",
        "The contraction and the iteration counts contain a constant c that is never tied to the step size",
        "weakens a result",
        ("rolora/a4-c", "rolora/eq-167", "rolora/thm-A.14"),
        r"Let the step size $\eta$ satisfy $\eta\|\bar b^*\|^2 = 0.01$, where $\bar b^*$ is the mean of the clients' "
        r"true factors. With a first angle of sine $\delta_0 = 0.6$ and $c = 0.5$, the three iterations of Theorem "
        "A.14 reduce the sine to 0.577 only; the target is 0.3.",
        r"Take $c = \eta\|b^*\|^2$ for identical clients, whose true factor is $b^*$, and $c = 2\eta\|\bar b^*\|^2$ "
        "for different clients. A shorter step then needs more iterations.",
    ),
    Finding(
        "success-probability",
        r"The stated sample sizes, and $m \ge Cq$, do not guarantee the probabilities that Lemmas A.9 and A.10 claim, "
        r"$1 - q^{-10}$ and $1 - 2q^{-10}$",
        "weakens a result",
        (
            "rolora/lem-A.9",
            "rolora/eq-43",
            "rolora/lem-A.10",
            "rolora/eq-77",
            "rolora/eq-65",
            "rolora/eq-90",
            "rolora/eq-92",
            "rolora/eq-96",
            "rolora/eq-107",
            "rolora/eq-110",
        ),
        r"The number q grows as the thresholds $\epsilon_0$, $\epsilon_1$, $\epsilon_2$ of the lemma shrink, but the "
        r"probability of failure does not decrease at that rate. For one client in dimension $d = 2$, with $\epsilon_0 "
        r"= \epsilon_1 = 0.1$, $\epsilon_2 = 0.01$ and $m = 10q$ samples, bound (13) fails with a probability whose "
        "logarithm is -48.1, but the logarithm of $q^{-10}$ is -110.0.",
        r"For N clients, replace q by $\max\{\log N, d\}$ in the probabilities, as Appendix A.4 does: $1 - \max\{\log "
        r"N, d\}^{-10}$, and $1 - 2d^{-10}$ for the gradient's bound (76), unless its threshold $\epsilon_3$ is "
        r"$\epsilon_2$. Or use $m \ge 20q$ and the explicit bound of the corrected Lemma A.9. The paper's $m = "
        r"\Omega(q)$ means $m \ge Cq$, with a constant C that does not depend on the thresholds. Read the factor in "
        r"(44) as the $(\epsilon' + 1)^2$ of (76), the first $\epsilon'$ in (109) as $\tilde\epsilon$, and $a^\top$ in "
        "(68) as a.",
    ),
    Finding(
        "table-1-averages",
        "Four averages in Table 1, all of competing methods, are too low",
        "weakens a result",
        ("rolora/table-1",),
        "At rank 8 with 50 clients, LoRA's five accuracies average 72.21, not 64.03. RoLoRA therefore leads LoRA by "
        "14.06 points (printed: 22.24) and FFA-LoRA by 11.53 points (printed: 13.81).",
        "Recompute the averages from the five columns before you quote a margin. The ranking of the methods does not "
        "change.",
    ),
    Finding(
        "rolora-falls-too",
        "RoLoRA does not keep its accuracy when the number of clients grows from 3 to 20 or 50, but it loses less than "
        "the other methods",
        "weakens a result",
        ("rolora/txt-table1-rolora",),
        "On RTE its accuracy falls from 82.43 with 3 clients to 75.57 with 50. This is a loss of 6.86 points, and the "
        "two printed deviations add up to only 3.72.",
        "Say that RoLoRA loses the least from 3 to 20 and from 3 to 50 clients. From 20 to 50 clients on RTE it loses "
        "the most.",
    ),
    Finding(
        "toy-network-start",
        "The two-layer network of Section 5.2 cannot be trained from the printed initial weights if ReLU has "
        "derivative 0 at 0, as is usual",
        "weakens a result",
        ("rolora/exp-5.2",),
        "With the factor B = 0, the inputs of all hidden units of the network (12) are 0. If ReLU has derivative 0 "
        "there, the gradients of both factors, A and B, are 0.",
        "Add a frozen weight to AB or start from a nonzero B, and state which one you used when you compare with "
        "Figure 2.",
    ),
    Finding(
        "expectation-b-fixed",
        r"The proof treats the averaged factor $\bar b$ as fixed in the mean gradient and its sums, but $\bar b$ comes "
        "from the same samples",
        "changes a proof only",
        (
            "rolora/eq-48",
            "rolora/eq-50",
            "rolora/eq-52",
            "rolora/eq-59",
            "rolora/eq-62",
            "rolora/eq-81",
            "rolora/eq-86",
        ),
        "For one client with six samples and a cosine of 0.8 between the factor a and the true factor $a^*$, the mean "
        r"over all samples differs from (49), the mean for fixed $\bar b$, by $0.18\|b^*\|^2$ in the direction of a. "
        "Here $b^*$ is the other true factor.",
        r"Read $E[\nabla_al]$, the mean of the loss's gradient in a, as the vector (49). The bounds then also hold "
        "with the same samples in both steps. Only the norms of (52) to (58) need samples that are independent of "
        r"$\bar b$.",
    ),
    Finding(
        "fresh-samples",
        "The concentration steps, from (18) on, need samples that are independent of the factor $a^t$, but Algorithm 2 "
        "draws no new ones",
        "changes a proof only",
        ("rolora/eq-18",),
        r"With $m = 10^8$ samples X in $10^7$ dimensions, $\|Xa\|^2$ exceeds 1.02m in the second iteration with a "
        r"probability of at least 0.922. For a normal vector instead of $Xa$, this probability is at most $5 \cdot "
        "10^{-5}$.",
        "Draw fresh samples in each iteration, or use the corrected Lemma 5.3, which also covers the case of the same "
        "samples throughout.",
    ),
    Finding(
        "wrong-way-inequality",
        "The two derivations of the number of iterations print > where < is true",
        "changes nothing",
        ("rolora/eq-172", "rolora/eq-286"),
        r"Take a first angle of sine $\delta^0 = 0.6$, the contraction constant $c = 0.78125$ and the accuracy "
        r"$\epsilon = 0.3$. The left side of (173), a sufficient number of iterations, is 2, but the right side, the "
        "stated number, is 2.77.",
        "Reverse the sign. The stated number of iterations is then sufficient.",
    ),
    Finding(
        "equality-for-bound",
        "Two steps print an equality, but only a bound is meant, and only a bound is true",
        "changes nothing",
        ("rolora/eq-26", "rolora/eq-175"),
        "Equation (180) is about the error of the product after T iterations. If the last angle has the sine "
        r"$\delta^T = 0.4$ and the accuracy is $\epsilon = 0.5$, its two sides are 0.408 and 0.51.",
        r"Read $\le$ in (180) and in the bound (29) on a probability.",
    ),
    Finding(
        "too-few-samples",
        "For two or more clients, FFA-LoRA's mean loss is finite only from three samples on; the paper does not say so",
        "changes nothing",
        ("rolora/prop-5.5", "rolora/eq-230", "rolora/eq-237", "rolora/eq-205"),
        "The proof needs the mean square $E[R^2] = 1/(m - 2)$ of a quotient R of normal variables of the m samples. "
        "For one sample this formula gives -1, and for two samples it is undefined.",
        r"Use Proposition 5.5 with $m \ge 3$, because the mean of $R^2$ exists only then. (230) to (240) need only $m "
        r"\ge 2$, for which the mean of the minimiser exists.",
    ),
    Finding(
        "missing-one-over-n",
        "Lemma A.15 and (250), the server's average in its proof, print a sum over the clients instead of the mean",
        "changes nothing",
        ("rolora/lem-A.15", "rolora/eq-249"),
        "For two identical clients with the true factors $b_i^* = (1, 0)$ and a cosine of 0.6 between a and the true "
        "factor $a^*$, the printed sum is off by 0.6.",
        r"Read $\bar b^* = \frac1N\sum_ib_i^*$ for N clients, as in Definition A.13.",
    ),
    Finding(
        "small-slips",
        "A few formulas and one sentence have small slips that every reader corrects",
        "changes nothing",
        ("rolora/txt-odd-even", "rolora/cor-A.5", "rolora/eq-189", "rolora/eq-207", "rolora/eq-241"),
        "Equation (208) splits the mean of a squared sum into its terms. Take two clients with $m = 3$ samples and the "
        r"cosine $a^\top a^* = 0.6$ between the factor a and the true factor $a^*$. With indices from 1, the right "
        "side is 0.43, but the left side is 0.25.",
        r"Read $\beta$ in (193) to (202) as $\sqrt{1 - \alpha^2}$, start the double sum of (207) at 2, put E before "
        "the left sides of (241), which is about an expected loss, and end the sums of Corollary A.5 at d. Train B in "
        "odd rounds and A in even rounds, as Algorithm 1 does.",
    ),
    Finding(
        "unique-up-to-sign",
        "The global minimiser is unique only up to a common sign of its two factors",
        "changes nothing",
        ("rolora/a5-minimiser",),
        r"The pair $(-a^*, -\bar b^*)$ has the same product as the stated minimiser $(a^*, \bar b^*)$, and therefore "
        "the same loss.",
        "Compare products or angles, as the theorems do, not the factors themselves.",
    ),
    Finding(
        "table-8-units",
        "Table 8 gives message sizes in a mixed unit: its numbers are 1000 times the size in MiB",
        "changes nothing",
        ("rolora/table-8",),
        "The messages have 192 and 256 KiB, but the table prints 187.5 and 250 KB.",
        "Read 0.1875 and 0.25 MiB. It is true that the three methods send equal amounts.",
    ),
    Finding(
        "table-6-deviation",
        "Tables 1 and 6 print different deviations for the same run",
        "changes nothing",
        ("rolora/table-6",),
        "For LoRA on QNLI with 20 clients, the deviation is 2.02 in Table 1 and 0.20 in Table 6.",
        "Do not use this deviation until the authors say which one is right.",
    ),
    Finding(
        "epochs-are-batches",
        "The local epochs of Table 4 fit its caption only if an epoch is one batch",
        "changes nothing",
        ("rolora/table-4",),
        "If an epoch is a pass over the data, 20 clients keep all 500 rounds. If it is a batch, 20 clients have 75 "
        "rounds and 50 clients have 30.",
        "Use 20 local steps of one batch each, and reduce the number of rounds in proportion to the number of clients.",
    ),
    Finding(
        "rounding-of-trials",
        "No single rule for rounding the trials explains both Table 2 and Table 10",
        "changes nothing",
        ("rolora/table-2", "rolora/table-10"),
        "Rounded trials cannot give the mean 51.46 on the 1,838 examples of PIQA in Table 10, and truncated trials "
        "cannot give 32.03 on the 1,172 examples of ARC-c in Table 2.",
        "Treat the last digit of these means as uncertain.",
    ),
    Finding(
        "anatomy-in-stem",
        "The MMLU averages in Table 12 are right only if the anatomy questions count as STEM",
        "changes nothing",
        ("rolora/table-12",),
        "If the 135 anatomy questions count as STEM, the three averages agree with their groups. If they count as "
        "“other”, LoRA's average is off by 0.15 points.",
        "Use the subject groups of the common evaluation harness when you compare with this table.",
    ),
    Finding(
        "settings-incomplete",
        "The language-model experiments cannot be repeated from the printed settings",
        "changes nothing",
        (
            "rolora/table-7-every",
            "rolora/table-9",
            "rolora/table-11",
            "rolora/table-1-runs",
            "rolora/exp-6",
            "rolora/exp-glue",
            "rolora/exp-commonsense",
            "rolora/exp-generation",
        ),
        "The paper does not print the optimiser, the LoRA scale, the chosen learning rates or, for GLUE, the number of "
        "seeds.",
        "Ask the authors for their configuration files before you compare numbers.",
    ),
    Finding(
        "experiments-not-rerun",
        "We did not rerun full-scale experiments or judge statements about other papers",
        "changes nothing",
        (
            "rolora/txt-interference",
            "rolora/txt-sample-size",
            "rolora/fig-2",
            "rolora/fig-3",
            "rolora/fig-4",
            "rolora/fig-5",
            "rolora/fig-6",
            "rolora/txt-fewer-params",
        ),
        "Figures 2 to 8 print no numbers, and our runs at laptop scale settle nothing about RoBERTa-Large and "
        "Llama-2-7B.",
        "Take these statements as reported by the authors.",
    ),
)
