"""Records of whole spectra: settings, random streams, reports in words, and what they cost."""

import dataclasses
from math import inf

import numpy as np
import torch
from recording import Within, refused
from torch import nn

from hessian import (
    CurvatureError,
    DenseOperator,
    Interval,
    SpectrumSettings,
    StableRankInterval,
    measure_spectrum,
    stable_rank,
)
from hessian.spectrum import describe_missed, rank_by


def _dense(values, seed=0):
    turn = np.linalg.qr(np.random.default_rng(seed).standard_normal((len(values), len(values))))[0]
    matrix = torch.from_numpy((turn * np.asarray(values)) @ turn.T)
    return DenseOperator((matrix + matrix.T) / 2)


SIGNED = _dense(np.concatenate([np.linspace(-1.0, 1.2, 33), [5.0, 3.0, -2.5]]))
SETTINGS = SpectrumSettings(width=0.5, outliers=3, probes=2, steps=6, basis=8, tolerance=1e-3)


def _steady(report):
    """Return a report without times and without numbers of the size of rounding."""
    words = {label: text for label, text in report.words().items() if label != "residuals"}
    kept = ("P", "dtype", "device", "largest", "converged", "no_fit", "products", "given_up", "limit")
    rank = report.stable_rank
    return {
        **{name: getattr(report, name) for name in kept},
        "words": words,
        "values": Within(1e-5, [report.eigenvalues, rank.value, rank.low, rank.high, report.measure.moment(2).value]),
        "small": report.missed < 0.1,
        "parts": list(report.seconds),
    }


def spectra_and_their_words():
    texts = []
    report = measure_spectrum(SIGNED, SETTINGS, texts.append)
    yield (
        _steady(report),
        texts[0],
        texts[-1],
        len(texts),
        sorted({text.partition(":")[0] for text in texts}),
        str(report),
    )
    yield Within(1e-5, [report.measure.nodes, report.fit.sigma, report.fit.sigma_sd])
    yield list(report.to_dict())


def spectra_by_other_seeds_and_confidence():
    settings = dataclasses.replace(SETTINGS, seed=1, confidence=0.5, outliers=1)
    report = measure_spectrum(SIGNED, settings)
    yield _steady(report), Within(1e-5, [report.measure.nodes, report.fit.sigma_sd]), report.settings.seed


def spectra_of_few_dimensions():
    for values in ([3.0, 1.0, -2.0, 0.5, -0.5], [3.0], [2.0, 1.0, 0.1, -0.1, 0.2, 0.05]):
        yield _steady(measure_spectrum(_dense(values), SETTINGS))


def spectra_with_further_quantities():
    report = measure_spectrum(
        SIGNED, dataclasses.replace(SETTINGS, products=80, quantities=("trace", "count-above=1.1", "stable-rank"))
    )
    yield _steady(report), [str(one) for one in report.quantities.found], Within(1e-5, report.quantities["trace"].value)


def spectra_that_do_not_converge():
    few = dataclasses.replace(SETTINGS, tolerance=1e-9, products=22)
    wide = _dense(np.linspace(-1.0, 1.2, 60))
    words = measure_spectrum(wide, few).words()
    yield words["eigenvalues"], words["residuals"].partition(";")[2]


class _Rounded(DenseOperator):
    rounding = 1e-2


def spectra_of_rounded_products_and_extreme_scales():
    rounded = measure_spectrum(_Rounded(SIGNED.matrix), dataclasses.replace(SETTINGS, products=60))
    yield (
        rounded.converged,
        rounded.limit,
        rounded.words()["eigenvalues"],
        rounded.no_fit,
        Within(1e-4, rounded.residuals),
    )
    yield measure_spectrum(DenseOperator(SIGNED.matrix * 1e-60), SETTINGS).words()["spiked model"]
    single = measure_spectrum(
        DenseOperator(SIGNED.matrix.float()), dataclasses.replace(SETTINGS, tolerance=1e-9, products=60)
    )
    yield single.dtype, single.converged, single.limit


def missed_eigenvalues_in_words():
    return [describe_missed(*one) for one in [(inf, 1.0), (0.5, 0.5), (0.51, 0.5), (0.0, 0.0), (1e-3, 1e-4)]]


def settings_and_refused_ones():
    yield SpectrumSettings(), SETTINGS.for_quantities(), SpectrumSettings(quantities="trace,largest").quantities
    for options in (
        *(
            {"width": 0.0},
            {"width": inf},
            {"confidence": 0.0},
            {"confidence": 1.0},
            {"tolerance": 0.0},
            {"tolerance": inf},
        ),
        *(
            {"outliers": 0},
            {"probes": 0},
            {"steps": 0},
            {"seed": -1},
            {"outliers": 2.0},
            {"chunk": True},
            {"memory": 7},
        ),
        *({"memory": "1 GiB"}, {"quantities": ("x",)}, {"products": "9"}),
    ):
        yield refused(SpectrumSettings, **options)
    try:
        SpectrumSettings(steps=0)
    except CurvatureError as error:
        yield error.keywords


def streams_of_the_parts():
    for seed in (0, 5):
        yield [
            SpectrumSettings(seed=seed).rng(part).integers(1000) for part in ("stable rank", "eigenpairs", "quadrature")
        ]
    texts = []
    found = rank_by(SETTINGS, SIGNED, np.random.default_rng(4), texts.append)
    yield Within(1e-5, [found.value, found.low, found.high]), found.confidence, found.steps, found.products, texts[-1]
    other = dataclasses.replace(SETTINGS, confidence=0.6, width=0.8, products=24, basis=5, chunk=3)
    found = rank_by(other, SIGNED, np.random.default_rng(4))
    yield Within(1e-5, [found.value, found.low, found.high]), found.confidence, found.steps, found.products


def _fill(model):
    """Give a model weights that do not depend on the processor's random numbers in single precision."""
    with torch.no_grad():
        for number, p in enumerate(model.parameters()):
            p.copy_(torch.arange(p.numel(), dtype=torch.float64).add(1.7 * number).sin().reshape(p.shape))
    return model


def _network():
    model = _fill(nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)).double())
    return model, nn.MSELoss(), (torch.randn(9, 3, dtype=torch.float64), torch.randn(9, 2, dtype=torch.float64))


def stable_ranks_of_networks():
    for options in (
        {},
        {"seed": 3, "confidence": 0.7, "relative_width": 0.6, "basis": 6},
        {"matrix": "gauss-newton", "parameters": "2.*"},
    ):
        found = stable_rank(*_network(), **options)
        yield Within(1e-5, [found.value, found.low, found.high]), found.steps, found.products, found.gradients > 0.0
    yield refused(stable_rank, *_network(), seed=-1), refused(stable_rank, *_network(), confidence=2.0)


def fields_of_a_stable_rank():
    ends = Interval(2.0, 2.0, 2.1)
    found = StableRankInterval(3.0, 2.9, 3.2, 0.95, ends, ends, 2.0, 0.1, False, 0.1, 0.2, 3, 0, 5, True)
    return found.to_dict(), str(found)
