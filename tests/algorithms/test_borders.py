"""Decisions at their borders, and unequal layers and clients, by hand."""

from dataclasses import dataclass
from itertools import product as product_of

import numpy as np
import pytest
import torch

from algorithms.adapter import AB, Adapter
from algorithms.descent import OPTIMISER, Descent
from algorithms.exact_rolora import ExactRoLoRA
from algorithms.fed_sb import FedSB
from algorithms.fedavg import FedAvg
from algorithms.federation import Federation, FederationError, Memory
from algorithms.fedex_lora import FedExLoRA
from algorithms.fedhm import FedHM
from algorithms.fedloru import FedLoRU, FedLoRUState
from algorithms.fedloru_finetuning import FineTuneFedLoRU
from algorithms.fedlrt import FeDLRT
from algorithms.fedlrt_naive import NaiveFeDLRT, own_bases
from algorithms.fedsa_lora import FedSALoRA
from algorithms.flexlora import FlexLoRA, best_factors
from algorithms.flora import FLoRA
from algorithms.frlora import FRLoRA, FRLoRAState
from algorithms.hetlora import HetLoRA
from algorithms.ledger import Entry, Ledger
from algorithms.low_rank import COMPLETIONS, USV, Truncation, augment, factorise, product
from algorithms.moving_bases import BASES, follow_bases
from algorithms.optimisers import Adam, Moments
from algorithms.partial_sums import part_size
from algorithms.pfedlora import PersonalFedLoRA
from algorithms.pfedloru import PersonalFedLoRU
from algorithms.rolora import RoLoRA
from algorithms.rounds import one_round, rounds
from algorithms.schedules import Cosine, Step
from algorithms.tree import Tree
from toymodels.regression import regression

KINDS = (torch.float32, torch.float64)


@pytest.mark.parametrize("dtype", KINDS)
@pytest.mark.parametrize("count", [2, 5])
def test_singular_values_count_beyond_rounding(dtype, count):
    """Values below len(sigma) units of rounding of the norm count as zero, even if tau is 0."""
    border = count * torch.finfo(dtype).eps
    for by, rank in ((0.9, 1), (1.1, 2)):
        sigma = torch.zeros(count, dtype=dtype)
        sigma[0], sigma[1] = 1.0, by * border
        assert Truncation(0.0).rank(sigma) == rank


@pytest.mark.parametrize("dtype", KINDS)
@pytest.mark.parametrize("completion", COMPLETIONS)
def test_directions_count_beyond_rounding(dtype, completion):
    """The component along e_3, outside e_1, is below and above 10 units of rounding for each of the 6 rows."""
    U, G = torch.zeros(6, 1, dtype=dtype), torch.zeros(6, 1, dtype=dtype)
    U[0] = G[0] = 1.0
    border = 10.0 * 6 * torch.finfo(dtype).eps
    for by, seen in ((0.8, False), (1.25, True)):
        G[2] = by * border
        found = augment(Tree(W=U), Tree(W=G), completion)["W"]
        assert found.shape[1] == (1 if seen or completion == "orthogonal" else 0)
        along = float(found[2, 0].abs()) if found.shape[1] else 0.0
        assert (along > 0.99) is seen


def test_a_schedule_may_end_where_it_begins():
    assert [Cosine(0.3, 4, minimum=0.3)(t) for t in range(6)] == [0.3] * 6


@pytest.mark.parametrize(("one", "other"), [(2, 3), (3, 1)])
def test_joint_epochs_are_those_of_both_kinds(one, other):
    local, personal = (Descent(learning_rate=0.1, epochs=epochs, batch=4) for epochs in (one, other))
    assert PersonalFedLoRA(local, personal, Adapter(1), jointly=True).together().epochs == one + other
    local, personal = (Descent(steps, 0.1, batch=4) for steps in (one, other))
    assert PersonalFedLoRA(local, personal, Adapter(1), jointly=True).together().steps == one + other


def test_exchanges_are_counted_by_round():
    """Round 0 is the start; a ledger that is read from its entries has the same totals."""
    ledger = Ledger()
    for round, trip in ((1, 1), (2, 1), (2, 2), (2, 3), (3, 1), (3, 2)):
        ledger.add(round, trip, "up", "work", 1, 1, 8)
    assert [ledger.trips(round) for round in range(5)] == [0, 1, 3, 2, 0]
    ledger.record(0, 0, "down", "tell", [torch.zeros(5), torch.zeros(2, dtype=torch.float64)], copies=3)
    assert ledger.entries[-1] == Entry(0, 0, "down", "tell", 6, 3 * 7, 3 * (5 * 4 + 2 * 8))
    for one in (ledger, Ledger(ledger.entries)):
        for of, count, size in (("down", [21, 0, 0], 108), ("up", [0, 1, 3], 48), (None, [21, 1, 3], 156)):
            assert [one.count(of, round) for round in range(3)] == count
            assert [one.bytes(of, round) for round in (1, 2)] == [8 * entries * (of != "down") for entries in count[1:]]
            assert one.bytes(of, 0) == 108 * (of != "up")
            assert (one.count(of), one.bytes(of)) == (sum(count) + 2 * (of != "down"), size)


@dataclass(frozen=True)
class Between:
    """Its loss is half the squared distance from its own point; each step moves a running statistic far."""

    x: float
    y: float
    samples: float = 1.0
    statistics = frozenset({"seen"})

    def loss_and_statistics(self, w, batch=None):
        at = torch.tensor([self.x, self.y], dtype=torch.float64)
        return (w["w"] - at).square().sum() / 2.0, {"seen": w["seen"] + 1e3 * (1.0 + self.x)}


class Statistical:
    clients = (Between(3.0, 0.0), Between(0.0, 4.0))
    shares = None
    measures = {}  # noqa: RUF012
    start = {"seen": torch.zeros(1).double(), "w": torch.zeros(2).double()}  # noqa: RUF012

    def loss(self, w):
        return 0.0


def test_alignment_leaves_running_statistics_out():
    """Clients step to (3, 0) and (0, 4), the mean to (3, 4)/2; observed statistics are not part of the update."""
    (_, step) = rounds(FedAvg(Descent(1, 1.0)), Statistical(), rounds=1, aligned=True)
    assert step.metrics["alignment"] == pytest.approx((3 / 5 + 4 / 5) / 2)


@dataclass(frozen=True)
class TwoLayers:
    """A client with two matrices of unequal shapes and ranks."""

    seed: int = 0
    samples: float = 1.0

    def target(self, weight):
        """Return the weight of its own that it steps to."""
        return torch.randn(weight.shape, generator=torch.Generator().manual_seed(self.seed)).double()

    def loss(self, w, batch=None):
        return sum((weight - self.target(weight)).square().sum() for weight in w.values())


def unequal(*order):
    """W (4 x 3) of rank 2 and V (5 x 4) of rank 1, in this order or another."""
    generator = torch.Generator().manual_seed(1)
    w = Tree(W=torch.randn(4, 3, generator=generator).double(), V=torch.randn(5, 4, generator=generator).double())
    whole, low = factorise(w, 2), factorise(w, 1)
    made = ({"W": one["W"], "V": other["V"]} for one, other in zip(whole, low, strict=True))
    return type(whole)(*(Tree({name: both[name] for name in order or both}) for both in made))


@pytest.mark.parametrize("order", ["WV", "VW"])
def test_naive_steps_are_cut_to_the_largest_rank_of_all_layers(order):
    """Each step doubles the columns of the bases; between the two steps, both layers are truncated to rank 2."""
    sent = own_bases(TwoLayers(), Memory(), *unequal(*order), Descent(2, 0.1)).upload
    assert {name: tuple(S.shape) for name, S in sent.S.items()} == {"W": (4, 3), "V": (4, 4)}


def test_naive_as_printed_has_the_bases_of_the_first_client_and_the_mean_coefficients():
    clients, local, state = (TwoLayers(), TwoLayers(1)), Descent(2, 0.1), unequal()
    algorithm = NaiveFeDLRT(local, 2, Truncation(0.0), as_printed=True)
    found = one_round(algorithm.round, Federation(clients, shares=(3, 1)), state)
    first, second = (own_bases(client, Memory(), *state, local).upload for client in clients)
    S = 0.75 * first.S + 0.25 * second.S
    for name, expected in (first.U @ S @ first.V.T).items():
        torch.testing.assert_close((found.U @ found.S @ found.V.T)[name], expected)


def test_every_step_of_naive_fedlrt_has_the_rate_of_its_place():
    """At full rank, where truncation changes nothing, a second step of rate 0 or so leaves the first."""
    whole = factorise(Tree(W=torch.eye(4, 3).double()), 3)
    once = own_bases(TwoLayers(), Memory(), *whole, Descent(1, 0.1)).upload
    twice = own_bases(TwoLayers(), Memory(), *whole, Descent(2, Step(0.1, 1, 1e-100, "step"))).upload
    torch.testing.assert_close(product(twice)["W"], product(once)["W"])
    assert float((product(once)["W"] - torch.eye(4, 3)).abs().max()) > 0.1


def test_a_rank_falls_between_naive_steps_where_singular_values_are_0():
    """Coefficients of rank 1 in bases of 2, which no gradient changes: 1 direction is left, and then doubled."""
    U, _, V = factorise(Tree(W=torch.diag(torch.tensor([3.0, 1.0, 0.0])).double()), 2)
    flat = USV(U, Tree(W=torch.diag(torch.tensor([3.0, 0.0]).double())), V)
    sent = own_bases(Flat(), Memory(), *flat, Descent(2, 0.1)).upload
    assert tuple(sent.S["W"].shape) == (2, 2)


@dataclass(frozen=True)
class Flat:
    """A client whose loss is 0 everywhere."""

    samples: float = 1.0

    def loss(self, w, batch=None):
        return 0.0 * sum(part.sum() for part in w.values())


def test_a_tail_that_stays_as_it_is_is_not_pruned():
    """B is 0 at the start and stays so, and a tail has to shrink; half of a rank is kept, rounded down, at least 1."""
    w = Tree(V=torch.zeros(7, 3).double(), W=torch.zeros(4, 6).double())
    algorithm, fed = HetLoRA(Descent(1, 0.1), Adapter(3), (3, 1), decay=0.5), Federation([Flat(), Flat()])
    assert one_round(algorithm.round, fed, algorithm.start(fed, w)).ranks == (3, 1)
    assert [algorithm.kept(rank) for rank in (1, 2, 3, 4, 5)] == [1, 1, 1, 2, 2]
    assert 0.29 * 100 < 29
    assert HetLoRA(Descent(), Adapter(100), decay=0.29).kept(100) == 29


def test_an_accumulation_sends_the_factors_alone():
    """Rank 2 for a matrix 7 x 3, in double precision, to each of three clients; the rest of 5 went before."""
    w = Tree(V=torch.zeros(7, 3).double(), b=torch.zeros(5).double())
    for kind in (FedLoRU, FineTuneFedLoRU):
        fed, algorithm = Federation([TwoLayers(k) for k in range(3)]), kind(Descent(), Adapter(2, layers="V"), 1)
        one_round(algorithm.round, fed, algorithm.start(fed, w))
        (told,) = [entry for entry in fed.ledger.entries if entry.what == "tell" and entry.round == 1]
        assert (told.clients, told.bytes) == (3, 3 * 8 * 2 * (7 + 3))


@pytest.mark.parametrize(("split", "left", "right"), [("balanced", 1, 1), ("left", 2, 0), ("right", 0, 2)])
def test_singular_values_go_where_the_split_says(split, left, right):
    """A 3 x 4 matrix with the singular values 9, 4 and 1, of which two are kept: their powers are 1/2, 1 and 0."""
    W = torch.zeros(3, 4).double()
    W[0, 1], W[1, 3], W[2, 0] = 4.0, 9.0, -1.0
    found = best_factors(Tree(W=W), 2, split)
    kept = torch.where(W.abs() > 2.0, W, 0.0)
    torch.testing.assert_close((found.A @ found.B)["W"], kept)
    roots = torch.tensor([3.0, 2.0]).double()
    torch.testing.assert_close(torch.linalg.vector_norm(found.A["W"], dim=0), roots**left)
    torch.testing.assert_close(torch.linalg.vector_norm(found.B["W"], dim=1), roots**right)


def test_flexlora_keeps_the_rank_of_each_layer():
    class Given(Adapter):
        def rank_of(self, name):
            return {"V": 3, "W": 1}[name]

    w, fed = Tree(V=torch.zeros(7, 3).double(), W=torch.zeros(4, 6).double()), Federation([TwoLayers(), TwoLayers(1)])
    algorithm = FlexLoRA(Descent(1, 0.1), Given(2))
    factors = one_round(algorithm.round, fed, algorithm.start(fed, w)).factors
    assert {name: tuple(A.shape) for name, A in factors.A.items()} == {"V": (7, 3), "W": (4, 1)}
    assert {name: tuple(B.shape) for name, B in factors.B.items()} == {"V": (3, 3), "W": (1, 6)}


@pytest.mark.parametrize("averaged", [True, False])
def test_the_rest_of_fedsa_lora_is_averaged_or_stays_with_its_client(averaged):
    """Client k takes one step of rate 0.1 towards its b_k, from b to b + 0.2 (b_k - b); shares are 3 and 1."""
    clients, shares = (TwoLayers(), TwoLayers(1)), (3, 1)
    w, fed = Tree(V=torch.zeros(7, 3).double(), b=torch.ones(5).double()), Federation(clients, shares=shares)
    algorithm = FedSALoRA(Descent(1, 0.1), Adapter(2, layers="V"), average_rest=averaged)
    state = one_round(algorithm.round, fed, algorithm.start(fed, w))
    own = [w["b"] + 0.2 * (client.target(w["b"]) - w["b"]) for client in clients]
    mean = 0.75 * own[0] + 0.25 * own[1]
    torch.testing.assert_close(state.factors.rest["b"], mean if averaged else w["b"])
    for k in range(2):
        torch.testing.assert_close(algorithm.personal_weights(fed, state, k)["b"], mean if averaged else own[k])


@pytest.mark.parametrize("step", ["sign", "gradient"])
@pytest.mark.parametrize("scale", [1.0, -2.5])
def test_fed_sb_starts_with_the_first_step_at_any_scale(step, scale):
    """The best approximation of rank 1 of -0.3 G or of -0.3 sgn G; later rates of a schedule do not count."""
    w, fed = Tree(V=torch.zeros(3, 2).double()), Federation([TwoLayers(), TwoLayers(1)], shares=(3, 1))
    G = -2.0 * (0.75 * TwoLayers().target(w["V"]) + 0.25 * TwoLayers(1).target(w["V"]))
    U, sigma, Vh = torch.linalg.svd(-0.3 * (G.sign() if step == "sign" else G))
    expected = sigma[0] * U[:, :1] @ Vh[:1]
    for rate in (0.3, Step(0.3, 1, 0.5, "round"), Step(0.3, 1, 0.5, "step")):
        algorithm = FedSB(Descent(4, rate), Adapter(1, scale), first_step=step)
        torch.testing.assert_close(algorithm.weights(algorithm.start(fed, w))["V"], expected)
    given = FedSB(Descent(4, 0.1), Adapter(1, scale), first_step=step, first_rate=0.3)
    torch.testing.assert_close(given.weights(given.start(fed, w))["V"], expected)


def test_personal_factors_freeze_the_rest_only_with_the_shared_ones():
    for shared, personal in product_of(("trained", "frozen"), repeat=2):
        adapters = {"adapter": Adapter(1, rest=shared), "personal_adapter": Adapter(1, rest=personal)}
        if (shared, personal) == ("trained", "frozen"):
            with pytest.raises(FederationError, match="the rest belongs to the shared factors; freeze it there"):
                PersonalFedLoRU(Descent(), tau=1, **adapters)
        else:
            assert PersonalFedLoRU(Descent(), tau=1, **adapters).descents == (Descent(), Descent())
    assert [RoLoRA(Descent(7), Adapter(1), frozen_a=one).descents for one in (True, False)] == [
        (Descent(7),),
        (Descent(7), Descent(7)),
    ]


def test_ranks_of_all_layers_count_not_those_of_the_first():
    """Rank 5 is capped to 3 in V and to 4 in W; FLoRA stacks two clients, and a residual has one of them less."""
    w, adapter = Tree(V=torch.zeros(7, 3).double(), W=torch.zeros(4, 6).double()), Adapter(5, cap=True)
    merged = []
    for algorithm in (FLoRA(Descent(), adapter), FedExLoRA(Descent(), adapter)):
        fed = Federation([TwoLayers(), TwoLayers(1)])
        merged.append(one_round(algorithm.round, fed, algorithm.start(fed, w)).merged)
    assert merged == [8, 4]
    assert HetLoRA(Descent(), adapter).start(Federation([TwoLayers()]), w).ranks == (4,)
    assert FRLoRA(Descent(), Adapter(2)).merged_rank(FRLoRAState(w, AB(Tree(), Tree()), 3), "V") == 8
    state = FedLoRUState(w, AB(Tree(), Tree()), 7)
    assert FedLoRU(Descent(), Adapter(2), 3).merged_rank(state, "V") == 4


@pytest.mark.parametrize("ranks", [(1, 3), (3, 1)])
def test_every_clients_rank_has_to_fit(ranks):
    w, fed = Tree(V=torch.zeros(7, 3).double(), W=torch.zeros(2, 6).double()), Federation([TwoLayers(), TwoLayers(1)])
    for algorithm in (FLoRA(Descent(), Adapter(2), ranks=ranks), FedHM(Descent(), 2, ranks)):
        with pytest.raises(FederationError, match="rank 3 does not fit W"):
            algorithm.start(fed, w)


def test_flora_merges_given_factors_of_any_layer():
    """B is 1 in the first layer, in the second, in both, or in none."""
    w = Tree(V=torch.zeros(3, 2).double(), W=torch.zeros(2, 4).double())
    for which in ({"V"}, {"W"}, {"V", "W"}, set()):

        class Given(Adapter):
            def pair(self, w, turn=0, which=which):
                A, B, rest = super().pair(w, turn)
                ones = {name: torch.ones_like(part) if name in which else part for name, part in B.items()}
                return AB(A, Tree(ones), rest)

        state = FLoRA(Descent(), Given(1, 2.0)).start(Federation([TwoLayers()]), w)
        A = Adapter(1).pair(w).A
        for name in w:
            expected = 2.0 * A[name].expand(w[name].shape) if name in which else w[name]
            torch.testing.assert_close(state.base[name], expected)
        assert state.merged == (1 if which else 0)


def test_the_rank_of_a_round_is_the_largest_of_unequal_ones():
    class Problem:
        clients, shares, measures = (TwoLayers(), TwoLayers(1)), None, {}
        start = {"W": torch.eye(4, 3).double(), "V": torch.eye(5, 4).double()}  # noqa: RUF012

        def loss(self, w):
            return 0.0

    class Unequal(FeDLRT):
        def start(self, fed, w):
            return unequal()

        def round(self, fed, cohort, state):
            return type(state)(*(Tree(W=tree["V"], V=tree["W"]) for tree in state))  # in the other order

    found = rounds(Unequal(Descent(1, 0.1), 1), Problem(), rounds=1)
    assert [step.metrics["rank"] for step in found] == [2.0, 2.0]


def test_running_means_of_squares_follow_by_the_squares_of_the_turn():
    """The bases have 2 of 5 and 2 of 4 directions, neither equal nor orthogonal to each other."""
    generator = torch.Generator().manual_seed(2)
    bases = {
        side: [torch.linalg.qr(torch.randn(rows, 2, generator=generator).double())[0] for _ in range(2)]
        for side, rows in (("U", 5), ("V", 4))
    }
    first, second = (torch.randn(2, 2, generator=generator).double() for _ in range(2))
    (U, U_new), (V, V_new) = bases["U"], bases["V"]
    personal = {OPTIMISER: Moments([first], [second.square()], torch.tensor(3.0)), BASES: (Tree(W=U), Tree(W=V))}
    S = Tree(W=torch.eye(2).double())
    found = follow_bases(personal, TwoLayers(), S, Tree(W=U_new), Tree(W=V_new))[OPTIMISER]
    P, Q = U_new.T @ U, V_new.T @ V
    for i in range(2):
        for j in range(2):
            terms = [(P[i, k] * Q[j, m], k, m) for k in range(2) for m in range(2)]
            assert float(found.first[0][i, j]) == pytest.approx(sum(float(c * first[k, m]) for c, k, m in terms))
            squares = sum(float(c**2 * second[k, m] ** 2) for c, k, m in terms)
            assert float(found.second[0][i, j]) == pytest.approx(squares)
    assert float(found.steps) == 3.0
    assert isinstance(Adam().start([first]), Moments)


@pytest.mark.parametrize(("only_b", "trips"), [(False, 2), (True, 1)])
def test_exact_rolora_sends_a_and_b_once_each(only_b, trips):
    """The server sends a (5, 1) and receives b (1, 3); then it sends b and receives the gradient in a."""
    given = regression(5, 3, 2, np.random.default_rng(0))
    fed, algorithm = Federation(given.clients, shares=given.shares), ExactRoLoRA(0.1, only_b)
    one_round(algorithm.round, fed, algorithm.start(fed, Tree(given.start)))
    assert fed.ledger.trips(1) == trips
    assert (fed.ledger.count("down"), fed.ledger.count("up")) == ((2 * 5, 2 * 3) if only_b else (2 * 8, 2 * 8))


def test_a_cohort_has_at_most_16_partial_sums():
    """The last of them may have fewer clients than the others."""
    assert [part_size(clients) for clients in (1, 15, 16, 17, 32, 33)] == [1, 1, 1, 2, 2, 3]
