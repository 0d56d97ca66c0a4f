"""What the replay of a stored witness or certificate is, and what its evaluation comes to.

Everything that belongs to a statement stands here as data and not as text: the hypotheses that a witness meets, each
with its value and its bound, and the constants and the scope of what a certificate proves.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal

Number = Fraction | float
Relation = Literal["<", "<=", "=", ">=", ">", "!="]
HOLDS: Mapping[Relation, Callable[[Any, Any], Any]] = {
    "<": operator.lt, "<=": operator.le, "=": operator.eq, ">=": operator.ge, ">": operator.gt, "!=": operator.ne,
}  # fmt: skip


@dataclass(frozen=True)
class Hypothesis:
    """An assumption of a statement at a witness: a value that stands in a relation to its bound.

    Attributes:
        name: what the value is, in words or symbols.
        value: its value at the witness.
        relation: how it must stand to the bound.
        bound: the bound.

    >>> print(Hypothesis("s lambda L", Fraction(1, 24), "<=", Fraction(1, 12)))
    s lambda L = 1/24 <= 1/12
    """

    name: str
    value: Number
    relation: Relation
    bound: Number

    @property
    def met(self) -> bool:
        """Whether the witness meets it."""
        return bool(HOLDS[self.relation](self.value, self.bound))

    def __str__(self) -> str:
        if self.relation == "=":
            return f"{self.name} = {plain(self.value)}" + ("" if self.met else f", and not {plain(self.bound)}")
        return f"{self.name} = {plain(self.value)} {self.relation} {plain(self.bound)}"


@dataclass(frozen=True)
class Violation:
    """A statement ``left <= right`` (or ``left < right``) at a witness; an equality is ``|a - b| <= 0``.

    Attributes:
        left: left side.
        right: right side.
        error: bound on the error of ``left - right``; 0 for exact arithmetic.
        exact: whether the error bound is rigorous (fractions, intervals) rather than statistical.
        unmet: an assumption that the witness does not satisfy and that is no comparison of numbers, in words.
        reads: how to read the two sides.
        strict: whether the statement is ``left < right``, which exact equality violates.
        assumes: the other assumptions, each with its value and its bound.
        given: the set-up that follows from the stored values, by name.
    """

    left: Number
    right: Number
    error: Number = 0
    exact: bool = True
    unmet: str = ""
    reads: str = ""
    strict: bool = False
    assumes: Sequence[Hypothesis] = ()
    given: Mapping[str, Any] = field(default_factory=dict)

    @property
    def broken(self) -> str:
        """The first assumption that is not met, in words; empty if all are."""
        return self.unmet or next((str(one) for one in self.assumes if not one.met), "")


@dataclass(frozen=True)
class Proof:
    """A certificate checked step by step.

    Attributes:
        verified: whether every step holds exactly.
        steps: what was checked.
    """

    verified: bool
    steps: str


Kind = Literal["witness", "certificate"]
KINDS: tuple[Kind, ...] = ("witness", "certificate")


@dataclass(frozen=True)
class Replayed:
    """What an evaluation came to, in values that travel as JSON.

    Attributes:
        kind: whether a witness or a certificate was replayed.
        confirmed: the witness violates its statement, or the certificate proves it.
        exact: by exact arithmetic.
        left: left side, rounded for reading.
        right: right side.
        detail: one line for people.
        assumes: assumptions of the statement at the witness, each as a line and whether it is met.
        given: the set-up at the witness, by name.
        proves: the constants and the scope of the statement that a certificate proves, as the statement has them.
    """

    kind: Kind
    confirmed: bool
    exact: bool
    left: float | None
    right: float | None
    detail: str
    assumes: Sequence[Sequence[Any]] = ()
    given: Mapping[str, str] = field(default_factory=dict)
    proves: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Replay:
    """A naive evaluation declared for one claim: of its witness, or of its certificate.

    Attributes:
        id: of the claim.
        kind: what it evaluates.
        evaluate: the evaluation of stored values.
        states: for a proof, the constants, the scope and the sizes of what it proves. They belong to the statement
            and not to the certificate, which must name the same.
    """

    id: str
    kind: Kind
    evaluate: Callable[[Mapping[str, Any]], Violation | Proof]
    states: Mapping[str, Any] = field(default_factory=dict)


def replay(id: str) -> Callable[[Callable[[Mapping[str, Any]], Violation]], Replay]:
    """Declares the decorated function as the replay of one claim's witness."""
    return lambda evaluate: Replay(id, "witness", evaluate)


def proof(id: str, **states: Any) -> Callable[[Callable[[Mapping[str, Any]], Proof]], Replay]:
    """Declares the decorated function as the verification of one claim's certificate.

    It proves the printed statement of a claim that holds, and the correction of one that is corrected.

    Args:
        id: of the claim.
        states: the constants and the scope of that statement, and the sizes at which a step is repeated for an
            argument that stands for all of them. A certificate that names others is one of another statement.
    """
    return lambda evaluate: Replay(id, "certificate", evaluate, states)


def evaluated(replay: Replay, values: Mapping[str, Any]) -> Replayed:
    """Evaluates stored values; whatever they are, the answer is one line and no exception."""
    try:
        if replay.kind == "certificate":
            return _proved(replay, values)
        outcome = replay.evaluate(values)
    except (ArithmeticError, AttributeError, ImportError, LookupError, TypeError, ValueError) as error:
        return Replayed(replay.kind, False, False, None, None, f"not a case of this claim: {error!r}")
    assert isinstance(outcome, Violation)
    return _violated(outcome)


class _Read(Mapping[str, Any]):
    """Stored values that remember which of them were read."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.values_on_file, self.read = values, set[str]()

    def __getitem__(self, name: str) -> Any:
        self.read.add(name)
        return self.values_on_file[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.values_on_file)

    def __len__(self) -> int:
        return len(self.values_on_file)


def _proved(replay: Replay, values: Mapping[str, Any]) -> Replayed:
    for name, stated in replay.states.items():
        if repr(values[name]) != repr(stated):  # 1, 1.0, True and "1" are four values
            detail = f"a certificate of another statement: {name} = {values[name]}, and here it is {stated}"
            return Replayed("certificate", False, False, None, None, detail)
    read = _Read(values)
    outcome = replay.evaluate(read)
    assert isinstance(outcome, Proof)
    unread = sorted(set(values) - read.read)
    if outcome.verified and unread:
        return Replayed("certificate", False, False, None, None, f"nothing is made of {', '.join(unread)}")
    return Replayed("certificate", outcome.verified, outcome.verified, None, None, outcome.steps, proves=replay.states)


def _violated(outcome: Violation) -> Replayed:
    left, right = float(outcome.left), float(outcome.right)
    assumes = [(str(one), one.met) for one in outcome.assumes]
    given = {name: plain(value) for name, value in outcome.given.items()}
    if outcome.broken:
        detail = f"an assumption is not met: {outcome.broken}"
        return Replayed("witness", False, outcome.exact, left, right, detail, assumes, given)
    gap = outcome.left - outcome.right
    equal = outcome.strict and outcome.exact and gap == 0 == outcome.error
    confirmed = bool(gap > outcome.error) or equal
    reads = f"{outcome.reads}: " if outcome.reads else ""
    sign = "=" if equal else ">" if confirmed else "<="
    bound = f" (error at most {float(outcome.error):.3g})" if outcome.error else " (exact)" if outcome.exact else ""
    # Digits of a side that is smaller than the error are noise, and differ from machine to machine.
    sides = [0.0 if abs(side) < outcome.error else side for side in (left, right)]
    detail = f"{reads}{sides[0]:.6g} {sign} {sides[1]:.6g}{bound}"
    return Replayed("witness", confirmed, outcome.exact and confirmed, left, right, detail, assumes, given)


def plain(value: Any) -> str:
    """A value for people: lists in brackets, fractions as they are, long ones and floats to six digits.

    >>> plain([Fraction(1, 3), 0.1234567]), plain(Fraction(10**20 + 1, 3 * 10**20))
    ('[1/3, 0.123457]', '0.333333')
    """
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(plain, value))}]"
    if isinstance(value, Fraction) and max(abs(value.numerator), value.denominator) > 10**9:
        return f"{float(value):.6g}"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
