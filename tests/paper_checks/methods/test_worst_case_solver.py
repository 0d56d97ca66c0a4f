"""Worst cases of local steps with the solver: ways to end, worst functions on the real algorithms, an oracle."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import torch

from algorithms.descent import Descent
from algorithms.fedavg import FedAvg
from algorithms.federation import Federation
from algorithms.fedlin import FedLin
from algorithms.fedlrt import FeDLRT
from algorithms.low_rank import Truncation
from algorithms.rounds import one_round
from algorithms.tree import Tree
from paper_checks.fedlrt.measurements.client_rounds import run_round
from paper_checks.fedlrt.measurements.traces import descent_constant
from paper_checks.methods.worst_case.certificate import Certificate, NoCertificate, find_flaw
from paper_checks.methods.worst_case.closed_form import worst_descent, worst_drift
from paper_checks.methods.worst_case.problem import FEDAVG, FEDLIN, SIMPLIFIED, Setting, worst_case
from toymodels.quadratic import Quadratic, centred

F = Fraction


def sdp():
    pytest.importorskip("clarabel")
    from paper_checks.methods.worst_case import sdp as module

    return module


@pytest.mark.parametrize(("clients", "steps"), [(1, 3), (2, 1), (2, 3), (3, 3), (50, 5)])
@pytest.mark.parametrize("low", [F(-1), F(0)])
def test_solver_finds_the_closed_forms(clients, steps, low):
    solver = sdp()
    for whole in (F(1, 12), F(2)):
        found = solver.solve(worst_case(Setting(FEDLIN, clients, steps, whole / steps, low)))
        assert found.value == pytest.approx(float(worst_descent(steps, whole / steps)), abs=2e-7)
        assert found.primal == pytest.approx(found.value, abs=2e-7)
    found = solver.solve(worst_case(Setting(FEDLIN, clients, steps, F(1, steps), low, "drift")))
    expected = float(worst_drift(steps, F(1, steps))) if low else 1.0
    assert found.value == pytest.approx(expected**2, rel=1e-6)


@pytest.mark.parametrize("steps", [2, 4, 8, 16])
@pytest.mark.parametrize("delta", [F(1, 2), F(1)])
def test_the_constant_of_the_simplified_correction_is_nearly_needed(steps, delta):
    solver, whole = sdp(), F(1, 50)
    found = solver.solve(worst_case(Setting(SIMPLIFIED, 2, steps, whole / steps, outside=delta)))
    needed = (1.0 + found.value / float(whole)) / float(whole)
    assert 0.98 < needed / descent_constant(steps, float(delta)) < 1.0


def test_a_smoother_mean_helps_and_bounds_the_rounds_it_covers():
    solver = sdp()
    step = F(1, 36)
    values = [
        solver.solve(worst_case(Setting(FEDLIN, 2, 3, step, mean=mean))).value
        for mean in (None, F(1), F(1, 2), F(1, 10))
    ]
    assert values[1] == pytest.approx(values[0], abs=1e-7)
    assert values[1] > values[2] > values[3]
    assert float(run_round((1, 0), (1, 1), 3, step, True).change) <= values[2] + 1e-8
    assert float(run_round((1, -1), (1, 1), 3, step, True).change) <= values[3] + 1e-8
    setting = Setting(FEDLIN, 2, 3, step, mean=F(1, 2))
    found = solver.find_certificate(worst_case(setting), F(round(values[2] * 10**5) + 1, 10**5))
    assert isinstance(found, Certificate)
    assert find_flaw(Certificate.from_json(found.as_json())) == ""
    assert find_flaw(replace(found, setting=replace(setting, mean=None)))


def test_three_ways_to_end_without_a_proof_are_told_apart():
    solver = sdp()
    uncorrected = worst_case(Setting(FEDAVG, 2, 2, F(1, 24)))
    assert isinstance(solver.solve(uncorrected), solver.Unbounded)
    assert isinstance(solver.solve(worst_case(Setting(FEDAVG, 1, 2, F(1, 24)))), solver.Solved)
    corrected = worst_case(Setting(FEDLIN, 2, 2, F(1, 24)))
    assert isinstance(solver.solve(corrected, iterations=2), solver.SolverFailed)
    below = worst_descent(2, F(1, 24)) - F(1, 100)
    assert isinstance(solver.find_certificate(corrected, below), NoCertificate)
    found = solver.find_certificate(corrected, F(-1, 24))
    assert isinstance(found, Certificate)
    assert find_flaw(found) == ""


@pytest.mark.parametrize(
    "setting",
    [
        Setting(FEDLIN, 2, 4, F(1, 48), low=F(0)),
        Setting(FEDAVG, 3, 3, F(1, 36), spread=F(2)),
        Setting(FEDLIN, 2, 6, F(1, 2)),
        Setting(SIMPLIFIED, 2, 3, F(1, 36), outside=F(1, 10)),
    ],
    ids=["convex", "FedAvg", "large step", "simplified"],
)
def test_rounding_finds_certificates_close_to_the_worst_case(setting):
    solver = sdp()
    problem = worst_case(setting)
    bound = F(round(solver.solve(problem).value * 10**4) + 1, 10**4)
    found = solver.find_certificate(problem, bound)
    assert isinstance(found, Certificate), found
    assert find_flaw(Certificate.from_json(found.as_json())) == ""


@pytest.mark.parametrize(
    ("setting", "method"),
    [
        (Setting(FEDLIN, 2, 3, F(1, 36)), FedLin),
        (Setting(FEDLIN, 3, 6, F(1, 2)), FedLin),
        (Setting(FEDLIN, 2, 3, F(7, 3), low=F(0)), FedLin),
        (Setting(FEDAVG, 3, 3, F(1, 12), spread=F(1)), FedAvg),
    ],
    ids=["printed step", "large step", "convex", "FedAvg"],
)
def test_real_algorithm_on_the_worst_function_reaches_the_worst_case(setting, method):
    solver = sdp()
    from paper_checks.methods.worst_case.worst_function import change_of_mean, worst_clients

    problem = worst_case(setting)
    found = solver.solve(problem)
    clients = worst_clients(problem, found)
    end = model_after_a_round(
        method(Descent(setting.steps, float(setting.step))), clients, torch.zeros(1, len(clients[0].points[0]))
    )
    slopes = [client.at(np.zeros(len(end[0])))[1] for client in clients]
    assert np.linalg.norm(np.mean(slopes, axis=0)) == pytest.approx(1.0, abs=1e-5)
    assert change_of_mean(clients, end[0].numpy()) == pytest.approx(found.value, abs=2e-5 * max(1.0, abs(found.value)))
    rng = np.random.default_rng(0)
    for client in clients:  # it is in the class
        for one, other in rng.standard_normal((20, 2, len(end[0]))):
            change, turn = one - other, client.at(one)[1] - client.at(other)[1]
            assert np.linalg.norm(turn) <= (1.0 + 1e-6) * np.linalg.norm(change)


@pytest.mark.parametrize(("clients", "steps"), [(1, 2), (2, 2), (2, 3), (3, 2)])
@pytest.mark.parametrize("whole", [F(1, 12), F(4)])
def test_pepit_agrees_on_the_unreduced_problem(clients, steps, whole):
    pytest.importorskip("PEPit")
    solver = sdp()
    from PEPit import PEP
    from PEPit.functions import SmoothFunction

    step = float(whole / steps)
    pep = PEP()
    functions = [pep.declare_function(SmoothFunction, L=1.0) for _ in range(clients)]
    x = pep.set_initial_point()
    local = [f.gradient(x) for f in functions]
    g = sum(local[1:], local[0]) * (1.0 / clients)
    pep.add_constraint(g**2 == 1)
    ends = []
    for f, own in zip(functions, local, strict=True):
        y = x - step * g
        for _ in range(1, steps):
            y = y - step * (f.gradient(y) - own + g)
        ends.append(y)
    end = sum(ends[1:], ends[0]) * (1.0 / clients)
    rises = [f(end) - f(x) for f in functions]
    pep.set_performance_metric(sum(rises[1:], rises[0]) * (1.0 / clients))
    value = pep.solve(wrapper="cvxpy", solver="CLARABEL", verbose=0)
    ours = solver.solve(worst_case(Setting(FEDLIN, clients, steps, whole / steps)))
    assert ours.value == pytest.approx(value, abs=2e-6)


def model_after_a_round(algorithm, clients, start):
    fed = Federation(clients)
    state = algorithm.start(fed, Tree({"W": start.double()}))
    return algorithm.weights(one_round(algorithm.round, fed, state))["W"]


@pytest.mark.parametrize("steps", [1, 3, 10])
def test_fedlin_and_fedlrt_reach_the_worst_descent_on_a_bowl(steps):
    step = F(1, 12 * steps)
    bowl = centred(torch.eye(4), torch.tensor([[1.0, 2.0], [0.5, -1.0]]))
    start = torch.tensor([[1.0, 0.0], [0.0, 0.0]])
    squares = float((bowl.gradient(Tree({"W": start.double()}))["W"] ** 2).sum())
    for algorithm in (
        FedLin(Descent(steps, float(step))),
        FeDLRT(Descent(steps, float(step)), 1, Truncation(0.0), "full"),
    ):
        end = model_after_a_round(algorithm, [bowl] * 3, start)
        change = float(bowl.loss({"W": end}) - bowl.loss({"W": start.double()}))
        assert change == pytest.approx(float(worst_descent(steps, step)) * squares, rel=1e-12)


def test_simplified_correction_can_ascend_although_the_assumption_holds():
    """The block's gradients may differ so much that Assumption 1 allows any gradient outside of it."""
    solver = sdp()
    delta = F(1, 100)
    met = tuple((delta, gamma) for gamma in (F(1), F(10), F(1, 10)))
    setting = Setting(SIMPLIFIED, 2, 3, F(1, 36), alignment=met)
    assert isinstance(solver.solve(worst_case(setting)), solver.Unbounded)

    big, b, tilt, step = 10**9, 2000.0, 0.1, 1.0 / 48.0
    clients = []
    for sign in (1.0, -1.0):  # sign (big p + b q + q^2/2) + p + tilt q, with p = W11 - 1 and q = W22
        H = torch.zeros(4, 4, dtype=torch.float64)
        H[3, 3] = sign
        slope = torch.tensor([[sign * big + 1.0, 0.0], [0.0, sign * b + tilt]], dtype=torch.float64)
        clients.append(Quadratic(H.reshape(2, 2, 2, 2), -slope, torch.tensor(0.0, dtype=torch.float64)))
    start = torch.tensor([[1.0, 0.0], [0.0, 0.0]])
    end = model_after_a_round(FeDLRT(Descent(2, step), 1, Truncation(0.0), "simplified"), clients, start)
    change = np.mean([float(c.loss({"W": end}) - c.loss({"W": start.double()})) for c in clients])
    assert change > 0.04
    for client, sign in zip(clients, (1.0, -1.0), strict=True):
        q = 0.0
        for _ in range(3):
            inside, outside = sign * big + 1.0, sign * b + tilt + sign * q
            assert np.hypot(inside, outside) - abs(inside) < float(delta) * np.hypot(1.0, tilt)
            q -= step * outside
        assert client.gradient(Tree({"W": start.double()}))["W"][0, 0] == sign * big + 1.0
    assert np.hypot(1.0, tilt) - 1.0 < float(delta) * np.hypot(1.0, tilt)
