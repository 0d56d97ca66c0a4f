"""Worst cases of local steps without a solver: exact certificates, stored files, tampering, far sizes."""

import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from importlib.util import find_spec

import numpy as np
import pytest

from paper_checks.fedlrt.measurements.client_rounds import run_round
from paper_checks.fedlrt.paper import PAPER
from paper_checks.methods.worst_case.certificate import Certificate, find_flaw
from paper_checks.methods.worst_case.closed_form import (
    best_constant,
    coupling,
    coupling_dominates,
    descent_certificate,
    drift_certificate,
    needed_constant,
)
from paper_checks.methods.worst_case.exact import is_positive_semidefinite
from paper_checks.methods.worst_case.problem import FEDAVG
from paper_checks.replay import Stored, replay_in_fresh_process

F = Fraction
SIZES = [(1, 1), (1, 4), (2, 1), (2, 3), (3, 3), (4, 4), (100, 6)]


def test_exact_elimination_agrees_with_eigenvalues():
    rng = np.random.default_rng(0)
    seen = set()
    for _ in range(300):
        size = int(rng.integers(1, 6))
        half = rng.integers(-2, 3, (size, int(rng.integers(1, size + 1))))
        matrix = half @ half.T - int(rng.integers(0, 2)) * np.diag(rng.integers(0, 2, size))
        known = float(np.linalg.eigvalsh(matrix)[0]) > -1e-9
        seen.add(known)
        assert is_positive_semidefinite([[F(int(v)) for v in row] for row in matrix]) == known
    assert seen == {True, False}
    with pytest.raises(ValueError, match="symmetric"):
        is_positive_semidefinite([[F(1), F(2)], [F(3), F(1)]])


@pytest.mark.parametrize(("clients", "steps"), SIZES)
def test_closed_forms_are_certified_and_nothing_below_them(clients, steps):
    for made in (
        *(descent_certificate(clients, steps, whole / steps) for whole in (F(1, 12), F(1, 2), F(4, 5))),
        *(drift_certificate(clients, steps, whole / steps) for whole in (F(1, 12), F(1))),
    ):
        assert find_flaw(made) == ""
        assert Certificate.from_json(made.as_json()) == made
        less = replace(made, bound=made.bound - F(1, 10**9))
        assert "not positive semidefinite" in find_flaw(less)


def test_tampered_certificates_are_rejected():
    made = descent_certificate(2, 3, F(1, 36))
    for name, value in made.multipliers.items():
        for other in (value * F(3, 2), -value, F(0)):
            assert find_flaw(replace(made, multipliers={**made.multipliers, name: other}))
    assert "no inequality" in find_flaw(replace(made, multipliers={**made.multipliers, "9,0": F(1)}))
    assert find_flaw(replace(made, setting=replace(made.setting, recursion=FEDAVG)))
    assert find_flaw(replace(made, setting=replace(made.setting, step=F(1, 40))))


@pytest.mark.parametrize(
    ("label", "change"),
    [
        ("thm-1", lambda v: v["certificates"][3].update(bound="1")),
        ("thm-8", lambda v: v["certificates"][4]["multipliers"].update({"0,1": "1/1000"})),
    ],
)
def test_tampered_files_are_rejected_by_the_fresh_process(label, change):
    (file,) = PAPER.to_replay(f"fedlrt/{label}")
    files = [file]
    for one in (change, lambda v: v["certificates"].pop()):
        copy = PAPER.to_replay(f"fedlrt/{label}")[0].values
        one(copy)
        files.append(Stored(file.id, file.kind, copy))
    answers = replay_in_fresh_process(PAPER.package, files)
    assert [answer.confirmed for answer in answers] == [True, False, False], [answer.detail for answer in answers]


def test_a_bound_below_the_worst_case_is_rejected_wherever_it_stands():
    (file,) = PAPER.to_replay("fedlrt/thm-8")
    files = []
    for number in (0, 9, len(file.values["certificates"]) - 1):
        copy = PAPER.to_replay("fedlrt/thm-8")[0].values
        content = copy["certificates"][number]
        content["bound"] = str(F(content["bound"]) * F(102, 100))
        files.append(Stored(file.id, file.kind, copy))
    assert not any(answer.confirmed for answer in replay_in_fresh_process(PAPER.package, files))


def test_the_witness_of_truncation_must_meet_every_hypothesis():
    file = PAPER.to_replay("fedlrt/thm-2")[0]
    changes = [{}, {"step": "1/10"}, {"theta": "2"}, {"tail": "2"}, {"B": [["65", "0"], ["0", "136"]]}, {"theta": "40"}]
    files = [Stored(file.id, file.kind, {**file.values, **change}) for change in changes]
    answers = replay_in_fresh_process(PAPER.package, files)
    assert [answer.confirmed for answer in answers] == [True] + [False] * 5


@pytest.mark.parametrize("steps", [2, 10, 100, 400, 1000])
def test_closed_form_far_outside_the_sizes_it_was_seen_at(steps):
    assert coupling_dominates(steps, F(1, 2 * steps))
    assert not coupling_dominates(steps, F(3, 2 * steps)) or steps == 2
    if steps <= 100:
        matrix = np.array(coupling(steps, F(4, 5 * steps)), dtype=float)
        scale = 1.0 / np.sqrt(np.diag(matrix))
        assert np.linalg.eigvalsh(scale[:, None] * matrix * scale)[0] > 0.0
    assert needed_constant(steps, F(1, 10**6 * steps)) < best_constant(steps)
    assert float(best_constant(steps) - needed_constant(steps, F(1, 10**6 * steps))) < 1e-6


@pytest.mark.skipif(find_spec("clarabel") is None, reason="without a solver every test of verdicts shows it")
def test_verdicts_need_no_solver():
    program = (
        "import sys\n"
        "class Absent:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.split('.')[0] in ('clarabel', 'PEPit', 'cvxpy'): raise ImportError(name)\n"
        "sys.meta_path.insert(0, Absent())\n"
        "from paper_checks.ledger import Ledger\n"
        "from paper_checks.fedlrt.paper import PAPER\n"
        "from paper_checks.run import run\n"
        "ledger = Ledger.of([PAPER])\n"
        "themes = ('worst_cases', 'descent_steps', 'truncated_rounds')\n"
        "claims = [c for c in ledger.claims if c.module.split('.')[-1] in themes]\n"
        "assert len(claims) == 8\n"
        "print(all(r.as_expected and not r.decision.excused for r in run(claims, ledger).results))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True"]


def test_descent_ends_at_larger_steps_exactly():
    """Five integer clients: smooth ones ascend at s λ L = 3 and convex ones at 7; a little below they descend."""
    assert run_round((1, 1, 1, 1, -1), (1,) * 5, 12, F(3, 12), True).change > 0
    assert run_round((1, 1, 1, 1, -1), (1,) * 5, 12, F(2, 12), True).change < 0
    assert run_round((1, 1, 1, 0, 0), (1,) * 5, 8, F(7, 8), True).change > 0
    assert run_round((1, 1, 1, 0, 0), (1,) * 5, 8, F(6, 8), True).change < 0


@pytest.mark.parametrize(("whole", "sign"), [(2.64, 1.0), (2.63, -1.0)])
def test_many_steps_of_nine_clients_ascend_from_2_64_on(whole, sign):
    h, e, steps = np.array([1.0] * 7 + [-1.0] * 2), np.zeros(9), 4000
    for _ in range(steps):
        e = e - whole / steps * (h * e + 1.0)
    assert sign * (e.mean() + 0.5 * h.mean() * e.mean() ** 2) > 0


def test_uncorrected_clients_ascend_however_small_the_step():
    for steps, step in ((2, F(1, 24)), (2, F(1, 10**6)), (5, F(1, 60))):
        apart = int(8 / step)
        assert run_round((1, -1), (1 + apart, 1 - apart), steps, step, False).change > 0
        assert run_round((1, -1), (1 + apart, 1 - apart), steps, step, True).change < 0
