"""A memory of checks that have passed, for a loop that measures the same network at many states.

Checks that depend only on what a model and a loss compute, not on the values of the weights, need to pass once: that
products are second derivatives, that nothing is kept between calls, and that the losses of batches add up. They are
remembered by a fingerprint (`hessian.loss.traced_calls`), for which the next matrix takes one reading of the data. What
the weights can change is checked for each matrix: the losses are finite and repeat, and products are rounded little.
Whether batches add up also depends on the labels and on class weights, so that check is remembered for the same data.
"""

from __future__ import annotations

from collections.abc import Hashable
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from marshal import dumps
from types import CodeType

import torch
from torch import Tensor

from hessian.loss.batches import copy_tensors, count_samples, iterate_tensors, require_untouched
from hessian.loss.factories import USER_ERRORS
from hessian.loss.graphs import Block
from hessian.loss.kept_tensors import References, references
from hessian.loss.objective import Objective
from hessian.loss.product_rounding import LargestNumber
from hessian.loss.traced_calls import Trace, contents_digest, graph_digest

WITHOUT_REFERENCES = 2
"""Version of marshalled code that does not depend on who else refers to its constants."""


@dataclass(frozen=True)
class Fingerprint:
    """Identity of the computation of a loss over data.

    Attributes:
        subject: Subject of the measurement: parameters, shapes and options.
        structure: Digest of operations, graphs and shapes of all batches, and of the code that ran.
        contents: Numbers of the data and of what is constant, apart from statistics of batch norm.
    """

    subject: Hashable
    structure: str
    contents: str

    @property
    def key(self) -> Hashable:
        """Key of the structure."""
        return self.subject, self.structure


@dataclass(frozen=True, eq=False)
class Reading:
    """One reading of the data.

    Attributes:
        sizes: Samples of each batch.
        losses: Loss of each batch.
        largest: Largest number on the way to the losses.
        fingerprint: None if something cannot be identified.
        kept: Storages that were computed from the weights and outlive the reading.
    """

    sizes: tuple[int, ...]
    losses: tuple[float, ...]
    largest: float
    fingerprint: Fingerprint | None
    kept: References


@dataclass(frozen=True, eq=False)
class PassedChecks:
    """Checks that have passed. Pass one object to every `Curvature` of a loop, as ``checks=``.

    It remembers structure and the time of a gradient, neither models nor data, and belongs to one process.
    """

    _subjects: set[Hashable] = field(default_factory=set)
    _reached: dict[Hashable, tuple[tuple[bool, ...], ...]] = field(default_factory=dict)
    _added_up: set[tuple[Hashable, str]] = field(default_factory=set)
    _blocks: set[tuple[Hashable, Block]] = field(default_factory=set)
    _gradient_seconds: dict[Hashable, float] = field(default_factory=dict)

    def __len__(self) -> int:
        """Return the number of structures that are known."""
        return len(self._reached)

    def may_know(self, subject: Hashable) -> bool:
        """Return whether a matrix of this subject, such as the same parameters and shapes, has passed."""
        return subject in self._subjects

    def find_reached(self, found: Fingerprint | None) -> tuple[tuple[bool, ...], ...] | None:
        """Return which parameters the loss of each batch depends on, if its derivatives have passed; otherwise None."""
        return None if found is None else self._reached.get(found.key)

    def adds_up(self, found: Fingerprint | None) -> bool:
        """Return whether the losses of these batches were found to add up."""
        return found is not None and (found.key, found.contents) in self._added_up

    def knows_block(self, found: Fingerprint | None, block: Block) -> bool:
        """Return whether the derivatives of a block have passed."""
        return found is not None and (found.key, block) in self._blocks

    def gradient_seconds(self, found: Fingerprint | None) -> float | None:
        """Return the time of a gradient of this structure; None if it is not known."""
        return None if found is None else self._gradient_seconds.get(found.key)

    def remember_gradient(self, found: Fingerprint | None, seconds: float) -> None:
        """Remember the time of a gradient."""
        if found is not None:
            self._gradient_seconds[found.key] = seconds

    def remember(self, found: Fingerprint | None, reached: tuple[tuple[bool, ...], ...]) -> None:
        """Remember that all checks have passed."""
        if found is not None:
            self._subjects.add(found.subject)
            self._reached[found.key] = reached
            self._added_up.add((found.key, found.contents))

    def remember_block(self, found: Fingerprint | None, block: Block) -> None:
        """Remember that the derivatives of a block have passed."""
        if found is not None:
            self._blocks.add((found.key, block))


def read_with_fingerprint(objective: Objective, subject: Hashable) -> Reading | None:
    """Read the data once and return what a matrix needs of it; None if the model or the loss fails.

    Args:
        objective: Model, loss and data.
        subject: Subject of the measurement, as part of the fingerprint.
    """
    objective = replace(objective, losses=())  # of this reading alone
    largest, codes = LargestNumber(), set[CodeType]()
    sizes, losses, parts = [], [], list[Hashable]()
    seen = list[Tensor](objective.model.constant_contents())
    kept: References = {}
    strange = False
    try:
        for number, batch in enumerate(objective.move_batches(), start=1):
            given = copy_tensors(batch)
            leaves = list(iterate_tensors(given))
            trace = Trace(objective.parameters, [*leaves, *objective.model.constants()])
            sizes.append(count_samples(objective.count, batch))
            with torch.enable_grad(), ExitStack() as stack:
                stack.enter_context(largest.on(given))
                stack.enter_context(trace)
                value = objective.batch_loss(given, number)
            graph = graph_digest(value, objective.parameters)
            losses.append(value.item())
            require_untouched(given, batch, number)
            strange |= trace.strange or graph is None
            codes |= trace.codes
            parts.append((trace.digest(), graph, tuple((leaf.dtype, tuple(leaf.shape)) for leaf in leaves)))
            seen += [*leaves, *trace.foreign.values()]
            del value
            kept |= {place: one for place, one in trace.derived.items() if not one.expired()}
    except (*USER_ERRORS, torch.OutOfMemoryError):
        return None
    own = references(objective.parameters)
    kept = {place: one for place, one in kept.items() if place not in own}
    digest = blake2b(repr(parts).encode(), digest_size=16)
    for one in sorted(blake2b(dumps(code, WITHOUT_REFERENCES), digest_size=16).digest() for code in codes):
        digest.update(one)
    found = None if strange else Fingerprint(subject, digest.hexdigest(), contents_digest(seen))
    return Reading(tuple(sizes), tuple(losses), largest.value, found, kept)
