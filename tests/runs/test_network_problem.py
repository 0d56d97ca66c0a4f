"""A network in a federation is the network itself: losses, gradients, statistics, evaluation, and what is refused."""

import copy
import pickle
from collections import OrderedDict

import numpy as np
import pytest
import torch
from torch import nn

from algorithms.central_training import CentralTraining
from algorithms.descent import Descent, descend, gradient
from algorithms.fedavg import FedAvg
from algorithms.federation import FederationError, Memory, Sequential
from algorithms.fedlin import FedLin
from algorithms.fedlrt import FeDLRT
from algorithms.rounds import rounds
from algorithms.tree import Tree
from algorithms.vmap import Vmap
from algorithms.weights import Added, dense_tree
from runs.network_problem import NetworkClient, network_problem
from runs.networks.network_function import Labelled
from tests.algorithms.synchronisations import Synchronisations
from workloads.data.augmentation import Preparation
from workloads.image_networks.initial import initialise
from workloads.image_networks.small import perceptron
from workloads.partition import Even, Parts

SAMPLES, CLASSES = 24, 3


def images(seed=0, samples=SAMPLES, dtype=torch.float64):
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(samples, 1, 8, 8, generator=generator, dtype=dtype)
    return x, torch.arange(samples) % CLASSES


def convnet(norm="batch", seed=0):
    """A convolution, a norm and a head: what a ResNet has, in a few numbers."""
    norms = {"batch": nn.BatchNorm2d(4), "group": nn.GroupNorm(2, 4)}
    layers = nn.Conv2d(1, 4, 3), norms[norm], nn.ReLU(), nn.AvgPool2d(3), nn.Flatten(), nn.Linear(16, CLASSES)
    return initialise(nn.Sequential(*layers), seed, torch.float64)


def problem(module=None, clients=4, **more):
    x, y = images()
    parts = Even().parts(y.numpy(), clients, 0)
    return network_problem(module or perceptron_on_images(), (x, y), parts, images(1), **more)


def perceptron_on_images(seed=0):
    return nn.Sequential(nn.Flatten(), perceptron(64, (5,), CLASSES, seed))


def state_of(module):
    return {name: value.clone() for name, value in module.state_dict().items()}


def trained(made, rounds_=3, **local):
    settings = Descent(**{"steps": 4, "learning_rate": 0.1, "batch": 3, **local})
    return list(rounds(FedAvg(settings), made, rounds=rounds_))[-1]


def test_loss_and_gradient_are_those_of_the_module():
    module, (x, y) = perceptron_on_images(), images()
    client = problem(module).clients[2]
    w = Tree({name: value.clone().requires_grad_() for name, value in problem(module).start.items()})
    batch = torch.tensor([0, 3])
    value = client.loss(w, batch)
    value.backward()
    chosen = client.indices[batch]
    expected = nn.functional.cross_entropy(module(x[chosen]), y[chosen])
    expected.backward()
    torch.testing.assert_close(value, expected, rtol=0, atol=0)
    for name, parameter in module.named_parameters():
        torch.testing.assert_close(w[name].grad, parameter.grad, rtol=1e-12, atol=1e-14)
    everything = client.loss(w)
    torch.testing.assert_close(everything, nn.functional.cross_entropy(module(x[client.indices]), y[client.indices]))


def test_fedavg_is_the_mean_of_clients_trained_by_torch():
    module, (x, y) = perceptron_on_images(), images()
    made = problem(module)
    found = trained(made, rounds_=1, steps=3, batch=None).state.algorithm
    trained_apart = []
    for client in made.clients:
        own = copy.deepcopy(module)
        optimiser = torch.optim.SGD(own.parameters(), lr=0.1)
        for _ in range(3):
            optimiser.zero_grad()
            nn.functional.cross_entropy(own(x[client.indices]), y[client.indices]).backward()
            optimiser.step()
        trained_apart.append(dict(own.named_parameters()))
    for name, value in found.items():
        mean = torch.stack([own[name] for own in trained_apart]).mean(0)
        torch.testing.assert_close(value, mean, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("statistics", ["averaged", "batch"])
def test_the_module_is_left_as_it_was(statistics):
    module = convnet().eval()
    before, random = state_of(module), torch.get_rng_state()
    made = problem(module, statistics=statistics)
    made.evaluate(trained(made).state.algorithm)
    assert not module.training
    assert all(parameter.requires_grad and parameter.grad is None for parameter in module.parameters())
    for name, value in module.state_dict().items():
        assert torch.equal(value, before[name]), name
    assert torch.equal(random, torch.get_rng_state())


def test_running_statistics_travel_with_the_weights():
    module, (x, _) = convnet(), images()
    made = problem(module, statistics="averaged")
    client, w = made.clients[0], made.start
    names = {name for name, _ in module.named_buffers() if not name.endswith("num_batches_tracked")}
    assert client.statistics == names
    assert set(w) == {name for name, _ in module.named_parameters()} | names
    kept = {name: value.clone() for name, value in w.items()}
    _, after = client.loss_and_statistics(w, None)
    twin = copy.deepcopy(module).train()
    twin(x[client.indices])
    for name, value in after.items():
        torch.testing.assert_close(value, twin.state_dict()[name], rtol=1e-12, atol=1e-14)
        assert not value.requires_grad
    for name, value in w.items():
        assert torch.equal(value, kept[name]), name


def test_after_training_the_module_with_averaged_statistics_gives_the_evaluated_numbers():
    module, (x, y) = convnet(), images(1)
    made = problem(module, statistics="averaged")
    w = trained(made).state.algorithm
    twin = copy.deepcopy(module)
    twin.load_state_dict(dict(w), strict=False)
    with torch.no_grad():
        outputs = twin.eval()(x)
    found = made.evaluate(w)
    assert found["loss"] == pytest.approx(float(nn.functional.cross_entropy(outputs, y)), rel=1e-12)
    assert found["accuracy"] == float((outputs.argmax(1) == y).double().mean())


def test_statistics_follow_the_steps_and_are_averaged():
    module, (x, y) = convnet(), images()
    made = problem(module, statistics="averaged")
    found = trained(made, rounds_=1, steps=3, batch=None).state.algorithm
    trained_apart = []
    for client in made.clients:
        own = copy.deepcopy(module).train()
        optimiser = torch.optim.SGD(own.parameters(), lr=0.1)
        for _ in range(3):
            optimiser.zero_grad()
            nn.functional.cross_entropy(own(x[client.indices]), y[client.indices]).backward()
            optimiser.step()
        trained_apart.append(own.state_dict())
    for name, value in found.items():
        mean = torch.stack([own[name] for own in trained_apart]).mean(0)
        torch.testing.assert_close(value, mean, rtol=1e-12, atol=1e-13)
        assert not torch.equal(value, made.start[name])


def test_a_loss_through_factors_is_that_of_their_product():
    made = problem(convnet())
    generator = torch.Generator().manual_seed(2)
    values = {}
    for name, weight in made.start.items():
        values[name] = weight
        if weight.ndim >= 2:
            A = torch.randn(len(weight), 2, generator=generator, dtype=torch.float64)
            B = torch.randn(2, weight[0].numel(), generator=generator, dtype=torch.float64)
            values[name] = Added(weight, 0.5, A, B)
    assert any(isinstance(weight, Added) for weight in values.values())
    client, batch = made.clients[0], torch.arange(4)
    expected = client.loss(dense_tree(values), batch)
    torch.testing.assert_close(client.loss(values, batch), expected, rtol=1e-12, atol=1e-13)
    assert made.evaluate(values)["loss"] == pytest.approx(made.evaluate(dense_tree(values))["loss"], rel=1e-12)


AT_ONCE = {
    "group norm": (lambda: convnet("group"), {}),
    "batch norm": (convnet, {"statistics": "batch"}),
    "running statistics": (convnet, {"statistics": "averaged"}),
    "drop-out": (lambda: nn.Sequential(nn.Flatten(), nn.Dropout(0.5), perceptron(64, (5,), CLASSES, 0)), {}),
    "crops and flips": (convnet, {"statistics": "batch", "preparation": Preparation(1, True)}),
}


@pytest.mark.parametrize("batch", [4, None])
@pytest.mark.parametrize("what", AT_ONCE)
def test_all_clients_at_once_are_each_alone(what, batch):
    module, more = AT_ONCE[what]
    made, local = problem(module(), **more), Descent(steps=3, batch=batch, learning_rate=0.1)
    apart = list(rounds(FedAvg(local), made, rounds=2))[-1].state.algorithm
    at_once = list(rounds(FedAvg(local), made, rounds=2, executor=Vmap()))[-1].state.algorithm
    for name, value in apart.items():
        torch.testing.assert_close(at_once[name], value, rtol=1e-10, atol=1e-12)


class Seeing(nn.Module):
    """Tells how many samples it is given at once."""

    def __init__(self, within, seen):
        super().__init__()
        self.within, self.seen = within, seen

    def forward(self, x):
        self.seen.append(len(x))
        return self.within(x)

    def __deepcopy__(self, memo):
        return Seeing(copy.deepcopy(self.within, memo), self.seen)


LOCAL = Descent(steps=2, learning_rate=0.1, batch=4)
FULL_PASSES = {
    "FedLin": FedLin(LOCAL),
    "FeDLRT, simplified": FeDLRT(LOCAL, 2, layers="*conv*, *linear*"),
    "FeDLRT, full": FeDLRT(LOCAL, 2, correction="full", layers="*conv*, *linear*"),
    "steps of all samples": FedAvg(Descent(steps=2, learning_rate=0.1)),
}


@pytest.mark.parametrize("executor", [Sequential, Vmap])
@pytest.mark.parametrize("name", FULL_PASSES)
def test_passes_over_all_samples_are_made_in_parts_to_the_same_result(name, executor):
    found, largest = [], []
    for rows in (5, 1000):
        seen = []
        module = nn.Sequential(
            OrderedDict(
                conv=nn.Conv2d(1, 4, 3),
                norm=nn.GroupNorm(2, 4),
                pool=nn.AvgPool2d(3),
                flat=nn.Flatten(),
                linear=nn.Linear(16, CLASSES),
            )
        )
        made = problem(Seeing(initialise(module, 0, torch.float64), seen), clients=2, eval_batch=rows)
        steps = list(rounds(FULL_PASSES[name], made, rounds=2, executor=executor()))
        found.append(FULL_PASSES[name].weights(steps[-1].state.algorithm))
        largest.append(max(seen))
    assert largest == [5, SAMPLES]  # the evaluation sees all at once, where rows do not bound it
    for part, whole in zip(*(dense_tree(w).values() for w in found), strict=True):
        torch.testing.assert_close(part, whole, rtol=1e-10, atol=1e-12)


def test_batch_norm_is_of_a_part_in_gradients_and_of_all_samples_in_steps():
    made = problem(convnet(), clients=2, eval_batch=5)
    client = made.clients[0]
    assert [len(part) for _, part in client.passes(together=False)] == [4, 4, 4]
    assert [len(part) for _, part in client.passes(together=True)] == [12]
    slopes = gradient(client, made.start)
    parts = [gradient(client, made.start, batch=part) for _, part in client.passes(together=False)]
    for name, value in slopes.items():
        torch.testing.assert_close(value, sum(part[name] for part in parts) / 3, rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("statistics", ["averaged", "batch"])
def test_a_local_step_never_waits_for_the_device(statistics):
    """Data and weights on a device that has no values; what is drawn lies on the host."""
    made = problem(convnet(), preparation=Preparation(1, True), statistics=statistics)
    network, meta = made.clients.network, torch.device("meta")
    data = Labelled(*(part.to(meta) for part in made.clients.data))
    client = NetworkClient(network, data, made.clients[0].indices.to(meta))
    local = Descent(steps=3, batch=2, learning_rate=0.1)
    memory = Memory(drawn=local.draw(client, np.random.default_rng(0)))
    start = made.start.map(lambda value: value.to(meta))
    with Synchronisations() as counted:
        descend(client, start, local, memory)
    assert counted.operations > 50
    assert not counted.found


def test_statistics_of_the_batch_alone_do_not_travel():
    made = problem(convnet(), statistics="batch")
    assert not made.clients[0].statistics
    assert set(made.start) == {name for name, _ in convnet().named_parameters()}
    x, y = images(1)
    twin = convnet().train()
    expected = float(nn.functional.cross_entropy(twin(x), y).detach())
    assert made.evaluate(made.start)["loss"] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("rows", [1, 5, 24, 1000])
def test_big_and_small_evaluation_batches_give_the_same(rows):
    made = problem(convnet("group"), eval_batch=rows, validation=images(2))
    x, y = images(1)
    with torch.no_grad():
        outputs = convnet("group")(x)
    found = made.evaluate(made.start)
    assert found["accuracy"] == pytest.approx(float((outputs.argmax(1) == y).double().mean()), abs=1e-15)
    assert found["loss"] == pytest.approx(float(nn.functional.cross_entropy(outputs, y)), rel=1e-12)
    assert set(found) == {"loss", "accuracy", "validation_loss", "validation_accuracy"}


def test_central_training_has_the_samples_of_all():
    made = problem()
    assert made.clients.pooled().indices.sort().values.tolist() == list(range(SAMPLES))
    last = list(rounds(CentralTraining(Descent(epochs=3, batch=4, learning_rate=0.2)), made, rounds=3))[-1]
    assert made.clients.pooled().loss(last.state.algorithm) < made.clients.pooled().loss(made.start)


def test_clients_survive_the_way_to_another_process():
    made = problem(convnet(), preparation=Preparation(1, True))
    there = pickle.loads(pickle.dumps(made.clients))
    assert len(there) == len(made.clients)
    assert there.network.random is made.clients.network.random is False
    for here, other in zip(made.clients, there, strict=True):
        assert torch.equal(here.loss(made.start), other.loss(made.start))


def test_parameters_that_need_no_gradient_stay():
    module = perceptron_on_images()
    module[1][0].weight.requires_grad_(False)
    made = problem(module)
    assert "1.0.weight" not in made.start
    w = trained(made, rounds_=1).state.algorithm
    assert set(w) == {"1.0.bias", "1.2.weight", "1.2.bias"}
    moved = copy.deepcopy(module)
    moved.load_state_dict(dict(w), strict=False)
    x, y = images(1)
    assert made.evaluate(w)["loss"] == pytest.approx(
        float(nn.functional.cross_entropy(moved(x), y).detach()), rel=1e-12
    )


def test_clients_are_made_when_they_are_asked_for():
    x, y = torch.zeros(10**6, 1), torch.zeros(10**6, dtype=torch.int64)
    parts = Parts(np.arange(10**6), np.arange(10**6 + 1))
    made = network_problem(perceptron(1, (), 2, 0, dtype=torch.float32), (x, y), parts, (x[:2], y[:2]))
    assert len(made.clients) == 10**6
    assert made.clients[999_999].indices.tolist() == [999_999]
    last = list(rounds(FedAvg(Descent(learning_rate=0.1)), made, rounds=2, cohort=3))[-1]
    assert last.metrics["loss"] < np.log(2) - 0.05  # the start is undecided between two classes


def test_crops_and_flips_come_from_the_round_and_the_client():
    prepare = Preparation(padding=2, flip=True)
    x, y = images()
    made = problem(preparation=prepare)
    client, indices = made.clients[1], [torch.tensor([0, 2]), torch.tensor([1])]
    batches = client.batches(np.random.default_rng(5), indices)
    assert [batch.samples.tolist() for batch in batches] == [[0, 2], [1]]
    again = client.batches(np.random.default_rng(5), indices)
    assert torch.equal(client.loss(made.start, batches[0]), client.loss(made.start, again[0]))
    inputs = prepare(x[client.indices[indices[0]]], batches[0].offsets)
    expected = nn.functional.cross_entropy(perceptron_on_images()(inputs), y[client.indices[indices[0]]])
    torch.testing.assert_close(client.loss(made.start, batches[0]), expected, rtol=0, atol=0)
    plain = problem().clients[1].batches(np.random.default_rng(5), indices)
    assert [(batch.samples.tolist(), *batch[1:]) for batch in plain] == [([0, 2], None, None), ([1], None, None)]


def test_drop_out_is_drawn_before_the_work():
    layers = nn.Flatten(), nn.Linear(64, 50), nn.Dropout(0.5), nn.Linear(50, CLASSES)
    module = initialise(nn.Sequential(*layers), 0, torch.float64)
    made = problem(module)
    client, w = made.clients[0], made.start
    first, second = client.batches(np.random.default_rng(0), [torch.arange(6)] * 2)
    before = torch.get_rng_state()
    assert torch.equal(client.loss(w, first), client.loss(w, first))
    assert not torch.equal(client.loss(w, first), client.loss(w, second))
    assert torch.equal(before, torch.get_rng_state())
    x, y = (part[client.indices] for part in images())
    torch.testing.assert_close(client.loss(w), nn.functional.cross_entropy(copy.deepcopy(module).eval()(x), y))
    step = trained(made).metrics
    torch.manual_seed(7)
    assert trained(made).metrics == step


def test_personal_means_are_over_each_clients_own_samples():
    own = Parts.join([[0, 1], [2], [3, 4, 5], [6]])
    made = network_problem(perceptron_on_images(), images(), [[7, 8], [9], [10], [11, 12]], images(1), own=own)
    models = [dict(perceptron_on_images(seed).named_parameters()) for seed in range(4)]
    x, y = images()
    right = []
    for k in range(4):
        with torch.no_grad():
            outputs = perceptron_on_images(k)(x[own[k]])
        right.append(float((outputs.argmax(1) == y[own[k]]).double().mean()))
    found = made.evaluate_personal(lambda k: models[k])
    assert found["personal_accuracy"] == pytest.approx(sum(right) / 4)
    assert set(found) == {"personal_loss", "personal_accuracy"}
    whole = problem()
    assert whole.evaluate_personal(lambda k: models[0])["personal_loss"] == whole.evaluate(models[0])["loss"]


def test_regression_has_a_loss_and_no_accuracy():
    x = torch.randn(9, 4, dtype=torch.float64)
    y = x.sum(1, keepdim=True)
    parts = Even().parts(np.zeros(9, int), 3, 0)
    made = network_problem(perceptron(4, (), 1, 0), (x, y), parts, (x, y), loss=nn.functional.mse_loss)
    assert set(made.evaluate(made.start)) == {"loss"}
    assert trained(made, 20).metrics["loss"] < 0.1 * made.evaluate(made.start)["loss"]


def test_a_diverging_run_names_round_client_and_remedy():
    with pytest.raises(
        FederationError,
        match=r"round 1, client \d: local_descent .* non-finite numbers; lower "
        r"the learning",
    ):
        trained(problem(), learning_rate=1e308, steps=6)


class Doubled(nn.Module):
    def __init__(self, body, made):
        super().__init__()
        self.body, self.made = body, made

    def forward(self, x):
        return self.made(self.body(x))


def with_label(value):
    x, y = images()
    y[5] = value
    return x, y


def with_nan():
    x, y = images()
    x[7, 0, 3, 3] = float("nan")
    return x, y


def with_complex_nan():
    x, y = images()
    x = x.to(torch.complex64)
    x[5, 0, 1, 2] = complex(0.0, float("nan"))
    return x, y


def of_eight_bits():
    x, y = images()
    x[3, 0, 1, 2] = float("nan")
    return x.to(torch.float8_e4m3fn), y


@pytest.mark.parametrize(
    ("module", "train", "message"),
    [
        (None, with_nan(), "input 7 of the training data is not finite; correct it or leave it out"),
        (None, with_complex_nan(), "input 5 of the training data is not finite; correct it or leave it out"),
        (None, of_eight_bits(), "input 3 of the training data is not finite; correct it or leave it out"),
        (None, with_label(3), "sample 5 of the training data has label 3, but .* labels 0 to 2"),
        (None, with_label(-1), "sample 5 of the training data has label -1"),
        (None, (images()[0], images()[1][:-1]), "24 inputs and 23 labels; each input needs one label"),
        (None, (images()[0][:0], images()[1][:0]), "0 inputs and 0 labels"),
        (None, (images()[0].numpy(), images()[1]), "the training data must be two tensors, got ndarray and Tensor"),
        (Doubled(perceptron_on_images(), lambda out: (out, out)), None, "returns a tuple; it must return one tensor"),
        (Doubled(perceptron_on_images(), lambda out: {"logits": out}), None, "returns a dict"),
        (Doubled(perceptron_on_images(), lambda out: out.sum()), None, r"outputs of shape \(\) of 2 inputs"),
        (perceptron(5, (), CLASSES, 0), None, r"cannot take the training data, of shape \(2, 1, 8, 8\) on cpu"),
        (perceptron_on_images().float(), None, "cannot take the training data.*"),
        (nn.Flatten(), None, "no parameter that needs a gradient"),
        (nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2, momentum=None)), None, "1 averages over all past batches"),
    ],
)
def test_what_does_not_serve_is_named_at_the_door(module, train, message):
    parts = Even().parts(images()[1].numpy(), 4, 0)
    with pytest.raises(FederationError, match=message) as error:
        network_problem(module or perceptron_on_images(), train or images(), parts, images(1))
    assert "\n" not in str(error.value)


def test_more_that_does_not_serve():
    class Counting(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = perceptron_on_images()
            self.register_buffer("calls", torch.zeros(()))

        def forward(self, x):
            self.calls += 1
            return self.body(x)

    with pytest.raises(FederationError, match="training changes the buffer calls"):
        problem(Counting())
    with pytest.raises(FederationError, match="statistics must be averaged or batch, got 'kept'"):
        problem(convnet(), statistics="kept")
    with pytest.raises(FederationError, match="the loss cannot take outputs"):
        problem(loss=nn.functional.binary_cross_entropy)
    with pytest.raises(FederationError, match="the loss must return one number"):
        problem(loss=lambda outputs, y: outputs)
    with pytest.raises(FederationError, match="among the 24 of the training data"):
        network_problem(perceptron_on_images(), images(), Parts.join([[0, 24]]), images(1))
    made = problem()
    with pytest.raises(FederationError, match=r"the weights lack 1\.0\.bias"):
        made.evaluate(made.start.but(["1.0.bias"]))
    with pytest.raises(FederationError, match="the network has no 'other'"):
        made.evaluate(Tree({**made.start, "other": torch.zeros(1)}))


def test_one_sample_has_no_statistics():
    module = nn.Sequential(nn.Flatten(), nn.Linear(64, 4, dtype=torch.float64), nn.BatchNorm1d(4, dtype=torch.float64))
    needed = r"batch norm cannot normalise a batch of one sample; choose "
    for statistics in ("averaged", "batch"):  # both normalise batches by themselves in training
        for clients, local in ((SAMPLES, {"batch": 1}), (4, {"batch": 5, "epochs": 1})):
            message = (
                needed + r"another batch size \(the last batch .*\), a larger eval_batch, fewer clients, or a "
                r"group norm$"
            )
            with pytest.raises(FederationError, match=f"round 1, local_descent: {message}"):
                trained(problem(module, clients=clients, statistics=statistics), **local)
    (x, y), parts = images(1), [range(SAMPLES)]
    with pytest.raises(
        FederationError,
        match=rf"the test data: {needed}a larger eval_batch or more samples, statistics 'averaged', or a group norm$",
    ):
        network_problem(module, images(), parts, (x[:1], y[:1]), statistics="batch")
    assert "loss" in trained(network_problem(module, images(), parts, (x[:1], y[:1]))).metrics


@pytest.mark.parametrize("samples", [3, 5])
@pytest.mark.parametrize("rows", [2, 4])
def test_parts_for_batch_norm_are_of_two_samples_at_least(samples, rows):
    (x, y), local = images(samples=samples), Descent(learning_rate=0.1)
    made = network_problem(convnet(), (x, y), [range(samples)], (x, y), statistics="batch", eval_batch=rows)
    for algorithm in (FedLin(local), FedAvg(local)):
        assert list(rounds(algorithm, made, rounds=1))[-1].metrics["loss"] > 0.0
    assert min(len(part) for _, part in made.clients[0].passes(together=False)) > 1


def test_it_works_beside_another_default_device():
    module = convnet()
    made = problem(module, preparation=Preparation(1, True), statistics="averaged")
    expected = trained(made).metrics
    torch.set_default_device("meta")  # a tensor that is created without a device could hold no values
    try:
        again = problem_on_cpu(module)
        assert trained(again).metrics == expected
    finally:
        torch.set_default_device(None)


def problem_on_cpu(module):
    torch.set_default_device("cpu")
    train, test = images(), images(1)
    torch.set_default_device("meta")
    parts = Even().parts(train[1].numpy(), 4, 0)
    return network_problem(module, train, parts, test, preparation=Preparation(1, True), statistics="averaged")
