"""A partition gives every sample to one client and leaves no client empty, for every number of clients."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workloads import partition
from workloads.partition import (
    ByLabel,
    Dirichlet,
    DirichletInTurn,
    Even,
    Files,
    PartitionError,
    Parts,
    hold_out,
    hold_out_each,
)

SEEDS = st.integers(0, 2**32)
LABELS = st.lists(st.integers(0, 9), min_size=1, max_size=80)
CONCENTRATIONS = st.floats(1e-320, 1e300, exclude_min=True)
WAYS = st.one_of(
    st.just(Even()),
    *(st.builds(way, CONCENTRATIONS, st.sampled_from(["symmetric", "prior"])) for way in (Dirichlet, DirichletInTurn)),
)


def covers(parts, count):
    return sorted(index for part in parts for index in part.tolist()) == list(range(count))


@given(way=WAYS, labels=LABELS, seed=SEEDS, data=st.data())
def test_every_sample_stands_once_and_no_client_is_empty(way, labels, seed, data):
    clients = data.draw(st.integers(1, len(labels)))
    parts = way.parts(labels, clients, seed)
    assert len(parts) == clients
    assert covers(parts, len(labels))
    assert parts.sizes.tolist() == [len(part) for part in parts]
    assert max(parts.sizes) - min(parts.sizes) <= 1
    assert min(parts.sizes) >= 1
    again = way.parts(np.array(labels), clients, seed)
    assert np.array_equal(parts.order, again.order)


@given(
    labels=st.permutations([label for label in range(6) for _ in range(3)]),
    clients=st.sampled_from([1, 2, 3, 6]),
    seed=SEEDS,
    together=st.sampled_from(["neighbours", "drawn"]),
)
def test_by_label_every_client_has_all_samples_of_its_labels(labels, clients, seed, together):
    parts = ByLabel(together).parts(labels, clients, seed)
    assert covers(parts, len(labels))
    owned = [set(np.array(labels)[part].tolist()) for part in parts]
    assert all(len(labels) == 6 // clients for labels in owned)
    assert sum(map(len, owned)) == len(set.union(*owned)) == 6
    if together == "neighbours":
        assert owned[0] == set(range(6 // clients))
    assert np.array_equal(parts.order, ByLabel(together).parts(labels, clients, seed).order)


@given(count=st.integers(1, 60), seed=SEEDS, data=st.data())
def test_held_out_samples_and_the_others_are_all(count, seed, data):
    size = data.draw(st.integers(0, count - 1))
    train, validation = hold_out(count, size, seed)
    assert len(validation) == size
    assert sorted([*train.tolist(), *validation.tolist()]) == list(range(count))
    assert (np.diff(train) > 0).all()
    assert np.array_equal(validation, hold_out(count, size, seed)[1])


@given(sizes=st.lists(st.integers(2, 9), min_size=1, max_size=6), share=st.floats(0.01, 0.99), seed=SEEDS)
def test_every_client_keeps_some_of_both(sizes, share, seed):
    ends = np.cumsum([0, *sizes])
    parts = Parts(np.random.default_rng(seed).permutation(ends[-1]), ends)
    train, test = hold_out_each(parts, share, seed)
    for whole, own, tested in zip(parts, train, test, strict=True):
        assert sorted([*own, *tested]) == sorted(whole)
        assert min(len(own), len(tested)) >= 1
        assert abs(len(tested) - share * len(whole)) <= 1
    assert np.array_equal(test.order, hold_out_each(parts, share, seed)[1].order)


@pytest.mark.parametrize(
    ("size", "share", "tested"),
    [(2, 0.01, 1), (2, 0.99, 1), (3, 0.9, 2), (5, 0.29, 1), (5, 0.31, 2), (8, 0.3, 2), (8, 0.32, 3), (9, 0.5, 4)],
)
def test_the_share_held_out_is_rounded(size, share, tested):
    parts = Parts(np.arange(2 + size), np.array([0, 2, 2 + size]))
    assert hold_out_each(parts, share, 0)[1].sizes.tolist() == [1, tested]


def test_the_law_prior_follows_unequal_classes():
    """Mean shares of the first client are those of the classes."""
    labels, draws = np.repeat(np.arange(3), [300, 150, 50]), 80
    firsts = [labels[Dirichlet(4.0, "prior").parts(labels, 25, seed)[0]] for seed in range(draws)]
    for label, mean in enumerate((0.6, 0.3, 0.1)):
        found = np.array([(part == label).mean() for part in firsts])
        assert abs(found.mean() - mean) < 5 * found.std() / draws**0.5


def test_every_purpose_has_a_stream_of_its_own(monkeypatch):
    """Purposes are recorded as they are asked for; streams of (seed, purpose) differ pairwise and come again."""
    drawn, asked = partition._generator, []
    monkeypatch.setattr(partition, "_generator", lambda seed, purpose: asked.append(purpose) or drawn(seed, purpose))
    labels, whole = np.arange(12) % 4, Parts(np.arange(12), np.array([0, 12]))
    uses = [
        lambda: Even().parts(labels, 2, 3),
        lambda: Dirichlet().parts(labels, 2, 3),
        lambda: DirichletInTurn().parts(labels, 2, 3),
        lambda: ByLabel("drawn").parts(labels, 2, 3),
        lambda: hold_out(12, 5, 3),
        lambda: hold_out_each(whole, 0.5, 3),
    ]
    for use in uses:
        use()
    assert len(set(asked)) == len(asked) == len(uses)
    streams = [tuple(drawn(seed, purpose).random(4)) for seed in range(8) for purpose in asked]
    assert len(set(streams)) == len(streams) == len({*streams, *(tuple(drawn(7, p).random(4)) for p in asked)})


def test_the_printed_validation_split():
    train, validation = hold_out(60_000, 10_000, 0)
    assert len(train) == 50_000
    assert not np.array_equal(validation, hold_out(60_000, 10_000, 1)[1])
    assert abs(validation.mean() - 30_000) < 5 * 60_000 / 12**0.5 / 10_000**0.5  # drawn from the whole


@pytest.mark.parametrize("clients", [20, 50, 100, 200, 300, 400, 5000])
def test_the_printed_numbers_of_clients_at_low_concentration(clients):
    """A splitter that redraws until nobody is empty does not end at 500 clients and concentration 0.3."""
    labels = np.repeat(np.arange(10), 5000)
    for psi in (0.1, 0.3, 0.5, 1e-300):
        parts = Dirichlet(psi).parts(labels, clients, 0)
        assert min(parts.sizes) >= 1
        assert np.array_equal(np.sort(parts.order), np.arange(50_000))


def shares_of_first_client(way, classes, clients, draws):
    labels = np.repeat(np.arange(classes), 2000)
    found = []
    for seed in range(draws):
        found.append(np.bincount(labels[way.parts(labels, clients, seed)[0]], minlength=classes))
    return np.array(found) / np.array(found).sum(axis=1, keepdims=True)


@pytest.mark.parametrize(("law", "each"), [("symmetric", 0.5), ("prior", 0.1)])
def test_shares_have_the_moments_of_the_dirichlet_law(law, each):
    """The first client has all labels at hand: its shares are Dirichlet but for the finite number of samples."""
    classes, draws = 5, 500
    shares = shares_of_first_client(Dirichlet(0.5, law), classes, 10 * classes, draws)
    mean, total = 1 / classes, classes * each
    # Var of a share, plus that of a multinomial of 200 samples given the share: E[p(1-p)]/200.
    spread = mean * (1 - mean) / (total + 1)
    expected = spread + (mean * (1 - mean) - spread) / 200
    found = shares.var(axis=0)
    # The variance of a sample variance is at most E[(p - 1/5)^4]/n <= 0.8^2 spread/n; 5 deviations are allowed.
    assert np.abs(found - expected).max() < 5 * (0.64 * expected / draws) ** 0.5
    assert np.abs(shares.mean(axis=0) - mean).max() < 5 * (expected / draws) ** 0.5


def unlike_the_whole(way, labels, clients, seed):
    """Total variation between the labels of each client and those of all."""
    whole = np.bincount(labels) / len(labels)
    return [
        np.abs(np.bincount(labels[part], minlength=len(whole)) / len(part) - whole).sum() / 2
        for part in way.parts(labels, clients, seed)
    ]


@pytest.mark.parametrize("law", ["symmetric", "prior"])
@pytest.mark.filterwarnings("ignore:with psi")
def test_large_concentrations_tend_to_even_parts_where_clients_draw_in_turn(law):
    labels = np.repeat(np.arange(10), 200)
    found = {
        way: np.mean([unlike_the_whole(way, labels, 20, seed) for seed in range(4)], axis=0)
        for way in (DirichletInTurn(1e4, law), Even(), Dirichlet(1e4, law))
    }
    in_turn, even, one_after_another = found.values()
    assert in_turn.max() < 1.3 * even.max()  # the first as the last
    assert one_after_another[-1] > 2 * even.max()


def test_clients_that_draw_in_turn_come_in_a_new_order_in_every_turn():
    """The last of seven samples goes to any of three clients, over seeds."""
    last = {int(DirichletInTurn().parts(np.zeros(7, int), 3, seed).sizes.argmax()) for seed in range(20)}
    assert last == {0, 1, 2}


@pytest.mark.parametrize("clients", [1, 3])
def test_small_concentrations_leave_few_labels_where_clients_draw_in_turn(clients):
    labels = np.repeat(np.arange(10), 60)
    few, many = (
        np.mean([len(np.unique(labels[part])) for part in DirichletInTurn(psi).parts(labels, clients * 5, 0)])
        for psi in (0.01, 100.0)
    )
    assert few < 5 < many


def test_concentrations_that_seem_to_ask_for_even_parts_are_warned_of():
    labels = np.repeat(np.arange(3), 10)
    with pytest.warns(UserWarning, match="psi 10 .*not nearly even; choose partition dirichlet-in-turn, or even"):
        Dirichlet(10.0).parts(labels, 4, 0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for way, clients in ((Dirichlet(9.9), 4), (Dirichlet(1e3), 1), (DirichletInTurn(1e3), 4)):
            way.parts(labels, clients, 0)


def one_by_one(log_shares, left, size, rng):
    """Draws as Hsu et al. write them: a label by its share, which falls out once it is used up."""
    counts, shares = np.zeros_like(left), np.exp(log_shares - log_shares.max())
    for _ in range(size):
        now = np.where(counts < left, shares, 0)
        counts[rng.choice(len(left), p=now / now.sum())] += 1
    return counts


def test_many_draws_at_once_have_the_law_of_draws_one_by_one():
    from workloads.partition import _draw_without_replacement

    log_shares, left, size, draws = np.log([0.6, 0.3, 0.1]), np.array([3, 2, 6]), 7, 4000
    rng = np.random.default_rng(0)
    means = [
        np.mean([draw(log_shares, left, size, rng) for _ in range(draws)], axis=0)
        for draw in (_draw_without_replacement, one_by_one)
    ]
    # Every count is between 0 and 6, so a mean has a deviation of at most 3/sqrt(draws).
    assert np.abs(means[0] - means[1]).max() < 5 * 3 * (2 / draws) ** 0.5
    assert means[0].sum() == pytest.approx(size)


def test_lower_concentrations_leave_fewer_labels():
    labels = np.repeat(np.arange(10), 600)
    counts = [
        np.mean([len(np.unique(labels[part])) for part in Dirichlet(psi).parts(labels, 20, 0)])
        for psi in (0.01, 0.1, 0.5, 100)
    ]
    assert counts == sorted(counts)
    assert counts[0] < 4
    assert counts[-1] == 10


def test_parts_are_a_sequence():
    parts = Even().parts(np.zeros(7, int), 3, 0)
    assert [len(part) for part in parts[1:]] == [2, 2]
    assert np.array_equal(parts[-1], parts[2])
    assert np.array_equal(parts[-3], parts[0])
    for number in (3, -4):
        with pytest.raises(IndexError, match=f"client {number} does not exist; there are 3"):
            parts[number]


def test_a_million_clients_cost_their_sizes():
    parts = Parts(np.arange(2 * 10**6), np.arange(0, 2 * 10**6 + 1, 2))
    assert len(parts) == 10**6
    assert parts[123_456].tolist() == [246_912, 246_913]


@given(drawn=st.lists(st.lists(st.integers(0, 12), max_size=5), min_size=1, max_size=5))
def test_a_sample_that_stands_twice_is_found(drawn):
    twice = Parts.join(drawn).find_repeated()
    everything = [sample for part in drawn for sample in part]
    if len(set(everything)) == len(everything):
        assert twice is None
        return
    sample, first, second = twice
    inside = any(len(set(part)) < len(part) for part in drawn)
    assert (first == second) is inside
    assert drawn[first].count(sample) > 1 if inside else sample in drawn[first] and sample in drawn[second]


@pytest.mark.parametrize("bounds", [[0, 2, 5], [0, 3, 2, 4], [1, 4], [0, 3], []])
def test_bounds_cut_all_samples_into_parts(bounds):
    with pytest.raises(PartitionError, match=r"bounds must rise from 0 to the number of samples, 4, got"):
        Parts(np.arange(4), np.array(bounds, dtype=np.int64))


def test_files(tmp_path):
    (tmp_path / "client10.txt").write_text("5 0\n")
    (tmp_path / "client2.txt").write_text("1\n3\n")
    np.save(tmp_path / "client1.npy", np.array([4], dtype=np.uint8))
    (tmp_path / "README").write_text("no indices")
    parts = Files(str(tmp_path)).parts(np.zeros(7, int), 3, 0)
    assert [part.tolist() for part in parts] == [[4], [1, 3], [0, 5]]  # sample 2 and 6 are in no file


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("7", "b.txt: 7 is not a sample; there are 7, counted from 0"),
        ("-1", "b.txt: -1 is not a sample"),
        ("0", "sample 0 occurs in .*a.txt and in .*b.txt; leave one out"),
        ("1 1", "sample 1 occurs twice in .*b.txt; leave one out"),
        ("", "b.txt: expected at least one index"),
        ("one", "b.txt cannot be read as indices: invalid literal"),
        ("9" * 30, "b.txt cannot be read as indices"),
        ("1,2", "invalid literal .*'1,2'; it must hold integers separated by spaces or lines, in UTF-8"),
        ("1_0", "invalid literal for a whole number: '1_0'"),
        ("[1 2]", "invalid literal .*; it must hold integers separated by spaces or lines"),
        ("1 2".encode("utf-16"), "b.txt cannot be read as indices: .*; it must hold integers .* in UTF-8"),
    ],
)
def test_files_that_are_no_partition(tmp_path, content, message):
    (tmp_path / "a.txt").write_text("0")
    (tmp_path / "b.txt").write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(PartitionError, match=message):
        Files(str(tmp_path)).parts(np.zeros(7, int), 2, 0)


def test_a_damaged_array_says_what_a_file_must_hold(tmp_path):
    (tmp_path / "a.npy").write_bytes(b"1 2")
    with pytest.raises(
        PartitionError, match=r"a\.npy cannot be read as indices: .*; it must hold an array of integers"
    ):
        Files(str(tmp_path)).parts(np.zeros(7, int), 1, 0)


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.array([True, False, True]), r"found a mask of shape \(3,\); save np.flatnonzero of it"),
        (np.array([[True]]), r"found a mask of shape \(1, 1\)"),
        (np.array([1.0, 2.0]), r"found float64 of shape \(2,\); save whole numbers, such as array.astype"),
        (np.array(["1"]), r"found <U1 of shape \(1,\); save whole numbers"),
        (np.array([]), r"found float64 of shape \(0,\)"),
        (np.array([[1, 2], [3, 4]]), r"found an array of shape \(2, 2\); save one row, such as array.ravel"),
        (np.array(3), r"found an array of shape \(\); save one row"),
        (np.array([], dtype=np.int32), "found none; write one into the file, or leave the file and its client out"),
    ],
)
def test_an_array_that_holds_no_indices_says_what_it_holds(tmp_path, array, message):
    np.save(tmp_path / "a.npy", array)
    with pytest.raises(PartitionError, match=rf"a\.npy: expected at least one index, {message}"):
        Files(str(tmp_path)).parts(np.zeros(7, int), 1, 0)


@pytest.mark.parametrize("text", [" ", "\n", "\r\n", "\t"])
def test_a_byte_order_mark_is_no_index(tmp_path, text):
    (tmp_path / "a.txt").write_bytes(f"2{text}0{text}".encode("utf-8-sig"))
    assert [part.tolist() for part in Files(str(tmp_path)).parts(np.zeros(7, int), 1, 0)] == [[0, 2]]


def test_what_cannot_be_divided_is_named(tmp_path):
    for way in (Even(), Dirichlet(1.0)):
        with pytest.raises(PartitionError, match=r"^there is no sample to give to 1 client$"):
            way.parts(np.zeros(0, dtype=int), 1, 0)
    with pytest.raises(PartitionError, match=r"3 samples cannot be divided among 4 clients.*choose from 1 to 3"):
        Even().parts([0, 1, 1], 4, 0)
    with pytest.raises(PartitionError, match="cannot be divided among 0 clients"):
        Dirichlet().parts([0, 1, 1], 0, 0)
    with pytest.raises(PartitionError, match="label 1 has no sample"):
        ByLabel().parts([0, 2, 2], 1, 0)
    with pytest.raises(PartitionError, match="10 labels cannot be divided evenly among 4 clients; choose a divisor"):
        ByLabel().parts(np.arange(10), 4, 0)
    with pytest.raises(PartitionError, match=r"expected one class .* got float64 of shape \(2,\)"):
        Even().parts([0.0, 1.0], 1, 0)
    with pytest.raises(PartitionError, match="expected one class of at least 0"):
        Even().parts([0, -1], 1, 0)
    with pytest.raises(PartitionError, match="psi must be positive and finite, got 0"):
        Dirichlet(0)
    with pytest.raises(PartitionError, match="law must be symmetric or prior"):
        Dirichlet(0.5, "flat")
    with pytest.raises(PartitionError, match="together must be"):
        ByLabel("pairs")
    with pytest.raises(PartitionError, match=r"holds 0 files of indices .* for 2 clients"):
        Files(str(tmp_path)).parts([0, 1], 2, 0)
    with pytest.raises(PartitionError, match="between 0 and 1, got 1"):
        hold_out_each(Even().parts([0, 1], 1, 0), 1, 0)
    with pytest.raises(PartitionError, match="client 0 has one sample, so none can be held out"):
        hold_out_each(Even().parts([0, 1], 2, 0), 0.5, 0)
    with pytest.raises(PartitionError, match="from 0 to 9 of 10 samples, got 10"):
        hold_out(10, 10, 0)


@pytest.mark.parametrize("part", [np.arange(4) < 2, [0.7, 1.2], [[0, 1]], 3, ["0"]])
def test_indices_are_whole_numbers_and_a_mask_is_none(part):
    with pytest.raises(PartitionError, match="expected a row of whole numbers for client 1, got"):
        Parts.join([[0], part])
    assert Parts.join([[2, 0], [], np.array([1], dtype=np.uint8)]).order.tolist() == [0, 2, 1]
