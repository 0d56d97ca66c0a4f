"""Special cases in which an algorithm equals another one, and agreement of the executors."""

import numpy as np
import pytest
import torch

from algorithms.adapter import Adapter
from algorithms.descent import Descent
from algorithms.fed_sb import FedSB
from algorithms.fedavg import FedAvg
from algorithms.federation import Federation, FederationError, Sequential
from algorithms.fedlin import FedLin
from algorithms.fedlora import FedLoRA
from algorithms.fedloru import RESTARTS, FedLoRU
from algorithms.fedloru_finetuning import FineTuneFedLoRU
from algorithms.fedlrt import FeDLRT
from algorithms.fedlrt_naive import NaiveFeDLRT
from algorithms.fedpara import FedPara, PersonalFedPara
from algorithms.fedprox import FedProx
from algorithms.fedsa_lora import FedSALoRA
from algorithms.ffa_lora import FFALoRA
from algorithms.flexlora import FlexLoRA
from algorithms.frlora import FRLoRA
from algorithms.low_rank import Truncation, factorise, product
from algorithms.mfedloru import NestedFedLoRU
from algorithms.optimisers import Sgd
from algorithms.pfedlora import PersonalFedLoRA
from algorithms.pfedloru import PersonalFedLoRU
from algorithms.rolora import RoLoRA
from algorithms.rounds import final, go_on, one_round
from algorithms.scaffold import CONTROLS, Scaffold
from algorithms.schedules import Step
from algorithms.tree import Tree
from algorithms.vmap import Vmap
from toymodels.quadratic import centred, mean_of, quadratic_problem, random_quadratics

EVERYTHING = Truncation(0.0)
LOCAL = Descent(5, 0.05)
ALGORITHMS = {
    "FedAvg": FedAvg(LOCAL),
    "FedLin": FedLin(LOCAL),
    "FeDLRT": FeDLRT(LOCAL, 2, Truncation(0.05), "none"),
    "FeDLRT, full": FeDLRT(LOCAL, 2, Truncation(0.05), "full"),
    "FeDLRT, simplified": FeDLRT(LOCAL, 3, Truncation(0.05), "simplified"),
    "FeDLRT, no completion": FeDLRT(LOCAL, 2, Truncation(0.05), "full", "none"),
    "FedLoRA": FedLoRA(LOCAL, Adapter(2)),
    "FFA-LoRA": FFALoRA(LOCAL, Adapter(2)),
    "RoLoRA": RoLoRA(LOCAL, Adapter(2)),
    "FlexLoRA": FlexLoRA(LOCAL, Adapter(2)),
    "FedLoRU": FedLoRU(LOCAL, Adapter(2), tau=2),
    "FedLoRU, fine-tuning": FineTuneFedLoRU(LOCAL, Adapter(2), tau=2),
    "pFedLoRU": PersonalFedLoRU(LOCAL, Adapter(2), tau=2, personal=Descent(3, 0.05)),
    "pFedLoRA (1)": PersonalFedLoRA(LOCAL, Descent(3, 0.05), Adapter(1)),
    "pFedLoRA (2)": PersonalFedLoRA(LOCAL, Descent(3, 0.05), Adapter(1), jointly=True),
    "naive FeDLRT": NaiveFeDLRT(LOCAL, 2, Truncation(0.05)),
    "FedProx": FedProx(LOCAL, 0.5),
    "SCAFFOLD": Scaffold(LOCAL),
    "SCAFFOLD, gradients": Scaffold(LOCAL, 1.5, "gradient"),
    "FedSA-LoRA": FedSALoRA(LOCAL, Adapter(2)),
    "FRLoRA": FRLoRA(LOCAL, Adapter(2)),
    "Fed-SB": FedSB(LOCAL, Adapter(2)),
    "FedPara": FedPara(LOCAL, 2),
    "pFedPara": PersonalFedPara(LOCAL, 2),
    "mFedLoRU": NestedFedLoRU(LOCAL, Adapter(2), tau=2, ranks=((1, 1), (2, 1), None, (1, 2))),
}


def problem(shape=(6, 4), clients=4, **options):
    return random_quadratics(shape, clients, np.random.default_rng(1), heterogeneity=0.5, **options)


def run(algorithm, given, rounds, *, size=None, **options):
    """Return the model after some rounds, the federation and the state."""
    fed = Federation(given.clients, **options)
    state = algorithm.start(fed, Tree(given.start))
    state = final(go_on(algorithm.round, fed, state, rounds, size), state)
    return algorithm.weights(state)["W"], fed, state


def close(one, other, relative=1e-12):
    assert one.shape == other.shape
    assert float((one - other).abs().max()) <= relative * max(1.0, float(other.abs().max()))


@pytest.mark.parametrize("name", ALGORITHMS)
def test_executors_agree_from_the_same_state(name):
    algorithm, given = ALGORITHMS[name], problem()
    if name == "naive FeDLRT":
        pytest.skip("clients that cut ranks cannot be stacked")
    one, other = Federation(given.clients, seed=3), Federation(given.clients, seed=3, executor=Vmap())
    state = algorithm.start(one, Tree(given.start))
    algorithm.start(other, Tree(given.start))
    for _ in range(3):
        found = one_round(algorithm.round, other, state, 3)
        state = one_round(algorithm.round, one, state, 3)
        close(algorithm.weights(found)["W"], algorithm.weights(state)["W"])
    assert one.ledger.entries == other.ledger.entries


@pytest.mark.parametrize("shape", [(6, 4), (3, 5), (4, 4)])
@pytest.mark.parametrize(("correction", "full"), [("full", FedLin(LOCAL)), ("none", FedAvg(LOCAL))])
def test_fedlrt_at_full_rank_without_truncation_is_the_full_method(shape, correction, full):
    given = problem(shape)
    algorithm = FeDLRT(LOCAL, min(shape), EVERYTHING, correction)
    close(run(algorithm, given, 4)[0], run(full, given, 4)[0], 1e-11)


@pytest.mark.parametrize("restart", ["random", "momentum", "keep A"])
def test_fedloru_that_never_accumulates_is_fedlora(restart):
    given = problem()
    close(run(FedLoRU(LOCAL, Adapter(2), 99, restart), given, 5)[0], run(FedLoRA(LOCAL, Adapter(2)), given, 5)[0], 0.0)


def test_rolora_with_a_frozen_is_ffa_lora():
    given = problem()
    close(run(RoLoRA(LOCAL, Adapter(2), frozen_a=True), given, 5)[0], run(FFALoRA(LOCAL, Adapter(2)), given, 5)[0], 0.0)


def test_nested_clients_that_all_opt_out_are_fedloru():
    given = problem()
    nested = NestedFedLoRU(LOCAL, Adapter(2), 2, ranks=(None,) * 4)
    close(run(nested, given, 5)[0], run(FedLoRU(LOCAL, Adapter(2), 2), given, 5)[0], 0.0)


@pytest.mark.parametrize("shape", [(6, 4), (3, 5), (2, 2)])
def test_nested_clients_at_full_rank_take_the_first_step_of_fedloru(shape):
    given, once, rank = problem(shape), Descent(1, 0.05), 2
    nested = NestedFedLoRU(once, Adapter(rank), 3, ranks=((rank, rank),) * 4, nested_scale=1 / rank)
    close(run(nested, given, 5)[0], run(FedLoRU(once, Adapter(rank), 3), given, 5)[0])


@pytest.mark.parametrize("restart", ["random", "momentum", "keep A"])
def test_stored_pairs_give_the_same_model_as_merged_ones(restart):
    given = problem()
    beside, fed, state = run(FineTuneFedLoRU(LOCAL, Adapter(2), 2, restart), given, 7, size=3)
    merged, other, _ = run(FedLoRU(LOCAL, Adapter(2), 2, restart), given, 7, size=3)
    close(beside, merged)
    assert len(state.pairs) == 3
    assert torch.equal(state.base["W"], given.start["W"])
    assert fed.ledger.bytes() == other.ledger.bytes()


def test_both_readings_of_what_nested_clients_send_give_the_same_model():
    given = problem()
    for ranks in (((1, 1),) * 4, ((2, 1), (1, 2), None, (2, 2))):
        text = NestedFedLoRU(LOCAL, Adapter(2), 2, ranks=ranks)
        listing = NestedFedLoRU(LOCAL, Adapter(2), 2, ranks=ranks, send_products=True)
        close(run(text, given, 5)[0], run(listing, given, 5)[0])


@pytest.mark.parametrize("name", ALGORITHMS)
def test_equal_clients_are_one_client(name):
    if name == "mFedLoRU":
        pytest.skip("its clients differ by their ranks")
    alike = problem(clients=1).clients * 4
    given = problem(clients=1)
    several = quadratic_problem("alike", alike, given.start["W"])
    close(run(ALGORITHMS[name], several, 4)[0], run(ALGORITHMS[name], given, 4)[0], 1e-11)


@pytest.mark.parametrize("name", ["FedAvg", "FedLin"])
def test_one_client_descends_centrally(name):
    given = problem(clients=1)
    W = given.start["W"]
    for _ in range(4 * LOCAL.steps):
        W = W - LOCAL.learning_rate * given.clients[0].gradient({"W": W})["W"]
    close(run(ALGORITHMS[name], given, 4)[0], W)


def test_one_local_step_of_fedavg_is_a_step_on_the_mean():
    given = problem()
    whole = mean_of(given.clients, given.shares)
    W = given.start["W"] - 0.05 * whole.gradient(given.start)["W"]
    close(run(FedAvg(Descent(1, 0.05)), given, 1)[0], W)


def test_uneven_shares_and_cohorts_follow_the_formula():
    given, shares = problem(), (1.0, 2.0, 0.5, 4.0)
    fed = Federation(given.clients, shares=shares, seed=5)
    found = one_round(FedAvg(LOCAL).round, fed, Tree(given.start), 2)["W"]
    cohort = fed.cohort(2)
    assert len(cohort) == 2
    alone = []
    for number in cohort:
        W = given.start["W"]
        for _ in range(LOCAL.steps):
            W = W - LOCAL.learning_rate * given.clients[number].gradient({"W": W})["W"]
        alone.append(W)
    first, second = (shares[number] for number in cohort)
    close(found, (first * alone[0] + second * alone[1]) / (first + second))


def test_cohorts_are_drawn_from_seed_and_round_and_reach_everybody():
    given, met = problem(clients=6), set()
    fed = Federation(given.clients, seed=1)
    for _ in range(40):
        fed._begin()
        met.update(fed.cohort(2))
    assert met == set(range(6))
    again = Federation(given.clients, seed=1)
    again._begin()
    fresh = Federation(given.clients, seed=1)
    fresh._begin()
    assert again.cohort(2) == fresh.cohort(2)


def test_fedlin_reaches_the_minimiser_and_fedavg_does_not():
    given = problem()
    distance = given.measures["distance"]
    assert distance({"W": run(FedLin(Descent(10, 0.1)), given, 150)[0]}) < 1e-6
    assert distance({"W": run(FedAvg(Descent(10, 0.1)), given, 150)[0]}) > 1e-2
    printed = run(FedLin(Descent(10, 0.1), as_printed=True), given, 20)[0]
    assert distance({"W": printed}) > distance({"W": run(FedLin(Descent(10, 0.1)), given, 20)[0]})


def test_fedprox_without_a_pull_is_fedavg_and_a_strong_pull_keeps_clients_close():
    given = problem()
    close(run(FedProx(LOCAL, 0.0), given, 4)[0], run(FedAvg(LOCAL), given, 4)[0], 0.0)
    moved = [float((run(FedProx(LOCAL, mu), given, 1)[0] - given.start["W"]).norm()) for mu in (0.0, 1.0, 4.0)]
    assert moved[0] > moved[1] > moved[2]


@pytest.mark.parametrize("control", CONTROLS)
def test_scaffold_begins_as_fedavg_and_reaches_the_minimiser(control):
    given = problem()
    close(run(Scaffold(LOCAL, 1.0, control), given, 1)[0], run(FedAvg(LOCAL), given, 1)[0], 0.0)
    assert given.measures["distance"]({"W": run(Scaffold(Descent(10, 0.1), 1.0, control), given, 200)[0]}) < 1e-6


@pytest.mark.parametrize("control", CONTROLS)
def test_the_control_variate_of_the_server_is_the_mean_of_the_clients(control):
    shares = (1.0, 2.0, 0.5, 4.0)
    _, fed, state = run(Scaffold(LOCAL, 1.25, control), problem(), 5, size=2, shares=shares, seed=4)
    own = [fed.personal(k)["control"]["W"] for k in range(4)]
    assert len({tuple(c.flatten().tolist()) for c in own}) > 2
    close(state.c["W"], sum(share * c for share, c in zip(shares, own, strict=True)) / sum(shares))


def test_scaffold_counts_the_length_of_scheduled_steps():
    """With one client, its control variate and the server's cancel, and the mean gradient is that of the steps."""
    given = problem(clients=1)
    local = Descent(4, Step(0.1, every=2, factor=0.5, per="step"))
    W, _, state = run(Scaffold(local), given, 1)
    close(run(Scaffold(local), given, 3)[0], run(FedAvg(local), given, 3)[0])
    close(state.c["W"], (given.start["W"] - W) / (0.1 + 0.1 + 0.05 + 0.05))


def test_frlora_accumulates_more_than_the_rank_of_its_factors():
    given = problem(shape=(8, 8), clients=3)
    ranks = []
    for rounds in (1, 2, 3):
        W, _, state = run(FRLoRA(Descent(5, 0.1), Adapter(1)), given, rounds)
        ranks.append(int(torch.linalg.matrix_rank(W - given.start["W"], rtol=1e-9)))
        assert state.rounds == rounds
    assert ranks == [2, 3, 4]


@pytest.mark.parametrize("scale", [0.5, 2.0, -1.5])
def test_frlora_starts_with_the_best_approximation_of_the_weights_in_its_factors(scale):
    given = problem(shape=(6, 4))
    algorithm = FRLoRA(LOCAL, Adapter(2, scale))
    state = algorithm.start(Federation(given.clients), Tree(given.start))
    close(state.base["W"] + scale * state.factors.A["W"] @ state.factors.B["W"], given.start["W"])
    sigma = torch.linalg.svdvals(given.start["W"])
    close(torch.linalg.svdvals(state.base["W"]), torch.cat([sigma[2:], torch.zeros(2).double()]))
    close(state.factors.A["W"].norm(), state.factors.B["W"].norm())


def test_frlora_finds_no_factors_in_zeros():
    given = quadratic_problem("zero", problem().clients, torch.zeros(6, 4).double())
    with pytest.raises(FederationError, match="W has only zeros, so FRLoRA finds no factors in it; leave out"):
        run(FRLoRA(LOCAL, Adapter(2)), given, 1)


def test_the_mean_of_fed_sb_is_the_mean_of_the_products():
    """After one round, the model is the mean of those that its clients alone would have reached."""
    given, shares = problem(), (1.0, 2.0, 0.5, 4.0)
    off = {}
    for algorithm in (FedSB(LOCAL, Adapter(2, 1.5)), FedLoRA(LOCAL, Adapter(2, 1.5))):
        fed = Federation(given.clients, shares=shares)
        start = algorithm.start(fed, Tree(given.start))
        alone = [algorithm.weights(one_round(algorithm.round, fed, start, (k,)))["W"] for k in range(4)]
        together = algorithm.weights(one_round(algorithm.round, fed, start))["W"]
        mean = sum(share * W for share, W in zip(shares, alone, strict=True)) / sum(shares)
        off[type(algorithm)] = float((together - mean).abs().max())
    assert off[FedSB] < 1e-14
    assert off[FedLoRA] > 1e-5


def test_fedsa_lora_serves_each_client_and_its_server_has_no_b():
    given = problem()
    W, fed, state = run(FedSALoRA(Descent(10, 0.05), Adapter(2)), given, 8)
    assert torch.equal(W, given.start["W"])
    own = [FedSALoRA(LOCAL, Adapter(2)).personal_weights(fed, state, k) for k in range(4)]
    for number, client in enumerate(given.clients):
        losses = [float(client.loss(mine)) for mine in own]
        assert losses[number] == min(losses) < float(client.loss({"W": W}))


@pytest.mark.slow
def test_a_rank_one_target_is_found_by_every_low_rank_method():
    target = torch.outer(torch.linspace(1, 2, 5), torch.linspace(-1, 1, 4)).double()
    given = quadratic_problem("rank one", [centred(torch.eye(20), target)] * 2, torch.zeros(5, 4).double())
    for name in ("FeDLRT, full", "FeDLRT, simplified", "FedLoRA", "RoLoRA", "FlexLoRA", "FedLoRU"):
        algorithm = ALGORITHMS[name]
        start = (
            given
            if not name.startswith("FeDLRT")
            else quadratic_problem("", given.clients, 0.1 * torch.rand(5, 4).double())
        )
        assert given.measures["distance"]({"W": run(algorithm, start, 300)[0]}) < 1e-3, name
    assert given.measures["distance"]({"W": run(ALGORITHMS["FFA-LoRA"], given, 300)[0]}) > 0.1


@pytest.mark.parametrize("name", ALGORITHMS)
def test_state_between_rounds_is_enough_to_go_on(name):
    algorithm, given = ALGORITHMS[name], problem()
    through, _, _ = run(algorithm, given, 5, seed=2, size=2)
    _, fed, state = run(algorithm, given, 3, seed=2, size=2)
    resumed = Federation(given.clients, seed=2, state=fed.state, executor=Sequential())
    state = final(go_on(algorithm.round, resumed, state, 2, 2), state)
    assert torch.equal(algorithm.weights(state)["W"], through)


@pytest.mark.parametrize(("restart", "kept"), [("random", True), ("keep A", True), ("momentum", False)])
def test_what_accumulation_does_to_the_function(restart, kept):
    given = problem()
    algorithm = FedLoRU(LOCAL, Adapter(2), 3, restart)
    before, _, _ = run(FedLoRU(LOCAL, Adapter(2), 99, restart), given, 3)
    after, _, _ = run(algorithm, given, 3)
    if kept:
        close(after, before)
    else:  # the product of the factors counts twice
        close(after - given.start["W"], 2.0 * (before - given.start["W"]))


@pytest.mark.parametrize("restart", RESTARTS)
def test_a_restart_resets_a_personal_optimiser(restart):
    """The momentum goes on where the factors do."""
    given, local = problem(), Descent(2, 0.05, optimiser=Sgd(0.9), optimiser_state="personal")
    algorithm, fed = FedLoRU(local, Adapter(2), 2, restart), Federation(given.clients)
    kept = [
        fed.personal(0)["optimiser"] for _ in go_on(algorithm.round, fed, algorithm.start(fed, Tree(given.start)), 4)
    ]
    assert [entry is None for entry in kept] == [False, restart != "momentum"] * 2


def test_accumulated_updates_outgrow_the_rank_of_the_factors():
    given = problem(shape=(8, 8), clients=3)
    moved = {}
    for tau in (2, 99):
        W, _, _ = run(FedLoRU(Descent(5, 0.1), Adapter(1), tau), given, 12)
        moved[tau] = int(torch.linalg.matrix_rank(W - given.start["W"], rtol=1e-8))
    assert moved[99] == 1
    assert moved[2] == 6


@pytest.mark.parametrize(
    "algorithm",
    [
        PersonalFedLoRU(LOCAL, Adapter(1), tau=5, personal=Descent(10, 0.05)),
        PersonalFedLoRA(LOCAL, Descent(10, 0.05), Adapter(1)),
        PersonalFedLoRA(LOCAL, Descent(10, 0.05), Adapter(1), jointly=True),
    ],
)
def test_personal_factors_serve_their_client_and_do_not_travel(algorithm):
    given = problem()
    fed = Federation(given.clients)
    state = algorithm.start(fed, Tree(given.start))
    state = final(go_on(algorithm.round, fed, state, 11), state)
    for number, client in enumerate(given.clients):
        mine = algorithm.personal_weights(fed, state, number)
        assert float(client.loss(mine)) < float(client.loss(algorithm.weights(state)))
    m, n = given.start["W"].shape
    sent = m + n if isinstance(algorithm, PersonalFedLoRU) else m * n
    assert fed.ledger.count("up", 11) == len(given.clients) * sent


def test_naive_fedlrt_rebuilds_the_mean_and_the_printed_form_mixes_bases():
    given = problem()
    one_step = Descent(1, 0.05)
    whole = mean_of(given.clients, given.shares)
    loss = {}
    for printed in (False, True):
        W, fed, _ = run(NaiveFeDLRT(one_step, 2, EVERYTHING, printed), given, 1)
        loss[printed] = float(whole.loss({"W": W}))
        assert fed.ledger.count("up", 1) == 4 * ((6 + 4) * 4 + 16)
    start = float(whole.loss({"W": product(factorise(Tree(given.start), 2))["W"]}))
    assert loss[False] < loss[True]
    assert loss[False] < start


def test_one_step_of_lora_from_b_zero_averages_exactly():
    given, one_step = problem(), Descent(1, 0.05)
    after = []
    for method in (FedLoRA(one_step, Adapter(2)), FFALoRA(one_step, Adapter(2))):
        fed = Federation(given.clients)
        start = method.start(fed, Tree(given.start))
        assert not start.factors.B["W"].any()
        after.append(one_round(method.round, fed, start))
        assert torch.equal(after[-1].factors.A["W"], start.factors.A["W"])
    assert torch.equal(after[0].factors.B["W"], after[1].factors.B["W"])
