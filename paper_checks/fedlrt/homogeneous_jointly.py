"""Section 4.1: what is said of the homogeneous test, taken together, in each normalisation of the polynomials."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from paper_checks.claim import Evidence, Form, claim
from paper_checks.context import Context
from paper_checks.fedlrt.homogeneous_setting import NORMALISED, RANK, RATE, SETTING, STEPS, find_smoothness, read_in
from paper_checks.fedlrt.least_squares import LEVELS, Followed, follow_all, settled
from paper_checks.fedlrt.legendre_runs import CLOSE
from paper_checks.methods.promises import Promise, judge_promises

PARTS = ("step", "rank", "error", "faster")


@dataclass(frozen=True)
class Test:
    """Curvatures of the clients, by basis and number of clients, and runs."""

    smoothness: Mapping[str, Mapping[int, float]]
    followed: Followed

    def promised(self, basis: str, rate: float = RATE) -> dict[str, list[Promise]]:
        """What is said of the test, in one basis; with value 1 at 1 the rounds that can be followed do not end it."""
        promised = {"step": [
            Promise(f"the rate for C = {C}", rate, 1.0 / (12.0 * L * STEPS), at_most=True,
                    case={"clients": C} if C == 32 else None)
            for C, L in self.smoothness[basis].items()
        ]}  # fmt: skip
        case = {"rounds": 200}
        names = ("plain", "plain, size 1") if basis == "plain" else (basis,)
        runs = [self.followed.runs[name] for name in names]
        promised["rank"] = [
            *(Promise("rank never below the target's", RANK, min(run.ranks), at_most=True) for run in runs),
            *(Promise("the rank is found early", settled(run), 0.25 * (len(run.ranks) - 1), 0.0, True, case)
              for run in runs),
        ]  # fmt: skip
        if basis != "plain":
            run = runs[0]
            promised["error"] = [Promise("distance at the end", run.distances[-1], CLOSE, at_most=True)]
            least = min(self.followed.full_rank(basis, level) / run.reaches(level) for level in LEVELS)
            promised["faster"] = [Promise("fewer rounds than FedLin", 1.0, least, at_most=True)]
        return promised

    @property
    def table(self) -> str:
        """Normalisation by property."""
        told = []
        for basis, (name, *_) in NORMALISED.items():
            found = {part: all(one.excess <= 0 for one in some) for part, some in self.promised(basis).items()}
            told.append(
                f"{name}: " + ", ".join(f"{p} {('no', 'yes')[found[p]] if p in found else 'open'}" for p in PARTS)
            )
        return "; ".join(told)


def measure_test(context: Context) -> Test:
    """The curvatures and the runs of the claims on each part."""
    return Test(find_smoothness(context), follow_all(context))


@claim(
    "fedlrt/claim-hom-jointly",
    where="Section 4.1, homogeneous test, with Figure 4: its statements taken together",
    says="One and the same setting satisfies the step-size restriction of Theorem 2 for C = 1, 2, 4, 8, 16, 32; in it "
    "FeDLRT identifies the correct rank within a few rounds and never underestimates it, converges to $W_r$ up to an "
    "error of $10^{-5}$, and converges faster than FedLin.",
    measure=measure_test,
    mutants=[{"rate": 1.0}],
    readings=read_in("the step is admitted for all C, the rank is found early and never underestimated, a run comes "
                     "within $10^{-5}$, and in fewer rounds than FedLin.", "plain", "dx", "uniform"),
    control=Form(
        "With polynomials orthonormal for the uniform law: rank, error and fewer rounds than FedLin.",
        {"basis": "uniform", "parts": ("rank", "error", "faster")},
    ),
    importance="result",
    because="Where the step is admitted for every C the rank is not found, and where the rank is found the step is "
    "not.",
    uses=("fedlrt/claim-hom-stepsize", "fedlrt/claim-hom-rank", "fedlrt/claim-hom-error", "fedlrt/claim-hom-10x"),
    expect="refuted",
    grade="statistical",
)  # fmt: skip
def claim_hom_jointly(
    found: Test, basis: str = "plain", parts: tuple[str, ...] = PARTS, rate: float = RATE
) -> Evidence:
    """All parts in one basis; the scope is the table of all bases."""
    promised = found.promised(basis, rate)
    promises = [one for part in parts for one in promised.get(part, ())]
    return judge_promises(promises, f"{SETTING}; {found.table}")
