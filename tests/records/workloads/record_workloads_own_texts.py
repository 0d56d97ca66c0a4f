"""Records of a user's own texts: tables of each kind, layouts of folders, columns, clients, and what is refused."""

import json
import math
import os

import numpy as np
from hidden_folder import folder
from recording import refused

from workloads.data.text_tables import ENDINGS, Table, join, read_table, table_of
from workloads.own_texts import Columns, clients_of, is_text_data, own_from, read_own, stamp_of

ROWS = [{"text": f"text number {n}", "label": ("ham", "spam", "eggs")[n % 3], "who": n % 4} for n in range(20)]
TALKS = [{"prompt": f"ask {n}", "answer": f"say {n}", "more": None if n % 2 else f"ctx {n}"} for n in range(12)]


def _lines(rows):
    return "\n".join(map(json.dumps, rows)) + "\n"


def _set(one):
    return (
        one.name,
        one.split,
        one.texts,
        one.labels,
        one.classes,
        one.origins,
        one.origin_names,
        one.answers,
        one.copies,
    )


def _own(found):
    return _set(found.train), _set(found.test), found.clients, found.notes


def _table(table):
    return table.columns, [dict(row) for row in table.rows], list(table.lines), dict(table.classes)


FILES = {
    "lines.jsonl": '\ufeff{"text": "a", "n": 1}\n\n  {"text": "b", "x": null}\r\n',
    "bad.jsonl": '{"text": "a"}\n{"text": }\n',
    "twice.jsonl": '{"a": 1, "b": 2, "a": 3}\n',
    "list.jsonl": "[1]\n",
    "empty.jsonl": "\n\n",
    "rows.json": '[{"text": "a"}, {"label": 2}]',
    "bad.json": '[{"text": "a"},\n }]',
    "one.json": '{"text": "a"}',
    "mixed.json": '[{"text": "a"}, 3]',
    "none.json": "[]",
    "lines.json": '{"text": "a"}\n{"text": "b"}',
    "plain.csv": 'text,label\n"a, ""b""",1\n\n"two\nlines",0\nlast,2\n',
    "short.csv": "text,label\na,1\nb\n",
    "twice.csv": "text,text\na,b\n",
    "quote.csv": 'text,label\n"a"b,1\n',
    "header.csv": "text,label\n",
    "empty.csv": "",
    "open.csv": 'text,label\na,"b\n',
    "tabs.TSV": "text\tlabel\na,b\t1\n",
    "long.tsv": "a\tb\n1\t2\t3\n",
    "other.txt": "text",
}


def tables_of_files():
    with folder() as (place, hide):
        for name, text in FILES.items():
            (place / name).write_text(text, encoding="utf-8")
            yield (
                name,
                hide(refused(lambda name=name: _table(read_table(place / name))))
                if name != "other.txt"
                else "KeyError",
            )
        (place / "latin.csv").write_bytes("text,label\nok,1\ncafé,2\n".encode("latin1"))
        yield hide(refused(read_table, place / "latin.csv")), hide(refused(read_table, place / "missing.csv")), ENDINGS


def nested_too_deeply():
    with folder() as (place, hide):
        (place / "deep.jsonl").write_text('{"text": "a"}\n' + "[" * 200_000)
        yield hide(refused(read_table, place / "deep.jsonl"))


class _Series(list):
    def to_frame(self):
        return None

    index = None


class _Index(list):
    def equals(self, other):
        return self == other


def _series(values, index):
    found = _Series(values)
    found.index = _Index(index)
    return found


def tables_in_memory():
    for given in (
        [{"text": "a", "label": np.int64(1)}, {"text": "b"}],
        {"text": ["a", "b"], "label": np.array([1, 0])},
        {"text": ["a"], "label": [1, 2]},
        {},
        [],
        {"text": []},
        [3],
        "text",
        3,
        {"text": "ab"},
        {"text": {"a": 1}},
        {"text": {"a"}},
        {1: ["a"], "1": ["b"]},
        [{1: 2, "1": 3}],
        {"text": 3},
        ({"text": "a"},),
        {"a": _series([1, 2], [0, 1]), "b": _series([3, 4], [1, 0])},
        {"a": _series([1, 2], [0, 1]), "b": _series([3, 4], [0, 1])},
    ):
        yield refused(lambda given=given: _table(table_of(given, "my:data")))
    table = Table("t", ("a",), [{"a": 1}], ["row 0"], {})
    yield table_of(table, "x") is table


class _Feature:
    def __init__(self, names=None):
        self.names = names


class _Data(dict):
    column_names = ("text", "label")

    @property
    def features(self):
        return {"text": _Feature(), "label": _Feature(["no", "yes"])}


class _Frame(dict):
    columns = ("text", 1)

    def to_dict(self):
        return {}


def tables_of_libraries():
    yield (
        _table(table_of(_Data(text=["a", "b"], label=[1, 0]), "d")),
        _table(table_of(_Frame({"text": np.array(["a"]), 1: np.array([2.5])}), "f")),
    )
    splits = _Data(train=1, test=2)
    splits.column_names = {"train": [], "test": []}
    yield refused(table_of, splits, "d")


def columns_of_tables():
    table = table_of([{"a": 1, "b": 2}, {"a": 3}], "t")
    yield table.values("a"), refused(table.values, "b"), refused(table.values, "c"), refused(table.values, "c", "label")
    one, other = (
        Table("x/one.csv", ("a",), [{"a": 1}], ["line 2"], {"a": ["k"]}),
        Table("x/two.csv", ("b", "a"), [{"b": 1, "a": 2}], ["line 3"], {}),
    )
    yield _table(join([one, other], "both")), join([one], "x") is one, join([one, other], "both").name


def names_of_columns():
    for options in (
        {},
        {"text": "t"},
        {"label": "l"},
        {"prompt": "p"},
        {"answer": "a"},
        {"text": "t", "answer": "a"},
        {"label": "l", "prompt": "p"},
        {"client": "c"},
    ):
        for names in (
            ("text", "label"),
            ("prompt", "answer"),
            ("text", "label", "prompt", "answer"),
            ("text", "answer"),
        ):
            yield refused(
                lambda options=options, names=names: Columns(**options).is_causal(Table("t", names, [], [], {}))
            )


def classified_texts_of_a_file():
    with folder() as (place, hide):
        (place / "mails.jsonl").write_text(_lines(ROWS))
        yield _own(read_own(str(place / "mails.jsonl"), Columns()))
        found = read_own(str(place / "mails.jsonl"), Columns(client="who"))
        yield (
            found.clients,
            found.train.origins,
            found.test.origins,
            found.notes,
            found.train.origin_names,
            clients_of(str(place / "mails.jsonl"), "who"),
            clients_of(str(place / "mails.jsonl"), None),
        )
        (place / "held.csv").write_text("text,label\nx,spam\ny,ham\n")
        yield (
            _own(read_own(str(place / "mails.jsonl"), Columns(), str(place / "held.csv")))[1:],
            hide(refused(read_own, str(place / "mails.jsonl"), Columns(), str(place / "mails.jsonl"))),
        )
        (place / "held.csv").write_text("text,label\nx,other\n")
        yield hide(refused(read_own, str(place / "mails.jsonl"), Columns(), str(place / "held.csv")))


def answers_of_tables():
    yield (
        _own(own_from(TALKS, "m:f", Columns())),
        _set(own_from(TALKS, "m:f", Columns(prompt="prompt, more")).train)[2],
        own_from([{"answer": str(n)} for n in range(9)], "m:f", Columns(answer="answer")).train.texts,
    )
    yield (
        refused(own_from, TALKS, "m:f", Columns(prompt="none")),
        refused(own_from, [{"prompt": "a", "answer": ""}], "m:f", Columns()),
        refused(own_from, [{"prompt": 3, "answer": "b"}], "m:f", Columns()),
    )


def splits_in_memory():
    train, test = ROWS[:6], ROWS[6:9]
    for given in (
        (train, test),
        {"train": train, "validation": test},
        {"train": train, "test": test, "val": train},
        {"train": train, "extra": test},
        {"train": train},
        {"text": ["a"] * 9, "label": ["x", "y", "z"] * 3},
    ):
        yield refused(lambda given=given: _own(own_from(given, "m:f", Columns())))
    whole = own_from((train, test), "m:f", Columns())
    yield (
        own_from((whole.train, whole.test), "m:f", Columns()).train is whole.train,
        refused(own_from, (whole.train, test), "m:f", Columns()),
        refused(own_from, whole.train, "m:f", Columns()),
    )


def labels_of_tables():
    for labels in (
        ["a", "a", "a"],
        [1, 2, 1],
        [1.0, 2.0, 1.0],
        [2.0**53, 1.0, 2.0],
        [2.0**53 - 1, 1.0, 2.0],
        [1.5, 1.0, 2.0],
        [True, False, True],
        [None, "a", "b"],
        [" ", "a", "b"],
        [math.nan, 1.0, 2.0],
        ["10", "9", "-1"],
        [["x" * 90], "a", "b"],
        ["z10", "z9", "z"],
    ):
        rows = [{"text": f"t{n}", "label": label} for n, label in enumerate(labels)]
        yield refused(
            lambda rows=rows: (
                own_from((rows, rows[:1]), "m", Columns()).train.classes,
                own_from((rows, rows[:1]), "m", Columns()).train.labels,
            )
        )
    data = _Data(text=[f"t{n}" for n in range(40)], label=[0, 1] * 20)
    yield own_from(data, "m", Columns()).train.classes, own_from((data, data), "m", Columns()).train.labels
    many = [{"text": f"t{n}", "label": f"class {n}"} for n in range(12)]
    yield (
        refused(own_from, (many, [{"text": "x", "label": "?"}]), "m", Columns()),
        refused(own_from, (many[:10], [{"text": "x", "label": "?"}]), "m", Columns()),
        refused(own_from, [{"text": f"{n}", "label": f"{n}"} for n in range(4)], "m", Columns()),
    )


def texts_that_are_refused():
    for text in (3, None, "", "  ", "\ud800", "x\udc00y"):
        yield refused(lambda text=text: own_from([{"text": text, "label": "a"}], "m", Columns()))


def folders_of_texts():
    for files in (
        {"train.jsonl": ROWS[:9], "test.jsonl": ROWS[9:12]},
        {"anna.jsonl": ROWS[:8], "ben2.jsonl": ROWS[8:12], "ben10.jsonl": ROWS[12:]},
        {"anna.jsonl": ROWS[:8], "ben.jsonl": ROWS[8:], "valid.jsonl": ROWS[:2]},
        {"Train/a.jsonl": ROWS[:8], "Train/b.jsonl": ROWS[8:], "test/x.jsonl": ROWS[:1], "test/y.jsonl": ROWS[1:2]},
        {"train.jsonl": ROWS, "more.jsonl": ROWS},
        {"test.jsonl": ROWS},
        {".hidden.jsonl": ROWS},
        {"only.jsonl": ROWS},
    ):
        with folder() as (place, hide):
            for name, rows in files.items():
                (place / name).parent.mkdir(exist_ok=True)
                (place / name).write_text(_lines(rows))
            yield (
                list(files),
                is_text_data(str(place)),
                hide(refused(clients_of, str(place), None)),
                hide(
                    refused(
                        lambda place=place: [
                            len(one.texts)
                            for one in (read_own(str(place), Columns()).train, read_own(str(place), Columns()).test)
                        ]
                    )
                ),
            )
            found = refused(read_own, str(place), Columns())
            yield (
                hide(found)
                if isinstance(found, str)
                else (found.train.origins, found.clients, found.train.name == place.name)
            )
            yield hide(refused(lambda place=place: len(stamp_of(str(place)))))


def stamps_of_changed_files():
    with folder() as (place, _):
        file, other = place / "a.jsonl", place / "b.jsonl"
        file.write_text(_lines(ROWS[:2]))
        os.utime(file, ns=(5, 7))
        before = stamp_of(str(file))
        for text, time, test in (
            (_lines(ROWS[:2]), 7, None),
            (_lines(ROWS[:2]), 8, None),
            (_lines(ROWS[:3]), 7, None),
            (_lines(ROWS[:2]), 7, str(other)),
        ):
            file.write_text(text)
            os.utime(file, ns=(5, time))
            yield stamp_of(str(file), test) == before, len(stamp_of(str(file), test))
        file.rename(place / "c.jsonl")
        yield stamp_of(str(place / "c.jsonl")) == before, refused(lambda: len(stamp_of(str(place))))


def names_of_text_data():
    with folder() as (place, _):
        (place / "labels.csv").write_text("x")
        (place / "cat").mkdir()
        yield is_text_data(str(place))
        (place / "cat" / "1.png").write_text("")
        yield (
            is_text_data(str(place)),
            is_text_data(str(place / "cat")),
            [
                is_text_data(name)
                for name in ("mails.jsonl", "mails.JSON", "mnist", "m:texts", "m:x.csv", "m.txt", "\0.csv")
            ],
            len(stamp_of(str(place / "labels.csv"), str(place / "no.csv"))),
            stamp_of(str(place / "no.csv"), None)[0][0] == str(place / "no.csv"),
        )


def labels_at_borders():
    for label in (-(2.0**53), -(2.0**53) + 1, 2**60, 0.0, -0.0):
        rows = [{"text": f"t{n}", "label": one} for n, one in enumerate((label, 7, 8))]
        yield refused(lambda rows=rows: own_from((rows, rows), "m", Columns()).train.classes)
    for size in (55, 56, 57, 58):
        rows = [{"text": "a", "label": ["x" * size]}]
        yield refused(own_from, (rows, rows), "m", Columns())
    many = [{"text": f"t{n}", "label": f"class {n}"} for n in range(11)]
    yield refused(own_from, (many, [{"text": "x", "label": "?"}]), "m", Columns())
    few = [{"text": f"text {n}", "label": "ab"[n == 5], "who": "xy"[n > 2]} for n in range(30)]
    found = own_from(few, "m", Columns(client="who"))
    yield found.train.texts, found.test.labels, found.test.origins, found.clients


def clients_that_would_lose_all_texts():
    first = [("x", 3), ("y", 9), ("y", 3), ("z", 1), ("z", 15)]
    for order in (first, first[::-1], [("x", 3), ("x", 9), ("y", 11), ("z", 1), ("z", 15)]):
        rows = [{"text": f"text number {n}", "label": "ab"[n == 1], "who": who} for who, n in order]
        found = own_from(rows, "m", Columns(client="who"))
        yield found.train.texts, found.train.origins, found.test.texts, found.test.origins, found.notes
