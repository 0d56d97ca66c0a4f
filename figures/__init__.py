"""The figures: each computes a table, draws a picture from it and states the finding in one sentence.

`figures.figure` defines what a figure is, `figures.ledger` lists them, and `figures.make` makes one. Every other module
has the figures of one theme.
"""
