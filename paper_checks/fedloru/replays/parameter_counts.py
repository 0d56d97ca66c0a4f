"""Replays of the claims in ``parameter_counts``."""

from __future__ import annotations

from fractions import Fraction

from paper_checks.replay import Violation, replay
from paper_checks.stored_values import Values


def _convolutions(blocks: int) -> list[tuple[int, int, int]]:
    """Kernel, inputs and outputs of the convolutions of layer1 to layer4, stem of 64 channels."""
    layers, channels = [], 64
    for width in (64, 128, 256, 512):
        for _ in range(blocks):
            layers += [(3, channels, width), (3, width, width)]
            layers += [(1, channels, width)] if channels != width else []
            channels = width
    return layers


@replay("fedloru-iclr/txt-ratios")
def txt_ratios(values: Values) -> Violation:
    """The smallest distance of the printed ratio from that of any rank, factorisation and selection of layers."""
    blocks, classes, channels = values["blocks per stage"], values["classes"], values["channels"]
    ratio, ranks = Fraction(values["ratio"].removesuffix("%")), [int(rank) for rank in values["ranks"].split()]
    layers = _convolutions(blocks)
    norms = 2 * 64 + sum(2 * outputs for _, _, outputs in layers)
    rest = 9 * channels * 64 + norms + 512 * classes + classes
    total = rest + sum(k * k * c * d for k, c, d in layers)
    known = {(1, 10): (44, 33, 22), (2, 10): (41, 31, 21), (2, 100): (41, 31, 21)}
    unmet = ""
    if ratio not in known.get((blocks, classes), ()) or set(ranks) != {16, 32, 64, 128}:
        unmet = "a ratio of Table 1 and the ranks 16, 32, 64, 128"

    def factors(kind: int, k: int, c: int, d: int, r: int) -> int:
        return [r * k * k * c + r * d, r * c + r * k * k * d, r * k * c + r * k * d, r * k * k * (c + d)][kind]

    distances = []
    for rank in ranks:
        for kind in range(4):
            for shortcut in ("factorised", "dense", "frozen"):
                for limit in ("none", "saves", "channels"):
                    trained = 0
                    for k, c, d in layers:
                        r = min(rank, c, d) if limit == "channels" else rank
                        low_rank = factors(kind, k, c, d, r)
                        dense = k * k * c * d
                        if k == 1 and shortcut != "factorised":
                            low_rank = dense if shortcut == "dense" else 0
                        trained += min(low_rank, dense) if limit == "saves" else low_rank
                    least, most = Fraction(100 * trained, total), Fraction(100 * (trained + rest), total)
                    distances.append(max(least - ratio, ratio - most))
    return Violation(
        min(distances), Fraction(1), unmet=unmet,
        reads="distance in per cent of the printed ratio from every reading, against one unit for any rounding",
    )  # fmt: skip


@replay("fedloru-v2/txt-peft")
def txt_peft(values: Values) -> Violation:
    """The distance of a printed share from the nearest model and denominator, the worse of the two ranks."""
    models = {name: [int(n) for n in text.split()] for name, text in values.items() if isinstance(text, str)}
    shares = {Fraction(name): int(rank) for name, rank in values.items() if isinstance(rank, int)}
    unmet = "" if shares == {Fraction("0.124"): 8, Fraction("0.248"): 16} else "the shares and ranks as printed"
    distances = []
    for vocabulary, hidden, inner, layers, queries, keys, tied in models.values():
        matrices = [(hidden, queries), (hidden, keys), (hidden, keys), (queries, hidden)]
        gated = [(hidden, inner), (hidden, inner), (inner, hidden)]
        total = layers * (sum(a * b for a, b in matrices + gated) + 2 * hidden) + hidden
        total += vocabulary * hidden * (1 if tied else 2)
        if not 25 * 10**8 <= total <= 35 * 10**8:
            unmet = "models of 2.5 to 3.5 billion parameters"
        for with_adapters in (False, True):
            apart = []
            for share, rank in shares.items():
                adapters = layers * sum(rank * (a + b) for a, b in matrices)
                whole = total + (adapters if with_adapters else 0)
                apart.append(abs(Fraction(100 * adapters, whole) - share))
            distances.append(max(apart))
    return Violation(
        min(distances), Fraction(1, 2000), unmet=unmet,
        reads="distance in per cent of the printed shares from the nearest model of 3 billion, against half a unit",
    )  # fmt: skip
