"""The fingerprint covers every attribute of a client, regardless of the kind of object that has it."""

import functools
import math
from collections import UserDict
from dataclasses import dataclass, field
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch
from silo_line import Beside, silos_of

from algorithms.federation import FederationError
from runs.silos.executor import Silos
from runs.silos.fingerprint import fingerprint, fingerprint_of
from runs.silos.transport import AnswerPolicy

X, OTHER = torch.arange(6.0).view(3, 2), torch.arange(6.0).view(3, 2).sqrt()


@dataclass(eq=False)
class Made:
    """A dataclass that sets an attribute without a field."""

    path: str
    x: object
    seen: object = field(init=False, repr=False, default=None)

    def __post_init__(self):
        self.rows, self.x, self.path = self.x, 0.0, "patients.csv"


class Derived(Made):
    def __init__(self, x):
        self.path, self.x, self.other = "patients.csv", 0.0, x


@dataclass(slots=True, eq=False)
class Slotted:
    x: object


class Beyond(Slotted):
    """It has a dictionary besides the slots of its base."""

    def __init__(self, x):
        super().__init__(0.0)
        self.rows = x


class Private:
    __slots__ = ("__x",)

    def __init__(self, x):
        self.__x = x


class _Hidden(Private):
    __slots__ = ("__x", "y")

    def __init__(self, x):
        super().__init__(0.0)
        self.__x = x


class Shadowed:
    """Its property hides what its dictionary holds."""

    def __init__(self, x):
        self.__dict__["x"] = x

    @property
    def x(self):
        raise AttributeError("x")

    @x.setter
    def x(self, value):
        raise AttributeError("x")


class Table:
    def __init__(self, x):
        self.rows = x

    def to_numpy(self):
        return np.zeros(2)


def with_attribute(made, x):
    made.x = x
    return made


class OfArray(np.ndarray):
    pass


class OfText(str):
    pass


class OfNumber(float):
    pass


def adding(w):
    return w


HOLDERS = {
    "dataclass": lambda x: Made("", x),
    "derived from a dataclass": Derived,
    "within a client": lambda x: SimpleNamespace(rows=[Made("", x)]),
    "slots of a dataclass": Slotted,
    "beyond slots": Beyond,
    "private slot": Private,
    "private slots of two classes": _Hidden,
    "behind a property": Shadowed,
    "with to_numpy": Table,
    "on a tensor": lambda x: with_attribute(torch.ones(2), x),
    "on a parameter": lambda x: with_attribute(torch.nn.Parameter(torch.ones(2)), x),
    "on an array": lambda x: with_attribute(np.ones(2).view(OfArray), x),
    "on a masked array": lambda x: with_attribute(np.ma.array([1.0], mask=[0]), x),
    "on a dictionary": lambda x: with_attribute(UserDict(a=1), x),
    "on a text": lambda x: with_attribute(OfText("a"), x),
    "on a number": lambda x: with_attribute(OfNumber(1.0), x),
    "on a function": lambda x: with_attribute(lambda w: w, x),
    "in a default": lambda x: lambda w, own=x: w,
    "in a keyword default": lambda x: lambda w, *, own=x: w,
    "in a closure": lambda x: lambda w: (w, x),
    "on a partial function": lambda x: with_attribute(functools.partial(adding), x),
}


@pytest.mark.parametrize("holder", HOLDERS)
def test_an_attribute_counts_wherever_it_is(holder):
    made = HOLDERS[holder]
    assert fingerprint(SimpleNamespace(data=made(X))) == fingerprint(SimpleNamespace(data=made(X.clone()))) is not None
    assert fingerprint(SimpleNamespace(data=made(X))) != fingerprint(SimpleNamespace(data=made(OTHER)))
    assert fingerprint(made(X)) != fingerprint(made(OTHER))
    assert fingerprint_of(made(X)).unread == fingerprint_of(made(X)).cached == ()


PAIRS = np.array([(1.0, 2.0), (3.0, 4.0)], dtype=[("x", "f8"), ("y", "f8")])
TWO = [("x", "f8"), ("y", "f8")]


@pytest.mark.parametrize(
    "kind",
    [
        [("y", "f8"), ("x", "f8")],
        [("x", "i8"), ("y", "i8")],
        [("x", "f8"), ("y", "i8")],
        [("x", "f4", 2), ("y", "f8")],
        [("x", "f8"), ("z", "f8")],
        [("in", TWO)],
        [("x", "f8", (1,)), ("y", "f8")],
        "V16",
    ],
    ids=str,
)
@pytest.mark.parametrize("view", [np.asarray, lambda made: made.view(np.recarray), list, lambda made: made[0]])
def test_fields_of_records_count_by_name_and_type(kind, view):
    one, other = view(PAIRS), view(PAIRS.view(kind))
    assert fingerprint([one]) == fingerprint([view(PAIRS.copy())]) != fingerprint([other])


def test_records_are_read_without_the_bytes_between_their_fields():
    kind = np.dtype([("x", "i1"), ("y", "f8")], align=True)
    made = [np.full(kind.itemsize * 2, fill, dtype="u1").view(kind) for fill in (0, 255)]
    for one in made:
        one["x"], one["y"] = 1, [2.0, 3.0]
    assert made[0].tobytes() != made[1].tobytes()
    assert fingerprint([made[0]]) == fingerprint([made[1]])
    objects = np.array([(1, {"a": 2.0})], dtype=[("x", "i8"), ("y", object)])
    changed = np.array([(1, {"a": 3.0})], dtype=[("x", "i8"), ("y", object)])
    assert fingerprint([objects]) == fingerprint([objects.copy()]) != fingerprint([changed])
    masked = [np.ma.array(PAIRS, mask=[(0, 1), (0, 0)]), np.ma.array(PAIRS, mask=[(1, 0), (0, 0)])]
    assert fingerprint([masked[0]]) != fingerprint([masked[1]])


def test_an_array_in_a_file_is_known_by_its_numbers(tmp_path):
    for name in "ab":
        np.save(tmp_path / name, np.arange(3.0))
    one, other = (np.load(tmp_path / f"{name}.npy", mmap_mode=mode) for name, mode in (("a", "r"), ("b", "c")))
    assert fingerprint_of(SimpleNamespace(x=one)) == fingerprint_of(SimpleNamespace(x=other))
    assert fingerprint_of(SimpleNamespace(x=one)).unread == ()


def test_a_masked_array_and_a_table_are_the_same_before_and_after_they_are_used():
    masked, frame = np.ma.array([1.0, 2.0]), pd.DataFrame({"a": [1.0, 2.0]})
    before = fingerprint_of([masked, frame])
    _ = masked.mask, masked.sum(), masked.fill_value, frame["a"].sum(), frame.index, frame.columns
    assert fingerprint_of([masked, frame]) == before
    assert before.unread == ()


MANY = 2**53
"""Floats no longer represent every whole number from here on."""


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (pd.DataFrame({"id": [MANY], "x": [0.5]}), pd.DataFrame({"id": [MANY + 1], "x": [0.5]})),
        (
            pd.DataFrame({"id": np.array([2**63], dtype=np.uint64), "x": [1]}),
            pd.DataFrame({"id": np.array([2**63 + 1], dtype=np.uint64), "x": [1]}),
        ),
        (
            pd.DataFrame({"x": np.float32([0.5]), "y": np.float64([0.5])}),
            pd.DataFrame({"x": np.float64([0.5]), "y": np.float32([0.5])}),
        ),
        (pd.Series(pd.Categorical(["a"], ["a", "b"])), pd.Series(pd.Categorical(["a"], ["b", "a"]))),
        (
            pd.DataFrame({"sex": pd.Categorical(["a"], ["a", "b"])}),
            pd.DataFrame({"sex": pd.Categorical(["a"], ["b", "a"])}),
        ),
        (pd.DataFrame({"x": [1, 2]}, index=[0, 1]), pd.DataFrame({"x": [1, 2]}, index=[1, 0])),
        (pd.DataFrame([[1, 2]], columns=["x", "x"]), pd.DataFrame([[2, 1]], columns=["x", "x"])),
        (pd.DataFrame({"x": [1], "y": [2]}), pd.DataFrame({"y": [1], "x": [2]})),
    ],
)
def test_a_table_is_read_in_the_types_of_its_columns(one, other):
    assert fingerprint(SimpleNamespace(x=one)) != fingerprint(SimpleNamespace(x=other))
    assert fingerprint(SimpleNamespace(x=one)) == fingerprint(SimpleNamespace(x=one.copy()))


@pytest.mark.skipif(np.finfo(np.longdouble).nmant != 63, reason="this machine has no 80-bit numbers")
@pytest.mark.parametrize("kind", ["=", ">"])
@pytest.mark.parametrize("of", [np.longdouble, np.clongdouble])
def test_numbers_of_extended_precision_are_read_without_what_fills_them_up(of, kind):
    def padded(fill):
        made = np.full(4, 1 / np.longdouble(3), dtype=of)
        made.view(np.uint8).reshape(-1, np.dtype(np.longdouble).itemsize)[:, 10:] = fill
        return made if kind == "=" else made.byteswap().view(made.dtype.newbyteorder())

    assert padded(0).tobytes() != padded(7).tobytes()
    assert fingerprint(SimpleNamespace(x=padded(0))) == fingerprint(SimpleNamespace(x=padded(7)))
    least = np.full(4, 1 / np.longdouble(3) + np.finfo(np.longdouble).eps, dtype=padded(0).dtype)
    assert fingerprint(SimpleNamespace(x=padded(0))) != fingerprint(SimpleNamespace(x=least))


class Lazy:
    samples = 3.0

    def __init__(self, **more):
        self.y = X
        vars(self).update(more)

    @functools.cached_property
    def x(self):
        return torch.rand(2)

    def loss(self, w, batch=None):
        return (w["W"] ** 2).sum()


class Lazier(Lazy):
    x = 3.0

    @functools.cached_property
    def z(self):
        return torch.rand(2)


def test_cached_properties_are_left_out_and_named():
    used = Lazy()
    assert used.x is used.x
    assert fingerprint_of(used) == fingerprint_of(Lazy())
    assert fingerprint_of(Lazy()).cached == ("Lazy.x",)
    assert fingerprint_of(SimpleNamespace(rows=[Lazier(), Lazier()])).cached == ("Lazier.z",)
    assert fingerprint_of(Lazy(fingerprint=("y", "x"))).cached == ()
    assert fingerprint(Lazy(fingerprint=("y", "x"))) != fingerprint(Lazy(fingerprint=("y", "x")))


def test_the_server_says_which_cached_properties_are_left_out(tmp_path):
    said = []
    line = Beside(silos_of([Lazy(), SimpleNamespace(samples=3.0, x=X)], "ab", tmp_path))
    Silos("ab", line, "0123456789ab", AnswerPolicy(seconds=5.0), say=said.append, pause=1e-3).meet()
    (text,) = [text for text in said if "cached" in text]
    assert text.startswith("silo a: the digest of its data leaves out the cached properties Lazy.x; ")


@pytest.mark.parametrize(
    "text", ["x", "y", "x,y", "x, y", "x y", "xy", "x;y ", "yx", "'x','y'", "x_train", "x,x_train"]
)
def test_a_fingerprint_without_its_comma_is_refused(text):
    with pytest.raises(FederationError, match="consists of names of the client's attributes: to name") as error:
        fingerprint(SimpleNamespace(x=X, y=X, x_train=X, fingerprint=text))
    assert str(error.value).isprintable()


@pytest.mark.parametrize("text", ["z", "x, z", "registry, May 2026", "xz", "x.csv", "fingerprint", "", " ", ","])
def test_another_text_names_the_data(text):
    one = SimpleNamespace(x=X, y=X, fingerprint=text)
    if text == "fingerprint":
        with pytest.raises(FederationError, match="consists of names"):
            fingerprint(one)
        return
    assert fingerprint(one) == fingerprint(SimpleNamespace(x=OTHER, y=X, fingerprint=text))


@pytest.mark.parametrize(
    ("samples", "said"),
    [
        (40.5, "40.5"),
        (10**400, "a number beyond 2.53"),
        (2**53 + 1, "a number beyond 2.53"),
        (math.inf, "inf"),
        (math.nan, "nan"),
        ("40", "'40'"),
        ("many", "'many'"),
        (True, "True"),
        (None, "None"),
        (torch.tensor(2.5), "tensor"),
        (torch.ones(2), "tensor"),
        (1e-3, "0.001"),
    ],
)
def test_samples_that_are_not_a_whole_number_are_refused_by_the_silo(samples, said, tmp_path, capsys):
    line = Beside(silos_of([SimpleNamespace(samples=samples, x=X)], "a", tmp_path))
    why = rf"^silo a: its client has {said}.* samples; samples must be a whole number of at least 1$"
    with pytest.raises(FederationError, match=why):
        Silos("a", line, "0123456789ab", AnswerPolicy(seconds=5.0), pause=1e-3).meet()
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("samples", [40, 40.0, np.int64(40), np.float32(40), torch.tensor(40), torch.tensor(40.0)])
def test_samples_that_are_a_whole_number_are_taken(samples, tmp_path):
    line = Beside(silos_of([SimpleNamespace(samples=samples, x=X)], "a", tmp_path))
    (about,) = Silos("a", line, "0123456789ab", AnswerPolicy(seconds=5.0), pause=1e-3).meet()
    assert about.samples == 40.0
