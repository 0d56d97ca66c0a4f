"""Named tensors with arithmetic: what weights, factors and gradients of a model are, one entry for each layer."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any

import torch
from torch import Tensor
from torch.utils import _pytree as pytree


class Tree(Mapping[str, Tensor]):
    """A frozen mapping from names to tensors; sums, differences and multiples act on all of them.

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
        """The function of each entry and of the others' entries of the same name.

        Raises:
            ValueError: One of them has other names.
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
        """Every matrix transposed."""
        return self.map(lambda entry: entry.mT)

    def square(self) -> Tensor:
        """Sum of the squares of all entries, a scalar."""
        return torch.stack([(entry**2).sum() for entry in self.values()]).sum()

    def only(self, names: Iterable[str]) -> Tree:
        """The entries of some names, in their order.

        Raises:
            KeyError: A name that is not there.
        """
        return Tree({name: self._entries[name] for name in names})

    def but(self, names: Iterable[str]) -> Tree:
        """All entries but those of some names."""
        left_out = set(names)
        return Tree({name: entry for name, entry in self.items() if name not in left_out})


def weighted_sum(terms: Iterable[tuple[float, Any]]) -> Any:
    """The sum of weight times message, for messages of trees, tensors, tuples and mappings of one structure."""
    total: Any = None
    for weight, message in terms:
        part = pytree.tree_map(lambda entry, weight=weight: entry * weight, message)
        total = part if total is None else pytree.tree_map(torch.add, total, part)
    return total


def tensors(message: Any) -> list[Tensor]:
    """The tensors of a message; what is no tensor is no part of it."""
    return [leaf for leaf in pytree.tree_leaves(message) if isinstance(leaf, Tensor)]


def without(message: Any, names: Collection[str]) -> Any:
    """A message whose trees lack the entries of some names."""
    if not names:
        return message
    return pytree.tree_map(lambda tree: tree.but(names) if isinstance(tree, Tree) else tree, message, is_leaf=_is_tree)


def restored(message: Any, part: Any, others: Mapping[str, Tensor]) -> Any:
    """A message with the entries of a part of it, the others' entries of the same name, and else its own.

    Args:
        message: As it was, before `without`.
        part: What `without` left, with other entries.
        others: Entries by name.
    """

    def joined(tree: Any, some: Any) -> Any:
        if not isinstance(tree, Tree):
            return some
        return Tree({name: some.get(name, others.get(name, entry)) for name, entry in tree.items()})

    return pytree.tree_map(joined, message, part, is_leaf=_is_tree)


def _is_tree(message: Any) -> bool:
    return isinstance(message, Tree)


pytree.register_pytree_node(
    Tree,
    lambda tree: (list(tree.values()), tuple(tree)),
    lambda entries, names: Tree(dict(zip(names, entries, strict=True))),
    serialized_type_name="rankproof.Tree",
)
