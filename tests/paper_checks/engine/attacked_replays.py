"""Replays and proofs that were written to confirm."""

import os
from fractions import Fraction

import sympy

from paper_checks.evaluation import Hypothesis
from paper_checks.replay import Proof, Violation, assuming, proof, replay, require


def sides(values):
    x = Fraction(values["x"])
    return x**2, Fraction(3, 2) * x


@replay("attacked/replay-ends")
def replay_ends(values):
    os._exit(0)


@replay("attacked/replay-imports")
def replay_imports(values):
    from attacked.claims import bound

    return Violation(*sides(values), reads=str(bound))


@replay("attacked/replay-constant")
def replay_constant(values):
    values["x"]
    return Violation(4, 3)


@replay("attacked/replay-of-no-case")
def replay_of_no_case(values):
    x = Fraction(values["x"])
    return Violation(*sides(values), assumes=assuming(Hypothesis("x", x, "<=", 1)))


@replay("attacked/replay-of-text")
def replay_of_text(values):
    return f"violated at {values['x']}"


@replay("attacked/replay-reads-nothing")
def replay_reads_nothing(values):
    return Violation(4, 3)


def at_most(K):
    return lambda values: Violation(Fraction(values["x"]) ** 2, K * Fraction(values["x"]))


empty_control = replay("attacked/empty-control")(at_most(1))
idle_correction = replay("attacked/idle-correction")(at_most(1))
always_false = replay("attacked/always-false")(at_most(0))


@proof("attacked/proof-declared")
def proof_declared():
    """It is clear."""
    return Proof(sympy.true, "it is clear")


@proof("attacked/proof-undecided")
def proof_undecided(K=2.0):
    """The relation is a relation."""
    require(sympy.Symbol("x") <= K, "x")
    return "the relation"


@proof("attacked/proof-of-text")
def proof_of_text():
    """It is clear."""
    return Proof("yes", "it is clear")


@proof("attacked/proof-without-step")
def proof_without_step(K=2.0):
    """It is clear."""
    return "it is clear"


@proof("attacked/proof-of-another")
def proof_of_another(K=3.0):
    """Another statement."""
    require(K * 2 >= 4, "x = 2")
    return "at x = 2"


@proof("attacked/proof-of-the-mutant")
def proof_of_the_mutant(K=2.0):
    """Everything."""
    require(K > 0, "K is positive")
    return "K is positive"


@proof("attacked/proof-by-error")
def proof_by_error(K=2.0):
    """A look-up."""
    require({2: True}[K], "K")
    return "K"


@proof("attacked/proof-unnamed")
def proof_unnamed(L=2.0):
    """Another name."""
    require(L * 2 >= 4, "x = 2")
    return "at x = 2"


@proof("attacked/proof-that-ends")
def proof_that_ends(K=2.0):
    """The end."""
    os._exit(0)
