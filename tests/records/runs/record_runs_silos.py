"""Records of silos: norms of uploads, starts and evaluations, fingerprints, messages, facts, and what is refused."""

from types import SimpleNamespace

import torch
from hidden_folder import in_folder
from recording import refused

import rankproof
from algorithms.descent import Descent
from algorithms.exchange import Exchange
from algorithms.fedavg import local_descent
from algorithms.federation import Reply
from algorithms.fedlrt import FeDLRT
from algorithms.partial_sums import flatten
from algorithms.tree import Tree
from algorithms.weights import Added
from runs.silos.app import FILES, write_app
from runs.silos.expected import Rehearsal, ZeroLossClient, _of_one_step, describe_misfit
from runs.silos.guarded import check_losses
from runs.silos.norms import compare_norms, largest_norm, largest_number, largest_squarable, norm_of, sent_norm
from runs.silos.problem import RemoteClient, RemoteClients, SiloProblem, SiloSettings, local_loss
from runs.silos.registered import answered_kinds, describe_draw, find_draw, sent_kinds, work_name, works
from runs.silos.transport import AnswerPolicy
from runs.silos.wire import Limits, Message, Packed, pack, printable, read, to_json, unpack
from runs.stored import named_types

DOUBLE = torch.float64


def norms_of_uploads():
    for norms, sent in (
        ({0: 5.0}, {}),
        ({0: 5.0}, {0: 1.0}),
        ({0: 11.0, 1: 1.0}, {}),
        ({0: 1.1e3, 1: 1.0}, {}),
        ({0: 1.1e3, 1: 1.0}, {0: 2.0}),
        ({0: 999.0, 1: 1.0}, {0: 0.5, 1: 0.5}),
        ({0: 2e9, 1: 1.0}, {}),
        ({0: 10.0, 1: 1.0, 2: 0.5}, {}),
        ({0: 10.1, 1: 1.0, 2: 0.5}, {}),
        ({0: 900.0, 1: 1.0, 2: 30.0}, {}),
        ({0: 1001.0, 1: 1.0, 2: 0.9, 3: 0.8}, {}),
        ({0: 1.1e9, 1: 1.0, 2: 1.0}, {2: 3.0}),
        ({0: 1e4, 1: 1e4, 2: 1.0, 3: 1.0}, {}),
        ({0: 1e4, 1: 1e4, 2: 1.0, 3: 1.0}, {0: 1.0, 1: 1.0}),
        ({0: 1e10, 1: 1e10, 2: 1.0, 3: 1.0}, {0: 1e8}),
        ({0: 1.0, 1: 1e4, 2: 1e4}, {}),
        ({0: 2.0, 1: 20.0, 2: 200.0, 3: 2000.0, 4: 20000.0}, {}),
    ):
        yield [tuple(one) for one in compare_norms(norms, sent).values()]


def norms_of_values():
    tree = Tree({"a": torch.tensor([3.0, -4.0]), "b": torch.tensor([-12.0]), "n": torch.tensor([100])})
    yield norm_of(tree), norm_of({}), largest_norm([]), largest_norm([tree, torch.ones(4)])
    yield [largest_number(torch.tensor(values)) for values in ([1.0, -3.0], [], [-2.0, 1.0])]
    for kind in (torch.float64, torch.float32, torch.float16, torch.bfloat16):
        yield [largest_squarable(torch.ones(size, dtype=kind)) for size in (0, 1, 4)]
    sent = {"w": torch.ones(2), "v": torch.full((2,), 3.0), "x": torch.ones(3), "steps": 3}
    yield [sent_norm(sent, upload) for upload in (torch.ones(2), torch.ones(3), torch.ones(1), tree)]


def messages_and_their_limits():
    message = Message(to_json({"a": [1, {"b": None}]}), {"t": b"1234", "u": b"5"})
    yield message.size, read(message, Limits())
    for limits in (
        {"bytes": 4},
        {"bytes": 5},
        {"text": 20},
        {"text": len(message.text)},
        {"blobs": 1},
        {"blobs": 2},
        {"depth": 2},
        {"depth": 3},
    ):
        yield refused(read, message, Limits(**limits))
    for text in ("[1]", "{", '{"a": NaN}', "1"):
        yield refused(read, Message(text, {}), Limits())
    for number in (0.5, 10**20, float("nan"), float("inf"), -float("inf")):
        yield refused(to_json, {"a": [number]})[:10]
    for most in (1e-7, 1e-6, 1, 0.5, 1e9, 1.1e9, True, "1", float("nan")):
        found = refused(Limits.of_megabytes, most)
        yield found if isinstance(found, str) else found.bytes
    yield printable("a\nb\x1b" + "c" * 600)[-3:], len(printable("x" * 501)), printable("abc", 2), Limits()


def values_that_are_packed():
    kinds, x = named_types(), torch.arange(6.0, dtype=DOUBLE).reshape(2, 3)
    for value in (
        {"a": (1, x)},
        Tree({"w": x.T}),
        Added(x, 2.0, x[:, :1], x[:1]),
        x[:1].expand(40, 3),
        [None, "x", True],
    ):
        packed = pack(value, kinds)
        again = Packed.from_bytes(packed.as_bytes)
        yield packed.structure, again == packed, len(packed.digest), type(unpack(again, kinds)).__name__
    for value in (object(), {"a": float("nan")}, {2.5: 1}, {1, 2}):
        yield refused(pack, value, kinds)
    blob = pack({"a": x}, kinds).blob
    references = [["0"], ["1"], "0", ["0", [3, 1], 0], ["0", [3, 1], 64], ["0", [3], 0], ["0", [3, -1], 0]]
    references += [["0", [200, 1], 0], ["0", [20, 1], 63], ["0", [1, 1], 1.0], ["0", [155, 1], 5], ["0", [160, 1], 0]]
    for reference in references:
        found = refused(unpack, Packed({"tensor": reference}, blob), kinds)
        yield found if isinstance(found, str) else [found.shape, found.stride()]
    yield refused(unpack, Packed({"value": 1}, b"x"), kinds), refused(Packed.from_bytes, b"\x03" + b"\0" * 7 + b"{x}")


def work_that_is_registered():
    yield sorted(works()), len(answered_kinds()), len(sent_kinds()), work_name(local_descent)
    draw = Descent(steps=2, learning_rate=0.1).draw
    described = describe_draw(draw)
    yield described["by"], find_draw(described) == draw, describe_draw(None), find_draw(None)
    yield [refused(find_draw, given) for given in (3, {"by": "loss", "of": 1}, {"by": "draw", "of": 1}, {"of": draw})]
    yield refused(describe_draw, max).partition("<")[0], refused(describe_draw, "x".upper).partition("<")[0]


def policies_at_their_borders():
    for given in (
        {},
        {"seconds": 0.0},
        {"seconds": 1e-9},
        {"seconds": float("inf")},
        {"again": -1},
        {"again": True},
        {"again": "5"},
        {"least": 0},
        {"least": 1},
        {"least": 1.5},
        {"wrong": "left out"},
        {"wrong": "leave"},
    ):
        yield refused(AnswerPolicy, **given)


def names_of_silos():
    for silos, clients in (
        ("a, b", 2),
        ("a,b", 3),
        ("a,a", 2),
        ("a,", 2),
        ("a", 1),
        ("a|b,c", 2),
        ("a'", 1),
        ("a\n", 1),
        ("ü x,y", 2),
        ("", 0),
    ):
        found = refused(SiloSettings, silos, clients)
        yield found if isinstance(found, str) else found.names
    yield SiloSettings.suggest({}), refused(SiloSettings("a", 1).build, 0)


def a_problem_of_remote_clients():
    known = RemoteClients(
        (RemoteClient("a", 3.0, False, frozenset(), "ab"), RemoteClient("b", 2.0, True, frozenset({"m"})))
    )
    start = Tree({"w": torch.arange(4, dtype=DOUBLE).reshape(2, 2)})
    for made in (SiloProblem(known, start), SiloProblem(known, start, lambda w: {"loss": 2, "size": 4.0}, "0123")):
        yield made.given, made.shares, len(made.clients), made.clients.sizes, made.clients[1].name
    yield made.evaluate(start, None), refused(known[0].loss, start)
    client = SimpleNamespace(loss=lambda w, batch=None: w["w"].sum().float(), takes_values=False)
    reply = local_loss(client, None, {"w": torch.ones(2)})
    yield reply.upload, reply.upload.dtype, reply.keep


def losses_that_are_checked():
    class Client:
        samples, statistics = 3, frozenset({"m"})

        def __init__(self, loss):
            self.function = loss

        def loss(self, w, batch=None):
            return self.function(w, batch)

    w = {"w": torch.ones(2, requires_grad=True), "m": torch.zeros(2)}
    for loss in (
        lambda w, batch: w["w"].sum(),
        lambda w, batch: w["w"],
        lambda w, batch: 3.0,
        lambda w, batch: w["m"].sum(),
        lambda w, batch: w["w"].detach().sum(),
        lambda w, batch: w["m"].add_(1.0).sum() + w["w"].sum(),
        lambda w, batch: w["w"] @ torch.ones(2, dtype=DOUBLE),
        lambda w, batch: w["w"].sum() if batch is None else torch.zeros(()),
        lambda w, batch: 1 / 0,
    ):
        checked = check_losses(Client(loss))
        yield (
            refused(checked.loss, w),
            refused(checked.loss, w, torch.tensor([0])),
            type(checked).__name__,
            checked.samples,
        )


def _trip(work, sent, cohort=(0, 1), each=None, then=None, **named):
    return Exchange(
        **{"round": 1, "number": 1, "work": work, "cohort": cohort, "clients": [], "sent": sent, "each": each or {}},
        **{"then": then, "seed": 0, "draw": None, "kept": {}, "personal": {}, "equipped": {}, "shared": {}, **named},
    )


def uploads_that_are_expected():
    w = Tree({"w": torch.ones(3, 2, dtype=DOUBLE)})

    def work(client, memory, w, local):
        loss = client.loss(w)
        return Reply(upload={"w": w["w"][: memory.number + 1], "loss": loss}, keep={"k": w}, personal={"p": 1})

    rehearsal = Rehearsal(ZeroLossClient())
    local = Descent(steps=5, learning_rate=0.1, epochs=2, batch=4)
    found = rehearsal.expect(_trip(work, {"w": w, "local": local}))
    for number, one in found.items():
        yield number, one.size, one.keep, one.personal, [list(shape) for shape, _ in one.upload.leaves]
    yield rehearsal.expect(_trip(lambda client, memory, **sent: client.data, {"w": w}))
    yield [_of_one_step(value) for value in (local, 3, FeDLRT(local=local, rank=2).local)]
    client = ZeroLossClient(True, frozenset({"m"}))
    yield client.loss({"w": w["w"]}), client.loss_and_statistics({"w": w["w"], "m": w["w"][0]})[1], client.samples


def forms_that_do_not_fit():
    x = torch.ones(3, 2)
    (_, right), forms = flatten({"a": x}, 0), []
    for upload in ({"a": x}, {"b": x}, {"a": x[:2]}, {"a": torch.ones(4, 2)}, {"a": x.double()}, {"a": x[0]}):
        form = flatten(upload, 0)[1]
        forms.append([describe_misfit(form, right, exactly) for exactly in (True, False)])
    return forms


@in_folder
def an_app_that_is_written(folder):
    paths = write_app(folder / "My Hospitals", "mfedloru", ["north", "south", "east"])
    yield [str(path) for path in paths], FILES
    for path in paths[:2]:
        yield path.read_text()
    for algorithm, silos in (
        ("fedavg", ["a", "a"]),
        ("fedavg", ["-a"]),
        ("fedavg", []),
        ("central", ["a"]),
        ("fedavgg", ["a"]),
    ):
        yield refused(
            lambda algorithm, silos: len(write_app(folder / "new" / algorithm, algorithm, silos)), algorithm, silos
        )
    yield refused(write_app, folder / "My Hospitals", "fedavg", ["a"])


@in_folder
def addresses_of_a_gate_for_a_new_app(folder):
    for number, given in enumerate(([], ["--listen", "127.0.0.1:1"], ["--superlink", "127.0.0.1:1"])):
        place = folder / f"app {number}"
        yield rankproof.main(["flower", "new", str(place), *given]), place.exists()
