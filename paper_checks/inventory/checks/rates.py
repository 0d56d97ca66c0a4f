r"""Rates as algebra: ``1/\sqrt{KT}`` and ``(KT)^{-1/2}`` are equal up to constant factors.

A rate is a sum of monomials without coefficients. The parser knows only the operations of rates, so a text of a paper
is never evaluated. What it does not know has no rate.
"""

from __future__ import annotations

import hashlib
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
_LARGEST_POWER, _MOST_TERMS, _DEEPEST, _LARGEST_NUMBER = 12, 40, 20, 10**6
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


def read_exactly(latex: str) -> Rate | None:
    r"""Return a sum with its coefficients, as prime numbers with powers; None if it is not understood.

    Signs of terms are left out. Indices, norms and letters in another type are symbols as printed.

    >>> read_exactly(r"\frac{2 a}{4 b}") == read_exactly(r"\frac{a}{2b}"), read_exactly("2ab") == read_exactly("ab")
    (True, False)
    """
    try:
        return _Parser(_with_names(latex), exact=True).rate()
    except (_UnknownError, RecursionError):
        return None


def one_change(one: Rate, other: Rate) -> bool:
    r"""Return whether two sums are equal but for one factor, or the power of one symbol, in one term.

    >>> mcn, squared, other = map(read_exactly, ("mcn + a", "mcn^2 + a", "mc + a"))
    >>> one_change(mcn, squared), one_change(mcn, other)
    (True, False)
    """
    first, second = one - other, other - one
    if len(one) != len(other) or len(first) != 1 or len(second) != 1:
        return False
    a, b = (dict(next(iter(terms))) for terms in (first, second))
    if {name for name in a if not name.isdigit()} != {name for name in b if not name.isdigit()}:
        return False
    apart = {name for name in (*a, *b) if a.get(name) != b.get(name)}
    return all(name.isdigit() for name in apart) or len(apart) == 1


def symbols(rate: Rate) -> tuple[tuple[str, ...], ...]:
    """Return the symbols of each term, which two prints of one rate with different powers have in common."""
    return tuple(sorted(tuple(sorted(name for name, _ in term)) for term in rate))


class _Parser:
    """Reads one rate from left to right."""

    def __init__(self, latex: str, exact: bool = False) -> None:
        self._exact = exact
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
            further = self._product()
            if self._exact and found & further:
                raise _UnknownError  # two equal terms are one with another coefficient
            found = _limited(found | further)
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
            return _primes(token) if self._exact else _ONE
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


def _primes(number: str) -> Rate:
    """Return a number as the product of its primes."""
    value, powers = Fraction(number), dict[str, Fraction]()
    if not 0 < value.numerator <= _LARGEST_NUMBER or value.denominator > _LARGEST_NUMBER:
        raise _UnknownError
    for rest, sign in ((value.numerator, 1), (value.denominator, -1)):
        prime = 2
        while rest > 1:
            if prime * prime > rest:
                prime = rest
            while rest % prime == 0:
                rest //= prime
                powers[str(prime)] = powers.get(str(prime), Fraction(0)) + sign
            prime += 1
    return frozenset([frozenset(powers.items())])


_NORM = re.compile(
    r"\\(?:\||[lr]?Vert(?![A-Za-z]))(?:(?!\\(?:\||[lr]?Vert(?![A-Za-z]))).)*\\(?:\||[lr]?Vert(?![A-Za-z]))"
)
_TYPED = re.compile(
    r"\\(?:math[a-z]+|text[a-z]*|operatorname|bar|hat|widehat|tilde|widetilde|overline|boldsymbol|bm|vec|dot|check)"
    r"\s*(?:\{(?:[^{}]|\{[^{}]*\})*\}|[A-Za-z])|\{\\(?:rm|bf|cal|bm|sf|it)(?![A-Za-z])[^{}]*\}"
)
_RAISED = re.compile(r"\^\s*(?:\{\s*(?:0|[^{}]*[A-Za-z\\*'(,][^{}]*)\}|0|[A-Za-z*]|\\[A-Za-z]+)")
_LOWERED = re.compile(r"_\s*(?:\{([^{}]*)\}|(\\[A-Za-z]+|[A-Za-z0-9*]))")


def _with_names(latex: str) -> str:
    """Return a formula in which indices, norms and letters in another type are single names."""
    text = " ".join(re.sub(r"\\(?:left|right|[bB]igg?[lr]?)(?![A-Za-z])|\\[,;:!]", " ", latex).split())
    text = re.sub(r"\{\s*(\\(?:math|bm|bold)[a-z]*\s*\{[^{}]*\})\s*\}", r"\1", text)
    text = _TYPED.sub(lambda found: f" {_name(found[0])} ", text)
    text = _RAISED.sub(lambda found: f"_{{{_name(found[0])}}}", text)
    text = _LOWERED.sub(lambda found: f"_{{{_name(found[1] or found[2])}}}", text)
    return _NORM.sub(lambda found: f" {_name(found[0])} ", text)


def _name(text: str) -> str:
    """Return a command that equal texts share."""
    digest = hashlib.sha256("".join(text.split()).encode("utf-8", "replace")).hexdigest()[:16]
    return "\\" + "".join(chr(97 + int(digit, 16)) for digit in digest)


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
