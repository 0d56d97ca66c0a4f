"""The ledger against a count by hand, bases where the gradient does not determine them, and bad input."""

import pytest
import torch
from test_reductions import EVERYTHING, close, problem, run

from algorithms.adapter import AB, Adapter
from algorithms.descent import Descent
from algorithms.fed_sb import FedSB
from algorithms.fedavg import FedAvg
from algorithms.federation import Federation, FederationError, Reply, Sequential
from algorithms.fedex_lora import FedExLoRA
from algorithms.fedlin import FedLin
from algorithms.fedlora import FedLoRA
from algorithms.fedloru import FedLoRU
from algorithms.fedlrt import FeDLRT
from algorithms.fedpara import FedPara, PersonalFedPara
from algorithms.fedprox import FedProx
from algorithms.fedsa_lora import FedSALoRA
from algorithms.ffa_lora import FFALoRA
from algorithms.flexlora import FlexLoRA
from algorithms.flora import FLoRA
from algorithms.frlora import FRLoRA
from algorithms.hetlora import HetLoRA
from algorithms.lora_fair import LoRAFair
from algorithms.low_rank import Truncation, augment, factorise, product, truncate
from algorithms.mfedloru import NestedFedLoRU
from algorithms.rbla import RBLA
from algorithms.rolora import RoLoRA, train_A, train_B
from algorithms.rounds import one_round
from algorithms.scaffold import Scaffold
from algorithms.tree import Tree
from algorithms.vmap import Vmap
from toymodels.quadratic import centred, quadratic_problem

LOCAL = Descent(2, 0.05)
m, n, r = 6, 5, 2
HAND = {  # entries per client in one round down and up, and exchanges
    "FedAvg": (FedAvg(LOCAL), m * n, m * n, 1),
    "FedLin": (FedLin(LOCAL), 2 * m * n, 2 * m * n, 2),
    "FeDLRT": (FeDLRT(LOCAL, r, EVERYTHING, "none"), 2 * (m + n) * r + r * r, (m + n) * r + 4 * r * r, 2),
    "FeDLRT, simplified": (
        FeDLRT(LOCAL, r, EVERYTHING, "simplified"),
        2 * (m + n) * r + 2 * r * r,
        (m + n) * r + 5 * r * r,
        2,
    ),
    "FeDLRT, full": (FeDLRT(LOCAL, r, EVERYTHING, "full"), 2 * (m + n) * r + 5 * r * r, (m + n) * r + 8 * r * r, 3),
    # 2r > n: the bases have m and n columns, so that the coefficients are as large as the weights.
    "FeDLRT, wide": (
        FeDLRT(LOCAL, 4, EVERYTHING, "none"),
        (m + n) * 4 + 16 + m * (m - 4) + n * (n - 4),
        (m + n) * 4 + m * n,
        2,
    ),
    "FedLoRA": (FedLoRA(LOCAL, Adapter(r)), (m + n) * r, (m + n) * r, 1),
    "FFA-LoRA": (FFALoRA(LOCAL, Adapter(r)), n * r, n * r, 1),
    "RoLoRA": (RoLoRA(LOCAL, Adapter(r)), (m + n) * r, (m + n) * r, 2),
    "FlexLoRA": (FlexLoRA(LOCAL, Adapter(r)), (m + n) * r, (m + n) * r, 1),
    "FedLoRU": (FedLoRU(LOCAL, Adapter(r), 9), (m + n) * r, (m + n) * r, 1),
    "FedLoRU, accumulating": (FedLoRU(LOCAL, Adapter(r), 1), 2 * (m + n) * r, (m + n) * r, 1),
    "FedProx": (FedProx(LOCAL), m * n, m * n, 1),
    "SCAFFOLD": (Scaffold(LOCAL), 2 * m * n, 2 * m * n, 1),
    "FedSA-LoRA": (FedSALoRA(LOCAL, Adapter(r)), m * r, m * r, 1),
    "FRLoRA": (FRLoRA(LOCAL, Adapter(r)), (m + n) * r, (m + n) * r, 1),
    "Fed-SB": (FedSB(LOCAL, Adapter(r)), r * r, r * r, 1),
    "FedPara": (FedPara(LOCAL, r), 2 * (m + n) * r, 2 * (m + n) * r, 1),
    "pFedPara": (PersonalFedPara(LOCAL, r), (m + n) * r, (m + n) * r, 1),
    "mFedLoRU": (NestedFedLoRU(LOCAL, Adapter(r), 9, ranks=((1, 1),) * 4), (m + n) * r, m + r + r + n, 1),
    "mFedLoRU, products": (
        NestedFedLoRU(LOCAL, Adapter(r), 9, ranks=((1, 1),) * 4, send_products=True),
        (m + n) * r,
        (m + n) * r,
        1,
    ),
    "FLoRA": (FLoRA(LOCAL, Adapter(r)), 4 * (m + n) * r, (m + n) * r, 1),
    "FedEx-LoRA": (FedExLoRA(LOCAL, Adapter(r)), (1 + 3) * (m + n) * r, (m + n) * r, 1),
    "FedEx-LoRA, dense": (FedExLoRA(LOCAL, Adapter(r), "dense"), (m + n) * r + m * n, (m + n) * r, 1),
    "FedEx-LoRA, truncated": (FedExLoRA(LOCAL, Adapter(r), residual_rank=1), (m + n) * (r + 1), (m + n) * r, 1),
    "RBLA": (RBLA(LOCAL, Adapter(r)), (m + n) * r, (m + n) * r, 1),
    "HetLoRA": (HetLoRA(LOCAL, Adapter(r)), (m + n) * r, (m + n) * r + 1, 2),
    "HetLoRA, fixed ranks": (HetLoRA(LOCAL, Adapter(r), decay=1.0), (m + n) * r, (m + n) * r, 1),
    "LoRA-FAIR": (LoRAFair(LOCAL, Adapter(r)), (m + n) * r, (m + n) * r, 1),
}


@pytest.mark.parametrize("name", HAND)
def test_the_ledger_equals_a_count_by_hand(name):
    algorithm, down, up, trips = HAND[name]
    _, fed, _ = run(algorithm, problem((m, n)), 1)
    assert fed.ledger.count("down", 1) == 4 * down
    assert fed.ledger.count("up", 1) == 4 * up
    assert fed.ledger.bytes(round=1) == 8 * 4 * (down + up)
    assert fed.ledger.trips(1) == trips
    start = m * n if "LoR" in name or name in ("Fed-SB", "RBLA") else 0
    start += {"FFA-LoRA": m * r, "RoLoRA": (m + n) * r, "Fed-SB": (m + n) * r}.get(name, 0)
    first = m * n if name == "Fed-SB" else 0
    assert fed.ledger.count("down", 0) == 4 * start
    assert fed.ledger.count("up", 0) == 4 * first
    assert (fed.ledger.bytes("down", 0), fed.ledger.bytes("up", 0)) == (8 * 4 * start, 8 * 4 * first)


def test_only_the_cohort_is_counted_but_everybody_accumulates():
    _, fed, _ = run(FedLoRU(LOCAL, Adapter(r), 1), problem((m, n)), 1, size=2)
    assert fed.ledger.count("up", 1) == 2 * (m + n) * r
    assert fed.ledger.count("down", 1) == (2 + 4) * (m + n) * r


def test_a_cohort_of_rolora_receives_what_it_may_lack_and_nobody_else_receives_anything():
    start, A, B = 4 * (m + n) * r, m * r, n * r
    for size, frozen_a, down in (
        (2, False, [2 * B, 2 * (A + B + B), 2 * (A + B + B)]),  # before the first round all know A and B
        (4, False, [4 * (B + A)] * 3),
        (2, True, [0, 2 * B, 2 * B]),
        (4, True, [4 * B] * 3),
    ):
        _, fed, _ = run(RoLoRA(LOCAL, Adapter(r), frozen_a), problem((m, n)), 3, size=size)
        assert fed.ledger.count("down", 0) == start + 4 * m * n
        assert [fed.ledger.count("down", number) for number in (1, 2, 3)] == down
        assert [fed.ledger.count("up", number) for number in (1, 2, 3)] == [size * (B + (0 if frozen_a else A))] * 3
        receivers = {entry.clients for entry in fed.ledger.entries if entry.round > 1 and entry.direction == "down"}
        assert receivers == {size}


class Broadcasting(RoLoRA):
    """RoLoRA that sends every mean to all clients, as if all took part."""

    def round(self, fed, cohort, state):
        A = state.factors.A
        B, rest = fed.mean(train_B, to=cohort, draw=self.local.draw, local=self.local, adapter=self.adapter)
        fed.broadcast(B=B, rest=rest)
        A, rest = fed.mean(train_A, to=cohort, draw=self.local.draw, local=self.local, adapter=self.adapter)
        fed.broadcast(A=A, rest=rest)
        return state._replace(factors=AB(A, B, rest))


@pytest.mark.parametrize("executor", [Sequential, Vmap])
def test_what_is_sent_to_whom_changes_no_bit_of_rolora(executor):
    given = problem((m, n))
    start = Tree(given.start)
    states, ledgers = [], []
    for kind in (RoLoRA, Broadcasting):
        algorithm = kind(LOCAL, Adapter(r))
        fed = Federation(given.clients, seed=3, executor=executor())
        state = algorithm.start(fed, start)
        for cohort in ([0, 2], [1, 2, 3], None, None, [3]):
            state = one_round(algorithm.round, fed, state, cohort)
        states.append(state.factors)
        ledgers.append(fed.ledger)
    for one, other in zip(states[0], states[1], strict=True):
        assert all(torch.equal(one[name], other[name]) for name in one)
    A, B = m * r, n * r
    assert [ledgers[0].count("down", number) for number in range(1, 6)] == [
        2 * B,
        3 * (A + B + B),
        4 * (A + B) + 4 * (B + A),  # all take part, some of whom lack the factors
        4 * (B + A),
        B,  # all know the factors
    ]


def test_frlora_tells_everybody_what_the_cohort_found():
    _, fed, _ = run(FRLoRA(LOCAL, Adapter(r)), problem((m, n)), 1, size=2)
    assert fed.ledger.count("up", 1) == 2 * (m + n) * r
    assert fed.ledger.count("down", 1) == 4 * (m + n) * r


def test_a_gradient_of_too_little_rank_widens_by_what_it_determines():
    generator = torch.Generator().manual_seed(0)
    U = torch.linalg.qr(torch.randn(7, 3, generator=generator).double())[0]
    G = U @ torch.randn(3, 3, generator=generator).double()
    G[:, 0] += torch.linspace(1, 2, 7)
    for completion, columns in (("orthogonal", 3), ("none", 1)):
        bar = augment(Tree(W=U), Tree(W=G), completion)["W"]
        assert bar.shape == (7, columns)
        torch.testing.assert_close(bar.T @ bar, torch.eye(columns).double())
        torch.testing.assert_close(U.T @ bar, torch.zeros(3, columns).double(), atol=1e-14, rtol=0)
        wide = torch.cat([U, bar], dim=1)
        torch.testing.assert_close(wide @ (wide.T @ G), G)
    assert augment(Tree(W=U), Tree(W=0.0 * G), "none")["W"].shape == (7, 0)
    # Orthogonal to rounding even if the gradient has almost no component outside U.
    bar = augment(Tree(W=U), Tree(W=U + 1e-9 * torch.outer(torch.linspace(1, 2, 7), torch.ones(3)).double()), "none")[
        "W"
    ]
    assert bar.shape == (7, 1)
    torch.testing.assert_close(U.T @ bar, torch.zeros(3, 1).double(), atol=1e-14, rtol=0)
    # Without a correction, the model after a round does not depend on how a basis is completed.
    target = torch.outer(torch.linspace(1, 2, 6), torch.linspace(-1, 1, 5)).double()
    given = quadratic_problem(
        "rank one", [centred(torch.eye(30), target)] * 2, torch.randn(6, 5, generator=generator).double()
    )
    both = [run(FeDLRT(LOCAL, 2, EVERYTHING, "full", completion), given, 2)[0] for completion in ("orthogonal", "none")]
    torch.testing.assert_close(*both, atol=1e-12, rtol=0)


@pytest.mark.parametrize(
    ("rule", "tau", "rank"),
    [("after", 0.1, 2), ("printed", 0.1, 3), ("after", 0.0, 3), ("after", 0.9, 1), ("printed", 0.0, 3)],
)
def test_truncation_keeps_the_least_rank_within_the_threshold(rule, tau, rank):
    S = Tree(W=torch.diag(torch.tensor([10.0, 1.5, 0.3, 0.0])).double())
    eye = Tree(W=torch.eye(4).double())
    kept = truncate(eye, S, eye, Truncation(tau, rule))
    assert kept.S["W"].shape == (rank, rank)
    left = S["W"] - product(kept)["W"]
    assert float(torch.linalg.vector_norm(left)) <= tau * float(torch.linalg.vector_norm(S["W"])) + 1e-14
    assert truncate(eye, S, eye, Truncation(tau, rule, most=1)).S["W"].shape == (1, 1)
    assert truncate(eye, S, eye, Truncation(tau, rule, least=4)).S["W"].shape == (4, 4)
    assert Truncation(0.85).rank(torch.ones(3)) == 1  # the tail, sqrt 2, is at most 0.85 times the norm, sqrt 3
    assert Truncation(5.0, least=1).rank(torch.tensor([2.0, 1.0])) == 1


def test_factorise_is_the_best_approximation():
    W = torch.randn(5, 3, generator=torch.Generator().manual_seed(1)).double()
    torch.testing.assert_close(product(factorise(Tree(W=W), 3))["W"], W)
    sigma = torch.linalg.svdvals(W)
    assert float(torch.linalg.vector_norm(W - product(factorise(Tree(W=W), 1))["W"])) == pytest.approx(
        float((sigma[1:] ** 2).sum().sqrt())
    )


@pytest.mark.parametrize("correction", ["none", "full", "simplified"])
@pytest.mark.parametrize("completion", ["orthogonal", "none"])
def test_bases_that_no_gradient_widens_travel_as_they_are(completion, correction):
    """The gradient of a flat loss is zero: both bases are unchanged, or completed to twice the rank."""
    target = torch.outer(torch.linspace(1, 2, m), torch.linspace(-1, 1, n)).double()
    given = quadratic_problem("flat", [centred(torch.zeros(m * n, m * n), target)], target)
    _, fed, state = run(FeDLRT(LOCAL, 1, EVERYTHING, correction, completion), given, 1)
    wide, extra = (2, (m + n)) if completion == "orthogonal" else (1, 0)
    last = [entry for entry in fed.ledger.entries if entry.what == "coefficient_descent"]
    assert last[-1].entries == wide * wide
    sent = [e.entries for e in fed.ledger.entries if e.direction == "down" and e.what != "factor_gradients"]
    assert sum(sent) == extra + {"none": 0, "full": wide * wide, "simplified": 1}[correction]
    close(product(state)["W"], target)


class Silent:
    samples = 0.0


def _work(client, memory, w):
    return Reply(upload=w)


BAD = {
    "no client": (lambda: Federation([]), "at least one client"),
    "no data": (lambda: Federation([Silent()]), "client 0 has no data"),
    "shares": (lambda: Federation(problem().clients, shares=[1.0]), "expected 4 finite shares"),
    "negative shares": (lambda: Federation(problem().clients, shares=[1, 1, 1, -1]), "at least 0"),
    "no share": (
        lambda: Federation(problem().clients, shares=[0, 0, 0, 0]).mean(_work, to=(0, 1), w=Tree()),
        r"the shares of the clients \[0, 1\] have sum 0",
    ),
    "cohort": (lambda: Federation(problem().clients).cohort(5), "between 1 and 4"),
    "rank of the matrix": (lambda: run(FeDLRT(LOCAL, 5), problem(), 1), r"rank 5 does not fit W of shape \(6, 4\)"),
    "rank of the adapter": (lambda: run(FedLoRA(LOCAL, Adapter(5)), problem(), 1), "rank 5 does not fit W"),
    "rank 0": (lambda: run(FeDLRT(LOCAL, 2, Truncation(1.5)), problem(), 1), "layer W: tau = 1.5 leaves rank 0"),
    "diverging": (lambda: run(FedAvg(Descent(40, 1e12)), problem(), 40), "round .*, client 0: .*non-finite"),
    "steps": (lambda: Descent(0, 0.1), "steps must be a whole number of at least 1"),
    "correction": (lambda: FeDLRT(LOCAL, 2, correction="half"), "correction must be one of"),
    "tau": (lambda: FedLoRU(LOCAL, Adapter(1), 0), "tau must be a whole number of at least 1"),
    "split": (lambda: FlexLoRA(LOCAL, Adapter(1), split="top"), "split must be one of"),
    "truncation": (lambda: Truncation(-1.0), "tau >= 0"),
    "nested ranks": (lambda: run(NestedFedLoRU(LOCAL, Adapter(2), 2), problem(), 1), "a rank for each of 4 clients"),
    "stacking": (
        lambda: (
            run(FedAvg(LOCAL), problem(), 1, executor=Vmap())
            and Federation([*problem().clients, *problem((3, 3)).clients], executor=Vmap()).mean(
                _work, to=(0, 5), w=Tree(W=torch.zeros(1))
            )
        ),
        "differ in shape",
    ),
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", BAD)
def test_bad_input_gets_one_clear_line(name):
    action, message = BAD[name]
    with pytest.raises(FederationError, match=message) as caught:
        action()
    assert "\n" not in str(caught.value)
