"""Records of what terminals and logs show: tables, progress, times, and counts of language models."""

import io
import re
import warnings
from contextlib import redirect_stderr

import torch
from environment import variables

from workloads import architectures
from workloads.architectures import ATTENTION
from workloads.code_names import names_code
from workloads.dense_tensors import not_dense
from workloads.exact_convolutions import exact_convolutions
from workloads.messages import shorten
from workloads.progress import Progress, follow, format_time, report_progress
from workloads.terminal import encoding_of_output, is_live, is_styled, print_table, print_text


class _Terminal(io.StringIO):
    def isatty(self):
        return True


def styles_of_streams():
    for force in (None, "", "1"):
        for term in ("xterm", "dumb", "unknown"):
            with variables(FORCE_COLOR=force, TERM=term):
                yield [(is_styled(stream), is_live(stream)) for stream in (io.StringIO(), _Terminal())]
    yield encoding_of_output() == encoding_of_output().lower()


def tables_on_terminals():
    rows = [
        {"name": "long name of a row", "bytes": "1.5 kB", "text": "three words here"},
        {"name": "b", "bytes": "-12", "text": "7"},
    ]
    for given in (
        {"FORCE_COLOR": None},
        {"FORCE_COLOR": "1", "NO_COLOR": "1", "COLUMNS": "30", "TERM": "xterm"},
        {"FORCE_COLOR": "1", "NO_COLOR": "1", "COLUMNS": "80", "TERM": "xterm"},
    ):
        with variables(**given):
            stream = io.StringIO()
            print_table(rows, ["plain one", "plain two"], {"three": "bold"}, stream)
            print_table([], ["nothing"], stream=stream)
            print_text("a [bold] text", {"text": "red"}, stream)
            yield stream.getvalue()


class _Clock:
    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


def progress_in_lines():
    for total, unit in ((4, "round"), (None, "step"), (None, "image")):
        clock, stream = _Clock(), io.StringIO()
        progress = Progress("train", total, unit, stream, clock)
        yield progress.line(), progress.seconds_left()
        for seconds, text in ((4.0, "loss 1"), (9.9, "loss 0.5"), (10.0, ""), (25.0, "part 1 of 4")):
            clock.now = seconds
            progress.advance(text)
            yield progress.line(), progress.seconds_left()
        clock.now = 60.0
        progress.beat()
        progress.resume(3)
        yield stream.getvalue(), progress.line(), progress.seconds_left()


def progress_of_named_steps():
    clock, stream = _Clock(), io.StringIO()
    progress = Progress("check", 3, stream=stream, clock=clock)
    for seconds, text in (
        (0.0, "draw: 1 of 4"),
        (10.0, "draw: 2 of 4"),
        (16.0, "fit"),
        (20.0, "fit"),
        (30.0, "fit: 0 of 3"),
        (40.0, "end: 5 of 3"),
        (90.0, "end: 3 of 3"),
    ):
        clock.now = seconds
        progress.step(text)
        yield progress.line(), progress.seconds_left(), progress.done
    progress.expect(9.9, "2 claims")
    progress.expect(10.0, "3 claims")
    progress.write("a line", stream)
    with progress.hidden():
        yield stream.getvalue()


def progress_of_items():
    said = io.StringIO()
    with redirect_stderr(said):
        yield list(follow("abc", "reading", "letter")), said.getvalue()
        with report_progress("outer", 2) as outer:
            yield outer.line().partition(";")[0], outer.done


def times_in_words():
    yield [
        format_time(seconds) for seconds in (0, 0.4, 0.5, 7.4, 59.4, 59.5, 60, 75, 3599.4, 3599.6, 3600, 4000, 36000)
    ]


def short_texts_and_names_of_code():
    yield (
        [shorten("abcdefghijklmnop", most) for most in (16, 15, 10, 9, 5, 17)],
        [
            names_code(text)
            for text in ("m:f", "a.b:c.d", "m:1", "m: f", "m/x:f", "a:b:c", "m:", ":f", "m:f-g", "m\\x:f", "é:ü")
        ],
    )


def tensors_that_are_not_dense():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sparse, nested = torch.eye(2).to_sparse_csr(), torch.nested.nested_tensor([torch.ones(1), torch.ones(2)])
    for tensor in (sparse, nested, torch.ones(2), torch.eye(2).to_sparse(), torch.empty(2, device="meta")):
        yield not_dense(tensor)
    with exact_convolutions():
        yield torch.nn.functional.conv2d(torch.ones(1, 1, 2, 2), torch.ones(1, 1, 1, 1)).sum()


def counts_of_language_models():
    for name in ("ROBERTA_LARGE", "LLAMA_2_7B", "OPENLLAMA_3B", "LLAMA_32_3B", "SHEARED_LLAMA_27B"):
        one = getattr(architectures, name)
        yield (
            name,
            one.parameters,
            one.depth,
            dict(one.shapes),
            one.inputs(ATTENTION),
            one.outputs(ATTENTION),
            one.adapters(ATTENTION, 4),
            one.adapters(("W_q", "W_v"), 8, 3),
            str(one.share_of_outputs(("W_k", "W_up"))),
            one.adapters(("W_down",), 1),
        )
    small = architectures.Transformer(7, 4, 6, 2, 3, 5, tied=True)
    yield (
        small.parameters,
        small.shapes,
        architectures.Transformer(7, 4, 6, 2, 3, 5, tied=False).parameters,
        architectures.Encoder(7, 5, 3, 4, 6, 2).parameters,
    )


def names_of_rows_on_narrow_terminals():
    for size in (39, 40, 41):
        with variables(FORCE_COLOR="1", NO_COLOR="1", COLUMNS="45", TERM="xterm"):
            stream = io.StringIO()
            print_table([{"name": "n" * size, "size": "3", "rest": "a b"}], [], stream=stream)
            yield re.sub(r"\x1b\[\d*m", "", stream.getvalue())


def columns_of_numbers():
    for cells in (
        ("1", "-2.5"),
        ("1e-3", "+4"),
        ("1,000", ""),
        ("3 kB", "4 GB"),
        ("3 xB", "4"),
        ("1 2", "3"),
        ("1.5 B", "nan"),
    ):
        with variables(FORCE_COLOR="1", NO_COLOR="1", COLUMNS="45", TERM="xterm"):
            stream = io.StringIO()
            print_table([{"n": cell, "width of it": cell} for cell in cells], [], stream=stream)
            yield re.sub(r"\x1b\[\d*m", "", stream.getvalue())


def progress_that_is_resumed():
    clock = _Clock()
    for total, before in ((10, 4), (10, 0), (3, 2), (3, 5), (10, 10)):
        clock.now = 0.0
        progress = Progress("train", total, "round", io.StringIO(), clock)
        progress.resume(before)
        yield progress.line(), progress.seconds_left()
        for steps in (1, 2):
            clock.now += 6.0
            progress.advance(steps=steps)
            yield progress.line(), progress.seconds_left()
        clock.now += 1.5
        yield progress.line(), progress.seconds_left()
