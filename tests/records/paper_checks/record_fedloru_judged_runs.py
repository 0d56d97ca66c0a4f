"""Records of what FedLoRU's claims on long runs say of counts and draws that are few."""

from dataclasses import replace

import numpy as np
from forms_shown import forms_shown
from recording import refused

from paper_checks.fedloru.convergence import sec_4_1_advantages as advantages
from paper_checks.fedloru.spectral import thm_3_3
from paper_checks.fedloru.spectral.measurements.alignment import RANKS, SCENES, Alignment, expected_alignment


def operations_of_steps():
    for size in ((64, 64, 24, 2), (3, 5, 1, 4)):
        yield [advantages._operations(*size, way) for way in ("full", "beside", "merged", "alone")]


def _arithmetic():
    sizes = ((64, 64, 24, 32), (48, 48, 8, 1), (30, 60, 10, 16))
    steps = [
        advantages.Step(
            *(m, n, r, b), 6 * m * n * b, (4 * m * n + 6 * r * (m + n)) * b, 6 * m * n * (b + r), 6 * r * (m + n) * b
        )
        for m, n, r, b in sizes
    ]
    return advantages.Arithmetic(steps, {"FedLoRU": 0, advantages.CYCLE: 384, "FeDLRT": 5000})


def computation_without_compression():
    yield from forms_shown(advantages.claim_noextra, _arithmetic())
    steps = [replace(one, full=one.full + 1, merged=one.merged - 1) for one in _arithmetic().steps]
    yield from forms_shown(
        advantages.claim_noextra,
        replace(_arithmetic(), steps=steps, outside={"FedLoRU": 1, advantages.CYCLE: 385, "FeDLRT": 0}),
    )


def _expected(name, form="direction", beta_square=0.0, noise=1.3, power=2):
    """Return the alignment at each rank; equal moduli are only in the printed form."""
    kind = "expectations" if name == "opposite spikes" else form
    return [expected_alignment(SCENES[name], rank, kind, beta_square, noise, power) for rank in range(1, RANKS + 1)]


def alignments_that_are_expected():
    for name in SCENES:
        yield name, _expected(name), _expected(name, "expectations", 4.0, 1.3, 1)
    yield refused(expected_alignment, SCENES["opposite spikes"], 1, "direction", 0.0, 1.0, 2)


def theorem_3_3_on_invented_draws():
    rng, data = np.random.default_rng(0), {}
    for name in SCENES:
        found = np.array(_expected(name, noise=1.0)) + 1e-3 * rng.standard_normal((12, RANKS))
        data[name] = Alignment(found, found, found, np.ones_like(found))
    yield from forms_shown(thm_3_3.thm_3_3, data)
