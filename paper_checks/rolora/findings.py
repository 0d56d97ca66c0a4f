"""Findings about the paper: root causes, the most consequential first."""

from __future__ import annotations

from paper_checks.paper import Finding

FINDINGS = (
    Finding(
        "step-too-long",
        "Lemma 5.3 (contraction) and Theorem 5.4 fail for steps near the admitted $1/L_{max}^2$; they hold up to "
        "half of it",
        "changes a main result",
        ("rolora/lem-5.3", "rolora/thm-5.4", "rolora/eq-100", "rolora/eq-117", "rolora/a4-first-step", "rolora/eq-124"),
        r"At $\eta\|b^*\|^2 = 1$, with the step size $\eta$ and the true factor $b^*$, and a start whose angle to "
        r"the true factor $a^*$ has the sine $\delta^0 = 0.28$, the first step with unlimited samples multiplies "
        "that sine by 0.743, and the lemma promises 0.28.",
        r"Use $\eta \le 1/(2L_{max}^2)$, where $L_{max}$ is a bound on $\|b^*\|$; for such steps the stated rate is "
        "proved. Above it, a search found the rate up to $0.71/L_{max}^2$ and a failure at $0.72/L_{max}^2$; with "
        r"unlimited samples it holds just up to $\eta\|b^*\|^2 = (3 + (\delta^0)^2)/4$. Read (9) as (80), and take "
        r"$c = \eta\|b^*\|^2$ in Theorem 5.4.",
    ),
    Finding(
        "c-not-tied-to-step",
        "The contraction and the iteration counts contain a constant c that is never tied to the step size",
        "weakens a result",
        ("rolora/a4-c", "rolora/eq-167", "rolora/thm-A.14"),
        r"For the step size $\eta$ with $\eta\|\bar b^*\|^2 = 0.01$ ($\bar b^*$ is the mean of the clients' true "
        r"factors), a first angle of sine $\delta_0 = 0.6$ and $c = 0.5$ the three iterations of Theorem A.14 leave "
        "the sine at 0.577, where 0.3 is the target.",
        r"Take $c = \eta\|b^*\|^2$ for equal clients, whose true factor is $b^*$, and $c = 2\eta\|\bar b^*\|^2$ for "
        "different ones, so that a shorter step needs more iterations.",
    ),
    Finding(
        "success-probability",
        r"The stated numbers of samples, and $m \ge Cq$, do not give the probabilities of Lemmas A.9 and A.10, $1 - "
        r"q^{-10}$ and $1 - 2q^{-10}$",
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
        r"The number q grows as the thresholds $\epsilon_0$, $\epsilon_1$, $\epsilon_2$ of the lemma shrink, and the "
        r"probability does not follow. For one client, in dimension $d = 2$, with $\epsilon_0 = \epsilon_1 = 0.1$, "
        r"$\epsilon_2 = 0.01$ and $m = 10q$ samples the logarithm of the probability that its bound, (13), fails is "
        "-48.1, and that of $q^{-10}$ is -110.0.",
        r"Put $\max\{\log N, d\}$ for q in the probabilities, for N clients, as Appendix A.4 does: $1 - \max\{\log "
        r"N, d\}^{-10}$, and $1 - 2d^{-10}$ for the gradient's bound (76), unless its threshold $\epsilon_3$ is "
        r"$\epsilon_2$. Or use $m \ge 20q$ and the explicit bound of the corrected Lemma A.9. The paper's $m = "
        r"\Omega(q)$ means $m \ge Cq$, with a constant C that does not depend on the thresholds. In (44) read "
        r"the factor $(\epsilon' + 1)^2$ of (76), in (109) "
        r"read $\tilde\epsilon$ for the first $\epsilon'$, and in (68) a for $a^\top$.",
    ),
    Finding(
        "table-1-averages",
        "Four averages in Table 1, all of competing methods, are printed too low",
        "weakens a result",
        ("rolora/table-1",),
        "At rank 8 with 50 clients the five accuracies of LoRA average 72.21, not 64.03, so that the lead of RoLoRA "
        "is 14.06 points over LoRA (22.24 printed) and 11.53 over FFA-LoRA (13.81 printed).",
        "Recompute the averages from the five columns before you quote a margin; the order of the methods stays the "
        "same.",
    ),
    Finding(
        "rolora-falls-too",
        "RoLoRA does not keep its accuracy from 3 to 20 or to 50 clients; it falls less than the other methods",
        "weakens a result",
        ("rolora/txt-table1-rolora",),
        "On the data set RTE its accuracy falls from 82.43 with 3 clients to 75.57 with 50, by 6.86 points, and the "
        "two printed deviations add up to 3.72.",
        "Say that RoLoRA loses least from 3 to 20 and from 3 to 50 clients; from 20 to 50 on RTE it loses most.",
    ),
    Finding(
        "toy-network-start",
        "With 0 as the derivative of ReLU at 0, as usual, the two-layer network of Section 5.2 cannot train from the "
        "printed start",
        "weakens a result",
        ("rolora/exp-5.2",),
        "With the factor B = 0 every hidden unit of the network, (12), is 0, and with 0 as the derivative of ReLU "
        "there the gradients of both factors, A and B, are 0.",
        "Add a frozen weight to AB or start from a nonzero B, and state which one you used when you compare with "
        "Figure 2.",
    ),
    Finding(
        "expectation-b-fixed",
        r"The proof takes the averaged factor $\bar b$ as fixed in the mean gradient and in its sums, though $\bar b$ "
        "comes from the same samples",
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
        "For one client with six samples and a cosine of 0.8 between the factor a and the true $a^*$ the mean over "
        r"all samples differs from (49), the mean with $\bar b$ fixed, by $0.18\|b^*\|^2$ along a, where $b^*$ is "
        "the other true factor.",
        r"Read $E[\nabla_al]$, the mean of the loss's gradient in a, as the vector (49); the bounds then hold with "
        "the same samples in both steps too. Only the norms of (52) to (58) need samples other than those behind "
        r"$\bar b$.",
    ),
    Finding(
        "fresh-samples",
        "The concentration steps, from (18) on, need samples that are independent of the factor $a^t$, and Algorithm 2 "
        "does not draw new ones",
        "changes a proof only",
        ("rolora/eq-18",),
        r"With $m = 10^8$ samples X in $10^7$ dimensions $\|Xa\|^2$ exceeds 1.02m in the second iteration with a "
        r"probability of at least 0.922, where a normal vector in place of $Xa$ does so with at most $5 \cdot "
        r"10^{-5}$.",
        "Draw fresh samples in each iteration, or use the corrected Lemma 5.3, which covers the same samples "
        "throughout as well.",
    ),
    Finding(
        "wrong-way-inequality",
        "The two derivations of the number of iterations print > where < is true",
        "changes nothing",
        ("rolora/eq-172", "rolora/eq-286"),
        r"For a first angle of sine $\delta^0 = 0.6$, the constant $c = 0.78125$ of the contraction and the accuracy "
        r"$\epsilon = 0.3$ the left side of (173), the iterations that are enough, is 2 and the right side, the "
        "stated number, 2.77.",
        "Turn the sign around; the stated number of iterations is then enough.",
    ),
    Finding(
        "equality-for-bound",
        "Two steps print an equality where only a bound is meant and true",
        "changes nothing",
        ("rolora/eq-26", "rolora/eq-175"),
        "In (180), on the error of the product after T iterations, the two sides are 0.408 and 0.51 in a case with "
        r"the sine $\delta^T = 0.4$ of the last angle and the accuracy $\epsilon = 0.5$.",
        r"Read $\le$ in (180) and in (29), a bound on a probability.",
    ),
    Finding(
        "too-few-samples",
        "For two clients or more the mean loss of FFA-LoRA is finite only from three samples on, which is not stated",
        "changes nothing",
        ("rolora/prop-5.5", "rolora/eq-230", "rolora/eq-237", "rolora/eq-205"),
        "The proof needs the mean square $E[R^2] = 1/(m - 2)$ of a quotient R of normal variables of the m samples. "
        "With one sample the formula gives -1 for it, and with two it has no value.",
        r"Use Proposition 5.5 with $m \ge 3$, from where on the mean of $R^2$ exists; (230) to (240) need only $m \ge "
        "2$, from where on the mean of the minimiser exists.",
    ),
    Finding(
        "missing-one-over-n",
        "Lemma A.15 and (250), the server's average in its proof, print a sum over the clients where the mean is meant",
        "changes nothing",
        ("rolora/lem-A.15", "rolora/eq-249"),
        "For two equal clients with the true factors $b_i^* = (1, 0)$ and a cosine of 0.6 between a and the true "
        "$a^*$ the printed sum is off by 0.6.",
        r"Read $\bar b^* = \frac1N\sum_ib_i^*$ for N clients, as in Definition A.13.",
    ),
    Finding(
        "small-slips",
        "Small slips in formulas and in one sentence, which every reader corrects",
        "changes nothing",
        ("rolora/txt-odd-even", "rolora/cor-A.5", "rolora/eq-189", "rolora/eq-207", "rolora/eq-241"),
        "With indices from 1 the right side of (208), which splits the mean of a squared sum into its terms, is "
        r"0.43 for two clients with $m = 3$ samples and the cosine $a^\top a^* = 0.6$ of the factor a and the true "
        "$a^*$, and the left side is 0.25.",
        r"Read $\beta$ in (193) to (202) as $\sqrt{1 - \alpha^2}$, start the double sum of (207) at 2, put E before "
        "the left sides of (241), an expected loss, end the sums of Corollary A.5 at d, and train B in odd "
        "rounds and A in even ones, as Algorithm 1 does.",
    ),
    Finding(
        "unique-up-to-sign",
        "The global minimiser is unique only up to a common sign of its two factors",
        "changes nothing",
        ("rolora/a5-minimiser",),
        r"The pair $(-a^*, -\bar b^*)$ has the same product as the stated minimiser $(a^*, \bar b^*)$ and so the "
        "same loss.",
        "Compare products or angles, as the theorems do, and not the factors themselves.",
    ),
    Finding(
        "table-8-units",
        "Table 8 gives its message sizes in a mixed unit, 1000 times the MiB",
        "changes nothing",
        ("rolora/table-8",),
        "The messages have 192 and 256 KiB, and the table has 187.5 and 250 KB.",
        "Read 0.1875 and 0.25 MiB; the three methods do send equally much.",
    ),
    Finding(
        "table-6-deviation",
        "Tables 1 and 6 print different deviations for the same run",
        "changes nothing",
        ("rolora/table-6",),
        "LoRA on the data set QNLI with 20 clients has a deviation of 2.02 in Table 1 and of 0.20 in Table 6.",
        "Do not use this deviation until the authors say which one is right.",
    ),
    Finding(
        "epochs-are-batches",
        "The local epochs of Table 4 fit its caption only if an epoch is one batch",
        "changes nothing",
        ("rolora/table-4",),
        "If an epoch is a pass over the data, 20 clients keep all 500 rounds; with batches they have 75, and 50 "
        "clients have 30.",
        "Set 20 local steps of one batch, and lower the rounds in proportion to the clients.",
    ),
    Finding(
        "rounding-of-trials",
        "One rule for rounding the trials does not fit both Table 2 and Table 10",
        "changes nothing",
        ("rolora/table-2", "rolora/table-10"),
        "Rounded trials cannot give 51.46 on the 1,838 examples of PIQA in Table 10, and trials that are cut off "
        "cannot give 32.03 on the 1,172 of ARC-c in Table 2.",
        "Treat the last digit of these means as uncertain.",
    ),
    Finding(
        "anatomy-in-stem",
        "The MMLU averages of Table 12 follow only if the anatomy questions count as STEM",
        "changes nothing",
        ("rolora/table-12",),
        "With the 135 questions of anatomy in STEM the three averages agree with their groups, and with anatomy in "
        "“other” 0.15 points are missing for LoRA.",
        "Use the groups of the common evaluation harness when you compare with this table.",
    ),
    Finding(
        "settings-incomplete",
        "The language-model experiments cannot be repeated from the settings that are printed",
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
        "Optimiser, LoRA scale, chosen learning rates and, for GLUE, the number of seeds are not printed.",
        "Ask the authors for their configuration files before you compare numbers.",
    ),
    Finding(
        "experiments-not-rerun",
        "Full-scale experiments were not rerun, and statements about other papers were not judged",
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
        "Figures 2 to 8 print no numbers, and the runs at laptop scale decide nothing about RoBERTa-Large and "
        "Llama-2-7B.",
        "Take these statements as reports of the authors.",
    ),
)
