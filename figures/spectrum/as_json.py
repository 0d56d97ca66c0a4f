"""A measured spectrum as JSON."""

from __future__ import annotations

import dataclasses
import json
from math import isfinite
from pathlib import Path
from typing import Any

from figures.provenance import machine, package_versions, sources_digest
from figures.spectrum.measured_network import MeasuredNetwork, SpectrumRequest
from hessian.fits.spiked_fit import predict
from hessian.numerics.intervals import StableRankInterval
from hessian.numerics.symmetric import CurvatureError
from hessian.operators.curvature import Cost
from hessian.spectrum import SpectrumReport
from rmt.results import plain

SAMPLE_FACTORS = (0.25, 0.5, 1.0, 2.0, 4.0)
"""Sample sizes to predict at, relative to the measured one."""
SUBJECT = ("model", "data", "loss", "matrix", "parameters", "batch_norm", "reduction", "count", "law")
"""Fields of a request that determine what is measured; the others determine how."""
PACKAGES = ("rankproof", "numpy", "scipy", "torch", "matplotlib")


def to_json(measured: MeasuredNetwork) -> dict[str, Any]:
    """Return all measured values and their settings; numbers that are not finite become null."""
    report, rank = measured.report, measured.report.stable_rank
    measure = report.measure
    fields = {
        "request": plain(dataclasses.replace(measured.request, settings=report.settings)),
        "parameters": report.P,
        "unused_parameters": measured.unused,
        "samples": measured.samples,
        "loss": measured.loss,
        "dtype": report.dtype,
        "stable_rank": _rank(rank),
        "eigenvalues": [
            {"value": value, "residual": residual, "end": "upper" if place < report.largest else "lower"}
            for place, (value, residual) in enumerate(zip(report.eigenvalues, report.residuals, strict=True))
        ],
        "eigenvalues_converged": report.converged,
        "eigenvalues_missed": {"searched": isfinite(report.missed), "beyond_the_last": report.missed},
        "quadrature": {
            "about": "one rule per probe, for the spectrum without the eigenvalues above; each of those has mass "
            "1/parameters",
            "nodes": measure.nodes,
            "weights": measure.weights,
        },
        "fit": _fit(report),
        "blocks": [
            {"name": block.name, "parameters": block.P, "reason_for_none": block.why, "stable_rank": _rank(block.rank)}
            for block in measured.blocks
        ],
        **({} if report.quantities is None else {"quantities": report.quantities.to_dict()}),
        "given_up_for_memory": report.given_up,
        "cost": {
            "products": measured.cost.products,
            "products_by_part": report.products,
            "seconds_by_part": {part: round(seconds, 3) for part, seconds in report.seconds.items()},
            **cost_to_json(measured.cost),
        },
        **environment(),
    }
    return plain(fields)


def cost_to_json(cost: Cost) -> dict[str, Any]:
    """Return the time of the products and how they were computed."""
    return {
        "seconds_of_products": cost.seconds,
        "seconds_of_a_gradient": cost.gradient_seconds,
        "gradients": cost.gradients,
        "seconds_of_checks": cost.check_seconds,
        "vectors_together": cost.together,
        "reason_for_one_vector_at_a_time": cost.fault,
        "workers": cost.workers,
    }


def environment() -> dict[str, Any]:
    """Return the machine, the versions of packages and the digest of the sources."""
    return {**machine(), "packages": package_versions(PACKAGES), "sources_sha256": sources_digest()}


def require_same_subject(path: Path, request: SpectrumRequest, states: Path | None = None) -> None:
    """Check that a stored measurement, if there is one, is of the matrix that is to be measured now.

    Args:
        path: The JSON file of the stored measurement.
        request: Request for the measurement now.
        states: Folder of the states, for a measurement of checkpoints.

    Raises:
        CurvatureError: It is of another one, which would be lost.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        stored = content["request"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return  # not a measurement; another check decides whether the file may be replaced
    asked = plain(request)
    other = [name for name in SUBJECT if isinstance(stored, dict) and stored.get(name) != asked[name]]
    if states is not None and Path(str(content.get("states"))).resolve() != states.resolve():
        other.append("folder of states")
    if other:
        raise CurvatureError(
            f"{path} contains a measurement with another {' and another '.join(other)}; name another folder with --out"
        )


def _fit(report: SpectrumReport) -> dict[str, Any]:
    fit = report.fit
    if fit is None:
        return {"reason_for_none": report.no_fit}
    predictions = []
    for factor in SAMPLE_FACTORS:
        model = predict(fit, factor**-0.5)
        predictions.append(
            {
                "samples_factor": factor,
                "noise_factor": factor**-0.5,
                "bulk_edge": model.bulk_edges[1],
                "stable_rank": model.stable_rank(report.P).value,
                "outliers": [o.location for o in model.outliers if o.separated],
                "overlaps": [o.overlap for o in model.outliers if o.separated],
            }
        )
    alternatives = [
        {
            "name": law.name,
            "law": type(law.law).__name__,
            "parameters": plain(law.law),
            "share": law.share,
            "distance": plain(law.distance),
        }
        for law in fit.alternatives
    ]
    return {
        "sigma": fit.sigma,
        "sigma_sd": fit.sigma_sd,
        "cuts": fit.thresholds,
        "spikes": [
            {"spike": spike, "sd": sd, "eigenvalue": value, "overlap": outlier.overlap}
            for spike, sd, value, outlier in zip(
                fit.model.spikes, fit.spike_sd, fit.outliers, fit.model.outliers, strict=True
            )
        ],
        "outliers_above": {**plain(fit.above), "text": str(fit.above)},
        "outliers_below": {**plain(fit.below), "text": str(fit.below)},
        "all_outliers_computed": fit.complete,
        "rest_square_by_norm": plain(fit.rest_by_norm),
        "rest_square_by_quadrature": plain(fit.rest_by_quadrature),
        "bulk_size": fit.bulk.size,
        "semicircle_distance": plain(fit.distance),
        "alternatives": alternatives,
        "predictions": predictions,
    }


def _rank(rank: StableRankInterval | None) -> dict[str, Any] | None:
    """Return a stable rank without its cost in gradients, which belongs to all parts together."""
    return None if rank is None else {key: value for key, value in plain(rank).items() if key != "gradients"}
