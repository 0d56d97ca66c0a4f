"""Records of what the toolkit shows for small inputs, so that no number or message changes without notice.

A module ``record_NAME.py`` in a folder next to this one has cases: public functions without parameters that return or
yield numbers, texts, arrays, results or tables. ``record_NAME.json`` keeps what they gave. Other tests prove that
values are right; these notice that one has changed. ``PYTHONPATH=. python tests/records/recording.py [NAME ...]``
writes the records again and prints every difference, for a change that is meant.
"""

import dataclasses
import importlib.util
import inspect
import json
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from math import isclose, isfinite
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

FOLDER = Path(__file__).parent
RELATIVE, ABSOLUTE = 1e-6, 1e-12
"""Tolerances of numbers: other processors round otherwise."""
NUMBER = re.compile(r"(?<![\w.#])-?\d+(?:\.\d+)?(?:e[+-]?\d{1,3})?(?!\w|\.\d)")
SOURCE_LINE = re.compile(r"(?<=\.py), line \d+")
"""Where an error was raised, which changes with every line above."""
WITHIN = "within"


@dataclasses.dataclass(frozen=True)
class Within:
    """A value with its own relative tolerance, such as one of single precision.

    Attributes:
        relative: The tolerance.
        value: The value.
    """

    relative: float
    value: Any


def refused(call: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """Return the kind and message of the error that a call raises, or its result if it raises none."""
    try:
        return call(*arguments, **options)
    except (ArithmeticError, LookupError, OSError, RuntimeError, TypeError, ValueError, SystemExit) as error:
        return f"{type(error).__name__}: {error}"


def plain(value: Any) -> Any:
    """Return a value as JSON keeps it: numbers, texts, lists, and mappings of texts."""
    if isinstance(value, Within):
        return {WITHIN: value.relative, "value": plain(value.value)}
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, str):
        return SOURCE_LINE.sub("", value)
    if isinstance(value, float):
        return float(value) if isfinite(value) else str(float(value))
    if isinstance(value, complex | np.complexfloating):
        return [plain(float(value.real)), plain(float(value.imag))]
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if hasattr(value, "detach"):
        return plain(value.detach().cpu().resolve_conj().tolist())
    if hasattr(value, "to_csv"):
        return {str(name): plain(list(column)) for name, column in value.to_dict("list").items()}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, set | frozenset):
        return sorted((plain(entry) for entry in value), key=str)
    if isinstance(value, tuple | list | Iterator):
        return [plain(entry) for entry in value]
    return str(value)


def differences(kept: Any, found: Any, relative: float = RELATIVE, place: str = "") -> Iterator[str]:
    """Yield one line for each difference between two plain values; numbers in texts are compared as numbers."""
    if isinstance(kept, dict) and isinstance(found, dict) and list(kept) == list(found):
        own = kept.get(WITHIN, relative) if kept.get(WITHIN) == found.get(WITHIN) else relative
        for key in kept:
            yield from differences(kept[key], found[key], own, f"{place}.{key}")
    elif isinstance(kept, list) and isinstance(found, list) and len(kept) == len(found):
        for number, (one, other) in enumerate(zip(kept, found, strict=True)):
            yield from differences(one, other, relative, f"{place}[{number}]")
    elif not _alike(kept, found, relative):
        yield f"{place or 'value'}: was {kept!r}, is {found!r}"


def _alike(kept: Any, found: Any, relative: float) -> bool:
    if isinstance(kept, float) and isinstance(found, float):
        return isclose(kept, found, rel_tol=relative, abs_tol=ABSOLUTE)
    if isinstance(kept, dict | list):
        return False  # of other lengths or names
    if not isinstance(kept, str) or not isinstance(found, str):
        return type(kept) is type(found) and kept == found
    if NUMBER.sub("#", kept) != NUMBER.sub("#", found):
        return False
    return all(map(_alike_in_print, NUMBER.findall(kept), NUMBER.findall(found)))


def _alike_in_print(one: str, other: str) -> bool:
    """Return whether two printed numbers differ by at most a unit of the last digit of the finer one."""
    if one == other:
        return True
    if all(text.lstrip("-").isdigit() for text in (one, other)):
        return False
    return isclose(float(one), float(other), rel_tol=RELATIVE, abs_tol=1.001 * min(map(_last_digit, (one, other))))


def _last_digit(text: str) -> float:
    """Return one unit of the last digit of a printed number."""
    digits, _, power = text.partition("e")
    return float(f"1e{int(power or 0) - len(digits.partition('.')[2])}")


def parts() -> list[str]:
    """Return the names of the records."""
    return sorted(files())


def files() -> dict[str, Path]:
    """Return the module of each record by its name."""
    return {file.stem.removeprefix("record_"): file for file in FOLDER.glob("*/record_*.py")}


def cases(part: str) -> dict[str, Callable[[], Any]]:
    """Return the cases of a record by name."""
    module = _module(part)
    return {
        name: value
        for name, value in vars(module).items()
        if inspect.isfunction(value) and value.__module__ == module.__name__ and not name.startswith("_")
    }


def _module(part: str) -> ModuleType:
    name = f"record_{part}"
    if name in sys.modules:
        return sys.modules[name]
    found = importlib.util.spec_from_file_location(name, files()[part])
    assert found is not None
    assert found.loader is not None
    sys.modules[name] = module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def kept(part: str) -> dict[str, Any]:
    """Return a record."""
    file = files()[part].with_suffix(".json")
    return json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}


def run(case: Callable[[], Any]) -> Any:
    """Return what a case gives, as JSON keeps it."""
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        return json.loads(json.dumps(plain(case())))


if __name__ == "__main__":
    sys.path.insert(0, str(FOLDER))
    sys.modules["recording"] = sys.modules["__main__"]  # or `Within` of a record would be of another class
    for part in sys.argv[1:] or parts():
        before, now = kept(part), {name: run(case) for name, case in cases(part).items()}
        for name in [*now, *(set(before) - set(now))]:
            if name not in before or name not in now:
                print(f"{part}, {name}: {'new' if name in now else 'gone'}")
            found = list(differences(before[name], now[name])) if name in before and name in now else []
            for line in found:
                print(f"{part}, {name}{line}")
            if name in before and name in now and not found:
                now[name] = before[name]  # up to rounding
        rows = ",\n".join(f"{json.dumps(name)}: {json.dumps(value)}" for name, value in now.items())
        files()[part].with_suffix(".json").write_text(f"{{\n{rows}\n}}\n", encoding="utf-8")
