"""The former name of `relations`; papers of one's own may still import it."""

from paper_checks.methods.relations import Relation, Relations, judge_relations, orthonormal, relations, same

Promise = Relation
"""Alias of `Relation`."""
Promises = Relations
"""Alias of `Relations`."""
promises = relations
"""Alias of `relations`."""
judge_promises = judge_relations
"""Alias of `judge_relations`."""

__all__ = [
    "Promise",
    "Promises",
    "Relation",
    "Relations",
    "judge_promises",
    "judge_relations",
    "orthonormal",
    "promises",
    "relations",
    "same",
]
