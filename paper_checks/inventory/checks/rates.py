r"""Rates as algebra: ``1/\sqrt{KT}`` and ``(KT)^{-1/2}`` are equal up to constant factors.

A rate is a sum of monomials without coefficients. The parser knows only the operations of rates, so a text of a paper
is never evaluated. What it does not know has no rate.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from fractions import Fraction

_TOKEN = re.compile(
    r"\s*(?P<number>\d{1,9}(?:\.\d{1,9})?)|\s*(?P<command>\\[A-Za-z]+)|\s*(?P<letter>[A-Za-z])|\s*(?P<sign>[-+*/^_(){}\[\]'·−])"
)
_SPACING = re.compile(
    r"\\(?:left|right|big|Big|bigg|Bigg|bigl|bigr|Bigl|Bigr|displaystyle|textstyle|limits)(?![A-Za-z])|\\[,;:! ]|~"
)
_FRACTIONS = (r"\frac", r"\tfrac", r"\dfrac", r"\nicefrac", r"\sfrac")
_FUNCTIONS = (r"\log", r"\ln", r"\exp")
_TIMES = (r"\cdot", r"\times", "*", "·")
_SAME = {r"\varepsilon": r"\epsilon", r"\ln": r"\log"}
_DECORATED = (
    r"\mathrm",
    r"\mathbf",
    r"\mathcal",
    r"\text",
    r"\operatorname",
    r"\bar",
    r"\tilde",
    r"\hat",
    r"\widetilde",
)
_NO_SYMBOLS = (
    r"\sum",
    r"\prod",
    r"\int",
    r"\in",
    r"\le",
    r"\leq",
    r"\ge",
    r"\geq",
    r"\to",
    r"\quad",
    r"\begin",
    r"\end",
)
_LARGEST_POWER, _MOST_TERMS, _DEEPEST = 12, 40, 20
Monomial = frozenset[tuple[str, Fraction]]
"""Symbols with their powers; what cannot be taken apart is a symbol of its own."""
Rate = frozenset[Monomial]
_ONE: Rate = frozenset([frozenset()])


class _UnknownError(ValueError):
    """A text that is not a rate, or is too complex."""


def read_rate(latex: str) -> Rate | None:
    r"""Return a rate in a form in which equal rates are equal; None if it is not understood.

    >>> read_rate(r"\frac{1}{\sqrt{KT}}") == read_rate("(KT)^{-1/2}") == read_rate("K^{-0.5}T^{-0.5}")
    True
    """
    try:
        return _Parser(latex).rate()
    except (_UnknownError, RecursionError):
        return None


def symbols(rate: Rate) -> tuple[tuple[str, ...], ...]:
    """Return the symbols of each term, which two prints of one rate with different powers have in common."""
    return tuple(sorted(tuple(sorted(name for name, _ in term)) for term in rate))


class _Parser:
    """Reads one rate from left to right."""

    def __init__(self, latex: str) -> None:
        self._tokens = list(_tokens(_SPACING.sub(" ", latex)))
        self._at = 0
        self._depth = 0

    def rate(self) -> Rate:
        found = self._sum()
        if self._next():
            raise _UnknownError
        return found

    def _next(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else ""

    def _take(self, wanted: str = "") -> str:
        token = self._next()
        if not token or (wanted and token != wanted):
            raise _UnknownError
        self._at += 1
        return token

    def _sum(self) -> Rate:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise _UnknownError
        found = self._product()
        while self._next() in ("+", "-"):
            self._take()
            found = _limited(found | self._product())
        self._depth -= 1
        return found

    def _product(self) -> Rate:
        found = self._factor()
        while (token := self._next()) and token not in ("+", "-", ")", "]", "}"):
            if token == "/":
                self._take()
                found = _times(found, _power(self._factor(), Fraction(-1)))
                if self._next() not in ("", "+", "-", "/", ")", "]", "}", *_TIMES):
                    raise _UnknownError  # 1/mn can mean either
                continue
            if token in _TIMES:
                self._take()
            found = _times(found, self._factor())
        return found

    def _factor(self) -> Rate:
        base = self._base()
        while self._next() == "^":
            self._take()
            base = _power(base, self._exponent())
        return base

    def _base(self) -> Rate:
        token = self._take()
        if token[0].isdigit():
            return _ONE
        if token in ("(", "[", "{"):
            inner = self._sum()
            self._take({"(": ")", "[": "]", "{": "}"}[token])
            return inner
        if token in _FRACTIONS:
            above = self._argument()
            return _times(above, _power(self._argument(), Fraction(-1)))
        if token == r"\sqrt":
            root = self._root()
            return _power(self._argument(), Fraction(1, root))
        if token in _FUNCTIONS:
            return self._function(_SAME.get(token, token))
        if token[0] == "\\" and token in (*_NO_SYMBOLS, *_DECORATED, *_TIMES):
            raise _UnknownError
        if token[0] == "\\" or token.isalpha():
            return frozenset([frozenset([(_SAME.get(token, token) + self._index(), Fraction(1))])])
        raise _UnknownError

    def _root(self) -> int:
        """Return which root it is: the number in brackets, else 2."""
        if self._next() != "[":
            return 2
        self._take()
        root = self._take()
        self._take("]")
        if not root.isdecimal() or not 1 < int(root) <= _LARGEST_POWER:
            raise _UnknownError
        return int(root)

    def _argument(self) -> Rate:
        """Return the group, or the single sign, after a command."""
        token = self._next()
        if len(token) > 1 and token[0].isdigit():  # the two arguments of \\frac12
            self._tokens[self._at : self._at + 1] = [*token]
        return self._base()

    def _function(self, name: str) -> Rate:
        """Return a function as a symbol; a power between its name and its argument belongs to the whole."""
        power = Fraction(1)
        if self._next() == "^":
            self._take()
            power = self._exponent()
        argument = self._base() if self._next() not in _FUNCTIONS else self._function(_SAME.get(self._take(), name))
        return frozenset([frozenset([(f"{name}({_written(argument)})", power)])])

    def _index(self) -> str:
        """Return the index and the primes of a symbol, as written."""
        found = ""
        while self._next() in ("_", "'"):
            token = self._take()
            if token == "_":
                token += self._raw_group() if self._next() == "{" else self._take()
            found += token
        return found

    def _raw_group(self) -> str:
        depth, found = 0, ""
        while True:
            token = self._take()
            depth += (token == "{") - (token == "}")
            if depth == 0:
                return found
            found += token if token not in "{}" else ""

    def _exponent(self) -> Fraction:
        """Return a power, which must be a number."""
        if self._next() in ("{", "("):
            text = self._raw_exponent()
        else:
            text = self._take()
            text += self._take() if text == "-" else ""
        found = re.fullmatch(r"(-?)(\d+(?:\.\d+)?)(?:/(\d+))?", text)
        if found is None or (found[3] and not int(found[3])):
            raise _UnknownError
        value = Fraction(found[2]) / int(found[3] or 1)
        if value > _LARGEST_POWER or value.denominator > 1000:
            raise _UnknownError
        return -value if found[1] else value

    def _raw_exponent(self) -> str:
        """Return a power in braces or parentheses, with a slash for a fraction."""
        depth, found = 0, list[str]()
        while True:
            token = self._take()
            depth += (token in "{(") - (token in "})")
            if token in _FRACTIONS:
                found += [self._digits(), "/", self._digits()]
            elif token not in "{}()":
                found.append(token)
            if depth == 0:
                return "".join(found)

    def _digits(self) -> str:
        token = self._take()
        if token == "{":
            token = self._take()
            self._take("}")
        elif len(token) > 1:
            self._tokens[self._at : self._at] = [token[1:]]
            token = token[0]
        if not token.isdecimal():
            raise _UnknownError
        return token


def _tokens(text: str) -> Iterable[str]:
    at = 0
    text = text.rstrip()
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            raise _UnknownError
        yield found[0].strip().replace("−", "-")
        at = found.end()


def _times(one: Rate, other: Rate) -> Rate:
    return _limited(frozenset(_joined(dict(first), second) for first in one for second in other))


def _joined(powers: dict[str, Fraction], other: Iterable[tuple[str, Fraction]]) -> Monomial:
    for name, power in other:
        powers[name] = powers.get(name, Fraction(0)) + power
    return frozenset((name, power) for name, power in powers.items() if power)


def _power(rate: Rate, power: Fraction) -> Rate:
    """Return a power: of one term symbol by symbol, of a sum by multiplication if it is whole, else as a symbol."""
    if len(rate) == 1:
        (term,) = rate
        return frozenset([frozenset((name, exponent * power) for name, exponent in term if exponent * power)])
    if power == 0:
        return _ONE
    if power.denominator == 1 and power > 0:
        found = _ONE
        for _ in range(int(power)):
            found = _times(found, rate)
        return found
    return frozenset([frozenset([(f"({_written(rate)})", power)])])


def _limited(rate: Rate) -> Rate:
    if len(rate) > _MOST_TERMS:
        raise _UnknownError
    return rate


def _written(rate: Rate) -> str:
    """Return a rate as a text that is the same for equal rates."""
    return "+".join(sorted("*".join(sorted(f"{name}^{power}" for name, power in term)) for term in rate))
