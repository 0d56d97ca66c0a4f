"""Digests of the definitions that a function depends on."""

import importlib
import sys
from textwrap import dedent

import pytest

from figures.code_digest import code_digest

FILES = {
    "room/__init__.py": "from room.deep import Law as Shown\n",
    "room/deep.py": '''
        import math

        SCALE = 2
        UNUSED = 3

        class Base:
            def shift(self):
                return SCALE

        class Law(Base):
            """A law."""
            size: int = 4

            def value(self):
                return self.size + math.pi

        def other(): return UNUSED
    ''',
    "room/numbers.py": """
        from functools import partial
        import room
        from room import deep as depth

        def by_attribute(settings): return depth.Law().value()
        def by_package(settings): return room.Shown().value()
        def by_inner_import(settings):
            from room.deep import Law
            return Law().value()
        def made(law):
            def data(settings): return law().value()
            return data
        def times(n, settings, law=None): return n * law().value()
        closed, part = made(depth.Law), partial(times, 3, law=depth.Law)
        nameless = lambda settings: depth.Law().value()
        listed = partial(times, 3, law=[depth.Law])
    """,
}


@pytest.fixture
def project(tmp_path, monkeypatch):
    for name, text in FILES.items():
        lines = text.splitlines()
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("\n".join(line.removeprefix(" " * 8) for line in lines) + "\n")
    monkeypatch.syspath_prepend(tmp_path)
    numbers = importlib.import_module("room.numbers")
    yield tmp_path, numbers
    for name in [name for name in sys.modules if name.split(".")[0] == "room"]:
        del sys.modules[name]


WAYS = ("by_attribute", "by_package", "by_inner_import", "closed", "part", "nameless", "listed")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("old", "new", "counts"),
    [
        ("self.size + math.pi", "self.size - math.pi", True),
        ("size: int = 4", "size: int = 5", True),
        ("SCALE = 2", "SCALE = 7", True),
        ("size: int = 4", "size: float = 4", False),
        ('"""A law."""', '"""A law of\n\n    size."""', False),
        ("return SCALE", "return (  # twice\n            SCALE\n        )", False),
        ("def value(self):", "def value(self) -> float:", False),
        ("UNUSED = 3", "UNUSED = 9", False),
        ("def other(): return UNUSED", "def other(): return 0", False),
    ],
)
def test_definitions_count_where_a_name_leads_to_them(project, way, old, new, counts):
    folder, numbers = project
    file = folder / "room" / "deep.py"
    before = code_digest(getattr(numbers, way), ("room",), folder)
    text = file.read_text()
    assert before is not None
    assert old in text
    file.write_text(text.replace(old, new))
    assert (code_digest(getattr(numbers, way), ("room",), folder) != before) == counts


def test_a_function_of_no_project_has_none(tmp_path):
    assert code_digest(len, ("room",), tmp_path) is None


DATA = "from room.core import law\ndef data(s): return law(s)\n"
USE = "def law(x): return K"
AT_THE_TOP = {
    "header of a loop": ("K = {}\nfor i in range(3): K[i] = i\n" + USE, "range(3)", "range(4)"),
    "condition": ("M = 1\nif M > 3: K = 1\nelse: K = 2\n" + USE, "M > 3", "M > 0"),
    "while": ("K = 0\nwhile K < 3: K += 1\n" + USE, "K < 3", "K < 4"),
    "match": ("M = 1\nmatch M:\n    case 1: K = 3\n    case _: K = 4\n" + USE, "case 1", "case 2"),
    "capture of a match": ("match 5:\n    case K: pass\n" + USE, "match 5", "match 6"),
    "context": ("import contextlib\nwith contextlib.nullcontext(3) as K: pass\n" + USE, "(3)", "(4)"),
    "assignment in a condition": ("if (K := 3): pass\n" + USE, ":= 3", ":= 4"),
    "call of a method": ("K = [1]\nK.append(2)\n" + USE, "append(2)", "append(3)"),
    "method called in a loop": ("K = [1]\nfor i in (2, 3): K.append(i)\n" + USE, "(2, 3)", "(2, 4)"),
    "method called in an assignment": ("K = [1, 2]\nx = K.pop(0)\n" + USE, "pop(0)", "pop(1)"),
    "method called in a comprehension": ("K = []\n[K.append(i) for i in (2, 3)]\n" + USE, "(2, 3)", "(2, 4)"),
    "attributes set in a loop": (
        "class K: pass\nfor name in ('a', 'b'): setattr(K, name, 1)\n" + USE,
        "setattr(K, name, 1)",
        "setattr(K, name, 2)",
    ),
    "attribute": ("class K: pass\nK.x = 1\n" + USE, "K.x = 1", "K.x = 2"),
    "item of an attribute": ("class K: x = {}\nK.x['a'] = 1\n" + USE, "= 1", "= 2"),
    "global of a function": ("K = 1\ndef f():\n    global K\n    K = 5\nf()\n" + USE, "K = 5", "K = 6"),
    "setting of the process": ("import decimal\ndecimal.getcontext().prec = 9\nK = 1\n" + USE, "= 9", "= 8"),
    "fields of a class": (
        "import dataclasses, typing\n@dataclasses.dataclass\nclass K:\n    a: typing.ClassVar[int] = 1\n" + USE,
        "typing.ClassVar[int]",
        "int",
    ),
    "names of a module": ("def __getattr__(name): return lambda x: 1\n", "x: 1", "x: 2"),
    "failed import": ("try: import nowhere as K\nexcept ImportError: K = 2\n" + USE, "K = 2", "K = 3"),
    "origin of a function": ("from math import sin as K\n" + USE, "sin", "cos"),
    "origin of a module": ("import cmath as m\ndef law(x): return m.sqrt(2)\n", "cmath", "math"),
}


def digests(tmp_path, monkeypatch, *projects):
    """Return the digest of `room.main.data` in each project, given by files."""
    found = []
    for number, files in enumerate(projects):
        root = tmp_path / str(number)
        for name, text in files.items():
            (root / "room" / name).parent.mkdir(parents=True, exist_ok=True)
            (root / "room" / name).write_text(text)
        with monkeypatch.context() as patch:
            patch.syspath_prepend(root)
            for name in [name for name in sys.modules if name.split(".")[0] == "room"]:
                patch.delitem(sys.modules, name)
            found.append(code_digest(importlib.import_module("room.main").data, ("room",), root.resolve()))
            for name in [name for name in sys.modules if name.split(".")[0] == "room"]:
                del sys.modules[name]
    assert None not in found
    return found


@pytest.mark.parametrize("kind", AT_THE_TOP)
def test_whatever_gives_a_module_level_value_counts(tmp_path, monkeypatch, kind):
    core, old, new = AT_THE_TOP[kind]
    assert old in core
    texts = [core, core.replace(old, new, 1)]
    one, other = digests(tmp_path, monkeypatch, *({"main.py": DATA, "core.py": text} for text in texts))
    assert one != other


WAYS_TO_A_MODULE = {
    "dotted": "import room.deep\ndef data(s): return room.deep.f(s)",
    "dotted within": "def data(s):\n    import room.deep\n    return room.deep.f(s)",
    "all names": "from room.deep import *\ndef data(s): return f(s)",
    "all names, twice": "from room.stars import f\ndef data(s): return f(s)",
    "package in a package": "from room import sub\ndef data(s): return sub.inner.f(s)",
    "wrapped": "from room.deep import f\nf = (lambda g: lambda x: g(x))(f)\ndef data(s): return f(s)",
    "if it is there": "try: from room.deep import f\nexcept ImportError: f = None\ndef data(s): return f(s)",
    "by another name": "from room import deep\nother = deep\ndef data(s): return other.f(s)",
    "in a table": "from room import deep\nTABLE = {1: deep}\ndef data(s): return TABLE[1].f(s)",
    "by a string": "from room import deep\ndef data(s): return getattr(deep, 'f')(s)",
    "in a class": "class Q:\n    from room.deep import f\ndef data(s): return Q.f(s)",
    "in a loop": "while True:\n    from room.deep import f\n    break\ndef data(s): return f(s)",
    "by a function": "def load():\n    global f\n    from room.deep import f\nload()\ndef data(s): return f(s)",
    "as the type of an argument": "from room.deep import C\ndef data(s: C): return s.method()",
    "as the type of a field": "from room.deep import C\nclass A:\n    c: C\ndef data(s): return A().c.method()",
    "at its import": "import room.deep\nfrom room.stars import TABLE\ndef data(s): return TABLE",
}


@pytest.mark.parametrize("way", WAYS_TO_A_MODULE)
def test_every_way_to_a_module_counts(tmp_path, monkeypatch, way):
    deep = "def f(x=0): return 1\nclass C:\n    def method(self): return f()\nprint(end='')\n"
    fixed = {
        "main.py": dedent(WAYS_TO_A_MODULE[way]) + "\n",
        "stars.py": "from room.deep import *\nTABLE = {}\n",
        "sub/__init__.py": "",
        "sub/inner.py": "from ..deep import f\n",
    }
    texts = [deep, deep.replace("end=''", "sep=''") if way == "at its import" else deep.replace("return 1", "return 2")]
    one, other = digests(tmp_path, monkeypatch, *({**fixed, "deep.py": text} for text in texts))
    assert one != other


HELD = {
    "number": ("partial(f, 3)", "partial(f, 4)"),
    "keyword": ("partial(f, k=0.1)", "partial(f, k=0.2)"),
    "sign of zero": ("partial(f, 0.0)", "partial(f, -0.0)"),
    "kind of number": ("partial(f, 1)", "partial(f, 1.0)"),
    "array": ("partial(f, np.arange(3.0))", "partial(f, np.arange(1, 4.0))"),
    "fraction": ("partial(f, Fraction(1, 3))", "partial(f, Fraction(1, 4))"),
    "fields": ("partial(f, Sizes(3))", "partial(f, Sizes(4))"),
    "table": ("partial(f, {'a': (1, 2)})", "partial(f, {'a': (1, 3)})"),
    "set": ("partial(f, {1, 2})", "partial(f, {1, 3})"),
    "function in a table": ("partial(f, {'a': one})", "partial(f, {'a': two})"),
    "closure": ("made(3)", "made(4)"),
    "default": ("by_default(3)", "by_default(4)"),
    "method": ("Sizes(3).data", "Sizes(4).data"),
    "module": ("partial(f, math)", "partial(f, cmath)"),
    "object that is called": ("partial(f, Sizes(3))", "partial(f, Other(3))"),
}
HOLDERS = """
import cmath, math
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
import numpy as np

@dataclass
class Sizes:
    n: int
    def data(self, s): return self.n * s

class Other:
    def __init__(self, n): self.n = n

def one(x): return 1
def two(x): return 2
def f(k, s=None): return k
def made(k):
    def data(s): return k * s
    return data
def by_default(k):
    def data(s, k=k): return k * s
    return data
"""


@pytest.mark.parametrize("kind", HELD)
def test_values_that_a_function_holds_count(tmp_path, monkeypatch, kind):
    names = (HELD[kind][0], *HELD[kind])
    texts = [f"{HOLDERS}\ndata = {name}\n" for name in names]
    first, again, other = digests(tmp_path, monkeypatch, *({"main.py": text} for text in texts))
    assert first == again != other


def test_names_count_by_what_they_lead_to_wherever_it_is(tmp_path, monkeypatch):
    one, two, deep = "def f(x): return 1\n", "def f(x): return 2\n", "def f(x): return g(x)\ndef g(x): return {}\n"
    main = "from room.a import f\nfrom room.b import f as h\ndef data(s): return f(s) - h(s)\n"
    moved = main.replace("room.b", "room.c")
    found = digests(
        tmp_path,
        monkeypatch,
        {"main.py": main, "a.py": one, "b.py": two},
        {"main.py": moved, "a.py": one, "c.py": two},
        {"main.py": main, "a.py": two, "b.py": one},
        {"main.py": main, "a.py": deep.format(1), "b.py": deep.format(2)},
        {"main.py": main, "a.py": deep.format(2), "b.py": deep.format(1)},
    )
    assert found[0] == found[1]
    assert len(set(found)) == 4
