"""Runs by hand of the boxes of FedLoRU: what is executed is the case that the replay follows in fractions."""

import pytest

from paper_checks.context import Context
from paper_checks.fedloru.convergence.alg_2 import run_personal
from paper_checks.fedloru.convergence.alg_3 import run_nested
from paper_checks.fedloru.convergence.alg_4 import run_pfedlora
from paper_checks.fedloru.replays.alg_2 import alg_2
from paper_checks.fedloru.replays.alg_3 import alg_3
from paper_checks.fedloru.replays.alg_4 import alg_4

NUMBERS = ("W", "A", "B", "target", "alpha", "rate", "tau", "rounds")
PERSONAL = (*NUMBERS, "L", "U", "personal_alpha")


@pytest.mark.parametrize(
    ("measure", "replay", "names"), [(run_personal, alg_2, PERSONAL), (run_nested, alg_3, NUMBERS)]
)
def test_a_box_by_hand_ends_where_its_replay_does(measure, replay, names):
    (last,) = [one for one in measure(Context("a box", seed=0))["momentum"] if one.case]
    apart = [W + last.products + last.personal - last.reached for W in (last.start, last.copy)]
    followed = replay.evaluate({name: last.case[name] for name in names})
    assert min(float(one.abs().max()) for one in apart) == pytest.approx(float(followed.left))


def test_pfedlora_by_hand_ends_where_its_replay_does():
    (last,) = [one for one in run_pfedlora(Context("a box", seed=0)) if one.case]
    followed = alg_4.evaluate({name: last.case[name] for name in PERSONAL})
    assert float((last.W + last.personal - last.model).abs().max()) == pytest.approx(float(followed.left))
