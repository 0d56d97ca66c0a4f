"""Tables 4 and 8: what is sent, counted."""

from __future__ import annotations

from fractions import Fraction

from paper_checks.replay import Hypothesis, Violation, assuming, replay
from paper_checks.stored_values import Values


@replay("rolora/table-4")
def table_4(values: Values) -> Violation:
    """Compare the samples used in a round by clients that share 3000 samples evenly, and the rounds that keep them."""
    samples, epochs, clients, rounds = 3000, values["epochs"], values["clients"], values["rounds with 3"]
    assumes = assuming(
        Hypothesis("clients", clients, ">", 3),
        Hypothesis("passes over the data in a round", epochs, ">=", 1),
        Hypothesis("rounds with 3 clients", rounds, ">=", 1),
    )
    of_round = {N: sum(Fraction(samples, N) * epochs for _ in range(N)) for N in (3, clients)}
    return Violation(
        rounds * of_round[3] / of_round[clients],
        rounds,
        assumes=assumes,
        strict=True,
        reads="for SST-2 we count the rounds that use as many samples as the rounds with 3 clients, if in each round "
        "every client passes 20 times over its own share of the data. We compare this number with the number of "
        "rounds with 3 clients, which should be larger",
    )


@replay("rolora/table-8")
def table_8(values: Values) -> Violation:
    """Evaluate how far the printed sizes are from the nearest reading, by the worst cell of each reading."""
    factors, rank = {name: count for name, count in values.items() if name != "rank"}, values["rank"]
    distances = []
    for size in (1, 2, 4, 8):
        for copies in (1, 2, 3, 6):
            for kilobyte in (1000, 1024):
                apart = []
                for name, count in factors.items():
                    text = name.split()[0]
                    half = Fraction(1, 2 * 10 ** len(text.partition(".")[2]))
                    sent = Fraction(count * rank * 1024 * size * copies, kilobyte)
                    apart.append(abs(sent - Fraction(text)) - half)
                distances.append(max(apart))
    assumes = (Hypothesis("rank", rank, "=", 4), Hypothesis("printed sizes", len(factors), "=", 6))
    return Violation(
        min(distances),
        0,
        assumes=assumes,
        reads="we multiply the number of factors, A or B, that a client sends by the rank 4, by 1024 numbers, by 1, "
        "2, 4 or 8 bytes and by 1, 2, 3 or 6 messages, and divide by 1000 or 1024 for KB. For the nearest of these "
        "ways of counting (4, 1, 1024), we compute the largest distance of the six sizes from the printed ones, "
        "beyond rounding",
    )
