"""Figures in general: settings, streams, ids, pieces, style, tables from CSV, captions, digests, stored numbers."""

import hashlib
import json
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
from drawings import figures_of
from matplotlib.figure import Figure as Picture
from recording import refused

from figures import code_digest, provenance
from figures.experiments.differences import Difference
from figures.figure import DataChoice, Figure, Settings
from figures.ledger import select
from figures.make import _caption_with_origin, _differences, read_table, render
from figures.pieces import piece
from figures.stored_numbers import stored_numbers, stored_seconds, stored_settings
from figures.style import STYLE, dimension, plain_log_ticks, set_headline

FIGURE = Figure(
    "a/b",
    "Title",
    "Caption.",
    lambda s: None,
    lambda t: Picture(),
    lambda t: "Headline",
    lambda t: "Found.",
    lambda t: "3 rows.",
    ("mnist",),
)


def streams_of_purposes():
    for seed in (0, 5):
        for purpose in (("a",), ("a", 1), ("a", "1"), ("b", 1), ("a\n1",), ()):
            yield Settings(seed=seed).rng(*purpose).integers(1000, size=3)


def settings_refused():
    for options in ({"scale": "large"}, {"seed": -1}, {"seed": True}, {"seed": 1.0}, {"seed": 0}, {"scale": "paper"}):
        found = refused(Settings, **options)
        yield found if isinstance(found, str) else [found.scale, found.seed]
    yield Settings(data_root=Path("x")).place, Settings().place, Settings().sizes({"quick": 1, "laptop": 2})
    yield refused(Settings().check_device), refused(Settings(device="nowhere").check_device)


def reports_and_announcements():
    said = []
    (
        Settings(progress=said.append).report("a"),
        Settings(notify=said.append).announce("b"),
        Settings().report("c"),
        Settings().announce("d"),
    )
    return said


def choices_and_slugs():
    chosen = replace(FIGURE, choose=lambda settings: DataChoice((settings.scale,), "note"))
    return FIGURE.data_choice(Settings()), chosen.data_choice(Settings("paper")), FIGURE.slug


def figures_by_id():
    yield [one.id for one in select()], [one.id for one in select(("rmt/", "fedloru/fig-1", "rmt/spectrum"))]
    for id in ("rmt", "transition", "x/transition", "rmt/transitoin", "", "zzzz", "rmt/x/"):
        yield refused(select, [id])


def words_of_figures():
    for one in select():
        caption = hashlib.sha256(one.caption.encode()).hexdigest()[:12]
        kinds = f"{one.datasets} {one.quick_decides} {one.in_paper}"
        yield f"{one.id}: {one.title} | {caption} | {kinds} | {dict(one.conventions)} {dict(one.printed)}"


def saved_pieces():
    calls = []

    def rows():
        calls.append(1)
        return [{"x": np.float64(0.5), "n": np.int64(3), "t": "a", "b": np.bool_(True)}]

    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(pieces=Path(folder) / "p")
        yield (
            piece(Settings(), "a", rows),
            piece(settings, "a", rows),
            piece(settings, "a", rows),
            piece(settings, "b", rows),
            len(calls),
        )
        for path in sorted(settings.pieces.glob("*.json")):
            yield path.name, path.read_text()
            path.write_text('{"name": "c", "rows": []}')
        yield piece(settings, "a", rows), len(calls), refused(piece, settings, "d", lambda: [{"x": object}])


def headlines_on_pictures():
    for text, below in (("Short", ""), ("word " * 40, ""), ("word " * 30, "smaller " * 40), ("Short", "scale")):
        picture = Picture(figsize=(7.0, 3.0))
        set_headline(picture, text, below)
        yield picture.get_suptitle(), [one.get_text() for one in picture.texts], picture._suptitle.get_position()[0]
        yield [
            [one.get_fontsize(), one.get_color(), one.get_ha()]
            for one in (*picture.texts, *picture.get_children())
            if hasattr(one, "get_fontsize")
        ]


def ticks_of_short_axes():
    for subs in ((1.0, 2.0, 5.0), (1.0,)):
        axes = Picture().subplots()
        axes.set(xscale="log", xlim=(1, 90))
        plain_log_ticks(axes.xaxis, subs)
        yield (
            axes.get_xticks(),
            [axes.xaxis.get_major_formatter()(value, 0) for value in (0.5, 20.0, 1e6)],
            len(axes.xaxis.get_minorticklocs()),
        )


def dimensions_in_words():
    return [dimension(R) for R in (1, 9, 10, 11, 100, 999, 1000, 1001, 20_000, 10**12, 123_456_789)]


def style():
    return STYLE


def picture_of_a_figure():
    picture = FIGURE.picture(None, "below")
    found = render(lambda: FIGURE.picture(None), ("svg",))["svg"].decode()
    return picture.get_suptitle(), "<!--" in found, "\n " in found, "Date" in found, list(render(lambda: Picture(), ()))


def tables_from_text():
    for csv in (
        *(
            "a,b\n1,2.5\n-3,nan\n",
            "a\n01\n2\n",
            "a\n9223372036854775807\n1\n",
            "a\n9223372036854775808\n1\n",
            "a\n-9223372036854775808\n",
        ),
        *(
            "a\nTrue\nFalse\n",
            "a\nTrue\n1\n",
            'a,b\n"x, y",inf\nNA,-inf\n',
            "a\n1e5\n1.5e-07\n",
            "a\n-0\n",
            "a\n+1\n",
            "a\n.5\n",
            "a\n1.\n",
            "a,b\n",
        ),
    ):
        table = read_table(csv)
        yield [
            [name, str(table[name].dtype) in ("int64", "float64", "bool"), [str(value) for value in table[name]]]
            for name in table
        ]


def captions_with_origin():
    entry = {"identity": {"data": [{"title": "MNIST"}], "sources_sha256": "0123456789abcdef"}, "note": ""}
    table = pd.DataFrame({"x": [1]})
    for stored, stale in ((False, False), (True, False), (True, True)):
        yield _caption_with_origin(FIGURE, Settings("laptop", 3), table, entry, stored, stale)
    entry = {"identity": {"data": [], "sources_sha256": ""}, "note": "A note"}
    rows = [("choice", "m", 99, rate, 2, value, 0, 0) for rate, value in ((0.1, 0.5), (0.3, 0.503))]
    rows += [
        ("run", "m", 0, 0.3, 5, 0.5, 0, 0),
        ("run", "m", 1, 0.3, 5, float("nan"), 0, 1),
        ("run", "n", 0, 0.3, 5, 0.5, 0, 0),
    ]
    table = pd.DataFrame(rows, columns=["stage", "method", "seed", "rate", "round", "value", "bytes", "failed"])
    yield _caption_with_origin(FIGURE, Settings(), table, entry, False, False)


def differences_in_captions():
    figure = select(["fedlrt/fig-8"])[0]
    kept = [
        {"option": name, "setting": name, "printed": printed, "run": run}
        for name, printed, run in (("batch", "256", "32"), ("warm start", "x", "y"))
    ]
    yield _differences(FIGURE, Settings(), None), _differences(figure, Settings(), kept)
    yield _differences(select(["fedlrt/fig-1"])[0], Settings(), []), Difference("a", "a", "b", "c")


MANIFEST = {
    "figure": "a/b",
    "scale": "laptop",
    "seed": 1,
    "device": "cpu",
    "data": [{"title": "MNIST"}],
    "packages": {},
    "sources_sha256": "ab",
    "python": "3",
    "platform": "x",
    "processors": 2,
    "seconds_for_the_numbers": 12.5,
    "differences": [{"option": "o", "setting": "s", "printed": "p", "run": "r", "more": 1}],
}


def numbers_that_are_stored():
    with tempfile.TemporaryDirectory() as name:
        folder, settings = Path(name), Settings("laptop", 1)
        yield (
            stored_numbers(FIGURE, settings, folder),
            stored_seconds(FIGURE, "laptop", folder),
            stored_settings(FIGURE, folder),
        )
        (folder / "a-b.csv").write_text("x\n1\n")
        manifest = {**MANIFEST, "files": {"a-b.csv": hashlib.sha256(b"x\n1\n").hexdigest()}}
        for change in (
            {},
            {"data_note": "note"},
            {"files": {"a-b.csv": "0"}},
            {"data_note": 3},
            {"files": {}},
            {"data": [{"title": 1}]},
        ):
            (folder / "a-b.manifest.json").write_text(json.dumps({**manifest, **change}))
            found = refused(stored_numbers, FIGURE, settings, folder)
            yield found.replace(str(folder), "FOLDER") if isinstance(found, str) else found
        (folder / "a-b.manifest.json").write_text(json.dumps(manifest))
        for other in (Settings("quick", 1), Settings("laptop", 0), Settings("laptop", 1, "cuda")):
            yield stored_numbers(FIGURE, other, folder)
        yield stored_seconds(FIGURE, "laptop", folder), stored_seconds(FIGURE, "quick", folder)
        kept = stored_settings(FIGURE, folder)
        yield (
            kept.scale,
            kept.seed,
            kept.device,
            [stored_settings(one) is None for one in select(("rmt/", "rolora/angle"))],
        )


SOURCES = {
    "room/__init__.py": "",
    "room/a.py": '"""Words."""\nfrom room.b import helper, unused\nfrom room.cost import price\n'
    "import math\n\nLEVEL = 3  # comment\n\n\n"
    'def data(settings: int) -> float:\n    """Words."""\n    return helper(LEVEL) + math.pi + price\n',
    "room/b.py": "from room.c import deep\n\n\ndef helper(x):\n    return deep(x) * 2\n\n\n"
    "def unused(x):\n    return x\n",
    "room/c.py": "FACTOR = 5\n\n\ndef deep(x):\n    return FACTOR * x\n\n\nclass Other:\n    pass\n",
    "room/cost.py": "price = 1\n",
    "room/d.json": "{}",
}
CHANGES = (
    *(("room/cost.py", "= 1", "= 2"), ("room/a.py", "-> float", "-> int")),
    *(
        ("room/a.py", "# comment", "# other"),
        ("room/a.py", "Words.", "Letters."),
        ("room/a.py", ": int", ": float"),
        ("room/a.py", "LEVEL = 3", "LEVEL = 4"),
    ),
    *(
        ("room/b.py", "* 2", "* 3"),
        ("room/b.py", "return x\n", "return -x\n"),
        ("room/c.py", "FACTOR = 5", "FACTOR = 6"),
        ("room/c.py", "    pass", "    x = 1"),
    ),
    *(
        ("room/c.py", "class Other", "print()\nclass Other"),
        ("room/a.py", "math.pi", "math.e"),
        ("room/d.json", "{}", "[]"),
    ),
)


def _write(root, change=None):
    for name, text in SOURCES.items():
        path = Path(root, name)
        path.parent.mkdir(exist_ok=True)
        path.write_text(text.replace(change[1], change[2]) if change and change[0] == name else text)


def digests_of_definitions():
    seen = []
    for change in (None, *CHANGES):
        with tempfile.TemporaryDirectory() as root:
            _write(root, change)
            place = Path(root).resolve()
            project = code_digest._Project(("room",), place)
            texts, references, waiting = {}, {}, [(place / "room/a.py", "data")]
            while waiting:
                at = waiting.pop()
                if at not in texts:
                    texts[at], references[at] = code_digest._definition(project, *at, at[0].stat().st_mtime_ns)
                    waiting += [other for _, other in references[at]]
            digest = code_digest._refine(texts, references)[place / "room/a.py", "data"].hex()
            sources = [provenance.sources_digest([name], place) for name in ("room", "room/b.py")]
            seen += [one for one in (digest, *sources) if one not in seen]
            yield change, [seen.index(one) for one in (digest, *sources)], sorted(name for _, name in texts)


def texts_of_values():
    value = code_digest._Value(Path("/nowhere"))
    loop = [1]
    loop.append(loop)
    for one in (
        True,
        1,
        1.0,
        "1",
        b"x",
        None,
        1j,
        (1, [2.0]),
        {"a": {1}},
        np.arange(3, dtype="<i4"),
        np.float64(2.0),
        loop,
        Settings.report,
        range(3),
    ):
        yield value.describe(one)


def names_that_statements_define():
    import ast

    for text in (
        "a = 1",
        "a.b[0] = 1",
        "a, *b = c",
        "del a",
        "x = [i for i in y]",
        "def f(): g = 1",
        "import a.b as c, d.e",
        "from m import *",
        "global g",
        "match x:\n case {'a': b, **c}: pass\n case [d, *e]: pass",
        "if x:\n a = 1\n import q",
    ):
        statement = ast.parse(text).body[0]
        yield (
            text,
            list(code_digest._names_defined(statement)),
            list(code_digest._imports_at_top(statement)),
            sorted(name for name, _ in code_digest._chains(statement)),
        )


def versions_and_machine():
    found = provenance.machine()
    return (
        list(found),
        list(provenance.package_versions(("numpy", "no-such-package"))),
        provenance.package_versions(("no-such-package",)),
        provenance.ROOMS,
    )


def contents_of_files():
    with tempfile.TemporaryDirectory() as root:
        for number, text in enumerate(
            (
                'x = "a # b"  # c\n',
                '"""d"""; x = 1\n',
                "def f():\n    '''d'''\n    # c\n\n    return 1 \n",
                'x = """a  \n# b\n"""  # c\n',
                'x = 1\n"bare"  # c\ny = f"{x}#"\n',
            )
        ):
            path = Path(root, f"{number}.py")
            path.write_text(text)
            yield provenance._content(path, number).decode()


def fingerprints_of_numbers():
    return figures_of([1.0, 2.0, float("nan")]), figures_of([]), figures_of([[3.0, 1.0]])
