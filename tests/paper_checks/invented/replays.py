"""Naive evaluations of the invented statements."""

from fractions import Fraction

from paper_checks.replay import Hypothesis, Proof, Violation, proof, replay


def at(K):
    def evaluate(values):
        x = Fraction(values["x"])
        assumes = Hypothesis("x", x, ">=", 0), Hypothesis("x", x, "<=", 1)
        return Violation(x**2, K * x, assumes=assumes, reads="x^2 against K x")

    return evaluate


half = Fraction(1, 2)
false = replay("invented/false")(at(half))
fixable = replay("invented/fixable")(at(half))
proved_fix = replay("invented/proved-fix")(at(half))
unproved_fix = replay("invented/unproved-fix")(at(half))
always_fails = replay("invented/always-fails")(at(half))
half_of_two = replay("invented/ambiguous@half-as-in-eq-2")(at(half))
first_of_two = replay("invented/other-way-round")(at(half))
half_read = replay("invented/half-read")(at(half))
tampered = replay("invented/tampered")(at(half))
outside = replay("invented/outside")(at(half))
no_control = replay("invented/no-control")(at(half))
missed = replay("invented/missed-witness")(at(half))


@replay("invented/cheating-replay")
def cheating(values):
    import rmt  # noqa: F401  (the guard refuses it)

    return Violation(1, 0)


@proof("invented/certified")
def certified(values):
    """x - x^2 = x (1 - x), both factors non-negative on [0, 1]."""
    return Proof(values["factors"] == ["x", "1 - x"], "two non-negative factors")


proof_of_a_reading = proof("invented/other-way-round@double", K="1")(
    lambda values: Proof(values["K"] == "1" and values["factors"] == ["x", "1 - x"], "two non-negative factors")
)


@proof("invented/other-constant", K="1")
def other_constant(values):
    """With K = 1 the difference is x (1 - x), both factors non-negative on [0, 1]; the claim has another K."""
    return Proof(values["K"] == "1", "two non-negative factors")


bad_certificate = proof("invented/bad-certificate")(certified.evaluate)
proof_of_the_fix = proof("invented/proved-fix")(certified.evaluate)
no_proof_of_the_fix = proof("invented/unproved-fix")(certified.evaluate)
