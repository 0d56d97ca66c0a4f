"""Requests are fulfilled or refused: steps, randomness, frozen statistics, accuracy, flags."""

from dataclasses import fields, is_dataclass

import pytest
import torch
from torch import nn

from algorithms.adapter import Adapter
from algorithms.descent import Descent, descend
from algorithms.fedavg import FedAvg
from algorithms.federation import FederationError, Memory
from algorithms.fedlora import FedLoRA
from algorithms.rounds import rounds
from rankproof import main
from runs.catalogue import ALGORITHMS, algorithm_of, schemas_of
from runs.network_problem import network_problem
from runs.plan import make_plan, parts_of
from runs.settings import RunError
from workloads.partition import Even


def problem(module, labels=None, loss=nn.functional.cross_entropy, **rest):
    x = torch.randn(24, 6, generator=torch.Generator().manual_seed(0))
    y = (x[:, 0] > 0).long() if labels is None else labels(x)
    return network_problem(module, (x, y), Even().parts(y.numpy(), 2, 0), (x, y), loss=loss, **rest)


@pytest.mark.parametrize("data", ["fashion-mnist", "quadratics"])
def test_steps_that_are_asked_for_are_taken_and_epochs_likewise(data):
    by_steps = make_plan("fedavg", data, {"steps": 7}).settings
    assert (by_steps["steps"], by_steps["epochs"]) == (7, None)
    by_epochs = make_plan("fedavg", data, {"epochs": 2}).settings
    assert (by_epochs["steps"], by_epochs["epochs"]) == (1, 2)
    with pytest.raises(RunError, match="is measured in steps or in epochs; give one"):
        make_plan("fedavg", data, {"steps": 7, "epochs": 2})
    assert make_plan("fedavg", data, {"steps": 7, "epochs": None}).settings["steps"] == 7
    assert parts_of(make_plan("fedavg", "quadratics", {"steps": 7})).algorithm.local.steps == 7


@pytest.mark.parametrize("data", ["mnist", "ridges", "rated-sentences"])
@pytest.mark.parametrize("name", ["pfedloru", "pfedlora-1"])
def test_personal_steps_that_are_asked_for_are_taken_and_epochs_likewise(data, name):
    def personal(**given):
        plan = make_plan(name, data, given)
        local, own = (getattr(algorithm_of(name, data, plan.settings), part) for part in ("local", "personal"))
        return (local.steps if local.epochs is None else f"{local.epochs} epochs", own.epochs, own.steps)

    of_data = 10 if data == "ridges" else "1 epochs"
    assert personal(personal_steps=3) == (of_data, None, 3)
    assert personal(personal_steps=3, epochs=2) == ("2 epochs", None, 3)
    assert personal(personal_steps=3, steps=4) == (4, None, 3)
    assert personal(personal_steps=3, personal_epochs=None) == (of_data, None, 3)
    assert personal(personal_epochs=2)[:2] == (of_data, 2)
    assert personal(epochs=2)[:2] == ("2 epochs", 2)
    assert personal(steps=4) == (4, None, 4)
    with pytest.raises(RunError, match="is measured in personal_steps or in personal_epochs; give one of the two"):
        make_plan(name, data, {"personal_steps": 3, "personal_epochs": 2})


def test_joint_steps_are_counted_alike():
    given = {"personal_steps": 3}
    with pytest.raises(
        FederationError, match="counted the same way: give both steps and personal_steps, or both epochs"
    ):
        algorithm_of("pfedlora-2", "mnist", make_plan("pfedlora-2", "mnist", given).settings)
    plan = make_plan("pfedlora-2", "mnist", given | {"steps": 2})
    assert algorithm_of("pfedlora-2", "mnist", plan.settings).together().steps == 5


def in_effect(value):
    """The parts of an algorithm, without the steps of a descent in epochs."""
    if not is_dataclass(value):
        return value
    names = [one.name for one in fields(value)]
    if isinstance(value, Descent) and value.epochs is not None:
        names.remove("steps")
    return type(value), [(name, in_effect(getattr(value, name))) for name in names]


def another(option):
    """A value other than the default."""
    if option.words:
        return next(word for word in reversed(option.words) if word != option.default)
    if option.kind is tuple:
        return (1,) * 4
    if option.kind is bool:
        return not option.default
    return {int: 5, float: 0.25, str: "other*"}[option.kind]


@pytest.mark.parametrize(
    ("data", "names"), [("mnist", tuple(ALGORITHMS)), ("ridges", ("pfedloru",)), ("rated-sentences", ("pfedlora-1",))]
)
def test_each_option_that_is_given_changes_the_algorithm(data, names):
    for name in names:
        ranks = {"clients": 4} | ({"client_ranks": (2,) * 4} if name == "mfedloru" else {})
        plain = in_effect(algorithm_of(name, data, make_plan(name, data, ranks).settings))
        for option in schemas_of(name, data, {})[0].options({}).values():
            given = {**ranks, option.name: another(option)}
            if option.name.endswith("schedule"):
                needed = "warmup" if given[option.name] == "warm-up" else "period"
                given[f"{option.name}_{needed}"] = 3
            if option.name.endswith("schedule_per"):
                continue  # a constant rate counts nothing
            plan = make_plan(name, data, given)
            try:
                made = in_effect(algorithm_of(name, data, plan.settings))
            except FederationError:
                continue
            assert made != plain, (name, option.name)


class Functional(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(6, 2)

    def forward(self, x):
        return nn.functional.dropout(self.layer(x), 0.5, self.training)


@pytest.mark.parametrize("last", [Functional(), nn.Sequential(nn.RReLU(), nn.Linear(6, 2))])
def test_randomness_that_no_seed_of_the_run_reaches_is_refused(last):
    with pytest.raises(FederationError, match=r"outside of nn\.Dropout modules"):
        problem(last)
    module, state = nn.Sequential(nn.Linear(6, 2), nn.Dropout(0.5)), torch.get_rng_state()
    problem(module)
    assert torch.equal(torch.get_rng_state(), state)


def test_running_statistics_are_not_frozen_with_the_rest():
    algorithm = FedLoRA(Descent(1, 0.1), Adapter(1, layers="0", rest="frozen"))
    module = nn.Sequential(nn.Linear(6, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Linear(4, 2))
    with pytest.raises(FederationError, match="would freeze batch norm's running statistics"):
        next(rounds(algorithm, problem(module), rounds=1))
    assert next(rounds(algorithm, problem(module, statistics="batch"), rounds=1)).metrics["round"] == 0
    trained = FedLoRA(Descent(1, 0.1), Adapter(1, layers="0"))
    assert next(rounds(trained, problem(module), rounds=1)).metrics["round"] == 0


def test_one_logit_has_a_loss_and_no_accuracy_by_class():
    def binary(outputs, targets):
        return nn.functional.binary_cross_entropy_with_logits(outputs[:, 0], targets.to(outputs.dtype))

    module = nn.Linear(6, 1)
    made, by_class = problem(module, loss=binary), problem(nn.Linear(6, 2))
    assert made.evaluate(made.start).keys() == {"loss"}
    assert by_class.evaluate(by_class.start).keys() == {"loss", "accuracy"}


@pytest.mark.parametrize("option", ["eval_batch", "test_samples", "side", "width"])
def test_sizes_below_one_are_refused(option):
    with pytest.raises(RunError, match=rf"{option} must be a whole number of at least 1, got -5"):
        make_plan("fedavg", "fashion-mnist", {option: -5})


def test_a_flag_of_images_does_not_swallow_the_next_word(capsys):
    assert main(["train", "fedavg", "--flip", "--data", "fashion-mnist", "--eval-batch", "0"]) == 2
    assert "eval_batch must be a whole number of at least 1, got 0" in capsys.readouterr().err


def test_full_batches_are_dropped_out_and_flipped_too():
    def lost(module, preparation=None):
        made = problem(module, preparation=preparation)
        algorithm = FedAvg(Descent(3, 0.5))
        return [step.metrics["loss"] for step in rounds(algorithm, made, rounds=1)][-1]

    layers = nn.Linear(6, 4), nn.Linear(4, 2)
    assert lost(nn.Sequential(layers[0], nn.Dropout(0.5), layers[1])) != lost(nn.Sequential(*layers))
    assert lost(nn.Sequential(layers[0], nn.Dropout(0.0), layers[1])) == lost(nn.Sequential(*layers))


def test_steps_of_batches_that_nobody_drew_are_refused():
    client = problem(nn.Linear(6, 2)).clients[0]
    settings = Descent(2, 0.1, batch=4)
    start = problem(nn.Linear(6, 2)).start
    with pytest.raises(FederationError, match=r"no batches of 4 were drawn: pass `draw=settings\.draw`"):
        descend(client, start, settings, Memory())
