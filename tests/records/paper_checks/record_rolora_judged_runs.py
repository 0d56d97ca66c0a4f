"""Records of what RoLoRA's claims on long runs and large tables say of runs and tables that are short."""

from dataclasses import replace

from evidence_shown import shown
from forms_shown import forms_shown

from figures.rolora.printed import COMMONSENSE, TABLE_2, TABLE_10, Row, Score
from paper_checks.rolora import sec_5_2, table_2, thm_5_4
from paper_checks.rolora.measurements.fixed_samples import FixedRun

SMALL = {
    "LoRA": {"BoolQ": Score("33.33", "14.43"), "PIQA": Score("41.67", "14.43")},
    "RoLoRA": {"BoolQ": Score("41.6", "14.4"), "PIQA": Score("50.00", "0.00")},
}
SIZES = {"BoolQ": 4, "PIQA": 5}


def _rows(scores, table=2):
    return [Row(table, 8, 50, method, of) for method, of in scores.items()]


def means_with_deviations_of_few_answers():
    for mean, deviation in (
        ("33.33", "14.43"),
        ("33.33", "0.00"),
        ("33.3", "14.4"),
        ("100.00", "0.00"),
        ("0.00", "1."),
    ):
        for size in (4, 12):
            yield [
                table_2.with_deviation(Score(mean, deviation), size, entering, divisor, places)
                for entering in ("rounded", "cut", "whole")
                for divisor in (2, 3)
                for places in (0, 2)
            ]


def half_units():
    return [table_2.half_unit(*one) for one in (("47.2",), ("47.2", 2), ("47.25", 1), ("47",))]


def cells_of_no_trials():
    rows = _rows(SMALL)
    for entering in ("rounded", "cut", "whole"):
        yield table_2.missed_cells(rows, SIZES, entering), table_2.missed_cells(rows, SIZES, entering, 3, 2)
        for runs in (2, 3, 4):
            yield shown(table_2.judge_runs(rows, SIZES, runs, entering, "a small table"))
    right = {"LoRA": {"BoolQ": Score("33.33", "14.43")}, "RoLoRA": {"BoolQ": Score("41.67", "14.43")}}
    for divisor in (2, 3):
        yield shown(table_2.judge_runs(_rows(right), {"BoolQ": 4}, 3, "rounded", "another", divisor, 2))


def tests_of_leads():
    one, two = Score("61.83", "0.22"), Score("61.42", "0.29")
    for divisor in (2, 3):
        yield table_2.welch(one, two, divisor=divisor), table_2.welch(two, one, 5, divisor)
        yield table_2.least_certain(one, two, divisor), table_2.least_certain(two, one, divisor)
        for rows in (TABLE_2, TABLE_10):
            yield table_2.insignificant_leads(rows, "RoLoRA", 0.05, divisor)
            yield table_2.significant_leads(rows, "RoLoRA", "FFA-LoRA", 0.012, divisor)
            yield table_2.significant_leads(rows, "RoLoRA", "LoRA", 0.05, divisor)


def leads_of_both_tables():
    for rows in (TABLE_2, TABLE_10):
        for lead in (0.0, 0.41):
            found = table_2.leads(rows, "RoLoRA", lead)
            yield (
                len(found),
                [[name, float(one.lead.low), float(one.lead.high)] for name, one in list(found.items())[::5]],
            )
    yield sorted(table_2.by_method(TABLE_2)), len(COMMONSENSE)


def best_method_of_table_2():
    yield from forms_shown(table_2.txt_table2_best, (TABLE_2, TABLE_10))
    yield from forms_shown(table_2.txt_table2_best, (TABLE_10, TABLE_2))


def variances_of_ffa_lora():
    yield from forms_shown(table_2.txt_table2_ffa_var, (TABLE_2, TABLE_10))
    yield from forms_shown(table_2.txt_table2_ffa_var, (TABLE_10, TABLE_2))
    scores = [replace(row, scores={**row.scores, "PIQA": Score("35.49", "9.85")}) for row in TABLE_2]
    yield shown(table_2.txt_table2_ffa_var.judge((scores, TABLE_10), piqa=9.85))


def fewer_parameters():
    yield from forms_shown(table_2.txt_fewer_params, (TABLE_10, TABLE_2))


def _courses():
    one = thm_5_4.Course(0.5, 0.3, 0.01, 0, {1.0: (0.009, 8e-5, 7e-5), 0.2: (0.1, 1e-2, 1e-2), 0.0: (0.01, 1e-4, 1e-4)})
    return [
        one,
        replace(one, s=0.95, ends={1.0: (0.02, 4e-4, 4e-4), 0.2: (0.2, 0.04, 0.04), 0.0: (0.011, 1.21e-4, 1e-4)}),
        replace(one, samples=1000, ends={1.0: (0.01, 1.2e-4, 1.005e-4)}),
        replace(one, s=0.02, sine=0.8, target=1e-3, ends={**one.ends, 1.0: (1e-3, 1.1e-6, 1.002e-6)}),
    ]


def theorem_5_4_on_invented_runs():
    runs = [FixedRun(0.3, 0.5, 0.9, (0.59, 0.5), 1.07), FixedRun(0.95, 0.25, 0.6, (0.95, 0.9), 1.5)]
    yield from forms_shown(thm_5_4.thm_5_4, (_courses(), runs))
    yield from forms_shown(thm_5_4.thm_5_4, (_courses()[:1], [replace(runs[0], factors=(0.5, 0.596))]))


def losses_after_theorem_5_4():
    yield from forms_shown(thm_5_4.s5_rolora_loss, _courses())
    yield from forms_shown(thm_5_4.s5_rolora_loss, _courses()[:1])


def courses_by_hand():
    for one in _courses():
        yield thm_5_4.case_of(one, True), thm_5_4.case_of(one, False)
    yield [thm_5_4.course_scope(_courses()[:count], tied) for count, tied in ((1, True), (4, False))]


def experiment_of_section_5_2():
    start = sec_5_2.Start("LoRA", 5, 0.001, 0.02, 0.4)
    still = replace(start, clients=10, fall=0.0, moved=0.0, lit=0.0)
    runs = {
        (slope, base, out): [start, replace(start, fall=5e-4, lit=0.755)]
        if out and (slope, base) != (0.0, "zero")
        else [still]
        for slope, base in ((0.0, "zero"), (1.0, "zero"), (0.0, "normal"))
        for out in (1.0, 0.0)
    }
    labels = {5: ((2, 2, 2, 2, 2), 60_000), 10: ((1,) * 10, 60_000)}
    yield from forms_shown(sec_5_2.exp_5_2, sec_5_2.Setting(runs, {0.0: 0.0, 1.0: 0.5}, labels))
    off = {5: ((2, 2, 3, 2, 2), 60_000), 10: ((1,) * 10, 59_999)}
    yield from forms_shown(sec_5_2.exp_5_2, sec_5_2.Setting(runs, {0.0: 6e-4, 1.0: 5e-4}, off))


def small_networks_in_a_step():
    return [sec_5_2._small_step(slope) for slope in (0.0, 1.0)]
