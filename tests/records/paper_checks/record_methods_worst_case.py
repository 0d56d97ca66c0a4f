"""Records of worst cases: their problems, certificates, closed forms and exact linear algebra, without a solver."""

import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
from recording import refused

from paper_checks.methods.worst_case import closed_form
from paper_checks.methods.worst_case.certificate import Certificate, find_flaw, round_certificate, slack_matrices
from paper_checks.methods.worst_case.exact import is_positive_semidefinite
from paper_checks.methods.worst_case.gram import Form, Vector, combination, inner, square
from paper_checks.methods.worst_case.problem import FEDAVG, FEDLIN, SIMPLIFIED, Setting, interpolation, worst_case
from paper_checks.methods.worst_case.sdp import _square, _triangle
from paper_checks.methods.worst_case.worst_function import worst_clients

F = Fraction

IN, OUT = ("mean", "inside"), ("spread", "outside")
A, B = Vector({(IN, "a"): F(2), (OUT, "b"): F(-1)}), Vector({(IN, "a"): F(1, 2), (IN, "c"): F(3)})


def _terms(form):
    return {" ".join((*block, one, other)): str(value) for (block, one, other), value in sorted(form.terms.items())}


def _parts(vector):
    return {" ".join((*block, name)): str(value) for (block, name), value in sorted(vector.parts.items())}


def _matrix(matrix):
    return [[str(value) for value in row] for row in matrix]


def closed_forms():
    for steps, step in ((1, F(1, 4)), (2, F(1, 5)), (5, F(1, 10)), (3, F(1, 2))):
        yield [
            str(one(steps, step))
            for one in (closed_form.worst_descent, closed_form.worst_drift, closed_form.needed_constant)
        ]
        yield str(closed_form.best_constant(steps)), closed_form.coupling_dominates(steps, step)
        yield _matrix(closed_form.coupling(steps, step))


def rates_up_to_which_the_closed_form_dominates():
    for steps in (1, 2, 3, 4, 8):
        yield [
            closed_form.coupling_dominates(steps, F(k, 100))
            for k in (1, 6, 7, 11, 12, 17, 18, 25, 33, 36, 39, 45, 50, 60)
        ]


def certificates_in_closed_form_and_their_flaws():
    for clients, steps, step in ((1, 1, F(1, 4)), (2, 2, F(1, 5)), (3, 4, F(1, 10)), (2, 3, F(1, 2))):
        for made in (closed_form.descent_certificate, closed_form.drift_certificate):
            found = made(clients, steps, step)
            yield json.dumps(found.as_json()), find_flaw(found)


def certificates_that_prove_nothing():
    good = closed_form.descent_certificate(2, 3, F(1, 8))
    yield find_flaw(good), find_flaw(replace(good, bound=good.bound - F(1, 10**6)))
    yield find_flaw(replace(good, bound=good.bound + 1))
    for change in (
        {"0,1": F(-1)},
        {"0,+": F(2)},
        {"5,6": F(1)},
        {"0,1": F(1, 3)},
        {"mean 0,+": F(1)},
        {"1,+": F(1, 7), "+,1": F(1, 7)},
    ):
        yield find_flaw(replace(good, multipliers={**good.multipliers, **change}))
    yield find_flaw(replace(good, multipliers={}))
    yield find_flaw(replace(good, setting=replace(good.setting, recursion=FEDAVG)))
    drift = closed_form.drift_certificate(2, 3, F(1, 8))
    yield find_flaw(drift), find_flaw(replace(drift, bound=drift.bound - F(1, 10**6)))


def certificates_as_text_and_back():
    full = Setting(SIMPLIFIED, 3, 2, F(1, 6), F(-1, 2), "descent", F(2), ((F(1, 4), F(3)),), F(1, 5), F(1, 2))
    for setting in (full, Setting(FEDAVG, 1, 1, F(1, 3), F(0), "drift"), Setting()):
        found = Certificate(setting, F(-1, 7), {"0,1": F(1, 3), "1,0": F(0)}).as_json()
        again = Certificate.from_json(found)
        yield found, again.as_json() == found, again.setting == setting
    for missing in ("step", "low", "goal", "bound", "multipliers"):
        yield refused(Certificate.from_json, {name: value for name, value in found.items() if name != missing})
    yield refused(Certificate.from_json, found | {"step": "0"})
    yield refused(Certificate.from_json, found | {"clients": "two"})


def settings_that_are_refused():
    for change in (
        *(
            {"clients": 0},
            {"steps": 0},
            {"step": F(0)},
            {"step": F(-1)},
            {"low": F(1)},
            {"low": F(-1)},
            {"low": F(-11, 10)},
        ),
        *({"low": F(99, 100)}, {"mean": F(0)}, {"mean": F(1)}, {"mean": F(11, 10)}, {"mean": F(1, 100)}),
    ):
        yield refused(lambda change=change: str(Setting(**change).mean))


def vectors_and_forms():
    yield [_parts(one) for one in (A + B, A - B, A * 3, A * F(1, 2), A.restrict([OUT]), A - A)]
    yield [
        _terms(one)
        for one in (inner(A, B), square(A), square(B), square(A) + inner(A, B), square(A) - square(B), square(A) * 2)
    ]
    yield _terms(combination([(F(2), square(A)), (F(-1, 2), inner(A, B))]))
    yield _matrix(square(A + B).matrix(IN, ("a", "c")))
    yield _matrix(square(A + B).matrix(OUT, ("b",))), _matrix(Form({}).matrix(IN, ("a",)))


def interpolation_between_two_curvatures():
    a, b, g, h = (Vector({(IN, name): F(1)}) for name in "abgh")
    for low, high in ((F(-1), F(1)), (F(0), F(1)), (F(-1, 2), F(1, 3))):
        yield _terms(interpolation(low, (a, b), (g, h), high))
    yield _terms(interpolation(F(0), (a, b), (g, h)))


def problems_of_several_settings():
    for setting in (
        *(Setting(FEDLIN, 2, 1, F(1, 4)), Setting(FEDLIN, 1, 2, F(1, 4)), Setting(FEDAVG, 2, 2, F(1, 4), goal="drift")),
        Setting(FEDAVG, 3, 1, F(1, 4), spread=F(2), mean=F(1, 2)),
        Setting(FEDAVG, 1, 1, F(1, 4), F(-1, 5), mean=F(1, 2)),
        Setting(FEDAVG, 1, 1, F(1, 4), F(0), spread=F(2), mean=F(1, 2), goal="drift"),
        Setting(SIMPLIFIED, 2, 1, F(1, 4), F(-1, 3), alignment=((F(1, 4), F(3)),), outside=F(1, 5), mean=F(1, 4)),
    ):
        problem = worst_case(setting)
        yield {" ".join(block): names for block, names in problem.blocks.items()}, _terms(problem.objective)
        yield _terms(problem.unit)
        yield problem.objective_values, {name: _parts(one) for name, one in problem.points.items()}
        yield {name: _parts(one) for name, one in problem.gradients.items()}
        yield {one.name: (one.values, _terms(one.form)) for one in problem.inequalities}


def alignment_at_every_local_point():
    problem = worst_case(Setting(SIMPLIFIED, 2, 2, F(1, 4), alignment=((F(1, 4), F(3)), (F(1, 4), F(1)))))
    yield [one.name for one in problem.inequalities]
    yield [_terms(one.form) for one in problem.inequalities if one.name.startswith("alignment 1")]


def slack_of_a_certificate():
    found = closed_form.descent_certificate(2, 2, F(1, 5))
    problem = worst_case(found.setting)
    yield {" ".join(block): _matrix(M) for block, M in slack_matrices(problem, found.bound, found.multipliers).items()}


def multipliers_rounded_to_a_grid():
    found = closed_form.descent_certificate(2, 3, F(1, 8))
    problem = worst_case(found.setting)
    floats = {name: float(value) + 1e-5 for name, value in found.multipliers.items()} | {"1,2": -0.3}
    for bound in (found.bound + F(1, 10), found.bound):
        for denominator in (10, 1000):
            answer = round_certificate(problem, bound, floats, denominator)
            yield json.dumps(answer.as_json()) if isinstance(answer, Certificate) else answer.reason
    drift = closed_form.drift_certificate(2, 3, F(1, 8))
    answer = round_certificate(worst_case(drift.setting), drift.bound + 1, {"0,1": 0.11, "1,0": 0.04, "2,0": 0.5}, 100)
    yield json.dumps(answer.as_json()) if isinstance(answer, Certificate) else answer.reason


def positive_semidefinite_matrices():
    for rows in (
        *(
            [],
            [[0]],
            [[1]],
            [[-1]],
            [[1, 1], [1, 1]],
            [[0, 1], [1, 5]],
            [[5, 1], [1, 0]],
            [[0, 0], [0, 3]],
            [[0, 0], [0, -3]],
        ),
        *(
            [[2, -1, 0], [-1, 2, -1], [0, -1, 2]],
            [[1, 1, 1], [1, 1, 1], [1, 1, F(9, 10)]],
            [[1, 2], [2, 4]],
            [[1, 2], [2, 3]],
        ),
        *([[1, 2], [3, 4]], [[1, 2]], [[1, 0, 2], [0, 0, 0], [2, 0, 4]], [[1, 0, 2], [0, 0, 1], [2, 1, 9]]),
    ):
        yield refused(is_positive_semidefinite, [[F(value) for value in row] for row in rows])


def triangles_of_symmetric_matrices():
    M = np.array([[1.0, 2.0, 3.0], [2.0, 4.0, 5.0], [3.0, 5.0, 6.0]])
    yield _triangle(M), _square(_triangle(M), 3)


def clients_of_a_worst_case():
    from types import SimpleNamespace

    for clients in (1, 2, 3):
        problem = worst_case(Setting(FEDLIN, clients, 1, F(1, 4)))
        blocks = {block: np.diag(np.arange(1.0, len(names) + 1)) for block, names in problem.blocks.items()}
        solved = SimpleNamespace(gram=blocks, values={"+": -0.25})
        for one in worst_clients(problem, solved):
            yield np.linalg.norm(one.points, axis=1), np.linalg.norm(one.gradients, axis=1), one.values, one.low
            yield one.samples
        yield np.linalg.norm(sum(one.gradients for one in worst_clients(problem, solved)) / clients, axis=1)
