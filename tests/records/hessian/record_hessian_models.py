"""Records of models as functions of parameters, of files of weights, and of names on a command line."""

import tempfile
from pathlib import Path

import torch
from recording import refused
from torch import nn

from hessian.loss import factories, graphs, model_state, output_curvature, product_rounding, routes, state_files
from hessian.loss.traced_calls import contents_digest, graph_digest

FLOAT, DOUBLE, HALF = torch.float32, torch.float64, torch.float16


def _fill(model):
    """Give a model weights that do not depend on the processor's random numbers in single precision."""
    with torch.no_grad():
        for number, p in enumerate(model.parameters()):
            p.copy_(torch.arange(p.numel(), dtype=torch.float64).add(1.7 * number).sin().reshape(p.shape))
    return model


def _model():
    return _fill(nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 2, bias=False)).double())


def parameters_selected():
    for selection in (None, "0.*", ["2.weight", "0.bias"], "0.weight", "*.weight", "[02].b*"):
        yield [
            (name, p.requires_grad, tuple(p.shape))
            for name, p in model_state.select_parameters(_model(), selection).items()
        ]
    odd = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    odd[0].requires_grad_(False)
    yield list(model_state.select_parameters(odd, None)), list(model_state.select_parameters(odd, "0.*"))
    yield (
        model_state.match_names(["a.b", "a.*", "a[1]", "ab"], "a.*"),
        model_state.match_names(["a.b", "a.c", "ab"], "a.*"),
    )
    yield model_state.match_names(["a", "b"], ["c"], {"c": "b", "d": "e"}), model_state.match_names(["A", "a"], "a")


def refused_parameters():
    frozen = _model().requires_grad_(False)
    mixed = nn.Sequential(nn.Linear(1, 1), nn.Linear(1, 1).double())
    broken = _model()
    with torch.no_grad():
        broken[0].bias[1] = torch.inf
    for model in (nn.ReLU(), frozen, mixed, broken, _model().half(), _model().to("meta"), nn.LazyLinear(2)):
        yield refused(lambda model=model: list(model_state.select_parameters(model, None)))
    for selection in ("x", [], 3, [3], ["0.bias", "y.*"], ""):
        yield refused(lambda selection=selection: list(model_state.select_parameters(_model(), selection)))
    whole = nn.Linear(1, 1)
    whole.weight = nn.Parameter(torch.ones(1, 1, dtype=torch.int64), requires_grad=False)
    whole.bias.requires_grad_(False)
    yield refused(model_state.select_parameters, whole, None), refused(model_state.select_parameters, whole, "weight")


def modes_that_are_refused():
    for model in (
        *(
            nn.Sequential(nn.Dropout(0.1)),
            nn.Sequential(nn.Dropout(0.0)),
            nn.Dropout(0.1),
            nn.LSTM(2, 2, 2, dropout=0.2),
            nn.RReLU(),
        ),
        *(
            nn.RReLU(0.2, 0.2),
            nn.Sequential(nn.BatchNorm1d(2)),
            nn.Sequential(nn.BatchNorm1d(2, track_running_stats=False)),
        ),
    ):
        for policy in (None, "running", "batch"):
            yield (
                refused(model_state.check_modes, model, policy),
                refused(model_state.check_modes, model.eval(), policy),
            )
            model.train()
    yield refused(model_state.check_modes, _model(), "x")


def parts_of_models():
    tied = _model()
    tied.other = tied[0]
    yield model_state.aliases(tied), model_state.owner("a.b.c"), model_state.owner("a"), model_state.aliases(_model())
    lookup = nn.ModuleDict(
        {"a": nn.Embedding(5, 2, padding_idx=3), "b": nn.EmbeddingBag(4, 2), "c": nn.Embedding(5, 2, padding_idx=-1)}
    )
    yield (
        model_state.padding_rows(lookup, ["b.weight", "c.weight", "a.weight"]),
        model_state.padding_rows(lookup, ["b.weight"]),
    )
    lookup["c"].weight = lookup["a"].weight
    yield model_state.padding_rows(lookup, ["a.weight"])
    normed = nn.utils.parametrizations.weight_norm(nn.Linear(2, 2))
    yield model_state.has_weight_norm(nn.Sequential(normed)), model_state.has_weight_norm(_model())


def models_at_other_parameters():
    model = _model()
    model.register_buffer("steps", torch.zeros(1))
    chosen = model_state.select_parameters(model, "2.*")
    pure = model_state.PureModel(model, nn.MSELoss(), chosen, None)
    x = torch.ones(1, 2, dtype=DOUBLE)
    yield pure.run(lambda: pure((x,), {})), pure.run(lambda: pure((x,), {}), [2.0 * chosen["2.weight"]])
    yield (
        pure.modes,
        len(pure.constants()),
        len(pure.constant_contents()),
        pure.holds_others_fixed(),
        pure.find_half_precision(),
        pure.find_other_dtype(),
    )
    yield refused(pure.require_unchanged), refused(pure.require_kept)
    single = pure.run(lambda: str(pure((x.float(),), {}).dtype), [chosen["2.weight"].float()])
    model[0].bias.data = model[0].bias.data.half()
    half = model_state.PureModel(model, nn.MSELoss(), chosen, None)
    yield single, half.find_half_precision(), half.find_other_dtype()
    with torch.no_grad():
        model[2].weight.mul_(2.0)
    yield refused(pure.require_unchanged), refused(pure.require_kept)
    model[1] = nn.Tanh()
    yield (
        refused(model_state.PureModel(_model(), nn.MSELoss(), chosen, None).require_unchanged),
        str(refused(pure.require_unchanged)),
    )


def _folder(names, call):
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            (Path(folder) / name).touch()
        found = refused(call, Path(folder))
        if isinstance(found, dict):
            return {number: path.name for number, path in found.items()}
        return found.replace(folder, "FOLDER") if isinstance(found, str) else found


ORDERS = (
    *(
        ["step-10.pt", "step-9.pt", "notes.txt"],
        ["a1.pt", "a2.PTH", "a10.bin"],
        ["epoch-1-step-9.pt", "epoch-2-step-5.pt"],
    ),
    *(
        ["epoch-1-step-5.pt", "epoch-2-step-9.pt"],
        ["resnet18_100.pt", "resnet18_20.pt"],
        ["model-2024-01-31.pt", "model-2024-02-01.pt"],
    ),
    *(
        ["step1_000.pt"],
        ["step-1e3.pt"],
        ["step-1k.pt", "step-2k.pt"],
        ["x-5.pt"],
        ["a-1.pt", "b-1.pt"],
        ["iter 7.pt", "Iter_12.pt"],
    ),
    *(
        ["m-00001-of-00002.safetensors"],
        ["model.pt"],
        [],
        ["rounds=3.pt", "rounds=21.pt"],
        ["it5.pt", "it40.pt"],
        ["238_7a8882.pt", "666_dbd6fe.pt"],
    ),
    *(
        ["step-1.5.pt"],
        ["w 1 000.pt"],
        ["epoch1_step10.pt", "epoch1_step20.pt"],
        ["ep2.pt", "ep10.pt"],
        ["100.pt", "20.pt", "x.ckpt", "weights.bin"],
    ),
)


def files_of_weights_in_order():
    for names in ORDERS:
        yield names, _folder(names, state_files.numbered_states), _folder(names, state_files.order_of_states)
    yield _folder(["a.ckpt", "step-1.pt", "b.H5", "c.bin", "readme.md"], state_files.left_out_states)
    yield str(refused(state_files.numbered_states, Path("no such folder")))


def _load(state, model=None):
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "step-1.pt"
        torch.save(state, file)
        model = _model() if model is None else model
        found = refused(state_files.load_state, model, file)
        return found.replace(str(file), "FILE")[:260] if isinstance(found, str) else model[0].weight.flatten()[:2]


def weights_loaded_and_refused():
    own = _model().state_dict()
    change = {name: 2.0 * tensor for name, tensor in own.items()}
    yield _load(change), _load({**change, "x": 3}), _load([1, 2]), _load({**change, "0._extra_state": 3})
    yield _load({**change, "0.weight": own["0.weight"].float()}), _load({**change, "0.weight": own["0.weight"].long()})
    yield (
        _load({**change, "0.weight": own["0.weight"].to_sparse()}),
        _load({**change, "0.weight": own["0.weight"].to("meta")}),
    )
    single = nn.Sequential(nn.Linear(2, 2))
    large = {"0.weight": torch.full((2, 2), 1e300, dtype=DOUBLE), "0.bias": torch.zeros(2)}
    yield (
        _load(large, single),
        _load({"0.weight": torch.full((2, 2), 1e-60, dtype=DOUBLE), "0.bias": torch.zeros(2)}, single),
    )
    yield _load(
        {**large, "0.weight": torch.tensor([[1.0, 1e-60], [0.1, 2.0]], dtype=DOUBLE)}, nn.Sequential(nn.Linear(2, 2))
    )
    tied = nn.Sequential(nn.Linear(2, 2, bias=False), nn.Linear(2, 2, bias=False))
    tied[1].weight = tied[0].weight
    one = torch.arange(4.0).reshape(2, 2)
    yield _load({"0.weight": one, "1.weight": one + 1.0}, tied), _load({"1.weight": one}, tied)
    whole = nn.Sequential(nn.BatchNorm1d(1))
    counts = whole.state_dict()
    for value in (torch.tensor(2.0), torch.tensor(2.5), torch.tensor(3, dtype=torch.int8)):
        yield _load({**counts, "0.num_batches_tracked": value}, whole) if value.item() == 2.5 else "read"


def objects_named_on_a_command_line():
    for spec in (
        "torch.nn:ReLU",
        "torch.nn:Linear",
        "math:pi",
        "math:sin",
        "torch:no_such",
        "no_such_module:x",
        "no colon",
        ":x",
    ):
        yield str(refused(factories.model_of, spec))[:150]
    yield (
        str(refused(factories.data_of, "math:pi")),
        str(refused(factories.data_of, "gc:enable")),
        factories.data_of("builtins:list"),
    )
    for spec in ("mse", "cross-entropy", "l1", "torch.nn:L1Loss", "torch.nn.functional:l1_loss", "math:pi"):
        yield str(refused(factories.loss_of_name, spec))[:60].partition(" at 0x")[0]
    yield (
        refused(factories.count_of, "math:pi"),
        refused(factories.find_law, "math:pi"),
        factories.count_of("builtins:len").__name__,
    )
    yield (
        str(factories.user_error(ValueError("a\n b" + 400 * "x"), "it"))[:30],
        str(factories.user_error(KeyError(), "it")),
    )


def types_and_rounding_in_words():
    of = product_rounding
    for losses in ([1e-9, -1e-8], [1e-3, 0.0], [3e-4], [3.5e-4], [], [1e-10]):
        yield of.faint_loss(losses, FLOAT), of.faint_loss(losses, DOUBLE)
    for rounding in (0.04, 0.06, 1e-4, 2e-4, 0.05):
        for through, inside in ((None, False), (HALF, True), (HALF, False)):
            yield refused(of.require_little, rounding, FLOAT, through, inside)
    yield (
        refused(of.require_little, 0.1, FLOAT, None, True, "it is faint"),
        refused(of.require_little, 0.1, FLOAT, None, True, "", True),
    )
    yield (
        of.describe_limit(0.0123, FLOAT),
        of.describe_limit(0.0123, DOUBLE),
        str(of.find_lowest({HALF, torch.bfloat16, FLOAT}, FLOAT)),
    )
    yield of.find_lowest({DOUBLE}, FLOAT), of.find_lowest(set(), FLOAT), str(of.find_lowest({FLOAT}, DOUBLE))
    unit = torch.finfo(FLOAT).eps
    yield [
        of.few_suffice(*one)
        for one in ((9.0 * unit, FLOAT, 32.0), (11.0 * unit, FLOAT, 1.0), (0.0, FLOAT, 32.5), (1.0, DOUBLE, 99.0))
    ]


def types_towards_a_value():
    leaf = torch.ones(2, dtype=FLOAT, requires_grad=True)
    other = torch.ones(2, dtype=DOUBLE)
    values = (
        leaf.sum(),
        leaf.double().sum(),
        (leaf.half().float() * 2.0).sum(),
        (leaf * other).sum(),
        leaf.detach().half().sum(),
    )
    return [sorted(map(str, product_rounding.types_towards(value, [leaf]))) for value in values]


def largest_numbers_on_the_way():
    for scale in (1.0, -40.0, 1e31):
        found = product_rounding.LargestNumber()
        with found.on((torch.tensor([1.0, 2.0]) * scale, None)):
            leaf = torch.tensor([0.5, 3.0], requires_grad=True)
            (leaf * leaf).exp().sum()
        yield found.value
    yield (
        product_rounding.LargestNumber().value,
        product_rounding.LargestNumber().on({"x": torch.tensor([-7.0, 2.0])}).value,
    )


def routes_that_are_compared():
    matrix = torch.tensor([[2.0, 1.0], [1.0, -1.0]], dtype=DOUBLE)
    rows = torch.tensor([[1.0, 0.0], [0.5, 2.0], [3.0, -1.0]], dtype=DOUBLE)

    def fails():
        raise NotImplementedError("no\n rule " + 200 * "x")

    for error in (0.0, 1e-13, 1e-11, 0.5):
        yield routes.fault_of(
            lambda error=error: [rows @ matrix + error, None], lambda w: [w @ rows @ matrix, None], 3, rows
        )
    yield routes.fault_of(fails, lambda w: [w], 3, rows)[:50], routes.describe_failure(ValueError(""))
    yield (
        routes.fault_of(lambda: [rows], lambda w: [w * torch.nan], 3, rows),
        routes.weigh([rows], torch.ones(3, dtype=DOUBLE)),
    )
    yield routes.draw_rows([torch.tensor([3.0, 4.0], dtype=DOUBLE), torch.zeros(1, dtype=DOUBLE)], 2)


def layouts_of_vectors():
    parameters = [torch.zeros(2, 2), torch.zeros(3), torch.zeros(())]
    layout = graphs.Layout.of(parameters)
    rows = torch.arange(16.0).reshape(2, 8)
    yield (
        layout.sizes,
        layout.total,
        layout.even,
        graphs.Layout.of(parameters[1:]).even,
        layout.parts(rows[1:]),
        layout.parts(rows),
    )
    for add in (False, True):
        into = torch.ones(2, 8)
        layout.write([rows[:, :4].clone(), None, torch.tensor([5.0, 6.0])], into, add)
        yield into.clone()
        layout.write(layout.parts(rows), into, add)
        yield into
    yield graphs.at_even_place(rows[0, 1:]).storage_offset(), graphs.at_even_place(rows[1]).storage_offset()


def names_of_operations():
    x = torch.ones(3, dtype=DOUBLE, requires_grad=True)
    yield (
        graphs.not_smooth_at_zero(x.norm() + x.sqrt().sum() + (x**2.5).sum() + x.exp().sum()),
        graphs.not_smooth_at_zero(x.sum()),
    )
    yield graphs.not_smooth_at_zero(torch.nn.functional.layer_norm(x, (3,)).sum() + torch.acos(x / 2.0).sum())
    for options in ({}, {"padding_idx": 1}, {"scale_grad_by_freq": True}, {"padding_idx": 0}):
        yield graphs.inexact_embedding(
            nn.functional.embedding(torch.tensor([0, 1]), torch.ones(2, 2, requires_grad=True), **options).sum()
        )
    yield (
        graphs.inexact_embedding(x.sum()),
        refused(graphs.require_dense, [None, torch.ones(2).to_sparse()]),
        graphs.require_dense([None, x]),
    )
    routes_of = [
        graphs.route_of([value]) for value in ((x * 2.0).sum(), (x * 3.0).sum(), (x + 2.0).sum(), (x[:2] * 2.0).sum())
    ]
    yield [one == routes_of[0] for one in routes_of]
    digests = [
        graph_digest(value, [x]) for value in ((x * 2.0).sum(), (x * 3.0).sum(), (x + 2.0).sum(), torch.zeros(()))
    ]
    yield (
        [one == digests[0] for one in digests],
        contents_digest([x]) == contents_digest([x.detach().clone()]),
        contents_digest([x]) == contents_digest([x.float()]),
    )


def laws_of_losses():
    out = torch.tensor([[0.2, -1.0, 0.5]], dtype=DOUBLE)
    for loss in (nn.CrossEntropyLoss(), nn.MSELoss(), nn.BCEWithLogitsLoss(), nn.functional.mse_loss):
        law = output_curvature.law_of(loss)(out)
        yield type(law).__name__, law.log_prob(torch.ones(law.batch_shape, dtype=DOUBLE)), tuple(law.batch_shape)
    yield refused(output_curvature.law_of, nn.L1Loss()), refused(output_curvature.law_of, nn.functional.l1_loss)
    yield (
        output_curvature.ignored_label(nn.CrossEntropyLoss(ignore_index=7)),
        output_curvature.ignored_label(nn.MSELoss()),
    )
    yield (
        tuple(output_curvature.law_of(nn.CrossEntropyLoss())(torch.zeros(2, 3, 5)).batch_shape),
        str(output_curvature.not_one_multiple("Normal")),
    )
