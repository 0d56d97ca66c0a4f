"""Digests of the definitions that a function depends on."""

import importlib
import sys

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
