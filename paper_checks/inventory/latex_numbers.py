r"""Counters of LaTeX: sections, theorems, equations and floats, as ``\newtheorem`` and its kin set them up."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from paper_checks.inventory.document import STATEMENTS, Kind, kind_called

SECTIONS = ("part", "chapter", "section", "subsection", "subsubsection", "paragraph", "subparagraph")
_NUMBERED = ("chapter", "section", "subsection", "subsubsection")
_SHARED_BY_CLASS = re.compile(r"siam|amsart-shared")
_COMMANDS = re.compile(
    r"\\(?P<how>setcounter|addtocounter|numberwithin|counterwithin|"
    r"counterwithout)\*?\s*\{(?P<name>\w+)\}\s*\{(?P<to>(?:[^{}]|\{[^{}]*\})*)\}"
    r"|\\(?P<steps>stepcounter|refstepcounter|newcounter)\s*\{(?P<one>\w+)\}(?:\s*\[(?P<above>\w+)\])?"
    r"|\\renewcommand\*?\s*\{?\s*\\the(?P<shown>\w+)\s*\}?\s*\{(?P<form>(?:[^{}]|\{[^{}]*\})*)\}"
    r"|\\(?P<appendix>appendix|appendices|begin\s*\{appendix\}|begin\s*\{appendices\}|beginsupplement)(?![A-Za-z])"
)
_DECLARED = re.compile(
    r"\\declaretheorem\s*(?:\[(?P<before>[^\]]*)\])?\s*\{(?P<names>[^{}]*)\}\s*(?:\[(?P<after>[^\]]*)\])?"
)
_FORMS: dict[str, Callable[[int], str]] = {
    "arabic": str,
    "alph": lambda n: _letter(n).lower(),
    "Alph": lambda n: _letter(n),
    "roman": lambda n: _roman(n).lower(),
    "Roman": lambda n: _roman(n),
}


def _letter(n: int) -> str:
    return chr(64 + n) if 0 < n <= 26 else str(n)


def _roman(n: int) -> str:
    shown = ""
    for value, sign in (
        (1000, "M"),
        (900, "CM"),
        (500, "D"),
        (400, "CD"),
        (100, "C"),
        (90, "XC"),
        (50, "L"),
        (40, "XL"),
        (10, "X"),
        (9, "IX"),
        (5, "V"),
        (4, "IV"),
        (1, "I"),
    ):
        shown, n = shown + sign * (n // value), n % value
    return shown


@dataclass(frozen=True)
class Theorem:
    """A theorem-like environment.

    Attributes:
        kind: Kind of the statement.
        called: The printed name.
        counter: Its counter; empty if it has no number.
    """

    kind: Kind
    called: str
    counter: str


@dataclass
class _Counter:
    value: int = 0
    within: str = ""
    form: str = ""


@dataclass
class Numbers:
    """The counters of a source at a place of it."""

    counters: dict[str, _Counter] = field(default_factory=dict)
    theorems: dict[str, Theorem] = field(default_factory=dict)
    appendix: bool = False

    def step(self, name: str) -> str:
        """Count one more and return the number as printed."""
        counter = self.counters.setdefault(name, _Counter())
        counter.value += 1
        self._reset_below(name)
        return self.shown(name)

    def shown(self, name: str) -> str:
        """Return the value of a counter as printed."""
        counter = self.counters.setdefault(name, _Counter())
        if counter.form:
            return self._formed(counter.form)
        if name == "section" and self.appendix and "chapter" not in self._used():
            return _letter(counter.value)
        if name == "chapter" and self.appendix:
            return _letter(counter.value)
        above = counter.within
        if name in _NUMBERED:
            used = [one for one in _NUMBERED[: _NUMBERED.index(name)] if self.counters.get(one, _Counter()).value]
            above = used[-1] if used else ""
        prefix = self.shown(above) if above else ""
        return f"{prefix}.{counter.value}" if prefix and prefix != "0" else str(counter.value)

    def _used(self) -> set[str]:
        return {name for name, counter in self.counters.items() if counter.value}

    def _formed(self, form: str) -> str:
        def value(found: re.Match[str]) -> str:
            if found["of"]:
                return _FORMS[found["how"]](self.counters.setdefault(found["of"], _Counter()).value)
            return self.shown(found["the"])

        shown = re.sub(r"\\(?P<how>arabic|alph|Alph|roman|Roman)\s*\{(?P<of>\w+)\}|\\the(?P<the>[a-z]\w*)", value, form)
        return re.sub(r"[{}\\]|\s+", "", shown)

    def _reset_below(self, name: str) -> None:
        lower = _NUMBERED[_NUMBERED.index(name) + 1 :] if name in _NUMBERED else ()
        for other, counter in self.counters.items():
            if other in lower or ((counter.within and counter.within in (name, *lower)) and other != name):
                counter.value = 0

    def apply(self, command: re.Match[str]) -> bool:
        """Carry out a command that changes counters; return whether it could be."""
        if command["appendix"]:
            self.appendix = True
            for name in ("section", "subsection"):
                self.counters.setdefault(name, _Counter()).value = 0
            return True
        if command["shown"]:
            self._counter(command["shown"]).form = command["form"]
            return True
        if command["steps"] == "newcounter":
            self._counter(command["one"]).within = command["above"] or ""
            return True
        if command["steps"]:
            self.step(self._root(command["one"]))
            return True
        counter, how = self._counter(command["name"]), command["how"]
        if how in ("numberwithin", "counterwithin"):
            counter.within = command["to"].strip()
        elif how == "counterwithout":
            counter.within = ""
        else:
            value = self._whole(command["to"])
            if value is None:
                return False
            counter.value = value if how == "setcounter" else counter.value + value
        return True

    def prints(self, name: str) -> bool:
        """Return whether the numbers of items or sections depend on a counter."""
        printed = {theorem.counter for theorem in self.theorems.values()}
        return self._root(name) in {*printed, *SECTIONS, "equation", "table", "figure", "algorithm"}

    def _root(self, name: str) -> str:
        """Return the counter that an environment shares, or that has this name itself."""
        return self.theorems[name].counter or name if name in self.theorems else name

    def _counter(self, name: str) -> _Counter:
        return self.counters.setdefault(self._root(name), _Counter())

    def _whole(self, text: str) -> int | None:
        r"""Return what a sum of whole numbers and values of counters gives; None if it is something else."""
        text = re.sub(r"\\(?:value\s*\{\s*(\w+)\s*\}|c@(\w+))", lambda found: self._valued(found[1] or found[2]), text)
        text = re.sub(r"\\(?:numexpr|relax|the)(?![A-Za-z])|\s+", "", text)
        if not re.fullmatch(r"(?:[+-]*\d{1,6})(?:[+-]+\d{1,6})*", text, re.ASCII):
            return None
        parts = re.findall(r"([+-]*)(\d+)", text)
        return sum((-1) ** signs.count("-") * int(digits) for signs, digits in parts)

    def _valued(self, name: str) -> str:
        return str(self._counter(name).value)


def set_up(text: str, defined: Iterable[tuple[str, str, str, str, bool]]) -> Numbers:
    r"""Return the counters before the first page.

    Args:
        text: The whole source.
        defined: Name, shared counter, printed name, counter above, and whether it is unnumbered, of each
            ``\\newtheorem``.
    """
    numbers = Numbers()
    for name, shared, shown, within, starred in (*defined, *_declared(text)):
        kind = kind_called(re.sub(r"\W", "", re.sub(r"\\\w+", "", shown))) or kind_called(name)
        if kind is None:
            kind = next((kind_called(word) for word in re.findall(r"[A-Za-z]+", shown) if kind_called(word)), None)
        if kind is None or kind in ("equation", "table", "figure"):
            kind = "remark" if kind is None else "theorem"
        root = numbers.theorems[shared].counter if shared in numbers.theorems else shared
        counter = "" if starred else root or name
        numbers.theorems[name] = Theorem(kind, re.sub(r"\\\w+|[{}~]", "", shown).strip() or kind.capitalize(), counter)
        if counter and within:
            numbers.counters.setdefault(counter, _Counter()).within = within
    style = re.search(r"\\documentclass\s*(?:\[[^\]]*\])?\s*\{([^{}]*)\}", text)
    shared_by_class = bool(style and _SHARED_BY_CLASS.search(style[1]))
    for name in (*STATEMENTS, "claim", "fact", "thm", "lem", "prop", "cor", "defn"):
        if name not in numbers.theorems:
            kind = kind_called(name)
            assert kind is not None
            called = name.capitalize() if len(name) > 4 else kind.capitalize()
            numbers.theorems[name] = Theorem(kind, called, "theorem" if shared_by_class else f"{kind} of the class")
    if shared_by_class:
        numbers.counters.setdefault("theorem", _Counter()).within = "section"
    return numbers


def _declared(text: str) -> Iterable[tuple[str, str, str, str, bool]]:
    """Yield the theorems that thmtools declares."""
    for found in _DECLARED.finditer(text):
        options = {
            key.strip(): value.strip().strip("{}")
            for key, _, value in (
                part.partition("=") for part in f"{found['before'] or ''},{found['after'] or ''}".split(",")
            )
        }
        shared = next((options[key] for key in ("sibling", "numberlike", "sharenumber") if key in options), "")
        within = next((options[key] for key in ("numberwithin", "within", "parent") if key in options), "")
        for name in found["names"].split(","):
            name = name.strip()
            shown = options.get("name") or options.get("title") or name.capitalize()
            yield name, shared, shown, within, options.get("numbered") == "no"


def commands_of(text: str) -> list[re.Match[str]]:
    """Return the commands that change counters, in their order."""
    return list(_COMMANDS.finditer(text))
