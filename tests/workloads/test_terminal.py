"""Tables and colours: on a terminal, and nowhere else."""

import io
import re

import pytest

from workloads.terminal import print_table, print_text

ROWS = [
    {"claim": "fedlrt/thm-2", "seconds": "3.27", "note": "a long note " * 8},
    {"claim": "fedlrt/thm-10", "seconds": "10.5", "note": ""},
]
PLAIN = ["one line", "another  line"]
STYLES = {r"\Afedlrt/thm-2\Z": "red"}
RED = "\x1b[31mfedlrt/thm-2\x1b[0m"


class Terminal(io.StringIO):
    """A stream that is a terminal."""

    def isatty(self):
        return True


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "COLORTERM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "60")


def plain_lines(stream):
    return [line.rstrip() for line in re.sub(r"\x1b\[[\d;]*m", "", stream.getvalue()).splitlines()]


@pytest.mark.parametrize("no_color", [False, True])
def test_a_pipe_gets_the_plain_lines_byte_for_byte(monkeypatch, no_color):
    if no_color:
        monkeypatch.setenv("NO_COLOR", "1")
    stream = io.StringIO()
    print_table(ROWS, PLAIN, STYLES, stream)
    print_text("fedlrt/thm-2: [bold]holds[/]", STYLES, stream)
    assert stream.getvalue() == "one line\nanother  line\nfedlrt/thm-2: [bold]holds[/]\n"


def test_a_terminal_gets_a_table_that_fits_with_colours():
    stream = Terminal()
    print_table(ROWS, PLAIN, STYLES, stream)
    assert RED in stream.getvalue()
    heading, first, *more = plain_lines(stream)
    assert heading.split() == ["claim", "seconds", "note"]
    assert first.startswith("fedlrt/thm-2      3.27  a long note a long")  # numbers at the right
    assert len(more) > 1
    assert more[-1] == "fedlrt/thm-10     10.5"
    assert max(map(len, (heading, first, *more))) <= 60


def test_no_color_leaves_a_table_without_colours(monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    stream = Terminal()
    print_table(ROWS, PLAIN, STYLES, stream)
    assert "31m" not in stream.getvalue()
    assert plain_lines(stream)[1].startswith("fedlrt/thm-2      3.27")


def test_force_color_does_without_a_terminal(monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    stream = io.StringIO()
    print_text("fedlrt/thm-2", STYLES, stream)
    assert stream.getvalue() == f"{RED}\n"


@pytest.mark.parametrize("text", ["[bold]x[/bold]", "[/]", ":smile:", "a" * 200, "x  y", "κ ≤ 2", "$\\hat S$ 3.14 'x'"])
def test_a_text_on_a_terminal_has_every_character_and_no_style_but_ours(text):
    stream = Terminal()
    print_text(text, {}, stream)
    print_table([{"one": text}], [], {}, stream)
    lines = plain_lines(stream)
    assert lines[0] == text
    assert "".join(lines[2:]) == text or len(text) == 200
    assert stream.getvalue().startswith(f"{text}\n")


def test_a_long_name_of_a_row_is_broken_so_that_headings_stay_whole():
    stream = Terminal()
    print_table([{"run": "results/runs/" * 6, "algorithm": "fedavg", "rounds": "3/5"}], [], {}, stream)
    assert plain_lines(stream)[0].split() == ["run", "algorithm", "rounds"]
    assert "fedavg" in plain_lines(stream)[1]
