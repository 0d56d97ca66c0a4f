"""Records of options: names, defaults, helps, words, what is read from texts, and what is refused."""

import re
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field
from typing import Any, Literal

from recording import refused

from runs.catalogue import (
    ALGORITHMS,
    CONDUCT,
    EXECUTORS,
    GROUPS,
    PROBLEMS,
    RUN,
    TOYS,
    absolute_name,
    algorithm_entry,
    algorithm_of,
    algorithms_that_take,
    earlier_names,
    executor_of,
    look_up,
    options_of,
    problem_entry,
    problem_settings_of,
    schemas_of,
)
from runs.options import Option, OptionSchema, attribute_texts, is_name, resolve, suggest_name, suggest_option
from runs.settings import ANEW, ELSEWHERE, NAME_A_RUN, Conduct, Remedy, RunError, RunSettings, at_least


def _shown(option: Option) -> list[Any]:
    default = "needed" if option.default is MISSING else option.default
    words = [",".join(option.words)] if option.words else []
    return [option.flag, option.kind.__name__, default, option.optional, *words, option.earlier_flag, option.help]


def _defaults(options: Mapping[str, Option]) -> str:
    return ", ".join(f"{name}={'?' if one.default is MISSING else one.default}" for name, one in options.items())


def options_of_every_run_and_its_conduct():
    return [_shown(one) for schema in (RUN, CONDUCT) for one in schema.options({}).values()]


def options_of_the_first_algorithms():
    return {name: _defaults(options_of(name, "quadratics", {})) for name in [*ALGORITHMS][:16]}


def options_of_the_last_algorithms():
    return {name: _defaults(options_of(name, "quadratics", {})) for name in [*ALGORITHMS][16:]}


def options_of_toys():
    return {name: _defaults(schemas_of("fedavg", name, {})[1].options({})) for name in TOYS}


def helps_of_toys():
    return {name: [one.help for one in schemas_of("fedavg", name, {})[1].options({}).values()] for name in TOYS}


def options_of_images_and_texts():
    for problem in ("mnist", "./no.jsonl", "silos"):
        yield [_shown(one) for one in schemas_of("fedavg", problem, {"layers": "*"})[1].options({}).values()]


def every_choice_has_its_options():
    for word in ("constant", "step", "cosine", "linear", "warm-up"):
        yield _defaults(options_of("fedlora", "quadratics", {"schedule": word}))
    yield _defaults(options_of("fedlrt", "mnist", {"partition": "dirichlet", "optimiser": "adamw"}))
    yield _defaults(options_of("fedlrt", "mnist", {}, every=True))


def suggestions_follow_what_is_given():
    for given in ({}, {"epochs": 2}, {"steps": 3}, {"personal_steps": 4}, {"model": "convnet"}, {"model": "a:b"}):
        shown = [_defaults(schemas_of("pfedloru", problem, given)[0].options({})) for problem in ("ridges", "mnist")]
        yield [re.findall(r"(?:epochs|steps|rank|layers|batch|truncation|learning_rate)=[^,]*", text) for text in shown]
    yield _defaults(options_of("fedlora", "rated-sentences", {"steps": 1, "layers": "*.query", "rank": [2]}))


def groups_and_names_of_the_catalogue():
    entries = {name: [entry.kind.__name__, dict(entry.fixed), [*entry.derived]] for name, entry in ALGORITHMS.items()}
    return {of: [*names] for of, names in GROUPS.items()}, entries, [*PROBLEMS], [*EXECUTORS]


def names_that_are_unknown():
    yield from (refused(algorithm_entry, name) for name in ("fedavgg", "zzz", "math:pi", "types:SimpleNamespace"))
    yield from (refused(problem_entry, name) for name in ("ridge", "zzz", "fashion-mnst"))
    yield from (refused(look_up, {"one": 1, "other": 2}, "kind", name) for name in ("one", "onee", "x"))
    yield [problem_entry(name).kind.__name__ for name in ("silos", "ridges", "mnist", "./x.csv", "a:b", "cornell")[:5]]
    yield [problem_entry("a:b", given).kind.__name__ for given in ({"model": "hf:x"}, {"text": "t"}, {"model": "x"})]
    yield [absolute_name(name) for name in ("quadratics", "silos", "mnist", "a:b", "/x/y.jsonl")]


def earlier_names_of_problems():
    return {name: earlier_names(name) for name in ("silos", "ridges", "mnist", "rated-sentences", "a:b")}


def algorithms_that_take_an_option():
    return algorithms_that_take("as_printed"), algorithms_that_take("mu")


def algorithms_that_take_ranks():
    return algorithms_that_take("client_ranks")


def algorithms_from_values():
    for name in ("fedlrt-plain", "mfedloru", "pfedlora-2", "fedprox", "hetlora"):
        given = {"clients": 3, "seed": 5, "rank": 5, "client_ranks": (3, 1, 2)}
        options = options_of(name, "quadratics", given)
        given = {key: value for key, value in given.items() if key in options}
        yield refused(algorithm_of, name, "quadratics", {**{of: one.default for of, one in options.items()}, **given})


def ranks_that_follow_from_the_rank():
    for rank in (1, 2, 3, 5):
        values = {name: one.default for name, one in options_of("mfedloru", "quadratics", {}).items()}
        yield algorithm_of("mfedloru", "quadratics", {**values, "rank": rank, "clients": 2}).ranks


def personal_rest_has_no_effect():
    values = {name: one.default for name, one in options_of("pfedloru", "quadratics", {}).items()}
    yield refused(algorithm_of, "pfedloru", "quadratics", {**values, "personal_rest": "*", "rest": "frozen"})


def executors_by_name():
    for name, workers in (("sequential", 1), ("sequential", 2), ("vmap", 1), ("vmap", 2), ("vmapp", 1)):
        made = refused(executor_of, name, workers)
        yield made if isinstance(made, str) else type(made).__name__
        if hasattr(made, "close"):
            made.close()


def problem_settings_from_values():
    for name in TOYS:
        given = {"clients": 3, "samples": 7, "heterogeneity": 0.25, "rows": 4}
        yield problem_settings_of(name, given)


def texts_that_are_read():
    kinds = {int: ("3", "-2", "3.0", "1e3", "x", ""), float: ("0.1", "1e-3", "nan", "inf", "1e400", "3", "1e-320")}
    kinds |= {bool: ("true", "false", "True", "1"), str: ("a", " ", "", "a\0b"), tuple: ("1,2", "1", "1,,2", "1,x")}
    for kind, texts in kinds.items():
        for optional in (False, True):
            option = Option("an_option", kind, "", None, optional=optional)
            yield [refused(option.read, text) for text in texts]
    yield [refused(Option("ranks", tuple, "", None, element=int).read, text) for text in ("1,2", "1.5,2", "")]
    yield [refused(Option("word", str, "", None, words=("one", "other")).read, text) for text in ("one", "two", "One")]


def values_that_are_checked():
    for kind in (int, float, bool, str, tuple):
        option = Option("an_option", kind, "", None)
        values = (
            3,
            -3,
            2**53,
            2**64,
            0.5,
            0,
            1e300,
            1e-300,
            True,
            "x",
            "",
            [1, 2.5],
            (3,),
            [],
            ["a"],
            [True],
            None,
            {},
        )
        yield [refused(option.check, value) for value in values]
        yield refused(Option("an_option", kind, "", None, optional=True).check, None), option.accepted_values
    yield (
        refused(Option("ranks", tuple, "", None, element=int).check, [1, 2]),
        Option("a", str, "", None, words=("b", "c")).flag,
    )
    yield refused(Option("ranks", tuple, "", None, element=int).check, [1, 2.0])
    yield [is_name(text) for text in ("a", "é", "", "a\0", "\ud800")]


def flags_of_an_option():
    one = Option("two_words", int, "help", 1, earlier="of_old_times")
    return one.flag, one.earlier_flag, Option("x", int, "", 1).earlier_flag, one.accepted_values


@dataclass(frozen=True)
class _Inner:
    """Inner settings.

    Attributes:
        a, b: Both of $\\lambda_{1}$ and `x`,
            on two lines.
    """

    a: int = 1
    b: float | None = None


@dataclass(frozen=True)
class _Other:
    """Other settings.

    Attributes:
        b: A number.
        seed: A seed.
    """

    b: float = 2.5
    seed: int = 0


@dataclass(frozen=True)
class _Outer:
    """Outer settings.

    Attributes:
        needed: Needed.
        local: Inner fields without a prefix.
        further: Inner fields with a prefix.
        choice: One of several.
        sides: Numbers.
        word: A word.
        personal_needed: As needed.
        seed: First seed.
        other_seed: No seed.
    """

    needed: int
    local: _Inner = field(default_factory=_Inner)
    further: _Inner = _Inner(4, 0.5)
    choice: _Inner | _Other = _Other(1.5)
    sides: tuple[int, ...] = ()
    word: Literal["one", "other"] | None = None
    personal_needed: int = 9
    seed: int = 0
    last: _Other = _Other()


def fields_that_become_options():
    for schema in (OptionSchema(_Outer), OptionSchema(_Outer, {"sides": (1,)}, {"word": "one"}, seeded=False)):
        for given in ({}, {"choice": "_-inner"}, {"choice": "_-other"}):
            yield [_shown(one) for one in schema.options(given).values()]
        yield [*schema.options({}, every=True)]
        yield refused(schema.build, {}), refused(schema.build, {"needed": 3, "further_a": 7, "seed": 8}, 5)
        yield schema.build({"needed": 3, "choice": "_-inner", "choice_a": 6, "personal_needed": 2}, 4)
    yield attribute_texts(_Inner), attribute_texts(_Outer)


def values_are_resolved():
    options = OptionSchema(_Outer, seeded=False).options({})
    call: Callable[..., Any] = resolve
    yield refused(call, options, {}, "a method"), refused(call, options, {"needed": 1}, "a method")
    yield refused(call, options, {"needed": 1, "personal_needed": 2, "sides": [2, 3]}, "a method")
    yield refused(call, options, {"needed": 1, "nedded": 2}, "a method"), refused(call, options, {"needed": "x"}, "m")
    yield refused(call, options, {"needed": 1, "z\n_x": 2}, "a method")
    yield refused(call, options, {"choice_a": 1}, "a method", lambda given: OptionSchema(_Outer).options(given))
    yield refused(call, options, {"far": 1}, "a method", elsewhere=lambda name: f"; others take {name}")


def names_that_are_suggested():
    known = ["learning-rate", "rank", "rounds", "batch"]
    yield [suggest_name(name, known) for name in ("learning-rat", "rnk", "round", "rankings", "ranksx", "x")]
    flags = [f"--{name}" for name in known]
    yield [suggest_option(name, flags) for name in ("--learning-rates", "--lr", "--zzz", "--r", "--bacth")]


def conducts_at_their_borders():
    for name in ("rounds", "evaluate_every", "workers", "keep_every", "spectrum"):
        yield [refused(lambda **given: vars(Conduct(**given))[name], **{name: value}) for value in (0, 1, 2)]  # noqa: B023
    for name in ("save_every", "save_in_round"):
        values = (-1e-9, 0.0, 3.5, float("inf"), float("nan"))
        yield [refused(lambda **given: vars(Conduct(**given))[name], **{name: value}) for value in values]  # noqa: B023
    yield Conduct()


def conducts_of_a_cluster():
    cases = [{"address": "auto"}, {"gpus_per_worker": 1.0}, {"executor": "vmap", "address": ""}]
    on_ray = [{}, {"address": ""}, {"address": "auto"}, {"gpus_per_worker": 1.0}, {"device": "cuda"}]
    on_ray += [{"device": "cuda:1", "gpus_per_worker": parts} for parts in (0.0, 0.25, 0.3, 0.5, 1.0, 1.5, 2.0, -1.0)]
    on_ray += [{"device": "meta"}, {"device": "meta", "gpus_per_worker": 0.5}]
    for given in (*cases, *({"executor": "ray", **one} for one in on_ray)):
        made = refused(Conduct, **given)
        yield made if isinstance(made, str) else [made.kept(name) for name in ("executor", "device", "address")]


def settings_of_a_run_at_their_borders():
    for given in ({"cohort": 0}, {"cohort": 1}, {"seed": -1}, {"seed": 0}, {"cohort": None, "alignment": True}):
        yield refused(RunSettings, **given)
    yield refused(at_least, 2, one=2, other=None, third=1), refused(at_least, 2, one=2), refused(at_least, 0, one=-1)


def remedies_of_errors():
    for remedies in ((), (ELSEWHERE,), (ANEW, ELSEWHERE), (NAME_A_RUN, "a text", ANEW), (Remedy("x", "y", "z"),)):
        error = RunError("a cause", *remedies)
        yield str(error), error.of_resumed(), error.of_app(), error.cause
