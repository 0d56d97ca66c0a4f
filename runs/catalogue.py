"""Catalogue of algorithms, problems and executors by name, with the options of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, is_dataclass
from types import MappingProxyType
from typing import Any, TypeVar

from algorithms.central_training import CentralTraining
from algorithms.exact_rolora import ExactRoLoRA
from algorithms.fed_sb import FedSB
from algorithms.fedavg import FedAvg
from algorithms.federation import Executor, FederationError, Sequential
from algorithms.fedex_lora import FedExLoRA
from algorithms.fedhm import FedHM
from algorithms.fedlin import FedLin
from algorithms.fedlora import FedLoRA
from algorithms.fedloru import FedLoRU
from algorithms.fedloru_finetuning import FineTuneFedLoRU
from algorithms.fedlrt import FeDLRT
from algorithms.fedlrt_naive import NaiveFeDLRT
from algorithms.fedpara import FedPara, PersonalFedPara
from algorithms.fedprox import FedProx
from algorithms.fedsa_lora import FedSALoRA
from algorithms.ffa_lora import FFALoRA
from algorithms.flexlora import FlexLoRA
from algorithms.flora import FLoRA
from algorithms.frlora import FRLoRA
from algorithms.hetlora import HetLoRA
from algorithms.local_training import LocalTraining
from algorithms.lora_fair import LoRAFair
from algorithms.mfedloru import NestedFedLoRU
from algorithms.optimisers import Adam, AdamW, Optimiser, Sgd
from algorithms.pfedlora import PersonalFedLoRA
from algorithms.pfedloru import PersonalFedLoRU
from algorithms.rbla import RBLA
from algorithms.rolora import RoLoRA
from algorithms.rounds import Algorithm
from algorithms.scaffold import Scaffold
from algorithms.schedules import Constant, Cosine, Linear, Schedule, Step, WarmUp
from algorithms.vmap import Vmap
from runs.networks.image_federation import ImageFederation
from runs.networks.language_federation import LanguageFederation, TextPartition
from runs.networks.text_federation import TextFederation, is_own_texts
from runs.options import OWN, Kinds, Option, OptionSchema, suggest_name
from runs.problems import (
    HeterogeneousLegendre,
    Legendre,
    PopulationRegression,
    ProblemSettings,
    Quadratics,
    Regression,
    Ridges,
)
from runs.settings import Conduct, RunError, RunSettings
from runs.silos.problem import SILOS, SiloSettings
from workloads.data.datasets import REGISTRY
from workloads.data.image_folder import is_folder
from workloads.files import with_home
from workloads.own_texts import is_text_data
from workloads.partition import PARTITIONS, Partition
from workloads.processes.cluster import LOCAL
from workloads.texts import TEXT_PARTITIONS, TEXTS

T = TypeVar("T")
Values = Mapping[str, Any]


@dataclass(frozen=True)
class Entry:
    """The class that a name denotes, with the fields that the name decides.

    Attributes:
        kind: A dataclass.
        fixed: Fields that the name decides.
        derived: Further fields, from the values of all options of the run.
    """

    kind: type
    fixed: Values = field(default_factory=dict)
    derived: Mapping[str, Callable[[Values], Any]] = field(default_factory=dict)


def _half_rank_of_all(values: Values) -> tuple[tuple[int, int], ...]:
    return () if values.get("client_ranks") else ((max(1, values["rank"] // 2),) * 2,) * values["clients"]


GROUPS: Mapping[str, Mapping[str, Entry]] = {
    "all weights": {
        "fedavg": Entry(FedAvg),
        "fedlin": Entry(FedLin),
        "local": Entry(LocalTraining),
        "central": Entry(CentralTraining),
        "fedprox": Entry(FedProx),
        "scaffold": Entry(Scaffold),
    },
    "bases and coefficients of the weights": {
        "fedlrt": Entry(FeDLRT, {"correction": "simplified"}),
        "fedlrt-full": Entry(FeDLRT, {"correction": "full"}),
        "fedlrt-plain": Entry(FeDLRT, {"correction": "none"}),
        "fedlrt-naive": Entry(NaiveFeDLRT),
        "fedhm": Entry(FedHM),
    },
    "Hadamard products of factors": {"fedpara": Entry(FedPara)},
    "an update AB, whose factors are averaged": {
        "fedlora": Entry(FedLoRA),
        "ffa-lora": Entry(FFALoRA),
        "rolora": Entry(RoLoRA),
        "rolora-exact": Entry(ExactRoLoRA),
        "hetlora": Entry(HetLoRA),
        "rbla": Entry(RBLA),
        "lora-fair": Entry(LoRAFair),
        "fedsa-lora": Entry(FedSALoRA),
        "fed-sb": Entry(FedSB),
    },
    "an update AB, whose products are averaged": {
        "flexlora": Entry(FlexLoRA),
        "flora": Entry(FLoRA),
        "fedex-lora": Entry(FedExLoRA),
    },
    "updates AB that accumulate": {
        "fedloru": Entry(FedLoRU),
        "fedloru-finetune": Entry(FineTuneFedLoRU),
        "mfedloru": Entry(NestedFedLoRU, {}, {"ranks": _half_rank_of_all}),
        "frlora": Entry(FRLoRA),
    },
    "personal updates": {
        "pfedloru": Entry(PersonalFedLoRU),
        "pfedlora-1": Entry(PersonalFedLoRA, {"jointly": False}),
        "pfedlora-2": Entry(PersonalFedLoRA, {"jointly": True}),
        "pfedpara": Entry(PersonalFedPara),
    },
}
"""Algorithms by what they train and average."""
ALGORITHMS: Mapping[str, Entry] = {name: entry for group in GROUPS.values() for name, entry in group.items()}
TOYS: Mapping[str, Entry] = {
    "quadratics": Entry(Quadratics, {"least_curvature": 0.1}),
    "indefinite-quadratics": Entry(Quadratics, {"least_curvature": -0.05}),
    "legendre": Entry(Legendre),
    "legendre-heterogeneous": Entry(HeterogeneousLegendre),
    "regression": Entry(Regression),
    "regression-population": Entry(PopulationRegression),
    "ridges": Entry(Ridges, {"profile": "pseudo-huber"}),
    "ridges-nonconvex": Entry(Ridges, {"profile": "welsch"}),
}
IMAGES: Mapping[str, Entry] = {name: Entry(ImageFederation, {"data": name}) for name in REGISTRY}
_OF_TEXTS: Mapping[str, Callable[[Values], Any]] = {"layers": lambda values: values.get("layers")}
LANGUAGE: Mapping[str, Entry] = {name: Entry(LanguageFederation, {"data": name}, _OF_TEXTS) for name in TEXTS}
PROBLEMS: Mapping[str, Entry] = {**TOYS, **IMAGES, **LANGUAGE}
EXECUTORS: Mapping[str, Callable[[], Executor]] = {"sequential": Sequential, "vmap": Vmap, "ray": lambda: _actors(1)}
KINDS: Kinds = {
    Partition: PARTITIONS,
    TextPartition: TEXT_PARTITIONS,
    Optimiser: {"sgd": Sgd, "adam": Adam, "adamw": AdamW},
    Schedule: {"constant": Constant, "step": Step, "cosine": Cosine, "linear": Linear, "warm-up": WarmUp},
}
PER_CLIENT = ("ranks", "client_ranks")
"""Options of the catalogue's algorithms with one number for each client."""
SUGGESTED: Values = {"rank": 2, "personal_rank": 1, "tau": 10}
"""Defaults of what algorithms leave open, where the problem suggests none."""
RUN = OptionSchema(RunSettings, seeded=False)
"""The options of every run."""
CONDUCT = OptionSchema(Conduct)
"""The options of how a run is conducted."""


def algorithm_entry(name: str) -> Entry:
    """Return the entry of a named algorithm; ``module:Class`` names a dataclass of the user.

    Raises:
        RunError: An unknown name, or no algorithm.
        CurvatureError: The module cannot be imported.
    """
    if ":" not in name:
        return look_up(ALGORITHMS, "algorithm", name)
    from hessian.loss.factories import import_object  # brings much along that other runs do not need

    kind = import_object(name, "algorithm")
    lacking = [part for part in ("start", "round", "weights") if not hasattr(kind, part)]
    if not isinstance(kind, type) or not is_dataclass(kind) or lacking:
        raise RunError(f"{name} must be a dataclass with start, round and weights")
    return Entry(kind)


def problem_entry(name: str, given: Values = MappingProxyType({})) -> Entry:
    """Return the entry of a named problem; files, folders and ``module:function`` name data of the user.

    Args:
        name: Name of the problem.
        given: Values of options; a model or a column of texts among them says that a function returns texts.

    Raises:
        RunError: An unknown name.
    """
    if name == SILOS:
        return Entry(SiloSettings)
    if name in PROBLEMS:
        return PROBLEMS[name]
    if is_text_data(name) or ((":" in name or is_folder(name)) and is_own_texts(name, given)):
        return Entry(TextFederation, {"data": name}, _OF_TEXTS)
    if ":" in name or is_folder(name):
        return Entry(ImageFederation, {"data": name})
    raise RunError(
        f"unknown problem {name!r}{suggest_name(name, PROBLEMS)}; your own data can be texts, such as ./texts.jsonl, a "
        f"folder of images by class, such as ./images, or module:function"
    )


def absolute_name(problem: str) -> str:
    """Return the name of a problem; the path of a user's file or folder becomes absolute."""
    own = problem not in PROBLEMS and problem != SILOS and (is_folder(problem) or is_text_data(problem))
    return str(with_home(problem).resolve()) if own else problem


def schemas_of(algorithm: str, problem: str, given: Values) -> tuple[OptionSchema, OptionSchema]:
    """Return the option schemas of an algorithm and of a problem; the problem suggests defaults for the algorithm.

    Args:
        algorithm: Name of the algorithm.
        problem: Name of the problem.
        given: Values of options; what is suggested may depend on them.

    Raises:
        RunError: An unknown name.
    """
    simple = {name: value for name, value in given.items() if not isinstance(value, list | dict)}  # not checked yet
    entry, data = algorithm_entry(algorithm), problem_entry(problem, simple)
    suggests = {**SUGGESTED, **data.kind.suggest(simple)}  # type: ignore[attr-defined]
    if simple.get(f"{OWN}steps") is not None:
        suggests[f"{OWN}epochs"] = None  # else they would be as many as the others, and come before the steps
    fixed = {**entry.fixed, **dict.fromkeys(entry.derived)}
    of_data = {**data.fixed, **dict.fromkeys(data.derived)}
    defaults = data.kind.defaults(problem, simple) if data.kind is TextFederation else {}
    return OptionSchema(entry.kind, fixed, suggests, KINDS), OptionSchema(data.kind, of_data, defaults, KINDS)


def options_of(algorithm: str, problem: str, given: Values, every: bool = False) -> dict[str, Option]:
    """Return the options that decide the numbers of a run, by name.

    Args:
        algorithm: Name of the algorithm.
        problem: Name of the problem.
        given: Values; words among them decide what further options there are.
        every: Return the options of every choice.

    Raises:
        RunError: An unknown name; or an algorithm, a problem and every run call different things the same.
    """
    found: dict[str, Option] = {}
    conduct = CONDUCT.options({})
    for form in (RUN, *reversed(schemas_of(algorithm, problem, given))):
        for name, option in form.options(given, every).items():
            if name in found:
                raise RunError(f"{algorithm} and {problem} both have an option {option.flag}; rename a field")
            if name in conduct:
                raise RunError(f"{option.flag} is an option of every run; rename the field of {algorithm}")
            found[name] = option
    for option in found.values():
        if option.earlier in found:
            raise RunError(f"{algorithm} and {problem} both have an option --{option.earlier}; rename a field")
    return found


def earlier_names(problem: str) -> Mapping[str, str]:
    """Return the earlier names of a problem's options, by their present names; settings are stored under them."""
    if problem in TOYS or problem == SILOS:
        return {}
    kind = PROBLEMS[problem].kind if problem in PROBLEMS else ImageFederation
    return kind.earlier_names  # type: ignore[attr-defined]


def algorithm_of(name: str, problem: str, values: Values) -> Algorithm:
    """Build an algorithm from the values of all options of a run.

    Raises:
        RunError: An unknown name, or an option without a value.
        FederationError: Values that it does not take.
    """
    entry, (form, _) = algorithm_entry(name), schemas_of(name, problem, values)
    rest = values.get("rest")
    if entry.kind is PersonalFedLoRU and values.get("personal_rest", rest) != rest:
        raise FederationError(
            "personal_rest has no effect, because rest is for all weights without factors; leave it out"
        )
    try:
        return OptionSchema(form.kind, _fixed(entry, values), form.defaults, form.kinds).build(values, values["seed"])
    except TypeError as error:
        raise FederationError(f"{name}: {error}") from error


def algorithms_that_take(option: str) -> str:
    """Name the algorithms that take an option, or one like it for each client, as the end of a sentence."""
    takers = []
    for name in (option, *PER_CLIENT) if option in PER_CLIENT else (option,):
        found = [of for of in ALGORITHMS if name in schemas_of(of, next(iter(TOYS)), {})[0].options({}, every=True)]
        clause = f"{', '.join(found)} take{'s' if len(found) == 1 else ''} --{name.replace('_', '-')}"
        if found and clause not in takers:
            takers.append(clause)
    return f"; {', '.join(takers)}" if takers else ""


def _fixed(entry: Entry, values: Values) -> Values:
    return {**entry.fixed, **{part: derive(values) for part, derive in entry.derived.items()}}


def problem_settings_of(name: str, values: Values) -> ProblemSettings:
    """Build the settings of a problem from the values of all options of a run.

    Raises:
        RunError: An unknown name, or values that it does not take.
    """
    entry = problem_entry(name, values)
    return OptionSchema(entry.kind, _fixed(entry, values), kinds=KINDS).build(values)


def executor_of(
    name: str, workers: int = 1, address: str | None = None, gpus_per_worker: float | None = None
) -> Executor:
    """Build an executor by its name; with several workers it gives the same bits as `sequential`.

    Args:
        name: Name of the executor.
        workers: Number of workers.
        address: Address of a Ray cluster; default: one that starts on this machine.
        gpus_per_worker: GPUs of each Ray actor; default: none.

    Raises:
        RunError: An unknown name, or one that is not for several workers.
    """
    alone = look_up(EXECUTORS, "executor", name)
    if name == "ray":
        return _actors(workers, address or LOCAL, gpus_per_worker or 0.0)
    if workers == 1:
        return alone()
    if alone is not Sequential:
        raise RunError(f"{name} runs in one process; leave --workers out, or choose --executor sequential")
    from algorithms.executors.processes import Processes

    return Processes(workers)


def _actors(workers: int, address: str = LOCAL, gpus_per_worker: float = 0.0) -> Executor:
    from algorithms.executors.ray_actors import Actors

    return Actors(workers, address, gpus_per_worker)


def look_up(known: Mapping[str, T], kind: str, name: str) -> T:
    """Look up an entry by its name.

    Raises:
        RunError: There is none; the message has the nearest name.
    """
    if name not in known:
        raise RunError(f"unknown {kind} {name!r}{suggest_name(name, known)}")
    return known[name]
