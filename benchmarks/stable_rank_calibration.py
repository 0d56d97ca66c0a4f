"""The cheapest settings by which each library reaches a 1 % RMS error of a stable rank, given the truth.

Ours are confirmed on seeds that did not choose them. The peers' are taken as they are found, which favours the peers.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from math import ceil, inf
from typing import Any

import numpy as np

from benchmarks.stable_rank_routes import Problem, Route, Session, known, ours, ours_by_budget
from hessian import Curvature, Krylov
from hessian.lanczos.probes import draw_probes

GOAL = 0.01
WIDTHS = (0.03, 0.033, 0.036, 0.039, 0.043, 0.047, 0.052, 0.057, 0.062, 0.068, 0.075, 0.082, 0.09, 0.1, 0.11)
STEPS = (6, 9, 12, 16, 20, 26, 34, 44, 60, 90)
SKETCHES = (24, 48, 96, 192, 384, 768)
ENOUGH = 8.0
"""CPU seconds of one run beyond which no tighter setting of a peer is tried."""


def clock(work: Callable[[], Any]) -> tuple[float, Any]:
    """Return the CPU seconds of a call, and its result."""
    began = time.process_time()
    found = work()
    return time.process_time() - began, found


def rms(values: Any, truth: float) -> float:
    """Return the relative root mean square error."""
    return float(np.sqrt(np.mean((np.asarray(values, dtype=float) / truth - 1.0) ** 2)))


def calibrated_width(problem: Problem, tries: int, seeds: int) -> dict[str, Any]:
    """Return the cheapest width whose RMS error is at most 1 %, confirmed on seeds that did not choose it."""
    tried: dict[float, dict[str, float]] = {}
    for width in WIDTHS:
        runs = [ours(problem, width, seed) for seed in range(tries)]
        tried[width] = {
            "rms": rms([f.value for f in runs], problem.truth),
            "mean products": statistics.mean(f.products for f in runs),
        }
        if tried[width]["rms"] > 1.5 * GOAL:
            break
    good = [width for width, found in tried.items() if found["rms"] <= GOAL] or [WIDTHS[0]]
    refused: dict[float, float] = {}
    for width in sorted(good, key=lambda width: tried[width]["mean products"]):
        first = 500 * (len(refused) + 1)
        found = [ours(problem, width, first + seed) for seed in range(seeds)]
        error = rms([f.value for f in found], problem.truth)
        if error <= GOAL:
            break
        refused[width] = error
    return {
        "relative_width": width,
        "tried": tried,
        "not confirmed": refused,
        "rms": error,
        "seeds": seeds,
        "covered": sum(problem.truth in f for f in found),
        "median products": statistics.median(f.products for f in found),
        "median gradients": statistics.median(f.gradients or 0.0 for f in found),
    }


def calibrated_budget(problem: Problem, tries: int, seeds: int) -> dict[str, Any]:
    """Return our cheapest budget that reaches 1 %, with steps and probes chosen given the truth, as for peers."""
    operator = Curvature(problem.model, problem.loss, problem.data)
    rngs = [np.random.default_rng(seed) for seed in range(tries)]
    runs = [Krylov(operator, rng) for rng in rngs]
    choices = {}
    for steps in STEPS:
        if steps >= problem.P:
            break
        norms, squares = [], []
        for krylov, rng in zip(runs, rngs, strict=True):
            krylov.extend(steps - krylov.size)
            part, top = known(krylov)
            norms.append(top)
            drawn = draw_probes(operator, krylov.span, 3, rng)
            squares += [part + drawn.mean] if drawn.exact else list(part + drawn.squares)
        error = rms(norms, problem.top**2)
        if error < 0.3 * GOAL:  # few tries see few of the starts from which Lanczos is slow
            choices[steps] = max(1, ceil(rms(squares, problem.square) ** 2 / ((0.9 * GOAL) ** 2 - error**2)))
        if error < 1e-3 * GOAL and choices[steps] < 4:
            break
    refused = {}
    # Where the confirmation fails, some start was slow: more steps help, more probes do not.
    least = min(choices, key=lambda steps: steps + choices[steps])
    for steps in (steps for steps in choices if steps >= least):
        probes = choices[steps]
        error = rms([ours_by_budget(problem, probes, 500 + seed, steps) for seed in range(seeds)], problem.truth)
        if error <= GOAL:
            break
        refused[f"{steps} steps, {probes} probes"] = error
    return {
        "steps": steps,
        "probes": probes,
        "products": steps + probes,
        "rms": error,
        "seeds": seeds,
        "not confirmed": refused,
    }


def calibrated_peer(problem: Problem, session: Session, seeds: int) -> dict[str, Any]:
    """Return a peer's cheapest settings that reach 1 %, by its norm routes and by plain probes or a sketch."""
    norms = [
        measured
        for name, (route, parameters) in session.norms.items()
        for measured in norm_errors(problem, name, route, parameters, seeds)
    ]
    each = min(clock(lambda: session.probes(32, 7))[0] for _ in range(2)) / 32
    answer: dict[str, Any] = {"norms tried": norms, "seconds of a probe": each}
    plain = [
        {"norm": n, "probes": (c := min(ceil(problem.variance / room), problem.P)), "predicted s": n["s"] + c * each}
        for n in norms
        if (room := GOAL**2 - n["error of square"] ** 2) > 0.0
    ]
    if plain:
        answer["plain probes"] = min(plain, key=lambda choice: choice["predicted s"])
    good = [n for n in norms if n["error of square"] < 0.5 * GOAL]
    if session.sketch is not None and good:
        sketches = sketch_errors(problem, session.sketch, seeds)
        answer["sketches tried"] = sketches
        if sketches and sketches[-1]["error of square"] <= 0.9 * GOAL:
            chosen = sketches[-1]
            norm = min(good, key=lambda n: n["s"])
            answer["sketch"] = {"norm": norm, **chosen, "predicted s": norm["s"] + chosen["s"]}
    return answer


def norm_errors(
    problem: Problem, name: str, route: Route, parameters: tuple[float, ...], seeds: int
) -> list[dict[str, Any]]:
    """Return errors and times of a norm route, from loose to tight until it is accurate enough."""
    answer = []
    for parameter in parameters:
        runs = [clock(lambda p=parameter, s=seed: route(p, s)) for seed in range(seeds)]
        error = rms([found**2 for _, found in runs], problem.top**2)
        seconds = statistics.median(s for s, _ in runs)
        answer.append({"route": name, "parameter": parameter, "error of square": error, "s": seconds})
        if error < 0.2 * GOAL or seconds > ENOUGH:
            break
    return answer


def sketch_errors(problem: Problem, sketch: Route, seeds: int) -> list[dict[str, Any]]:
    """Return errors and times of a sketched squared norm, growing until it is accurate enough."""
    answer = []
    for products in SKETCHES:
        if products >= problem.P:
            break
        try:
            runs = [clock(lambda p=products, s=seed: sketch(p, s)) for seed in range(seeds)]
        except (RuntimeError, ValueError) as error:  # a basis that is singular in single precision
            answer.append({"products": products, "error of square": inf, "s": inf, "failed": str(error)[:100]})
            break
        error = rms([found for _, found in runs], problem.square)
        answer.append({"products": products, "error of square": error, "s": statistics.median(s for s, _ in runs)})
        if error <= 0.9 * GOAL or answer[-1]["s"] > ENOUGH:
            break
    return answer
