"""The papers' algorithm boxes in exact fractions, for a small federation, without any of the code under test.

Three clients with three samples each; client k has the loss 1/2 (<D_i, W> - y_i)^2, averaged over a batch; its gradient
is the mean of (<D_i, W> - y_i) D_i. W is 3 x 2. Cohorts change from round to round and shares are unequal. Batches are
drawn as the code documents it: from (seed, round, trip, client), a permutation for each step.
"""

from fractions import Fraction

import numpy as np

SEED, ROUNDS, SAMPLES = 7, 3, 3
SHARES = (3, 1, 2)
COHORTS = ((0, 1), (1, 2), (0, 2))
D = (
    ((((1, 0), (2, -1), (0, 1))), (((0, 1), (1, 1), (-1, 0))), (((2, 0), (0, -1), (1, 1)))),
    ((((-1, 1), (0, 1), (1, 0))), (((1, 2), (0, 0), (0, -1))), (((0, -1), (1, 0), (1, 2)))),
    ((((1, 1), (1, 0), (0, -1))), (((0, 2), (-1, 0), (1, 0))), (((1, -1), (0, 0), (2, 1)))),
)
Y = ((2, -1, 1), (0, 3, -2), (1, 1, 4))
W0 = ((Fraction(1), Fraction(-1, 2)), (Fraction(0), Fraction(1)), (Fraction(1, 4), Fraction(1, 2)))
RATE, ALPHA = Fraction(1, 16), Fraction(3, 2)
STEPS, PERSONAL_STEPS = 2, 1


def factors(rank, turn=0, own=False):
    """Return given factors, A (3 x rank) and B (rank x 2), which differ between turns and from personal ones."""
    shift = turn + (5 if own else 0)
    A = [[Fraction((i + 2 * j + shift) % 5 - 2, 4) for j in range(rank)] for i in range(3)]
    B = [[Fraction((3 * i + j + 2 * shift) % 7 - 3, 8) for j in range(2)] for i in range(rank)]
    return A, B


def nested(rank, ranks, turn):
    """Return given nested factors: A_d (3 x r_A), A_u (r_A x rank), B_d (rank x r_B), B_u (r_B x 2)."""
    a, b = ranks
    return (
        [[Fraction((i + j + turn) % 3 - 1, 8) for j in range(a)] for i in range(3)],
        [[Fraction((i + 2 * j + turn) % 4 - 1, 2) for j in range(rank)] for i in range(a)],
        [[Fraction((2 * i + j + turn) % 3 - 1, 2) for j in range(b)] for i in range(rank)],
        [[Fraction((i + j + 2 * turn) % 3, 8) for j in range(2)] for i in range(b)],
    )


def plus(*matrices):
    return [[sum(entries, Fraction(0)) for entries in zip(*rows, strict=True)] for rows in zip(*matrices, strict=True)]


def times(c, A):
    return [[c * entry for entry in row] for row in A]


def minus(A, B):
    return plus(A, times(Fraction(-1), B))


def dot(A, B):
    columns = list(zip(*B, strict=True))
    return [[sum((a * b for a, b in zip(row, column, strict=True)), Fraction(0)) for column in columns] for row in A]


def T(A):
    return [list(column) for column in zip(*A, strict=True)]


def zero(A):
    return times(Fraction(0), A)


def slope(k, W, batch=range(SAMPLES)):
    """Return the gradient of client k in W, over a batch or over all samples."""
    batch = list(batch)
    off = {
        i: sum(d * w for ds, ws in zip(D[k][i], W, strict=True) for d, w in zip(ds, ws, strict=True)) - Y[k][i]
        for i in batch
    }
    return times(Fraction(1, len(batch)), plus(*(times(off[i], D[k][i]) for i in batch)))


def mean(cohort, uploads):
    """Return the mean of matrices or tuples of matrices, weighted by the shares normalised over the cohort."""
    total = sum(SHARES[k] for k in cohort)
    if isinstance(uploads[0], tuple):
        return tuple(mean(cohort, list(parts)) for parts in zip(*uploads, strict=True))
    return plus(*(times(Fraction(SHARES[k], total), upload) for k, upload in zip(cohort, uploads, strict=True)))


class Draws:
    """The batches of a client in an exchange, in the order in which they are used."""

    def __init__(self, number, exchange, k):
        self.rng = np.random.default_rng([SEED, number, exchange, k])

    def steps(self, count, batch):
        """Return the samples of each step; without batches, all samples."""
        if batch is None:
            return [range(SAMPLES)] * count
        return [self.rng.permutation(SAMPLES)[:batch].tolist() for _ in range(count)]


def step(values, slopes):
    """Take one step on a grid of 2^-200; otherwise products would have millions of digits after three rounds."""
    stepped = (minus(value, times(RATE, change)) for value, change in zip(values, slopes, strict=True))
    return tuple([[Fraction(round(entry * 2**200), 2**200) for entry in row] for row in matrix] for matrix in stepped)


def in_both(k, base, A, B, batch):
    """Return the gradients in A and B at base + alpha A B."""
    G = slope(k, plus(base, times(ALPHA, dot(A, B))), batch)
    return times(ALPHA, dot(G, T(B))), times(ALPHA, dot(T(A), G))


def train_both(k, base, pair, batches):
    for batch in batches:
        pair = step(pair, in_both(k, base, *pair, batch))
    return pair


def rounds():
    return zip(range(1, ROUNDS + 1), COHORTS, strict=True)


def fedavg(batch):
    W, models = W0, []
    for number, cohort in rounds():
        uploads = []
        for k in cohort:
            w = W
            for chosen in Draws(number, 1, k).steps(STEPS, batch):
                (w,) = step((w,), (slope(k, w, chosen),))
            uploads.append(w)
        W = mean(cohort, uploads)
        models.append(W)
    return models


def fedlin(batch, as_printed=False):
    """Step by W - rate (grad_c(W) + G - G_c), or as printed by W - rate grad_c(W) + (G - G_c)."""
    W, models = W0, []
    for number, cohort in rounds():
        G, uploads = mean(cohort, [slope(k, W) for k in cohort]), []
        for k in cohort:
            w, V = W, minus(G, slope(k, W))
            for chosen in Draws(number, 2, k).steps(STEPS, batch):
                g = slope(k, w, chosen)
                w = plus(minus(w, times(RATE, g)), V) if as_printed else minus(w, times(RATE, plus(g, V)))
            uploads.append(w)
        W = mean(cohort, uploads)
        models.append(W)
    return models


def fedprox(batch, mu):
    """Step by W - rate (grad(W) + mu (W - the server's W))."""
    W, models = W0, []
    for number, cohort in rounds():
        uploads = []
        for k in cohort:
            w = W
            for chosen in Draws(number, 1, k).steps(STEPS, batch):
                (w,) = step((w,), (plus(slope(k, w, chosen), times(mu, minus(w, W))),))
            uploads.append(w)
        W = mean(cohort, uploads)
        models.append(W)
    return models


def scaffold(batch, server_rate, control):
    """Step by W - rate (grad(W) - c_k + c); c stays the weighted sum of all clients' c_k."""
    W, c, own, models = W0, zero(W0), {k: zero(W0) for k in range(3)}, []
    for number, cohort in rounds():
        uploads, new = [], dict(own)
        for k in cohort:
            w = W
            for chosen in Draws(number, 1, k).steps(STEPS, batch):
                (w,) = step((w,), (plus(slope(k, w, chosen), minus(c, own[k])),))
            walked = times(1 / (STEPS * RATE), minus(W, w))
            new[k] = plus(own[k], times(Fraction(-1), c), walked) if control == "steps" else slope(k, W)
            uploads.append(w)
        own = new
        W = plus(W, times(server_rate, minus(mean(cohort, uploads), W)))
        c = mean(range(3), [own[k] for k in range(3)])
        models.append(W)
    return models


def model(base, A, B):
    return plus(base, times(ALPHA, dot(A, B)))


def fedlora(batch, rank=1):
    pair, models = factors(rank), []
    for number, cohort in rounds():
        pair = mean(cohort, [train_both(k, W0, pair, Draws(number, 1, k).steps(STEPS, batch)) for k in cohort])
        models.append(model(W0, *pair))
    return models


def rolora(batch, rank=1, frozen_a=False):
    """Train B with A frozen, then A with the new B frozen; FFA-LoRA omits the second half."""
    (A, B), models = factors(rank), []
    for number, cohort in rounds():
        uploads = []
        for k in cohort:
            b = B
            for chosen in Draws(number, 1, k).steps(STEPS, batch):
                (b,) = step((b,), (in_both(k, W0, A, b, chosen)[1],))
            uploads.append(b)
        B = mean(cohort, uploads)
        if not frozen_a:
            uploads = []
            for k in cohort:
                a = A
                for chosen in Draws(number, 2, k).steps(STEPS, batch):
                    (a,) = step((a,), (in_both(k, W0, a, B, chosen)[0],))
                uploads.append(a)
            A = mean(cohort, uploads)
        models.append(model(W0, A, B))
    return models


def fedsa_lora(batch, rank=1):
    """Train A and the client's own B at once; only A is averaged. The server keeps the first B."""
    A, first = factors(rank)
    own, models = dict.fromkeys(range(3), first), []
    for number, cohort in rounds():
        uploads = []
        for k in cohort:
            a, own[k] = train_both(k, W0, (A, own[k]), Draws(number, 1, k).steps(STEPS, batch))
            uploads.append(a)
        A = mean(cohort, uploads)
        models.append(model(W0, A, first))
    return models, [model(W0, A, own[k]) for k in range(3)]


def frlora(batch, rank=1):
    """Train from the first factors in every round, and add the change of the averages' product."""
    first, models = factors(rank), []
    base = model(W0, times(Fraction(-1), first[0]), first[1])
    for number, cohort in rounds():
        A, B = mean(cohort, [train_both(k, base, first, Draws(number, 1, k).steps(STEPS, batch)) for k in cohort])
        base = plus(base, times(ALPHA, minus(dot(A, B), dot(*first))))
        models.append(model(base, *first))
    return models


def middle(rank):
    """Return a given factor R."""
    return [[Fraction((i + 2 * j) % 3 - 1, 2) for j in range(rank)] for i in range(rank)]


def fed_sb(batch, rank=2):
    """Train R in W0 + alpha A R B with given A, R and B."""
    (A, B), R, models = factors(rank), middle(rank), []
    for number, cohort in rounds():
        uploads = []
        for k in cohort:
            r = R
            for chosen in Draws(number, 1, k).steps(STEPS, batch):
                G = slope(k, model(W0, dot(A, r), B), chosen)
                (r,) = step((r,), (times(ALPHA, dot(dot(T(A), G), T(B))),))
            uploads.append(r)
        R = mean(cohort, uploads)
        models.append(model(W0, dot(A, R), B))
    return models


def entrywise(A, B):
    return [[a * b for a, b in zip(*rows, strict=True)] for rows in zip(A, B, strict=True)]


def low(rank, turn):
    """Return given factors of a low-rank weight, X (3 x rank) and Y (2 x rank)."""
    A, B = factors(rank, turn)
    return A, [[2 * entry + Fraction(1, 4) for entry in row] for row in T(B)]


def fedpara(batch, personal, rank=2):
    """Train X and Y of W1 * W2, or of W1 * (W2 + 1), whose W2 stays with its client."""
    one = [[Fraction(int(personal))] * 2] * 3
    first, second = low(rank, 0), low(rank, 3)
    own, models = dict.fromkeys(range(3), second), []

    def product(U, V):
        return entrywise(dot(U[0], T(U[1])), plus(dot(V[0], T(V[1])), one))

    for number, cohort in rounds():
        uploads = []
        for k in cohort:
            U, V = first, own[k] if personal else second
            for chosen in Draws(number, 1, k).steps(STEPS, batch):
                G = slope(k, product(U, V), chosen)
                in_U, in_V = entrywise(G, plus(dot(V[0], T(V[1])), one)), entrywise(G, dot(U[0], T(U[1])))
                slopes = dot(in_U, U[1]), dot(T(in_U), U[0]), dot(in_V, V[1]), dot(T(in_V), V[0])
                moved = step((*U, *V), slopes)
                U, V = moved[:2], moved[2:]
            own[k] = V
            uploads.append(U if personal else (*U, *V))
        averaged = mean(cohort, uploads)
        first, second = averaged[:2], averaged[2:] or second
        models.append(dot(first[0], T(first[1])) if personal else product(first, second))
    return models, [product(first, own[k]) for k in range(3)]


def restarted(restart, rank, A, B, turn):
    return {"momentum": (A, B), "keep A": (A, zero(B)), "random": factors(rank, turn)}[restart]


def fedloru(batch, rank=1, tau=2, restart="random"):
    base, pair, models = W0, factors(rank), []
    for number, cohort in rounds():
        pair = mean(cohort, [train_both(k, base, pair, Draws(number, 1, k).steps(STEPS, batch)) for k in cohort])
        if number % tau == 0:
            base = model(base, *pair)
            pair = restarted(restart, rank, *pair, number)
        models.append(model(base, *pair))
    return models


def pfedloru(batch, personal_batch, rank=1, tau=2, restart="random"):
    """Train L, U at the server's A, B, then A, B with the new L, U frozen. L U has a different scale."""
    base, (A, B), models = W0, factors(rank), []
    own = dict.fromkeys(range(3), factors(1, own=True))
    scale = Fraction(1, 2)
    for number, cohort in rounds():
        uploads = []
        for k in cohort:
            draws = Draws(number, 1, k)
            first, second = draws.steps(PERSONAL_STEPS, personal_batch), draws.steps(STEPS, batch)
            L, U = own[k]
            for chosen in first:
                G = slope(k, plus(model(base, A, B), times(scale, dot(L, U))), chosen)
                L, U = step((L, U), (times(scale, dot(G, T(U))), times(scale, dot(T(L), G))))
            own[k] = L, U
            uploads.append(train_both(k, plus(base, times(scale, dot(L, U))), (A, B), second))
        A, B = mean(cohort, uploads)
        if number % tau == 0:
            base = model(base, A, B)
            A, B = restarted(restart, rank, A, B, number)
        models.append(model(base, A, B))
    return models, [plus(models[-1], times(scale, dot(*own[k]))) for k in range(3)]


def mfedloru(batch, ranks, rank=2, tau=2, nested_scale=Fraction(1, 2)):
    """Train A_d, A_u, B_d, B_u at W + alpha (A + a A_d A_u)(B + b B_d B_u) at each client, eq. (82)."""
    base, (A, B), models = W0, factors(rank), []
    for number, cohort in rounds():
        uploads = []
        for k in cohort:
            batches = Draws(number, 1, k).steps(STEPS, batch)
            if ranks[k] is None:
                uploads.append(train_both(k, base, (A, B), batches))
                continue
            a, b = (nested_scale * r for r in ranks[k])
            parts = nested(rank, ranks[k], number - 1)
            for chosen in batches:
                A_d, A_u, B_d, B_u = parts
                changed = plus(A, times(a, dot(A_d, A_u))), plus(B, times(b, dot(B_d, B_u)))
                in_A, in_B = in_both(k, base, *changed, chosen)
                parts = step(
                    parts,
                    (
                        times(a, dot(in_A, T(A_u))),
                        times(a, dot(T(A_d), in_A)),
                        times(b, dot(in_B, T(B_u))),
                        times(b, dot(T(B_d), in_B)),
                    ),
                )
            A_d, A_u, B_d, B_u = parts
            uploads.append((plus(A, times(a, dot(A_d, A_u))), plus(B, times(b, dot(B_d, B_u)))))
        A, B = mean(cohort, uploads)
        if number % tau == 0:
            base = model(base, A, B)
            A, B = factors(rank, number)
        models.append(model(base, A, B))
    return models


def pfedlora(batch, personal_batch, jointly):
    """Train L, U at the server's W and then W with L, U frozen (variant 1), or all three together (variant 2)."""
    W, own, models = W0, dict.fromkeys(range(3), factors(1, own=True)), []
    scale = Fraction(1, 2)
    for number, cohort in rounds():
        uploads = []
        for k in cohort:
            draws, w, (L, U) = Draws(number, 1, k), W, own[k]
            if jointly:
                for chosen in draws.steps(STEPS + PERSONAL_STEPS, batch):
                    G = slope(k, plus(w, times(scale, dot(L, U))), chosen)
                    w, L, U = step((w, L, U), (G, times(scale, dot(G, T(U))), times(scale, dot(T(L), G))))
            else:
                first, second = draws.steps(PERSONAL_STEPS, personal_batch), draws.steps(STEPS, batch)
                for chosen in first:
                    G = slope(k, plus(w, times(scale, dot(L, U))), chosen)
                    L, U = step((L, U), (times(scale, dot(G, T(U))), times(scale, dot(T(L), G))))
                for chosen in second:
                    (w,) = step((w,), (slope(k, plus(w, times(scale, dot(L, U))), chosen),))
            own[k] = L, U
            uploads.append(w)
        W = mean(cohort, uploads)
        models.append(W)
    return models, [plus(W, times(scale, dot(*own[k]))) for k in range(3)]
