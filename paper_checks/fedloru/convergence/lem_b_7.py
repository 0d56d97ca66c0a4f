"""Lemma B.7 and its proof."""

from __future__ import annotations

from paper_checks.claim import Best, Evidence, Form, Intended, claim
from paper_checks.fedloru.convergence.measurements.bounded_settings import (
    WITH_COHORTS,
    Traces,
    at_most,
    equal,
    follow_settings,
    judge_bounds,
)


@claim(
    "fedloru-v2/lem-B.7",
    where="Appendix B.1, Lemma B.7; two lines of its proof fail and cancel (fedloru-v2/lem-B.7-mid)",
    says=r"""At each round $\mathbb{E}\|A_{t+1}-A_t\|^2 \le 2\eta^2(\sigma^2+G^2)C_B^2E^2$ and
    $\mathbb{E}\|B_{t+1}-B_t\|^2 \le 2\eta^2(\sigma^2+G^2)C_A^2E^2$; for any client and any local step $i \le E$,
    $\mathbb{E}\|A_{t,i}^{(k)}-A_{t,0}^{(k)}\|^2 \le 2\eta^2i^2(\sigma^2+G^2)C_B^2$ and
    $\mathbb{E}\|B_{t,i}^{(k)}-B_{t,0}^{(k)}\|^2 \le 2\eta^2i^2(\sigma^2+G^2)C_A^2$.""",
    measure=follow_settings,
    mutants=[{"constant": 0.99}, {"steps_power": 1}, {"other": "own"}, {"rate_power": 3}],
    uses=("fedloru-v2/assump-4.1", "fedloru-v2/eq-61-62"),
    best={
        "constant": Best(
            1.0, r"proved: by (A.2) alone, $G^2$ can replace $2(\sigma^2 + G^2)$, approached as $\eta \to 0$"
        )
    },
    expect=("holds", "proof"),
)
def lem_B_7(
    traces: Traces, constant: float = 2.0, steps_power: int = 2, other: str = "other", rate_power: int = 2
) -> Evidence:
    """Every round; the clients' own moves after every local step. ``other`` says whose bound is in whose line."""
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
    says=r"""$\mathbb{E}\|\tilde\Delta_{A,t}^{(k)}\|^2 \le
    \frac1{E^2}\sum_i\mathbb{E}\|\tilde\nabla_Wf_{t,i}\|^2\|B_{t,i}\|^2 \le 2(\sigma^2+G^2)C_B^2/E$, by Jensen's
    inequality; $\mathbb{E}\|A_{t+1}-A_t\|^2 \le \eta^2E^2\sum_kp^{(k)}\frac{2(\sigma^2+G^2)C_B^2}E =
    2\eta^2E^2(\sigma^2+G^2)C_B^2$.""",
    measure=follow_settings,
    control=Form("The lines for $E = 1$.", {"only_one": True}),
    correction=Form(
        r"""Jensen's inequality gives $\mathbb{E}\|\tilde\Delta_{A,t}^{(k)}\|^2 \le
        \frac1E\sum_i\mathbb{E}\|\tilde\nabla_Wf_{t,i}\|^2\|B_{t,i}\|^2 \le G^2C_B^2$, without 1/E, so
        $\mathbb{E}\|A_{t+1}-A_t\|^2 \le \eta^2E^2G^2C_B^2$. (The last equality drops the 1/E again, so the lemma is not
        affected.)""",
        {"steps_power": 0, "constant": 1.0, "sigma": 0.0},
        ({"steps_power": -1}, {"constant": 0.99}, {"other": "own"}),
    ),
    vary=("constant",),
    uses=("fedloru-v2/assump-4.1",),
    because=r"Jensen's inequality gives $\frac1E\sum_i$ and not $\frac1{E^2}\sum_i$: equal gradients do not average "
    "out.",
    expect=("corrected", "proof"),
    intended=Intended(
        "literal",
        "“another application of the Jensen's inequality gives … (1/E²) Σ”, then “= 2η²E²(…)” drops the extra 1/E",
    ),
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
