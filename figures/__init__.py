"""Every figure: its data as a table, its picture drawn from that table, and the one sentence that says what is found.

`figures.figure` says what a figure is, `figures.ledger` lists them, `figures.make` makes one; all other modules hold
figures, one theme each.
"""
