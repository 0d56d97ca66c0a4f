"""The boxes of aggregations of LoRA factors in exact fractions, for the federation of `by_hand`."""

from fractions import Fraction

from by_hand import (
    ALPHA,
    SHARES,
    STEPS,
    W0,
    Draws,
    dot,
    factors,
    mean,
    minus,
    model,
    plus,
    rounds,
    times,
    train_both,
    zero,
)


def flora(batch, ranks):
    """Add the mean of the products of new factors, which start with B = 0 and an A of each client, to the weights."""
    base, models = W0, []
    for number, cohort in rounds():
        products = []
        for k in cohort:
            A, B = factors(ranks[k], number + 3 * k)
            products.append(dot(*train_both(k, base, (A, zero(B)), Draws(number, 1, k).steps(STEPS, batch))))
        base = plus(base, times(ALPHA, mean(cohort, products)))
        models.append(base)
    return models


def fedex_lora(batch, rank):
    """Average the factors and add the mean product minus the product of the means to the weights."""
    base, pair, models = W0, factors(rank), []
    for number, cohort in rounds():
        trained = [train_both(k, base, pair, Draws(number, 1, k).steps(STEPS, batch)) for k in cohort]
        pair = mean(cohort, trained)
        base = plus(base, times(ALPHA, minus(mean(cohort, [dot(*one) for one in trained]), dot(*pair))))
        models.append(model(base, *pair))
    return models


def rbla(batch, ranks, rank=2):
    """Average each column of A and row of B over the clients that have it; without any, it stays as it is."""
    (A, B), models = factors(rank), []
    for number, cohort in rounds():
        trained = {}
        for k in cohort:
            r = ranks[k]
            start = [row[:r] for row in A], B[:r]
            trained[k] = train_both(k, W0, start, Draws(number, 1, k).steps(STEPS, batch))
        A, B = [list(row) for row in A], [list(row) for row in B]
        for j in range(rank):
            having = [k for k in cohort if ranks[k] > j]
            if not having:
                continue
            parts = {k: Fraction(SHARES[k], sum(SHARES[i] for i in having)) for k in having}
            for i in range(3):
                A[i][j] = sum(part * trained[k][0][i][j] for k, part in parts.items())
            B[j] = [sum(part * trained[k][1][j][i] for k, part in parts.items()) for i in range(2)]
        models.append(model(W0, A, B))
    return models
