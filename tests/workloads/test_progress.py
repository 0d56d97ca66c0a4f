"""Progress of commands, with a clock of the test's own."""

import io
import re

import pytest

from workloads.progress import DRAWN, EVERY, WORTH_SAYING, Progress, follow, report_progress


class Clock:
    """A clock that the test moves."""

    now = 0.0

    def __call__(self):
        return self.now


def started(**options):
    clock, stream = Clock(), io.StringIO()
    return Progress("spectrum", stream=stream, clock=clock, **options), clock, stream


def test_a_line_is_written_when_the_last_one_is_old_also_without_news():
    progress, clock, stream = started(total=6)
    progress.step("reading the data")
    clock.now = EVERY - 0.1
    progress.beat()
    assert not stream.getvalue()
    for moment in (EVERY, 2 * EVERY, 2 * EVERY + 1.0, 3 * EVERY):
        clock.now = moment
        progress.beat()
    lines = stream.getvalue().splitlines()
    assert len(lines) == 3
    assert lines[-1] == "spectrum: step 0 of 6, reading the data; 30 s"


def test_steps_are_counted_by_their_labels_and_time_is_left_by_what_a_step_counts():
    progress, clock, _ = started(total=3)
    progress.step("reading the data")
    progress.step("stable rank: Lanczos step 1")
    progress.step("stable rank: Lanczos step 7")
    assert progress.done == 1
    assert progress.seconds_left() is None
    clock.now = 4.0
    progress.step("quadrature: probe 1 of 4")
    clock.now = 10.0
    progress.step("quadrature: probe 2 of 4")
    assert progress.line() == "spectrum: step 2 of 3, quadrature: probe 2 of 4; 10 s, about 6 s left"


def test_the_time_left_falls_between_news_and_is_silent_when_they_are_overdue():
    progress, clock, _ = started(total=8, unit="claim")
    clock.now = 10.0
    progress.advance("a", 2)
    assert progress.seconds_left() == 30.0
    clock.now = 15.0
    progress.beat()
    assert progress.seconds_left() == 25.0
    clock.now = 41.0
    assert progress.seconds_left() is None
    progress.advance("b", 2)
    assert progress.seconds_left() == 41.0
    clock.now = 42.0
    progress.advance("c", 4)
    assert progress.seconds_left() == 0.0
    clock.now = 43.0
    assert progress.seconds_left() is None


def test_claims_and_rounds_are_counted_with_the_time_left():
    progress, clock, _ = started(total=8, unit="round")
    progress.resume(2)
    clock.now = 30.0
    progress.advance("loss 0.5", 3)
    assert progress.line() == "spectrum: round 5 of 8, loss 0.5; 30 s, about 30 s left"
    progress, clock, _ = started(unit="claim")
    progress.advance()
    assert progress.line() == "spectrum: 1 claim; 0 s"


@pytest.mark.parametrize("texts", [["a"], ["a: b", "a: c", "d"], [""]])
def test_no_line_has_a_stray_comma(texts):
    progress, _, _ = started()
    for text in texts:
        progress.step(text)
        assert ": ," not in progress.line()
        assert ",," not in progress.line()
        assert not progress.line().endswith((",", ", "))


def test_the_clock_ends_with_the_command(capsys):
    import threading

    before = threading.active_count()
    with report_progress("check", 3, "claim") as progress:
        progress.advance("one")
        assert threading.active_count() == before + 1
    assert threading.active_count() == before
    assert not capsys.readouterr().err


def test_a_time_worth_waiting_for_is_said_before_the_work_on_both_sides_of_the_border():
    progress, _, stream = started()
    progress.expect(WORTH_SAYING - 0.01, "nothing")
    assert not stream.getvalue()
    progress.expect(WORTH_SAYING, "330 products")
    progress.expect(4000.0, "more")
    assert stream.getvalue().splitlines() == [
        "spectrum: about 10 s for 330 products",
        "spectrum: about 1:06 h for more",
    ]


class Terminal(io.StringIO):
    """A stream that is a terminal."""

    def isatty(self):
        return True


@pytest.fixture
def on_terminal(monkeypatch):
    """A bar on a terminal of a given width."""

    def start(width, **options):
        monkeypatch.setenv("COLUMNS", str(width))
        monkeypatch.setenv("TERM", "xterm")
        clock, stream = Clock(), Terminal()
        return Progress("checking", stream=stream, clock=clock, **options), clock, stream

    return start


def drawn(stream):
    """Text of the last drawing of a bar, without colours."""
    return re.sub(r"\x1b\[[\d;?]*[a-zA-Z]", "", stream.getvalue()).split("\r")[-1].rstrip()


def test_a_terminal_gets_a_bar_with_counts_and_times_before_the_text(on_terminal):
    progress, clock, stream = on_terminal(100, total=8, unit="claim")
    clock.now = 10.0
    progress.advance("fedlrt/thm-2", 2)
    assert drawn(stream).startswith("checking \u2501")
    assert drawn(stream).endswith("claim 2 of 8, 10 s, about 30 s left, fedlrt/thm-2")
    progress.close()


def test_a_narrow_terminal_cuts_the_text_and_keeps_the_counts(on_terminal):
    progress, clock, stream = on_terminal(60, total=8, unit="claim")
    clock.now = 1.0
    progress.advance("a" * 100)
    assert "claim 1 of 8, 1 s, about" in drawn(stream)
    assert drawn(stream).endswith("\u2026")
    assert len(drawn(stream)) <= 60
    progress.close()


def test_a_bar_is_drawn_at_most_ten_times_a_second(on_terminal):
    progress, clock, stream = on_terminal(80, total=100)
    clock.now = DRAWN - 0.01
    progress.advance()
    assert not stream.getvalue()
    clock.now = DRAWN
    progress.advance()
    before = stream.getvalue()
    assert "step 2 of 100" in drawn(stream)
    clock.now = 2 * DRAWN - 0.01
    progress.advance()
    assert stream.getvalue() == before
    progress.close()


def test_results_go_to_their_own_stream_and_the_bar_returns(on_terminal):
    progress, clock, stream = on_terminal(80, total=3)
    results = io.StringIO()
    clock.now = 1.0
    progress.advance()
    progress.write("fedlrt/thm-2: confirmed", results)
    assert results.getvalue() == "fedlrt/thm-2: confirmed\n"
    assert "confirmed" not in stream.getvalue()
    clock.now = 2.0
    progress.advance()
    assert "step 2 of 3" in drawn(stream)
    progress.close()


def test_the_bar_of_a_whole_is_hidden_while_a_part_is_shown(on_terminal):
    progress, clock, stream = on_terminal(80, total=3)
    clock.now = 1.0
    progress.advance()
    with progress.hidden():
        before = stream.getvalue()
        clock.now = 5.0
        progress.beat()
        assert stream.getvalue() == before
    progress.beat()
    assert "step 1 of 3" in drawn(stream)
    progress.close()


def test_a_terminal_that_cannot_draw_again_gets_lines(monkeypatch):
    monkeypatch.setenv("TERM", "dumb")
    clock, stream = Clock(), Terminal()
    progress = Progress("checking", 3, stream=stream, clock=clock)
    clock.now = EVERY
    progress.beat()
    assert stream.getvalue() == "checking: step 0 of 3; 10 s\n"


def test_items_are_followed_in_their_order_also_where_a_part_has_progress_of_its_own(capsys):
    found = [(one, other) for one in follow({"b": 1, "a": 2}.items(), "outer") for other in follow(range(2), "inner")]
    assert found == [(("b", 1), 0), (("b", 1), 1), (("a", 2), 0), (("a", 2), 1)]
    assert not capsys.readouterr().err
