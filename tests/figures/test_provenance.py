"""Digests of the code behind numbers: they change when the code does, and not with comments, docstrings or pictures."""

import sys
from types import ModuleType

import pytest

from figures.provenance import ROOMS, numbers_digest, sources_digest

FIGURE = '''"""A figure."""

from rmt import law
from figures.shown_picture import draw


def data(settings):
    """The numbers."""
    text = "# no comment"
    return law.value(2)  # twice
'''


@pytest.fixture
def project(tmp_path, monkeypatch):
    files = {
        "figures/__init__.py": "",
        "figures/shown.py": FIGURE,
        "figures/shown_picture.py": "def draw(table): return 1\n",
        "figures/other.py": "x = 1\n",
        "rmt/__init__.py": "",
        "rmt/law.py": "def value(n):\n    from .deep import factor\n    return factor * n\n",
        "rmt/deep.py": "factor = 3\n",
        **{f"{room}/__init__.py": "" for room in ROOMS},
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    data = of_a_module(monkeypatch, "invented_figure", str(tmp_path / "figures" / "shown.py"))
    return tmp_path, lambda: numbers_digest(data, tmp_path)


def of_a_module(monkeypatch, name, file=None):
    """A function whose module has a file, or none."""
    module = ModuleType(name)
    if file is not None:
        module.__file__ = file
    monkeypatch.setitem(sys.modules, name, module)

    def data(settings):
        return None

    data.__module__, data.__qualname__ = name, "data"
    return data


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("figures/shown.py", "value(2)", "value(3)"),
        ("figures/shown.py", '"# no comment"', '"# a comment"'),
        ("rmt/law.py", "factor * n", "factor + n"),
        ("rmt/deep.py", "3", "4"),
    ],
)
def test_what_the_numbers_rest_on_changes_the_digest(project, name, old, new):
    folder, digest = project
    before = digest()
    text = (folder / name).read_text()
    (folder / name).write_text(text.replace(old, new, 1))
    assert digest() != before
    (folder / name).write_text(text)
    assert digest() == before


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("figures/shown.py", '"""The numbers."""', '"""Numbers,\n\n    on two lines."""'),
        ("figures/shown.py", "  # twice", "  # two times"),
        ("figures/shown.py", "\n\n\ndef", "\n# a remark\n\ndef"),
        ("figures/shown_picture.py", "return 1", "return 2"),
        ("figures/other.py", "1", "2"),
    ],
)
def test_words_pictures_and_other_modules_do_not(project, name, old, new):
    folder, digest = project
    before = digest()
    text = (folder / name).read_text()
    assert old in text
    (folder / name).write_text(text.replace(old, new, 1))
    assert digest() == before


def test_all_sources_count_where_the_numbers_have_no_module_of_their_own(project, monkeypatch):
    folder, _ = project
    data = of_a_module(monkeypatch, "nowhere")
    assert numbers_digest(data, folder) == sources_digest(root=folder)
    before = numbers_digest(data, folder)
    (folder / "figures" / "other.py").write_text("x = 2\n")
    assert numbers_digest(data, folder) != before


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("x = 1  # one", True),
        ("x = '#'  # one", True),
        ('x = """\n#"""  # one', True),
        ('"""A # one."""\nx = 1', True),
        ("x = '# one'", False),
        ("ééé = '# one'", False),
        ("x = f'{1} # one'", False),
        ("x = f'{1:#>3}{2}'  # one", True),
        ("x = f'{1:#>3}{\"one\"}'", False),
        ('x = """ # one\n"""', False),
        ("x = ('a'  # b\n'# one')", False),
        ('x = """\n# one\n"""', False),
        ("x = b'# one'", False),
        ("x = b'#'  # one", True),
        ('x = """a\n\none"""', False),
        ('x = """a\none\n\n"""', False),
        ('x = """a one\nb"""', False),
        ("x = f'''a one\n{1}'''", False),
        ("'A'; x = 1  # one", True),
        ("'A one'; x = 1", True),
        ("'A'; x = ' one'", False),
        ("x = ' one'; 'A'", False),
        ("class one: 'A'", False),
        ("'A'  # one\nx = 1", True),
        ("x = (b'a'\n b'# one')", False),
        ('x = b"""\n# one\n"""', False),
    ],
)
def test_a_sign_within_a_string_begins_no_comment(tmp_path, text, same):
    for name, one in (("one", text), ("two", text.replace("one", "two"))):
        (tmp_path / name).mkdir()
        (tmp_path / name / "code.py").write_text(one, encoding="utf-8")
    first, second = (sources_digest(["code.py"], tmp_path / name) for name in ("one", "two"))
    assert (first == second) is same


@pytest.mark.parametrize(
    ("text", "other", "same"),
    [
        ("x = '''a\n\nb'''", "x = '''a\nb'''", False),
        ("x = '''a\n\n'''", "x = '''a\n'''", False),
        ("x = '''a \nb'''", "x = '''a\nb'''", False),
        ("x = f'''{1}\n\n'''", "x = f'''{1}\n'''", False),
        ("x = 1\n\ny = 2", "x = 1\ny = 2  ", True),
        ("def f():\n    '''A\n\n    b.'''\n    return 1", "def f():\n    '''A\n    b.'''\n    return 1", True),
        ("'A'; x = 1", "'B'; x = 2", False),
        ("x = 1; 'A'", "x = 2; 'A'", False),
        ("def f(): 'A'; return 1", "def f(): 'A'; return 2", False),
        ("class A: 'A'", "class B: 'A'", False),
        ("class A: 'A'", "class A: 'B'", True),
    ],
)
def test_ends_of_lines_in_strings_and_code_next_to_docstrings_count(tmp_path, text, other, same):
    for name, one in (("one", text), ("two", other)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "code.py").write_text(one)
    first, second = (sources_digest(["code.py"], tmp_path / name) for name in ("one", "two"))
    assert (first == second) is same


def test_a_source_is_read_in_its_own_encoding(tmp_path):
    digests = []
    for letter in ("é", "è"):
        (tmp_path / "code.py").write_text(f"# coding: latin-1\nx = '{letter}'\n", encoding="latin-1")
        digests.append(sources_digest(["code.py"], tmp_path))
    assert len(set(digests)) == 2


def test_a_file_that_moves_to_another_folder_changes_the_digest_of_sources(tmp_path):
    found = []
    for folder in ("rmt", "rmt/laws", "rmt/others"):
        root = tmp_path / folder.replace("/", "-")
        (root / folder).mkdir(parents=True)
        (root / folder / "law.py").write_text("value = 2\n")
        found.append(sources_digest(["rmt"], root))
    assert len(set(found)) == 3
    again = tmp_path / "again"
    (again / "rmt" / "laws").mkdir(parents=True)
    (again / "rmt" / "laws" / "law.py").write_text("value = 2  # the same\n")
    assert sources_digest(["rmt"], again) == found[1]
