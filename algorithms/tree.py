"""Named tensors with arithmetic, for the weights, factors and gradients of a model, with one entry for each layer."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.utils import _pytree as pytree


class Tree(Mapping[str, Tensor]):
    """An immutable mapping from names to tensors, with entrywise sums, differences, multiples and matrix products.

    >>> w = Tree(W=torch.ones(2, 3))
    >>> float((2.0 * w - w / 2)["W"].sum())
    9.0
    """

    __slots__ = ("_entries",)

    def __init__(self, entries: Mapping[str, Tensor] | None = None, **named: Tensor) -> None:
        self._entries = {**(entries or {}), **named}

    def __getitem__(self, name: str) -> Tensor:
        return self._entries[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __repr__(self) -> str:
        return f"Tree({', '.join(f'{name}: {tuple(entry.shape)}' for name, entry in self.items())})"

    def map(self, function: Callable[..., Tensor], *others: Mapping[str, Tensor]) -> Tree:
        """Apply a function to each entry and the entries of the same name in other trees.

        Raises:
            ValueError: Another tree has other names.
        """
        for other in others:
            if len(other) != len(self) or not all(name in other for name in self):
                raise ValueError(f"the trees differ in {', '.join(sorted(set(self) ^ set(other)))}")
        return Tree({name: function(entry, *(other[name] for other in others)) for name, entry in self.items()})

    def __add__(self, other: Mapping[str, Tensor]) -> Tree:
        return self.map(torch.add, other)

    def __sub__(self, other: Mapping[str, Tensor]) -> Tree:
        return self.map(torch.sub, other)

    def __neg__(self) -> Tree:
        return self.map(torch.neg)

    def __mul__(self, factor: float | Tensor) -> Tree:
        return self.map(lambda entry: entry * factor)

    __rmul__ = __mul__

    def __truediv__(self, divisor: float | Tensor) -> Tree:
        return self.map(lambda entry: entry / divisor)

    def __matmul__(self, other: Mapping[str, Tensor]) -> Tree:
        return self.map(torch.matmul, other)

    @property
    def T(self) -> Tree:
        """The tree of transposed matrices."""
        return self.map(lambda entry: entry.mT)

    def square(self) -> Tensor:
        """Return the sum of the squares of all entries, a scalar."""
        return torch.stack([(entry**2).sum() for entry in self.values()]).sum()

    def only(self, names: Iterable[str]) -> Tree:
        """Return the tree of some names, in the given order.

        Raises:
            KeyError: A name is missing.
        """
        return Tree({name: self._entries[name] for name in names})

    def but(self, names: Iterable[str]) -> Tree:
        """Return the tree without the entries of some names."""
        left_out = set(names)
        return Tree({name: entry for name, entry in self.items() if name not in left_out})


_WIDER = {torch.float16: torch.float32, torch.bfloat16: torch.float32}


def wide(tensor: Tensor) -> Tensor:
    """Return a tensor in the precision in which it is summed: half precision becomes single.

    In half precision, a sum of many terms stops growing.
    """
    return tensor.to(_WIDER.get(tensor.dtype, tensor.dtype))


def narrow(total: Tensor, dtype: torch.dtype) -> Tensor:
    """Return a sum of `wide` tensors in their original type."""
    return total.to(dtype) if dtype in _WIDER else total


def weighted_sum(terms: Iterable[tuple[float, Any]]) -> Any:
    r"""Return $\sum_k w_km_k$ over weights and messages of one structure: trees, tensors, tuples and mappings.

    Half precision is summed in single precision and rounded once.
    """
    total = message = None
    for weight, message in terms:
        part = pytree.tree_map(lambda entry, weight=weight: wide(entry) * weight, message)
        total = part if total is None else pytree.tree_map(torch.add, total, part)
    return pytree.tree_map(lambda entry, term: narrow(entry, term.dtype), total, message)


def tensors(message: Any) -> list[Tensor]:
    """Return the tensors of a message, without its other leaves."""
    return [leaf for leaf in pytree.tree_leaves(message) if isinstance(leaf, Tensor)]


def without(message: Any, names: Collection[str]) -> Any:
    """Return a message without the entries of some names in its trees."""
    if not names:
        return message
    return pytree.tree_map(lambda tree: tree.but(names) if isinstance(tree, Tree) else tree, message, is_leaf=_is_tree)


class Split:
    """A message divided into trained leaves and the entries of some names, which are not trained.

    Attributes:
        trained: The trained leaves, in order.
        form: The structure of the message without those names.
        names: Names of the entries that are not trained.
        plain: Whether the message is a tree of tensors.
    """

    __slots__ = ("_form", "_leaves", "_names", "_others", "_places", "form", "names", "plain", "trained")

    def __init__(self, message: Any, names: Collection[str] = ()) -> None:
        self.names = frozenset(names)
        self.trained, self.form = pytree.tree_flatten(without(message, names))
        self._leaves, self._form = (self.trained, self.form) if not names else pytree.tree_flatten(message)
        marks = self._marks(message) if names else [None] * len(self._leaves)
        self._places = [place for place, name in enumerate(marks) if name is None]
        self._others = [(place, name) for place, name in enumerate(marks) if name is not None]
        self.plain = isinstance(message, Tree) and all(isinstance(entry, Tensor) for entry in message.values())
        self._names = tuple(message) if self.plain else None

    def rebuild(self, trained: Sequence[Any], observed: Mapping[str, Any] | None = None) -> Any:
        """Return the message with new trained leaves, and with the other entries that `observed` contains."""
        leaves: Sequence[Any] = trained
        if self._others:
            leaves = list(self._leaves)
            for place, leaf in zip(self._places, trained, strict=True):
                leaves[place] = leaf
            for place, name in self._others:
                leaves[place] = (observed or {}).get(name, leaves[place])
        if self._names is not None:  # same result as unflatten, in a tenth of the time
            return Tree(dict(zip(self._names, leaves, strict=True)))
        return self._form.unflatten(leaves)

    def part(self, message: Any) -> list[Any]:
        """Return the trained leaves of another message of this structure, with or without the untrained entries.

        Raises:
            ValueError: The message has another structure.
        """
        return self.form.flatten_up_to(without(message, self.names))

    def _marks(self, message: Any) -> list[str | None]:
        """Return for each leaf the name of its entry if that is not trained, else None."""

        def marked(tree: Any) -> Any:
            if not isinstance(tree, Tree):
                return None
            return Tree(
                {
                    name: pytree.tree_map(lambda _, name=name: name if name in self.names else None, entry)
                    for name, entry in tree.items()
                }
            )

        return pytree.tree_leaves(pytree.tree_map(marked, message, is_leaf=_is_tree))


def _is_tree(message: Any) -> bool:
    return isinstance(message, Tree)


pytree.register_pytree_node(
    Tree,
    lambda tree: (list(tree.values()), tuple(tree)),
    lambda entries, names: Tree(dict(zip(names, entries, strict=True))),
    serialized_type_name="rankproof.Tree",
)
