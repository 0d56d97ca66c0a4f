"""The spectrum of a network of one's own: numbers, tables, JSON, pictures, states on disk, and what is refused."""

import json
import tempfile
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from drawings import figures_of, picture
from recording import Within, refused
from torch import nn

from figures.spectrum import (
    as_json,
    checkpoint_quantities,
    checkpoints,
    measured_quantities,
    measured_spectrum,
    stored_states,
)
from figures.spectrum.measured_network import SpectrumRequest
from figures.spectrum.measured_spectrum_picture import draw_block_ranks, draw_spectrum_report
from hessian import Curvature, SpectrumSettings
from hessian.block_ranks import BlockRank
from hessian.operators.curvature import Cost
from hessian.quantities.names import read_quantities
from runs.networks.curvatures import SERVER

COST = Cost(products=12, seconds=3.21, gradient_seconds=0.5, check_seconds=0.75, together=4, fault="differ", workers=2)
HERE = __name__


def _network():
    """A network for the requests below."""
    torch.manual_seed(3)
    return nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 2)).double()


def _inputs():
    """Data for the requests below."""
    x = torch.sin(torch.arange(36.0, dtype=torch.float64)).reshape(12, 3)
    return x, torch.arange(12) % 2


def _request(**options):
    settings = SpectrumSettings(outliers=3, probes=2, steps=8, products=200, seed=1)
    return SpectrumRequest(f"{HERE}:_network", f"{HERE}:_inputs", **{"double": True, "settings": settings, **options})


@cache
def _measured(**options):
    found = measured_spectrum.measure_network(_request(**options))
    report = replace(found.report, seconds=dict.fromkeys(found.report.seconds, 1.5))
    return replace(found, cost=COST, report=report)


def summaries():
    yield measured_spectrum.summary(_measured()).splitlines()
    few = replace(_measured(), cost=replace(COST, together=1, fault="", workers=1), tied=(("b", "a"),))
    yield measured_spectrum.summary(few).splitlines()[-1], measured_spectrum._cost_line(few)


def json_of_a_spectrum():
    found = as_json.to_json(_measured())
    for name in (*as_json.environment(), "request"):
        found.pop(name)
    return Within(
        1e-4,
        {
            name: str(value) if name == "quadrature" else value
            for name, value in found.items()
            if name not in ("fit", "quadrature")
        },
    ), list(found)


def json_of_a_fit():
    fit = as_json.to_json(_measured())["fit"]
    return Within(1e-4, {name: value for name, value in fit.items() if name != "alternatives"}), [
        one["name"] for one in fit.get("alternatives", ())
    ]


def costs_in_json():
    return (
        as_json.cost_to_json(COST),
        list(as_json.environment()),
        as_json.SUBJECT,
        as_json.PACKAGES,
        as_json._rank(None),
    )


BLOCKS = (("", 9, (3.0, 2.5, 4.0), True), ("layer1", 20, (1.5, 1.4, 1.7), False), ("head", 4, None, True))


def _blocks():
    rank = _measured().report.stable_rank
    for name, P, values, reached in BLOCKS:
        some = (
            None
            if values is None
            else replace(rank, value=values[0], low=values[1], high=values[2], reached=reached, products=7)
        )
        yield BlockRank(name, P, some, "" if some else "it is zero")


def blocks_in_words():
    tied = (("b", "a"), ("c", "a"), ("d", "a"), ("e", "a"), ("f", "a"))
    blocks = tuple(_blocks())
    for names in ((), tied[:1], tied[:4], tied):
        yield measured_spectrum._block_lines(replace(_measured(), blocks=blocks, tied=names))
    yield measured_spectrum._block_lines(_measured()), measured_spectrum.tied_lines(())


def picture_of_blocks():
    return picture(draw_block_ranks, tuple(_blocks()), 0.9)


def picture_of_a_spectrum():
    return Within(1e-4, picture(draw_spectrum_report, _measured().report))


def picture_without_a_fit():
    return Within(1e-4, picture(draw_spectrum_report, replace(_measured().report, fit=None)))


def expected_products():
    for probes, steps, outliers, P in ((4, 60, 10, 10**6), (4, 60, 10, 30), (1, 5, 1, 100), (2, 10, 3, 40)):
        yield measured_spectrum.expected_products(SpectrumSettings(probes=probes, steps=steps, outliers=outliers), P)
    yield [measured_spectrum.expected_pair_products(pairs, 50) for pairs in (0, 5, 20)]


def errors_of_memory():
    for error in (RuntimeError("CUDA out of memory"), MemoryError("x"), RuntimeError("other"), ValueError("memory")):

        def fail(error=error):
            with measured_spectrum.explain_memory_errors():
                raise error

        yield refused(fail)


def networks_refused():
    for options in (
        {"model": "no_such_module:f"},
        {"loss": "none"},
        {"reduction": "sum"},
        {"parameters": ("x.*",)},
        {"batch_norm": "running"},
        {"device": "nowhere"},
    ):
        found = refused(
            lambda options=options: next(
                measured_spectrum.operators_of(replace(_request(), **options), (lambda model: None,))
            )
        )
        yield found if isinstance(found, str) else [found.P, found.samples]


def steps_of_operators():
    said = []
    states = (lambda model: None, lambda model: model[0].weight.data.zero_())
    found = [
        (one.P, one.samples, one.loss)
        for one in measured_spectrum.operators_of(_request(parameters=("2.*",)), states, said.append)
    ]
    return found, said


def stored_subjects():
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "spectrum.json"
        yield as_json.require_same_subject(path, _request())
        for change in (
            {},
            {"loss": "mse"},
            {"loss": "mse", "parameters": ("a",)},
            {"double": False},
            {"device": "x"},
            {"law": "m:f"},
        ):
            path.write_text(json.dumps({"request": as_json.plain(replace(_request(), **change)), "states": folder}))
            yield str(refused(as_json.require_same_subject, path, _request())).replace(folder, "FOLDER")
            yield str(refused(as_json.require_same_subject, path, _request(), Path(folder))).replace(folder, "FOLDER")
        yield str(refused(as_json.require_same_subject, path, replace(_request(), law="m:f"), Path("other"))).replace(
            folder, "FOLDER"
        )


def files_that_are_anothers():
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder)
        for name in (
            "spectrum.csv",
            "blocks.png",
            "checkpoints.csv",
            "quantities.json",
            "diagonal.npz",
            "checkpoint-quantities.pdf",
        ):
            (out / name).write_text("mine")
            asked = replace(
                _request(), settings=replace(_request().settings, quantities=read_quantities("trace,diagonal"))
            )
            plain = replace(_request(), settings=replace(_request().settings, quantities=read_quantities("trace")))
            for call, arguments in (
                (measured_spectrum.require_room, (_request(), out)),
                (measured_spectrum.require_room, (_request(blocks=0), out)),
                (measured_spectrum.require_room, (_request(), out, out)),
                (measured_quantities.require_quantities_room, (plain, out)),
                (measured_quantities.require_quantities_room, (asked, out)),
                (checkpoint_quantities.require_states_room, (plain, out, out)),
            ):
                yield name, str(refused(call, *arguments)).replace(folder, "FOLDER")[:60]
            (out / name).unlink()
        yield refused(checkpoint_quantities.require_states_room, asked, out, out)


@cache
def _quantities(names, blocks=None):
    settings = replace(_request().settings, quantities=read_quantities(names))
    return replace(measured_quantities.measure_quantities(_request(settings=settings, blocks=blocks)), cost=COST)


NAMES = "trace,sharpness,count-above=0.1,diagonal"


def quantities_in_words():
    found = _quantities(NAMES, 0)
    yield Within(
        1e-4,
        [line for line in measured_quantities.quantities_summary(found).splitlines() if not line.startswith("cost")],
    )
    yield measured_quantities.steps_of(found.request), measured_quantities.steps_of(_quantities("trace").request)
    yield [
        measured_quantities._name_options(text) for text in ("raise products", "raise steps", "raise basis", "raise it")
    ]


def quantities_in_json():
    found = measured_quantities.to_json(_quantities(NAMES, 0))
    for name in (*as_json.environment(), "request", "given_up_for_memory"):
        found.pop(name)
    return Within(1e-4, json.loads(json.dumps(found)))


def files_of_quantities():
    with tempfile.TemporaryDirectory() as folder:
        paths = measured_quantities.write_quantities(_quantities(NAMES, 0), Path(folder))
        arrays = np.load(Path(folder) / "diagonal.npz")
        yield [path.name for path in paths], list(arrays), Within(1e-4, [figures_of(arrays[name]) for name in arrays])
        yield [path.name for path in measured_quantities.write_quantities(_quantities("trace"), Path(folder) / "b")]


def _states(folder):
    for number, scale in ((2, 1.0), (10, 0.5)):
        model = _network()
        model[0].weight.data *= scale
        torch.save(model.state_dict(), Path(folder) / f"step{number}.pt")
    (Path(folder) / "notes.txt").write_text("x")
    torch.save({}, Path(folder) / "best.pt")


def spectra_at_stored_states():
    said, expected = [], []
    with tempfile.TemporaryDirectory() as folder:
        _states(folder)
        table = checkpoints.measure_checkpoints(
            _request(), Path(folder), said.append, lambda seconds, what: expected.append(what)
        )
        yield Within(
            1e-3,
            {
                name: [str(v) if isinstance(v, str) else float(v) for v in table[name]]
                for name in table
                if name not in ("gradients", "residual")
            },
        )
        yield (
            said[:3],
            expected,
            [
                line.partition("  ")[0]
                for line in checkpoints.checkpoints_summary(table.assign(gradients=3.0), 0.9, Path(folder)).splitlines()
            ][1:3],
            checkpoints.left_out_lines(Path(folder)),
        )


def spectra_of_a_server_and_clients():
    expected = []
    table = checkpoints._Table(_request(), None, lambda seconds, what: expected.append(what))
    x, y = _inputs()
    for number, client, rows in ((0, SERVER, 12), (0, 1, 5), (1, SERVER, 12)):
        model = _network()
        model[0].weight.data *= 1.0 - 0.1 * number
        operator = Curvature(model, nn.CrossEntropyLoss(), (x[:rows], y[:rows]))
        place = stored_states.Place({"number": number, "client": client}, f"round {number}", 5, client)
        table.add(place, operator)
        yield client, operator.cost().gradient_seconds == table._gradients[client], sorted(table._gradients)
    kept = ("number", "client", "samples", "place", "products", "warm", "value", "eigenvalue", "overlap", "missed")
    yield Within(1e-3, [[float(row[name]) for name in kept] for row in table.rows]), expected
    yield table.rows[-1]["gradients"] > operator.cost().gradients, operator.cost().check_seconds > 0.0


def quantities_at_stored_states():
    asked = replace(_request(), settings=replace(_request().settings, quantities=read_quantities("trace,sharpness")))
    with tempfile.TemporaryDirectory() as folder:
        _states(folder)
        table = checkpoint_quantities.measure_checkpoint_quantities(asked, Path(folder))
        yield Within(
            1e-3,
            {
                name: [str(v) if isinstance(v, str) else float(v) for v in table[name]]
                for name in table
                if name != "gradients"
            },
        )
    yield refused(checkpoint_quantities.require_numbers, read_quantities("density,trace,diagonal"))


def _table(of_run):
    rows = []
    for number in (0, 5):
        for client in (SERVER, 0, 1) if of_run else (SERVER,):
            for place in range(3):
                value = 4.0 + client + number / 10
                known = number > 0 or client != SERVER
                at = {"number": number, "client": client} if of_run else {"number": number, "file": f"s{number}.pt"}
                overlap = 0.9 - 0.1 * place if known else float("nan")
                rows.append(
                    {
                        **at,
                        "samples": 9,
                        "loss": 0.123456,
                        "value": value,
                        "low": value - 0.5,
                        "high": value + 1,
                        "largest": 3.0,
                        "frobenius": 6.0,
                        "place": place,
                        "eigenvalue": 3.0 - place,
                        "residual": 1e-4,
                        "missed": (0.0, 0.5, float("inf"))[place if number else 0],
                        "overlap": overlap,
                        "overlap_low": overlap - 0.2,
                        "overlap_high": overlap + 0.05,
                        "products": 40 + number,
                        "gradients": 7.6,
                        "warm": known,
                    }
                )
    return pd.DataFrame(rows)


def missed_eigenvalues_by_the_largest():
    """The norm decides, not the first eigenvalue, which may be of the other sign."""
    table, allowed = _table(False), 2e-4
    with tempfile.TemporaryDirectory() as folder:
        for largest in (1.0, 4.0):
            for missed in (0.5 * allowed, 2.0 * allowed, 7.0 * allowed, 9.0 * allowed):
                one = table.assign(largest=largest, eigenvalue=1.0, missed=missed)
                yield len(checkpoints.checkpoints_summary(one, 0.9, Path(folder)).splitlines())


def states_in_words():
    with tempfile.TemporaryDirectory() as folder:
        for of_run in (False, True):
            table = _table(of_run)
            yield checkpoints.checkpoints_summary(table, 0.9, Path(folder)).splitlines()
            yield checkpoints.checkpoints_summary(
                table.assign(missed=table.number / 10), 0.95, Path(folder)
            ).splitlines()[2:4]


def pictures_of_states():
    return [picture(checkpoints.draw_checkpoints, _table(of_run), 0.9) for of_run in (False, True)]


def _quantity_rows(of_run):
    rows = []
    for number in (0, 5):
        for client in (SERVER, 0) if of_run else (SERVER,):
            for name, value in (("trace", 4.0), ("sharpness", 2.0), ("count-below=0.1", 3.0), ("stable-rank", 1.5)):
                at = {"number": number, "client": client} if of_run else {"number": number, "file": "x"}
                value += number / 10 - client
                rows.append(
                    {
                        **at,
                        "samples": 9,
                        "loss": 0.5,
                        "quantity": name,
                        "value": value,
                        "low": value - 0.25,
                        "high": value + 0.5,
                        "reached": name != "trace",
                        "limit": "raise products" if name == "trace" else "",
                        "products": 12,
                        "gradients": 8.4,
                        "warm": number > 0,
                    }
                )
    return pd.DataFrame(rows)


def quantities_of_states_in_words():
    with tempfile.TemporaryDirectory() as folder:
        _states(folder)
        for of_run in (False, True):
            yield checkpoint_quantities.checkpoint_quantities_summary(
                _quantity_rows(of_run), _request(), Path(folder)
            ).splitlines()


def pictures_of_quantities():
    return [
        picture(checkpoint_quantities.draw_checkpoint_quantities, _quantity_rows(of_run), 0.99)
        for of_run in (False, True)
    ]


def names_of_clients():
    return [stored_states.name_of(client) for client in (SERVER, 0, 3)], str(stored_states.Place({"number": 1}, "x", 2))


def requests_by_default():
    return as_json.plain(SpectrumRequest("m:f", "d:f"))
