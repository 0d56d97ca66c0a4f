"""The comparison with an earlier version reports what differs, and fails if it compares nothing."""

import pytest

from benchmarks.same_estimates import differences, main


def test_a_case_that_differs_in_one_end_of_one_seed_is_told_with_its_size():
    before = {"same": [[1.0, 2.0, 3.0]], "other": [[1.0, 2.0, 4.0], [1.0, 2.0, 4.0]]}
    now = {"same": [[1.0, 2.0, 3.0]], "other": [[1.0, 2.0, 4.0], [1.0, 2.0, 3.0]]}
    assert differences(before, before) == {}
    assert differences(before, now) == {"other": 0.25}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["--before", "no-such"], "the revision no-such does not exist"),
        (["--before", "HEAD", "--seeds", "0"], "at least 1"),
    ],
)
def test_what_cannot_be_compared_is_told_in_a_line(given, message, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["same_estimates", *given])
    with pytest.raises(SystemExit, match="2"):
        main()
    assert message in capsys.readouterr().err.splitlines()[-1]
