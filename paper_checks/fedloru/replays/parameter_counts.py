"""Parameter counts and ratios of the printed networks."""

from __future__ import annotations

from fractions import Fraction

from paper_checks.replay import Hypothesis, Violation, replay
from paper_checks.stored_values import Values


def convolutions(blocks: int) -> list[tuple[int, int, int]]:
    """Return kernel, inputs and outputs of the convolutions of layer1 to layer4, stem of 64 channels."""
    layers, channels = [], 64
    for width in (64, 128, 256, 512):
        for _ in range(blocks):
            layers += [(3, channels, width), (3, width, width)]
            layers += [(1, channels, width)] if channels != width else []
            channels = width
    return layers


@replay("fedloru-iclr/txt-ratios")
def txt_ratios(values: Values) -> Violation:
    """Evaluate how far the printed ratio is from the ratios of all ranks, factorisations and selections of layers."""
    blocks, classes, channels = values["blocks per stage"], values["classes"], values["channels"]
    ratio, ranks = Fraction(values["ratio"].removesuffix("%")), [int(rank) for rank in values["ranks"].split()]
    layers = convolutions(blocks)
    norms = 2 * 64 + sum(2 * outputs for _, _, outputs in layers)
    rest = 9 * channels * 64 + norms + 512 * classes + classes
    total = rest + sum(k * k * c * d for k, c, d in layers)
    table = {(1, 10): (44, 33, 22), (2, 10): (41, 31, 21), (2, 100): (41, 31, 21)}
    printed = table.get((blocks, classes), ())
    assumes = (
        Hypothesis(
            "ratios of Table 1 for this network that the ratio is", sum(one == ratio for one in printed), "=", 1
        ),
        Hypothesis("ranks that are not 16, 32, 64, 128, or are missing", len({16, 32, 64, 128} ^ {*ranks}), "=", 0),
        Hypothesis("channels of an image", channels, "=", 3),
    )

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
        min(distances),
        1,
        assumes=assumes,
        reads="we compute the ratio for each rank, with four factorisations, three ways to treat shortcuts, three "
        "ways to treat narrow layers, and the stem, norms and head counted or not. We compare the distance of the "
        "printed ratio from the nearest of these, in points, with one point, which allows for any rounding",
    )


@replay("fedloru-v2/txt-personal-params")
def txt_personal_params(values: Values) -> Violation:
    """Add up what a client of pFedLoRU trains."""
    classes, channels, rank, personal = (values[name] for name in ("classes", "channels", "rank", "personal rank"))
    layers = convolutions(values["blocks per stage"])
    assumes = (
        Hypothesis("layers with weights, without shortcuts", 2 + sum(k == 3 for k, _, _ in layers), "=", 18),
        Hypothesis("classes", classes, "=", 100),
        Hypothesis("channels of an image", channels, "=", 3),
        Hypothesis("rank of A and B", rank, "=", 128),
        Hypothesis("rank of L and U", personal, ">=", 1),
    )
    rest = 9 * channels * 64 + 2 * 64 + sum(2 * d for _, _, d in layers) + 512 * classes + classes
    factors = sum((rank + personal) * (k * k * c + d) for k, c, d in layers)
    return Violation(
        abs(rest + factors - 4_630_000),
        5000,
        assumes=assumes,
        reads="for pFedLoRU on CIFAR-100 we count the parameters of A, B, L and U, with the stem, batch norms and "
        "head. We compare the distance of this number from the printed 4.63M with half a unit of the last digit",
    )


@replay("fedloru-v2/txt-peft")
def txt_peft(values: Values) -> Violation:
    """Evaluate the distance of a printed share from the nearest model and denominator, the worse of the two ranks."""
    models = {name: [int(n) for n in text.split()] for name, text in values.items() if isinstance(text, str)}
    shares = {Fraction(name): int(rank) for name, rank in values.items() if isinstance(rank, int)}
    printed = {Fraction("0.124"): 8, Fraction("0.248"): 16}
    assumes = [Hypothesis("shares with another rank than printed", len(shares.items() ^ printed.items()), "=", 0)]
    assumes.append(Hypothesis("models", len(models), "=", 3))
    distances = []
    for name, (vocabulary, hidden, inner, layers, queries, keys, tied) in models.items():
        matrices = [(hidden, queries), (hidden, keys), (hidden, keys), (queries, hidden)]
        gated = [(hidden, inner), (hidden, inner), (inner, hidden)]
        total = layers * (sum(a * b for a, b in matrices + gated) + 2 * hidden) + hidden
        total += vocabulary * hidden * (1 if tied else 2)
        assumes.append(Hypothesis(f"parameters of {name}, of 3 billion or so", total, ">=", 25 * 10**8))
        assumes.append(Hypothesis(f"parameters of {name}, of 3 billion or so", total, "<=", 35 * 10**8))
        for with_adapters in (False, True):
            apart = []
            for share, rank in shares.items():
                adapters = layers * sum(rank * (a + b) for a, b in matrices)
                whole = total + (adapters if with_adapters else 0)
                apart.append(abs(Fraction(100 * adapters, whole) - share))
            distances.append(max(apart))
    return Violation(
        min(distances),
        Fraction(1, 2000),
        assumes=assumes,
        reads="the witness lists each model by its vocabulary, width, inner width, layers, width of queries and width "
        "of keys, with a 1 if it has one matrix of embeddings, and the printed shares, in per cent, with their ranks. "
        "We compare the distance of the printed shares from the shares of the nearest model, with its adapters in the "
        "denominator or not, with half a unit of the last digit",
    )
