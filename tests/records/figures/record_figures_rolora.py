"""RoLoRA's figures in small sizes: angles, plateaus, aggregations, printed tables, and sentences about them."""

from dataclasses import replace

import numpy as np
import pandas as pd
from drawings import figures_of, picture
from own_sizes import Sized, columns
from recording import refused

from figures.figure import Settings
from figures.rolora import aggregations, angle, ffa, fig2, printed, runs, tables
from toymodels.regression import regression


def _problem(own=0.0, samples=None, seed=0):
    return regression(
        6, 4, 3, np.random.default_rng(seed), samples=samples, heterogeneity=own, sine=0.8, constants=False
    )


def angles_by_iteration():
    for own, samples, fresh in (
        (0.0, None, None),
        (0.5, None, None),
        (0.0, 12, None),
        (0.0, 12, np.random.default_rng(5)),
    ):
        problem = _problem(own, samples)
        angles, state = runs.run_exact(problem, 0.3, 3, fresh)
        yield (
            angles,
            runs.rate_of(problem, 0.3),
            runs.angle_of(problem, state),
            figures_of(abs(state.A["W"] @ state.B["W"])),
        )


def largest_ratios():
    return [
        angle.worst_ratio(np.array(of))
        for of in ([0.9, 0.5, 0.4], [0.4, 0.5, 1e-11], [1e-11, 0.5, 0.1], [1e-12, 1e-13])
    ]


def angles_in_expectation():
    sizes = angle.AngleSizes((2,), (2.0,), 2, 1, (0.6,))
    rows = [row for clients in angle.OWN for row in angle._expected_curves(Sized(), sizes, clients)]
    return columns(pd.DataFrame(rows), "panel", "step", "d", "iteration", "median", "exact", "printed", "over")


def angles_of_samples():
    sizes = angle.AngleSizes((2,), (2.0,), 2, 2, (0.1, 0.6))
    for clients in angle.OWN:
        yield columns(pd.DataFrame(angle._sampled_curves(Sized(seed=1), sizes, clients, 3, 6)))
    yield angle._ratios(Sized(), replace(sizes, iterations=1))


def numbers_of_samples():
    said = []
    sizes = angle.AngleSizes((2,), (0.5, 2.1, 3.0), 1, 0, (0.1,))
    settings = Sized(own=sizes, progress=said.append)
    angle.angle_data(settings)
    return said, len(angle._runs(settings, replace(sizes, seeds=20), "equal", "fixed", 0.25, 201, 2))


def _angles(start, factor, count):
    """Angle distances that fall by a factor, of runs that differ in it by a little."""
    return np.array([start * (factor + 0.01 * run) ** np.arange(5) for run in range(count)])


def _angle_table():
    rows = []
    for clients in angle.OWN:
        for step, factor in ((0.25, 0.7), (0.5, 0.6), (0.75, 0.9), (1.0, 1.2), (1.2, 1.3)):
            for of in (angle._curve, angle._worst):
                found = of(clients, "expectation", step, 20, 0, _angles(0.9, factor, 1))
                rows += found if isinstance(found, list) else [found]
            rows.append(angle._worst(clients, "steps", step, 20, 200, _angles(0.9, factor + 0.1, 3)))
        for d, samples, factor in ((2, 4, 0.99), (2, 40, 0.5), (300, 600, 0.9)):
            for data in ("fixed", "fresh"):
                for of in (angle._curve, angle._worst):
                    found = of(clients, data, 0.25, d, samples, _angles(0.9, factor, 3 if d < 200 else 2))
                    rows += found if isinstance(found, list) else [found]
    return pd.DataFrame(rows)


def angle_distances_in_words():
    table = _angle_table()
    fine = table.assign(over=table.over.where(table.data != "expectation", table.over * 0.0))
    yield columns(table[table.panel == "worst"], "median", "low", "high", "exact", "printed", "over", "seeds")
    for of in (table, fine):
        yield angle.angle_headline(of), angle.angle_found(of), angle.angle_sizes(of)
    few = table[table.d < 200]
    yield angle.angle_sizes(few), picture(angle.draw_angle, table)


def plateaus():
    for own, samples in ((0.0, 10), (0.5, None)):
        yield ffa.ffa_plateau(_problem(own, samples))


def plateau_and_start():
    table = ffa.ffa_data(Sized(own=ffa.FFASizes((8,), (2,), (3,), (0.3,), (1,), 2)))
    return columns(table), ffa.LARGE, ffa.ffa_sizes(table)


def courses_of_aggregations():
    for case in ("equal, samples", "different, expected"):
        problem = aggregations.aggregation_problem(Settings(), case, "run 0")
        yield aggregations._best_of_rank_1(problem) if case[0] == "d" else aggregations._least(problem)
        for method in aggregations.METHODS if case[0] == "e" else ("RoLoRA", "exact RoLoRA"):
            found = aggregations.course(problem, method, 0.03125, 2, 1)
            yield method, found.rounds, found.bytes, found.training[1:], found.population[-1], found.angle[1:]


def courses_on_samples_and_in_expectation():
    problem = aggregations.aggregation_problem(Settings(), "different, samples", "run 0")
    for method in ("RoLoRA", "FFA-LoRA"):
        found = aggregations.course(problem, method, 0.05, 4, 0)
        yield found.rounds, found.training, found.population


def courses_that_end_early():
    problem = aggregations.aggregation_problem(Settings(), "equal, expected", "run 1")
    yield aggregations.course(problem, "FedAvg", 30.0, 200, 1)
    yield aggregations.course(problem, "FedAvg", 0.1, 9, 1, enough=1.0).rounds
    yield refused(aggregations.aggregation_problem, Settings(), "none", "run 0")


def table_of_aggregations():
    courses = [aggregations.Course((0, 2), (0, 80), (5.0, low), (4.0, low / 2), (1.0, 0.1)) for low in (0.2, 0.1, 0.4)]
    rows = [
        row
        for place, case in enumerate(aggregations.CASES)
        for number, method in enumerate(aggregations.METHODS)
        for row in aggregations._rows(
            case, method, 0.5 / 2**number, 0.1 * place, courses[: 1 + (number + place) % 3], 3
        )
    ]
    table = pd.DataFrame(rows)
    yield columns(table, every=7), aggregations._rows("c", "m", 0.1, 0.0, [], 2)
    yield (
        aggregations.aggregation_headline(table),
        aggregations.aggregation_found(table),
        aggregations.aggregation_sizes(table),
    )
    few = table[table["case"].isin(("equal, samples", "different, samples")) & table.method.isin(("RoLoRA", "FedAvg"))]
    yield picture(aggregations.draw_aggregations, few)


def best_rates():
    problems = [aggregations.aggregation_problem(Settings(), "equal, expected", "rate 0")]
    sizes = aggregations.AggregationSizes(2, 1, 1, (0.01, 0.1, 30.0))
    return [aggregations._best_rate(problems, method, sizes) for method in ("FedAvg", "FFA-LoRA")]


def plateaus_in_words():
    for mean, half in (
        (0.55, 0.05),
        (0.55, 0.051),
        (0.45, 0.04),
        (0.45, 0.05),
        (0.7, 0.09),
        (0.7, 0.1),
        (0.5, 0.0),
        (0.6, float("nan")),
    ):
        yield fig2.plateau(mean, half)


def cells_of_printed_tables():
    for data in (tables.table_1_data, tables.table_6_data, tables.table_2_data, tables.table_12_data):
        table = data(Settings())
        yield (
            [figures_of(table[name]) for name in ("published", "deviation", "recomputed", "difference")],
            tables.table_sizes(table),
        )
        yield list(dict.fromkeys(table.setting)), list(dict.fromkeys(table.column)), list(dict.fromkeys(table.method))
    yield (
        tables.mmlu_found(table),
        tables.trials_found(tables.table_2_data(Settings())),
        tables.table_6_found(tables.table_6_data(Settings())),
    )


def counts_of_right_answers():
    for mean, size, trials in (("50.0", 2, 1), ("33.3", 3, 3), ("61.42", 3270, 3), ("0.2", 10, 2)):
        yield str(tables.nearest_count(mean, size, trials)), float(tables.nearest_count(mean, size))
    yield [str(tables.mmlu(method)) for method in printed.METHODS], str(tables.mean_of_row(printed.TABLE_1[3]))


def differences_that_rounding_explains():
    table = tables.table_12_data(Settings())
    for off in (0.0105, 0.01051, -0.02):
        of = table.assign(difference=table.difference.where(table.difference.isna(), off))
        yield tables.mmlu_found(of), tables.trials_found(of)
        row = of[of.recomputed.notna()].iloc[0]
        yield [[cell.text, cell.tint] for cell in tables._three(row)]


def printed_tables():
    for table in (printed.TABLE_1, printed.TABLE_2, printed.TABLE_6, printed.TABLE_10):
        yield [
            f"{row.name}: {' '.join(f'{s.mean} {s.deviation}' for s in row.scores.values())} {row.average}"
            for row in table
        ]
    yield [f"{name}: {' '.join(s.mean for s in of.values())}" for name, of in printed.TABLE_12.items()]
    yield str(printed.MMLU), str(printed.TESTS), str(dict(printed.TABLE_4))


def layers_of_printed_tables():
    sets = [
        *printed.TABLE_5.values(),
        *(one for of in (*printed.TABLE_7.values(), *printed.TABLE_8.values()) for one in of.values()),
    ]
    yield [f"{where.matrices} {where.first} {where.last} {where.layers} {where.adapted}" for where in sets]
    yield str(printed.TABLE_9), str(printed.TABLE_11)


def rows_found_in_printed_tables():
    yield printed.find(printed.TABLE_1, "LoRA", 50).average, printed.find(printed.TABLE_1, "LoRA", 50, 8).average
    yield refused(printed.find, printed.TABLE_1, "LoRA", 3, 8)
