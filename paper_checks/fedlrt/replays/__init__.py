"""Naive second evaluations of the stored witnesses of FeDLRT, and its proofs, each under the name of its check.

Nothing here imports a formula, a sampler or a search of the toolkit: formulas are written out from the paper in exact
fractions where that is possible, and statistical witnesses are drawn again by a different sampler.
"""
