"""Schedules against torch's."""

import pytest
import torch

from algorithms.federation import FederationError
from algorithms.schedules import Constant, Cosine, Linear, Step, WarmUp

LR = torch.optim.lr_scheduler


def after_warm_up(optimiser, count, schedule):
    return LR.SequentialLR(optimiser, [LR.LinearLR(optimiser, 1 / (count + 1), 1.0, count), schedule], [count])


PAIRS = [
    (Constant(0.3), lambda o: LR.ConstantLR(o, factor=1.0)),
    (Step(0.3, 7), lambda o: LR.StepLR(o, 7)),
    (Step(0.3, 1, 0.5), lambda o: LR.StepLR(o, 1, 0.5)),
    (Cosine(0.3, 50, 0.001), lambda o: LR.CosineAnnealingWarmRestarts(o, 50, eta_min=0.001)),
    (Cosine(0.3, 1), lambda o: LR.CosineAnnealingWarmRestarts(o, 1)),
    (Cosine(0.3, 23, 0.01, restart=False), lambda o: LR.CosineAnnealingLR(o, 23, eta_min=0.01)),
    (WarmUp(0.3, 4), lambda o: LR.LinearLR(o, 0.2, 1.0, 4)),
    (Linear(0.3, 31, warmup=4), lambda o: after_warm_up(o, 4, LR.LinearLR(o, 1.0, 0.0, 31))),
    (Cosine(0.3, 23, warmup=7), lambda o: after_warm_up(o, 7, LR.CosineAnnealingWarmRestarts(o, 23))),
    (Linear(0.3, 31), lambda o: LR.LinearLR(o, 1.0, 0.0, 31)),
    (Linear(0.3, 31, 0.06), lambda o: LR.LinearLR(o, 1.0, 0.2, 31)),
]


@pytest.mark.parametrize(("own", "theirs"), PAIRS, ids=[repr(own) for own, _ in PAIRS])
@pytest.mark.filterwarnings("ignore:Detected call of")
def test_rates_are_those_of_torch(own, theirs):
    optimiser = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.3)
    schedule = theirs(optimiser)
    for index in range(120):
        assert own(index) == pytest.approx(optimiser.param_groups[0]["lr"], rel=1e-11, abs=1e-13)
        optimiser.step()
        schedule.step()


@pytest.mark.parametrize(
    "make",
    [
        lambda: Constant(0.0),
        lambda: Constant(0.1, per="epoch"),
        lambda: Step(0.1, 0),
        lambda: Step(0.1, 2, 0.0),
        lambda: Cosine(float("inf"), 3),
        lambda: Cosine(0.1, 0),
        lambda: Cosine(0.1, 3, minimum=0.2),
        lambda: Cosine(0.1, 3, warmup=0),
        lambda: Linear(0.1, 0),
        lambda: Linear(0.1, 3, minimum=0.2),
        lambda: Linear(-0.1, 3),
        lambda: WarmUp(0.1, 0),
    ],
)
def test_values_out_of_range_are_refused(make):
    with pytest.raises(FederationError, match=r"must be|expected"):
        make()
