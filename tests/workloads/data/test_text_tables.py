"""Files and tables of a user's texts are read as they are, or refused in one line that names the place."""

import json
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from workloads.data.idx import DataError
from workloads.data.text_tables import read_table, table_of

ROWS = [{"text": "a, b\nc", "label": "1"}, {"text": 'say "x"', "label": "NA"}, {"text": "é", "label": "1"}]
QUOTED = 'text,label\r\n"a, b\nc",1\r\n\r\n"say ""x""",NA\r\né,1\r\n'


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("t.jsonl", "\n".join(json.dumps(row) for row in ROWS)),
        ("t.jsonl", "\ufeff" + "\r\n\r\n".join(json.dumps(row, ensure_ascii=False) for row in ROWS) + "\n"),
        ("t.json", json.dumps(ROWS)),
        ("t.csv", QUOTED),
        ("t.CSV", "\ufeff" + QUOTED),
        ("t.tsv", QUOTED.replace(",", "\t").replace("a\t", "a,")),
    ],
)
def test_files_of_each_kind_have_the_same_rows(tmp_path, name, content):
    (tmp_path / name).write_bytes(content.encode())
    table = read_table(tmp_path / name)
    assert table.columns == ("text", "label")
    assert table.values("text") == [row["text"] for row in ROWS]
    assert table.values("label") == ["1", "NA", "1"]


def test_lines_are_counted_as_an_editor_does(tmp_path):
    (tmp_path / "t.csv").write_bytes(QUOTED.encode())
    assert read_table(tmp_path / "t.csv").lines == ["line 2", "line 5", "line 6"]
    (tmp_path / "t.jsonl").write_text('{"a": 1}\n\n{"a": "x\u2028y"}\n')
    assert read_table(tmp_path / "t.jsonl").lines == ["line 1", "line 3"]


def test_a_long_text_is_read(tmp_path):
    (tmp_path / "t.csv").write_text(f"text,label\n{'x' * 200_000},1\n")
    assert len(read_table(tmp_path / "t.csv").values("text")[0]) == 200_000


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.jsonl", b"", "contains no texts; write one in each row"),
        ("t.json", b"[]", "contains no texts"),
        ("t.csv", b"", "is empty; write the names of the columns in its first line"),
        ("t.csv", b"text,label\n", "contains no texts"),
        ("t.csv", b"text,label\na,1\nb,c,2\n", r"line 3 has 3 fields, .* 2 columns, text, label; .* in quotes"),
        ("t.csv", b"text,label\na\n", "line 2 has 1 fields"),
        ("t.csv", b'text,label\n"a,1\n', "line 2: unexpected end of data; put texts with quotes"),
        ("t.csv", b"text,text\na,b\n", "has two columns 'text'; rename one"),
        ("t.csv", "text,label\ngood,1\ncafé,2\n".encode("latin-1"), "line 3: the file is not UTF-8; convert it"),
        ("t.jsonl", '{"text": "a"}'.encode("utf-16"), "line 1: the file is not UTF-8"),
        ("t.jsonl", b'{"text": "a"}\n{"text"\n', "line 2 is not valid JSON .*; each line is one record"),
        ("t.jsonl", b'[{"text": "a"}]\n', "line 1 is not a record"),
        ("t.jsonl", b"[" * 100_000, r"line 1 is not valid JSON \(it is nested too deeply\)"),
        ("t.json", b'{"text": "a"}\n{"text": "b"}', r"is not valid JSON .*one record in each line ends in \.jsonl"),
        ("t.json", b'{"text": ["a"]}', "must be a list of records such as"),
        (
            "t.jsonl",
            b'{"a": 1}\n{"a": 1, "b": 2, "a": 1}\n',
            r"line 2 is not valid JSON \(the field 'a' is there twice\)",
        ),
        ("t.json", b'[{"text": "a", "text": "b"}]', r"not valid JSON \(the field 'text' is there twice\)"),
        ("t.jsonl", b'{"text": ' + b"9" * 5000 + b"}", r"line 1 is not valid JSON \(Exceeds the limit .* digits"),
        ("t.parquet", b"no parquet", "pip install pyarrow, or write the texts as .jsonl|not a readable Parquet file"),
    ],
)
def test_faults_are_one_line(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match=message) as raised:
        read_table(tmp_path / name)
    assert "\n" not in str(raised.value)


def test_a_missing_file_column_or_field_is_named(tmp_path):
    with pytest.raises(DataError, match=r"nowhere.csv does not exist; name a file that ends in .jsonl, .json, .csv"):
        read_table(tmp_path / "nowhere.csv")
    (tmp_path / "t.jsonl").write_text('{"text": "a", "kind": 1}\n{"text": "b"}\n')
    table = read_table(tmp_path / "t.jsonl")
    with pytest.raises(DataError, match="has no column 'label'; its columns are text, kind"):
        table.values("label")
    with pytest.raises(DataError, match="line 2: the field 'kind' is missing, which other rows have; add it"):
        table.values("kind")


class Dataset:
    """The interface of `datasets.Dataset` that is used."""

    column_names = ("text", "label")

    def __init__(self, labels=None):
        self.features = {"text": SimpleNamespace(), "label": SimpleNamespace(names=labels)}

    def __getitem__(self, name):
        return {"text": ["a", "b", "c"], "label": [0, 1, 0]}[name]


class Column(list):
    """A column with the interface of polars that is used."""

    def to_list(self):
        return list(self)


class Frame(dict):
    """A table with the interface of polars that is used."""

    columns = ("text", "label")

    def to_dict(self):
        raise AssertionError("rows are made of columns")


@pytest.mark.parametrize(
    "given",
    [
        [{"text": "a", "label": 0}, {"text": "b", "label": 1}, {"text": "c", "label": 0}],
        [{"text": text, "label": np.int64(label)} for text, label in (("a", 0), ("b", 1), ("c", 0))],
        {"text": ("a", "b", "c"), "label": [0, 1, 0]},
        {"text": pd.Series(["a", "b", "c"], index=[5, 5, 6]), "label": pd.Series([0, 1, 0], index=[5, 5, 6])},
        {"text": pd.Index(["a", "b", "c"]), "label": pd.Index([0, 1, 0])},
        Frame(text=Column("abc"), label=Column([0, 1, 0])),
        pd.DataFrame({"text": ["a", "b", "c"], "label": [0, 1, 0]}, index=[5, 5, 6]),
        Dataset(),
        Dataset(["no", "yes"]),
    ],
    ids=["records", "numpy", "columns", "series", "index", "polars", "pandas", "datasets", "datasets with names"],
)
def test_tables_in_memory(given):
    table = table_of(given, "my:texts")
    assert table.values("text") == ["a", "b", "c"]
    assert table.values("label") == [0, 1, 0]
    assert all(type(value) is int for value in table.values("label"))
    assert table.lines[2] == "row 2"
    named = isinstance(given, Dataset) and given.features["label"].names
    assert table.classes == ({"label": ("no", "yes")} if named else {})


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (3, "my:texts is a int; return a datasets.Dataset, a pandas.DataFrame or a list of records"),
        ("text", "my:texts is a str"),
        ([], "my:texts contains no texts"),
        (["a"], "my:texts: row 0 is a str; return records"),
        ({"text": ["a"], "label": [1, 2]}, r"columns of different lengths: \{'text': 1, 'label': 2\}"),
        ({"text": "ab", "label": [1, 2]}, r"my:texts\['text'\] is a str; give a list"),
        ({"text": ["a", "b"], "label": {0: 1, 1: 2}}, r"my:texts\['label'\] is a dict; give a list"),
        ({"text": ["a", "b"], "label": {1, 2}}, r"my:texts\['label'\] is a set; give a list"),
        ({"text": ["a"], 1: [1], "1": [2]}, "my:texts has two columns '1'; rename one"),
        ([{"text": "a", 1: 1}, {"text": "a", 1: 1, "1": 2}], "my:texts: row 1 has two columns '1'"),
        (pd.DataFrame([["a", 1, 2]], columns=["text", "label", "label"]), "my:texts has two columns 'label'"),
        (pd.DataFrame([["a", 1, 2]], columns=["text", 1, "1"]), "my:texts has two columns '1'"),
        (
            {"text": pd.Series(["a", "b"], index=[0, 1]), "label": pd.Series([1, 2], index=[1, 0])},
            r"my:texts\['label'\] and my:texts\['text'\] are Series with different indices; return one pandas",
        ),
    ],
)
def test_other_tables_are_refused(given, message):
    with pytest.raises(DataError, match=message):
        table_of(given, "my:texts")
