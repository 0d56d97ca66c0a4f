"""Witnesses and proofs, evaluated a second time by naive code in a fresh process.

A paper's folder holds ``replays`` (a module, or a package of modules: naive evaluations and proofs) and ``witnesses/``
(small JSON files). A witness violates the printed statement. A proof proves the printed statement or its correction;
where it needs data, such as multipliers, they are in ``certificates/``. The fresh process may import the standard
library, numpy, mpmath and sympy; an import guard keeps it from everything that took part in the search.
"""

from __future__ import annotations

import importlib
import json
import pkgutil
import re
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import asdict, dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from functools import cache
from importlib.abc import MetaPathFinder
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn, TypeVar
from zlib import crc32

from paper_checks.engine.generators import generators_seeded
from paper_checks.engine.process_settings import SettingsError, settings_kept, settings_restored
from paper_checks.engine.processes import LateError, ProcessError, end_with_input, fresh_interpreter
from paper_checks.evaluation import (
    KINDS,
    FlawError,
    Hypothesis,
    Kind,
    Proof,
    Replay,
    Replayed,
    Violation,
    as_in_json,
    as_written,
    assuming,
    declared_at,
    describe_error,
    evaluate_replay,
    is_bool,
    proof,
    replay,
    require,
    require_kept,
    select_read,
)
from paper_checks.stored_values import MOST_TRIED, changed_values, require_short
from workloads.messages import shorten

__all__ = [
    "KINDS",
    "FlawError",
    "Hypothesis",
    "Kind",
    "Proof",
    "Replay",
    "ReplayError",
    "Replayed",
    "Stored",
    "Violation",
    "assuming",
    "of_no_claim",
    "proof",
    "proof_data",
    "replay",
    "replay_each",
    "replay_in_fresh_process",
    "replays_of",
    "require",
    "stored",
    "stored_path",
    "to_replay",
    "values_to_store",
    "worth_storing",
]

SHORT = (1, 2, 3, 5)
"""Significant digits in which a witness is tried before it is stored as it was found."""
Key = TypeVar("Key", int, str)
Trying = Callable[[Mapping[str, Any], bool], AbstractContextManager[None]]
"""Is given values that are evaluated, and whether they are changed ones; the evaluation runs in what it returns."""
REPLAY_LIMIT = 60.0
"""Seconds of processor time that one evaluation of a replay may take, if nothing else is said."""
_WAITING = 10.0
"""Most seconds on the clock for each of them, since a replay can also wait, or not be interrupted."""
_STARTING = 300.0
"""Seconds more for the start of the fresh process, which imports numpy and sympy."""
Phase = Callable[[str], object]
"""Is given what is being replayed, in words."""
_ALLOWED = ("numpy", "mpmath", "sympy", "gmpy2", "flint")
_READING = "@"
_PLACES = {"witness": "witnesses", "certificate": "certificates", "full": "full"}


class ReplayError(RuntimeError):
    """The fresh process did not answer, or a stored file cannot be read."""


class _SlowError(BaseException):
    """An evaluation took too long; nothing that it calls catches this."""


@contextmanager
def _limited(seconds: float, reason: str) -> Iterator[None]:
    """Limit the processor time of what runs within, where the system can; other programs do not count.

    Args:
        seconds: Processor time.
        reason: Text of the error.

    Raises:
        _SlowError: It took longer.
    """

    def end(*_: object) -> NoReturn:
        raise _SlowError(reason)

    if not hasattr(signal, "setitimer"):
        yield
        return
    before = signal.signal(signal.SIGPROF, end)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, before)


@dataclass(frozen=True)
class Stored:
    """A witness or certificate on file; its id is that of the claim, with ``@reading`` for another than the first.

    Attributes:
        id: Name of the claim or of the reading.
        kind: Whether it is a witness or a certificate.
        values: Contents of the file.
        mutants: Mutants of the statement, as JSON has them, on which a proof is tried; they are not in the file.
    """

    id: str
    kind: Kind
    values: Mapping[str, Any]
    mutants: Sequence[Mapping[str, Any]] = field(default=(), compare=False)

    @property
    def claim(self) -> str:
        """Id of its claim."""
        return self.id.partition(_READING)[0]

    @property
    def reading(self) -> str:
        """The reading of the statement that it is of; empty for the first."""
        return self.id.partition(_READING)[2]


def stored_path(folder: Path, id: str, kind: str) -> Path:
    """Return the path where a claim's witness, certificate or full-budget result lies in its paper's folder."""
    return folder / _PLACES[kind] / f"{id.replace('/', '--')}.json"


def stored(folder: Path, id: str) -> tuple[Stored, ...]:
    """Read the witness and certificate files of a claim, those of its first reading first.

    Raises:
        ReplayError: A file is not a JSON object for this claim.
    """
    found = []
    for kind in KINDS:
        first = stored_path(folder, id, kind)
        others = first.parent.glob(f"{first.stem}{_READING}*.json")
        for path in (first, *sorted(others)):
            if path.exists():
                reading = path.stem.removeprefix(first.stem)
                found.append(Stored(f"{id}{reading}", kind, _values(path, f"{id}{reading}", kind)))
    return tuple(found)


def to_replay(package: str, folder: Path, id: str) -> tuple[Stored, ...]:
    """Return what there is to replay of a claim: its files, and its proofs that read none, which have no values.

    Args:
        package: The paper's package, whose ``replays`` hold the proofs.
        folder: The folder of its files.
        id: Id of the claim.

    Raises:
        ReplayError: A file is not a JSON object for this claim.
    """
    proofs = {one: Stored(one, "certificate", {}) for one in _without_values(package).get(id, ())}
    files = [file for file in stored(folder, id) if file.kind == "witness" or file.id not in proofs]
    return tuple(sorted((*files, *proofs.values()), key=lambda one: (KINDS.index(one.kind), one.id)))


@cache
def _without_values(package: str) -> dict[str, tuple[str, ...]]:
    """Return ids of the proofs that read no file, by claim."""
    found: dict[str, tuple[str, ...]] = {}
    for (id, kind), one in replays_of(package).items():
        if kind == "certificate" and not one.reads_a_file:
            claim = id.partition(_READING)[0]
            found[claim] = (*found.get(claim, ()), id)
    return found


def _values(path: Path, id: str, kind: Kind) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if content["id"] != id or not isinstance(content["values"], dict):
            raise KeyError("id")
        require_short(content["values"])
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ReplayError(f"{path.name} is not a stored {kind} of {id}: {error}") from None
    return dict(content["values"])


def values_to_store(
    package: str, found: Mapping[str, Mapping[str, Any]], seconds: float = REPLAY_LIMIT, phase: Phase | None = None
) -> dict[str, dict[str, Any]]:
    """Return witnesses as `worth_storing` does, found in a fresh process of limited time.

    Args:
        package: The paper's package.
        found: Witnesses that the checks found, by the ids of the claims or readings.
        seconds: Most seconds for each evaluation.
        phase: Called with what is being replayed.

    Raises:
        ReplayError: A replay does not read what was found, or takes too long, or JSON lacks one of its values.
    """
    plain = {id: _plain_values(id, values) for id, values in found.items()}
    known = replays_of(package)
    with_replay = {id: values for id, values in plain.items() if (id, "witness") in known}
    errors = list[str]()

    def take(id: str, answer: dict[str, Any]) -> None:
        if "error" in answer:
            errors.append(answer["error"])
        else:
            plain[id] = answer["values"]

    _ask(package, "found", with_replay, seconds, phase, take)
    if errors:
        raise ReplayError(errors[0])
    return plain


def _plain_values(id: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a witness as a file has them, with fractions as text.

    Raises:
        ReplayError: One of them is nothing that JSON has.
    """

    def other(value: Any) -> Any:
        if isinstance(value, Fraction | Decimal) or type(value).__module__.startswith("sympy"):
            return str(value)
        if type(value).__module__ == "numpy":
            return value.tolist()
        raise TypeError(f"{type(value).__name__} {shorten(repr(value), 80)}")

    try:
        plain: dict[str, Any] = json.loads(json.dumps(dict(values), default=other))
    except (TypeError, ValueError) as error:
        raise ReplayError(
            f"the witness that the check of {id} found cannot be stored: {error}; let it have numbers, fractions, "
            "texts, and lists and mappings of them"
        ) from None
    return plain


def worth_storing(
    package: str, id: str, found: Mapping[str, Any], trying: Trying = lambda *_: nullcontext()
) -> dict[str, Any]:
    """Return a witness as its claim's replay reads it, in as few digits as it confirms; all of it without a replay.

    Args:
        package: The paper's package.
        id: Id of the claim or of the reading.
        found: Witness that its check found.
        trying: Called with the values that are evaluated; the evaluation runs in what it returns.

    Raises:
        ReplayError: The replay does not read it.
    """
    replay = replays_of(package).get((id, "witness"))
    if replay is None:
        return dict(found)
    try:
        with trying(found, False):
            values = select_read(replay, found)
    except Exception as error:  # a replay of somebody's paper can fail in any way
        raise ReplayError(
            f"the replay of {id} does not read the witness that its check found ({type(error).__name__}: "
            f"{error}); let it read the values that the check returns as witness"
        ) from error
    for few in (_in_few_digits(values, digits) for digits in SHORT):
        if few == values:
            continue
        with trying(few, False):
            confirmed = _confirms(replay, few)
        if confirmed:
            return few
    return values


def proof_data(package: str, id: str, found: Mapping[str, Any]) -> dict[str, Any]:
    """Return the data that a check found for a proof, as its file has them.

    Args:
        package: The paper's package.
        id: Id of the claim or of the reading.
        found: The data.

    Raises:
        ReplayError: No proof reads them.
    """
    proof = replays_of(package).get((id, "certificate"))
    if proof is not None and not proof.reads_a_file:
        raise ReplayError(
            f"the check of {id} finds data for a proof that reads none; give the proof a parameter without default"
        )
    stated = {} if proof is None else {name: as_in_json(value) for name, value in proof.states.items()}
    return {**{name: as_in_json(value) for name, value in found.items()}, **stated}


def _confirms(replay: Replay, values: Mapping[str, Any]) -> bool:
    try:
        return evaluate_replay(replay, values).confirmed
    except Exception:  # a replay of somebody's paper can fail in any way
        return False


def _in_few_digits(value: Any, digits: int) -> Any:
    """Return a value with its floats rounded to some significant digits, those within lists and mappings too."""
    if isinstance(value, Mapping):
        return {name: _in_few_digits(part, digits) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_in_few_digits(part, digits) for part in value]
    return float(f"{value:.{digits}g}") if isinstance(value, float) else value


def of_no_claim(package: str, folder: Path, ids: Sequence[str]) -> tuple[str, ...]:
    """Return files of a paper's folder, such as ``witnesses/x.json``, and replays, for none of the ids of its claims.

    Args:
        package: the paper's package.
        folder: its folder.
        ids: ids of the claims, and ``claim@reading``.
    """
    unread = {
        stored_path(folder, id, "certificate") for of_claim in _without_values(package).values() for id in of_claim
    }
    known = {stored_path(folder, id, kind) for id in ids for kind in _PLACES} - unread
    found = [path for place in _PLACES.values() for path in sorted((folder / place).glob("*.json"))]
    files = [str(path.relative_to(folder)) for path in found if path not in known]
    return (*files, *(f"replays: {kind} of {id}" for id, kind in replays_of(package) if id not in ids))


def replay_in_fresh_process(
    package: str,
    files: Sequence[Stored],
    timeout: float = REPLAY_LIMIT,
    progress: Callable[[Stored], object] | None = None,
    found: list[Replayed] | None = None,
    phase: Phase | None = None,
) -> list[Replayed]:
    """Replay stored files in one fresh interpreter that cannot import the search.

    Args:
        package: the paper's package, whose ``replays`` hold the evaluations.
        files: stored witnesses and certificates.
        timeout: most seconds of processor time for each evaluation; a file is evaluated again with other values.
        progress: called with each file when it has been replayed.
        found: takes the answers as they come; those before an error too.
        phase: called with what is being replayed, in words.

    Raises:
        ReplayError: the process failed or timed out.
    """
    answers: list[Replayed] = [] if found is None else found
    asked = {number: asdict(file) for number, file in enumerate(files)}

    def take(number: int, answer: dict[str, Any]) -> None:
        answers.append(Replayed(**answer))
        if progress:
            progress(files[number])

    _ask(package, "files", asked, timeout, phase, take)
    return answers


def _ask(
    package: str,
    what: str,
    asked: Mapping[Key, Mapping[str, Any]],
    timeout: float,
    phase: Phase | None,
    each: Callable[[Key, dict[str, Any]], None],
) -> None:
    """Ask one fresh process to replay files, or to find the values of witnesses that are worth storing.

    Args:
        package: The paper's package.
        what: ``files`` to replay, or ``found`` values to store.
        asked: The files or values.
        timeout: Most seconds for each evaluation.
        phase: Called with what is being evaluated.
        each: Called with each key and its answer, as they come.

    Raises:
        ReplayError: The process failed or timed out.
    """
    if not asked:
        return
    here = str(Path(__file__).resolve().parent.parent)
    program = "from paper_checks.replay import _serve; _serve()"
    pairs = [[key, value] for key, value in asked.items()]
    question = json.dumps({"package": package, "seconds": timeout, what: pairs})
    left, trying = list(asked), dict[str, Any]()

    def take(line: str) -> None:
        answer = json.loads(line)
        if "trying" not in answer:
            each(left.pop(0), answer)
            return
        trying.update(answer)
        if phase:
            phase(f"replaying {_with_values(answer)}")

    ended: ProcessError | None = None
    try:
        fresh_interpreter(
            program, question, [here], (*_ALLOWED, package.split(".")[0]), _WAITING * timeout, take, _STARTING
        )
    except ProcessError as error:
        ended = error
    if isinstance(ended, LateError) and trying:
        why = ", where a stored value is changed to see that the replay can fail" if trying["changed"] else ""
        raise ReplayError(_too_slow(trying, _WAITING * timeout, why)) from ended
    at = f" at {_name(what, asked[left[0]], left[0])}" if left else ""
    if ended is not None:
        raise ReplayError(f"the replay of {package} failed{',' if at else ''}{at}: {ended}") from ProcessError(
            str(ended)
        )
    if left:
        raise ReplayError(f"the replay of {package} exited{at}; let it return instead")


def _name(what: str, asked: Mapping[str, Any], key: object) -> str:
    return f"the {asked['kind']} of {asked['id']}" if what == "files" else f"the witness of {key}"


def _too_slow(trying: Mapping[str, Any], seconds: float, why: str = "") -> str:
    return (
        f"the replay of {_with_values(trying)} took more than {seconds:g} s{why}; let it take less, find a smaller "
        "witness, or allow more by --replay-seconds"
    )


def _with_values(trying: Mapping[str, Any]) -> str:
    """Return what is evaluated: a claim, with the values if there are any."""
    return f"{trying['trying']}{' with ' if trying['values'] else ''}{trying['values']}"


def replay_each(
    package: str, files: Sequence[Stored], timeout: float = REPLAY_LIMIT, phase: Phase | None = None
) -> list[Replayed]:
    """Replay stored files in fresh interpreters; a file that ends its interpreter confirms nothing, and others go on.

    Args:
        package: The paper's package.
        files: Stored witnesses and certificates.
        timeout: Most seconds for each evaluation.
        phase: Called with what is being replayed, in words.
    """
    answers: list[Replayed] = []
    before = ""
    while len(answers) < len(files):
        left, found = files[len(answers) :], list[Replayed]()
        try:
            replay_in_fresh_process(package, left, timeout, found=found, phase=phase)
            answers += found
        except ReplayError as error:
            answers += found
            # The same error before any answer is one of the package: it would come for every file.
            late = isinstance(error.__cause__, LateError)
            same = str(error.__cause__) == before and not found and not late
            blamed = left if same else left[len(found) : len(found) + 1]
            before = "" if found or late else str(error.__cause__)
            answers += [_ended(file, str(error)) for file in blamed]
    return answers


def _ended(file: Stored, reason: str) -> Replayed:
    return Replayed(file.kind, False, False, None, None, reason, reading=file.reading, can_fail=False, ended_by=reason)


class _Guard(MetaPathFinder):
    """Refuses every import that could share code with the search."""

    def __init__(self, package: str) -> None:
        parents = package.split(".")
        self.replays = f"{package}.replays"
        rooms = ("replay", "evaluation", "stored_values", "enclosures", "proof_steps")
        self.own = {"paper_checks", self.replays, *(f"paper_checks.{room}" for room in rooms)}
        self.own |= {".".join(parents[: i + 1]) for i in range(len(parents))}

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        top = name.split(".")[0]
        own = name in self.own or name.startswith(f"{self.replays}.")
        if own or top in _ALLOWED or top in sys.stdlib_module_names:
            return
        raise ImportError(f"a replay may not import {name}")


def _serve() -> None:
    """Run the fresh process: read stored files from standard input, write their results to standard output."""
    question = json.loads(sys.stdin.buffer.readline())
    end_with_input()
    answers, sys.stdout = sys.stdout, sys.stderr  # what a replay prints is not an answer
    sys.meta_path.insert(0, _Guard(question["package"]))
    known = replays_of(question["package"])

    def tries(id: str) -> Trying:
        def trying(values: Mapping[str, Any], changed: bool) -> AbstractContextManager[None]:
            said = {"trying": id, "values": describe_values(values), "changed": changed}
            print(json.dumps(said), file=answers, flush=True)
            return _alone(id, _limited(question["seconds"], _too_slow(said, question["seconds"])))

        return trying

    for _, file in question.get("files", ()):
        line = _answer_line(question["package"], known, Stored(**file), tries(file["id"]))
        print(line, file=answers, flush=True)
    for id, found in question.get("found", ()):
        print(json.dumps(_answer_to_store(question["package"], id, found, tries(id))), file=answers, flush=True)


@contextmanager
def _alone(id: str, limit: AbstractContextManager[None]) -> Iterator[None]:
    """Evaluate a replay within as if it were the first one: no setting and no draw depends on those before it."""
    with generators_seeded(crc32(id.encode())), settings_restored(), limit:
        yield


def _answer_to_store(package: str, id: str, found: Mapping[str, Any], trying: Trying) -> dict[str, Any]:
    """Return the values of a witness that are worth storing, or the error of its replay."""
    try:
        return {"values": worth_storing(package, id, found, trying)}
    except (ReplayError, _SlowError) as error:
        return {"error": str(error)}


def _answer_line(package: str, known: Mapping[tuple[str, Kind], Replay], file: Stored, trying: Trying) -> str:
    """Return an answer as a line of JSON; one that JSON does not have confirms nothing."""
    try:
        return json.dumps(asdict(_answer(package, known, file, trying)))
    except Exception as error:  # somebody's replay can return anything
        detail = f"the replay of {file.id} returns a value that JSON cannot represent: {error!r}"
        return json.dumps(asdict(Replayed(file.kind, False, False, None, None, detail, reading=file.reading)))


def replays_of(package: str) -> dict[tuple[str, Kind], Replay]:
    """Return the replays that a paper's package declares, by claim and kind.

    Raises:
        ReplayError: Two are of one claim and kind, one has lost its name to a later statement, or a module changes
            settings of the process.
    """
    name = f"{package}.replays"
    try:
        with generators_seeded(crc32(name.encode())), settings_kept(name):
            replays = importlib.import_module(name)
            parts = pkgutil.iter_modules(getattr(replays, "__path__", []))
            themes = [importlib.import_module(f"{name}.{theme.name}") for theme in parts]
    except SettingsError as error:
        raise ReplayError(str(error)) from None
    found: dict[tuple[str, Kind], tuple[Replay, ModuleType]] = {}
    for module in (replays, *themes):
        for item in list(vars(module).values()):
            if not isinstance(item, Replay):
                continue
            first, home = found.setdefault((item.id, item.kind), (item, module))
            if first is not item:
                places = f"{declared_at(home, first)}, and {declared_at(module, item)}"
                what = "proof" if item.kind == "certificate" else "replay of a witness"
                raise ReplayError(f"{item.id} has more than one {what}: {places}; keep one")
        try:
            require_kept(module, Replay, "evaluate")
        except ValueError as error:
            raise ReplayError(str(error)) from None
    return {key: item for key, (item, _) in found.items()}


def without_file(package: str, files: Mapping[str, Sequence[Stored]]) -> list[tuple[str, Kind]]:
    """Return ids and kinds of the replays that a paper's package declares, where the files of the claim lack one."""
    on_file = {(file.id, file.kind) for of_claim in files.values() for file in of_claim}
    return [key for key in replays_of(package) if key[0].partition(_READING)[0] in files and key not in on_file]


def _describe_missing(package: str, file: Stored) -> str:
    """Return that a stored file has no replay, where to write one, and what it is given."""
    replays = importlib.import_module(f"{package}.replays")
    folder = f"{package.replace('.', '/')}/replays"
    name = re.sub(r"\W+", "_", file.id.partition("/")[2])
    place = f"{folder}/{name}.py" if hasattr(replays, "__path__") else f"{folder}.py"
    what = "replay" if file.kind == "witness" else "proof"
    given = f", which reads {', '.join(file.values)}" if file.values else ""
    return f"the {file.kind} of this claim has no replay; write one, @{what}({json.dumps(file.id)}), in {place}{given}"


def _answer(package: str, known: Mapping[tuple[str, Kind], Replay], file: Stored, trying: Trying) -> Replayed:
    if (file.id, file.kind) not in known:
        detail = _describe_missing(package, file)
        return Replayed(file.kind, False, False, None, None, detail, reading=file.reading)
    try:
        with trying(file.values, False):
            found = evaluate_replay(known[file.id, file.kind], file.values)
    except _SlowError as error:
        return _ended(file, str(error))
    except Exception as error:  # a changed file can ask for anything
        detail = describe_error(error, known[file.id, file.kind])
        found = Replayed(file.kind, False, False, None, None, detail)
    if found.confirmed:
        found = _tried(known[file.id, file.kind], file, found, trying)
    return replace(found, reading=file.reading, words=known[file.id, file.kind].words)


def _tried(replay: Replay, file: Stored, found: Replayed, trying: Trying) -> Replayed:
    """Return an answer with what was seen of its replay: whether it can fail, and which mutants a proof proves too.

    An error shows nothing, because a replay that compares nothing can end by one as well.
    """
    if replay.kind == "witness":
        alike: list[str] = []
        for changed in changed_values(file.values):
            other = _again(replay, changed, trying(_difference(changed, file.values), True))
            if _differs(other, found):
                return replace(found, can_fail=True)
            alike.append(_describe_change(file.values, changed, other))
        return replace(found, can_fail=not file.values, alike_at=list(dict.fromkeys(alike)))
    data = {name: value for name, value in file.values.items() if name not in replay.states}
    named = [mutant for mutant in file.mutants[:MOST_TRIED] if _is_of_kinds(replay.defaults, mutant)]
    answers = [(mutant, _again(replay, file.values, trying(mutant, False), mutant)) for mutant in named]
    others = (
        _again(replay, {**file.values, **other}, trying(_difference(other, data), True))
        for other in changed_values(data)
    )
    return replace(
        found,
        can_fail=found.can_fail or any(not other.confirmed and not other.ended_by for other in others),
        tried=len(named) if file.mutants else None,
        proves_too=[mutant for mutant, again in answers if again.confirmed],
        ended_at=[(mutant, again.ended_by) for mutant, again in answers if again.ended_by],
    )


def _describe_change(values: Mapping[str, Any], changed: Mapping[str, Any], other: Replayed) -> str:
    """Return which of the stored values were changed, and how the evaluation ended there if not by its sides."""
    told = describe_values(_difference(changed, values))
    broken = next((text for text, met in other.assumes if not met), "")
    why = other.ended_by or (f"an assumption is not met: {broken}" if broken else "")
    return f"{told} ({shorten(why, 80)})" if why else told


def _difference(changed: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in changed.items() if value != values[name]}


def describe_values(values: Mapping[str, Any]) -> str:
    """Return values by name in a line of bounded length.

    >>> describe_values({"q": 5, "rows": [[1, 2], [3, 4]], "way": "a"})
    'q = 5, rows = [[1, 2], [3, 4]], way = a'
    """
    told = ", ".join(f"{name} = {shorten(str(value), 40)}" for name, value in values.items())
    return shorten(told, 200)


def _differs(other: Replayed, found: Replayed) -> bool:
    """Return whether a change of what it is given changes the sides of a witness, or its other numbers.

    An assumption that the change breaks shows nothing about the sides.
    """
    if other.ended_by:
        return False
    changed = None not in (other.left, other.right) and (other.left, other.right) != (found.left, found.right)
    return changed or (other != found and all(met for _, met in other.assumes))


def _is_of_kinds(defaults: Mapping[str, Any], mutant: Mapping[str, Any]) -> bool:
    """Return whether a proof names all that a mutant changes, not as a list, such as sizes, where that is a number."""
    return all(
        name in defaults and isinstance(defaults[name], list | tuple) == isinstance(value, list)
        for name, value in mutant.items()
    )


def _again(
    replay: Replay,
    values: Mapping[str, Any],
    limit: AbstractContextManager[None],
    constants: Mapping[str, Any] | None = None,
) -> Replayed:
    """Return the answer for other values, or for other constants than a proof has, in limited time."""
    try:
        given = {name: _of_kind(replay.defaults[name], value) for name, value in (constants or {}).items()}
        with limit:
            return evaluate_replay(replay, values, given)
    except _SlowError as error:
        return Replayed(replay.kind, False, False, None, None, str(error), ended_by=str(error))
    except Exception as error:  # somebody's replay can raise anything
        return Replayed(replay.kind, False, False, None, None, repr(error), ended_by=repr(error))


def _of_kind(default: Any, value: Any) -> Any:
    """Return a value of JSON in the type of a proof's constant, or as it is where that type does not have it."""
    if isinstance(default, float | list | tuple):
        exact = Fraction(value) if isinstance(value, str) else as_written(value)
        return tuple(exact) if isinstance(default, tuple) and isinstance(exact, list) else exact
    if is_bool(default) or default is None or (isinstance(default, int) and value != int(value)):
        return value
    if isinstance(default, Fraction):
        return Fraction(str(value))
    if type(default).__module__.startswith("sympy"):
        return importlib.import_module("sympy").sympify(value)
    kind: Callable[[Any], Any] = type(default)
    return kind(value)
