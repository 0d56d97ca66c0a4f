"""Section 4.1 with Figure 4: FeDLRT's rounds against FedLin's in the homogeneous test."""

from __future__ import annotations

from paper_checks.claim import Best, Reading
from paper_checks.fedlrt.homogeneous_setting import COMMAND, LOST, NOT_FOLLOWED, RANK, SETTING, read_in, started
from paper_checks.fedlrt.least_squares import EARLY, GRID, LEVELS, Followed, follow_all, settled
from paper_checks.fedlrt.legendre_runs import STARTS
from paper_checks.methods.promises import Promise, Promises, promises


@promises(
    "fedlrt/claim-hom-10x",
    where="Section 4.1",
    says="FeDLRT shows up to ten times faster convergence than FedLin.",
    measure=follow_all,
    mutants=[{"factor": 1e5}, {"swapped": True}],
    readings=(
        *read_in(
            "with one client FedLin needs at least ten times as many rounds to one of the distances 1e-2 to "
            '1e-5; "up to" is read as: '
            "ten is reached.",
            "uniform",
            "uniform, size 1",
            "dx",
            "plain",
        ),
        Reading(
            "at most ten times, orthonormal for the uniform law",
            f"With polynomials orthonormal for the uniform law{started('0.01')}: with one client FedLin needs more "
            'rounds, and at most ten times as many, to each of the distances 1e-2 to 1e-5; "up to" is read as: no more '
            "than ten.",
            {"most": True},
            '"Up to" names the most that was seen. Of the starts of size 1, and of those with polynomials orthonormal '
            "for dx, the rounds are told above.",
            ({"factor": 1.0}, {"swapped": True}),
        ),
    ),
    best={
        "factor": Best(
            14.9,
            "searched: what is reached on the draw that is judged; on sixteen sets of points the largest quotient at "
            "the distances 1e-2 to 1e-5 is 9.0 to 298 with polynomials orthonormal for the uniform law, 8.4 to 260 "
            f"from its starts of size 1, and 9.1 to 293 with those for dx ({COMMAND})",
        )
    },
    importance="result",
    uses=("fedlrt/claim-hom-error",),
    because="With value 1 at 1 a start of size 0.01 can end below rank 4; else more than ten is reached on the draw "
    "judged, and not on every other.",
    expect=("depends on the reading", "search"),
)
def claim_hom_10x(
    followed: Followed, basis: str = "uniform", factor: float = 10.0, swapped: bool = False, most: bool = False
) -> Promises:
    """One set of points, whatever the seed, as an example; the largest quotient, with FedLin's rounds from below."""
    run = followed.runs[basis]
    pairs = {level: (followed.full_rank(basis, level), run.reaches(level)) for level in LEVELS}
    quotients = [ours / theirs if swapped else theirs / ours for theirs, ours in pairs.values()]
    told = ", ".join(f"{level:.0e}: {ours:.0f} and {theirs:.0f}" for level, (theirs, ours) in pairs.items())
    yield Promise("fewer rounds to every distance", 1.0, min(quotients), at_most=True, case={"rounds": 2000})
    if most:
        case = {"rounds": int(pairs[LEVELS[-1]][1])}
        yield Promise("times fewer rounds, at most", max(quotients), factor, at_most=True, case=case)
    else:
        yield Promise("times fewer rounds to one of them", factor, max(quotients), at_most=True)
    larger = (
        "; from a start of size 0.1, on another draw, one run is within 1e-5 after 781,269 rounds, and FedLin more "
        f"than 1e-2 away after 16,777,216, more than 21 times as many ({COMMAND}): what fails here is the small start, "
        "which the paper does not print"
    )
    return (
        f"{SETTING}, one client; rounds of FeDLRT and, at least, of FedLin to {told}; {NOT_FOLLOWED}"
        f"{larger * (basis == 'plain')}"
    )


@promises(
    "fedlrt/fig-4",
    where="Figure 4 and its caption",
    says="FeDLRT with simplified variance correction and FedLin, each line the median of 20 random initialisations "
    "with C clients: rank, distance to the global optimiser, loss. FeDLRT converges faster in this low-rank test case "
    "by identifying (and never underestimating) the target rank r = 4 early in the training.",
    measure=follow_all,
    mutants=[{"basis": "tau 0.5"}, {"swapped": True}],
    readings=read_in(
        rf"with one client the median rank over {STARTS} starts is 4 after a quarter of the rounds to $10^{{-5}}$ and "
        r"never below it, and from one of them distance and loss are below FedLin's from then on.",
        "plain",
        "dx",
        "uniform",
        "uniform, size 1",
        one="target and points",
        why=EARLY + " With one client the corrections are 0; of 32 the rounds are looked at in "
        "fedlrt/claim-hom-clients, the ranks are not. One start stands for the median of distance and loss.",
    ),
    best={"after": Best(0.041, "searched: below it some distance or loss is above FedLin's, on one set of points")},
    vary=("after",),
    importance="result",
    because="With value 1 at 1 starts of size 0.01 fall below rank 4 on 23 of 24 draws of target and points "
    "(fedlrt/claim-hom-rank).",
    uses=("fedlrt/claim-hom-rank", "fedlrt/claim-hom-error"),
    expect=("depends on the reading", "search"),
)
def fig_4(
    followed: Followed, basis: str = "plain", after: float = 0.25, early: float = 0.25, swapped: bool = False
) -> Promises:
    """Distance and loss below FedLin's from a share of the run on; and the rank, at least and from an early round."""
    run, ranks = followed.runs[basis], followed.ranks(basis)
    full = followed.full[basis if basis in followed.full else "uniform"]
    latest = early * (len(run.ranks) - 1)
    yield Promise("the target's rank from an early round on", settled(ranks), latest, at_most=True)
    yield Promise("rank never below the target's", RANK, min(ranks), at_most=True, case={"rounds": LOST})
    last = len(run.ranks) - 1
    for name, ours, theirs in (
        ("distance", run.distances, [d for d, _ in full]),
        ("loss", run.losses, [loss for _, loss in full]),
    ):
        for count, value in zip(GRID, theirs, strict=True):
            if after * last <= count <= last:
                pair = (value, ours[count]) if swapped else (ours[count], value)
                yield Promise(f"{name} below FedLin's", *pair, at_most=True)
    return f"{SETTING}, one client; rounds {after * last:.0f} to {last}; {NOT_FOLLOWED}"
