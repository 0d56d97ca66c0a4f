"""The plan of a run: its names, settings and conduct, its identity, and the objects built from it."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from algorithms.federation import Executor
from algorithms.rounds import Algorithm, FederatedProblem
from runs.catalogue import (
    ALGORITHMS,
    CONDUCT,
    LANGUAGE,
    PER_CLIENT,
    PROBLEMS,
    RUN,
    absolute_name,
    algorithm_of,
    algorithms_that_take,
    earlier_names,
    executor_of,
    options_of,
    problem_settings_of,
)
from runs.index import SETTINGS, digest_of, known_digest, recorded_edit, require_file
from runs.networks.language_model import PREFIX
from runs.networks.peft_format import with_adapter_start
from runs.networks.text_federation import DECIDING
from runs.options import is_name, resolve
from runs.own_code import code_digests
from runs.settings import ANEW, COMPUTED, ELSEWHERE, MEASURED, NAME_A_RUN, PLACE, STAYING, UNASKED, Conduct, RunError
from runs.versions import versions
from workloads.code_names import names_code
from workloads.data.image_folder import is_folder
from workloads.files import write_whole
from workloads.processes.cluster import LOCAL
from workloads.written import FolderRecord, ForeignFileError

LATER = ("cap", "personal_cap", "ranks", "client_ranks")
"""Options that runs of earlier versions lack; their defaults are what those versions did."""

_CODE, _IN = "code of {}", " in "
"""Name of the version of a user's code."""
_PARTS = {"algorithm", "problem", "settings", "rounds", "conduct", "versions", "earlier", "given"}
Given = Mapping[str, str | Sequence[float]]


@dataclass(frozen=True)
class Plan:
    """A run, given only by names and numbers.

    Attributes:
        algorithm: Name of the algorithm.
        problem: Name of the problem.
        settings: Every option that decides a number of the run, by name.
        conduct: Settings that decide no number.
    """

    algorithm: str
    problem: str
    settings: Mapping[str, Any]
    conduct: Conduct = field(default_factory=Conduct)

    @property
    def stored_settings(self) -> dict[str, Any]:
        """Settings as stored; additional measurements and later settings are stored only if they were asked for.

        Options that were renamed are stored under their earlier names.
        """
        earlier = earlier_names(self.problem)
        return {
            earlier.get(name, name): value
            for name, value in self.settings.items()
            if not (name in MEASURED and not value) and not (name in UNASKED and value is None)
        }

    @property
    def identity(self) -> dict[str, Any]:
        """Name and settings that identify the run, for JSON."""
        return {"algorithm": self.algorithm, "problem": self.problem, **self.stored_settings}

    @property
    def digest(self) -> str:
        """First digits of the hash of its identity."""
        return digest_of(self.identity)

    @property
    def folder(self) -> str:
        """Name of its folder."""
        problem = Path(self.problem).name if is_folder(self.problem) else self.problem
        words = re.sub(r"[^\w.-]+", "-", f"{self.algorithm}-{problem}")
        return f"{words}-{self.digest}"

    def changed_names(self, other: Plan) -> list[str]:
        """Return the names of the settings in which the identities of two plans differ."""
        ours, theirs = self.identity, other.identity
        present = {earlier: name for name, earlier in earlier_names(self.problem).items()}
        return [present.get(name, name) for name in {**theirs, **ours} if ours.get(name) != theirs.get(name)]


@dataclass(frozen=True, eq=False)
class Parts:
    """Algorithm, problem and executor of a run."""

    algorithm: Algorithm
    problem: FederatedProblem
    executor: Executor


def make_plan(algorithm: str, problem: str, given: Mapping[str, Any], conduct: Conduct | None = None) -> Plan:
    """Make a plan from values and the defaults of the others.

    Args:
        algorithm: Name of the algorithm, or ``module:Class``.
        problem: Name of the problem.
        given: Values of options by name, present or earlier, including those of a conduct that settings keep.
        conduct: How to conduct the run.

    Raises:
        RunError: A name or a value is not valid, or both steps and epochs are given.
    """
    for steps in given:
        epochs = f"{steps.removesuffix('steps')}epochs"
        if not steps.endswith("steps") or given[steps] is None or given.get(epochs) is None:
            continue
        if f"{steps.removesuffix('steps')}optimiser_state" in options_of(algorithm, absolute_name(problem), given):
            raise RunError(f"a round is measured in {steps} or in {epochs}; give one of the two")
    return _make_plan(algorithm, problem, given, conduct)


def _make_plan(algorithm: str, problem: str, given: Mapping[str, Any], conduct: Conduct | None) -> Plan:
    for name in (algorithm, problem):
        if not is_name(name):
            raise RunError(f"{name!a} is not the name of an algorithm or of data; correct it")
    problem = absolute_name(problem)
    conducts = CONDUCT.options({})
    staying = {name: conducts[name].check(value) for name, value in given.items() if name in STAYING}
    conduct = replace(conduct or Conduct(), **staying)
    given = with_present_names(problem, {name: value for name, value in given.items() if name not in staying})
    options = options_of(algorithm, problem, given)
    settings = resolve(
        options,
        given,
        f"{algorithm} on {problem}",
        lambda values: options_of(algorithm, problem, values),
        algorithms_that_take,
    )
    cohort, clients = RUN.build(settings).cohort, problem_settings_of(problem, settings).clients
    if cohort is not None and cohort > clients:
        raise RunError(f"cohort must be at most the number of clients, {clients}, got {cohort}")
    for name in PER_CLIENT if algorithm in ALGORITHMS else ():
        if settings.get(name) and len(settings[name]) != clients:
            given_ranks = ",".join(map(str, settings[name]))
            raise RunError(f"{name} must be a rank for each of {clients} clients, between commas, got {given_ranks}")
    return Plan(algorithm, problem, settings, conduct)


def with_present_names(problem: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Replace the earlier names of options by the present ones.

    Raises:
        RunError: An option is given under both.
    """
    present = {earlier: name for name, earlier in earlier_names(problem).items()}
    twice = [name for name in given if present.get(name) in given]
    if twice:
        raise RunError(f"{twice[0]} is the earlier name of {present[twice[0]]}; give one of the two")
    return {present.get(name, name): value for name, value in given.items()}


Build: TypeAlias = Callable[[Any, int, str, str | None], Any]
"""Returns a problem from its settings, a seed, a torch device and the folder of the data."""


def build_problem(settings: Any, seed: int, device: str, root: str | None) -> Any:
    """Build a problem from its settings; raises as `parts_of`."""
    return settings.build(seed, device, root)


def parts_of(plan: Plan, build: Build = build_problem) -> Parts:
    """Build the algorithm, the problem and the executor of a plan.

    Args:
        plan: The run.
        build: Returns the problem as `build_problem` does, or one that was built before from equal settings.

    Raises:
        RunError, FederationError, ProblemError, DataError: Values that they do not take, or data that are not here.
    """
    values, conduct = plan.settings, plan.conduct
    executor = executor_of(conduct.executor, conduct.workers, conduct.address, conduct.gpus_per_worker)
    with ExitStack() as joined:  # a cluster is left again where the rest fails
        joined.callback(getattr(executor, "close", lambda: None))
        settings = problem_settings_of(plan.problem, values)
        problem = build(settings, values["seed"], conduct.device, conduct.root)
        algorithm = with_adapter_start(algorithm_of(plan.algorithm, plan.problem, values), problem)
        _require_sides(algorithm, problem)
        joined.pop_all()
    return Parts(algorithm, problem, executor)


def _require_sides(algorithm: Any, problem: Any) -> None:
    """Refuse a side for A if a weight has the inputs along its rows, because the sides would be exchanged."""
    asked = getattr(getattr(algorithm, "adapter", None), "a_at", None)
    network = getattr(problem.clients, "network", None)
    if asked is None or network is None:
        return
    layers = [name for name, part in network.testing.module.named_modules() if getattr(part, "inputs_first", False)]
    if layers:
        raise RunError(
            f"the weight of {layers[0]} has its inputs along the rows, so A cannot be placed there; leave a_at out"
        )


@dataclass(frozen=True, eq=False)
class StoredRun:
    """A run in a folder, as its settings describe it.

    Attributes:
        plan: The run.
        given: Result of `given_of` for its problem.
        versions: Versions of the software that computed it.
    """

    plan: Plan
    given: Mapping[str, Any]
    versions: Mapping[str, Any]


def write_plan(
    folder: Path, plan: Plan, given: Given | None = None, earlier: str | None = None, resumed: bool = False
) -> None:
    """Write a run's plan, its conduct, and the versions of its software.

    Settings that somebody changed are not overwritten.

    Args:
        folder: Folder of the run.
        plan: The run.
        given: Result of `given_of` for its problem.
        earlier: Digest under which an earlier version began it.
        resumed: The folder has the settings of this very run, which change with its rounds and conduct.

    Raises:
        OSError: The folder cannot be written.
    """
    if resumed and is_edited(folder):
        return
    content = {
        "algorithm": plan.algorithm,
        "problem": plan.problem,
        "settings": plan.stored_settings,
        "rounds": plan.conduct.rounds,
        "conduct": _stored_conduct(plan.conduct),
        "versions": {**versions(), **_code_so_far(folder if resumed else None, plan)},
        **({} if earlier is None else {"earlier": earlier}),
        **({"given": dict(given)} if given else {}),
    }
    data = (json.dumps(content, indent=1) + "\n").encode()
    if resumed:
        FolderRecord(folder).note([(SETTINGS, len(data), hashlib.sha256(data).hexdigest())])
        write_whole({folder / SETTINGS: data})
    else:
        FolderRecord(folder).write({folder / SETTINGS: data})


def _stored_conduct(conduct: Conduct) -> dict[str, Any]:
    """Return the parts of a conduct that settings keep."""
    return {name: value for name in STAYING if (value := conduct.kept(name)) is not None}


def require_writable_settings(folder: Path, plan: Plan, run: StoredRun) -> None:
    """Check that the settings of a resumed run can be written, if they must change.

    Args:
        folder: Folder of the run.
        plan: The run as it is resumed.
        run: The run as its settings say.

    Raises:
        RunError: They must change, and somebody changed them since they were written.
    """
    ours, theirs = ({"rounds": one.conduct.rounds, "conduct": _stored_conduct(one.conduct)} for one in (plan, run.plan))
    needed = [f"{json.dumps(name)}: {json.dumps(value)}" for name, value in ours.items() if theirs[name] != value]
    if needed and is_edited(folder):
        raise RunError(
            f"{folder / SETTINGS} has been changed since rankproof wrote it, so it is not replaced",
            f"write {' and '.join(needed)} into it",
            ELSEWHERE,
        )


def read_plan(folder: Path, trust: bool | Collection[str] = False) -> Plan:
    """Read the plan of the run in a folder.

    Raises:
        RunError: As `read_run`.
    """
    return read_run(folder, trust).plan


def read_run(folder: Path, trust: bool | Collection[str] = False) -> StoredRun:
    """Read the run in a folder.

    Args:
        folder: Folder of the run.
        trust: Whether code that its settings name may run; or the names, such as ``module:function``, that may.

    Raises:
        RunError: There is none, its settings cannot be read, or they name code that may not run.
    """
    path = folder / SETTINGS
    if not path.exists():
        raise RunError(f"{folder} contains no run", NAME_A_RUN)
    require_file(path)
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise RunError(f"{path} is not valid JSON", "mend it", ELSEWHERE) from error
    try:
        if not isinstance(stored, dict) or not {"algorithm", "problem", "settings", "rounds"} <= set(stored):
            raise RunError("it lacks algorithm, problem, settings or rounds")
        names, settings, number = (stored["algorithm"], stored["problem"]), stored["settings"], stored["rounds"]
        if not all(isinstance(name, str) for name in names) or not isinstance(settings, dict):
            raise RunError("algorithm and problem must be names, and settings a table")
        if type(number) is not int:
            raise RunError(f"rounds must be a whole number, got {number!r}")
        require_trust(path, code_of(*names, settings), trust)
        conduct = stored.get("conduct", {})
        if not isinstance(conduct, dict) or not set(conduct) <= set(STAYING):
            raise RunError(f"conduct must be a table of {', '.join(STAYING)}")
        plan = _make_plan(*names, {**settings, **conduct}, Conduct(rounds=number))
        stored_names = with_present_names(names[1], settings)
        lacking = [
            name for name in plan.settings if name not in stored_names and name not in (*LATER, *MEASURED, *UNASKED)
        ]
        if lacking:
            raise RunError(f"it lacks {', '.join(lacking)}")
    except UntrustedError:
        raise
    except RunError as error:
        raise RunError(f"{path}: {error}", "mend it", ELSEWHERE) from error
    given, versions = (part if isinstance(part := stored.get(name), dict) else {} for name in ("given", "versions"))
    return StoredRun(plan, given, versions)


class UntrustedError(RunError):
    """Error about settings that name code which nobody has confirmed."""


def code_of(algorithm: str, problem: str, settings: Mapping[str, Any]) -> list[str]:
    """Return the code that a run's settings name, or by which others could run code here.

    That is ``module:function``, ``module:Class``, pickled weights, and the address of a Ray cluster, whose owner can
    run code on the machines that join it.
    """
    named = {"algorithm": algorithm, "problem": problem, **settings}
    if (problem in LANGUAGE or problem not in PROBLEMS) and str(settings.get("model")).startswith(PREFIX):
        named = {name: value for name, value in named.items() if name not in DECIDING}  # names of a model and columns
    metrics = str(named.pop("metrics", None) or "").split(",")
    values = [*named.values(), *(name.strip() for name in metrics)]
    found = [value for value in values if isinstance(value, str) and names_code(value)]
    pickled = settings.get("allow_pickle") or settings.get("pickled")
    cluster = settings.get("address")
    foreign = [] if cluster in (None, "", "auto", LOCAL) else [f"code of the Ray cluster at {cluster}"]
    return [*dict.fromkeys(found), *(["pickled weights"] if pickled else []), *foreign]


def require_trust(path: Path, code: Sequence[str], trust: bool | Collection[str]) -> None:
    """Refuse code that a file names, unless somebody confirmed it.

    Args:
        path: The file.
        code: Code that it names; see `code_of`.
        trust: Whether all of it may run; or the names that may.

    Raises:
        UntrustedError: Some of it may not.
    """
    left = [name for name in code if trust is False or (trust is not True and name not in trust)]
    if left:
        raise UntrustedError(
            f"{path} names code that would run on this machine, {' and '.join(map(ascii, left))}: inspect it, "
            f"then confirm with --trust"
        )


def require_same_given(folder: Path, run: StoredRun, given: Given) -> None:
    """Check that the user's functions and files give the same as when the run began.

    Args:
        folder: Folder of the run.
        run: The run as read from the folder; earlier versions store fewer facts.
        given: Result of `given_of` now.

    Raises:
        RunError: Something differs now; the message names it.
    """
    changed = [name for name, now in given.items() if name in run.given and not _agree(name, run.given[name], now)]
    causes = [name for name in changed if name != COMPUTED] or changed
    if causes:
        raise RunError(
            f"{folder} holds a run with another {' and another '.join(causes)}: the output of your function or "
            f"file has changed since then",
            ELSEWHERE,
            ANEW,
        )


def _agree(name: str, before: Any, now: str | Sequence[float]) -> bool:
    """Return whether facts are equal; numbers of a network may differ by rounding, which depends on the device."""
    if name != COMPUTED or isinstance(now, str):
        return bool(before == now)
    if not isinstance(before, list) or not all(isinstance(number, float) for number in before):
        return False
    return len(before) == len(now) and bool(np.allclose(before, now, rtol=1e-3, atol=1e-6, equal_nan=True))


def reads_own(plan: Plan) -> bool:
    """Return whether a run depends on functions or files of the user."""
    settings, model = plan.settings, str(plan.settings.get("model"))
    own = settings.get("partition") == "files" or settings.get("start_from") is not None
    own = own or (model.startswith(PREFIX) and Path(model.removeprefix(PREFIX)).exists())
    return own or plan.problem not in PROBLEMS or bool(code_of(plan.algorithm, plan.problem, settings))


def given_of(problem: FederatedProblem) -> Given:
    """Return digests of a problem's inputs from the user's functions and files, by kind, and a network's probe."""
    found: Given = getattr(problem, "given", {})
    return found


def earlier_digest(folder: Path) -> str | None:
    """Return the digest under which the run in a folder was begun, perhaps by an earlier version; None without a run.

    That version had `STAYING` among the settings, and lacked `LATER`.
    """
    try:
        require_file(folder / SETTINGS)
        stored = json.loads((folder / SETTINGS).read_text(encoding="utf-8"))
        earlier = earlier_names(stored["problem"])
        settings = {earlier.get(name, name): value for name, value in stored["settings"].items()}
        identity = {"algorithm": stored["algorithm"], "problem": stored["problem"], **settings}
        return known_digest(folder, stored, digest_of(identity))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None  # whoever needs the settings says what is wrong with them


def is_as_written(folder: Path) -> bool:
    """Return whether the settings in a folder have exactly the form that `write_plan` writes."""
    try:
        require_file(folder / SETTINGS)
        text = (folder / SETTINGS).read_text(encoding="utf-8")
        stored = json.loads(text)
        return text == json.dumps(stored, indent=1) + "\n" and set(stored) <= _PARTS
    except (OSError, ValueError, TypeError, RecursionError):
        return False


def is_edited(folder: Path) -> bool:
    """Return whether the settings in a folder were changed after they were written.

    Earlier versions left no record, so there the form decides.

    Raises:
        OSError: They cannot be read.
    """
    known = None
    with suppress(ForeignFileError):  # writing into the record says so
        known = recorded_edit(folder)
    return not is_as_written(folder) if known is None else known


def describe_environment_changes(plan: Plan, run: StoredRun) -> list[str]:
    """Return lines if other code of an algorithm, other versions, another executor or device computed a run.

    Args:
        plan: Plan of the run now.
        run: Run as read from the folder.
    """
    lines = list(dict.fromkeys(_describe_code_change(name, plan) for name in changed_code(plan, run)))
    before = {**run.versions, **{name: getattr(run.plan.conduct, name) for name in PLACE}}
    now = {**versions(), **{name: plan.conduct.kept(name) for name in PLACE}}
    changed = [f"{name} {before.get(name)}, now {now[name]}" for name in now if before.get(name) != now[name]]
    return lines + ([f"the run was computed by {'; '.join(changed)}: the last digits may differ"] if changed else [])


def _describe_code_change(name: str, plan: Plan) -> str:
    code, _, module = name.partition(_IN)
    kind = "algorithms" if code == _CODE.format(plan.algorithm) else "metrics"
    what = f"{module}, which your {kind[:-1]} imports," if module else f"the {code}"
    return f"{what} has changed since the run began, so its rounds {'may be' if module else 'are'} of two {kind}"


def changed_code(plan: Plan, run: StoredRun) -> list[str]:
    """Return the names of the code of a user's algorithm and metrics whose files have changed since the last round."""
    code = _code_versions(plan)
    return [name for name, now in code.items() if not str(run.versions.get(name, now)).endswith(now)]


def _code_versions(plan: Plan) -> dict[str, str]:
    """Return digests of the files with a user's algorithm and metrics, by name; none of the package's own."""
    metrics = str(plan.settings.get("metrics") or "").split(",")
    found = code_digests([plan.algorithm, *(metric.strip() for metric in metrics)])
    return {
        _CODE.format(name) if place == 0 else f"{_CODE.format(name)}{_IN}{module}": digest
        for name, digests in found.items()
        for place, (module, digest) in enumerate(digests.items())
    }


def _code_so_far(folder: Path | None, plan: Plan) -> dict[str, str]:
    """Return the digests of the files with a user's code by which the run in a folder was computed, in order."""
    found = _code_versions(plan)
    before = {} if folder is None else json.loads((folder / SETTINGS).read_text(encoding="utf-8")).get("versions", {})
    for name, now in found.items():
        earlier = str(before.get(name, now))
        found[name] = earlier if earlier.endswith(now) else f"{earlier}, then {now}"
    return found
