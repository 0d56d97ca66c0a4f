"""Lemma B.8 and its proof (eqs. (63) to (66))."""

from __future__ import annotations

from paper_checks.claim import LITERAL, Evidence, Form, Intended, Reading, claim
from paper_checks.fedloru.convergence.measurements.bounded_runs import Trace
from paper_checks.fedloru.convergence.measurements.bounded_settings import (
    SCOPE,
    WITH_COHORTS,
    Traces,
    at_most,
    drift_rates,
    equal,
    follow_settings,
    judge_bounds,
    printed_D,
    with_all_clients,
)
from paper_checks.methods.relations import Relation


def _drift(name: str, left: float, right: float, trace: Trace) -> Relation:
    """Return the promise of a bound on a drift: a difference of gradients rounds like the gradients."""
    rounding = 1e-28 * (trace.G * (trace.C_A + trace.C_B)) ** 2
    return Relation(name, left, right, 1e-9 * max(left, right) + rounding, True, trace.setting.case)


@claim(
    "fedloru-v2/lem-B.8",
    where="Appendix B.1, Lemma B.8",
    says=r"""For any t: $\mathbb{E}\|\sum_kp^{(k)}\Delta_{B,t}^{(k)} - \nabla_Bf_t(A_tB_t)\|^2 \le 4\eta^2C_B^2D$ and
    $\mathbb{E}\|\sum_kp^{(k)}\Delta_{A,t}^{(k)} - \nabla_Af_t(A_tB_t)\|^2 \le 4\eta^2C_A^2D$ with $D =
    E^2(\sigma^2+G^2)(6C_A^2C_B^2(1 + \eta^2E^2(\sigma^2+G^2)) + G^2)$.""",
    measure=follow_settings,
    readings=(
        LITERAL,
        Reading(
            "as its proof ends",
            r"""For any t: $\mathbb{E}\|\sum_kp^{(k)}\Delta_{A,t}^{(k)} - \nabla_Af_t(A_tB_t)\|^2 \le 4\eta^2C_B^2D$ and
            $\mathbb{E}\|\sum_kp^{(k)}\Delta_{B,t}^{(k)} - \nabla_Bf_t(A_tB_t)\|^2 \le 4\eta^2C_A^2D$ with D as
            printed.""",
            {"exchanged": True},
            r"The last two displays of the proof use $C_B^2$ for A and $C_A^2$ for B (and $\nabla_A$ instead of "
            r"$\nabla_B$).",
            ({"constant": 0.99},),
        ),
    ),
    control=Form("The bounds for $L \\le 1$, with one constant C for both factors.", {"comparable": True}),
    correction=Form(
        r"""$\mathbb{E}\|\sum_kp^{(k)}\Delta_{A,t}^{(k)} - \nabla_Af_t\|^2 \le \frac14\eta^2(E-1)^2G^2(LC_B(C_A^2+C_B^2)
        + GC_A)^2$, and the same for B with $C_A$ and $C_B$ exchanged; attained as $\eta \to 0$. (Mean over the E local
        gradients, from the first, which has no drift; for the average over $i = 1..E$ that (60) prints, $E+1$ for
        $E-1$. $\sigma^2$ does not enter.)""",
        {"form": "corrected"},
        ({"curvature": 0}, {"own": 0}, {"constant": 0.99}, {"exchanged": True}, {"rate_power": 3}),
    ),
    uses=("fedloru-v2/lem-B.7", "fedloru-v2/eq-63-66", "fedloru-v2/eq-59-60"),
    because="The bound does not contain L, so a loss with large curvature exceeds it. The proof ends with $C_A$ and "
    "$C_B$ exchanged.",
    expect=("corrected", "proof"),
    intended=Intended(
        "as its proof ends",
        "The lemma has “4η²C_A²D” for A, and its proof derives “4η²C_B²D” for A from (64); in both “D = "
        "E²(σ²+G²)(6C_A²C_B²(1+…)+G²)” has no L, though (65) starts with “L² E‖…‖²”",
    ),
    print="inconsistent",
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
    for trace in with_all_clients(traces):
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


@claim(
    "fedloru-v2/eq-63-66",
    where="Appendix B.1, proof of Lemma B.8, eqs. (63) to (66)",
    says=r"""By Jensen's inequality $\mathbb{E}\|\sum_kp^{(k)}\Delta_{A,t}^{(k)} - \nabla_Af_t\|^2 \le
    \sum_kp^{(k)}\frac1E\sum_{i=1}^E\mathbb{E}\|\nabla_Af_{t,i}^{(k)} - \nabla_Af_{t,0}^{(k)}\|^2 =
    \sum_kp^{(k)}\frac1E\sum_{i=1}^E\mathbb{E}\|(\nabla_Wf_{t,i}^{(k)} - \nabla_Wf_{t,0}^{(k)})(B_{t,i}^{(k)})^T +
    \nabla_Wf_{t,0}^{(k)}(B_{t,i}^{(k)} - B_{t,0}^{(k)})^T\|^2 \le
    \sum_kp^{(k)}\frac1E\sum_{i=1}^E2\mathbb{E}\|\nabla_Wf_{t,i}^{(k)} - \nabla_Wf_{t,0}^{(k)}\|^2\|B_{t,i}^{(k)}\|^2 +
    2\mathbb{E}\|\nabla_Wf_{t,0}^{(k)}\|^2\|B_{t,i}^{(k)} - B_{t,0}^{(k)}\|^2$ (63, both terms under the sums) $\le
    \sum_kp^{(k)}\frac1E\sum_{i=1}^E2C_B^2\mathbb{E}\|\nabla_Wf_{t,i}^{(k)} - \nabla_Wf_{t,0}^{(k)}\|^2 +
    2G^2\mathbb{E}\|B_{t,i}^{(k)} - B_{t,0}^{(k)}\|^2$ (64). $\mathbb{E}\|\nabla_Wf_{t,i} - \nabla_Wf_{t,0}\|^2 \le
    L^2\mathbb{E}\|A_{t,i}B_{t,i} - A_{t,0}B_{t,0}\|^2 = L^2\mathbb{E}\|(A_{t,0} + (A_{t,i} - A_{t,0}))(B_{t,0} +
    (B_{t,i} - B_{t,0})) - A_{t,0}B_{t,0}\|^2 = \mathbb{E}\|(A_{t,i} - A_{t,0})B_{t,0} + A_{t,0}(B_{t,i} - B_{t,0}) +
    (A_{t,i} - A_{t,0})(B_{t,i} - B_{t,0})\|^2 \le 3\mathbb{E}[\|A_{t,i} - A_{t,0}\|^2\|B_{t,0}\|^2] +
    3\mathbb{E}[\|A_{t,0}\|^2\|B_{t,i} - B_{t,0}\|^2] + 3\mathbb{E}[\|A_{t,i} - A_{t,0}\|^2\|B_{t,i} - B_{t,0}\|^2]$
    (65), and by Lemma B.7 and Assumption B.3 it is at most $3C_B^2 \cdot 2\eta^2i^2(\sigma^2+G^2)C_A^2 + 3C_A^2 \cdot
    2\eta^2i^2(\sigma^2+G^2)C_B^2 + 3 \cdot 2\eta^2i^2(\sigma^2+G^2)C_A^2 \cdot 2\eta^2i^2(\sigma^2+G^2)C_B^2 \le
    12\eta^2E^2C_A^2C_B^2(\sigma^2+G^2)(1+\eta^2E^2(\sigma^2+G^2))$ (66).""",
    measure=follow_settings,
    control=Form(r"The bound with $L \le 1$ and one constant C for both factors.", {"comparable": True}),
    correction=Form(
        r"""$\mathbb{E}\|\nabla_Wf_{t,i} - \nabla_Wf_{t,0}\|^2 \le \eta^2i^2G^2L^2(C_A^2+C_B^2)^2$ for $i \le E$,
        approached as $\eta \to 0$: $A_iB_i - A_0B_0 = (A_i-A_0)B_i + A_0(B_i-B_0)$ avoids the product of two moves,
        whose expectation is not the product of the expectations.""",
        {"form": "corrected"},
        ({"curvature_power": 0}, {"constant": 0.99}, {"factors": "product"}, {"steps_power": 1}),
    ),
    uses=("fedloru-v2/lem-B.7",),
    because="(65) loses $L^2$, and (66) exchanges $C_A$ and $C_B$ of Lemma B.7; either alone breaks the bound.",
    expect=("corrected", "proof"),
    intended=Intended(
        "literal", "(65) drops “L²” at its second equality for good, and (66) uses “C_A²” where Lemma B.7 has C_B²"
    ),
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
