"""The figures: each computes a table, draws a picture from it and states the finding in one sentence.

`figures.figure` says what a figure is, `figures.ledger` lists them, `figures.make` makes one; all other modules hold
figures, one theme each.
"""
