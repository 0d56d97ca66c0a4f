"""Records of adapters in PEFT's format: updates, what is written and read, and what is refused."""

import json
from types import SimpleNamespace

import torch
from hidden_folder import in_folder
from recording import refused
from torch import nn

from algorithms.adapter import Adapter
from algorithms.federation import FederationError
from algorithms.tree import Tree
from runs.networks.language_federation import LanguageFederation
from runs.networks.peft_format import BegunAdapter, Update, read_adapter, updates, with_adapter_start, write_adapter

DOUBLE = torch.float64


def _numbers(*shape, step=0.37):
    count = torch.Size(shape).numel()
    return torch.sin(torch.arange(1.0, 1.0 + count, dtype=DOUBLE) * step).reshape(shape)


class _Model(nn.Module):
    """A model of tokens with three layers."""

    def __init__(self):
        super().__init__()
        self.embed, self.query = nn.Embedding(7, 4), nn.Linear(4, 3)
        self.score = nn.Linear(3, 3, bias=False)
        for place, parameter in enumerate(self.parameters(), start=1):
            parameter.data = _numbers(*parameter.shape, step=0.3 + place)


def _adapted(**named):
    return Adapter(2, 0.5, layers="query", **named)


def _state(adapter, start, **further):
    factors = adapter.factors(start)
    B = Tree({name: _numbers(*value.shape, step=0.6) for name, value in factors.B.items()})
    return SimpleNamespace(factors=factors._replace(B=B), **further)


def updates_of_adapters():
    start = Tree({"query.weight": _numbers(3, 4)})
    for at in ("inputs", "outputs"):
        adapter = _adapted(a_at=at)
        state = _state(adapter, start)
        algorithm = SimpleNamespace(adapter=adapter)

        def weights(state, algorithm=algorithm):
            name = "query.weight"
            left, right = algorithm.adapter.orient(state.factors.A[name], state.factors.B[name], DOUBLE)
            return {name: getattr(state, "base", start)[name] + 0.5 * left @ right}

        algorithm.weights = weights
        found = updates(algorithm, state, start)
        yield {name: [one.scale, one.left.shape, one.right.shape, one.left @ one.right] for name, one in found.items()}
        state.base = Tree({"query.weight": start["query.weight"] + _numbers(3, 1) @ _numbers(1, 4, step=2.0)})
        for rank in (None, lambda state, name: 1, lambda state, name: 2):
            algorithm.merged_rank = rank
            found = updates(algorithm, state, start)["query.weight"]
            yield found.left.shape, found.right.shape, found.left @ found.right
        state.base = Tree({"query.weight": start["query.weight"] + torch.eye(3, 4, dtype=DOUBLE)})
        for rank in (None, lambda state, name: 1):
            algorithm.merged_rank = rank
            yield refused(updates, algorithm, state, start)
        del state.base
        algorithm.weights = lambda state: {"query.weight": start["query.weight"] * 2}
        yield refused(updates, algorithm, state, start)
        yield (
            refused(updates, SimpleNamespace(kept_factor="A"), state, start),
            refused(updates, SimpleNamespace(), state, start),
        )


def _written(folder, found=None, others=None, task="classification", classes=(), **changes):
    found = found or {"query.weight": Update(0.5, _numbers(3, 2), _numbers(2, 4))}
    write_adapter(folder, _Model(), found, others or {}, task, "the base", classes)
    path = folder / "adapter_config.json"
    if changes:
        content = {**json.loads(path.read_text()), **changes}
        path.write_text(json.dumps({name: value for name, value in content.items() if value != "none"}))
    return path.read_text()


@in_folder
def adapters_that_are_written(folder):
    two = {
        "query.weight": Update(0.5, _numbers(3, 2), _numbers(2, 4)),
        "embed.weight": Update(0.25, _numbers(7, 1), _numbers(1, 4)),
    }
    whole = {"score.weight": _numbers(3, 3)}
    for number, (found, others, task) in enumerate(
        ((None, None, "causal"), (two, whole, "classification"), (None, {"query.bias": _numbers(3)}, "causal"))
    ):
        yield refused(_written, folder / str(number), found, others, task, ("x", "y") if number == 1 else ())
    yield (folder / "1" / "labels.json").read_text(), sorted(path.name for path in (folder / "0").iterdir())
    updates_, weights = read_adapter(folder / "1", _Model())
    yield {name: [one.scale, one.left @ one.right] for name, one in updates_.items()}, weights
    yield refused(_written, folder / "3", {"query.bias": Update(1.0, _numbers(3, 1), _numbers(1, 1))})
    yield (
        refused(_written, folder / "4", None, {"bias": _numbers(3)}),
        refused(_written, folder / "5", {"score.weight": two["query.weight"]}),
    )


def _read(folder, *several):
    for changes in several:
        _written(folder, **changes)
        found = refused(read_adapter, folder, _Model())
        yield found if isinstance(found, str) else {name: one.scale for name, one in found[0].items()}
        for path in folder.iterdir():
            path.unlink()


@in_folder
def adapters_of_ranks_and_scales(folder):
    return _read(
        folder,
        {"use_rslora": True},
        {"lora_alpha": 3},
        {"lora_alpha": "x"},
        {"lora_alpha": 1e101},
        {"alpha_pattern": {"quer.": 8}},
        {"alpha_pattern": {"uery": 8}},
        {"rank_pattern": {"query": 3}},
        {"rank_pattern": {"query": 2}, "r": 5},
        {"r": 0},
        {"r": 3},
        {"alpha_pattern": "x"},
    )


@in_folder
def adapters_of_named_layers(folder):
    return _read(
        folder,
        {"target_modules": "all-linear"},
        {"target_modules": ["other"]},
        {"target_modules": "quer[y]"},
        {"target_modules": "("},
        {"target_modules": [1]},
        {"exclude_modules": ["query"]},
        {"modules_to_save": ["query"]},
        {"layers_to_transform": [0]},
        {"layers_to_transform": "x"},
        {"bias": "all"},
        {"init_lora_weights": "pissa"},
        {"use_dora": True},
        {"peft_type": "IA3"},
    )


@in_folder
def adapters_of_other_models(folder):
    _written(folder)
    other = _Model()
    other.query = nn.Linear(5, 3)
    yield refused(read_adapter, folder, other), refused(read_adapter, folder, nn.Linear(2, 2))
    (folder / "adapter_model.safetensors").write_bytes(b"")
    yield refused(read_adapter, folder, other).partition(": ")[2].partition(": ")[0]
    (folder / "adapter_model.safetensors").unlink()
    yield refused(read_adapter, folder, other), refused(read_adapter, folder / "none", other)
    _written(folder / "a", {"query.weight": Update(0.5, _numbers(3, 2) / 0.0, _numbers(2, 4))})
    yield refused(read_adapter, folder / "a", _Model())


def adapters_that_are_begun():
    start = Tree({"query.weight": _numbers(3, 4)})
    update = {"query.weight": Update(0.25, _numbers(3, 2), _numbers(2, 4, step=0.8))}
    for at in ("inputs", "outputs"):
        begun = BegunAdapter(2, 0.5, layers="query", a_at=at, begun=update)
        factors = begun.factors(start)
        left, right = begun.orient(factors.A["query.weight"], factors.B["query.weight"], DOUBLE)
        yield left @ right, begun.rank_of("query.weight"), begun.rank_of("x"), type(begun.of_client(1, 1)).__name__
    for rank, given in (
        (1, update),
        (2, {"other.weight": update["query.weight"]}),
        (3, {**update, "b": Update(1.0, _numbers(2, 3), _numbers(3, 2))}),
    ):
        yield refused(BegunAdapter(rank, 0.5, layers="query", begun=given).factors, start)
    yield refused(
        BegunAdapter(
            1, 0.5, layers="query", begun={**update, "b": Update(1.0, _numbers(2, 3), _numbers(3, 2))}
        ).factors,
        start,
    )
    algorithm = LanguageFederation()
    yield with_adapter_start(algorithm, SimpleNamespace()) is algorithm
    for algorithm in (SimpleNamespace(), SimpleNamespace(adapter=_adapted(), makes_factors=True)):
        yield refused(with_adapter_start, algorithm, SimpleNamespace(begun=update))
    yield issubclass(FederationError, ValueError)
