"""Draws, memory and averages of a federation, with every executor."""

import weakref
from dataclasses import dataclass, replace

import numpy as np
import pytest
import torch

from algorithms.adapter import AB, Adapter
from algorithms.alignment import UploadRecorder
from algorithms.descent import Descent, descend, gradient
from algorithms.federation import Federation, FederationError, Memory, Reply, Sequential
from algorithms.ledger import Ledger
from algorithms.mfedloru import NestedFedLoRU
from algorithms.optimisers import Sgd
from algorithms.pfedlora import PersonalFedLoRA
from algorithms.pfedloru import PersonalFedLoRU
from algorithms.rounds import one_round
from algorithms.tree import Tree, tensors, weighted_sum
from algorithms.vmap import Vmap
from paper_checks.recorded_federation import Watching


@dataclass(frozen=True, eq=False)
class Counted:
    """A client that is a number, with some samples."""

    value: torch.Tensor
    samples: float = 6.0

    def loss(self, w, batch=None):
        return (self.value * w["W"]).sum()

    def tensors(self):
        return {"value": self.value}

    def with_tensors(self, tensors):
        return replace(self, **tensors)


def counted(*values, samples=6.0):
    return [Counted(torch.tensor(float(value)), samples) for value in values]


def upload_draws(client, memory):
    return Reply(upload=memory.drawn)


def upload_value(client, memory):
    return Reply(upload=client.value)


def upload_all_it_knows(client, memory):
    return Reply(
        upload=client.value + memory.kept["kept"] + 10 * memory.personal["own"] + 100 * memory.shared["told"],
        keep={"kept": memory.kept["kept"] + 1},
        personal={"own": memory.personal["own"] + client.value},
    )


def learn_something(client, memory):
    return Reply(keep={"half": client.value / 2}, personal={"other": client.value})


def learn_two(client, memory):
    return Reply(personal={"own": client.value / 2, "other": client.value})


def tell_both(client, memory):
    return Reply(upload=(memory.kept["kept"], memory.kept["half"], *memory.personal.values()))


def begin_keeping(client, memory):
    return Reply(upload=client.value, keep={"kept": client.value})


LOCAL = Descent(steps=4, batch=3)


def drawn(seed, rounds, exchanges=1, cohort=(0, 1)):
    """Return batches by (round, exchange, client), each ``(steps, batch)``."""
    fed, found = Federation(counted(1, 2), seed=seed), {}
    for number in range(1, rounds + 1):
        fed._begin()
        for exchange in range(1, exchanges + 1):
            for client, batch in zip(cohort, fed.gather(upload_draws, to=cohort, draw=LOCAL.draw), strict=True):
                found[number, exchange, client] = batch.tolist()
    return found


def test_draws_differ_between_clients_steps_rounds_exchanges_and_seeds():
    found = drawn(0, 3, 2)
    steps = [tuple(step) for batches in found.values() for step in batches]
    assert all(len(set(step)) == 3 and set(step) <= set(range(6)) for step in steps)  # without replacement
    assert {sample for step in steps for sample in step} == set(range(6))
    assert all(len({tuple(step) for step in batches}) > 1 for batches in found.values())
    assert len({str(batches) for batches in found.values()}) == len(found)
    assert all(batches != drawn(1, 3, 2)[key] for key, batches in found.items())


def test_draws_depend_only_on_seed_round_exchange_and_client():
    found = drawn(0, 3, 2)
    assert drawn(0, 3, 2) == found
    assert all(found[key] == batches for key, batches in drawn(0, 3, cohort=(1,)).items())
    rng = np.random.default_rng([0, 3, 2, 1])
    assert found[3, 2, 1] == [rng.permutation(6)[:3].tolist() for _ in range(4)]


def test_a_batch_is_at_most_all_samples():
    (client,) = counted(1, samples=2.0)
    batches = LOCAL.draw(client, np.random.default_rng(0))
    assert batches.shape == (4, 2)
    assert Descent(3).draw(client, np.random.default_rng(0)) is None


def test_cohorts_are_those_of_seed_and_round():
    fed, found = Federation(counted(*range(1, 7)), seed=4), []
    for number in range(1, 9):
        assert fed._begin() == number
        cohort = fed.cohort(3)
        rng = np.random.default_rng([4, number])
        assert cohort == tuple(sorted(rng.choice(6, 3, replace=False).tolist()))
        found.append(cohort)
    assert len(set(found)) > 4
    assert fed.cohort() == fed.cohort(6) == tuple(range(6))
    for size in (0, 7, 2.0, True, "2"):
        with pytest.raises(FederationError, match="between 1 and 6"):
            fed.cohort(size)


def test_shares_are_the_sizes_of_the_data_unless_given_and_normalised_over_the_cohort():
    clients = [*counted(1, samples=1.0), *counted(10, samples=3.0), *counted(100, samples=6.0)]
    fed = Federation(clients)
    assert float(fed.mean(upload_value, to=(0, 1, 2))) == pytest.approx((1 + 30 + 600) / 10)
    assert float(fed.mean(upload_value, to=(0, 1))) == pytest.approx(31 / 4)
    assert float(Federation(clients, shares=(1, 1, 0)).mean(upload_value, to=(1, 2))) == 10.0
    with pytest.raises(FederationError, match="have sum 0"):
        Federation(clients, shares=(1, 1, 0)).mean(upload_value, to=(2,))


@pytest.mark.parametrize("executor", [Sequential, Vmap])
def test_clients_remember_what_they_should_and_no_longer(executor):
    fed = Federation(counted(1, 2, 3), executor=executor())
    fed.broadcast(told=torch.tensor(1.0))
    fed.set_personal(own=torch.tensor(0.0))
    fed._begin()
    fed.gather(begin_keeping, to=(0, 1, 2))
    assert list(map(float, fed.gather(upload_all_it_knows, to=(0, 2)))) == [1 + 1 + 100, 3 + 3 + 100]
    # Kept within the round: 2 and 4; own: 1 and 3; client 1 did no work since.
    assert list(map(float, fed.gather(upload_all_it_knows, to=(0, 2)))) == [1 + 2 + 10 + 100, 3 + 4 + 30 + 100]
    fed._begin()
    fed.set_shared(told=torch.tensor(2.0))
    fed.gather(begin_keeping, to=(0, 1, 2))
    assert list(map(float, fed.gather(upload_all_it_knows, to=(1, 2)))) == [2 + 2 + 200, 3 + 3 + 60 + 200]
    fed._begin()
    with pytest.raises(KeyError):  # what was kept for the last round is gone
        fed.gather(upload_all_it_knows, to=(0,))


@pytest.mark.parametrize("executor", [Sequential, Vmap])
def test_what_clients_learn_joins_what_they_knew(executor):
    fed = Federation(counted(4, 6), executor=executor())
    fed.set_personal(own=torch.tensor(9.0))
    fed.gather(begin_keeping, to=(0, 1))
    fed.gather(learn_something, to=(0, 1))
    assert [list(map(float, known)) for known in fed.gather(tell_both, to=(0, 1))] == [[4, 2, 9, 4], [6, 3, 9, 6]]


def test_a_state_is_a_copy_of_what_there_was():
    fed = Federation(counted(1, 2))
    fed.set_personal(own=torch.tensor(0.0))
    fed._begin()
    before = fed.state
    fed.set_personal(own=torch.tensor(1.0))
    fed.broadcast(more=torch.tensor(1.0))
    fed._begin()
    assert (before.round, float(before.equipped["own"]), dict(before.shared)) == (1, 0.0, {})
    again = Federation(counted(1, 2), state=before)
    assert again._begin() == 2
    again.set_personal(own=torch.tensor(5.0))
    assert float(before.equipped["own"]) == 0.0
    assert float(again.personal(1)["own"]) == 5.0


def test_setting_personal_values_again_replaces_the_clients_own():
    fed = Federation(counted(4, 6))
    fed.set_personal(own=torch.tensor(9.0))
    fed.gather(learn_something, to=(0,))
    first = fed.state.personal[0]
    fed.gather(learn_something, to=(1,))
    assert fed.state.personal[0] is first  # the object of a client that did not work is not replaced
    fed.set_personal(other=torch.tensor(1.0))
    assert [float(fed.personal(k)["other"]) for k in (0, 1)] == [1.0, 1.0]
    fed.gather(learn_two, to=(0, 1))
    fed.set_personal(own=torch.tensor(8.0))
    assert [tuple(map(float, fed.personal(k).values())) for k in (0, 1)] == [(8.0, 4.0), (8.0, 6.0)]


@pytest.mark.parametrize("executor", [Sequential, Vmap])
def test_every_cohort_works_on_its_own_data(executor):
    """Also cohorts of the same length as the last one, or of the same clients in other federations."""
    one = executor()
    for values in ((1, 2, 3), (4, 5, 6)):
        fed = Federation(counted(*values), executor=one)
        for cohort in ((0, 1), (1, 2), (0, 1), (0, 1), (2,)):
            assert list(map(float, fed.gather(upload_value, to=cohort))) == [values[k] for k in cohort]


def test_stacked_clients_that_are_one_and_the_same_are_evaluated_once():
    (client,) = counted(4)
    fed = Federation([client] * 3, executor=Vmap())
    assert list(map(float, fed.gather(upload_value, to=(0, 1, 2)))) == [4.0, 4.0, 4.0]


def test_stacked_views_of_one_memory_stay_apart():
    """Clients that get a square matrix, and its transposed view or one with a shift."""
    both = torch.arange(12.0).reshape(3, 4)
    fed = Federation(counted(1, 2), executor=Vmap())
    for other in (both[:, :3].T, both[:, 1:]):
        views = {0: both[:, :3], 1: other}
        found = fed.gather(lambda client, memory, own: Reply(upload=client.value * own), to=(0, 1), each={"own": views})
        for number, upload in enumerate(found):
            assert torch.equal(upload, (number + 1.0) * views[number])


@pytest.mark.parametrize(
    ("clients", "cause"),
    [
        ([*counted(1), Counted(torch.ones(2))], "differ in shape"),
        ([type("Plain", (), {"samples": 1.0})()] * 2, "Plain cannot be stacked"),
    ],
)
def test_clients_that_cannot_be_stacked_are_named(clients, cause):
    with pytest.raises(FederationError, match=rf"round 0, upload_value: .*{cause}"):
        Federation(clients, executor=Vmap()).gather(upload_value, to=(0, 1))


def test_work_that_depends_on_values_is_not_stacked():
    fed = Federation(counted(1, 2), executor=Vmap())

    def choosing(client, memory):
        return Reply(upload=client.value if float(client.value) > 1 else -client.value)

    with pytest.raises(FederationError, match="depends on the client's values; use the sequential executor"):
        fed.gather(choosing, to=(0, 1))


def test_numbers_that_are_not_finite_name_round_client_and_work():
    fed = Federation(counted(1, float("nan"), float("inf")))
    fed._begin()
    for cohort, client in (((0, 1), 1), ((0, 2), 2)):
        with pytest.raises(
            FederationError, match=f"round 1, client {client}: upload_value returned non-finite numbers"
        ):
            fed.gather(upload_value, to=cohort)


def test_numbers_are_finite_also_if_their_sum_is_not():
    values = [torch.full((4,), sign * torch.finfo(torch.float32).max) for sign in (1, -1)]
    fed = Federation([Counted(value, 6.0) for value in values])
    assert all(map(torch.equal, fed.gather(upload_value, to=(0, 1)), values))


@pytest.mark.parametrize("executor", [Sequential, Vmap])
def test_a_client_listed_twice_has_ranks_of_its_own(executor):
    """mFedLoRU sends each client its ranks by its number, even if several numbers share a client object."""
    (client,) = counted(1)
    fed = Federation([client, client], executor=executor())
    algorithm = NestedFedLoRU(Descent(1, 0.1), Adapter(2), 2, ranks=((1, 1), (2, 2)))
    state = algorithm.start(fed, Tree(W=torch.ones(4, 3).double()))
    one_round(algorithm.round, fed, state)
    assert fed.ledger.count("up", 1) == (1 + 2) * (4 + 2 + 2 + 3)


def upload_sum(client, memory, own, word, all):
    return Reply(upload=memory.number + 10 * own + all + (100 if word == "a" else 200))


@pytest.mark.parametrize("executor", [Sequential, Vmap])
def test_each_client_knows_its_number_and_gets_what_is_sent_to_it_alone(executor):
    fed = Federation(counted(1, 2, 3, 4), shares=(1, 2, 3, 2), executor=executor())
    each = {"own": {k: torch.full((2,), float(k)) for k in range(4)}, "word": dict(enumerate("abba"))}
    found = fed.gather(upload_sum, to=(1, 2, 3), each=each, all=torch.tensor(0.5))
    assert [upload[0].item() for upload in found] == [1 + 10 + 200.5, 2 + 20 + 200.5, 3 + 30 + 100.5]
    assert (fed.ledger.count("down"), fed.ledger.count("up")) == (3 * (2 + 1), 3 * 2)
    mean = fed.mean(upload_sum, to=(1, 3), each=each, then=lambda upload: upload[:1] ** 2, all=torch.tensor(0.5))
    assert mean.tolist() == pytest.approx([(211.5**2 + 133.5**2) / 2])
    assert fed.ledger.entries[-1].entries == 2 * 2  # the upload itself, not the result of `then`


def make_infinite(upload):
    return upload / 0.0


def test_numbers_that_the_server_makes_of_an_upload_are_checked_too():
    fed = Federation(counted(1, 2))
    with pytest.raises(FederationError, match="client 0: upload_value returned non-finite numbers"):
        fed.mean(upload_value, to=(0, 1), then=make_infinite)


class Many:
    """A million clients, each of which is built on access."""

    def __init__(self):
        self.made, self.sizes = [], np.full(1_000_000, 3.0)

    def __len__(self):
        return len(self.sizes)

    def __getitem__(self, number):
        self.made.append(number)
        return Counted(torch.tensor(float(number)))


def test_a_million_clients_cost_their_sizes():
    clients = Many()
    fed = Federation(clients, seed=1)
    fed.set_personal(own=torch.tensor(0.0))
    fed.broadcast(told=torch.tensor(1.0))
    assert clients.made == []
    chosen = []

    def working_round(fed, cohort, state):
        chosen.extend(cohort)
        fed.mean(begin_keeping, to=cohort)
        return fed.mean(upload_all_it_knows, to=cohort)

    mean = one_round(working_round, fed, None, 20)
    assert clients.made == chosen * 2
    assert float(mean) == pytest.approx(2 * np.mean(chosen) + 100)
    assert set(fed.state.personal) == set(chosen)
    assert float(fed.personal(chosen[0])["own"]) == chosen[0]


class Told(Sequential):
    """An executor that records broadcasts."""

    def __init__(self):
        self.brought = []

    def broadcast(self, exchange):
        self.brought.append((exchange.round, len(exchange.cohort), sorted(exchange.sent)))


def upload_size(client, memory, sent):
    return Reply(torch.tensor(float(sent.numel())))


class WithoutSecond(Sequential):
    """An executor whose second client is absent from round 2 on."""

    def absent(self, round):
        return (1,) if round >= 2 else ()


class WithoutConnection(Sequential):
    """An executor that cannot reach its third client."""

    def unreached(self):
        return (2,)


@pytest.mark.parametrize("wrapped", [lambda executor: executor, UploadRecorder, Watching])
def test_no_message_is_counted_that_did_not_go_even_if_the_executor_is_wrapped(wrapped):
    fed = Federation(counted(1, 2, 3), executor=wrapped(WithoutConnection()))
    one_round(lambda fed, cohort, state: fed.mean(upload_size, to=cohort, sent=torch.ones(7)), fed, None, (0, 1, 2))
    one_round(lambda fed, cohort, state: fed.gather(upload_size, to=cohort, sent=torch.ones(5)), fed, None, (0, 2))
    down = [(entry.clients, entry.bytes) for entry in fed.ledger.entries if entry.direction == "down"]
    assert down == [(2, 2 * 7 * 4), (1, 5 * 4)]


@pytest.mark.parametrize("wrapped", [lambda executor: executor, UploadRecorder, Watching])
def test_nothing_is_counted_for_absent_clients_even_if_the_executor_is_wrapped(wrapped):
    fed = Federation(counted(1, 2, 3), executor=wrapped(WithoutSecond()))
    fed.broadcast(base=torch.zeros(2))  # stays for round 1, in which all are there
    one_round(lambda fed, cohort, state: fed.broadcast(base=torch.ones(5)), fed, None, 1)
    assert fed.ledger.bytes() == 3 * 2 * 4 + 2 * 5 * 4
    one_round(lambda fed, cohort, state: fed.mean(upload_size, to=cohort, sent=torch.ones(7)), fed, None, (0, 1, 2))
    assert fed.ledger.bytes("down") == 3 * 2 * 4 + 2 * 5 * 4 + 2 * 7 * 4


def test_broadcasts_go_through_the_executor():
    told = Told()
    fed = Federation(counted(1, 2, 3), executor=told)
    fed.broadcast(base=torch.zeros(2), scale=2.0)
    assert told.brought == [(0, 3, ["base", "scale"])]
    assert fed.ledger.bytes() == 3 * 2 * 4


def test_uploads_are_added_up_as_they_come():
    alive = []

    class Heavy(Sequential):
        def replies(self, exchange):
            for number in exchange.cohort:
                upload = torch.full((3,), float(number))
                alive.append(weakref.ref(upload))
                yield Reply(upload=upload)
                del upload
                assert sum(ref() is not None for ref in alive) <= 1

    fed = Federation(counted(*range(6)), shares=range(6), executor=Heavy())
    assert fed.mean(upload_value, to=tuple(range(6))).tolist() == [pytest.approx(55 / 15)] * 3


def test_nested_factors_are_orthonormal_where_they_are_not_zero_and_new_on_every_turn():
    algorithm = NestedFedLoRU(Descent(), Adapter(3, seed=5), 2, ranks=((2, 1),))
    factors = AB(Tree(W=torch.ones(5, 3).double()), Tree(W=torch.ones(3, 4).double()))
    nested, later = (algorithm.draw_factors(factors, (2, 1), turn) for turn in (0, 1))
    shapes = [tuple(part["W"].shape) for part in nested[:4]]
    assert shapes == [(5, 2), (2, 3), (3, 1), (1, 4)]
    assert not nested.A_d["W"].any()
    assert not nested.B_u["W"].any()
    torch.testing.assert_close(nested.A_u["W"] @ nested.A_u["W"].T, torch.eye(2).double())
    torch.testing.assert_close(nested.B_d["W"].T @ nested.B_d["W"], torch.eye(1).double())
    assert float((nested.A_u["W"] - later.A_u["W"]).abs().max()) > 1e-3
    assert float((nested.B_d["W"] - later.B_d["W"]).abs().max()) > 1e-3
    alike = algorithm.draw_factors(factors, (2, 2), 0)
    assert float((alike.A_u["W"] - alike.B_d["W"].T).abs().max()) > 1e-3  # two draws, not one


def test_the_start_of_factors_is_normal_with_variance_1_over_m_and_zero():
    w = {"W": torch.zeros(400, 60, dtype=torch.float32), "V": torch.zeros(100, 50, dtype=torch.float64)}
    adapter = Adapter(40, seed=2)
    factors = adapter.factors(w)
    for name, W in w.items():
        A, B = factors.A[name], factors.B[name]
        assert A.shape == (W.shape[0], 40)
        assert B.shape == (40, W.shape[1])
        assert A.dtype == B.dtype == W.dtype
        assert not B.any()
        assert float((A**2).mean() * W.shape[0]) == pytest.approx(1.0, abs=5 * (2 / A.numel()) ** 0.5)
    assert torch.equal(factors.A["W"], adapter.factors(w).A["W"])
    others = [adapter.factors(w, turn=1), Adapter(40, seed=3).factors(w)]
    assert all(float((other.A["W"] - factors.A["W"]).abs().max()) > 0.1 for other in others)
    for wrong in (0, 51):
        with pytest.raises(FederationError, match="rank"):
            Adapter(wrong).factors(w)
    for scale in (0.0, float("nan"), float("inf")):
        with pytest.raises(FederationError, match="scale"):
            Adapter(1, scale)


@pytest.mark.parametrize("a_at", ["outputs", "inputs"])
def test_factors_of_kernels_have_their_sides_and_at_least_single_precision(a_at):
    """A kernel of 5 x 2 x 3 x 3 is a matrix 5 x 18."""
    for dtype, wide in ((torch.half, torch.float32), (torch.float32, torch.float32), (torch.float64, torch.float64)):
        w = {"W": torch.zeros(5, 2, 3, 3, dtype=dtype)}
        for precision, expected in (("float32", wide), ("weights", dtype), (None, dtype)):
            pair = Adapter(2, a_at=a_at, precision=precision).pair(w)
            A, B = pair.A["W"], pair.B["W"]
            assert (tuple(A.shape), tuple(B.shape)) == (((5, 2), (2, 18)) if a_at == "outputs" else ((18, 2), (2, 5)))
            assert A.dtype == B.dtype == expected


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Descent(2, 0.1), Descent(2, 0.2)),
        (Descent(2, 0.1, 2), Descent(2, 0.1, 3)),
        (Descent(2, 0.1), Descent(2, 0.1, clip=1.0)),
        (Descent(2, 0.1, optimiser=Sgd(0.9)), Descent(2, 0.1)),
        (Descent(2, 0.1, optimiser=Sgd(0.9), optimiser_state="personal"), Descent(2, 0.1, optimiser=Sgd(0.9))),
    ],
)
def test_joint_steps_need_one_rate_and_one_batch(one, other):
    with pytest.raises(FederationError, match="one learning rate and one batch"):
        PersonalFedLoRA(one, other, Adapter(1), jointly=True).together()
    assert PersonalFedLoRA(one, one, Adapter(1), jointly=True).together() == replace(one, steps=4)


def test_batches_are_named_for_both_kinds_of_steps_or_for_none():
    for one, other in ((None, 2), (2, None)):
        for algorithm in (
            PersonalFedLoRA(Descent(2, 0.1, one), Descent(2, 0.1, other), Adapter(1)),
            PersonalFedLoRU(Descent(2, 0.1, one), Adapter(1), 2, personal=Descent(2, 0.1, other)),
        ):
            fed = Federation(counted(1))
            state = algorithm.start(fed, Tree(W=torch.ones(2, 2)))
            with pytest.raises(FederationError, match="a batch for both kinds of local steps"):
                algorithm.round(fed, (0,), state)


def test_descent_starts_at_the_given_weights_and_does_not_change_them():
    (client,) = counted(3)
    start, correction = Tree(W=torch.ones(2)), Tree(W=torch.tensor([1.0, -3.0]))
    end = descend(client, start, Descent(2, 0.5), Memory(), correction=correction)
    assert end.parameters["W"].tolist() == [1 - 2 * 0.5 * 4, 1.0]
    assert start["W"].tolist() == [1.0, 1.0]
    assert gradient(client, start)["W"].tolist() == [3.0, 3.0]


@pytest.mark.parametrize(
    "wrong", [{"steps": 0}, {"batch": 0}, *({"learning_rate": r} for r in (0.0, -1.0, float("nan"), float("inf")))]
)
def test_local_steps_out_of_range_are_refused(wrong):
    (name,) = wrong
    with pytest.raises(
        FederationError, match=rf"{name.replace('_', ' ')} must be (a whole number of at least 1|positive)"
    ):
        Descent(**wrong)


def test_trees_do_arithmetic_by_name():
    one, other = Tree(W=torch.eye(2), V=torch.ones(1, 3)), Tree(V=2 * torch.ones(1, 3), W=torch.ones(2, 2))
    assert (one - other)["V"].tolist() == [[-1.0] * 3]
    assert (-one)["W"].tolist() == [[-1.0, 0.0], [0.0, -1.0]]
    assert (one / 2)["V"].tolist() == [[0.5] * 3]
    assert one.T["V"].shape == (3, 1)
    assert float(other.square()) == 4 + 12
    for wrong in (Tree(W=torch.eye(2)), Tree(W=torch.eye(2), V=torch.ones(1, 3), bias=torch.ones(2)), Tree(W=1, U=2)):
        with pytest.raises(ValueError, match=r"the trees differ in (V|bias|U, V)"):
            one + wrong
    assert [t.shape for t in tensors((one, 3.0, {"x": torch.zeros(4)}))] == [(2, 2), (1, 3), (4,)]
    total = weighted_sum([(0.5, (one, {"x": torch.ones(1)})), (2.0, (one, {"x": torch.ones(1)}))])
    assert total[0]["V"].tolist() == [[2.5] * 3]
    assert float(total[1]["x"]) == 2.5


def test_a_ledger_counts_directions_rounds_and_bytes_of_every_type():
    ledger = Ledger()
    ledger.record(1, 1, "down", "a", [{"x": torch.zeros(2, 3), "n": 7}], copies=4)
    ledger.record(1, 1, "up", "a", [torch.zeros(5, dtype=torch.float64)] * 2)
    ledger.record(1, 2, "up", "nothing", [(), 3])
    ledger.record(2, 3, "up", "b", [torch.zeros(1, dtype=torch.float16)])
    assert [(e.direction, e.clients, e.entries, e.bytes) for e in ledger.entries] == [
        ("down", 4, 24, 96),
        ("up", 2, 10, 80),
        ("up", 1, 1, 2),
    ]
    assert (ledger.bytes(), ledger.bytes("up"), ledger.bytes("up", 1), ledger.bytes(round=2)) == (178, 82, 80, 2)
    assert (ledger.count(), ledger.count("down", 2), ledger.trips(1), ledger.trips(2), ledger.trips(9)) == (
        35,
        0,
        1,
        3,
        0,
    )


def test_plain_steps_are_gradient_descent_to_the_bit():
    """The step is W - rate (gradient + correction), rounded after the product and after the difference."""

    class Bowl:
        samples = 1.0

        def loss(self, w, batch=None):
            return torch.cosh(w["W"]).sum()

    generator = torch.Generator().manual_seed(0)
    w, correction = (torch.randn(5, 4, generator=generator) for _ in range(2))
    end = descend(Bowl(), Tree(W=w), Descent(3, 0.3), Memory(), correction=Tree(W=correction)).parameters["W"]
    for _ in range(3):
        w = w - 0.3 * (torch.sinh(w) + correction)
    assert torch.equal(end, w)
