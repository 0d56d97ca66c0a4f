"""FFA-LoRA and FRLoRA: a layer's share, and the proof of the rank."""

from __future__ import annotations

from fractions import Fraction

import sympy

from paper_checks.replay import Hypothesis, Violation, proof, replay, require
from paper_checks.stored_values import Values


@replay("federated-lora/ffa-half@every-layer")
def ffa_half(values: Values) -> Violation:
    """Twice the numbers of B against those of both factors, or the reverse, at rank 1."""
    outputs, inputs = int(values["outputs"]), int(values["inputs"])
    ends = 2 * outputs, outputs + inputs
    assumes = (Hypothesis("outputs", outputs, ">=", 1), Hypothesis("inputs", inputs, ">=", 1))
    return Violation(max(ends), min(ends), assumes=assumes, reads="twice B and both factors, the larger first")


@proof("federated-lora/frlora-rank")
def frlora_rank(more: Fraction = Fraction(1)) -> str:
    r"""The change after T rounds is $\sum_{t=1}^TB_tA_t - T\,B_0A_0$, a sum of T + 1 products of rank at most r."""
    T, r = sympy.symbols("T r", positive=True, integer=True)
    total, first = sympy.symbols("total first")
    require(sympy.expand((total - T * first) - total + T * first) == 0, "the change is a sum of T + 1 products")
    require(sympy.expand((T + sympy.Rational(more)) * r - (T + 1) * r).is_nonnegative is True, "the cap")
    return "the change is a sum of T + 1 products of rank at most r"
