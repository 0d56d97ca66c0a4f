"""Numbers of random matrix theory in small sizes: draws, limits, printed branches, counts, and the animation."""

import re

import numpy as np
import pandas as pd
from drawings import figures_of, picture
from own_sizes import Sized, columns

from figures.figure import Settings
from figures.rmt import alignment, crossing, sample_size, spectrum, stable_rank, transition
from rmt import ClientGradients, SpikedModel

SAID = []


def transitions():
    sizes = transition.TransitionSizes((30, 1000), 4, 3, 2)
    return transition.transition_table(Settings(seed=2, progress=SAID.append), sizes), transition.transition_sizes(
        transition.transition_table(Settings(), transition.TransitionSizes((20, 30), 2, 2, 2))
    )


def findings_of_transitions():
    table = transition.transition_table(Settings(), transition.TransitionSizes((50, 2000), 3, 9, 3))
    return transition.transition_headline(table), transition.transition_found(table)


def stable_ranks_by_dimension():
    settings = Sized(seed=1, own=stable_rank.StableRankSizes((10, 300), 5))
    table = stable_rank.stable_rank_data(settings)
    return table, stable_rank.stable_rank_found(table), stable_rank.stable_rank_sizes(table)


def deviations_of_stable_ranks():
    models = (stable_rank.CLIENT, stable_rank.SERVER, SpikedModel((2.0, -4.0), scale=0.5))
    return [stable_rank.predicted_sd(model, R) for model in models for R in (10, 1000)]


def first_dimension_of_a_gap_in_every_draw():
    for positive in ((0.5, 1.0, 1.0), (1.0, 0.9, 1.0), (1.0, 1.0, 1.0), (1.0, 1.0, 0.99)):
        rows = [
            {"quantity": "gap", "R": R, "positive": share} for R, share in zip((10, 100, 1000), positive, strict=True)
        ]
        yield stable_rank.stable_rank_headline(pd.DataFrame(rows))


def stable_ranks_by_samples():
    settings = Sized(own=sample_size.SampleSizeSizes(2000, (20, 80, 120, 2000), 3))
    table = sample_size.sample_size_data(settings)
    yield columns(table)
    yield (
        sample_size.sample_size_headline(table),
        sample_size.sample_size_found(table),
        sample_size.sample_size_sizes(table),
    )


def noise_and_printed_bounds():
    for M, N in ((50, 10_000), (100, 10_000), (200, 50), (400, 1000)):
        yield sample_size.noise(M), sample_size.printed_bound(M, N), sample_size.printed_bound(M, N, 0.5)
        yield sample_size.expected(M, 500), sample_size.expected(M, 50_000)


def alignment_by_rank():
    table = alignment.alignment_data(Sized(own=alignment.AlignmentSizes(60, 5, 2, (2.0, 0.5), 0)))
    yield columns(table, "panel", "series", "x", "mean", "standard_error", "limit", "printed")
    yield alignment.alignment_headline(table), alignment.alignment_found(table)


def weights_on_the_bulk():
    table = alignment.alignment_data(Sized(own=alignment.AlignmentSizes(30, 1, 2, (), 2)))
    bulk = table[table.panel == "bulk weight"]
    yield [figures_of(bulk[name]) for name in ("mean", "standard_error", "limit", "printed", "x", "R", "draws")]
    yield alignment.alignment_sizes(table)


def printed_alignments():
    for slopes in ((1.0, 0.7, 0.5, -0.8), (0.1, 0.7, 0.5, -0.8), (0.0, 0.0, 0.0, 2.0)):
        yield [
            alignment.printed_alignment(ClientGradients(slopes, noise_square=0.1), rank)
            for rank in (1, 2, 4, 6)
            if slopes[0]
        ]


def spectra():
    table = spectrum.spectrum_data(Sized(own=spectrum.SpectrumSizes(40, 2, 200, 2, 5)))
    for kind, part in table.groupby("kind", sort=False):
        yield (
            kind,
            len(part),
            int(part.R.iloc[0]),
            [figures_of(part[name]) for name in ("at", "value", "draw", "predicted")],
        )
    yield spectrum.spectrum_headline(table), spectrum.spectrum_found(table), spectrum.spectrum_sizes(table)


def eigenvalues_outside_the_bulk():
    table = spectrum.spectrum_data(Sized(own=spectrum.SpectrumSizes(40, 1, 50, 1, 2)))
    width = spectrum.SPECTRUM_MODEL.edge_scale(40)
    for factor in (1.0, 2.0, 3.9, 4.1, -3.9, -4.1):
        value = (2.0 + abs(factor) * width) * np.sign(factor)
        yield (
            factor,
            spectrum.spectrum_headline(table.assign(value=table.value.where(table.kind != "eigenvalue", value))),
        )


def picture_of_spectra():
    return picture(spectrum.draw_spectrum, spectrum.spectrum_data(Sized(own=spectrum.SpectrumSizes(60, 2, 100, 2, 4))))


def expected_counts():
    x = np.array([-3.0, -2.5, -2.0, -1.0, 0.0, 0.5, 1.9, 2.0, 2.5, 4.0])
    for spikes in ((), (3.0,), (-2.0,), (0.6,), (1.5, -0.6)):
        yield spectrum.expected_count_excess(x, spikes)


STEPS = [
    crossing.Step(0.5, 2.01, 0.02, 2.0, 0.0, 2.5),
    crossing.Step(0.25, 1.99, 0.01, 2.0, 0.0, 4.25),
    crossing.Step(1.0, 2.05, 0.1, 2.0, 0.0, 2.0),
    crossing.Step(2.0, 2.52, 0.74, 2.5, 0.75, 2.5),
    crossing.Step(2.6, 2.98, 0.86, 2.9846, 0.852, 2.9846),
]


def animation_of_a_crossing():
    edges = np.array([-0.1, 0.0, 0.1, 0.2])
    return re.sub(r"(?<=[\d%\"])(?=[{<])", "\n", crossing.animate(STEPS, edges, np.array([0.3, 0.0, 0.2]))).split("\n")


def steps_of_a_crossing():
    return crossing.SPIKES[:3], crossing.SPIKES[-1], len(crossing.SPIKES), crossing.R, crossing.STILL, crossing.SECONDS
