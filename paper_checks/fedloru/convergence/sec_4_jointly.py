"""Sections 4.1 and 4.2 with Appendix B: whether their statements hold together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from paper_checks.claim import LITERAL, Intended, Reading
from paper_checks.context import Context
from paper_checks.fedloru.convergence.measurements.families import ONE_OF_TWO, Family, not_levelled, printed_weights
from paper_checks.fedloru.convergence.measurements.followed_rounds import Followed, by_hand, draw_runs, follow
from paper_checks.fedloru.convergence.measurements.local_runs import Averaged, draw_averages
from paper_checks.methods.relations import Relation, Relations, relations, same

PARTS = ("accumulation", "model", "averages", "rate")

FORMS = {
    ("momentum", "printed"): "as listed",
    ("random", "printed"): "with restarts",
    ("momentum", "all"): "with sums over all clients",
    ("random", "all"): "with both",
}
"""Restart after an accumulation, and what the sums run over."""


@dataclass(frozen=True)
class Section:
    """Runs with alpha = 1 and T a multiple of tau by restart, averages, and families of runs of growing length."""

    followed: Mapping[str, tuple[Followed, ...]]
    averages: list[Averaged]
    families: list[Family]

    def promised(self, restart: str, over: str, scale: float = 1.0, power: float = 0.5) -> dict[str, list[Relation]]:
        """Return the promises of one form of the algorithm; the rate is stated for factors that start again."""
        promised: dict[str, list[Relation]] = {part: [] for part in PARTS}
        for one in self.followed[restart]:
            run, T = one.run, one.run.rounds
            case = None if run.case is None else {**run.case, "restart": restart}
            ends = [t for t in range(1, T + 1) if one.is_accumulated(t)]
            promised["accumulation"] += [
                same("an accumulation leaves the model", one.rounds[t - 1].starts_from["W"], one.model(t)["W"], case)
                for t in ends
            ]
            kept = [one.rounds[t - 1].aggregated for t in ends]
            told = run.W + scale * sum(pair.A["W"] @ pair.B["W"] for pair in kept)
            promised["model"].append(same("the last model is the start and all products", told, one.model(T)["W"]))
        for drawn in self.averages:
            total = sum(drawn.shares[k] for k in drawn.cohort)
            weight = total if over == "printed" else 1.0
            A, B = drawn.uploads[0].A["W"], drawn.uploads[0].B["W"]
            promised["averages"].append(same("clients that agree are left", weight**2 * A @ B, A @ B, drawn.case))
        if restart == "random":
            promised["rate"] = [
                Relation("the least gradient", value, family.bound / T**power, 1e-12, True)
                for family in self.families
                if over == "printed" or family.kind == "averages"
                for T, value in family.least.items()
            ]
        return promised

    @property
    def table(self) -> str:
        """Return the table of forms by property."""
        told = []
        for (restart, over), name in FORMS.items():
            found = self.promised(restart, over)
            kept = {part: all(one.excess <= 0 for one in some) for part, some in found.items() if some}
            told.append(
                f"{name}: " + ", ".join(f"{p} {('no', 'yes')[kept[p]] if p in kept else 'open'}" for p in PARTS)
            )
        return "; ".join(told)


def measure_section(context: Context) -> Section:
    """Run both restarts, averages over cohorts, and two families for the rate."""
    drawn = [replace(run, alpha=1.0, rounds=2 * run.tau) for run in draw_runs(context) if run.case is None]
    runs = [by_hand(alpha=1.0, rounds=4), *drawn]
    followed = {restart: tuple(follow(run, restart) for run in runs) for restart in ("momentum", "random")}
    rounds = int(str(ONE_OF_TWO["rounds"]))
    return Section(followed, draw_averages(context), [not_levelled((4, 64)), printed_weights(rounds)])


def _form(name: str, says: str, constants: Mapping[str, str], why: str) -> Reading:
    return Reading(name, says, constants, why, ({"scale": 0.999}, {"power": 1.5}))


@relations(
    "fedloru-v2/sec-4-jointly",
    where="Sections 4.1 and 4.2, Algorithm 1, Theorem 4.2 and Appendix B: their statements taken together",
    says=r"""One and the same FedLoRU, with $\alpha = 1$: an accumulation does not affect the loss, the server averages,
    the final model is $W_T = W_0 + \sum_{t \bmod \tau = 0}A_tB_t$, and the rate is $O(T^{-1/2})$.""",
    measure=measure_section,
    readings=(
        LITERAL,
        _form(
            "with restarts",
            "The four statements where the factors start anew at $AB = 0$ after an accumulation, "
            "with the printed weights of a cohort.",
            {"restart": "random"},
            "Appendix B reinitialises the factors.",
        ),
        _form(
            "with sums over all clients",
            "The four statements for the listing, in which the factors go on, with all clients in each round.",
            {"over": "all"},
            "Appendix B sums over all K clients.",
        ),
        _form(
            "with both",
            r"The four statements where the factors start anew at $AB = 0$ after an accumulation, all "
            r"clients take part in each round, and $\tau$ divides T.",
            {"restart": "random", "over": "all"},
            "Appendix B reinitialises the factors and sums over all K clients; the formula sums to T.",
        ),
    ),
    uses=("fedloru-v2/claim-reinit", "fedloru-v2/eq-agg", "fedloru-v2/eq-WT", "fedloru-v2/thm-4.2-rate"),
    importance="result",
    because="Factors that go on count an accumulated product twice; the printed weights of some clients sum to less "
    "than 1.",
    vary=(),
    expect=("holds", "proof"),
    intended=Intended("with both", "App. B has “k=1…K” and “reinitialize”; Algorithm 1 has cohorts and no restart"),
    print="inconsistent",
)
def sec_4_jointly(
    found: Section, restart: str = "momentum", over: str = "printed", scale: float = 1.0, power: float = 0.5
) -> Relations:
    """All four in one form; the scope is the table of all forms."""
    promised = found.promised(restart, over, scale, power)
    yield from [one for part in PARTS for one in promised[part]]
    return f"runs with alpha = 1 and T a multiple of tau; {found.table}"
