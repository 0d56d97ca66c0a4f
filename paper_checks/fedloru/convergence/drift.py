"""Appendix B.1: how far the local steps move the factors and their gradients (Lemmas B.7 and B.8, eqs. 63 to 66)."""

from __future__ import annotations

import torch

from paper_checks.claim import Best, Evidence, Form, claim
from paper_checks.context import Context
from paper_checks.fedloru.convergence.bounded_runs import Bounded, Setting, Trace, follow
from paper_checks.fedloru.convergence.bounded_settings import (
    SCOPE,
    WITH_COHORTS,
    at_most,
    equal,
    follow_settings,
    in_full,
    judge_bounds,
)
from paper_checks.methods.promises import Promise

Traces = tuple[Trace, ...]


def follow_with_corners(context: Context) -> Traces:
    """The runs of all claims, and before them two steps from given numbers.

    The first, of two rows and two columns far out, can be followed by hand; in the second, of one weight, the sample
    that moves A makes it larger.
    """
    numbers = {"W": "5 5 5 -5", "A": "1 1", "B": "1 0"}
    W, A, B = (torch.tensor([float(text) for text in numbers[name].split()], dtype=torch.float64) for name in numbers)
    far = Bounded(torch.zeros(1, 2, 2, dtype=torch.float64), 1.0, 1.0)
    case = {**numbers, "L": 1, "zone": 1, "rate": "1/10", "samples": "1 3"}
    corners = Setting("corners", (far,), W.reshape(2, 2), A.reshape(2, 1), B.reshape(1, 2), 0.1, case=case)
    one = torch.ones(1, 1, dtype=torch.float64)
    samples = Bounded(torch.stack([one, 3.0 * one]), 1.0, 1.0)
    outward = Setting("samples that move A outward", (samples,), 0.0 * one, one, one, 0.1, noisy=True, share=1.0)
    return follow(corners), follow(outward), *follow_settings(context)


@claim(
    "fedloru-v2/lem-B.6-mid",
    where="Appendix B.1, proof of Lemma B.6, its displays before the last one",
    says=r"With $D = \nabla_Wf_t(A_{t+1}B_t) - \nabla_Wf_t(A_tB_t)$ and $u = A_{t+1} - A_t$ (our abbreviations): "
    r"$\mathbb{E}\|\nabla_Bf_t(A_{t+1}B_t) - \nabla_Bf_t(A_tB_t)\|^2 = "
    r"\mathbb{E}\|A_{t+1}^T\nabla_Wf_t(A_{t+1}B_t) - A_t^T\nabla_Wf_t(A_tB_t)\|^2 = \mathbb{E}\|A_{t+1}^TD + "
    r"u^T\nabla_Wf_t(A_tB_t)\|^2 \le 2\mathbb{E}\|A_{t+1}^TD\|^2 + 2\mathbb{E}\|u^T\nabla_Wf_t(A_tB_t)\|^2$; "
    r"$\mathbb{E}\|A_{t+1}^TD\|^2 \le \mathbb{E}\|A_{t+1}\|^2\,\mathbb{E}\|D\|^2 \le "
    r"L^2C_A^2\,\mathbb{E}\|A_{t+1}B_t - A_tB_t\|^2 \le L^2C_A^2C_B^2\,\mathbb{E}\|u\|^2$; "
    r"$\mathbb{E}\|u^T\nabla_Wf_t(A_tB_t)\|^2 = \mathbb{E}[\|u\|^2\|\nabla_Wf_t(A_tB_t)\|^2] \le "
    r"G^2\,\mathbb{E}\|u\|^2$.",
    measure=follow_with_corners,
    control=Form("The first and the last of the three displays, with at most for the last equality.", {"kept": (1, 3)}),
    correction=Form(
        r"$\mathbb{E}\|A_{t+1}^TD\|^2 \le \mathbb{E}[\|A_{t+1}\|^2\|D\|^2] \le C_A^2\,\mathbb{E}\|D\|^2$, since the "
        r"norm of $A_{t+1}$ is bounded in every run, and $\mathbb{E}\|u^T\nabla_W\|^2 \le "
        r"\mathbb{E}[\|u\|^2\|\nabla_W\|^2]$; all other members as printed, so that the lemma is not affected.",
        {"product": "inside", "exactly": False},
        ({"product": "outside"}, {"exactly": True}, {"constant": 1.9}),
    ),
    importance="detail",
    uses=("fedloru-v2/assump-4.1",),
    because="Norms are submultiplicative, not multiplicative, and a mean of products can exceed the product of the "
    "means.",
    expect=("corrected", "proof"),
)
def lem_B_6_mid(
    traces: Traces,
    constant: float = 2.0,
    product: str = "outside",
    exactly: bool = True,
    kept: tuple[int, ...] = (1, 2, 3),
) -> Evidence:
    """Every member of the three displays; ``product``: of the means (outside) or in the mean (inside)."""
    lines = []
    for trace in traces:
        L, C_A, C_B = trace.L, trace.C_A, trace.C_B
        for one in trace.rounds:
            both = one["grown"] * one["bent"] if product == "outside" else one["grown_bent"]
            shown = {
                1: [at_most("first display", one["cross"], constant * (one["turned"] + one["crossed"]), trace)],
                2: [
                    at_most("second display, first step", one["turned"], both, trace),
                    at_most("second display, second step", both, (L * C_A) ** 2 * one["product"], trace),
                    at_most(
                        "second display, last step",
                        (L * C_A) ** 2 * one["product"],
                        (L * C_A * C_B) ** 2 * one["dA"],
                        trace,
                    ),
                ],
                3: [at_most("third display, last step", one["apart"], trace.G**2 * one["dA"], trace)],
            }
            for display in kept:
                lines += shown[display]
            first = equal if exactly and kept == (1, 2, 3) else at_most
            lines.append(first("third display, first step", one["crossed"], one["apart"], trace))
    return judge_bounds(lines, WITH_COHORTS)


@claim(
    "fedloru-v2/lem-B.7",
    where="Appendix B.1, Lemma B.7",
    says=r"At each round $\mathbb{E}\|A_{t+1}-A_t\|^2 \le 2\eta^2(\sigma^2+G^2)C_B^2E^2$ and "
    r"$\mathbb{E}\|B_{t+1}-B_t\|^2 \le 2\eta^2(\sigma^2+G^2)C_A^2E^2$; for any client and any local step $i \le E$, "
    r"$\mathbb{E}\|A_{t,i}^{(k)}-A_{t,0}^{(k)}\|^2 \le 2\eta^2i^2(\sigma^2+G^2)C_B^2$ and "
    r"$\mathbb{E}\|B_{t,i}^{(k)}-B_{t,0}^{(k)}\|^2 \le 2\eta^2i^2(\sigma^2+G^2)C_A^2$.",
    measure=follow_settings,
    mutants=[{"constant": 0.99}, {"steps_power": 1}, {"other": "own"}, {"rate_power": 3}],
    uses=("fedloru-v2/assump-4.1", "fedloru-v2/eq-61-62"),
    best={
        "constant": Best(
            1.0, r"proved: by (A.2) alone $G^2$ serves for $2(\sigma^2 + G^2)$, approached as $\eta \to 0$"
        )
    },
    expect=("holds", "proof"),
)
def lem_B_7(
    traces: Traces, constant: float = 2.0, steps_power: int = 2, other: str = "other", rate_power: int = 2
) -> Evidence:
    """Every round; the clients' own moves after every local step. ``other`` says whose bound stands in whose line."""
    lines = []
    for trace in traces:
        E, rate = trace.setting.steps, trace.setting.rate
        scale = constant * rate**rate_power * (trace.sigma2 + trace.G**2)
        bounds = {"A": trace.C_B, "B": trace.C_A} if other == "other" else {"A": trace.C_A, "B": trace.C_B}
        for one in trace.rounds:
            for name, C in bounds.items():
                lines.append(at_most(f"change of {name}", one[f"d{name}"], scale * C**2 * E**steps_power, trace))
                lines += [
                    at_most(f"local change of {name}", one[f"{name} {k} {i}"], scale * C**2 * i**steps_power, trace)
                    for k in trace.setting.everyone
                    for i in range(1, E + 1)
                ]
    return judge_bounds(lines, WITH_COHORTS)


@claim(
    "fedloru-v2/lem-B.7-mid",
    where='Appendix B.1, proof of Lemma B.7, the lines before and after "Combining these bounds"',
    says=r"$\mathbb{E}\|\tilde\Delta_{A,t}^{(k)}\|^2 \le "
    r"\frac1{E^2}\sum_i\mathbb{E}\|\tilde\nabla_Wf_{t,i}\|^2\|B_{t,i}\|^2 \le 2(\sigma^2+G^2)C_B^2/E$, by Jensen's "
    r"inequality; $\mathbb{E}\|A_{t+1}-A_t\|^2 \le \eta^2E^2\sum_kp^{(k)}\frac{2(\sigma^2+G^2)C_B^2}E = "
    r"2\eta^2E^2(\sigma^2+G^2)C_B^2$.",
    measure=follow_settings,
    control=Form("The lines for $E = 1$.", {"only_one": True}),
    correction=Form(
        r"Jensen's inequality gives $\mathbb{E}\|\tilde\Delta_{A,t}^{(k)}\|^2 \le "
        r"\frac1E\sum_i\mathbb{E}\|\tilde\nabla_Wf_{t,i}\|^2\|B_{t,i}\|^2 \le G^2C_B^2$, without 1/E, so that "
        r"$\mathbb{E}\|A_{t+1}-A_t\|^2 \le \eta^2E^2G^2C_B^2$. (The last equality drops the 1/E again, so that the "
        "lemma is not affected.)",
        {"steps_power": 0, "constant": 1.0, "sigma": 0.0},
        ({"steps_power": -1}, {"constant": 0.99}, {"other": "own"}),
    ),
    vary=("constant",),
    uses=("fedloru-v2/assump-4.1",),
    because=r"Jensen's inequality gives $\frac1E\sum_i$ and not $\frac1{E^2}\sum_i$: equal gradients do not average "
    "out.",
    expect=("corrected", "proof"),
)
def lem_B_7_mid(
    traces: Traces,
    constant: float = 2.0,
    steps_power: int = -1,
    sigma: float = 1.0,
    other: str = "other",
    only_one: bool = False,
) -> Evidence:
    """The mean of E steps is the whole local change over eta E; ``sigma`` is the weight of the variance."""
    ends, lines = [], []
    for trace in traces:
        E, rate = trace.setting.steps, trace.setting.rate
        if only_one and E > 1:
            continue
        scale = constant * (sigma * trace.sigma2 + trace.G**2) * float(E) ** steps_power
        bounds = {"A": trace.C_B, "B": trace.C_A} if other == "other" else {"A": trace.C_A, "B": trace.C_B}
        for one in trace.rounds:
            for name, C in bounds.items():
                for k in trace.setting.everyone:
                    mean, middle = one[f"{name} {k} {E}"] / (rate * E) ** 2, one[f"steps {name} {k}"] / E
                    ends.append(at_most(f"mean step of {name}", mean, scale * C**2, trace))
                    middle *= float(E) ** steps_power
                    lines.append(at_most(f"mean step of {name}, Jensen", mean, middle, trace))
                    lines.append(at_most(f"mean step of {name}, last step", middle, scale * C**2, trace))
                lines.append(at_most(f"change of {name}", one[f"d{name}"], (rate * E) ** 2 * scale * C**2, trace))
                if sigma:
                    stated = 2 * (rate * E) ** 2 * (trace.sigma2 + trace.G**2) * C**2
                    lines.append(equal("last equality", (rate * E) ** 2 * scale * C**2, stated, trace))
    return judge_bounds([*ends, *lines], WITH_COHORTS)


def printed_D(trace: Trace, C_A: float, C_B: float) -> float:
    """D of Lemma B.8, in which there is no L."""
    E, s2 = trace.setting.steps, trace.sigma2 + trace.G**2
    return float(E**2 * s2 * (6 * C_A**2 * C_B**2 * (1 + trace.setting.rate**2 * E**2 * s2) + trace.G**2))


def drift_rates(trace: Trace, curvature: float = 1.0, own: float = 1.0) -> tuple[float, float]:
    r"""How fast the gradient in A and that in B can change: $LC_B(C_A^2+C_B^2)+GC_A$, and with A and B exchanged."""
    L, G, C_A, C_B = curvature * trace.L, own * trace.G, trace.C_A, trace.C_B
    both = C_A**2 + C_B**2
    return L * C_B * both + G * C_A, L * C_A * both + G * C_B


@claim(
    "fedloru-v2/lem-B.8",
    where="Appendix B.1, Lemma B.8",
    says=r"For any t: $\mathbb{E}\|\sum_kp^{(k)}\Delta_{B,t}^{(k)} - \nabla_Bf_t(A_tB_t)\|^2 \le 4\eta^2C_B^2D$ and "
    r"$\mathbb{E}\|\sum_kp^{(k)}\Delta_{A,t}^{(k)} - \nabla_Af_t(A_tB_t)\|^2 \le 4\eta^2C_A^2D$ with $D = "
    r"E^2(\sigma^2+G^2)(6C_A^2C_B^2(1 + \eta^2E^2(\sigma^2+G^2)) + G^2)$.",
    measure=follow_settings,
    control=Form("The bounds for $L \\le 1$, with one constant C for both factors.", {"comparable": True}),
    correction=Form(
        r"$\mathbb{E}\|\sum_kp^{(k)}\Delta_{A,t}^{(k)} - \nabla_Af_t\|^2 \le "
        r"\frac14\eta^2(E-1)^2G^2(LC_B(C_A^2+C_B^2) + GC_A)^2$, for B with $C_A$ and $C_B$ exchanged; attained as "
        r"$\eta \to 0$. (Mean over the E local gradients, from the first, which has no drift; for the average over $i "
        r"= 1..E$ that (60) prints, $E+1$ for $E-1$. $\sigma^2$ does not enter.)",
        {"form": "corrected"},
        ({"curvature": 0}, {"own": 0}, {"constant": 0.99}, {"exchanged": True}, {"rate_power": 3}),
    ),
    uses=("fedloru-v2/lem-B.7", "fedloru-v2/eq-63-66", "fedloru-v2/eq-59-60"),
    because="The bound does not contain L, so that a loss of large curvature exceeds it; $C_A$ and $C_B$ are "
    "exchanged on the way.",
    expect=("corrected", "proof"),
)
def lem_B_8(
    traces: Traces,
    form: str = "printed",
    constant: float = 1.0,
    curvature: int = 1,
    own: int = 1,
    exchanged: bool = False,
    comparable: bool = False,
    rate_power: int = 2,
) -> Evidence:
    """The drift of the mean exact gradients of the local steps, in every round with all clients."""
    lines = []
    for trace in in_full(traces):
        E, rate, C_A, C_B = trace.setting.steps, trace.setting.rate, trace.C_A, trace.C_B
        if comparable:
            C_A = C_B = max(C_A, C_B)
            if trace.L > 1.0:
                continue
        if form == "printed":
            D = printed_D(trace, C_A, C_B)
            bounds = 4 * constant * rate**2 * C_A**2 * D, 4 * constant * rate**2 * C_B**2 * D
        else:
            rates = drift_rates(trace, curvature, own)
            scale = constant * rate**rate_power * (E - 1) ** 2 / 4 * trace.G**2
            bounds = scale * rates[0] ** 2, scale * rates[1] ** 2
        in_A, in_B = bounds[::-1] if exchanged else bounds
        for one in trace.rounds:
            lines.append(_drift("drift of the gradient in A", one["drift_A"], in_A, trace))
            lines.append(_drift("drift of the gradient in B", one["drift_B"], in_B, trace))
    return judge_bounds(lines, SCOPE)


def _drift(name: str, left: float, right: float, trace: Trace) -> Promise:
    """A difference of gradients rounds like the gradients."""
    rounding = 1e-28 * (trace.G * (trace.C_A + trace.C_B)) ** 2
    return Promise(name, left, right, 1e-9 * max(left, right) + rounding, True, trace.setting.case)


@claim(
    "fedloru-v2/eq-63-66",
    where="Appendix B.1, proof of Lemma B.8, eqs. (63) to (66)",
    says=r"By Jensen's inequality $\mathbb{E}\|\sum_kp^{(k)}\Delta_{A,t}^{(k)} - \nabla_Af_t\|^2 \le "
    r"\sum_kp^{(k)}\frac1E\sum_{i=1}^E\mathbb{E}\|\nabla_Af_{t,i}^{(k)} - \nabla_Af_{t,0}^{(k)}\|^2 = "
    r"\sum_kp^{(k)}\frac1E\sum_{i=1}^E\mathbb{E}\|(\nabla_Wf_{t,i}^{(k)} - \nabla_Wf_{t,0}^{(k)})(B_{t,i}^{(k)})^T + "
    r"\nabla_Wf_{t,0}^{(k)}(B_{t,i}^{(k)} - B_{t,0}^{(k)})^T\|^2 \le "
    r"\sum_kp^{(k)}\frac1E\sum_{i=1}^E2\mathbb{E}\|\nabla_Wf_{t,i}^{(k)} - "
    r"\nabla_Wf_{t,0}^{(k)}\|^2\|B_{t,i}^{(k)}\|^2 + 2\mathbb{E}\|\nabla_Wf_{t,0}^{(k)}\|^2\|B_{t,i}^{(k)} - "
    r"B_{t,0}^{(k)}\|^2$ (63, both terms under the sums) $\le \sum_kp^{(k)}\frac1E\sum_{i=1}^E"
    r"2C_B^2\mathbb{E}\|\nabla_Wf_{t,i}^{(k)} - \nabla_Wf_{t,0}^{(k)}\|^2 + 2G^2\mathbb{E}\|B_{t,i}^{(k)} - "
    r"B_{t,0}^{(k)}\|^2$ (64). $\mathbb{E}\|\nabla_Wf_{t,i} - \nabla_Wf_{t,0}\|^2 \le L^2\mathbb{E}\|A_{t,i}B_{t,i} - "
    r"A_{t,0}B_{t,0}\|^2 "
    r"= L^2\mathbb{E}\|(A_{t,0} + (A_{t,i} - A_{t,0}))(B_{t,0} + (B_{t,i} - B_{t,0})) - A_{t,0}B_{t,0}\|^2 = "
    r"\mathbb{E}\|(A_{t,i} - A_{t,0})B_{t,0} + A_{t,0}(B_{t,i} - B_{t,0}) + (A_{t,i} - A_{t,0})(B_{t,i} - B_{t,0})\|^2 "
    r"\le 3\mathbb{E}[\|A_{t,i} - A_{t,0}\|^2\|B_{t,0}\|^2] + 3\mathbb{E}[\|A_{t,0}\|^2\|B_{t,i} - B_{t,0}\|^2] + "
    r"3\mathbb{E}[\|A_{t,i} - A_{t,0}\|^2\|B_{t,i} - B_{t,0}\|^2]$ (65), and by Lemma B.7 and Assumption B.3 it is at "
    r"most $3C_B^2 \cdot 2\eta^2i^2(\sigma^2+G^2)C_A^2 + 3C_A^2 \cdot 2\eta^2i^2(\sigma^2+G^2)C_B^2 + 3 \cdot "
    r"2\eta^2i^2(\sigma^2+G^2)C_A^2 \cdot 2\eta^2i^2(\sigma^2+G^2)C_B^2 \le "
    r"12\eta^2E^2C_A^2C_B^2(\sigma^2+G^2)(1+\eta^2E^2(\sigma^2+G^2))$ (66).",
    measure=follow_settings,
    control=Form(r"The bound with $L \le 1$ and one constant C for both factors.", {"comparable": True}),
    correction=Form(
        r"$\mathbb{E}\|\nabla_Wf_{t,i} - \nabla_Wf_{t,0}\|^2 \le \eta^2i^2G^2L^2(C_A^2+C_B^2)^2$ for $i \le E$, "
        r"approached as $\eta \to 0$: $A_iB_i - A_0B_0 = (A_i-A_0)B_i + A_0(B_i-B_0)$ needs no product of two moves, "
        "whose expectation is not the product of expectations.",
        {"form": "corrected"},
        ({"curvature_power": 0}, {"constant": 0.99}, {"factors": "product"}, {"steps_power": 1}),
    ),
    uses=("fedloru-v2/lem-B.7",),
    because="(65) loses $L^2$, and (66) exchanges $C_A$ and $C_B$ of Lemma B.7; either alone breaks the bound.",
    expect=("corrected", "proof"),
)
def eq_63_66(
    traces: Traces,
    form: str = "printed",
    constant: float = 1.0,
    curvature_power: int = 2,
    factors: str = "squares",
    steps_power: int = 2,
    comparable: bool = False,
) -> Evidence:
    """Every member, for every client after every local step; ``factors`` may take $2C_AC_B$ for $C_A^2+C_B^2$."""
    ends, steps = [], []
    for trace in traces:
        E, rate, C_A, C_B, s2 = trace.setting.steps, trace.setting.rate, trace.C_A, trace.C_B, trace.sigma2 + trace.G**2
        if comparable:
            C_A = C_B = max(C_A, C_B)
            if trace.L > 1.0:
                continue
        both = C_A**2 + C_B**2 if factors == "squares" else 2 * C_A * C_B
        for one in trace.rounds:
            places = [(k, i) for i in range(1, E + 1) for k in trace.setting.everyone if f"W {k} {i}" in one]
            for k, i in places:
                moved, name = one[f"W {k} {i}"], "(66)" if form == "printed" else "change of the gradient in W"
                if form == "printed":
                    scale = 12 * constant * (rate * C_A * C_B) ** 2 * s2
                    middle, bound = (scale * n**2 * (1 + rate**2 * n**2 * s2) for n in (i, E))
                    steps.append(at_most("(66), its members", middle, bound, trace))
                else:
                    bound = constant * rate**2 * float(i) ** steps_power * (trace.G * both) ** 2
                    bound *= trace.L**curvature_power
                ends.append(at_most(name, moved, bound, trace))
                product = one[f"AB {k} {i}"]
                steps += [
                    at_most("(65), its first step", moved, trace.L**2 * product, trace),
                    at_most("(65), its last step, without L^2", product, 3 * one[f"products {k} {i}"], trace),
                ]
                if form == "printed" and not comparable:
                    steps.append(equal("(65), its second equality", trace.L**2 * product, product, trace))
            if trace.setting.size is None:
                share = 1.0 / len(trace.setting.clients) / E
                last = sum(
                    share * 2 * (trace.C_B**2 * one[f"W {k} {i}"] + trace.G**2 * one[f"B {k} {i}"]) for k, i in places
                )
                steps += [
                    at_most("(63), Jensen", one["later_A"], one["jensen"], trace),
                    at_most("(63), its last step", one["jensen"], one["split"], trace),
                    at_most("(64)", one["split"], last, trace),
                ]
    return judge_bounds([*ends, *steps], WITH_COHORTS)
