"""Algorithms with orthonormal bases against their boxes on full matrices, where no basis is chosen.

Only the product W = U S V^T enters: the columns of [U | grad_U] span those of [W | G W^T], since grad_U = G V S^T and
V S^T = W^T U; a step in the coefficients of wide bases is W - rate P G Q with the projections P and Q on their spans.
"""

import by_hand
import numpy as np
import pytest
import torch
from test_by_hand import RATE, Written, clients, federation, models
from written_federation import Knowing, Samples, tensor

from algorithms.adapter import Adapter
from algorithms.descent import Descent
from algorithms.exact_rolora import ExactRoLoRA
from algorithms.fed_sb import FedSB
from algorithms.federation import Federation, Memory, Sequential
from algorithms.fedhm import FedHM
from algorithms.fedlrt import FeDLRT
from algorithms.fedlrt_naive import NaiveFeDLRT, own_bases
from algorithms.flexlora import SPLITS, FlexLoRA
from algorithms.frlora import FRLoRA
from algorithms.low_rank import Truncation
from algorithms.rounds import one_round
from algorithms.tree import Tree
from algorithms.vmap import Vmap

W0 = np.array([[float(entry) for entry in row] for row in by_hand.W0])
SHARES = np.array(by_hand.SHARES, dtype=float)
KEEP = {"everything": Truncation(0.0), "some": Truncation(0.2), "at most 1": Truncation(0.0, most=1)}


def slope(k, W, batch=range(3)):
    D, y = np.array(by_hand.D[k], dtype=float), np.array(by_hand.Y[k], dtype=float)
    return np.mean([((D[i] * W).sum() - y[i]) * D[i] for i in batch], axis=0)


def mean(cohort, uploads):
    return np.average(uploads, axis=0, weights=SHARES[list(cohort)])


def onto(*columns):
    """Return the projection onto the span of columns."""
    return (whole := np.hstack(columns)) @ np.linalg.pinv(whole, rcond=1e-10)


def best(W, rank):
    U, sigma, Vh = np.linalg.svd(W)
    return (U[:, :rank] * sigma[:rank]) @ Vh[:rank]


def cut(W, keep):
    """Truncate W to the smallest rank whose tail has norm at most tau times the norm of W, at most `keep.most`."""
    sigma = np.linalg.svd(W, compute_uv=False)
    tails = [np.sqrt((sigma[r:] ** 2).sum()) for r in range(len(sigma) + 1)]
    rank = next(r for r, tail in enumerate(tails) if tail <= max(keep.tau, 1e-14) * tails[0])
    return best(W, min(rank, keep.most or rank))


def fedlrt(rank, keep, correction, batch):
    W, found = best(W0, rank), []
    for number, cohort in by_hand.rounds():
        G = {k: slope(k, W) for k in cohort}
        whole = mean(cohort, list(G.values()))
        P, Q = onto(W, whole @ W.T), onto(W.T, whole.T @ W)
        old_P, old_Q, trip = onto(W), onto(W.T), 3 if correction == "full" else 2
        uploads = []
        for k in cohort:
            V = {"none": 0 * W, "full": whole - G[k], "simplified": old_P @ (whole - G[k]) @ old_Q}[correction]
            w = W
            for chosen in by_hand.Draws(number, trip, k).steps(by_hand.STEPS, batch):
                w = w - RATE * P @ (slope(k, w, chosen) + V) @ Q
            uploads.append(w)
        W = cut(mean(cohort, uploads), keep)
        found.append(W)
    return found


def naive(rank, keep, batch):
    W, found = best(W0, rank), []
    for number, cohort in by_hand.rounds():
        uploads, most = [], np.linalg.matrix_rank(W, 1e-10)
        for k in cohort:
            w = W
            for step, chosen in enumerate(by_hand.Draws(number, 1, k).steps(by_hand.STEPS, batch)):
                w = best(w, most) if step else w
                G = slope(k, w, chosen)
                w = w - RATE * onto(w, G @ w.T) @ G @ onto(w.T, G.T @ w)
            uploads.append(w)
        W = cut(mean(cohort, uploads), keep)
        found.append(W)
    return found


def flexlora(rank, split, batch):
    alpha, found = float(by_hand.ALPHA), []
    A, B = (tensor(part).numpy() for part in by_hand.factors(rank))
    for number, cohort in by_hand.rounds():
        uploads = []
        for k in cohort:
            a, b = A, B
            for chosen in by_hand.Draws(number, 1, k).steps(by_hand.STEPS, batch):
                G = slope(k, W0 + alpha * a @ b, chosen)
                a, b = a - RATE * alpha * G @ b.T, b - RATE * alpha * a.T @ G
            uploads.append(a @ b)
        U, sigma, Vh = np.linalg.svd(mean(cohort, uploads))
        left, right = {"balanced": (0.5, 0.5), "left": (1, 0), "right": (0, 1)}[split]
        A, B = U[:, :rank] * sigma[:rank] ** left, (sigma[:rank] ** right)[:, None] * Vh[:rank]
        found.append(W0 + alpha * A @ B)
    return found


def fedhm(ranks, batch):
    found, W = [], W0
    for number, cohort in by_hand.rounds():
        U, sigma, Vh = np.linalg.svd(W)
        uploads = []
        for k in cohort:
            r = ranks[k]
            a, b = U[:, :r] * sigma[:r] ** 0.5, sigma[:r, None] ** 0.5 * Vh[:r]
            for chosen in by_hand.Draws(number, 1, k).steps(by_hand.STEPS, batch):
                G = slope(k, a @ b, chosen)
                a, b = a - RATE * G @ b.T, b - RATE * a.T @ G
            uploads.append(a @ b)
        W = mean(cohort, uploads)
        found.append(W)
    return found


def fed_sb(rank, batch):
    """Steps in R are steps in W between the projections on the columns of A and the rows of B."""
    alpha, found = float(by_hand.ALPHA), []
    U, sigma, Vh = np.linalg.svd(-RATE * mean(range(3), [slope(k, W0) for k in range(3)]))
    P, Q = U[:, :rank] @ U[:, :rank].T, Vh[:rank].T @ Vh[:rank]
    W = W0 + (U[:, :rank] * sigma[:rank]) @ Vh[:rank]
    for number, cohort in by_hand.rounds():
        uploads = []
        for k in cohort:
            w = W
            for chosen in by_hand.Draws(number, 1, k).steps(by_hand.STEPS, batch):
                w = w - RATE * alpha**2 * P @ slope(k, w, chosen) @ Q
            uploads.append(w)
        W = mean(cohort, uploads)
        found.append(W)
    return found


def frlora(rank, batch):
    alpha, found, W = float(by_hand.ALPHA), [], W0
    U, sigma, Vh = np.linalg.svd(W0)
    A, B = U[:, :rank] * (sigma[:rank] / alpha) ** 0.5, (sigma[:rank] / alpha)[:, None] ** 0.5 * Vh[:rank]
    for number, cohort in by_hand.rounds():
        uploads = []
        for k in cohort:
            a, b = A, B
            for chosen in by_hand.Draws(number, 1, k).steps(by_hand.STEPS, batch):
                G = slope(k, W + alpha * (a @ b - A @ B), chosen)
                a, b = a - RATE * alpha * G @ b.T, b - RATE * alpha * a.T @ G
            uploads.append((a, b))
        a, b = (mean(cohort, list(factors)) for factors in zip(*uploads, strict=True))
        W = W + alpha * (a @ b - A @ B)
        found.append(W)
    return found


def agree(found, expected):
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one.numpy(), other, atol=1e-12, rtol=1e-12)


@pytest.mark.parametrize("batch", [None, 1])
@pytest.mark.parametrize(("executor", "kind"), [(Sequential, Samples), (Sequential, Knowing), (Vmap, Samples)])
@pytest.mark.parametrize("rank", [1, 2])
@pytest.mark.parametrize("keep", KEEP)
@pytest.mark.parametrize("correction", ["none", "full", "simplified"])
def test_fedlrt_is_its_box(correction, keep, rank, executor, kind, batch):
    algorithm = FeDLRT(Descent(by_hand.STEPS, RATE, batch), rank, KEEP[keep], correction)
    agree(models(algorithm, federation(kind, executor()))[0], fedlrt(rank, KEEP[keep], correction, batch))


@pytest.mark.parametrize("rank", [1, 2])
@pytest.mark.parametrize("keep", KEEP)
@pytest.mark.parametrize("batch", [None, 1])
def test_naive_fedlrt_is_its_text(keep, rank, batch):
    algorithm = NaiveFeDLRT(Descent(by_hand.STEPS, RATE, batch), rank, KEEP[keep])
    agree(models(algorithm, federation())[0], naive(rank, KEEP[keep], batch))


def test_naive_fedlrt_as_printed_puts_the_mean_coefficients_in_the_first_clients_bases():
    local = Descent(by_hand.STEPS, RATE)
    algorithm, fed = NaiveFeDLRT(local, 1, KEEP["everything"], as_printed=True), federation()
    state = algorithm.start(fed, Tree(W=torch.from_numpy(W0)))
    for cohort in by_hand.COHORTS:
        sent = [own_bases(clients()[k], Memory(), *state, local).upload for k in cohort]
        S = mean(cohort, [upload.S["W"].numpy() for upload in sent])
        state = one_round(algorithm.round, fed, state, cohort)
        expected = sent[0].U["W"].numpy() @ S @ sent[0].V["W"].numpy().T
        np.testing.assert_allclose(algorithm.weights(state)["W"].numpy(), expected, atol=1e-13)


@pytest.mark.parametrize("batch", [None, 1])
@pytest.mark.parametrize(("executor", "kind"), [(Sequential, Samples), (Sequential, Knowing), (Vmap, Samples)])
@pytest.mark.parametrize("rank", [1, 2])
@pytest.mark.parametrize("split", SPLITS)
def test_flexlora_is_its_box(split, rank, executor, kind, batch):
    algorithm = FlexLoRA(Descent(by_hand.STEPS, RATE, batch), Written(rank, float(by_hand.ALPHA)), split)
    agree(models(algorithm, federation(kind, executor()))[0], flexlora(rank, split, batch))


@pytest.mark.parametrize("batch", [None, 1])
@pytest.mark.parametrize("kind", [Samples, Knowing])
@pytest.mark.parametrize("ranks", [(1, 1, 1), (2, 2, 2), (1, 2, 1)])
def test_fedhm_is_its_loop(ranks, kind, batch):
    local = Descent(by_hand.STEPS, RATE, batch)
    for algorithm in [FedHM(local, 1, ranks), *([FedHM(local, ranks[0])] if len({*ranks}) == 1 else [])]:
        agree(models(algorithm, federation(kind))[0], fedhm(ranks, batch))


@pytest.mark.parametrize("batch", [None, 1])
@pytest.mark.parametrize(("executor", "kind"), [(Sequential, Samples), (Sequential, Knowing), (Vmap, Samples)])
@pytest.mark.parametrize("rank", [1, 2])
@pytest.mark.parametrize("a_at", [None, "inputs"])
def test_fed_sb_and_frlora_are_their_boxes(a_at, rank, executor, kind, batch):
    local, adapter = Descent(by_hand.STEPS, RATE, batch), Adapter(rank, float(by_hand.ALPHA), a_at=a_at)
    agree(models(FedSB(local, adapter, "gradient"), federation(kind, executor()))[0], fed_sb(rank, batch))
    agree(models(FRLoRA(local, adapter), federation(kind, executor()))[0], frlora(rank, batch))


@pytest.mark.parametrize("a_at", [None, "inputs"])
@pytest.mark.parametrize(("first_step", "rate"), [("sign", None), ("sign", 0.75), ("gradient", 0.5)])
def test_fed_sb_starts_with_the_best_approximation_of_the_first_step(first_step, rate, a_at):
    G = np.random.default_rng(5).standard_normal((9, 7))  # large enough for signs with distinct singular values
    algorithm = FedSB(Descent(1, 0.25), Adapter(2, -1.5, a_at=a_at), first_step, rate)
    A, R, B = (part["W"] for part in algorithm.first_factors(Tree(W=torch.from_numpy(G))))
    update = (-1.5 * A @ R @ B).numpy()
    step = -(0.25 if rate is None else rate) * (np.sign(G) if first_step == "sign" else G)
    np.testing.assert_allclose(update.T if a_at == "inputs" else update, best(step, 2), atol=1e-14)
    for columns in (A, B.mT):
        torch.testing.assert_close(columns.mT @ columns, torch.eye(2).double())
    assert not (R - torch.diag(R.diag())).any()


class OnData:
    """A regressor on data: the mean over samples of |x (W* - W)|^2, and its best b by least squares."""

    def __init__(self, X, target):
        self.X, self.target, self.samples = X, target, float(len(X))

    def loss(self, w, batch=None):
        return ((self.X @ (self.target - w["W"])) ** 2).sum() / len(self.X)

    def best_b(self, a):
        return type(a)({"W": torch.linalg.lstsq(self.X @ a["W"], self.X @ self.target).solution})


@pytest.mark.parametrize("frozen", [False, True])
def test_exact_rolora_is_its_box(frozen):
    """b_i = |X_i a|^-2 a^T X_i^T X_i W_i*; then a - eta mean 2 X_i^T X_i (a b - W_i*) b^T / m_i, normalised."""
    rng = np.random.default_rng(3)
    data = [(rng.standard_normal((m, 4)), rng.standard_normal((4, 3))) for m in (5, 7, 9)]
    fed = Federation([OnData(*map(torch.from_numpy, one)) for one in data], shares=by_hand.SHARES)
    algorithm, start = ExactRoLoRA(0.05, frozen), rng.standard_normal((4, 3))
    state, a = algorithm.start(fed, Tree(W=torch.from_numpy(start))), np.linalg.svd(start)[0][:, 0]
    for cohort in by_hand.COHORTS:
        state = one_round(algorithm.round, fed, state, cohort)
        b = mean(cohort, [(X @ a) @ X @ target / ((X @ a) ** 2).sum() for X, target in (data[k] for k in cohort)])
        before = a
        if not frozen:
            slopes = [2 * X.T @ X @ (np.outer(a, b) - target) @ b / len(X) for X, target in (data[k] for k in cohort)]
            stepped = a - 0.05 * mean(cohort, slopes)
            a = stepped / np.linalg.norm(stepped)
        np.testing.assert_allclose(algorithm.weights(state)["W"].numpy(), np.outer(a, b), atol=1e-12)
        assert frozen or np.abs(a - before).max() > 1e-3
