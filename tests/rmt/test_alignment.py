"""Alignment of two clients: the exact sampler against dense matrices, the limit against the sampler and by hand."""

import mpmath
import numpy as np
import pytest
from scipy.special import erf

from rmt import (
    ClientGradients,
    MarchenkoPastur,
    Semicircle,
    SpikedModel,
    TwoClients,
    alignment_by_rank,
    draw_two_clients,
)
from rmt.alignment import mean_cosine, outlier_slopes

MODEL = SpikedModel((3.0, 2.0, -1.5), Semicircle(2.0), 0.5)
GRADIENTS = ClientGradients((1.0, 0.5, 2.0), elsewhere=0.3, noise_square=1.0)


def dense_cosines(rng, R, draws, samples, rank):
    """Return the definition, with eigenvectors of dense matrices and gradients as vectors."""
    found = []
    for _ in range(draws):
        frames, parts = [], []
        for _ in range(2):
            square = rng.standard_normal((R, R))
            hessian = (square + square.T) / np.sqrt(2 * R)
            hessian[range(3), range(3)] += MODEL.spikes
            values, vectors = np.linalg.eigh(hessian)
            frames.append(vectors[:, np.argsort(-np.abs(values))[:rank]])
            common = np.zeros(R)
            common[:3], common[3] = GRADIENTS.along, GRADIENTS.elsewhere
            gradients = common + np.sqrt(GRADIENTS.noise_square) * rng.standard_normal((samples, R))
            parts.append(gradients @ frames[-1])
        cosines = []
        for r in range(1, rank + 1):
            first, second = (part[:, :r] @ frame[:, :r].T for part, frame in zip(parts, frames, strict=True))
            norms = np.linalg.norm(first, axis=1) * np.linalg.norm(second, axis=1)
            cosines.append(float(np.mean((first * second).sum(axis=1) / norms)))
        found.append(cosines)
    return np.array(found)


@pytest.mark.slow
def test_the_sampler_has_the_law_of_two_dense_clients():
    rng, R, rank, draws = np.random.default_rng(0), 100, 5, 300
    dense = dense_cosines(rng, R, draws, 30, rank)
    clients = [draw_two_clients(MODEL, R, rng, rank) for _ in range(draws)]
    drawn = np.array([c.cosines(c.slopes(GRADIENTS, rng, 30)) for c in clients])
    error = np.sqrt((dense.var(axis=0) + drawn.var(axis=0)) / draws)
    assert np.all(np.abs(dense.mean(axis=0) - drawn.mean(axis=0)) < 5 * error)


def test_frames_are_consistent():
    clients = draw_two_clients(MODEL, 50, np.random.default_rng(1), 6).oriented()
    assert clients.inner.shape == (6, 6)
    assert np.abs(np.linalg.svd(clients.inner, compute_uv=False)).max() < 1.0
    assert np.all(np.abs(clients.values[:, 0]) >= np.abs(clients.values[:, 1]))
    nearest = np.abs(clients.towards).argmax(axis=2)
    assert np.all(np.take_along_axis(clients.towards, nearest[..., None], axis=2) >= 0)


def test_gradients_lie_along_the_spikes_unless_told():
    assert ClientGradients((1.0, 2.0)) == ClientGradients((1.0, 2.0), elsewhere=0.0, noise_square=0.0)
    clients = draw_two_clients(SpikedModel((3.0,)), 60, np.random.default_rng(1), 2)
    slopes = clients.slopes(ClientGradients((2.0,)), np.random.default_rng(0), 3)
    np.testing.assert_allclose(slopes, np.repeat(2.0 * clients.towards[..., 0][:, None, :], 3, axis=1))


def test_orientation_changes_no_cosine():
    clients, rng = draw_two_clients(MODEL, 200, np.random.default_rng(2), 4), np.random.default_rng(3)
    plain = ClientGradients(GRADIENTS.along, GRADIENTS.elsewhere)
    turned = clients.oriented()
    np.testing.assert_allclose(clients.cosines(clients.slopes(plain, rng)), turned.cosines(turned.slopes(plain, rng)))


@pytest.mark.sample(1)
@pytest.mark.parametrize("noise_square", [0.0, 0.25, 1.0])
def test_the_limit_is_that_of_large_dimensions(noise_square):
    rng, ranks = np.random.default_rng(4), range(1, 6)
    gradients = ClientGradients(GRADIENTS.along, 0.3, noise_square)
    found = []
    for _ in range(40):
        clients = draw_two_clients(MODEL, 10**5, rng, 5)
        found.append(clients.cosines(clients.slopes(gradients, rng, 1000)))
    predicted = alignment_by_rank(MODEL, gradients, ranks)
    error = np.std(found, axis=0) / np.sqrt(len(found))
    assert np.all(np.abs(np.mean(found, axis=0) - predicted) < 6 * error + 1e-3)


def test_products_and_norms_make_the_cosine_of_one_sample():
    clients, rng = draw_two_clients(MODEL, 200, np.random.default_rng(6), 4), np.random.default_rng(7)
    slopes = clients.slopes(GRADIENTS, rng)
    own, cross = clients.products(slopes)
    np.testing.assert_allclose((own + cross) / clients.norms(slopes), clients.cosines(slopes))
    assert cross[0] == pytest.approx(0.0, abs=1e-15)


def test_without_own_errors_it_is_a_weighted_mean_of_overlaps():
    cosines = alignment_by_rank(MODEL, ClientGradients((1.0, 0.5, 2.0)), (1, 2, 3, 50))
    overlaps = np.array([8 / 9, 3 / 4, 1 - 1 / 1.5**2])
    slopes = overlaps * np.array([1.0, 0.25, 4.0])
    by_hand = [(slopes[:r] @ overlaps[:r]) / slopes[:r].sum() for r in (1, 2, 3, 3)]
    assert cosines == pytest.approx(by_hand)
    assert outlier_slopes(MODEL, ClientGradients((1.0, 0.5, 2.0)))[1] == pytest.approx(overlaps)


@pytest.mark.parametrize(("rank", "signal"), [(1, 0.3), (2, 1.0), (5, 4.0), (40, 30.0)])
def test_mean_cosine_against_draws(rank, signal):
    draws = np.random.default_rng(5).standard_normal((200_000, rank))
    draws[:, 0] += signal
    cosines = draws[:, 0] / np.linalg.norm(draws, axis=1)
    assert abs(cosines.mean() - mean_cosine(rank, signal)) < 6 * cosines.std() / np.sqrt(len(draws)) + 1e-9


def test_mean_cosine_is_continuous_where_the_series_ends():
    assert mean_cosine(3, 1731.0) == pytest.approx(mean_cosine(3, 1733.0), abs=1e-9)
    assert mean_cosine(4, 0.0) == 0.0


def test_bad_requests_are_one_line():
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="expected 3 components, one per spike, got 1"):
        alignment_by_rank(MODEL, ClientGradients((1.0,)), (1,))
    with pytest.raises(ValueError, match="expected 3 components"):
        draw_two_clients(MODEL, 100, rng, 2).slopes(ClientGradients((1.0,)), rng)
    with pytest.raises(ValueError, match="noise square of at least 0"):
        ClientGradients((1.0,), noise_square=-1.0)
    with pytest.raises(ValueError, match="a rank must be at least 1, got 0"):
        alignment_by_rank(MODEL, GRADIENTS, (0,))
    with pytest.raises(ValueError, match="no component within rank 1"):
        alignment_by_rank(MODEL, ClientGradients((0.0, 1.0, 1.0)), (1,))
    own = ClientGradients((0.0, 1.0, 1.0), noise_square=0.5)  # errors of the clients alone have no angle in common
    assert alignment_by_rank(MODEL, own, (1, 2)) == (0.0, alignment_by_rank(MODEL, own, (2,))[0])
    with pytest.raises(ValueError, match="between two outliers of equal modulus"):
        alignment_by_rank(SpikedModel((3.0, -3.0)), ClientGradients((1.0, 1.0)), (1,))
    for rank, R in ((5, 10), (5, 14), (0, 50), (-1, 50)):
        with pytest.raises(ValueError, match=f"2 rank \\+ spikes \\+ 2 <= R, got rank {rank}, 3 spikes, R = {R}"):
            draw_two_clients(MODEL, R, rng, rank)
    assert draw_two_clients(MODEL, 15, rng, 5).inner.shape == (5, 5)


@pytest.mark.parametrize("spike", [1.0005, 1.1, -1.0005, -1.1])
def test_an_outlier_just_beyond_the_bulk_counts(spike):
    """It lies at t + 1/t, beyond the edge at 2, and has the overlap 1 - 1/t^2; at the edge there is none."""
    assert alignment_by_rank(SpikedModel((spike,)), ClientGradients((1.0,)), (1,)) == pytest.approx((1 - spike**-2,))
    with pytest.raises(ValueError, match="no component within rank 1"):
        alignment_by_rank(SpikedModel((spike / abs(spike),)), ClientGradients((1.0,)), (1,))


def test_two_uniform_directions_of_few_dimensions():
    """Without spikes both first eigenvectors are uniform: squared inner products of mean 1/R, fourth powers 3/(R(R+2)).

    The smallest dimension is 4; 1,200 draws, within 4 standard errors.
    """
    rng = np.random.default_rng(0)
    drawn = [draw_two_clients(SpikedModel(), 4, rng, 1) for _ in range(1200)]
    for sample in (
        np.array([clients.inner[0, 0] for clients in drawn]),
        *np.array([c.elsewhere[:, 0] for c in drawn]).T,
    ):
        for power, mean in ((2, 1 / 4), (4, 1 / 8)):
            error = (sample**power).std() / len(sample) ** 0.5
            assert abs((sample**power).mean() - mean) < 4 * error


@pytest.mark.sample(1)
@pytest.mark.parametrize(("spikes", "rank", "R"), [((2.0,), 1, 5), ((3.0, -2.0), 2, 8), ((), 2, 6)])
def test_the_smallest_frames_have_the_moments_of_uniform_ones(spikes, rank, R):
    """The rest of a unit vector outside the spikes is spread evenly over the other R - k directions of a client."""
    rng, others = np.random.default_rng(R), R - len(spikes)
    found = {name: [] for name in ("elsewhere", "inner", "both", "orthogonal")}
    for _ in range(600):
        clients = draw_two_clients(SpikedModel(spikes, Semicircle(1.0, -0.5)), R, rng, rank)
        along = np.einsum("cis,cjs->cij", clients.towards, clients.towards)
        left = 1 - np.array([np.diag(client) for client in along])
        common = clients.towards[0] @ clients.towards[1].T
        e = clients.elsewhere
        found["elsewhere"].append((e**2 - left / others).ravel())
        found["inner"].append((clients.inner**2 - common**2 - np.outer(*left) / others).ravel())
        pairs = np.outer(e[0], e[1])
        found["both"].append((pairs * clients.inner - np.outer(*left) / others**2).ravel())
        found["orthogonal"].append(
            [c[0] * c[-1] + a[0, -1] / others for c, a in zip(e, along, strict=True) if rank > 1]
        )
    for name, sample in found.items():
        table = np.array(sample)
        error = table.std(axis=0) / np.sqrt(len(table))
        assert np.all(np.abs(table.mean(axis=0)) < 5 * error), name


def test_leading_eigenvectors_of_noise_that_is_not_centred():
    """Bulk [-7, -3], outliers at -2.5 and -8.33: only the second is longer than the bulk."""
    model, gradients = SpikedModel((2.0, -3.0), Semicircle(1.0, -5.0)), ClientGradients((5.0, 1.0), 0.5)
    slopes, overlaps = outlier_slopes(model, gradients)
    assert overlaps == pytest.approx([8 / 9])
    assert slopes == pytest.approx([np.sqrt(8 / 9)])
    assert alignment_by_rank(model, gradients, (1, 2)) == pytest.approx([8 / 9, 8 / 9])
    rng = np.random.default_rng(0)
    drawn = [draw_two_clients(model, 10**6, rng, 2) for _ in range(20)]
    assert np.allclose([c.values[:, 0] for c in drawn], -5 - 10 / 3, atol=0.02)
    assert np.allclose([c.values[:, 1] for c in drawn], -7, atol=0.02)
    cosines = [c.cosines(c.slopes(gradients, rng)) for c in drawn]
    assert np.mean(cosines, axis=0) == pytest.approx([8 / 9, 8 / 9], abs=5e-3)


def test_equal_modulus_is_that_of_eigenvalues_not_of_overlaps():
    """Spikes 3 and -3 in noise about 1 have outliers 4.33 and -2.33; in Marchenko-Pastur noise the reverse happens."""
    moved = SpikedModel((3.0, -3.0), Semicircle(0.5, 0.5))
    assert alignment_by_rank(moved, ClientGradients((1.0, 1.0)), (1,)) == pytest.approx([35 / 36])
    negative = SpikedModel((-4.0,), MarchenkoPastur(0.25)).outliers[0].location
    root = np.roots([1.0, 0.75 + negative, -0.25 * negative]).max()  # theta + theta / (theta - 1/4) = -negative
    with pytest.raises(ValueError, match="between two outliers of equal modulus"):
        alignment_by_rank(SpikedModel((root, -4.0), MarchenkoPastur(0.25)), ClientGradients((1.0, 1.0)), (1,))


def test_frames_by_hand():
    """Two eigenvectors of each client in a space of four: e_1, e_2 are spikes, e_3 is the other direction."""
    c, s = 0.6, 0.8
    first = np.array([[c, s, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]])
    second = np.array([[-c, 0.0, s, 0.0], [0.0, 1.0, 0.0, 0.0]])
    clients = TwoClients(
        SpikedModel((3.0, 2.0)),
        4,
        np.array([[3.0, 1.0], [3.0, 1.0]]),
        np.array([first[:, :2], second[:, :2]]),
        np.array([first[:, 2], second[:, 2]]),
        first @ second.T,
    )
    common = np.array([1.0, 2.0, 5.0, 0.0])
    slopes = clients.slopes(ClientGradients((1.0, 2.0), 5.0), np.random.default_rng(0))
    np.testing.assert_allclose(slopes[:, 0], [first @ common, second @ common])
    for rank in (1, 2):
        kept = [frame[:rank].T @ (frame[:rank] @ common) for frame in (first, second)]
        own, cross = clients.products(slopes)
        assert (own + cross)[rank - 1] == pytest.approx(kept[0] @ kept[1])
        norms = [np.linalg.norm(vector) for vector in kept]
        assert clients.norms(slopes)[rank - 1] == pytest.approx(norms[0] * norms[1])
        assert clients.cosines(slopes)[rank - 1] == pytest.approx(kept[0] @ kept[1] / norms[0] / norms[1])
    # Means over all pairs of three samples of each client.
    three = np.arange(12.0).reshape(2, 3, 2) ** 2 - 20.0
    for rank in (1, 2):
        pairs = [
            (first[:rank].T @ one[:rank], second[:rank].T @ other[:rank]) for one in three[0] for other in three[1]
        ]
        own, cross = clients.products(three)
        assert (own + cross)[rank - 1] == pytest.approx(np.mean([x @ y for x, y in pairs]))
        sizes = [np.linalg.norm(x) * np.linalg.norm(y) for x, y in pairs]
        assert clients.norms(three)[rank - 1] == pytest.approx(np.mean(sizes))
        cosines = [x @ y / size for (x, y), size in zip(pairs, sizes, strict=True)]
        assert clients.cosines(three)[rank - 1] == pytest.approx(np.mean(cosines))
    turned = clients.oriented()
    np.testing.assert_allclose(turned.towards[1], [[c, 0.0], [0.0, 1.0]])
    np.testing.assert_allclose(turned.elsewhere, [[0.0, 1.0], [-s, 0.0]])
    np.testing.assert_allclose(turned.inner, first @ (second * [[-1], [1]]).T)
    assert not np.allclose(turned.inner, (first * [[-1], [1]]) @ second.T)


def test_mean_cosine_by_hand():
    """Far out the angle is (r - 1) / m^2 / 2; on a line the cosine is the sign of m + N."""
    for rank in (1, 2, 9):
        assert mean_cosine(rank, 1e5) == pytest.approx(1 - (rank - 1) / 2e10, abs=1e-14)
        assert mean_cosine(rank, 1e200) == 1.0
    for signal in (0.1, 1.0, 3.0):
        assert mean_cosine(1, signal) == pytest.approx(erf(signal / np.sqrt(2)))


@pytest.mark.parametrize("unit", [1e-200, 1e200])
def test_gradients_of_any_size(unit):
    gradients = ClientGradients(tuple(unit * component for component in (1.0, 0.5, 2.0)))
    expected = alignment_by_rank(MODEL, ClientGradients((1.0, 0.5, 2.0)), (1, 3))
    assert alignment_by_rank(MODEL, gradients, (1, 3)) == pytest.approx(expected)
    beside_noise = alignment_by_rank(MODEL, ClientGradients(gradients.along, noise_square=1.0), (1, 3))
    assert beside_noise == pytest.approx(expected if unit > 1 else [0.0, 0.0], abs=1e-100)


def test_the_longest_outlier_comes_first_whatever_its_sign():
    model, gradients = SpikedModel((2.0, -3.0)), ClientGradients((1.0, 0.5))
    slopes, overlaps = outlier_slopes(model, gradients)
    assert overlaps == pytest.approx([8 / 9, 3 / 4])
    assert slopes == pytest.approx([0.5 * np.sqrt(8 / 9), np.sqrt(3 / 4)])
    assert alignment_by_rank(model, gradients, (1,)) == pytest.approx([8 / 9])


def test_the_rank_of_two_clients_may_be_a_whole_float():
    model = SpikedModel((2.0,))
    one, two = (draw_two_clients(model, 100.0, np.random.default_rng(0), rank) for rank in (2.0, 2))
    np.testing.assert_array_equal(one.values, two.values)
    with pytest.raises(ValueError, match=r"rank must be an integer >= 0, got 1\.5"):
        draw_two_clients(model, 100, np.random.default_rng(0), 1.5)


@pytest.mark.parametrize("rank", [1.1e4, 1e6, 1e8, 1e10, 1e15])
@pytest.mark.parametrize("share", [1e-6, 0.1, 1.0, 3.0, 900.0])
def test_mean_cosine_of_high_rank(rank, share):
    """Euler's integral of 1F1, with x = |m| sqrt(u), in 40 digits."""
    with mpmath.workdps(40):
        r, signal = mpmath.mpf(rank), mpmath.mpf(share * rank**0.5)
        width = 1 / mpmath.sqrt(1 + r / signal**2)
        points = [width * k for k in (0, 2, 4, 8, 14)]
        points = [x for x in points if x < signal] + ([signal] if points[-1] >= signal else [])
        mass = mpmath.quad(lambda x: mpmath.exp(-(x**2) / 2 + (r - 1) / 2 * mpmath.log1p(-((x / signal) ** 2))), points)
        expected = float(mass * mpmath.sqrt(2 / mpmath.pi))
    assert mean_cosine(rank, float(signal)) == pytest.approx(expected, rel=1e-13)


def test_mean_cosine_at_infinity_and_without_a_rank():
    for rank in (1, 3, 10**4, 10**5):
        assert mean_cosine(rank, np.inf) == 1.0
        assert mean_cosine(rank, 0.0) == 0.0
    for rank, signal, message in (
        (0, 1.0, "rank must be at least 1, got 0"),
        (-3, 1.0, "rank must be at least 1, got -3"),
        (np.nan, 1.0, "rank must be at least 1, got nan"),
        (1.5, 1.0, "rank must be an integer >= 0, got 1.5"),
        (3, -1.0, "signal, the norm of a mean, must be at least 0, got -1.0"),
        (3, np.nan, "signal, the norm of a mean, must be at least 0, got nan"),
        (3, "1", "signal must be a number, got '1'"),
    ):
        with pytest.raises(ValueError, match=message):
            mean_cosine(rank, signal)
