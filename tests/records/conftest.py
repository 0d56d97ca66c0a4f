"""Records are cases of `test_records.py`, not tests of their own."""

collect_ignore_glob = ["*/record_*.py"]
