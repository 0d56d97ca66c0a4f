"""Metrics of texts against their definitions, class by class."""

import numpy as np
import pytest

from workloads.text_metrics import CLASS_METRICS, exact_match, f1, mcc, perplexity


def test_f1_is_the_mean_of_the_harmonic_means_of_precision_and_recall():
    rng = np.random.default_rng(0)
    p, t = rng.integers(0, 4, 50), rng.integers(0, 3, 50)
    scores = []
    for c in range(4):
        hit = ((p == c) & (t == c)).sum()
        precision, recall = hit / max(1, (p == c).sum()), hit / max(1, (t == c).sum())
        scores.append(2 * precision * recall / (precision + recall) if hit else 0.0)
    assert f1(p, t) == pytest.approx(np.mean(scores))
    assert f1([0, 5], [0, 5]) == 1.0


def test_mcc_is_the_correlation_of_indicators():
    rng = np.random.default_rng(1)
    p, t = rng.integers(0, 2, 40), rng.integers(0, 2, 40)
    assert mcc(p, t) == pytest.approx(np.corrcoef(p, t)[0, 1])
    p, t = rng.integers(0, 3, 40), rng.integers(0, 3, 40)
    P, T = (np.eye(3)[of] - np.eye(3)[of].mean(0) for of in (p, t))
    assert mcc(p, t) == pytest.approx((P * T).sum() / np.sqrt((P * P).sum() * (T * T).sum()))
    assert mcc([1, 1, 1], [0, 1, 1]) == 0.0


def test_answers_and_bad_input():
    assert exact_match(["a ", "b"], ["a", "c"]) == 0.5
    assert perplexity(np.log(3.0)) == pytest.approx(3.0)
    assert perplexity(1e6) < float("inf")
    for metric in CLASS_METRICS.values():
        for given in (([], []), ([0], [0, 1]), ([[0]], [[0]])):
            with pytest.raises(ValueError, match="a prediction for each"):
                metric(*given)
    with pytest.raises(ValueError, match="no answers to compare"):
        exact_match([], [])
