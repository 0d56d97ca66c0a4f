"""Records of the example paper: what each claim declares, and what its check finds as printed and with every mutant."""

from dataclasses import dataclass
from unittest.mock import patch

import numpy as np
import torch
from recording import Within

from paper_checks.context import Context
from paper_checks.evaluation import evaluate_replay
from paper_checks.methods.domain import Described, Searched
from paper_checks.your_paper import alg_1, eq_1, eq_2, fig_1, lem_1, lem_2, lem_3, lem_4, table_1, thm_1
from paper_checks.your_paper.measurements import pairs
from paper_checks.your_paper.measurements.pairs import judge_sums
from paper_checks.your_paper.paper import PAPER, RESULTS
from paper_checks.your_paper.replays import lem_2 as replays

CLAIMS = {
    "alg-1": alg_1.alg_1,
    "eq-1": eq_1.eq_1,
    "eq-2": eq_2.eq_2,
    "lem-1": lem_1.lem_1,
    "lem-2": lem_2.lem_2,
    "lem-3": lem_3.lem_3,
    "lem-4": lem_4.lem_4,
    "table-1": table_1.table_1,
    "thm-1": thm_1.thm_1,
    "fig-1": fig_1.FIG_1,
}


@dataclass(frozen=True)
class Few(Context):
    """A context with a hundredth of the draws."""

    def size(self, quick, full):
        return max(20, (quick if self.budget == "quick" else full) // 100)


def _shown(evidence):
    numbers = evidence.margin, evidence.slack, evidence.tight, evidence.level, evidence.sides
    return evidence.ok, evidence.scope, evidence.printed, evidence.obtained, numbers, evidence.cases, evidence.grade


def _judged(name, data):
    """Yield what the check finds as printed, with every mutant and with every other form."""
    of = CLAIMS[name]
    yield _shown(of.judge(data))
    for constants in (*of.mutants, *(form.constants for form in (of.control, of.correction) if form)):
        yield constants, _shown(of.judge(data, **constants))


def declarations():
    for name, of in CLAIMS.items():
        yield name, of.id, of.where, of.says, of.mutants, of.kind, of.importance, of.expect, of.uses, of.because
        yield of.control, of.correction, of.expect_reason, of.seen_in, of.vary, of.printed_constants()


def paper():
    yield PAPER.name, PAPER.title, PAPER.package, RESULTS, PAPER.called, PAPER.cited, PAPER.pages


def identities():
    for seed in (0, 1):
        points = eq_1.draw_points(Few("your-paper/eq-1", seed))
        yield (
            [{str(name): str(value) for name, value in point.items()} for point in points],
            list(_judged("eq-1", points)),
        )


def identities_in_units():
    points = eq_2.eq_2.measure(Few("your-paper/eq-2"))
    yield [{str(name): str(value) for name, value in point.items()} for point in points], list(_judged("eq-2", points))


def printed_numbers():
    yield table_1.TABLE_1, list(_judged("table-1", table_1.TABLE_1))
    changed = {**table_1.TABLE_1, "sum": ("88.1", "90.4", "87.9", "88.9")}
    yield _shown(table_1.table_1.judge(changed))


def probabilities():
    for seed in (0, 1):
        counted = lem_4.count_longer(Few("your-paper/lem-4", seed))
        yield counted, _shown(lem_4.lem_4.judge(counted))
    yield list(_judged("lem-4", lem_4.Counted(326_000, 500_000)))


def means():
    draws = lem_3.draw_sums(Few("your-paper/lem-3"))
    yield {R: (len(one), one[:2], one.mean()) for R, one in draws.items()}, list(_judged("lem-3", draws))


def means_of_two_seeds():
    first, second = (lem_3.draw_sums(Few("your-paper/lem-3", seed))[10].mean() for seed in (0, 1))
    return first, second


def limits():
    for seed in (0, 1):
        ladders = thm_1.draw_quotients(Few("your-paper/thm-1", seed))
        yield [(name, [(R, np.asarray(x)[:2]) for R, x in ladder.rungs]) for name, ladder in ladders.items()]
        yield [Within(1e-3, found) for found in _judged("thm-1", ladders)]


def rounds():
    for seed in (0, 1):
        found = alg_1.run_rounds(Few("your-paper/alg-1", seed))
        yield [(one.after, one.gradients.shape, one.gradients.sum(), one.step, one.uploads) for one in found]


def rounds_that_are_judged():
    found = alg_1.run_rounds(Few("your-paper/alg-1"))
    yield [Within(1e-2, one) for one in _judged("alg-1", found)]
    off = [alg_1.Round(torch.zeros(1, 1), torch.ones(1, 1), torch.ones(2, 1, 1), 0.5, 2)]
    yield _shown(alg_1.alg_1.judge(off))


def _pairs():
    size = np.array([1e-3, 1.0, 2.0, 1.0, 3.0, 1e4])
    found = Searched({"a": size, "b": np.array([1e-3, 1.0, -1.0, 0.5, 1e-4, -1e4])})
    found.domain = Described("a and b from 1e-4 to 1e4", 6)
    return found


def inequalities():
    for K, share in ((0.5, 0.5), (0.49, 0.5), (0.5, 0.51), (1.0, 1.0), (2.0, 1.0), (1.98, 1.0)):
        found = judge_sums(_pairs(), K, share)
        yield _shown(found), found.witness, found.notes, len(found.facts)
    yield list(_judged("lem-1", _pairs())), list(_judged("lem-2", _pairs()))


def pairs_that_are_searched():
    def collected(context, axes, allowed, gap, **options):
        return axes, allowed({"a": np.array([1.0, np.inf])}), gap(_pairs()), options

    with patch.object(pairs, "collect_cases", collected):
        return pairs.measure_pairs(Context("your-paper/lem-1")), pairs.measure_pairs(Context("x", 0, "full"))[3]


def replayed():
    for a, b in ((1, 2), (1, -2), (0, 3), ("1/3", "1/4")):
        found = evaluate_replay(replays.lem_2, {"a": a, "b": b})
        yield found.confirmed, found.left, found.right, found.detail, found.exact
    for K in (2, 3):
        found = evaluate_replay(replays.lem_2_corrected, {}, {"K": K})
        yield found.confirmed, found.detail
    yield replays.lem_2.id, replays.lem_2_corrected.constants
