"""Records of texts: tokens with labels and padding, readers of text files, and metrics of predictions."""

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import torch
from hidden_folder import folder
from recording import refused

from workloads.data.text_files import choose_test, essence, headlines, instructions, newsgroups, rated_sentences
from workloads.data.text_packages import RATED
from workloads.partition import Dirichlet, Even, Files
from workloads.text_metrics import CLASS_METRICS, exact_match, f1, mcc, perplexity
from workloads.texts import ByClient, BySource, TextSet, load_texts
from workloads.tokens import NO_LOSS, TokenSet, separate, terms_of, tokens


class Words:
    """A tokenizer with one token for each word: its length, between a 1 and a 2."""

    def __init__(self, pad=0, eos=9, template=None, special=(9,)):
        self.pad_token_id, self.eos_token_id, self.chat_template, self.all_special_ids = pad, eos, template, special

    def __call__(self, texts, add_special_tokens=True, padding=False, verbose=False, truncation=False, max_length=None):
        rows = [
            [1] * add_special_tokens
            + [len(word) + 10 if word != "</s>" else 9 for word in text.split()]
            + [2] * add_special_tokens
            for text in texts
        ]
        if truncation:
            rows = [row if len(row) <= max_length else [*row[: max_length - 1], 2] for row in rows]
        return {"input_ids": rows}

    def apply_chat_template(self, messages, tokenize, add_generation_prompt):
        if self.chat_template == "raise":
            raise ValueError("no  such\nrole")
        if self.chat_template == "other":
            return f"{len(messages)}"
        text = "".join(f"<{one['role']}> {one['content'] if self.chat_template != 'lost' else ''} " for one in messages)
        end = " </s> \n" if self.chat_template == "ended" and not add_generation_prompt else " \n"
        return text + ("<assistant> " if add_generation_prompt else end)


CLASSES = TextSet(
    "mails",
    "train",
    ("a bb", "ccc", "d e f g"),
    np.array([1, 0, 1]),
    ("x", "y"),
    np.array([0, 1, 0]),
    ("here", "there"),
)
ANSWERS = TextSet(
    "talks",
    "test",
    ("ask me", "what", "one two three four"),
    np.zeros(3, dtype=np.int64),
    (),
    np.array([0, 0, 0]),
    ("s",),
    ("yes", "no no no", "last"),
)


def _shown(found):
    return (
        found.input_ids,
        found.attention_mask,
        found.labels,
        found.kept,
        found.origins,
        found.truncated,
        found.dropped,
        found.count,
        found.lengths,
        found.predicted,
        found.total,
        found.causal,
    )


def tokens_of_classes():
    for length, truncate in ((6, False), (5, True), (4, True), (2, True)):
        yield _shown(tokens(CLASSES, Words(), length, truncate))
    yield (
        refused(tokens, CLASSES, Words(), 5),
        refused(tokens, CLASSES, Words(), 1),
        refused(tokens, CLASSES, Words(), 6, chat=True),
        refused(tokens, CLASSES, Words(None, None), 6),
        tokens(CLASSES, Words(None, 7), 6).input_ids[1],
    )


def tokens_of_answers():
    for length, truncate in ((8, False), (7, True), (6, True), (5, True), (3, True)):
        yield refused(lambda length=length, truncate=truncate: _shown(tokens(ANSWERS, Words(), length, truncate)))
    yield (
        refused(tokens, ANSWERS, Words(), 7),
        refused(tokens, ANSWERS, Words(eos=None), 9),
        refused(tokens, ANSWERS, Words(), 2, True),
        NO_LOSS,
    )


def tokens_of_chats():
    for template in ("plain", "ended", None, "raise", "other", "lost"):
        found = refused(lambda template=template: _shown(tokens(ANSWERS, Words(template=template), 12, chat=True)))
        yield template, found
    yield (
        refused(tokens, ANSWERS, Words(eos=None, template="plain"), 12, chat=True),
        refused(lambda: tokens(ANSWERS, Words(eos=None, template="ended"), 12, chat=True).labels[0]),
    )
    yield refused(lambda: tokens(ANSWERS, Words(template="ended", special=()), 12, chat=True).input_ids[0])


def sets_of_tokens_that_are_refused():
    ids, mask = torch.ones(2, 3, dtype=torch.int64), torch.tensor([[1, 1, 0], [1, 0, 0]])
    for options in (
        {"labels": ids},
        {"attention_mask": mask[:, :2]},
        {"kept": np.arange(3)},
        {"origins": np.zeros(1)},
        {"kept": np.arange(3), "origins": np.zeros(3)},
        {"input_ids": ids[0]},
        {"attention_mask": mask * 0},
        {"attention_mask": torch.tensor([[1, 1, 1], [0, 0, 0]])},
        {"classes": ()},
        {"classes": (), "labels": ids},
        {"count": 9},
    ):
        given = {
            "name": "n",
            "split": "s",
            "input_ids": ids,
            "attention_mask": mask,
            "labels": torch.zeros(2, dtype=torch.int64),
            "classes": ("a",),
            "origins": np.zeros(2, dtype=np.int64),
            "origin_names": ("o",),
            "kept": np.array([0, 4]),
            **options,
        }
        yield list(options), refused(lambda given=given: TokenSet(**given).total)


def divided_tokens():
    found, causal = tokens(CLASSES, Words(), 6), tokens(ANSWERS, Words(), 9)
    for rule in (BySource(), ByClient(), Even(), Dirichlet(0.5)):
        for one in (found, causal):
            yield refused(
                lambda rule=rule, one=one: [part.tolist() for part in one.divide(rule, 2 if one is found else 1, 3)]
            )
    with folder() as (place, hide):
        for client, text in enumerate(("0 3", "2")):
            (place / f"{client}.txt").write_text(text)
        for one in (found, causal, replace(found, count=4), replace(causal, count=3)):
            yield hide(refused(lambda one=one: [part.tolist() for part in one.divide(Files(str(place)), 2, 0)]))
    yield (
        terms_of(torch.tensor([[NO_LOSS, 5, 6], [5, NO_LOSS, NO_LOSS], [7, 8, NO_LOSS]])),
        terms_of(torch.tensor([1, 1])),
    )


def separated_prompts():
    given = TextSet(
        "t",
        "train",
        ("a", "b ", "c\n", "", "d\t"),
        np.zeros(5, dtype=np.int64),
        (),
        np.zeros(5, dtype=np.int64),
        ("s",),
        ("x",) * 5,
    )
    yield separate(given).texts, separate(CLASSES) is CLASSES


def sets_of_texts_that_are_refused():
    good = {
        "name": "n",
        "split": "train",
        "texts": ("a", "b"),
        "labels": np.array([0, 1]),
        "classes": ("x", "y"),
        "origins": np.array([0, 0]),
        "origin_names": ("o",),
    }
    for options in (
        {},
        {"labels": np.array([0])},
        {"labels": np.array([0, 2])},
        {"origins": np.array([0, 1])},
        {"answers": ("a",)},
        {"classes": ()},
        {"classes": (), "labels": np.zeros(2, dtype=int)},
        {"texts": (), "labels": np.array([]), "origins": np.array([])},
        {"origins": np.array([0, 0, 0])},
    ):
        yield list(options), refused(lambda options=options: TextSet(**{**good, **options}).copies)
    yield refused(load_texts, "x"), refused(load_texts, "headlines", None, "val")


def essences_and_tests():
    for text in ("Hello, World 2!", "Ärger_über: 3½", "...", "", "a_b-c", "É", "tab\there"):
        yield text, essence(text)
    yield (
        choose_test([str(number) for number in range(40)]),
        choose_test(["a", "b"], 1.0),
        choose_test(["a", "b"], 0.0),
        choose_test([str(number) for number in range(20)], 0.5),
    )


def rated_sentences_of_files():
    rest = "1_2\t-0.5\tBad, bad\n2_1\t0.49\tneutral\n7\t0.5\tOn the border\n8\t-2.0\tBad bad!\n"
    contents = {name: f"1_1\t{1.5 + place}\tGood film {place}. \n{rest}".encode() for place, name in enumerate(RATED)}
    yield rated_sentences(contents)._asdict()


def newsgroups_of_files():
    header = "a\tb\nc\td\n\t\n"
    found = newsgroups(
        {
            "20newsgroups-train.tab": f"{header}sci.space\tto the moon \ncomp.os\tcrash\n\n".encode(),
            "20newsgroups-test.tab": f"{header}sci.med\tpain\tand more\n".encode(),
        }
    )
    yield found._asdict()


def headlines_and_instructions_of_files():
    rows = [{"input": [{"content": "no"}, {"content": f" man bites dog {n} "}], "ideal": str(n % 2)} for n in range(3)]
    yield headlines({"samples.jsonl": "\n".join(map(json.dumps, rows)).encode()})._asdict()
    rows = [
        {"instruction": "Add.", "input": "1 2", "output": "3"},
        {"instruction": "Sing.", "input": "", "output": "la"},
    ]
    yield instructions({"alpaca_en_demo.json": json.dumps(rows).encode()})._asdict()


def metrics_of_classes():
    for predicted, labels in (
        ([0, 1, 1, 1], [0, 1, 1, 0]),
        ([0, 2, 2, 5, 1], [0, 2, 1, 5, 5]),
        ([1, 1], [1, 1]),
        ([1, 1], [0, 1]),
        ([0, 1], [1, 0]),
        ([3], [0]),
        ([0, 0, 1, 2, 2, 2], [0, 1, 1, 2, 2, 0]),
    ):
        yield f1(predicted, labels), mcc(predicted, labels)
    yield refused(f1, [], []), refused(mcc, [1], [1, 2]), refused(f1, [[1]], [[1]]), sorted(CLASS_METRICS)


def metrics_of_answers():
    yield (
        exact_match(["a ", "b", "C"], ["a", " b\n", "c"]),
        refused(exact_match, [], []),
        [perplexity(loss) for loss in (0.0, 1.0, -1.0, 699.0, 700.0, 701.0)],
        SimpleNamespace(x=1).x,
    )


class _Bare(Words):
    def __call__(self, texts, add_special_tokens=True, **options):
        return super().__call__(texts, add_special_tokens=False, **options)


def prompts_and_answers_without_tokens():
    given = TextSet(
        *("t", "train", ("", "", "a b", " "), np.zeros(4, dtype=np.int64), (), np.zeros(4, dtype=np.int64), ("s",)),
        ("one two", " ", " ", "x"),
    )
    for length in (4, 3, 2):
        yield _shown(tokens(given, _Bare(), length, True))
    yield refused(tokens, replace(given, answers=("a", "b", "c", "d" * 3)), Words(template="x" * 9), 3, chat=True)


def metrics_of_classes_that_one_side_lacks():
    for predicted, labels in (
        ([0, 0, 1], [0, 0, 0]),
        ([0, 0, 0], [0, 0, 1]),
        ([0, 0, 4], [0, 0, 0]),
        ([1, 2, 3], [1, 2, 2]),
    ):
        yield f1(predicted, labels), mcc(predicted, labels)


class _Wordy(Words):
    def apply_chat_template(self, *_, **__):
        raise ValueError("why " * 60)


def long_errors_of_templates():
    yield refused(tokens, ANSWERS, _Wordy(template="x"), 12, chat=True)
