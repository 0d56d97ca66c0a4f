"""Records of what silos and servers are given: starts, evaluations, losses, data and their fingerprints."""

import functools
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction
from pathlib import PurePosixPath
from uuid import UUID

import numpy as np
import torch
from recording import refused
from torch import nn

from algorithms.tree import Tree
from runs.silos.fingerprint import fingerprint, fingerprint_of
from runs.silos.given import check_start, measure
from runs.silos.norms import largest_squarable

DOUBLE = torch.float64
SINGLE = (
    (date, (2020, 1, 2), date(2020, 1, 2), date(2020, 1, 3)),
    (time, (1, 2, 3), time(1, 2, 3), time(1, 2, 4)),
    (timedelta, (1, 2), timedelta(1, 2), timedelta(1, 3)),
    (datetime, (2020, 1, 2, 3), datetime(2020, 1, 2, 3), datetime(2020, 1, 2, 4)),
    (Decimal, ("1.50",), Decimal("1.50"), Decimal("1.51")),
    (Fraction, (2, 3), Fraction(2, 3), Fraction(3, 2)),
    (UUID, ("0" * 31 + "1",), UUID(int=1), UUID(int=2)),
)
"""Kinds of single values: arguments, an equal value, and another."""


def starts_that_are_checked():
    w = torch.arange(6.0).reshape(2, 3)
    limit = largest_squarable(w) / 1e3
    for given in (
        {"w": w, "b": w[0].clone().double()},
        {"w": w, "b": w[0]},
        {"w": w * limit / 5.1},
        {"w": -w * limit / 4.9},
        {"w": w / 0.0},
        {"w": w.long()},
        {"w": w.to(torch.float8_e5m2)},
        {"w": w.to_sparse()},
        {"w": [1.0]},
        {3: w},
        {},
        [w],
        {"ü\n": None},
        {"w": w[:0]},
    ):
        found = refused(check_start, given)
        yield found if isinstance(found, str) else {name: [value.dtype, value.shape] for name, value in found.items()}


def evaluations_that_are_checked():
    w = Tree({"w": torch.tensor([1.0, float("nan")])})

    def in_place(w):
        w["w"].mul_(2.0)
        return {"loss": 1.0}

    yield refused(measure, in_place, w)
    for found in (
        {
            "loss": 1,
            "accuracy": 0.5,
            "big": 2**63,
            "small": -(2**63) + 1,
            "one": torch.tensor([3]),
            "np": np.float32(0.5),
        },
        {"loss": np.array([2.5]), "n": np.int64(3)},
        None,
        3.0,
        {3: 1.0},
        {" ": 1.0},
        {"a,b": 1.0},
        {'a"': 1.0},
        {"round": 1},
        {"rank": 1},
        {"loss": True},
        {"loss": "0.5"},
        {"loss": torch.ones(2)},
        {"loss": None},
        {"loss": 10**400},
        {"loss": 1j},
        {"loss": Decimal(1)},
    ):
        yield refused(measure, lambda w, found=found: found, w)


class _Data:
    """A client of attributes."""

    def __init__(self, **attributes):
        vars(self).update(attributes)


def fingerprints_of_equal_and_other_data():
    x = torch.arange(6.0).reshape(2, 3)
    alike = [_Data(x=x, n=3), _Data(n=3, x=x.clone()), _Data(x=x.T.contiguous().T, n=3)]
    alike += [_Data(x=x, n=3, rng=np.random.default_rng(1), net=nn.Linear(1, 1)), _Data(x=x.requires_grad_(), n=3)]
    others = [
        _Data(x=x + 1, n=3),
        _Data(x=x, n=4),
        _Data(y=x, n=3),
        _Data(x=x.double(), n=3),
        _Data(x=x.reshape(3, 2), n=3),
    ]
    digests = [fingerprint(one).hex() for one in (*alike, *others)]
    yield [digests.index(one) for one in digests], digests[0]
    for values in (
        [{1, 2, 3}, {3, 2, 1}, frozenset({1, 2})],
        [{"a": 1, "b": 2}, {"b": 2, "a": 1}, {"a": 2, "b": 1}],
        [[1, 2], (1, 2), [2, 1], np.array([1, 2]), torch.tensor([1, 2])],
        [1, 1.0, True, "1", b"1", Decimal(1), np.int64(1), None],
        [date(2020, 1, 2), date(2020, 2, 1), PurePosixPath("a"), "a", torch.float32, "torch.float32"],
        *([one, kind(*given), other] for kind, given, one, other in SINGLE),
        [functools.partial(max, 1), functools.partial(max, 2), functools.partial(min, 1), max, min],
        [np.array([[1, 2]]), np.array([1, 2]), np.array([1, 2], ">i8"), np.array([1, 2], np.int32), np.array([1, 3])],
        [np.ma.masked_array([1, 2], [0, 1]), np.ma.masked_array([1, 2], [1, 0]), np.array([1, 2])],
    ):
        digests = [fingerprint(_Data(x=value)) for value in values]
        yield [digests.index(one) for one in digests]


def fingerprints_by_name():
    class Cached(_Data):
        @functools.cached_property
        def size(self):
            return 3

    x = torch.arange(3.0)
    for given in (
        {"x": x, "fingerprint": "a text"},
        {"x": x, "fingerprint": "x"},
        {"x": x, "n": 1, "fingerprint": "x, n"},
        {"x": x, "fingerprint": "x and more"},
        {"x": x, "fingerprint": ("x",)},
        {"x": x, "fingerprint": ["y"]},
        {"x": x, "fingerprint": ()},
        {"x": x, "fingerprint": 3},
        {"x": x, "fingerprint": [3]},
        {"n": 3},
        {},
        {"n": None},
        {"lock": object()},
        {"path": "data/a.csv", "n": 2},
        {"rows": [1, 2]},
        {"data": b"12"},
    ):
        found = refused(fingerprint_of, Cached(**given))
        if isinstance(found, str):
            yield found
        else:
            yield [
                found.digest is None,
                found.unread,
                found.has_data,
                [name.rpartition(".")[2] for name in found.cached],
            ]
