"""Table 12 (Appendix B.2.5): MMLU."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

from figures.rolora.printed import METHODS, MMLU, MMLU_GROUPS, TABLE_12, Score
from paper_checks.claim import Best, Evidence, Intended, Reading, claim
from paper_checks.methods.printed import Cell, Order, Rounded, judge_order, judge_printed, largest

exact = Rounded.exact

printed = Rounded.printed


def _questions(grouping: str) -> str:
    """Write numbers of questions in words."""
    return ", ".join(f"{number:,} in {group}" for group, number in MMLU[grouping].items())


@claim(
    "rolora/table-12",
    where="Table 12, rows MMLU, human, other, social, stem; the deviations over five seeds are not judged",
    says="Table 12: accuracies of each method on MMLU and on human, other, social and stem.",
    measure=lambda context: TABLE_12,
    mutants=[{"grouping": "equal weights"}, {"shift": 0.05}],
    readings=(
        Reading(
            "anatomy in stem",
            "Each accuracy on MMLU is the mean of those on the four groups, weighted by their numbers of questions: "
            f"{_questions('anatomy in stem')}.",
            why="The rows have the names of the common evaluation harness, which groups the subjects so.",
        ),
        Reading(
            "anatomy in other",
            f"The same with the groups of the benchmark itself: {_questions('anatomy in other')}.",
            {"grouping": "anatomy in other"},
            "The paper does not print that the groups make up the whole, or which subjects are in which group.",
        ),
    ),
    kind="number",
    importance="detail",
    because="It follows if the 135 anatomy questions count as STEM. If they count as “other”, 0.15 points are missing.",
    expect=("holds", "proof"),
    intended=Intended(
        "anatomy in stem",
        "rows “human”, “other”, “social” and “stem” (Table 12) are the groups, in the order, of the usual "
        "harness, which counts anatomy in STEM",
    ),
    print="unstated",
)
def table_12(
    table: Mapping[str, Mapping[str, Score]], grouping: str = "anatomy in stem", shift: float = 0.0
) -> Evidence:
    """Up to rounding, the accuracy on MMLU is the mean over 14,042 questions in four groups."""
    weights = MMLU[grouping]
    cells, found = {}, []
    for method in METHODS:
        weighted = [printed(table[group][method].mean) * exact(weights[group]) for group in MMLU_GROUPS]
        whole = weighted[0] + weighted[1] + weighted[2] + weighted[3]
        recomputed = whole / exact(sum(weights.values()))
        found.append(f"{method} {float((recomputed.low + recomputed.high) / 2):.3f}")
        parts = {group: table[group][method].mean for group in ("MMLU", *MMLU_GROUPS)}
        case = {**parts, "questions": [weights[group] for group in MMLU_GROUPS]}
        cells[method] = Cell(printed(table["MMLU"][method].mean) + exact(Fraction(shift)), recomputed, case)
    scope = (
        f"three methods, 14,042 questions, {grouping}; recomputed: {', '.join(found)}, to be compared up to the "
        "rounding of the groups"
    )
    return judge_printed(cells, scope)


@claim(
    "rolora/txt-table12-most",
    where="Appendix B.2.5, Table 12; how slightly is not judged, and more evident in certain groups: by a larger lead "
    "than in MMLU as a whole in two groups or more",
    says="""With Llama-2-7B, 50 clients and five seeds RoLoRA has the highest scores across most metrics, slightly
    above LoRA and FFA-LoRA; the improvements are more evident in certain groups of MMLU.""",
    measure=lambda context: TABLE_12,
    mutants=[{"method": "FFA-LoRA"}, {"method": "LoRA"}, {"share": 0.9}, {"groups": 3}],
    best={"share": Best(0.83, "counted: five of six")},
    importance="result",
    expect=("holds", "proof"),
    intended=Intended(
        "literal",
        "“the highest scores across most metrics, demonstrating slightly improved performance”, “more evident in "
        "certain subcategories” (B.2.5)",
    ),
)
def txt_table12_most(
    table: Mapping[str, Mapping[str, Score]], method: str = "RoLoRA", share: float = 0.5, groups: int = 2
) -> Evidence:
    """RoLoRA is best in five of six rows; its lead over each other method is larger in two groups than in MMLU.

    Args:
        table: Table 12.
        method: which is said to be the best.
        share: which share of the metrics it must win.
        groups: in how many groups at least the improvement over each other method must be above that in MMLU.
    """
    rivals = [other for other in METHODS if other != method]

    def lead(metric: str, over: Sequence[str]) -> Rounded:
        scores = table[metric]
        return printed(scores[method].mean) - largest(printed(scores[other].mean) for other in over)

    def counted(differences: Iterable[Rounded]) -> Rounded:
        each = list(differences)
        return Rounded(Fraction(sum(one.low > 0 for one in each)), Fraction(sum(one.high > 0 for one in each)))

    best = {metric: lead(metric, rivals) for metric in table}
    orders = {"metrics won": Order(counted(best.values()), exact(Fraction(share) * len(table)), {})}
    more = {}
    for rival in rivals:
        above = {group: lead(group, [rival]) - lead("MMLU", [rival]) for group in MMLU_GROUPS}
        more[rival] = " and ".join(group for group, one in above.items() if one.low > 0) or "none"
        name = f"groups with a larger lead over {rival} than in MMLU"
        orders[name] = Order(counted(above.values()), exact(groups - 1), {})
    told = ", ".join(f"{metric} {float((value.low + value.high) / 2):+.2f}" for metric, value in best.items())
    return judge_order(
        orders,
        f"leads of {method} over the better of the other two, in points: {told}; groups with a larger lead than in "
        f"MMLU as a whole: {', '.join(f'over {rival} {names}' for rival, names in more.items())}; HumanEval has 164 "
        "problems: five runs with one completion each give multiples of 0.122, which 13.29 is and 12.96 and 13.45 are "
        "not, so more completions or other means are behind these",
    )
