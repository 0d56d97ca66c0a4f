"""Weights as matrices: the two ways to read a convolution kernel, named by the convolutions that compute a product.

"k x k, 1 x 1" reads a kernel ``(out, in, k, k)`` as ``(out, in k k)``: a product of matrices is a k x k convolution to
r channels, followed by a 1 x 1 convolution (PEFT, FedLoRU). "1 x k, k x 1" reads it as ``(out k, in k)``, with rows by
output channel and height and columns by input channel and width: a product is a convolution along the width, followed
by one along the height (FedHM). Equal ranks mean different numbers of parameters. loralib's matrix has the shape of the
second reading, but it cuts the kernel's memory into rows, so no pair of convolutions computes the product.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from typing import Literal

from torch import Tensor

from algorithms.federation import FederationError

Convolution = Literal["k x k, 1 x 1", "1 x k, k x 1"]
CONVOLUTIONS: tuple[Convolution, Convolution] = ("k x k, 1 x 1", "1 x k, k x 1")


def matrix_shape(shape: Sequence[int], convolution: str = CONVOLUTIONS[0]) -> tuple[int, int]:
    """Return the rows and columns of a weight of a given shape, read as a matrix.

    Raises:
        FederationError: The weight is a vector or a scalar, the reading is unknown, or a kernel that is not
            two-dimensional is read as "1 x k, k x 1".
    """
    if convolution not in CONVOLUTIONS:
        raise FederationError(f"unknown factorisation {convolution!r} of convolutions: choose one of {CONVOLUTIONS}")
    if len(shape) < 2:
        raise FederationError(f"a weight of shape {tuple(shape)} is not a matrix")
    if convolution == CONVOLUTIONS[0] or len(shape) == 2:
        return shape[0], math.prod(shape[1:])
    if len(shape) != 4:
        raise FederationError(f"{convolution!r} requires two-dimensional kernels, got shape {tuple(shape)}")
    return shape[0] * shape[2], shape[1] * shape[3]


def as_matrix(weight: Tensor, convolution: str = CONVOLUTIONS[0]) -> Tensor:
    """Return a weight read as a matrix ``(m, n)``.

    Raises:
        FederationError: As in `matrix_shape`.

    >>> kernel = Tensor(4, 3, 5, 5)
    >>> as_matrix(kernel).shape, as_matrix(kernel, "1 x k, k x 1").shape
    (torch.Size([4, 75]), torch.Size([20, 15]))
    """
    rows, columns = matrix_shape(weight.shape, convolution)
    along = convolution == CONVOLUTIONS[1] and weight.ndim == 4
    return (weight.transpose(1, 2) if along else weight).reshape(rows, columns)


def from_matrix(matrix: Tensor, shape: Sequence[int]) -> Tensor:
    """Return the weight of a given shape from its matrix; the number of rows determines the reading.

    Raises:
        FederationError: The matrix fits neither reading.
    """
    if reads_along(matrix.shape, shape):
        out, channels, height, width = shape
        return matrix.reshape(out, height, channels, width).transpose(1, 2)
    return matrix.reshape(tuple(shape))


def reads_along(matrix: Sequence[int], shape: Sequence[int]) -> bool:
    """Return whether a matrix is a weight in the reading "1 x k, k x 1" and not "k x k, 1 x 1".

    Raises:
        FederationError: The matrix fits neither reading.
    """
    if tuple(matrix) == matrix_shape(shape):
        return False
    if len(shape) == 4 and tuple(matrix) == matrix_shape(shape, CONVOLUTIONS[1]):
        return True
    raise FederationError(f"factors of a matrix {tuple(matrix)} do not give a weight of shape {tuple(shape)}")


def layer_names(shapes: Iterable[tuple[str, Sequence[int]]], layers: str) -> tuple[str, ...]:
    """Return the names of the weights of some layers that can be read as matrices.

    Args:
        shapes: Names of weights, such as ``layer1.0.conv1.weight``, and their shapes.
        layers: Patterns for names of layers or weights, separated by commas: ``layer*.conv*, head``; ``*`` also matches
            dots.

    Raises:
        FederationError: A pattern matches no layer with a matrix.
    """
    dimensions = {name: len(shape) for name, shape in shapes}
    matrices = [name for name, count in dimensions.items() if count >= 2]
    chosen: set[str] = set()
    for pattern in layers.split(","):
        found = {name for name in names_matching(dimensions, pattern.strip()) if dimensions[name] >= 2}
        if not found:
            raise FederationError(
                f"no layer with a matrix weight matches {pattern.strip()!r}; there are {', '.join(matrices)}"
            )
        chosen |= found
    return tuple(name for name in matrices if name in chosen)


def names_matching(names: Iterable[str], pattern: str) -> list[str]:
    """Return the names of weights that a pattern for them or for their layers means.

    A pattern that is itself the name of a weight or a layer means only that one, and one that is a module's name and
    ``.*`` means what that module holds, because names may have ``*``, ``?`` and brackets in them. An empty pattern
    means nothing.
    """
    every = list(names) if pattern else []
    exact = [name for name in every if pattern in (name, name.rpartition(".")[0])]
    within = [name for name in every if name.startswith(pattern[:-1])] if pattern.endswith(".*") else []
    if exact or within:
        return exact or within
    return [name for name in every if fnmatchcase(name, pattern) or fnmatchcase(name.rpartition(".")[0], pattern)]
