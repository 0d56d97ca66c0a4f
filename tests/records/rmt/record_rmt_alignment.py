"""Records of two clients of one model: predicted cosines, draws, and what is refused."""

from functools import cache

import numpy as np
from recording import refused

from rmt import ClientGradients, MarchenkoPastur, SpikedModel, TwoClients, alignment_by_rank, draw_two_clients
from rmt.alignment import _corner, _root, _uniform_row, mean_cosine, outlier_slopes

MODEL = SpikedModel((4.0, 2.0, 0.5, -3.0), scale=0.8)
GRADIENTS = ClientGradients((1.0, -2.0, 3.0, 0.5), elsewhere=0.7, noise_square=0.3)
SHIFTED = SpikedModel((3.0, -0.5), MarchenkoPastur(0.5), 1.0)


@cache
def _clients(seed=0, rank=3):
    return draw_two_clients(MODEL, 60, np.random.default_rng(seed), rank)


def _given():
    """Return clients whose eigenvectors are written out, so that no sign is free."""
    towards = np.array(
        [[[0.9, 0.1, 0.0, 0.2], [-0.2, -0.7, 0.1, 0.3]], [[-0.8, 0.2, 0.1, 0.1], [0.1, 0.6, -0.2, -0.7]]]
    )
    elsewhere, inner = np.array([[0.1, -0.2], [0.3, 0.4]]), np.array([[-0.6, 0.2], [0.1, 0.5]])
    return TwoClients(MODEL, 60, np.array([[4.1, -3.0], [4.0, 2.5]]), towards, elsewhere, inner)


def mean_cosines():
    for rank in (1, 2, 7, 10_000, 10_001, 10**6):
        yield [
            mean_cosine(rank, signal) for signal in (0.0, 0.3, 1.0, 20.0, 999.0 * rank**0.5, 1001.0 * rank**0.5, np.inf)
        ]


def mean_cosines_close_to_1():
    for rank in (2, 5, 50, 20_000):
        root = rank**0.5
        yield [(1.0 - mean_cosine(rank, factor * root)) * factor**2 for factor in (30.0, 900.0, 1001.0, 1100.0, 3e3)]


def mean_cosines_that_are_refused():
    for rank, signal in ((0, 1.0), (1.5, 1.0), (1, -1e-9), (1, np.nan), ("a", 1.0), (1, "a"), (0.5, 1.0)):
        yield refused(mean_cosine, rank, signal)


def slopes_of_outliers():
    yield outlier_slopes(MODEL, GRADIENTS), outlier_slopes(SHIFTED, ClientGradients((1.0, -2.0)))
    yield refused(outlier_slopes, MODEL, ClientGradients((1.0,)))


def alignments_by_rank():
    for noise in (0.0, 0.3, 5.0):
        gradients = ClientGradients(GRADIENTS.along, 0.7, noise)
        yield alignment_by_rank(MODEL, gradients, (1, 2, 3, 4, 20)), alignment_by_rank(MODEL, gradients, ())
    yield alignment_by_rank(SHIFTED, ClientGradients((1.0, -2.0), 0.0, 0.1), [1, 2.0, 30])
    yield alignment_by_rank(MODEL, ClientGradients((0.0,) * 4, 1.0, 0.2), (1, 3))


def alignments_that_are_refused():
    for ranks in ((0,), (1.5,), 3, ("a",), (2, -1)):
        yield refused(alignment_by_rank, MODEL, GRADIENTS, ranks)
    even = SpikedModel((3.0, -3.0, 2.0))
    yield [refused(alignment_by_rank, even, ClientGradients((1.0, 1.0, 2.0)), (rank,)) for rank in (1, 2, 3)]
    yield refused(alignment_by_rank, MODEL, ClientGradients((0.0, 0.0, 1.0, 0.0)), (2,))
    yield refused(alignment_by_rank, MODEL, ClientGradients((1.0,)), (1,))


def gradients_that_are_refused():
    for along, rest in (
        ((1.0, np.inf), {}),
        (1.0, {}),
        ((1.0,), {"noise_square": -1e-9}),
        ((1.0,), {"elsewhere": np.nan}),
    ):
        yield refused(ClientGradients, along, **rest)
    yield refused(ClientGradients, (1.0,), "a"), ClientGradients([1, 2], 3)


def drawn_clients():
    for seed in (0, 1):
        one = _clients(seed).oriented()
        yield one.values, np.abs(one.towards), np.abs(one.inner).shape, one.R


def lengths_of_drawn_eigenvectors():
    one = _clients()
    return (one.towards**2).sum(axis=2) <= 1.0, np.abs(one.inner).max() <= 1.0, np.abs(one.elsewhere).max() <= 1.0


def clients_that_are_turned():
    return [getattr(_given().oriented(), name) for name in ("towards", "elsewhere", "inner", "values")]


def slopes_of_clients():
    for seed in (0, 1):
        slopes = _given().slopes(GRADIENTS, np.random.default_rng(seed), 3)
        yield slopes, _given().products(slopes), _given().norms(slopes), _given().cosines(slopes)
    yield _given().slopes(GRADIENTS, np.random.default_rng(0)).shape
    yield [refused(_given().slopes, GRADIENTS, np.random.default_rng(0), samples) for samples in (0, 1.5, -1)]
    yield refused(_given().slopes, ClientGradients((1.0,)), np.random.default_rng(0))


def cosines_of_a_gradient_that_vanishes():
    slopes = np.array([[[0.0, 2.0]], [[1.0, -1.0]]])
    return _given().cosines(slopes), _given().products(slopes), _given().norms(slopes)


def clients_that_are_refused():
    rng = np.random.default_rng(0)
    for R, rank in ((11, 3), (12, 3), (60, 0), (60, 1.5), (60.5, 2), (60, "a"), (9, 2)):
        found = refused(draw_two_clients, MODEL, R, rng, rank)
        yield found if isinstance(found, str) else found.R
    yield refused(draw_two_clients, SHIFTED, 60, rng, 1)


def uniform_rows_and_corners():
    for seed in (0, 1):
        yield _uniform_row(20, 3, np.random.default_rng(seed)), _corner(20, 3, np.random.default_rng(seed))
    yield _root(np.array([[2.0, 1.0], [1.0, 3.0]])), _root(np.diag([-1e-17, 4.0]))
