"""Naive second evaluations of the stored witnesses and certificates of FeDLRT, one module per theme.

Nothing here imports a formula, a sampler or a search of the toolkit: formulas are written out from the paper in exact
fractions where that is possible, and statistical witnesses are drawn anew by a different sampler.
"""
