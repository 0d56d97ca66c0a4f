"""Checks of a silo's loss while it works: it has to be one number that depends on the weights."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor
from torch.utils import _pytree as pytree

from algorithms.descent import statistics_of
from algorithms.federation import Client, FederationError
from algorithms.lent import Lent
from algorithms.tree import tensors
from runs.networks.dependence import INDEPENDENT, depends_on

_KINDS = (torch.float64, torch.float32, torch.bfloat16, torch.float16)


class _CheckedClient:
    """A client whose losses are checked; all else is passed through."""

    bind_weights = None
    """Nothing, because every loss is checked with the weights that it was computed from."""

    def __init__(self, client: Client) -> None:
        self._client, self._learns = client, False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    @property
    def samples(self) -> float:
        """Size of its data."""
        return self._client.samples

    def loss(self, w: Mapping[str, Any], *batch: Any) -> Tensor:
        """Return the loss of the client, after checking it.

        Raises:
            FederationError: It is not one number, does not depend on the weights, or takes weights of another type.
        """
        value: Tensor = self._checked_call(self._client.loss, lambda found: found, w, *batch)
        return value

    def loss_and_statistics(self, w: Mapping[str, Any], *batch: Any) -> tuple[Tensor, Mapping[str, Tensor]]:
        """Return the checked loss and the new statistics.

        Raises:
            FederationError: As `loss`.
        """
        own: Any = self._client
        found: tuple[Tensor, Mapping[str, Tensor]] = self._checked_call(
            own.loss_and_statistics, lambda pair: pair[0], w, *batch
        )
        return found

    def _checked_call(self, function: Callable[..., Any], loss_of: Callable[[Any], Any], w: Any, *batch: Any) -> Any:
        before = _lent(w)
        try:
            found = function(w, *batch)
        except (RuntimeError, TypeError, ValueError) as error:
            if "tie_weights" in str(error):  # by torch, whose advice would train the weights apart
                raise FederationError(
                    "the loss gets several values for weights that its network ties: give only one of their names in "
                    "start(), as module.named_parameters() does, and leave tie_weights as it is"
                ) from error
            if not isinstance(error, FederationError):
                _require_fit(function, w, *batch)
            raise
        _require_unchanged(before)
        value = loss_of(found)
        if not isinstance(value, Tensor) or value.numel() != 1:
            what = f"a tensor of shape {tuple(value.shape)}" if isinstance(value, Tensor) else type(value).__name__
            raise FederationError(f"the loss must return one number in a tensor, the mean over samples, got {what}")
        asked = [] if self._learns else [leaf for leaf in tensors(dict(w)) if leaf.requires_grad]
        if asked:
            if not depends_on(value, asked):
                self._require_learning(function, loss_of, w, *batch)
            self._learns = True
        return found

    def _require_learning(
        self, function: Callable[..., Any], loss_of: Callable[[Any], Any], w: Any, *batch: Any
    ) -> None:
        """Check that the loss of a batch or of all samples depends on some weight; some samples may have no label.

        Raises:
            FederationError: It depends on none.
        """
        fixed = statistics_of(self._client)
        for samples in [batch, ()] if batch and batch[0] is not None else [batch]:
            fresh = {name: _fresh(entry, name not in fixed) for name, entry in w.items()}
            value = loss_of(function(fresh, *samples))
            if isinstance(value, Tensor) and depends_on(value, tensors(fresh)):
                return
        raise FederationError(
            f"{INDEPENDENT}: compute it from the given weights, for example with torch.func.functional_call(module, "
            "dict(w), (x,)), without load_state_dict, detach or no_grad in between"
        )


def check_losses(client: Client) -> Client:
    """Return the client with checked losses, under the name of its own type."""
    made: Client = type(type(client).__name__, (_CheckedClient,), {})(client)
    return made


def _require_fit(function: Callable[..., Any], w: Mapping[str, Any], *batch: Any) -> None:
    """Look for the reason why a loss fails in the weights: in their type, or in what the loss writes into them.

    Raises:
        FederationError: It is there.
    """
    given = {leaf.dtype for leaf in tensors(dict(w)) if leaf.is_floating_point()}
    if len(given) != 1:
        return
    (own,) = given
    copies = _cast(w, own)
    before = _lent(copies)
    if _works(function, copies, *batch):  # where no gradients are needed
        _require_unchanged(before)
        return
    for kind in _KINDS:
        if kind != own and _works(function, _cast(w, kind), *batch):
            one, other = (str(dtype).removeprefix("torch.") for dtype in (own, kind))
            raise FederationError(
                f"the loss fails for weights of {one}, which start() on the server returns, but not for {other}: "
                f"convert "
                "the weights in start(), or the data of the silo"
            )


def _lent(w: Mapping[str, Any]) -> dict[str, Lent]:
    return {name: Lent(entry) for name, entry in w.items()}


def _require_unchanged(lent: Mapping[str, Lent]) -> None:
    changed = [name for name, entry in lent.items() if entry.written()]
    if changed:
        raise FederationError(
            f"the loss changes {ascii(changed[0])[1:-1]} in place, and clients and checkpoints share it: make new "
            "tensors; of running statistics name them in the client's `statistics` and return copies from "
            "loss_and_statistics, or leave them out of start()"
        )


def _cast(w: Mapping[str, Any], kind: torch.dtype) -> dict[str, Any]:
    """Return copies of weights as numbers of a type."""

    def cast(leaf: Any) -> Any:
        return leaf.detach().to(kind, copy=True) if isinstance(leaf, Tensor) and leaf.is_floating_point() else leaf

    copies: dict[str, Any] = pytree.tree_map(cast, dict(w))
    return copies


def _works(function: Callable[..., Any], w: Mapping[str, Any], *batch: Any) -> bool:
    try:
        function(w, *batch)
    except Exception:  # of the user's function
        return False
    return True


def _fresh(entry: Any, trained: bool) -> Any:
    def copied(leaf: Any) -> Any:
        if not isinstance(leaf, Tensor):
            return leaf
        return leaf.detach().clone().requires_grad_(trained and leaf.is_floating_point())

    return pytree.tree_map(copied, entry)
