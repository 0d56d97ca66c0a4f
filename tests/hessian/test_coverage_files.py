"""Files of measured coverage: rows of several versions of the estimator together."""

import json

from benchmarks.interval_coverage import estimator_digest, of_this_estimator, stored_rows, with_row


def test_rows_of_another_version_stay_until_they_are_measured_again(tmp_path):
    out = tmp_path / "coverage.json"
    assert stored_rows(out) == []
    old = [{"network": name, "width": 0.2, "coverage": 0.9, "estimator": "before"} for name in ("one", "two")]
    out.write_text(json.dumps({"cases": old}))
    rows = stored_rows(out)
    assert rows == old
    assert of_this_estimator(rows) == []
    rows = with_row(rows, {"network": "one", "width": 0.2, "coverage": 0.95}, "network", "width")
    rows = with_row(rows, {"network": "one", "width": 0.05, "coverage": 0.96}, "network", "width")
    assert [(row["network"], row["width"], row["coverage"]) for row in rows] == [
        ("one", 0.2, 0.95),
        ("two", 0.2, 0.9),
        ("one", 0.05, 0.96),
    ]
    assert [row["coverage"] for row in of_this_estimator(rows)] == [0.95, 0.96]
    assert {row["estimator"] for row in rows} == {"before", estimator_digest()}
