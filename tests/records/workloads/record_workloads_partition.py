"""Records of partitions: the parts of each rule by seed, what is held out, files of indices, and what is refused."""

from hashlib import sha256

import numpy as np
from hidden_folder import folder
from recording import refused

from workloads.partition import (
    BY_CLASS,
    PARTITIONS,
    ByLabel,
    Dirichlet,
    DirichletInTurn,
    Even,
    Files,
    Parts,
    hold_out,
    hold_out_each,
)
from workloads.printed_settings import CLIENTS_OF_RANK, FEDERATIONS, client_ranks
from workloads.texts import TEXT_PARTITIONS, ByClient, BySource

LABELS = np.array([0, 2, 1, 1, 0, 2, 2, 0, 3, 3, 1, 0, 2, 2, 3, 0, 1, 2, 0])
SOURCES = np.array([5, 5, 0, 5, 2, 2, 5, 5, 0, 5, 2, 5])


def _parts(parts):
    return [part.tolist() for part in parts]


def _mark(text):
    return sha256(text.encode()).hexdigest()[:8]


def even_parts():
    for clients in (1, 2, 5, 19):
        for seed in (0, 1):
            yield _parts(Even().parts(LABELS, clients, seed))


def mixtures_of_labels():
    for rule in (
        Dirichlet(),
        Dirichlet(0.1),
        Dirichlet(0.5, "prior"),
        Dirichlet(1e-8),
        Dirichlet(9.9),
        Dirichlet(1e-320),
        DirichletInTurn(),
        DirichletInTurn(0.5, "prior"),
        DirichletInTurn(50.0),
        DirichletInTurn(1e-320),
    ):
        for clients, seed in ((1, 0), (4, 0), (4, 1), (19, 2)):
            yield str(rule), _parts(rule.parts(LABELS, clients, seed))


def large_concentrations():
    import warnings

    for rule, clients in ((Dirichlet(10.0), 3), (Dirichlet(12.5), 1), (Dirichlet(9.99), 3), (DirichletInTurn(10.0), 3)):
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            yield _parts(rule.parts(LABELS, clients, 0)), [str(one.message) for one in found]


def labels_of_clients():
    for together in ("neighbours", "drawn"):
        for clients, seed in ((1, 0), (2, 0), (4, 1), (4, 2)):
            yield _parts(ByLabel(together).parts(LABELS, clients, seed))
    yield (
        refused(ByLabel().parts, LABELS, 3, 0),
        refused(ByLabel().parts, LABELS + 1, 5, 0),
        refused(ByLabel, "x"),
        refused(ByLabel().parts, [0, 2, 2], 1, 0),
    )


def rules_that_are_refused():
    for rule in (
        lambda: Dirichlet(0.0),
        lambda: Dirichlet(-1.0),
        lambda: Dirichlet(float("inf")),
        lambda: Dirichlet(float("nan")),
        lambda: Dirichlet(1.0, "x"),
        lambda: DirichletInTurn(0.0),
        lambda: Dirichlet(1e-300),
    ):
        yield str(refused(rule))
    for labels, clients in (
        ([], 1),
        ([0], 2),
        ([0, 1], 0),
        ([0, -1], 1),
        ([0.5], 1),
        ([[0]], 1),
        ([0, 1], 2),
        (["a"], 1),
    ):
        yield refused(lambda labels=labels, clients=clients: _parts(Even().parts(labels, clients, 0)))
    yield sorted(PARTITIONS), sorted(TEXT_PARTITIONS), [kind.__name__ for kind in BY_CLASS]


def parts_as_sequences():
    parts = Parts.join([[3, 1], [], [7, 0, 5]])
    yield (
        parts.order,
        parts.bounds,
        parts.sizes,
        len(parts),
        parts[0],
        parts[-1],
        parts[1],
        _parts(parts[1:]),
        _parts(parts[::-2]),
        refused(lambda: parts[3]),
        refused(lambda: parts[-4]),
        [part.tolist() for part in parts],
    )
    for given in ([], [[0.5]], [[True, False]], [[[1]]], [3], [[1], ["a"]], [[]]):
        yield refused(lambda given=given: _parts(Parts.join(given)))
    for bounds in ([0, 2], [0, 4], [1, 3], [0, 2, 1, 3], [0, 0, 3], []):
        yield refused(lambda bounds=bounds: Parts(np.arange(3), np.array(bounds, dtype=np.int64)).sizes)


def repeated_samples():
    for given in (
        [[0, 1], [2]],
        [[0, 1], [1, 2]],
        [[0, 4], [4, 1, 1]],
        [[3, 3]],
        [[1, 2], [2], [0, 0]],
        [[], [5]],
        [[2, 1], [1], [1]],
    ):
        yield Parts.join(given).find_repeated()


def held_out_samples():
    for count, size, seed in ((6, 2, 0), (6, 2, 1), (6, 0, 0), (6, 5, 3), (6, 6, 0), (6, -1, 0), (1, 0, 0), (1, 1, 0)):
        yield refused(lambda count=count, size=size, seed=seed: [part.tolist() for part in hold_out(count, size, seed)])


def samples_held_out_of_each_client():
    parts = Parts.join([[0, 1], [2, 3, 4, 5, 6], [7, 8, 9, 10, 11, 12, 13, 14]])
    for share, seed in ((0.2, 0), (0.2, 1), (0.5, 0), (0.99, 0), (0.01, 0), (0.3, 0)):
        yield [_parts(one) for one in hold_out_each(parts, share, seed)]
    yield (
        [refused(hold_out_each, parts, share, 0) for share in (0.0, 1.0, -0.1)],
        refused(hold_out_each, Parts.join([[0, 1], [2]]), 0.5, 0),
        refused(hold_out_each, Parts.join([[0], []]), 0.5, 0),
    )


def sources_of_clients():
    for clients in (1, 2, 3, 4, 5, 7, 12):
        for seed in (0, 1):
            yield clients, _parts(BySource().parts(SOURCES, clients, seed))
    yield (
        _parts(ByClient().parts(SOURCES, 3, 0)),
        refused(ByClient().parts, SOURCES, 2, 0),
        refused(ByClient().parts, SOURCES, 4, 0),
    )
    yield (
        refused(BySource().parts, SOURCES, 0, 0),
        refused(BySource().parts, SOURCES, 13, 0),
        refused(BySource().parts, [[1]], 1, 0),
    )


def files_of_indices():
    with folder() as (place, hide):
        (place / "10.txt").write_text("4\n 5\t6")
        (place / "2.txt").write_text("\ufeff0 1")
        np.save(place / "a.NPY", np.array([3, 2], dtype=np.uint8))
        (place / "notes.md").write_text("x")
        rule = Files(str(place))
        parts = rule.parts(np.zeros(7, dtype=int), 3, 0)
        yield (
            _parts(parts),
            hide(refused(rule.parts, np.zeros(6, dtype=int), 3, 0)),
            hide(refused(rule.parts, np.zeros(7, dtype=int), 2, 0)),
        )
        yield (
            _parts(rule.among(parts, np.array([1, 2, 4, 6]))),
            _parts(rule.among(parts, np.array([0, 3, 5]))),
            hide(refused(rule.among, parts, np.array([0, 1, 3]))),
        )
        yield _parts(rule.among(parts, np.array([0, 3, 5, 9]))), _parts(rule.among(parts, np.array([1, 3, 6])))
        for text in ("0 1", "4", "7", "-1", "", "1_0", "1.0", "+4 4", "x" * 50):
            (place / "2.txt").write_text(text)
            yield text, hide(refused(rule.parts, np.zeros(7, dtype=int), 3, 0))


def a_file_for_one_sample():
    with folder() as (place, hide):
        (place / "one.txt").write_text("0")
        for count in (1, 2):
            yield hide(refused(lambda count=count: _parts(Files(str(place)).parts(np.zeros(count, dtype=int), 1, 0))))


def arrays_of_indices_that_are_refused():
    for array in (
        np.array([True, False]),
        np.array([0.0]),
        np.array([[0]]),
        np.array([], dtype=int),
        np.array([5]),
        np.array([4]),
        np.array([-1]),
        np.array([object()]),
    ):
        with folder() as (place, hide):
            np.save(place / "0.npy", array)
            found = hide(refused(lambda place=place: _parts(Files(str(place)).parts(np.zeros(5, dtype=int), 1, 0))))
            yield found if isinstance(found, list) else found.partition(": Object")[0]


def printed_federations():
    yield {name: str(one) for name, one in FEDERATIONS.items()}, CLIENTS_OF_RANK
    yield client_ranks(1), client_ranks(2), refused(client_ranks, 3), _mark("x")
