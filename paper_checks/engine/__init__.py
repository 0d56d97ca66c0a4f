"""Judging: forms, verdicts, sensitivity, and the record of the numbers behind them."""
