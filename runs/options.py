"""Options from dataclasses: the field gives the default, its annotation the values, and the docstring the help.

Fields that are dataclasses themselves are flattened: inner fields of `PLAIN` fields keep their names, others get the
outer field's name as a prefix (``truncation.rule`` is ``truncation_rule``; ``truncation`` by itself is its threshold).
A field whose kind is one of several dataclasses, or of `Kinds`, gives a word that chooses among them, and their fields.
A rate that may be a schedule stays a number, with the word ``schedule`` as a second option. The default of a
``personal_`` option is the value of the option without that prefix.
"""

from __future__ import annotations

import inspect
import os
import re
import reprlib
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass, replace
from difflib import get_close_matches
from functools import cache
from itertools import count
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from runs.settings import RunError
from workloads.arguments import suggestion
from workloads.numbers import FINEST, LARGEST, MOST, is_usable, read_real, read_whole

PLAIN = ("local", "adapter", "optimiser")
"""Fields whose inner fields need no prefix."""
SHORT = {"truncation_tau": "truncation"}
OWN = "personal_"
CHANGES = "How the rate changes; per step, step s of round t is number (t - 1) n + s of a client with n steps in it."
_READ: Mapping[type, Callable[[str], Any]] = {int: read_whole, float: read_real}
Kinds = Mapping[Any, Mapping[str, type]]
"""Protocols, and for each the dataclasses that implement it, by the words for them."""


@dataclass(frozen=True)
class Option:
    """One option of a run.

    Attributes:
        name: Name with underscores; the command line has hyphens instead.
        kind: `int`, `float`, `bool`, `str` or `tuple` (of numbers).
        help: Description in the help.
        default: Value where none is given; `MISSING`: one has to be.
        words: The values of a word, if they are known.
        optional: Whether ``None`` is a value.
        element: Kind of the numbers of a tuple.
        earlier: Name that the option had earlier; it is still accepted, and settings are stored under it, so the
            digests of stored runs stay valid.
    """

    name: str
    kind: type
    help: str
    default: Any = MISSING
    words: tuple[str, ...] = ()
    optional: bool = False
    element: type = float
    earlier: str | None = None

    @property
    def flag(self) -> str:
        """The option as written on the command line."""
        return f"--{self.name.replace('_', '-')}"

    @property
    def earlier_flag(self) -> str | None:
        """The option as written on the command line under its earlier name, if it had one."""
        return None if self.earlier is None else f"--{self.earlier.replace('_', '-')}"

    @property
    def accepted_values(self) -> str:
        """Description of its values."""
        if self.words:
            return f"one of {', '.join(self.words)}"
        return {
            int: "a whole number",
            float: f"a finite number, 0 or of size {FINEST:g} to {LARGEST:g}",
            bool: "true or false",
            str: "a text",
            tuple: "numbers between commas",
        }[self.kind]

    def read(self, text: str) -> Any:
        """Convert a text to a value.

        Raises:
            RunError: The text is not one of its values.
        """
        value: Any = text
        try:
            if self.kind in _READ:
                value = _READ[self.kind](text)
            elif self.kind is bool:
                value = {"true": True, "false": False}[text]
            elif self.kind is tuple:
                value = tuple(_READ[self.element](part) for part in text.split(","))
        except (ValueError, KeyError):
            pass
        return self.check(value)

    def check(self, value: Any) -> Any:
        """Check a value and return it; whole numbers become floats and lists become tuples where the option has these.

        Raises:
            RunError: Another type or another value.
        """
        if value is None and self.optional:
            return None
        if self._is_own(value):
            return self.kind(value)
        raise RunError(f"{self.name} must be {self.accepted_values}, got {reprlib.repr(value)}")

    def _is_own(self, value: Any) -> bool:
        if self.kind is tuple:
            kinds = (int,) if self.element is int else (int, float)
            return type(value) in (list, tuple) and all(type(part) in kinds and is_usable(part) for part in value)
        if self.kind is float:
            return type(value) in (int, float) and is_usable(value)
        if self.kind is int:
            return type(value) is int and abs(value) <= MOST
        if isinstance(value, str) and self.kind is str:
            return value in self.words if self.words else bool(value.strip()) and is_name(value)
        return type(value) is self.kind


def is_name(text: str) -> bool:
    r"""Return whether a text can be a name or a path: without NUL, and with an encoding in this system.

    >>> is_name("résumé"), is_name("a\0b"), is_name("\ud800")
    (True, False, False)
    """
    try:
        return b"\0" not in os.fsencode(text)
    except UnicodeEncodeError:
        return False


Take = Callable[[Option], Any]
"""The value of an option: the one given, or its default."""


@dataclass(frozen=True)
class OptionSchema:
    """A dataclass whose fields are options.

    Attributes:
        kind: The dataclass.
        fixed: Values of fields that are not options.
        defaults: Defaults of options, by their names, before those of the fields.
        kinds: Alternatives for the protocols among the fields.
        seeded: Fields called ``seed`` are not options: each gets the run's seed, plus the number of those before it.
    """

    kind: type
    fixed: Mapping[str, Any] = field(default_factory=dict)
    defaults: Mapping[str, Any] = field(default_factory=dict)
    kinds: Kinds = field(default_factory=dict)
    seeded: bool = True

    def options(self, given: Mapping[str, Any], every: bool = False) -> dict[str, Option]:
        """Return the options by name; the words among the given values decide which there are.

        Args:
            given: Values by name, of any options.
            every: Return the options of every choice.
        """
        found: dict[str, Option] = {}

        def take(option: Option) -> Any:
            found.setdefault(option.name, option)
            return given.get(option.name, option.default)

        _Walk(self, take, count(), every).part(self.kind, "", self.fixed)
        return found

    def build(self, values: Mapping[str, Any], seed: int = 0) -> Any:
        """Build the object from the given values and the defaults of the others.

        Args:
            values: Values by the names of the options.
            seed: Seed for fields of that name, if these are not options.

        Raises:
            RunError: An option that has no default is not given.
        """

        def take(option: Option) -> Any:
            if option.name in values:
                return values[option.name]
            if option.default is MISSING:
                raise RunError(f"{option.name} has no default; name {option.flag}")
            return option.default

        return _Walk(self, take, count(seed), False).part(self.kind, "", self.fixed)()


@dataclass(frozen=True)
class _Walk:
    """One pass over the fields of a schema: it takes a value for each option and returns what builds the object."""

    form: OptionSchema
    take: Take
    seeds: Iterator[int]
    every: bool
    taken: dict[str, Any] = field(default_factory=dict)

    def part(self, kind: Any, prefix: str, fixed: Mapping[str, Any], default: Any = MISSING) -> Callable[[], Any]:
        hints, texts = _hints(kind), attribute_texts(kind)
        parts: dict[str, Callable[[], Any]] = {}
        for entry in fields(kind):
            if entry.name in fixed:
                parts[entry.name] = _constant(fixed[entry.name])
            elif entry.name == "seed" and self.form.seeded:
                parts[entry.name] = _constant(next(self.seeds))
            else:
                name = "_".join(filter(None, (prefix, entry.name)))
                own = _default(entry) if default is MISSING else getattr(default, entry.name, MISSING)
                parts[entry.name] = self._field(entry.name, name, prefix, hints[entry.name], texts, own)
        return lambda: kind(**{name: part() for name, part in parts.items()})

    def _field(
        self, own: str, name: str, prefix: str, hint: Any, texts: Mapping[str, str], default: Any
    ) -> Callable[[], Any]:
        text = texts.get(own, "")
        plain = [kind for kind in _members(hint) if kind is not type(None)]
        optional = len(plain) < len(_members(hint))
        choices = self._choices(plain)
        inner = prefix if own in PLAIN else "_".join(filter(None, (prefix, own.removesuffix("_adapter"))))
        if choices and float in plain:
            return self._schedule(name, prefix, choices, text, default)
        if choices:
            chosen = self._choose(Option(name, str, text, default, optional=optional), choices, default)
            return self._alternatives(choices, chosen, inner if own in PLAIN else name, {}, default)
        (kind,) = plain[:1] or (str,)
        if is_dataclass(kind):
            return self.part(kind, inner, {}, default)
        words: tuple[str, ...] = ()
        if get_origin(kind) is Literal:
            words, kind = get_args(kind), str
        element = get_args(kind)[0] if get_origin(kind) is tuple else float
        kind = get_origin(kind) or kind
        return _constant(self._take(Option(name, kind, text, default, words, optional, element)))

    def _choices(self, members: Sequence[Any]) -> Mapping[str, type]:
        """Return the dataclasses among which a word chooses, if any."""
        protocol = next((kind for kind in members if kind in self.form.kinds), None)
        if protocol is not None:
            return self.form.kinds[protocol]
        several = len(members) > 1 and all(map(is_dataclass, members))
        return {re.sub(r"(?<!^)(?=[A-Z])", "-", kind.__name__).lower(): kind for kind in members} if several else {}

    def _schedule(
        self, name: str, prefix: str, choices: Mapping[str, type], text: str, default: Any
    ) -> Callable[[], Any]:
        """Return a number, or the schedule that starts from it."""
        given = self._take(Option(name, float, text, getattr(default, "rate", default)))
        word = "_".join(filter(None, (prefix, "schedule")))
        chosen = self._choose(Option(word, str, CHANGES, "constant"), choices, default)
        made = self._alternatives(choices, chosen, word, {"rate": given}, default)
        return _constant(given) if chosen == "constant" else made

    def _choose(self, option: Option, choices: Mapping[str, type], default: Any) -> str | None:
        known = next((word for word, kind in choices.items() if type(default) is kind), option.default)
        return self._take(replace(option, default=known, words=tuple(choices)))

    def _alternatives(
        self, choices: Mapping[str, type], chosen: str | None, prefix: str, fixed: Mapping[str, Any], default: Any
    ) -> Callable[[], Any]:
        made: Callable[[], Any] = _constant(None)
        for word, kind in choices.items():
            if word == chosen or self.every:
                part = self.part(kind, prefix, fixed, default if type(default) is kind else MISSING)
                made = part if word == chosen else made
        return made

    def _take(self, option: Option) -> Any:
        name = SHORT.get(option.name, option.name)
        default = self.taken.get(name.removeprefix(OWN), option.default) if name.startswith(OWN) else option.default
        default = self.form.defaults.get(name, default)
        earlier = getattr(self.form.kind, "earlier_names", {}).get(name)
        self.taken[name] = self.take(replace(option, name=name, default=default, earlier=earlier))
        return self.taken[name]


def resolve(
    options: Mapping[str, Option],
    given: Mapping[str, Any],
    of: str,
    others: Callable[[Mapping[str, Any]], Mapping[str, Option]] = lambda values: {},
    elsewhere: Callable[[str], str] = lambda name: "",
) -> dict[str, Any]:
    """Check values and return every option with its value.

    Args:
        options: Options by name.
        given: Values; of other names there must be none.
        of: Owner of the options, for the message.
        others: The options that there are with other values.
        elsewhere: Names what else takes an option, as the end of a sentence.

    Raises:
        RunError: An unknown name, or a value that the option does not take.
    """
    for name in given:
        if name not in options:
            raise RunError(f"{of} takes no {_flag(name)}{_remedy(name, options, given, others, elsewhere)}")
    missing = [option.flag for option in options.values() if option.default is MISSING and option.name not in given]
    if missing:
        raise RunError(f"{of} needs {', '.join(missing)}")
    return {name: option.check(given.get(name, option.default)) for name, option in options.items()}


def _remedy(
    name: str,
    options: Mapping[str, Option],
    given: Mapping[str, Any],
    others: Callable[[Mapping[str, Any]], Mapping[str, Option]],
    elsewhere: Callable[[str], str],
) -> str:
    """Name the words with which such an option exists, or the nearest name, as the end of a sentence."""
    for option in options.values():
        words = [word for word in option.words if name in others({**given, option.name: word})]
        if words:
            return f"; it goes with {option.flag} {' or '.join(words)}"
    return elsewhere(name) or suggest_option(_flag(name), [option.flag for option in options.values()])


def suggest_name(name: str, known: Any) -> str:
    """Suggest the known name closest to a wrong one, or list the known names, as the end of a sentence."""
    known = list(known)
    close = get_close_matches(name, known, 1, 0.75)
    return f"; did you mean {close[0]}?" if close else f"; known: {', '.join(known)}"


def suggest_option(flag: str, known: Sequence[str]) -> str:
    """Suggest the known option closest to an unknown one, or the three most similar ones, as the end of a sentence."""
    near = get_close_matches(flag, known, 3, 0.0)
    return suggestion(flag, known) or f"; the most similar are {', '.join(near)}, and --help lists all"


@cache
def attribute_texts(kind: type) -> Mapping[str, str]:
    """Return the ``Attributes:`` texts of a class and its bases, by field, without LaTeX commands."""
    found: dict[str, str] = {}
    for base in reversed(kind.__mro__):
        document = inspect.cleandoc(base.__dict__.get("__doc__") or "")
        section = re.search(r"^Attributes:\n((?:[ ]+.*\n?|\n)*)", document, re.MULTILINE)
        for names, text in re.findall(
            r"^ {4}(\w[\w, ]*): ((?:.*\n?)(?: {8}.*\n?)*)", section[1] if section else "", re.M
        ):
            for name in names.split(","):
                found[name.strip()] = _plain_text(" ".join(text.split()))
    return found


def _plain_text(text: str) -> str:
    """Remove LaTeX commands from a text."""
    return re.sub(r"\$([^$]*)\$", lambda formula: re.sub(r"[\\{}]", "", formula[1]), text).replace("`", "")


_hints = cache(get_type_hints)
"""Types of the fields of a class, whose texts Python compiles at each call."""


def _members(hint: Any) -> tuple[Any, ...]:
    return get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)


def _default(entry: Field[Any]) -> Any:
    return entry.default_factory() if entry.default_factory is not MISSING else entry.default


def _constant(value: Any) -> Callable[[], Any]:
    return lambda: value


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-') if name.isprintable() else ascii(name)}"
