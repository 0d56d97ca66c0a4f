"""A federated problem of images and a network, from plain settings."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from algorithms.descent import gradient
from algorithms.federation import FederationError
from runs.network_problem import NetworkClient, NetworkProblem, network_problem
from runs.networks.network_checks import check_split
from runs.networks.network_function import Labelled, seeded_draws
from runs.networks.samples import splits_of
from runs.settings import COMPUTED, EARLIER_NAMES, RunError, at_least
from workloads.data.augmentation import Preparation
from workloads.data.datasets import REGISTRY, DataError, find, load
from workloads.data.image_folder import is_folder, read_folder
from workloads.image_networks.models import ADAPTED, LAYERS, MODELS, ModelSettings, model
from workloads.image_networks.small import levels
from workloads.partition import (
    BY_CLASS,
    Even,
    Files,
    Indices,
    Partition,
    PartitionError,
    Parts,
    hold_out,
    hold_out_each,
)

Split = tuple[Tensor, Tensor]
Pixels = tuple[tuple[float, ...], tuple[float, ...]]
"""Mean and standard deviation of each channel."""
MOST_CHANNELS = 4
"""An axis of at most so many entries after two longer ones is that of channels."""


@dataclass(frozen=True)
class ImageFederation:
    """A network trained by clients that each have a part of a data set.

    Attributes:
        data: Name of a data set, a folder of images by class, or module:function that returns training and test data:
            ((inputs, labels), (test inputs, test labels)), or two datasets or loaders.
        model: Name of a network, or module:function that returns one; its random draws from torch use the seed.
        clients: Number of clients.
        partition: How the samples are divided among the clients.
        side: Downscale images to this height and width by averaging; default: keep their size.
        width: Width of the network; default: the paper's.
        norm: Normalisation of a residual network.
        adapt: How to adapt images whose size does not fit the network.
        statistics: Statistics of batch norm: averaged with the weights, or computed from each batch.
        samples: Training samples used, drawn at random; default: all.
        test_samples: Test samples used, from the first; default: all.
        held_out: Training samples kept for validation.
        own_share: Share of each client's samples used as its own test set, for personal models; 0: the whole test set.
        crop: Width in pixels of the black border added before random cropping; less than the side of the image.
        flip: Mirror each image with probability 1/2.
        eval_batch: Samples per batch in evaluations and full gradients; batch norm normalises each batch separately.
    """

    earlier_names: ClassVar[Mapping[str, str]] = {"eval_batch": EARLIER_NAMES["eval_batch"]}

    data: str = "fashion-mnist"
    model: str = "resnet10"
    clients: int = 20
    partition: Partition = Even()  # noqa: RUF009 - a frozen value
    side: int | None = None
    width: int | None = None
    norm: Literal["batch", "group"] = "batch"
    adapt: Literal["none", "pad"] = "none"
    statistics: Literal["averaged", "batch"] = "averaged"
    samples: int | None = None
    test_samples: int | None = None
    held_out: int = 0
    own_share: float = 0.0
    crop: int = 0
    flip: bool = False
    eval_batch: int = 1000

    def __post_init__(self) -> None:
        at_least(1, eval_batch=self.eval_batch, side=self.side, width=self.width, test_samples=self.test_samples)
        at_least(0, crop=self.crop)
        for name, of in (
            ("side", "" if self.folder else self.data),
            ("width", self.model),
            ("norm", self.model),
            ("adapt", self.model),
        ):
            if ":" in of and getattr(self, name) != getattr(type(self), name):
                raise RunError(f"{name} has no effect on what {of} returns; leave it out, or apply it there")

    @property
    def folder(self) -> bool:
        """Whether the data are a folder of images."""
        return self.data not in REGISTRY and is_folder(self.data)

    @classmethod
    def suggest(cls, given: Mapping[str, Any]) -> Mapping[str, Any]:
        """Suggest local epochs, unless steps are given, and the layers that the network's paper factorises."""
        layers = LAYERS.get(given.get("model", cls.model))
        epochs = {} if given.get("steps") is not None else {"epochs": 1}
        return {**epochs, "batch": 32, "learning_rate": 0.1, "rank": 8, "layers": layers}

    def build(self, seed: int, device: str = "cpu", root: str | None = None) -> NetworkProblem:
        """Build the problem.

        Args:
            seed: Seed of the initial weights, of the samples and of their division.
            device: Torch device.
            root: Where data sets lie.

        Raises:
            RunError: Settings that do not go together, or a device that is not there.
            DataError: Data that are not there, or cannot be divided.
            FederationError: Network and data do not fit.
        """
        try:
            return self._build(seed, torch_device(device), root)
        except (FederationError, DataError, RunError):
            raise
        except (ValueError, RuntimeError) as error:
            raise RunError(" ".join(str(error).split())) from error

    def _build(self, seed: int, device: torch.device, root: str | None) -> NetworkProblem:
        (x, y), test, classes, pixels = self._splits(root, seed)
        train, validation = hold_out(len(x), self.held_out, seed)
        if self.samples is not None:
            if not 1 <= self.samples <= len(train):
                raise RunError(f"samples must be from 1 to {len(train)}, got {self.samples}")
            train = train[hold_out(len(train), len(train) - self.samples, seed)[0]]

        module = self._network(x, classes, seed, device)
        given: dict[str, Any] = {}
        if self.data not in REGISTRY:
            given["data"] = digest_of(x, y, *test)

        def chosen(indices: Indices) -> Split:
            which = torch.from_numpy(indices)
            return x[which].to(device), y[which].to(device)

        if (self.test_samples or 0) > len(test[0]):
            raise RunError(f"test_samples must be from 1 to {len(test[0])}, got {self.test_samples}")
        own = None
        if isinstance(self.partition, Files):
            parts, given["partition"] = parts_from_files(self.partition, len(x), train, self.clients)
        else:
            parts = self.partition.parts(_classes_of(y, self.partition)[train], self.clients, seed)
        if self.own_share:
            parts, own = hold_out_each(parts, self.own_share, seed)
        made = network_problem(
            module.to(device),
            chosen(train),
            parts,
            (test[0][: self.test_samples].to(device), test[1][: self.test_samples].to(device)),
            preparation=self._preparation(x, pixels),
            statistics=self.statistics,
            validation=chosen(validation) if len(validation) else None,
            own=own,
            eval_batch=self.eval_batch,
            name=f"{self.model} on {self.data}",
        )
        if ":" in self.model:
            given = {"network": digest_of(module), **given, COMPUTED: compute_probe(made)}
        return replace(made, given=given)

    def _splits(self, root: str | None, seed: int) -> tuple[Split, Split, int, Pixels | None]:
        """Return training and test samples, the number of classes, and mean and deviation of the pixels."""
        if self.folder:
            sets = read_folder(self.data, self.side)
            train, test = ((torch.from_numpy(part.images), torch.from_numpy(part.labels)) for part in sets)
            return train, test, sets[0].classes, (_each(sets[0].pixel_mean), _each(sets[0].pixel_deviation))
        if ":" not in self.data:
            stamp, known = _stamp(self.data, root), REGISTRY[self.data]
            first, second = (_load_images(self.data, root, split, self.side, stamp) for split in ("train", "test"))
            return first[:2], second[:2], first[2], (_each(known.pixel_mean), _each(known.pixel_deviation))
        from hessian.loss.factories import data_of  # brings much along that other runs do not need

        with seeded_draws(seed, torch.device("cpu")):
            given = splits_of(data_of(self.data), self.data)
        (x, y), (x_test, y_test) = check_split("training", given[0]), check_split("test", given[1])
        for split, labels in (("training", y), ("test", y_test)):
            if labels.ndim == 1 and bool((below := labels < 0).any()):
                sample = int(below.nonzero()[0, 0])
                raise RunError(f"sample {sample} of the {split} data has label {labels[sample]}; labels count from 0")
        classes = y.shape[1] if _are_shares(y) else int(max(y.max(), y_test.max())) + 1
        return (x, y), (x_test, y_test), classes, None

    def _preparation(self, x: Tensor, pixels: Pixels | None) -> Preparation | None:
        least = min(x.shape[-2:]) if x.ndim in (3, 4) else None
        if least is not None and self.crop >= least:
            raise RunError(
                f"crop must be below the images' side of {least}, or a crop could be all black; got {self.crop}"
            )
        if pixels is None:
            if not self.crop and not self.flip:
                return None
            channels = x.shape[1] if x.ndim == 4 else 1
            pixels = ((0.0,) * channels, (1.0,) * channels)
        return Preparation(self.crop, self.flip, *pixels)

    def _network(self, x: Tensor, classes: int, seed: int, device: torch.device) -> nn.Module:
        if ":" in self.model:
            from hessian.loss.factories import model_of

            with seeded_draws(seed, device):
                return model_of(self.model)
        if x.ndim not in (3, 4):
            raise RunError(
                f"{self.model} takes images, not inputs of shape {tuple(x.shape[1:])}; name a model of yours"
            )
        if x.ndim == 4 and x.shape[-1] <= MOST_CHANNELS < min(x.shape[1:3]):
            raise RunError(
                f"{self.model} takes images of shape (n, channels, height, width), got {tuple(x.shape)}, which has the "
                "channels last; return x.permute(0, 3, 1, 2)"
            )
        if x.shape[-1] != x.shape[-2]:
            remedy = f"make them square in {self.data}" if ":" in self.data else "give --side N"
            raise RunError(f"{self.model} takes square images, got {x.shape[-2]} x {x.shape[-1]} pixels; {remedy}")
        if self.adapt != "none" and self.model in MODELS and self.model not in ADAPTED:
            raise RunError(f"{self.model} takes images of any size; adapt is for {', '.join(ADAPTED)}")
        channels = x.shape[1] if x.ndim == 4 else 1
        settings = ModelSettings(classes, channels, x.shape[-1], seed, self.width, self.norm, self.adapt)
        return model(self.model, settings)


@lru_cache(maxsize=4)
def _load_images(
    name: str, root: str | None, split: str, side: int | None, stamp: tuple[object, ...]
) -> tuple[Tensor, Tensor, int]:
    """Load images, labels and the number of classes; the cache serves later runs while the files are unchanged.

    They are shared between problems, so nobody may change them in place.
    """
    data = load(name, root, split)
    images = torch.from_numpy(data.images)
    if side not in (None, images.shape[-1]):
        images = levels(data, side or 0, torch.float32)
    return images, torch.from_numpy(data.labels).long(), data.classes


def _stamp(name: str, root: str | None) -> tuple[object, ...]:
    """Return a value that changes with the files of a data set: their places, sizes and times."""
    folder = find(name, root)
    files = sorted(folder.iterdir()) if folder is not None else []
    states = [(path.name, path.stat()) for path in files]
    return (folder, *((file, state.st_size, state.st_mtime_ns) for file, state in states))


def digest_of(*parts: nn.Module | Tensor) -> str:
    """Return the first digits of a hash of tensors, or of the weights and layers of networks."""
    found = hashlib.sha256()
    for part in parts:
        words = "" if isinstance(part, Tensor) else re.sub(r" at 0x[0-9a-f]+", "", repr(part))
        found.update(words.encode())
        for name, tensor in {"": part}.items() if isinstance(part, Tensor) else part.state_dict().items():
            if isinstance(tensor, Tensor):
                found.update(f"{name} {tuple(tensor.shape)} {tensor.dtype}".encode())
                found.update(tensor.detach().cpu().contiguous().view(-1).view(torch.uint8).numpy().data)
    return found.hexdigest()[:12]


def parts_from_files(partition: Files, count: int, kept: Indices, clients: int) -> tuple[Parts, str]:
    """Return the clients' samples by their positions among the kept samples, and a digest of the files.

    Args:
        partition: The files, whose indices count all samples.
        count: Number of all samples.
        kept: Indices of those that are kept, increasing.
        clients: Number of clients.

    Raises:
        PartitionError: The files do not divide the samples, or a client has none that is kept.
    """
    written = partition.parts(np.zeros(count, dtype=np.int64), clients, 0)
    return partition.among(written, kept), digest_of(*map(torch.from_numpy, (written.order, written.bounds)))


def compute_probe(problem: NetworkProblem, samples: int = 16) -> list[float]:
    """Compute losses in training and evaluation and the gradient's norm, at the start on the first samples.

    They distinguish networks whose layers and weights are the same.
    """
    network = problem.clients.network
    w = network.evaluation_weights(problem.start)
    data = Labelled(*(part[:samples] for part in problem.clients.data))
    client = NetworkClient(network, data, torch.arange(len(data.x), device=data.x.device), problem.rows)
    loss = client.loss(w).detach()
    slopes = gradient(client, w).square().sqrt()
    return [float(loss), float(slopes), network.test(w, data, problem.rows)["loss"]]


def torch_device(name: str) -> torch.device:
    """Return the torch device of a name.

    Raises:
        RunError: It is not there, or several are named.
    """
    if "," in name:
        raise RunError(
            f"--device takes one device, got {name}; to use several GPUs, choose --executor ray --device cuda "
            "--workers N --gpus-per-worker 1"
        )
    try:
        return torch.empty(0, device=name).device  # one that is not there is named before any data are read
    except (RuntimeError, AssertionError) as error:
        raise RunError(f"the device {name} is not there: {str(error).splitlines()[0]}") from error


def _classes_of(y: Tensor, partition: Partition) -> NDArray[np.int64]:
    """Return the classes by which samples are divided; targets without classes count as one class.

    Raises:
        PartitionError: The partition divides by class, and the targets have none.
    """
    if y.ndim == 1 and not y.is_floating_point():
        return y.cpu().numpy().astype(np.int64)
    if _are_shares(y):
        return y.argmax(1).cpu().numpy()
    if isinstance(partition, BY_CLASS):
        raise PartitionError(
            f"{type(partition).__name__} divides by class, and targets {y.dtype} of shape {tuple(y.shape)} name none; "
            "give a whole number for each sample, or a row of probabilities that add up to 1, or choose partition even "
            "or files"
        )
    return np.zeros(len(y), dtype=np.int64)


def _are_shares(y: Tensor) -> bool:
    """Return whether each target is a row of probabilities of two classes or more."""
    if y.ndim != 2 or y.shape[1] < 2 or y.is_complex():
        return False
    near = max(1e-3, 8 * torch.finfo(y.dtype).eps) if y.is_floating_point() else 0.0
    sums = y.sum(1, dtype=torch.float64)
    return bool((y >= 0).all()) and bool(((sums - 1.0).abs() <= near).all())


def _each(of: float | tuple[float, ...]) -> tuple[float, ...]:
    return of if isinstance(of, tuple) else (of,)
