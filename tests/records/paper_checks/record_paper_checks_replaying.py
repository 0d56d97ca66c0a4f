"""Records of replays as text: scripts of witnesses, arguments of proofs, and places in the source."""

import ast
import math
from fractions import Fraction
from unittest.mock import patch

from recording import refused

from paper_checks.evaluation import Hypothesis, Replay, Violation, assuming, proof, replay, require
from paper_checks.replaying import replay_source, script
from paper_checks.replaying.arguments import _paragraphs, _setting, argument_of
from paper_checks.replaying.places import Place, check_place, file_of, replay_place, replay_places
from paper_checks.replaying.script import script_of
from paper_checks.your_paper import lem_2 as claims
from paper_checks.your_paper.replays import lem_2 as replays

FACTOR = Fraction(3, 2)
READS = "a text of the two sides"
_SELF = __import__("sys").modules[__name__]


class Pair:
    """Two numbers."""

    def __init__(self, values):
        """Read both."""
        self.x = Fraction(values["x"])

    def used(self):
        """Return the first."""
        return self.x

    def unused(self):
        return 2 * self.x


def _twice(x):
    r"""A lemma on $2x$."""
    # twice, as a comment
    return 2 * x


def _in_words(x):
    """Say it.

    In two paragraphs.
    """
    return x


@replay("invented/error-by-place")
def by_place(values):
    """Docstrings are left out."""
    return Violation(Fraction(values["x"]), Fraction(1, 2), Fraction(1, 8))


@replay("invented/error-by-name")
def by_name(values):
    return Violation(Fraction(values["x"]), Fraction(1, 2), error=Fraction(1, 8), reads="x and a half", strict=True)


@replay("invented/all-by-place")
def all_by_place(values):
    x = Fraction(values["x"])
    return Violation(x, Fraction(1, 2), 0, READS, True, [Hypothesis("x", x, ">", 0), Hypothesis("x", x, "<=", 1)])


@replay("invented/strict-by-a-flag")
def by_a_flag(values):
    flag = values["x"] != "1"
    return Violation(Fraction(values["x"]), Fraction(1, 2), strict=flag, reads=f"{values['x']} in words")


@replay("invented/hypotheses")
def with_hypotheses(values):
    assumes = assuming(Hypothesis("x", values["x"], "=", "3/4"))
    assumes += (Hypothesis("FACTOR", FACTOR, ">=", 1), Hypothesis("factor", FACTOR, "<", 2))
    left = _twice(Fraction(values["x"]))  # a comment is kept
    return Violation(left, FACTOR * Pair(values).used(), assumes=assumes)


@replay("invented/loop", x="the number", y="a list of many numbers that are not used")
def with_a_loop(values):
    total = Fraction(0)
    for number in range(3):
        total += number * Fraction(values["x"])
    return Violation(total, Fraction(1))


@replay("invented/beyond-floats")
def beyond_floats(values):
    return Violation(Fraction(values["x"]) * 10**400, Fraction(1))


@replay("invented/floats")
def with_floats(values):
    return Violation(math.sqrt(float(Fraction(values["x"]))), 0.5, 1e-9)


@replay("invented/error-not-strict")
def error_not_strict(values):
    return Violation(Fraction(values["x"]), Fraction(1, 2), Fraction(1, 8), strict=False)


@replay("invented/strict-by-a-flag-with-an-error")
def by_a_flag_with_an_error(values):
    flag = values["x"] != "1"
    return Violation(Fraction(values["x"]), Fraction(1, 2), Fraction(1, 8), strict=flag)


again = Replay("invented/again", "witness", replays.lem_2.evaluate)


def _shared(values, more):
    return Violation(Fraction(values["x"]) + more, Fraction(1, 2), Fraction(1, 8), strict=True)


@replay("invented/delegated")
def delegated(values):
    return _shared(values, Fraction(1, 4))


@replay("invented/delegated-after-a-step")
def delegated_after_a_step(values):
    values = dict(values)
    return _shared(values, 0)


@proof("invented/sum")
def sum_of_two(size=2):
    """A proof in words, by `_twice`.

    Second paragraph.

    Args:
        size: Left out.
    """
    require(_twice(1) == size, "the sum")
    require([_in_words(one) for one in (True,)], "words")
    return "a sum"


REPLAYS = [
    one
    for one in vars(_SELF).values()
    if isinstance(one, Replay) and one.kind == "witness" and one.evaluate.__module__ == __name__
]


def scripts():
    return {one.id: script_of(one, {"x": "3/4"}, "Section 2").splitlines() for one in REPLAYS}


def scripts_of_long_values():
    values = {"x": "3/4", "y": list(range(60)), "z": "1" * 90, "w": [1, 2]}
    return script_of(with_a_loop, values).splitlines(), script_of(by_place, values).splitlines()


def script_of_the_example():
    return script_of(replays.lem_2, {"a": "1", "b": "2"}, "Lemma 2").splitlines()


def literals():
    for words in (
        {},
        {"x": "a number"},
        {"x": "a long text " * 12},
        {"x": "a" * 90},
        {"x": "a" * 104},
        {"x": "a" * 105},
    ):
        yield script._as_literal({"x": "3/4", "y": 2}, words)
    yield script._as_literal({}, {}), script._as_literal({name * 30: 1 for name in "abcd"}, {})


def packed_lines():
    lines = ["f(", "    first,", "    second,  # why", "    third,", "    fourth,", "        deeper,", ")", "x = 1"]
    yield replay_source.pack(lines), replay_source.pack([f"    {'a' * n}," for n in (60, 40, 44, 45, 3)])
    for lengths in ((60, 43), (60, 44), (60, 43, 1)):
        yield replay_source.pack([f"    {'a' * n}," for n in lengths])


def texts_of_definitions():
    source = _SOURCE
    return [replay_source.definition_text(node, source) for node in ast.parse(source).body]


_SOURCE = '''
import ast

@cache
def f(x: int) -> int:
    """Text."""
    # why

    return g(x) + LIMIT

@replay("a/b")
def h(values):
    """Text."""

class C:
    """Text."""

    @property
    def one(self):
        """Text."""
        return 1

LIMIT, MORE = 1, [
    1,
    2,
]
N: int = 3
'''


def names_that_definitions_need():
    tree = ast.parse(_SOURCE.replace("return g(x)", "LIMIT2 = N; x = [f(y) for y in MORE]; return ast.g(x)"))
    return [sorted(replay_source.needed_names(tree, node)) for node in tree.body if not isinstance(node, ast.Import)]


def parts_that_are_used():
    methods = "class C:\n    def one(self): return 1\n    def two(self): return 2"
    text = f"A = 'told'\nB = 'kept'\n{methods}\nprint(B, C().one())"
    return script._used_only(text), script._used_only("class C:\n    def __len__(self): return 1\nprint(1)")


def modules_that_define():
    for name in ("_twice", "script_of", "require", "FACTOR", "missing", "Pair"):
        found = replay_source.defining_module(_SELF, name)
        yield name, None if found is None else found.__name__


def readers_written_out():
    module = type(_SELF)("record_paper_checks_replaying")
    module.__file__, found = __file__, replay_source.source_of(_SELF)
    lines = (
        *('x, y = fractions(values, "x", "y")', '(x,) = fractions(values, "x")', 'n = followed(values, "rounds")'),
        *('m = square(values["m"], "why")', "t = square(target, 3)", 'x = square(f(values["m"]), 3)'),
    )
    for line in lines:
        for reader, plain in replay_source._SHORT:
            line = replay_source.re.sub(reader, plain, line)
        yield line
    yield len(found) > 1000


def parts_that_make_no_script():
    parts = replay_source.Parts()
    yield refused(parts.collect, _SELF, "replay_source"), refused(parts._comes_from, "a", "x")
    yield refused(parts._comes_from, "b", "x"), parts.home, sorted(parts.imports)
    parts.collect(_SELF, "_twice")
    parts.collect(_SELF, "math")
    yield parts.pieces, sorted(parts.imports), parts.home


def arguments():
    found = argument_of(sum_of_two)
    yield found.proof, found.setting, found.lemmas, found.source
    yield argument_of(replays.lem_2_corrected)


def arguments_with_a_setting():
    for text in ("About $x$.", "In words.", "In words.\n\nIn two paragraphs.", None):
        with patch.object(_SELF, "__doc__", text):
            yield argument_of(sum_of_two).setting


def settings_and_paragraphs():
    yield _setting(("Text.", "Setting: `shared.limits`.", "Setting: `a.b`, `c`.", "A Setting: `d`."))
    for text in ("One\n  line.\n\n\n\nTwo.", "Text.\n\nArgs:\n    x: y.\n\nMore.", "", "Text.\n\nRaises:\n    E: z."):
        yield _paragraphs(text)


def _first_line(place):
    with open(_SELF.__file__, encoding="utf-8") as file:
        return file.read().splitlines()[place.line - 1]


def places_of_replays():
    for one in (by_place, delegated, sum_of_two):
        place = replay_place(one)
        yield place.file, place.name, _first_line(place)
    place = replay_place(again)
    yield place.file, place.name, _first_line(place)
    yield replay_place(Replay("invented/unbound", "witness", replays.lem_2.evaluate, module=__name__))
    yield replay_place(replays.lem_2), str(replay_place(replays.lem_2_corrected)), check_place(claims.lem_2)


def places_of_stored_files():
    class File:
        def __init__(self, id, kind):
            self.id, self.kind = id, kind

    package = "paper_checks.your_paper"
    files = [File("your-paper/lem-2", kind) for kind in ("certificate", "witness")] + [
        File("your-paper/lem-1", "witness")
    ]
    yield [None if place is None else place.name for place in replay_places(package, files)], replay_places(package, [])
    yield str(Place("a/b.py", 7, "f"))


def files_of_modules():
    import paper_checks
    import paper_checks.replaying.places

    return file_of(paper_checks), file_of(paper_checks.replaying.places), file_of(_SELF)
