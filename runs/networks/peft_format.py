r"""Adapters in PEFT's format: written from runs, and read as the start of runs.

PEFT keeps $W + s\,BA$ with A at the inputs. We write the whole update of a model, so one adapter replaces
a chain of pairs, or what was merged into the weights, because their ranks add up.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, NamedTuple

import torch
from safetensors import SafetensorError
from safetensors import torch as safetensors
from torch import Tensor, nn

from algorithms.adapter import AB, Adapter
from algorithms.federation import FederationError
from algorithms.tree import Tree, wide
from runs.index import SETTINGS
from runs.networks.turned_layer import TurnedLayer
from runs.settings import RunError
from workloads.files import require_writable
from workloads.written import write_own

CONFIG, WEIGHTS = "adapter_config.json", "adapter_model.safetensors"
LABELS = "labels.json"
"""Names of a classifier's classes as `id2label` and `label2id`, which PEFT's configuration has no entries for."""
_PREFIX = "base_model.model."
_BELOW = ".base_layer.weight"
"""End of the name of a frozen weight below factors, which PEFT stores for an embedding."""
_HEADS = ("classifier", "score")
"""Ends of the names of modules that PEFT always stores whole, in addition to the adapter of a classifier."""
_TASKS = {"classification": "SEQ_CLS", "causal": "CAUSAL_LM"}
_UNDERSTOOD = frozenset(
    (
        "peft_type",
        "task_type",
        "auto_mapping",
        "peft_version",
        "base_model_name_or_path",
        "revision",
        "inference_mode",
        "r",
        "target_modules",
        "exclude_modules",
        "lora_alpha",
        "lora_dropout",
        "fan_in_fan_out",
        "bias",
        "use_rslora",
        "modules_to_save",
        "init_lora_weights",
        "layers_to_transform",
        "layers_pattern",
        "rank_pattern",
        "alpha_pattern",
        "megatron_core",
        "qalora_group_size",
        "runtime_config",
    )
)
"""Entries of a configuration that are heeded, or that change nothing of what a trained adapter computes."""
_BY_PATTERN, _WHOLE, _NUMBERED = r"(.*\.)?({})$", r"(^|.*\.){}($|\..*)", r"(?:^|.*?\.){}\.(\d+)\."
"""Expressions that PEFT makes of a pattern for ranks or alphas, a module that is saved whole, a pattern for layers."""
_BY_LAYER = (("lora_alpha", "alpha_pattern"), ("r", "rank_pattern"))
"""Entries with a number for all layers, and those for layers by patterns."""
_TYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
"""Types of the numbers of an adapter."""
LARGEST = 1e100
"""Largest size of a number in a configuration."""
LEFT_OVER, ROUNDED = 0.01, 1e-6
"""Share of a merged update, or of the weight, that may lie outside of its rank; roundings in float32 are below."""
SAME = 0.05
"""Share of an update by which that of an adapter may differ from it; merges in half precision round it."""


class Update(NamedTuple):
    """The update of a weight ``(m, n)``: scale times left ``(m, r)`` times right ``(r, n)``."""

    scale: float
    left: Tensor
    right: Tensor


def updates(algorithm: Any, state: Any, start: Mapping[str, Tensor]) -> dict[str, Update]:
    """Return the update of every factorised weight since the start, by its name.

    Args:
        algorithm: An algorithm with an adapter.
        state: State of the algorithm, after some rounds.
        start: Weights before the first round.

    A method of the user's may change the weights below the factors by any matrix. Its adapter then has the rank of that
    matrix in addition.

    Raises:
        RunError: The algorithm has no adapter or only personal ones, merged weights that are rounded to half
            precision, or its model does not match its weights and factors.
    """
    adapter: Adapter | None = getattr(algorithm, "adapter", None)
    if kept := getattr(algorithm, "kept_factor", ""):
        raise RunError(
            f"{type(algorithm).__name__} has no adapter of its own to export, because every client keeps its own {kept}"
        )
    if adapter is None or not isinstance(getattr(state, "factors", None), AB):
        raise RunError(
            f"{type(algorithm).__name__} does not train an adapter on frozen weights, and PEFT stores nothing else"
        )
    pairs = [*getattr(state, "pairs", ()), state.factors]
    found = {}
    below, rank_of = getattr(state, "base", start), getattr(algorithm, "merged_rank", None)
    for name in state.factors.A:
        W = start[name]
        placed = [adapter.orient(pair.A[name], pair.B[name], pair.A[name].dtype) for pair in pairs]
        lefts, rights = [left for left, _ in placed], [right for _, right in placed]
        if not torch.equal(below[name], W):
            left, right = _merged(name, below[name], W, None if rank_of is None else rank_of(state, name))
            lefts, rights = [left / adapter.scale, *lefts], [right, *rights]
        found[name] = Update(adapter.scale, torch.cat(lefts, 1), torch.cat(rights, 0))
    _require_same_model(algorithm, state, start, found)
    return found


def _require_same_model(algorithm: Any, state: Any, start: Mapping[str, Tensor], found: Mapping[str, Update]) -> None:
    """Check that the updates make the weights of the algorithm's model.

    Raises:
        RunError: They make others, as those of a method with another model than its weights and factors.
    """
    weights = algorithm.weights(state)
    for name, (scale, left, right) in found.items():
        W, model = start[name].double(), weights[name].double()
        error = float((W + scale * (left.double() @ right.double()) - model).norm())
        rounding = max(ROUNDED, torch.finfo(weights[name].dtype).eps) * float(W.norm())
        if error > SAME * float((model - W).norm()) + rounding:
            raise RunError(
                f"{name} of {type(algorithm).__name__} is not its base plus the update of its factors, and an adapter "
                "of PEFT stores nothing else; let start and round return a state whose base and factors make the model"
            )


def _merged(name: str, base: Tensor, W: Tensor, rank: int | None) -> tuple[Tensor, Tensor]:
    """Return factors of the change of a weight, of a known rank or of the change's own."""
    change = base.double() - W.double()
    U, sigma, Vh = torch.linalg.svd(change, full_matrices=False)
    if rank is None:
        left_over = sigma.square().flip(0).cumsum(0).sqrt().flip(0)
        rank = int((left_over > ROUNDED * float(W.double().norm())).sum())
        if rank * sum(change.shape) > change.numel():
            raise RunError(
                f"{name} was changed by a matrix of rank {rank}, and an adapter of that rank has more numbers than the "
                f"weight of {' x '.join(map(str, change.shape))}; change it by matrices of low rank"
            )
    rank = min(rank, len(sigma))
    allowed = max(LEFT_OVER * float(sigma.norm()), ROUNDED * float(W.double().norm()))
    if float(sigma[rank:].norm()) > allowed:
        raise RunError(
            f"{name} accumulated its updates in {str(W.dtype).removeprefix('torch.')}, whose rounding errors have "
            f"full rank, so no adapter can represent them; use --dtype float32, or fedloru-finetune, which keeps "
            f"the pairs"
        )
    root = sigma[:rank].sqrt()
    return (U[:, :rank] * root).to(wide(W).dtype), (root[:, None] * Vh[:rank]).to(wide(W).dtype)


def write_adapter(
    folder: Path,
    module: nn.Module,
    found: Mapping[str, Update],
    others: Mapping[str, Tensor],
    task: str,
    base: str,
    classes: Sequence[str] = (),
) -> None:
    """Write an adapter that `PeftModel.from_pretrained` loads.

    Args:
        folder: Created if need be; an adapter in it is replaced.
        module: The model without the adapter.
        found: Updates by the names of weights.
        others: Weights that are stored whole, such as a head's.
        task: `classification` or `causal`.
        base: Name or folder of the model.
        classes: Names of the classes in the order of the logits, written into `LABELS`; none: no such file.

    Raises:
        RunError: A layer that PEFT has no adapter for.
        OSError: The folder cannot be written.
    """
    tensors: dict[str, Tensor] = {}
    layers: dict[str, tuple[int, float]] = {}
    for name, update in found.items():
        layer, _, kind = name.rpartition(".")
        part = module.get_submodule(layer)
        if kind != "weight" or not isinstance(part, nn.Linear | nn.Embedding | TurnedLayer):
            raise RunError(f"{name} of a {type(part).__name__} cannot be written as an adapter of PEFT")
        left, right = update.left, update.right
        layers[layer] = (len(right), update.scale * len(right))
        ends = (
            ("lora_embedding_A", "lora_embedding_B")
            if isinstance(part, nn.Embedding)
            else ("lora_A.weight", "lora_B.weight")
        )
        pair = (left.mT, right.mT) if isinstance(part, nn.Embedding) else (right, left)
        tensors |= {f"{_PREFIX}{layer}.{end}": one for end, one in zip(ends, pair, strict=True)}
    whole, stored = _stored_whole(module, {name.rpartition(".")[0] for name in others}, set(layers), task)
    for layer in stored:
        for name, parameter in module.get_submodule(layer).named_parameters():
            full = f"{layer}.{name}"
            tensors[_PREFIX + full] = _turn(module, full, others.get(full, parameter))
    rank, alpha = next(iter(layers.values()))
    config = {
        "peft_type": "LORA",
        "task_type": _TASKS[task],
        "base_model_name_or_path": base,
        "inference_mode": True,
        "r": rank,
        "lora_alpha": alpha,
        "lora_dropout": 0.0,
        "bias": "none",
        "target_modules": sorted(layers),
        "modules_to_save": whole or None,
        "use_rslora": False,
        "use_dora": False,
        "init_lora_weights": True,
        "fan_in_fan_out": any(isinstance(module.get_submodule(layer), TurnedLayer) for layer in layers),
        "rank_pattern": {layer: own for layer, (own, _) in layers.items() if own != rank},
        "alpha_pattern": {layer: own for layer, (_, own) in layers.items() if own != alpha},
    }
    packed = safetensors.save({k: t.detach().cpu().clone().contiguous() for k, t in tensors.items()}, {"format": "pt"})
    folder.mkdir(parents=True, exist_ok=True)
    require_writable(folder)
    files = {folder / WEIGHTS: packed, folder / CONFIG: _json(config)}
    if classes:
        numbers = {name: number for number, name in enumerate(classes)}
        files[folder / LABELS] = _json({"id2label": dict(enumerate(classes)), "label2id": numbers})
    write_own(files, folder)


def _json(content: Mapping[str, Any]) -> bytes:
    return (json.dumps(content, indent=1) + "\n").encode()


def _turn(module: nn.Module, name: str, tensor: Tensor) -> Tensor:
    """Transpose a weight between the model's and the pretrained layer's layout, if they differ."""
    kept = isinstance(module.get_submodule(name.rpartition(".")[0]), TurnedLayer) and tensor.ndim == 2
    return tensor.mT if kept else tensor


def _stored_whole(module: nn.Module, asked: set[str], adapted: set[str], task: str) -> tuple[list[str], list[str]]:
    """Return `modules_to_save` and all modules that PEFT then stores whole, because it compares the ends of names.

    Raises:
        RunError: PEFT cannot hold these modules whole.
    """
    own = _HEADS if task == "classification" else ()
    modules = [name for name, _ in module.named_modules()]
    heads = [name for name in modules if name.endswith(own)] if own else []
    inside = {name: next((head for head in heads if name.startswith(f"{head}.")), name) for name in asked}
    saved = sorted(set(inside.values()))
    ends = (*own, *saved)
    stored = [name for name in modules if name and ends and name.endswith(ends)]
    if not all(asked):
        raise RunError("weights outside of a layer are trained, which PEFT cannot store; name the layers with --head")
    nested = [name for name in stored if any(name.startswith(f"{other}.") for other in stored)]
    if nested:
        raise RunError(f"PEFT cannot store {nested[0]} whole apart from the module that it is in; train another --head")
    twice = [name for name in sorted(adapted) if any(f"{name}.".startswith(f"{whole}.") for whole in stored)]
    if twice:
        raise RunError(f"{twice[0]} has factors, and PEFT stores it whole; train with other --layers or --head")
    return saved, stored


def read_adapter(folder: Path, module: nn.Module) -> tuple[dict[str, Update], dict[str, Tensor]]:
    """Read an adapter of PEFT: updates by the model's weight names, and the weights that it stores whole.

    Raises:
        RunError: There is none, it is of another kind or of another model, or its weights are pickled.
    """
    try:
        config = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
        if not (folder / WEIGHTS).is_file():
            raise RunError(f"{folder} has no {WEIGHTS}: pickled adapters are not read, save it as safetensors")
        tensors = safetensors.load_file(folder / WEIGHTS)
    except (OSError, ValueError, SafetensorError) as error:
        if isinstance(error, RunError):
            raise
        why = " ".join(str(error).split())[:150]
        if (folder / SETTINGS).is_file():
            why = f"it is a run, whose adapter `rankproof runs export {folder} --out DIR` writes into a folder"
        raise RunError(f"{folder} does not hold a readable PEFT adapter: {why}") from error
    _require_plain(folder, config)
    factor = re.compile(r".*\.lora_(embedding_)?[AB](\.weight)?")
    flat = {key for key, tensor in tensors.items() if factor.fullmatch(key) and tensor.ndim != 2}
    odd = [key for key, tensor in tensors.items() if tensor.dtype not in _TYPES or key in flat]
    if odd:
        dtype, shape = str(tensors[odd[0]].dtype).removeprefix("torch."), tuple(tensors[odd[0]].shape)
        raise RunError(
            f"{folder} has {odd[0]} of {dtype} {shape}, and factors are matrices in 16 to 64 bits; save them so"
        )
    shapes = {name: parameter.shape for name, parameter in module.named_parameters()}
    found, others = {}, {}
    for key in tensors:
        name = key.removeprefix(_PREFIX)
        if name.endswith(_BELOW) and f"{name.removesuffix(_BELOW)}.weight" in shapes:
            _require_same_base(folder, module, f"{name.removesuffix(_BELOW)}.weight", tensors[key])
            continue
        match = re.fullmatch(r"(.+)\.lora_(embedding_)?A(\.weight)?", name)
        if match is None:
            if ".lora_" not in name:
                others[name] = _turn(module, name, tensors[key]) if name in shapes else tensors[key]
            elif re.sub(r"B(\.weight)?$", r"A\1", key) not in tensors or not re.search(r"B(\.weight)?$", key):
                raise RunError(
                    f"{folder} has {key}, which a plain LoRA adapter does not have; save an adapter without it"
                )
            continue
        layer, embedded = match[1], bool(match[2])
        A, B = tensors[key], tensors.get(re.sub(r"A(\.weight)?$", r"B\1", key))
        if B is None or f"{layer}.weight" not in shapes:
            raise RunError(f"{folder} has {key}, and {'no B with it' if B is None else 'the model has no such layer'}")
        _require_named(folder, config, layer)
        left, right = (A.mT, B.mT) if embedded else (B, A)
        if left.shape[1] != right.shape[0] or (len(left), right.shape[1]) != tuple(shapes[f"{layer}.weight"]):
            raise RunError(
                f"{folder}: {layer} is an update of {len(left)} x {right.shape[1]}; the model is a different one"
            )
        alpha, rank = _match_pattern(config.get("alpha_pattern"), layer, config.get("lora_alpha", 8)), left.shape[1]
        if rank != _match_pattern(config.get("rank_pattern"), layer, config.get("r", 8)):
            raise RunError(
                f"{folder}: {layer} has rank {rank}, which r and rank_pattern of {CONFIG} contradict; bring the "
                "configuration of these tensors back"
            )
        found[f"{layer}.weight"] = Update(alpha / (rank**0.5 if config.get("use_rslora") else rank), left, right)
    unknown = [name for name, tensor in others.items() if shapes.get(name) != tensor.shape]
    if unknown or not found:
        raise RunError(f"{folder} is of another model: {f'{unknown[0]} does not fit' if unknown else 'no layer fits'}")
    infinite = [key for key, tensor in tensors.items() if not bool(torch.isfinite(tensor).all())]
    if infinite:
        raise RunError(f"{folder} has {infinite[0]} with non-finite numbers; start from another adapter")
    return found, others


def base_named_in(folder: Path) -> str:
    """Return the base model that an adapter names; empty if it names none."""
    try:
        name = json.loads((folder / CONFIG).read_text(encoding="utf-8"))["base_model_name_or_path"]
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return ""
    return name if isinstance(name, str) else ""


def classes_of(folder: Path) -> list[str]:
    """Return the names of the classes next to an adapter, in the order of its logits.

    Empty if no file names them by their numbers: it is not PEFT's, so another of that name can mean anything.
    """
    try:
        names = json.loads((folder / LABELS).read_text(encoding="utf-8"))["id2label"]
        return [str(names[str(number)]) for number in range(len(names))]
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return []


def _require_same_base(folder: Path, module: nn.Module, name: str, stored: Tensor) -> None:
    """Check that a frozen weight in an adapter is the model's, up to the rounding of the coarser of two types.

    Raises:
        RunError: It is another.
    """
    weight = _turn(module, name, module.get_parameter(name).detach().cpu())
    error = 0.0 if weight.dtype == stored.dtype else max(torch.finfo(one.dtype).eps for one in (weight, stored))
    if weight.shape != stored.shape or not torch.allclose(weight.double(), stored.double(), rtol=error, atol=error**2):
        raise RunError(f"{folder} was trained on another {name} than the model's; name the model of the adapter")


def _require_named(folder: Path, config: Mapping[str, Any], layer: str) -> None:
    """Check that PEFT would give a layer an adapter, by the configuration.

    Raises:
        RunError: It would leave the layer's tensors out.
    """
    targets, excluded, saved = (config.get(name) for name in ("target_modules", "exclude_modules", "modules_to_save"))
    found = targets in (None, "all-linear") or _is_among(targets, layer)
    if found and not isinstance(targets, str | None) and layer not in targets:
        found = _is_transformed(config, layer)
    if (
        not found
        or (excluded and _is_among(excluded, layer))
        or any(re.match(_WHOLE.format(name), layer) for name in _listed(saved))
    ):
        raise RunError(
            f"{folder} has factors of {layer}, which {CONFIG} leaves out; restore the configuration that belongs "
            f"to these tensors"
        )


def _is_among(names: str | Sequence[str], layer: str) -> bool:
    if isinstance(names, str):
        return re.fullmatch(names, layer) is not None
    return layer in names or any(layer.endswith(f".{name}") for name in names)


def _is_transformed(config: Mapping[str, Any], layer: str) -> bool:
    """Return whether `layers_to_transform` includes a layer; PEFT takes the first number in its name."""
    asked = config.get("layers_to_transform")
    if asked is None or asked == []:
        return True
    forms = [_NUMBERED.format(one) for one in _listed(config.get("layers_pattern"))]
    matches = [match for form in forms or [r".*?\.[^.]*\.(\d+)\."] if (match := re.match(form, layer))]
    return bool(matches) and int(matches[0][1]) in ([asked] if isinstance(asked, int) else asked)


def _require_plain(folder: Path, config: Any) -> None:
    """Check that an adapter uses only the settings supported here.

    Raises:
        RunError: Something is.
    """
    if not isinstance(config, dict) or config.get("peft_type") != "LORA":
        raise RunError(f"{folder}: {CONFIG} does not have peft_type LORA")
    odd = [name for name, value in config.items() if name not in _UNDERSTOOD and value not in (None, False, {}, [])]
    odd += ["bias"] if config.get("bias", "none") != "none" else []
    odd += ["init_lora_weights"] if config.get("init_lora_weights", True) not in (True, False, "gaussian") else []
    if odd:
        raise RunError(f"{folder} holds an adapter that is not a plain LoRA ({', '.join(odd)}), which is not read")
    alphas, ranks = ([config.get(name, 8), *_values(config.get(pattern))] for name, pattern in _BY_LAYER)
    if not all(type(alpha) in (int, float) and abs(alpha) <= LARGEST for alpha in alphas):
        raise RunError(f"{folder}: {CONFIG} has a lora_alpha or an alpha_pattern that is not a finite number")
    if not all(type(rank) is int and 1 <= rank <= LARGEST for rank in ranks):
        raise RunError(f"{folder}: {CONFIG} has an r or a rank_pattern that is not a whole number of at least 1")
    if not isinstance(config.get("layers_to_transform"), int | None):
        _require_texts_or_numbers(folder, config, "layers_to_transform", int)
    for name in ("target_modules", "exclude_modules", "layers_pattern", "modules_to_save"):
        if not isinstance(config.get(name), str | None):
            _require_texts_or_numbers(folder, config, name, str)
    patterns = [(part, one, _BY_PATTERN) for _, part in _BY_LAYER for one in config.get(part) or ()]
    patterns += [
        (part, config[part], "{}") for part in ("target_modules", "exclude_modules") if type(config.get(part)) is str
    ]
    for part, form in (("layers_pattern", _NUMBERED), ("modules_to_save", _WHOLE)):
        patterns += [(part, one, form) for one in _listed(config.get(part))]
    for part, pattern, form in patterns:
        try:
            re.compile(form.format(pattern))
        except (re.error, RecursionError, OverflowError) as error:
            raise RunError(f"{folder}: {CONFIG} has the {part} {pattern!r}, which is not a pattern: {error}") from error


def _require_texts_or_numbers(folder: Path, config: Mapping[str, Any], name: str, kind: type) -> None:
    value = config[name]
    if not isinstance(value, list) or not all(type(one) is kind for one in value):
        kinds = "names" if kind is str else "whole numbers"
        raise RunError(f"{folder}: {CONFIG} has {name} that is not a list of {kinds}")


def _values(patterns: Any) -> Sequence[Any]:
    """Return the values of a pattern table; empty if it is not a table."""
    return list(patterns.values()) if isinstance(patterns, dict) else [] if patterns is None else [None]


def _listed(value: Any) -> Sequence[str]:
    return [value] if isinstance(value, str) else value or ()


def _match_pattern(patterns: Any, layer: str, otherwise: float) -> float:
    """Return the value of the first pattern that matches a layer, as PEFT does."""
    of_layer = (value for pattern, value in (patterns or {}).items() if re.match(_BY_PATTERN.format(pattern), layer))
    return float(next(of_layer, otherwise))


@dataclass(frozen=True)
class BegunAdapter(Adapter):
    """An adapter with given first factors; workers do not need these and get the plain adapter.

    Attributes:
        begun: Updates by the names of weights.
    """

    begun: Mapping[str, Update] = field(default_factory=dict)

    def __reduce__(self) -> tuple[Any, ...]:
        return Adapter, tuple(getattr(self, part.name) for part in fields(Adapter))

    def rank_of(self, name: str) -> int:
        """Return the rank of a layer in the given adapter, which may differ from layer to layer."""
        return self.begun[name].left.shape[1] if name in self.begun else self.rank

    def of_client(self, number: int, rank: int) -> Adapter:
        """Return the plain adapter of a client, which draws new factors."""
        return Adapter(*(getattr(self, part.name) for part in fields(Adapter))).of_client(number, rank)

    def pair(self, w: Mapping[str, Tensor], turn: int = 0) -> AB:
        """Return the given factors, scaled to give their update, as the first ones; later turns draw new ones.

        Raises:
            FederationError: They are of other layers or of another rank.
        """
        if turn:
            return super().pair(w, turn)
        ranks = sorted({update.left.shape[1] for update in self.begun.values()})
        if self.rank not in ranks:
            of_layer = f"rank {ranks[0]} at {next(iter(self.begun))}"
            several = f"the ranks {', '.join(map(str, ranks))}, each layer its own"
            raise FederationError(
                f"the adapter to start from has {of_layer if len(ranks) == 1 else several}; choose --rank "
                f"{' or '.join(map(str, ranks))}"
            )
        fresh = super().pair(w)
        if set(fresh.A) != set(self.begun):
            odd = sorted(set(fresh.A) ^ set(self.begun))
            raise FederationError(f"the adapter to start from has other layers: {odd[0]} is in only one of the two")
        A, B = {}, {}
        for name, update in self.begun.items():
            left, right = self.orient(update.left, update.right, update.left.dtype)  # which is its own inverse
            A[name] = left.to(fresh.A[name])
            # An adapter in half precision is scaled in single, because the product would be rounded.
            B[name] = (wide(right) * (update.scale / self.scale)).to(fresh.B[name])
        return AB(Tree({name: A[name] for name in fresh.A}), Tree({name: B[name] for name in fresh.A}))


def with_adapter_start(algorithm: Any, problem: Any) -> Any:
    """Return the algorithm, starting from the adapter that a problem gives.

    Raises:
        RunError: The algorithm has no adapter.
    """
    given = getattr(problem, "begun", None)
    if not given:
        return algorithm
    adapter = getattr(algorithm, "adapter", None)
    if adapter is None:
        raise RunError(f"{type(algorithm).__name__} has no adapter; leave start_from out")
    if getattr(algorithm, "makes_factors", False):
        raise RunError(
            f"{type(algorithm).__name__} makes its first factors of the model and its data; leave start_from out"
        )
    own = {part.name: getattr(adapter, part.name) for part in fields(Adapter)}
    return replace(algorithm, adapter=BegunAdapter(**own, begun=given))
