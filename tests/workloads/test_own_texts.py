"""A user's texts: columns, layouts of folders, test texts, labels and clients."""

import json

import numpy as np
import pytest

from workloads.data.idx import DataError
from workloads.data.text_files import choose_test
from workloads.own_texts import Columns, clients_of, is_text_data, own_from, read_own, stamp_of
from workloads.partition import PartitionError
from workloads.texts import ByClient, TextSet


def rows(count, **more):
    return [{"text": f"text {n}", "label": n % 3, **{name: of(n) for name, of in more.items()}} for n in range(count)]


def write(path, records):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def test_a_fifth_is_tested_by_the_hash_of_the_published_sets(tmp_path):
    own = read_own(str(write(tmp_path / "t.jsonl", [*rows(50), *rows(10)])), Columns())
    chosen = choose_test([f"text{n}" for n in range(50)])
    expected = [f"text {n}" for n in np.flatnonzero(chosen)]
    assert set(own.test.texts) == set(expected)
    assert not {*own.test.texts} & {*own.train.texts}
    assert len(own.train.texts) + len(own.test.texts) == 60
    assert own.train.classes == ("0", "1", "2")
    assert all(int(text.split()[1]) % 3 == label for text, label in zip(own.test.texts, own.test.labels, strict=True))
    assert "are test texts, chosen by a hash" in own.notes[0]


def test_each_class_and_each_client_keeps_a_training_text(tmp_path):
    chosen = choose_test([f"text{n}" for n in range(50)])
    taken = int(np.flatnonzero(chosen)[0])
    data = rows(50, who=lambda n: "rare" if n == taken else "often")
    assert "rare" in read_own(str(write(tmp_path / "a.jsonl", data)), Columns(client="who")).clients
    data = [{**row, "label": "rare" if n == taken else n % 2} for n, row in enumerate(rows(50))]
    own = read_own(str(write(tmp_path / "b.jsonl", data)), Columns())
    assert own.train.classes == ("0", "1", "rare")
    assert f"text {taken}" in own.train.texts


def test_labels_are_sorted_as_numbers_or_words_and_shared_with_the_test(tmp_path):
    train = write(tmp_path / "train.jsonl", [{"body": "a", "kind": kind} for kind in (10, 9.0, "-1", 9)])
    test = write(tmp_path / "more.jsonl", [{"body": "b", "kind": "9"}, {"body": "c", "kind": -1}])
    own = read_own(str(train), Columns(text="body", label="kind"), str(test))
    assert own.train.classes == own.test.classes == ("-1", "9", "10")
    assert own.train.labels.tolist() == [2, 1, 0, 1]
    assert own.test.labels.tolist() == [1, 0]
    assert own.notes == ()


@pytest.mark.parametrize(
    ("columns", "row", "prompts", "answers"),
    [
        (Columns(), {"prompt": "p", "answer": "a"}, "p", "a"),
        (Columns(answer="reply"), {"prompt": "p", "reply": "a"}, "p", "a"),
        (Columns(answer="text"), {"text": "a", "label": 1}, "", "a"),
        (Columns(prompt="ask,input", answer="reply"), {"ask": "i", "input": "x", "reply": "o"}, "i\nx", "o"),
        (Columns(prompt="ask, input", answer="reply"), {"ask": "i", "input": None, "reply": "o"}, "i", "o"),
        (Columns(prompt="a,b", answer="reply"), {"a,b": "i", "reply": "o"}, "i", "o"),
    ],
)  # fmt: skip
def test_prompts_and_answers(columns, row, prompts, answers):
    own = own_from(([row], [row]), "my:texts", columns)
    assert own.train.texts == (prompts,)
    assert own.train.answers == (answers,)
    assert own.train.classes == ()


@pytest.mark.parametrize("kind", ["beside", "inside"])
def test_a_folder_has_one_file_for_each_client(tmp_path, kind):
    where = tmp_path if kind == "beside" else tmp_path / "train"
    for number, name in enumerate(["site10", "site9", "anna"]):
        write(where / f"{name}.jsonl", [{"text": f"{name} {n}", "label": n % 2} for n in range(2 + number)])
    (where / "notes.md").write_text("not texts")
    test = write(tmp_path / "test.jsonl" if kind == "beside" else tmp_path / "test" / "any.jsonl", rows(2))
    assert is_text_data(str(tmp_path))
    assert clients_of(str(tmp_path), None) == ("anna", "site9", "site10")
    own = read_own(str(tmp_path), Columns(), str(write(tmp_path / "hidden" / "t.jsonl", rows(1))))
    assert own.clients == ("anna", "site9", "site10")
    assert [own.clients[n] for n in own.train.origins] == [text.split()[0] for text in own.train.texts]
    assert ByClient().parts(own.train.origins, 3, 0).sizes.tolist() == [4, 3, 2]
    with pytest.raises(PartitionError, match="those of 3 clients, got 2: give --clients 3, or --partition by-source"):
        ByClient().parts(own.train.origins, 2, 0)
    assert own.test.texts == ("text 0",)
    before = stamp_of(str(tmp_path))
    write(test, rows(3))
    assert stamp_of(str(tmp_path)) != before


def test_a_folder_with_a_training_and_a_test_file_names_no_clients(tmp_path):
    write(tmp_path / "train.jsonl", rows(6))
    write(tmp_path / "validation.jsonl", rows(2))
    write(tmp_path / "test.jsonl", rows(3))
    own = read_own(str(tmp_path), Columns())
    assert (len(own.train.texts), len(own.test.texts), own.clients) == (6, 3, ())
    assert clients_of(str(tmp_path), None) == ()
    write(tmp_path / "anna.jsonl", rows(2))
    with pytest.raises(
        DataError, match=r"has train.jsonl and also anna.jsonl; put the files of clients into the folder"
    ):
        read_own(str(tmp_path), Columns())


def test_names_that_are_not_texts(tmp_path):
    (tmp_path / "cat").mkdir()
    assert not is_text_data(str(tmp_path))
    write(tmp_path / "labels.jsonl", rows(2))
    assert is_text_data(str(tmp_path))
    for image in (tmp_path / "cat" / "1.PNG", tmp_path / "train" / "cat" / "1.png"):
        image.parent.mkdir(parents=True, exist_ok=True)
        image.touch()
        assert not is_text_data(str(tmp_path))
        image.unlink()
    assert not is_text_data("mnist")
    assert not is_text_data("module:texts.jsonl")
    assert is_text_data("nowhere.csv")


def test_functions_return_tables_splits_or_text_sets():
    train, test = rows(6), rows(3)
    for given in ((train, test), {"train": train, "test": test}, {"train": train, "validation": test}):
        own = own_from(given, "my:texts", Columns())
        assert (len(own.train.texts), len(own.test.texts)) == (6, 3)
    columns = {"text": [row["text"] for row in rows(40)], "label": [row["label"] for row in rows(40)]}
    own = own_from(columns, "my:texts", Columns())
    assert len(own.train.texts) + len(own.test.texts) == 40
    assert own_from((own.train, own.test), "my:texts", Columns()).train is own.train
    with pytest.raises(DataError, match="must return two TextSets"):
        own_from(own.train, "my:texts", Columns())
    assert isinstance(own.test, TextSet)


@pytest.mark.parametrize(
    ("train", "columns", "message"),
    [
        ([{"a": "x", "b": "y"}] * 2, {}, "has the columns a, b: name those of the texts and their classes"),
        (rows(4), {"text": "body"}, "has no column 'body'; its columns are text, label: name one with --text"),
        (rows(4), {"label": "kind"}, "has no column 'kind'; .*: name one with --label"),
        (rows(4), {"client": "who"}, "has no column 'who'; .*: name one with --client"),
        (rows(4), {"prompt": "text, asked"}, "has no column 'asked'; .*: name one with --prompt"),
        (rows(4), {"answer": "said"}, "has no column 'said'; .*: name one with --answer"),
        ([{"text": "a", "label": 1}] * 4, {}, "all training texts of .* have the label '1'; a classifier needs two"),
        ([*rows(4), {"text": " ", "label": 1}], {}, "row 4: text is empty; write a text there, or remove the row"),
        ([*rows(4), {"text": 3, "label": 1}], {}, "row 4: text must be a text, got 3"),
        ([*rows(4), {"text": "a", "label": 0.5}], {}, "the label in label must be a text or a whole number, got 0.5"),
        ([*rows(4), {"text": "a", "label": None}], {}, "row 4: the label in label must be .*, got None"),
        ([*rows(4), {"text": "a", "label": ""}], {}, "row 4: the label in label must be .*, got ''"),
        ([*rows(4), {"text": "a\ud800", "label": 1}], {}, "row 4: text has half of a surrogate pair"),
        ([*rows(4), {"text": "a"}], {}, "row 4: the field 'label' is missing"),
        (rows(4, client=lambda n: [n]), {"client": "client"}, r"row 0: the client must be a text or .*, got \[0\]"),
        (rows(4, client=lambda n: 2.0**53 + n), {"client": "client"},
         "row 0: the client is the floating-point number 9007199254740992, which may have been rounded"),
        ([*rows(4), {"text": "a", "label": -(2.0**53)}], {}, "row 4: the label in label is the floating-point number"),
    ],
)  # fmt: skip
def test_faults_name_the_row_and_the_remedy(train, columns, message):
    with pytest.raises(DataError, match=message) as raised:
        own_from((train, rows(3)), "my:texts", Columns(**columns))
    assert "\n" not in str(raised.value)


def test_whole_numbers_name_clients_exactly():
    for numbers in ([2**53 + 1, 2**53], [2.0**53 - 1, 2.0**53 - 2]):
        given = rows(20, client=lambda n, numbers=numbers: numbers[n % 2])
        own = own_from((given, rows(3)), "my:texts", Columns(client="client"))
        assert own.clients == tuple(str(int(number)) for number in sorted(numbers))


def test_a_split_that_is_no_test_set_is_not_left_out():
    with pytest.raises(DataError, match=r"my:texts returns 'train' with 'dev', of which none is a test set; name it"):
        own_from({"train": rows(40), "dev": rows(3)}, "my:texts", Columns())
    assert own_from({"train": rows(6), "valid": rows(3), "extra": rows(2)}, "my:texts", Columns()).train.texts


def test_faults_of_test_texts(tmp_path):
    with pytest.raises(DataError, match=r"row 1: no training text has the label '7'; the training labels are 0, 1, 2"):
        own_from((rows(6), [*rows(1), {"text": "a", "label": 7}]), "my:texts", Columns())
    with pytest.raises(DataError, match=r"has 3 texts, and each class and client keeps one for training.*--test-data"):
        own_from(rows(3), "my:texts", Columns())
    with pytest.raises(DataError, match=r"name one of the two"):
        Columns(text="a", answer="b")
    path = str(write(tmp_path / "t.jsonl", rows(6)))
    with pytest.raises(DataError, match="is one of the training files; name another test file"):
        read_own(path, Columns(), path)


def test_a_label_that_comes_back_with_another_takes_no_further_text_out_of_the_test():
    """Both texts of b are test texts by their hash; the one that a shares with it goes back to training, once."""
    words = [f"word{number}" for number in range(60)]
    one, other = [word for word, hit in zip(words, choose_test(words), strict=True) if hit][:2]
    calm = [word for word, hit in zip(words, choose_test(words), strict=True) if not hit][:3]
    given = [(one, "a"), (other, "b"), (one, "b"), *((word, "c") for word in calm)]
    own = own_from([{"text": text, "label": label} for text, label in given], "my:texts", Columns())
    assert own.test.texts == (other,)
    assert own.train.texts == (one, one, *calm)


def test_test_texts_that_a_hash_chooses_stay_with_their_clients():
    names = [f"client{number % 3}" for number in range(60)]
    given = [{"text": f"word {k}", "label": str(k % 2), "client": name} for k, name in enumerate(names)]
    own = own_from(given, "my:texts", Columns(client="client"))
    assert len(own.test.texts) > 3
    for split in (own.train, own.test):
        for text, origin in zip(split.texts, split.origins, strict=True):
            assert own.clients[origin] == names[int(text.split()[1])]


@pytest.mark.parametrize("name", ["anna", "ben"])
def test_a_test_file_is_none_of_the_training_files(tmp_path, name):
    for client in ("anna", "ben"):
        lines = [json.dumps({"text": f"{client} {k}", "label": str(k % 2)}) for k in range(4)]
        (tmp_path / f"{client}.jsonl").write_text("\n".join(lines))
    with pytest.raises(DataError, match=f"{name}.jsonl is one of the training files; name another test file"):
        read_own(str(tmp_path), Columns(), str(tmp_path / f"{name}.jsonl"))
