"""Partitions of a data set among clients: each sample goes to one client, and each client has some.

A way of dividing is a small value with one method, ``parts(labels, clients, seed)``. What it returns depends only on
these arguments.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workloads.data.idx import DataError

Indices = NDArray[np.int64]
NEARLY_EVEN = 10.0
"""Concentration from which the shares that clients draw differ little."""
_INDEX = re.compile(r"[+-]?[0-9]+")
LEAST = -1e308
"""Smaller than every logarithm of a share that is not 0: a label of share 0 comes after the others."""


class PartitionError(DataError):
    """Error about samples that cannot be divided as asked; it says why and what to do."""


@dataclass(frozen=True, eq=False)
class Parts(Sequence[Indices]):
    """The samples of every client: one array, and the bounds of each client's part.

    Attributes:
        order: Indices of the samples, client by client, increasing within a client.
        bounds: Client k has ``order[bounds[k]:bounds[k + 1]]``.

    Raises:
        PartitionError: Bounds that do not cut all of the order into parts.
    """

    order: Indices
    bounds: Indices

    def __post_init__(self) -> None:
        ends = self.bounds[:1].tolist(), self.bounds[-1:].tolist()
        if ends != ([0], [len(self.order)]) or (np.diff(self.bounds) < 0).any():
            raise PartitionError(
                f"bounds must rise from 0 to the number of samples, {len(self.order)}, got {self.bounds[:10].tolist()}"
            )

    @staticmethod
    def join(parts: Sequence[ArrayLike]) -> Parts:
        """Join one array of indices for each client.

        Raises:
            PartitionError: Something else, such as a mask.
        """
        arrays = []
        for client, part in enumerate(parts):
            array = np.asarray(part)
            if array.ndim != 1 or (len(array) and not np.issubdtype(array.dtype, np.integer)):
                raise PartitionError(
                    f"expected a row of whole numbers for client {client}, got {array.dtype} of shape {array.shape}; "
                    "of a mask, take np.flatnonzero"
                )
            arrays.append(np.sort(array.astype(np.int64)))
        if not arrays:
            raise PartitionError("expected samples for at least one client, got none")
        return Parts(np.concatenate(arrays), np.cumsum([0, *map(len, arrays)], dtype=np.int64))

    def find_repeated(self) -> tuple[int, int, int] | None:
        """Return the first repeated sample and its clients; None if no sample repeats.

        Two times at one client come before one time at each of two.
        """
        seen = np.zeros(int(self.order.max(initial=-1)) + 1, dtype=bool)
        seen[self.order] = True
        if np.count_nonzero(seen) == len(self.order):
            return None
        owner = np.repeat(np.arange(len(self)), self.sizes)
        order = np.lexsort((owner, self.order))
        samples, owners = self.order[order], owner[order]
        twice = np.flatnonzero(np.diff(samples) == 0)
        place = min(twice, key=lambda place: owners[place] != owners[place + 1])
        return int(samples[place]), int(owners[place]), int(owners[place + 1])

    @property
    def sizes(self) -> Indices:
        """Number of samples of each client, (K,)."""
        return np.diff(self.bounds)

    def __len__(self) -> int:
        return len(self.bounds) - 1

    @overload
    def __getitem__(self, number: int) -> Indices: ...
    @overload
    def __getitem__(self, number: slice) -> list[Indices]: ...
    def __getitem__(self, number: int | slice) -> Indices | list[Indices]:
        if isinstance(number, slice):
            return [self[k] for k in range(*number.indices(len(self)))]
        if not -len(self) <= number < len(self):
            raise IndexError(f"client {number} does not exist; there are {len(self)}")
        k = number % len(self)
        return self.order[self.bounds[k] : self.bounds[k + 1]]


class Partition(Protocol):
    """A rule that divides samples among clients."""

    def parts(self, labels: ArrayLike, clients: int, seed: int) -> Parts:
        """Divide the samples among the clients.

        Args:
            labels: The class of each of the N samples, integers (N,).
            clients: Number of clients K.
            seed: Seed of what is drawn.

        Raises:
            PartitionError: The samples cannot be divided as asked.
        """
        ...


@dataclass(frozen=True)
class Even:
    """Random parts whose sizes differ by at most one: the IID setting of FedLoRU and FeDLRT.

    FedLoRU v2, Appendix D.1, splits the training data evenly among the clients; FeDLRT, Section 4.2, partitions it
    equally.
    """

    def parts(self, labels: ArrayLike, clients: int, seed: int) -> Parts:
        """Divide the samples among the clients; see `Partition`."""
        count = len(_require_divisible(labels, clients))
        return Parts.join(np.array_split(_generator(seed, 1).permutation(count), clients))


@dataclass(frozen=True)
class Dirichlet:
    r"""A Dirichlet mixture of labels for each client: FedLoRU's non-IID setting.

    Hsu, Qi and Brown (2019), whom FedLoRU v2 follows (Appendix D.1, with $\psi = 0.5$; Table 3 also 0.1):
    client after client draws its share of each label and then its samples one by one, without replacement; a label
    that is used up falls out and the other shares are scaled to sum 1. All clients have the same size, or sizes that
    differ by one, so it ends for every K and $\psi$ and no client is empty. The last clients take what is left,
    so large $\psi$ do not tend to even parts; those of `DirichletInTurn` do. `parts` warns of a $\psi$ from 10 on.

    Attributes:
        psi: Concentration, positive; small values give each client few labels. Large values do not give even parts,
            because the last clients take what is left; use dirichlet-in-turn for that.
        law: Dirichlet parameters: `symmetric`, psi for each label (FedLoRU), or `prior`, psi times the label's share of
            the samples (Hsu et al.).

    Raises:
        PartitionError: An unknown law, or a concentration that is not positive.
    """

    psi: float = 0.5
    law: Literal["symmetric", "prior"] = "symmetric"

    def __post_init__(self) -> None:
        if not 0 < self.psi < float("inf"):
            raise PartitionError(f"psi must be positive and finite, got {self.psi}")
        if self.law not in ("symmetric", "prior"):
            raise PartitionError(f"law must be symmetric or prior, got {self.law!r}")

    def parts(self, labels: ArrayLike, clients: int, seed: int) -> Parts:
        """Divide the samples among the clients; see `Partition`."""
        given = _require_divisible(labels, clients)
        if self.psi >= NEARLY_EVEN and clients > 1:
            warnings.warn(
                f"with psi {self.psi:g} each client draws nearly the same labels, but the last clients take what the "
                "others leave, so the parts are not nearly even; choose partition dirichlet-in-turn, or even",
                stacklevel=2,
            )
        _, label, available = np.unique(given, return_inverse=True, return_counts=True)
        rng = _generator(seed, 2)
        by_label = _by_label(label, available, rng)
        parameters = self._parameters(available)
        taken = np.zeros_like(available)
        parts = []
        for size in _even_sizes(len(given), clients):
            counts = _draw_without_replacement(_log_dirichlet(parameters, rng), available - taken, size, rng)
            chosen = np.flatnonzero(counts)
            parts.append(np.concatenate([by_label[c][taken[c] : taken[c] + counts[c]] for c in chosen]))
            taken = taken + counts
        return Parts.join(parts)

    def _parameters(self, available: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return parameters of the law, one for each label."""
        return self.psi * (available / available.sum() if self.law == "prior" else np.ones(len(available)))


@dataclass(frozen=True)
class DirichletInTurn(Dirichlet):
    r"""A Dirichlet mixture of labels for each client; the clients take turns and draw one sample each.

    As `Dirichlet`, but the clients draw one sample each, in a new random order in every turn. No client comes before
    the others, so what is left is shared by all of them, and large $\psi$ tend to even parts, as those of `Even`.

    Attributes:
        psi: Concentration, positive: small for few labels at each client, large for even parts.
    """

    def parts(self, labels: ArrayLike, clients: int, seed: int) -> Parts:
        """Divide the samples among the clients; see `Partition`."""
        given = _require_divisible(labels, clients)
        _, label, available = np.unique(given, return_inverse=True, return_counts=True)
        rng = _generator(seed, 6)
        by_label = _by_label(label, available, rng)
        parameters = self._parameters(available)
        log_shares = np.stack([_log_dirichlet(parameters, rng) for _ in range(clients)])
        tops = log_shares.max(axis=1, keepdims=True)
        log_shares = np.where(np.isfinite(tops), log_shares, 0.0)  # shares that all round to 0 are taken as equal
        taken, full = np.zeros_like(available), np.zeros(len(available))
        parts: list[list[int]] = [[] for _ in range(clients)]
        for first in range(0, len(given), clients):
            order = rng.permutation(clients)[: len(given) - first]
            # The largest sum of log share and Gumbel number has the law of one draw by the shares, scaled to 1.
            ranked = log_shares[order] + rng.gumbel(size=(len(order), len(available)))
            for client, values in zip(order, ranked, strict=True):
                chosen = int(np.argmax(np.where(full == 0.0, np.maximum(values, LEAST), -np.inf)))
                parts[client].append(by_label[chosen][taken[chosen]])
                taken[chosen] += 1
                full[chosen] = taken[chosen] == available[chosen]
        return Parts.join(parts)


@dataclass(frozen=True)
class ByLabel:
    """All samples of a fixed number of labels for each client; clients do not share labels. RoLoRA's two settings.

    RoLoRA, Section 5.2: ten labels over five clients, two each, or over ten clients, one each. Which labels go
    together is not printed: neighbours here (0 and 1, 2 and 3, ...), or drawn.

    Attributes:
        together: Which labels share a client: `neighbours`, or `drawn` at random.

    Raises:
        PartitionError: An unknown word.
    """

    together: Literal["neighbours", "drawn"] = "neighbours"

    def __post_init__(self) -> None:
        if self.together not in ("neighbours", "drawn"):
            raise PartitionError(f"together must be neighbours or drawn, got {self.together!r}")

    def parts(self, labels: ArrayLike, clients: int, seed: int) -> Parts:
        """Divide the samples among the clients; see `Partition`. Labels are 0, 1, ..., none of them missing."""
        given = _require_divisible(labels, clients)
        counts = np.bincount(given)
        if not counts.all():
            raise PartitionError(f"label {int(np.argmin(counts))} has no sample, so no client can have it")
        if len(counts) % clients:
            raise PartitionError(
                f"{len(counts)} labels cannot be divided evenly among {clients} clients; choose a divisor of "
                f"{len(counts)}"
            )
        order = (
            np.arange(len(counts)) if self.together == "neighbours" else _generator(seed, 3).permutation(len(counts))
        )
        return Parts.join([np.flatnonzero(np.isin(given, own)) for own in order.reshape(clients, -1)])


@dataclass(frozen=True)
class Files:
    """Indices from files of a folder, one for each client in the order of their names (2 before 10).

    A file holds the indices of the client's samples, counted from 0: as text, separated by spaces or lines (`.txt`), or
    as an array of integers (`.npy`). No sample may occur twice; samples that occur in no file are not used. Indices
    count all training samples of the data. A sample that is held out, not drawn or dropped leaves its client.

    Attributes:
        folder: Folder with one file of sample indices per client.
    """

    folder: str

    def parts(self, labels: ArrayLike, clients: int, seed: int) -> Parts:
        """Divide the samples among the clients; see `Partition`."""
        count = len(_require_divisible(labels, 1))
        files = self._files()
        if len(files) != clients:
            raise PartitionError(
                f"{self.folder} holds {len(files)} files of indices (.txt or .npy) for {clients} clients; "
                "each client needs one"
            )
        parts = Parts.join([_read(file, count) for file in files])
        twice = parts.find_repeated()
        if twice is not None:
            sample, first, second = twice
            where = f"twice in {files[first]}" if first == second else f"in {files[first]} and in {files[second]}"
            raise PartitionError(f"sample {sample} occurs {where}; leave one out")
        return parts

    def among(self, parts: Parts, kept: Indices) -> Parts:
        """Return the clients' samples among the kept samples, by their positions there.

        Args:
            parts: The samples as the files have them.
            kept: Indices of the samples that are kept, increasing.

        Raises:
            PartitionError: A client has none of them.
        """
        place = np.full(1 + max(int(parts.order.max()), int(kept.max())), -1)
        place[kept] = np.arange(len(kept))
        left = [found[found >= 0] for found in (place[part] for part in parts)]
        for client, part in enumerate(left):
            if not len(part):
                raise PartitionError(
                    f"no sample of {self._files()[client]} is left for training: all {len(parts[client])} are "
                    f"held out, "
                    "not drawn or dropped for their length; hold out fewer, draw more, or put more into the file"
                )
        return Parts.join(left)

    def _files(self) -> list[Path]:
        return sorted((f for f in Path(self.folder).glob("*") if f.suffix.lower() in (".txt", ".npy")), key=_natural)


BY_CLASS: tuple[type[Partition], ...] = (Dirichlet, ByLabel)
"""Ways of dividing that look at the classes of samples, with those derived from them."""
PARTITIONS: Mapping[str, type[Partition]] = {
    "even": Even,
    "dirichlet": Dirichlet,
    "dirichlet-in-turn": DirichletInTurn,
    "by-label": ByLabel,
    "files": Files,
}
"""Ways of dividing by name."""


def hold_out(count: int, size: int, seed: int) -> tuple[Indices, Indices]:
    """Divide samples into training samples and a random validation set, both in increasing order.

    FedLoRU v2, Section 5.1, keeps 10,000 training images for validation in addition to the 10,000 of the test set; its
    earlier version (iclr, Table A1) trains on all of them and uses the test images for validation: size 0.

    Args:
        count: Number of samples.
        size: How many of them to hold out.
        seed: Seed of the choice.

    Raises:
        PartitionError: Nothing would be left to train on, or the size is negative.
    """
    if not 0 <= size < count:
        raise PartitionError(f"the validation set must have from 0 to {count - 1} of {count} samples, got {size}")
    order = _generator(seed, 4).permutation(count).astype(np.int64)
    return np.sort(order[size:]), np.sort(order[:size])


def hold_out_each(parts: Parts, share: float, seed: int) -> tuple[Parts, Parts]:
    """Divide every client's samples into its training samples and its own random test set.

    Each client keeps at least one sample of both; the test sets have the share, rounded.

    Raises:
        PartitionError: A share that is not between 0 and 1, or a client with one sample only.
    """
    if not 0 < share < 1:
        raise PartitionError(f"the share held out of each client must be between 0 and 1, got {share}")
    if parts.sizes.min() < 2:
        raise PartitionError(
            f"client {int(parts.sizes.argmin())} has {('no', 'one')[int(parts.sizes.min())]} sample, so none can be "
            "held out; choose fewer clients"
        )
    rng, train, test = _generator(seed, 5), [], []
    for part in parts:
        order, size = rng.permutation(part), min(max(1, round(share * len(part))), len(part) - 1)
        train.append(order[size:])
        test.append(order[:size])
    return Parts.join(train), Parts.join(test)


def _require_divisible(labels: ArrayLike, clients: int) -> NDArray[np.int64]:
    given = np.asarray(labels)
    if given.ndim != 1 or not np.issubdtype(given.dtype, np.integer) or (len(given) and given.min() < 0):
        raise PartitionError(
            f"expected one class of at least 0 for each sample, got {given.dtype} of shape {given.shape}"
        )
    if not len(given):
        raise PartitionError(f"there is no sample to give to {clients} client{'s' * (clients != 1)}")
    if not 1 <= clients <= len(given):
        raise PartitionError(
            f"{len(given)} samples cannot be divided among {clients} clients with at least one each; choose from "
            f"1 to {len(given)} clients"
        )
    return given.astype(np.int64)


def _generator(seed: int, purpose: int) -> np.random.Generator:
    return np.random.default_rng([seed, purpose])


def _even_sizes(count: int, clients: int) -> NDArray[np.int64]:
    return np.full(clients, count // clients) + (np.arange(clients) < count % clients)


def _by_label(
    label: NDArray[np.int64], available: NDArray[np.int64], rng: np.random.Generator
) -> list[NDArray[np.int64]]:
    """Return the samples of each label in random order; clients take them from the front."""
    shuffled = rng.permutation(len(label))
    return np.split(shuffled[np.argsort(label[shuffled], kind="stable")], np.cumsum(available)[:-1])


def _log_dirichlet(parameters: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.float64]:
    """Return the shares' logarithms up to a constant; for tiny parameters all shares except one would round to 0."""
    # X ~ Gamma(a + 1) and U uniform give X U^(1/a) ~ Gamma(a).
    with np.errstate(over="ignore", divide="ignore"):
        return np.log(rng.standard_gamma(parameters + 1)) + np.log(rng.random(len(parameters))) / parameters


def _draw_without_replacement(
    log_shares: NDArray[np.float64], left: NDArray[np.int64], size: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Draw labels one by one, with the rescaled shares of the remaining labels, and return the count of each.

    Draws of a label that is used up are repeated among the others, which is the same law; so there are at most as many
    rounds as labels.
    """
    counts = np.zeros_like(left)
    while (missing := size - int(counts.sum())) > 0:
        open_labels = np.flatnonzero(counts < left)
        of = log_shares[open_labels]
        top = of.max()
        shares = np.exp(of - top) if np.isfinite(top) else np.ones(len(of))
        counts[open_labels] += rng.multinomial(missing, shares / shares.sum())
        counts = np.minimum(counts, left)
    return counts


def _natural(file: Path) -> tuple[list[tuple[int, str]], str]:
    pieces = re.findall(r"\d+|\D+", file.stem)
    return [(int(piece), "") if piece.isdigit() else (-1, piece) for piece in pieces], file.name


def _fault(found: NDArray[Any]) -> str:
    """Describe why an array is not a row of indices, with the remedy; empty if it is one."""
    if found.dtype == np.bool_:
        return f"found a mask of shape {found.shape}; save np.flatnonzero of it"
    if not np.issubdtype(found.dtype, np.integer):
        return f"found {found.dtype} of shape {found.shape}; save whole numbers, such as array.astype(int)"
    if found.ndim != 1:
        return f"found an array of shape {found.shape}; save one row, such as array.ravel()"
    return "" if len(found) else "found none; write one into the file, or leave the file and its client out"


def _read(file: Path, count: int) -> Indices:
    try:
        if file.suffix.lower() == ".npy":
            with file.open("rb") as stream:
                found = np.lib.format.read_array(stream, allow_pickle=False)
        else:
            words = file.read_text(encoding="utf-8-sig").split()  # some editors begin a file by a byte order mark
            odd = next((word for word in words if not _INDEX.fullmatch(word)), None)
            if odd is not None:  # Python also takes 1_000
                raise ValueError(f"invalid literal for a whole number: {odd[:40]!r}")
            found = np.array([int(word) for word in words], dtype=np.int64)
    except Exception as error:  # a damaged header of an array raises almost anything
        said = " ".join(str(error).split())[:200]
        form = (
            "an array of integers"
            if file.suffix.lower() == ".npy"
            else "integers separated by spaces or lines, in UTF-8"
        )
        raise PartitionError(f"{file} cannot be read as indices: {said}; it must hold {form}") from error
    if fault := _fault(found):
        raise PartitionError(f"{file}: expected at least one index, {fault}")
    outside = found[(found < 0) | (found >= count)]
    if len(outside):
        raise PartitionError(f"{file}: {outside[0]} is not a sample; there are {count}, counted from 0")
    return found.astype(np.int64)
