"""Replays of witnesses and proofs, and the results of their evaluation.

Everything that belongs to a statement is data here and not text: the hypotheses that a witness meets, each with its
value and its bound, and the constants and the scope of what a proof proves.
"""

from __future__ import annotations

import ast
import inspect
import math
import operator
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, localcontext
from fractions import Fraction
from types import FrameType, MappingProxyType, ModuleType
from typing import Any, Literal, TypeVar

Number = Fraction | float
MOST_WRITTEN = 10**100
"""From here on whole numbers are rounded for reading; Python writes out no number of more than 4300 digits."""
MOST_TOLD = 4
"""Most changes of stored values that a message lists."""
Declared = TypeVar("Declared")
Comparison = Literal["<", "<=", "=", ">=", ">", "!="]
HOLDS: Mapping[Comparison, Callable[[Any, Any], Any]] = {
    "<": operator.lt,
    "<=": operator.le,
    "=": operator.eq,
    ">=": operator.ge,
    ">": operator.gt,
    "!=": operator.ne,
}


def as_fraction(value: Any) -> Fraction:
    """Return an exact number as a fraction.

    Raises:
        TypeError: it is not an integer, a fraction, a decimal or a sympy rational.
        ValueError: it is a decimal that is infinite or not a number.

    >>> as_fraction(3), as_fraction(Decimal("0.10"))
    (Fraction(3, 1), Fraction(1, 10))
    """
    sympy = sys.modules.get("sympy")  # without it no value is a sympy rational
    if sympy is not None and isinstance(value, sympy.Rational):
        return Fraction(int(value.p), int(value.q))
    if isinstance(value, Decimal) and not value.is_finite():
        raise ValueError(f"exact numbers must be finite, got {value!r}")
    if isinstance(value, bool) or not isinstance(value, int | Fraction | Decimal):
        kind, remedy = type(value).__name__, ""
        if isinstance(value, float) and math.isfinite(value):
            text = str(float(value))
            remedy = (
                f'; write Rounded.printed("{text}") for a printed number, or Fraction("{text}") for exactly this one'
            )
        raise TypeError(
            f"exact numbers must be integers, fractions, decimals or sympy rationals, got {kind} {value!r}{remedy}"
        )
    return Fraction(value)


def decimal_as_fraction(value: Any) -> Any:
    """Return a decimal as the fraction that it is, so no context rounds a result; any other value as it is."""
    return as_fraction(value) if isinstance(value, Decimal) else value


def _exact(value: Any) -> Any:
    """Return an exact number as it is, a decimal as a fraction.

    Raises:
        TypeError: it is not exact.
    """
    as_fraction(value)
    return decimal_as_fraction(value)


def require_word(owner: str, argument: str, value: object, allowed: Sequence[str]) -> None:
    """Check that an argument is one of the words that it may be.

    Args:
        owner: Owner of the argument, such as the id of a claim.
        argument: Name of the argument.
        value: Its value.
        allowed: The words.

    Raises:
        ValueError: It is something else.

    >>> require_word("my-paper/eq-1", "print", "wrong", ("as meant", "misprint"))
    Traceback (most recent call last):
    ValueError: my-paper/eq-1: print= must be one of as meant, misprint; got 'wrong'
    """
    if value not in allowed:
        raise ValueError(f"{owner}: {argument}= must be one of {', '.join(allowed)}; got {value!r}")


class Written(Fraction):
    """The exact decimal that a float is written as; it prints as the float does, also before Python 3.12."""

    def __format__(self, specification: str) -> str:
        return in_digits(self, specification) if specification else str(self)

    def __pow__(self, power: Any, modulo: Any = None) -> Any:
        return super().__pow__(power) if isinstance(power, int | float | Fraction) else NotImplemented  # sympy's turn


def as_written(value: Any) -> Any:
    """Return a finite float as the exact decimal that it is written as, within lists and tuples too.

    Arithmetic with the result is exact, but with floats it is not: `3 * 0.3333333333333333 == 1.0`.

    >>> as_written(0.1), as_written((1.5, "a"))
    (Written(1, 10), (Written(3, 2), 'a'))
    """
    if type(value) in (list, tuple):
        return type(value)(map(as_written, value))
    return Written(str(value)) if isinstance(value, float) and math.isfinite(value) else value


def is_bool(value: Any) -> bool:
    """Return whether a value is True or False, of Python, sympy or numpy."""
    sympy, numpy = sys.modules.get("sympy"), sys.modules.get("numpy")  # without them no value is one of theirs
    of_sympy = sympy is not None and isinstance(value, sympy.logic.boolalg.BooleanAtom)
    return isinstance(value, bool) or of_sympy or (numpy is not None and isinstance(value, numpy.bool_))


def as_bool(value: Any, what: str) -> bool:
    """Return True or False of Python, sympy or numpy as a bool.

    Args:
        value: The truth value.
        what: Its name, for the error.

    Raises:
        TypeError: It is anything else, such as a text, which Python takes for true.

    >>> as_bool(2 > 1, "the sum")
    True
    """
    if not is_bool(value):
        raise TypeError(f"{what} must be True or False, got {type(value).__name__} {value!r}")
    return bool(value)


@dataclass(frozen=True)
class Hypothesis:
    """An assumption of a statement at a witness: a relation between a value and its bound.

    Attributes:
        name: what the value is, in words or symbols.
        value: its value at the witness, an exact number; or a name, which is compared for equality.
        relation: how it must stand to the bound.
        bound: the bound.

    Raises:
        TypeError: value and bound are neither exact numbers nor two names.

    >>> print(Hypothesis("s lambda L", Fraction(1, 24), "<=", Fraction(1, 12)))
    s lambda L = 1/24 <= 1/12
    >>> print(Hypothesis("c", 1 - Fraction(1, 10**10), "<", 1))
    c = 0.9999999999 < 1
    """

    name: str
    value: Number | str
    relation: Comparison
    bound: Number | str

    def __post_init__(self) -> None:
        require_word(f"the assumption {self.name!r}", "relation", self.relation, tuple(HOLDS))
        names = isinstance(self.value, str) and isinstance(self.bound, str) and self.relation in ("=", "!=")
        if not names:
            object.__setattr__(self, "value", _exact(self.value))
            object.__setattr__(self, "bound", _exact(self.bound))

    @property
    def met(self) -> bool:
        """Whether the witness meets it."""
        return bool(HOLDS[self.relation](self.value, self.bound))

    def __str__(self) -> str:
        if self.relation == "=":
            return f"{self.name} = {plain(self.value)}" + ("" if self.met else f", and not {plain(self.bound)}")
        value, bound = plain(self.value), plain(self.bound)
        exact = self.value
        if isinstance(exact, Fraction) and exact != self.bound and (value == bound or value.lstrip("-").isdigit()):
            whole = exact.denominator == 1 and abs(exact) < MOST_WRITTEN
            value = str(exact) if whole else in_digits(exact, ".15g")  # no rounding to it
        return f"{self.name} = {value} {self.relation} {bound}"


class UnmetError(ValueError):
    """A hypothesis that fails before a side can be computed."""

    def __init__(self, assumes: Sequence[Hypothesis]) -> None:
        super().__init__(_broken(assumes))
        self.assumes = assumes


def assuming(*assumes: Hypothesis) -> tuple[Hypothesis, ...]:
    """Return hypotheses without which nothing that follows can be computed.

    Raises:
        UnmetError: one of them is not met.
    """
    if _broken(assumes):
        raise UnmetError(assumes)
    return assumes


def _broken(assumes: Sequence[Hypothesis]) -> str:
    """Return the first assumption that is not met, in words; empty if all are."""
    return next((f"an assumption is not met: {one}" for one in assumes if not one.met), "")


@dataclass(frozen=True)
class Violation:
    """A statement ``left <= right`` (or ``left < right``) at a witness; an equality is ``|a - b| <= 0``.

    Attributes:
        left: left side, exact, or a float.
        right: right side, likewise.
        error: bound on the error of ``left - right``; 0 for exact numbers only.
        reads: how to read the two sides.
        strict: whether the statement is ``left < right``, which exact equality violates.
        assumes: the assumptions, each with its value and its bound.
        given: the set-up that follows from the stored values, by name.
        sampled: the estimator and the source of randomness of a statistical witness; empty where the error bound is
            rigorous.
    """

    left: Number
    right: Number
    error: Number = 0
    reads: str = ""
    strict: bool = False
    assumes: Sequence[Hypothesis] = ()
    given: Mapping[str, Any] = field(default_factory=dict)
    sampled: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "strict", as_bool(self.strict, "whether a statement is strict"))
        for name in ("left", "right", "error"):
            object.__setattr__(self, name, decimal_as_fraction(getattr(self, name)))

    @property
    def gap(self) -> Fraction:
        """Left minus right side, without rounding.

        Raises:
            ValueError: a side or the error is not finite, or the error is less than rounding or sampling make it.
        """
        left, right, error = map(_finite, (self.left, self.right, self.error))
        floats = [abs(side) for side in (self.left, self.right) if isinstance(side, float)]
        least = 2 * _finite(math.ulp(max(floats))) if floats else Fraction(0)
        if error < least or (self.sampled and not error):
            raise ValueError(f"an error of {self.error!r} is smaller than the error of the sides")
        return left - right


def _finite(side: Number) -> Fraction:
    """Return an exact number, or the exact value of a finite float."""
    if not isinstance(side, float):
        return as_fraction(side)
    if not math.isfinite(side):
        raise ValueError(f"sides must be finite, got {side!r}")
    return Fraction(side)


class FlawError(ValueError):
    """A step of a proof that does not hold."""


_REQUIRED: ContextVar[list[str] | None] = ContextVar("required", default=None)
"""Steps that the proof which is evaluated has required so far."""


def require(holds: object, step: str) -> None:
    """Continue a proof if one of its steps holds.

    Args:
        holds: Whether the step holds.
        step: Its name, which the answer gives if it fails.

    Raises:
        FlawError: The step does not hold.
        TypeError: Whether it holds is neither True nor False.

    >>> require(2 + 2 == 4, "the sum")
    """
    required = _REQUIRED.get()
    if required is not None:
        required.append(step)
    if not as_bool(holds, f"whether a step holds ({step})"):
        raise FlawError(step)


@dataclass(frozen=True)
class Proof:
    """The result of a proof in the form of version 0.1; a proof now returns its steps as text, see `require`.

    Attributes:
        verified: whether every step holds exactly.
        steps: what was checked.

    Raises:
        TypeError: whether it is verified is neither True nor False.
    """

    verified: bool
    steps: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "verified", as_bool(self.verified, "whether a proof is verified"))


Kind = Literal["witness", "certificate"]
KINDS: tuple[Kind, ...] = ("witness", "certificate")


@dataclass(frozen=True)
class Replayed:
    """Result of an evaluation, in values that travel as JSON.

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
        reading: the reading of the statement, where it is not the first.
        words: what stored values are, by name, where the name does not say it.
        can_fail: whether it was seen that it can fail: it required a step, or a change of what it is given changed it.
        tried: mutants of the statement that a certificate was tried on; None where it was not.
        proves_too: those of them that it proves as well.
        ended_by: the error that ended the evaluation before it came to a result; empty where none did.
        ended_at: those of the mutants at which an error ended it before a step failed, each with the error.
        alike_at: for a witness whose sides are the same at all other values that were tried, these values as text.
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
    reading: str = ""
    words: Mapping[str, str] = field(default_factory=dict)
    can_fail: bool = True
    tried: int | None = None
    proves_too: Sequence[Mapping[str, Any]] = ()
    ended_by: str = ""
    ended_at: Sequence[Sequence[Any]] = ()
    alike_at: Sequence[str] = ()

    @property
    def cannot_fail(self) -> str:
        """Why a confirmed answer shows nothing, because its replay comes to it anyway; empty if it can fail."""
        if self.can_fail:
            return ""
        if self.kind == "certificate":
            return "it cannot fail: no step is checked by require"
        tried = "; ".join(self.alike_at[:MOST_TOLD]) or "other stored values"
        more = f"; and {len(self.alike_at) - MOST_TOLD} more" if len(self.alike_at) > MOST_TOLD else ""
        return (
            f"its replay cannot fail: it comes to the same with {tried}{more}; "
            "let it compute both sides from the stored values"
        )


@dataclass(frozen=True)
class Replay:
    """A naive evaluation declared for one claim: of its witness, or of its certificate.

    Attributes:
        id: of the claim; ``claim@reading`` for another reading than the first.
        kind: what it evaluates.
        evaluate: the evaluation of stored values; a proof that needs none takes its constants alone.
        states: for a proof in the form of version 0.1, constants that its file must repeat.
        words: what stored values are in the field's words, by name, where the name does not say it.
        module: The module whose body declares it; the function can be in another one, which several replays share.
    """

    id: str
    kind: Kind
    evaluate: Callable[..., Violation | Proof | str]
    states: Mapping[str, Any] = field(default_factory=dict)
    words: Mapping[str, str] = field(default_factory=dict)
    module: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        if not self.module:
            frame = _declaring_frame()
            module = self.evaluate.__module__ if frame is None else str(frame.f_globals["__name__"])
            object.__setattr__(self, "module", module)

    @property
    def constants(self) -> dict[str, Any]:
        """Constants, scope and sizes of what a proof proves, by name, as JSON has them."""
        if self.kind == "witness":
            return {}
        return {name: as_in_json(value) for name, value in {**self.defaults, **self.states}.items()}

    @property
    def defaults(self) -> dict[str, Any]:
        """Keyword defaults of the evaluation, by name."""
        parameters = inspect.signature(self.evaluate).parameters.items()
        return {name: one.default for name, one in parameters if one.default is not one.empty}

    @property
    def reads_a_file(self) -> bool:
        """Whether it evaluates stored values; a proof whose parameters all have defaults needs none."""
        parameters = inspect.signature(self.evaluate).parameters.values()
        return any(one.default is one.empty for one in parameters)


_DECLARED = "__declared__"


def note(item: Declared) -> Declared:
    """Return a claim or a replay, noted in the module whose body declares it, so none loses its name unnoticed.

    Declarations in functions that are called later are not noted.
    """
    frame = _declaring_frame()
    if frame is not None:
        body, items = frame.f_globals.get(_DECLARED, (None, []))
        if body is not frame.f_code:  # the module is loaded again
            frame.f_globals[_DECLARED] = body, items = frame.f_code, []
        items.append((frame.f_lineno, item))
    return item


def _declaring_frame() -> FrameType | None:
    """Return the frame of the module whose body runs now; None if none does."""
    frame = inspect.currentframe()
    while frame is not None and frame.f_code.co_name != "<module>":
        frame = frame.f_back
    return frame


def declared_in(module: ModuleType, kind: type[Any]) -> list[tuple[int, Any]]:
    """Return the claims, or the replays, that the body of a module declares, each with its line."""
    return [both for both in vars(module).get(_DECLARED, (None, []))[1] if isinstance(both[1], kind)]


def declared_at(module: ModuleType, item: object) -> str:
    """Return module and line of a declaration, in words; the module alone where it did not note it."""
    line = next((line for line, one in declared_in(module, object) if one is item), None)
    return module.__name__ if line is None else f"{module.__name__}, line {line}"


def require_kept(module: ModuleType, kind: type[Any], evaluation: str) -> None:
    """Check that a module keeps all claims, or all replays, that it declares.

    Args:
        module: The module.
        kind: The class of what it declares.
        evaluation: The attribute with its function; a changed copy of what was declared has the same.

    Raises:
        ValueError: One has lost its name to a later statement, or never had one.
    """
    declared = declared_in(module, kind)
    kept = [(one.id, getattr(one, evaluation)) for one in vars(module).values() if isinstance(one, kind)]
    for line, item in declared:
        if (item.id, getattr(item, evaluation)) in kept:
            continue
        lost = f"{item.id} ({declared_at(module, item)})"
        of_name = (
            (name, lines) for name, lines in binding_lines(module).items() if any(a <= line <= b for a, b in lines)
        )
        name, lines = next(of_name, ("", []))
        later = next(((first, last) for first, last in lines if first > line), None)
        if later is None:
            raise ValueError(f"{lost} is declared without a name; assign it to a name of its own in the module")
        other = next((f"{one.id} " for at, one in declared if later[0] <= at <= later[1]), "")
        raise ValueError(f"{lost} and {other}(line {later[0]}) are both named {name}; rename one of them")


def binding_lines(module: ModuleType) -> dict[str, list[tuple[int, int]]]:
    """Return the first and the last line of each statement that binds a name of a module, by name."""
    found: dict[str, list[tuple[int, int]]] = {}
    for node in _statements(ast.parse(inspect.getsource(module)).body):
        names, first = list[str](), node.lineno
        if isinstance(node, ast.FunctionDef):
            names, first = [node.name], min([first, *(one.lineno for one in node.decorator_list)])
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            parts = (part for target in targets for part in ast.walk(target))
            names = [part.id for part in parts if isinstance(part, ast.Name)]
        for name in names:
            found.setdefault(name, []).append((first, node.end_lineno or first))
    return found


def _statements(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements of a module, those within branches and loops too."""
    for node in body:
        yield node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield from _statements([part for part in ast.iter_child_nodes(node) if isinstance(part, ast.stmt)])


def replay(id: str, **words: str) -> Callable[[Callable[[Mapping[str, Any]], Violation]], Replay]:
    """Declare the decorated function as the replay of one claim's witness, or of one reading's (``claim@reading``).

    Args:
        id: of the claim, or of the reading.
        words: what stored values are in the field's words, where their names do not say it.
    """
    return lambda evaluate: note(Replay(id, "witness", evaluate, words=words))


def proof(
    id: str, words: Mapping[str, str] | None = None, /, **states: Any
) -> Callable[[Callable[..., Proof | str]], Replay]:
    """Declare the decorated function as the proof of one claim.

    It proves the printed statement of a claim that holds, and the correction of one that is corrected. Its docstring is
    the argument. Its keyword defaults are the constants and the scope of the statement, and the sizes at which a step
    is repeated for an argument that holds for all of them. The body checks each step with `require`, so a changed
    constant makes it fail, and returns what was checked. A parameter without default receives the values of the claim's
    certificate file, for data such as multipliers.

    Args:
        id: Id of the claim, or ``claim@reading``.
        words: Meaning of the values of the file in the field's words, by name.
        states: The form of version 0.1, where a file repeats the constants and the function returns a `Proof`.

    >>> @proof("demo/sum-of-squares")
    ... def sum_of_squares(factor=2):
    ...     "$2(3^2 + 4^2) - (3 + 4)^2 = (4 - 3)^2$."
    ...     require(factor * (3**2 + 4**2) - (3 + 4) ** 2 >= 0, "the difference")
    ...     return "a square"
    >>> evaluate_replay(sum_of_squares, {}).detail, evaluate_replay(sum_of_squares, {}, {"factor": 1}).detail
    ('a square', 'the difference')
    """
    return lambda evaluate: note(Replay(id, "certificate", evaluate, states, words or {}))


def evaluate_replay(
    replay: Replay, values: Mapping[str, Any], constants: Mapping[str, Any] = MappingProxyType({})
) -> Replayed:
    """Evaluate stored values; for any values the answer is one line, never an exception.

    Args:
        replay: Their evaluation.
        values: The stored values; empty for a proof that reads none.
        constants: Other constants than a proof has, by name, to see that it needs its own.
    """
    try:
        return (
            _evaluate_witness(replay, values)
            if replay.kind == "witness"
            else _evaluate_proof(replay, values, constants)
        )
    except UnmetError as error:
        return Replayed(replay.kind, False, False, None, None, str(error), _describe_hypotheses(error.assumes))
    except (ArithmeticError, AttributeError, ImportError, LookupError, TypeError, ValueError) as error:
        detail = describe_error(error, replay)
        return Replayed(replay.kind, False, False, None, None, detail, ended_by=repr(error))


def describe_error(error: Exception, replay: Replay) -> str:
    """Return what an error in a replay means: a fault of its code, or values outside the claim."""
    of_values = isinstance(error, ArithmeticError | LookupError | ValueError)
    what = "replay" if replay.kind == "witness" else "proof"
    head = "not a case of this claim" if of_values else f"an error in the {what} of {replay.id}"
    return f"{head}: {error!r}{_at(error, replay)}"


def _at(error: BaseException, replay: Replay) -> str:
    """Return the innermost line of the replays in an error's traceback, after a comma; empty if there is none."""
    file = getattr(sys.modules.get(replay.evaluate.__module__), "__file__", None)
    lines, here = [], error.__traceback__
    while here is not None:
        if file and here.tb_frame.f_code.co_filename == file:
            lines.append(here.tb_lineno)
        here = here.tb_next
    return f", at {os.path.basename(file)}, line {lines[-1]}" if file and lines else ""


def select_read(replay: Replay, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return those of the values that a replay reads: what is worth storing."""
    read = _Read(values)
    replay.evaluate(read)
    return {name: value for name, value in values.items() if name in read.read}


class _Read(Mapping[str, Any]):
    """Stored values that remember which of them were read, those within lists and mappings too."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.values_on_file, self.read = values, set[str]()
        self._within: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        value = self.values_on_file[name]
        if name not in self.read:
            self.read.add(name)
            self._within[name] = _follow(value)
        return self._within[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.values_on_file)

    def __len__(self) -> int:
        return len(self.values_on_file)

    @property
    def unread(self) -> str:
        """A note on the values that were not used; empty if all were read."""
        left = sorted(self._left())
        return f"the replay does not use {', '.join(left)}" if left else ""

    def _left(self) -> set[str]:
        inner = {name for value in self._within.values() for part in _mappings(value) for name in part._left()}
        return (set(self.values_on_file) - self.read) | inner


def _follow(value: Any) -> Any:
    if isinstance(value, dict):
        return _Read(value)
    return [_follow(part) for part in value] if isinstance(value, list) else value


def _mappings(value: Any) -> Iterator[_Read]:
    if isinstance(value, _Read):
        yield value
    for part in value if isinstance(value, list) else ():
        yield from _mappings(part)


def as_in_json(value: Any) -> Any:
    """Return a value with lists for its tuples, and what JSON does not have, such as fractions, as text."""
    if is_bool(value):
        return bool(value)
    if isinstance(value, Mapping):
        return {str(name): as_in_json(part) for name, part in value.items()}
    numpy = sys.modules.get("numpy")  # without it no value is one of its arrays
    if numpy is not None and isinstance(value, numpy.ndarray):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [as_in_json(part) for part in value]
    return value if value is None or type(value) in (int, float, str) else str(value)


def _evaluate_proof(replay: Replay, values: Mapping[str, Any], constants: Mapping[str, Any]) -> Replayed:
    for name, stated in replay.states.items():
        if repr(values[name]) != repr(as_in_json(stated)):  # 1, 1.0, True and "1" are four values
            detail = f"a certificate for another statement: {name} = {values[name]}, but this claim has {stated}"
            return Replayed("certificate", False, False, None, None, detail)
    read, required = _Read(values), list[str]()
    token = _REQUIRED.set(required)
    try:
        floats = {name: value for name, value in replay.defaults.items() if isinstance(value, float | list | tuple)}
        given = {name: as_written(value) for name, value in floats.items()} | dict(constants)
        outcome = replay.evaluate(*([read] if replay.reads_a_file else []), **given)
    except FlawError as flaw:
        outcome = Proof(False, str(flaw))
    finally:
        _REQUIRED.reset(token)
    met, steps = (outcome.verified, outcome.steps) if isinstance(outcome, Proof) else (True, outcome)
    if not isinstance(steps, str) or not steps:
        raise TypeError(f"a proof must return a text that says what it checked, got {steps!r}")
    if met and read.unread:
        return Replayed("certificate", False, False, None, None, read.unread)
    proves = replay.constants
    return Replayed(
        "certificate", met, met, None, None, steps, words=replay.words, proves=proves, can_fail=bool(required)
    )


def _evaluate_witness(replay: Replay, values: Mapping[str, Any]) -> Replayed:
    read = _Read(values)
    outcome = replay.evaluate(read)
    if not isinstance(outcome, Violation):
        raise TypeError(f"a replay of a witness must return a Violation, got {type(outcome).__name__} {outcome!r}")
    gap, error = outcome.gap, _finite(outcome.error)
    left, right = _as_floats(outcome.left, outcome.right)
    assumes = _describe_hypotheses(outcome.assumes)
    given = {name: plain(value) for name, value in outcome.given.items()}
    flaw = _broken(outcome.assumes) or read.unread
    if flaw:
        return Replayed("witness", False, False, left, right, flaw, assumes, given)
    equal = outcome.strict and gap == 0 == error
    confirmed = gap > error or equal
    reads = f"{outcome.reads}: " if outcome.reads else ""
    sign = "=" if equal else ">" if confirmed else "<="
    # Digits of a side that is smaller than the error are noise, and differ from machine to machine.
    left_shown, right_shown = (
        Fraction(0) if abs(_finite(side)) < error else side for side in (outcome.left, outcome.right)
    )
    told = format_apart(left_shown, right_shown, gap)
    whole = [sum(map(Fraction, text.split(" + "))) for text in told] == [_finite(outcome.left), _finite(outcome.right)]
    known = f"error at most {in_digits(error, '.3g')}" if error else "exact" if whole else "exact, shown rounded"
    how = "; ".join([known, *filter(None, [outcome.sampled])])
    detail = f"{reads}{told[0]} {sign} {told[1]} ({how})"
    return Replayed("witness", confirmed, confirmed and not outcome.sampled, left, right, detail, assumes, given)


def _as_floats(*sides: Number) -> tuple[float | None, ...]:
    """Return sides as floats; none of them where one is larger than floats are."""
    try:
        return tuple(side if isinstance(side, float) else float(as_fraction(side)) for side in sides)
    except OverflowError:
        return tuple(None for _ in sides)


def in_digits(value: Number, specification: str = ".6g") -> str:
    """Format a number as a float, also one that is larger or smaller than floats are.

    >>> in_digits(Fraction(1, 3)), in_digits(Fraction(10) ** 400 * 4 / 3), in_digits(Fraction(1, 10**400), ".3g")
    ('0.333333', '1.33333e+400', '1e-400')
    """
    try:
        exact = as_fraction(value)
    except TypeError:  # a float
        return format(value, specification)
    try:
        near = float(exact)
    except OverflowError:
        near = math.inf
    if exact == 0 or sys.float_info.min <= abs(near) < math.inf:
        return format(near, specification)
    match = re.fullmatch(r"\.(\d+)g", specification)
    digits = int(match[1]) if match else 6
    with localcontext(Context(prec=digits, Emax=MAX_EMAX, Emin=MIN_EMIN)):
        return f"{(Decimal(exact.numerator) / Decimal(exact.denominator)).normalize():g}"


def format_apart(left: Number, right: Number, gap: Number | None = None) -> tuple[str, str]:
    """Format two sides in six digits, or in as many as separate them; where no float does, the left one by the gap.

    >>> format_apart(0.360036, 0.36), format_apart(0.36 + 1e-9, 0.36)
    (('0.360036', '0.36'), ('0.360000001', '0.36'))
    >>> format_apart(0.36, 0.36, Fraction(1, 10**40))
    ('0.36 + 1e-40', '0.36')
    """
    apart = left != right if gap is None else gap != 0
    for digits in range(6, 18) if apart else (6,):
        told = in_digits(left, f".{digits}g"), in_digits(right, f".{digits}g")
        if told[0] != told[1]:
            return told
    return (f"{in_digits(right)} + {in_digits(gap, '.3g')}", in_digits(right)) if gap else told


def _describe_hypotheses(assumes: Sequence[Hypothesis]) -> list[tuple[str, bool]]:
    return [(str(one), one.met) for one in assumes]


def plain(value: Any) -> str:
    """Return a value for people: lists in brackets, fractions as they are, long ones and floats to six digits.

    >>> plain([Fraction(1, 3), 0.1234567]), plain(Fraction(10**20 + 1, 3 * 10**20))
    ('[1/3, 0.123457]', '0.333333')
    """
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(plain, value))}]"
    if isinstance(value, Fraction) and max(abs(value.numerator), value.denominator) > 10**9:
        return in_digits(value)
    if isinstance(value, int) and abs(value) >= MOST_WRITTEN:
        return in_digits(value)
    return f"{value:.6g}" if isinstance(value, float) else str(value)
