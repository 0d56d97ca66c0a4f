r"""Metrics of classified texts and of generated answers, by name.

With $t_c$ texts of class c, $p_c$ predictions of c and $h_c$ hits among them, of n texts:
F1 is the mean over classes of $2h_c/(t_c + p_c)$, and Matthews' coefficient is
$(n\sum_ch_c - \sum_ct_cp_c)/\sqrt{(n^2 - \sum_cp_c^2)(n^2 - \sum_ct_c^2)}$.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import exp, sqrt

import numpy as np
from numpy.typing import ArrayLike, NDArray


def f1(predicted: ArrayLike, labels: ArrayLike) -> float:
    """Return the mean over classes of the F1 score (macro F1); classes that neither side has do not count.

    >>> f1([0, 1, 1, 1], [0, 1, 1, 0])
    0.7333333333333334
    """
    hits, guesses, texts = _counts(predicted, labels)
    there = guesses + texts > 0
    return float((2.0 * hits[there] / (guesses + texts)[there]).mean())


def mcc(predicted: ArrayLike, labels: ArrayLike) -> float:
    """Return Matthews' correlation coefficient; 0 if all predictions or all labels are equal.

    >>> mcc([0, 1, 1, 1], [0, 1, 1, 0])
    0.5773502691896258
    """
    hits, guesses, texts = (part.astype(float) for part in _counts(predicted, labels))
    n = texts.sum()
    size = (n * n - guesses @ guesses) * (n * n - texts @ texts)
    return float((n * hits.sum() - guesses @ texts) / sqrt(size)) if size > 0.0 else 0.0


def exact_match(answers: Sequence[str], expected: Sequence[str]) -> float:
    """Return the share of answers that are the expected ones, apart from white space at their ends.

    >>> exact_match(["The Loire. ", "Paris"], ["The Loire.", "Lyon"])
    0.5
    """
    pairs = list(zip(answers, expected, strict=True))
    if not pairs:
        raise ValueError("there are no answers to compare; give at least one")
    return sum(answer.strip() == wanted.strip() for answer, wanted in pairs) / len(pairs)


def perplexity(loss: float) -> float:
    """Return the exponential of a mean loss over tokens, at most e^700.

    >>> perplexity(0.0)
    1.0
    """
    return exp(min(loss, 700.0))


def _counts(predicted: ArrayLike, labels: ArrayLike) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return hits, predictions and texts of each class.

    Raises:
        ValueError: Unequally many predictions and labels, or none.
    """
    p, t = np.asarray(predicted, dtype=np.int64), np.asarray(labels, dtype=np.int64)
    if p.ndim != 1 or p.shape != t.shape or not len(p):
        raise ValueError(f"expected a prediction for each of at least one label, got {p.shape} and {t.shape}")
    most = int(max(p.max(), t.max())) + 1
    return np.bincount(t[p == t], minlength=most), np.bincount(p, minlength=most), np.bincount(t, minlength=most)


CLASS_METRICS: Mapping[str, Callable[[ArrayLike, ArrayLike], float]] = {"f1": f1, "mcc": mcc}
"""Metrics of predicted classes by name."""
