"""Files of weights of models whose state_dict has more names than parameters, or more than tensors."""

import pytest
import torch
from safetensors.torch import save_file, save_model
from torch import nn

from hessian import CurvatureError
from hessian.loss.state_files import left_out_states, load_state, numbered_states, order_of_states


class Tied(nn.Module):
    """Embeds and decodes by one weight, and counts what it has seen."""

    def __init__(self, tied=True):
        super().__init__()
        self.dec, self.emb = nn.Linear(3, 6), nn.Embedding(6, 3)
        if tied:
            self.dec.weight = self.emb.weight
        self.register_buffer("seen", torch.zeros(2))


class Extra(nn.Module):
    """Holds a layer with a state of its own."""

    class Layer(nn.Linear):
        """Counts its steps outside of its tensors."""

        def __init__(self):
            super().__init__(2, 3)
            self.steps = {"epoch": 0}

        def get_extra_state(self):
            return self.steps

        def set_extra_state(self, state):
            self.steps = {"epoch": int(state["epoch"])}

    def __init__(self):
        super().__init__()
        self.inner = self.Layer()


def drawn(model, seed):
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for tensor in (*model.parameters(), *model.buffers()):
            tensor.copy_(torch.randn(tensor.shape, generator=generator))
    return model


def stored_twice(model):
    """The same, with a parameter of its own for each name, on one storage."""
    model.dec.weight = nn.Parameter(model.emb.weight.data)
    return model


@pytest.mark.parametrize("build", [Tied, lambda: stored_twice(Tied())])
def test_a_tied_weight_is_read_from_the_one_name_that_a_file_has(tmp_path, build):
    saved, path = drawn(build(), 1), tmp_path / "step-1.safetensors"
    save_model(saved, str(path))
    read = drawn(build(), 2)
    load_state(read, path)
    for name, value in saved.state_dict().items():
        torch.testing.assert_close(read.state_dict()[name], value, rtol=0, atol=0)
    assert read.dec.weight.data_ptr() == read.emb.weight.data_ptr()


@pytest.mark.parametrize("missing", ["emb.weight", "dec.weight"])
def test_either_name_suffices(tmp_path, missing):
    saved, path = drawn(Tied(), 1), tmp_path / "step-1.pt"
    torch.save({name: value for name, value in saved.state_dict().items() if name != missing}, path)
    read = drawn(Tied(), 2)
    load_state(read, path)
    assert torch.equal(read.emb.weight, saved.emb.weight)


def test_a_weight_that_is_under_no_name_is_missing(tmp_path):
    state = drawn(Tied(), 1).state_dict()
    save_file({"dec.bias": state["dec.bias"], "seen": state["seen"]}, tmp_path / "step-1.safetensors")
    with pytest.raises(CurvatureError, match=r"not those of the model.*Missing key"):
        load_state(Tied(), tmp_path / "step-1.safetensors")


def test_two_values_of_a_tied_weight_are_refused_and_two_equal_ones_are_read(tmp_path):
    untied, path = drawn(Tied(tied=False), 1), tmp_path / "step-1.pt"
    torch.save(untied.state_dict(), path)
    with pytest.raises(CurvatureError, match=r"dec\.weight and emb\.weight differ in .*one tensor in the model"):
        load_state(Tied(), path)
    with torch.no_grad():
        untied.dec.weight.copy_(untied.emb.weight)
        untied.dec.weight[0, 0] = untied.emb.weight[0, 0] = float("nan")
    torch.save(untied.state_dict(), path)
    read = Tied()
    load_state(read, path)
    assert torch.equal(read.emb.weight.nan_to_num(), untied.emb.weight.nan_to_num())


def test_what_get_extra_state_returned_is_given_back(tmp_path):
    saved, path = drawn(Extra(), 1), tmp_path / "step-1.pt"
    saved.inner.steps = {"epoch": 7}
    torch.save(saved.state_dict(), path)
    read = Extra()
    load_state(read, path)
    assert read.inner.steps == {"epoch": 7}
    assert torch.equal(read.inner.weight, saved.inner.weight)


class Counter:
    """A state that is more than plain values."""


@pytest.mark.parametrize(
    ("extra", "model", "why"),
    [
        ({"epoch": 7}, lambda: nn.ModuleDict({"inner": nn.Linear(2, 3)}), r"inner\._extra_state.*no such method"),
        ({"other": 7}, Extra, r"not those of the model"),
        (Counter(), Extra, r"an object of .*Counter, which could run code.*get_extra_state"),
    ],
)
def test_a_state_that_cannot_be_given_back_is_one_line(tmp_path, extra, model, why):
    saved = drawn(Extra(), 1)
    saved.inner.steps = extra
    torch.save(saved.state_dict(), tmp_path / "step-1.pt")
    with pytest.raises(CurvatureError, match=why) as caught:
        load_state(model(), tmp_path / "step-1.pt")
    assert "\n" not in str(caught.value)


def test_tensors_as_extra_state_keep_their_type(tmp_path):
    class Counted(nn.Linear):
        def get_extra_state(self):
            return torch.tensor(3)

        def set_extra_state(self, state):
            self.seen = state

    model = Counted(2, 3)
    save_file(model.state_dict(), tmp_path / "step-1.safetensors")
    load_state(model, tmp_path / "step-1.safetensors")
    assert model.seen.dtype == torch.int64


@pytest.mark.parametrize(
    ("dtype", "value"), [("float32", 1e60), ("float32", 1e-60), ("float16", 1e5), ("float16", 1e-9)]
)
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_numbers_that_the_models_type_cannot_hold_are_refused(tmp_path, dtype, value, sign):
    model = nn.Linear(3, 2).to(getattr(torch, dtype))
    before = model.weight.clone()
    weight = torch.full((2, 3), sign * value, dtype=torch.float64)
    torch.save({"weight": weight, "bias": torch.zeros(2).double()}, tmp_path / "step-1.pt")
    with pytest.raises(CurvatureError, match=f"weight in .* is float64 with numbers up to .* {dtype} of the model"):
        load_state(model, tmp_path / "step-1.pt")
    assert torch.equal(model.weight, before)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_a_cast_may_round_on_the_scale_of_a_tensor(tmp_path, dtype):
    model = nn.Linear(3, 2).to(dtype)
    weight = torch.tensor([[0.1, -1e-60, 0.0], [float("inf"), 1.0 / 3.0, -0.7]], dtype=torch.float64)
    torch.save({"weight": weight, "bias": torch.zeros(2).double()}, tmp_path / "step-1.pt")
    load_state(model, tmp_path / "step-1.pt")
    assert torch.equal(model.weight, weight.to(dtype))


@pytest.mark.parametrize(
    ("names", "order", "said"),
    [
        (("epoch=2-loss=0.90", "epoch=10-loss=0.80", "epoch=11-loss=0.10"), (0, 1, 2), "'epoch'"),
        (("epoch=1-step=30", "epoch=0-step=7"), (1, 0), "'step'"),
        (("epoch2-step5", "epoch1-step5"), (1, 0), "'epoch'"),
        (("round-9_lr=1e-04", "round-10_lr=1e-05"), (0, 1), "'round'"),
        (("model-9-acc0.71", "model-10-acc0.13", "best-11"), (0, 1, 2), "last whole"),
        (("Steps_10_v1.2", "Steps_9_v1.3"), (1, 0), "'step'"),
        (("vit16-3", "vit16-2"), (1, 0), "last whole"),
    ],
)
def test_the_number_of_training_orders_files(tmp_path, names, order, said):
    for name in names:
        torch.save({}, tmp_path / f"{name}.pt")
    assert [path.stem for path in numbered_states(tmp_path).values()] == [names[place] for place in order]
    assert said in order_of_states(tmp_path)


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (("model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"), "is a shard of one state.*one file"),
        (("acc0.5.pt", "acc0.7.pt"), "no whole number.*step-100"),
        (("a-3.pt", "b-3.pt"), "the same number 3: give every state its own"),
    ],
)
def test_files_without_an_order_are_refused(tmp_path, names, said):
    for name in names:
        (tmp_path / name).write_bytes(b"")
    with pytest.raises(CurvatureError, match=said):
        numbered_states(tmp_path)


@pytest.mark.parametrize(
    ("names", "why"),
    [
        (("epoch-1-step-500.pt", "epoch-2-step-100.pt"), "several numbers that order them differently"),
        (("model-2024-01-31.pt", "model-2024-02-01.pt"), "several numbers that order them differently"),
        (("step-900.pt", "step-1k.pt"), "step-1k.pt .* no whole number"),
        (("step-900.pt", "step-1,000.pt"), "step-1,000.pt .* no whole number"),
        (("step-900.pt", "step-1_000.pt"), "step-1_000.pt .* no whole number"),
        (("step900.pt", "step1_000_000.pt"), "step1_000_000.pt .* no whole number"),
        (("900.pt", "1_000.pt"), "1_000.pt .* no whole number"),
        (("net 900.pt", "net 1 000.pt"), "net 1 000.pt .* no whole number"),
        (("step=3.pt", "step=-5.pt"), "step=-5.pt .* no whole number"),
        (("step-3.pt", "step--5.pt"), "step--5.pt .* no whole number"),
        (("seed_1_100.pt", "seed_2_50.pt"), "1_100 may be 1100 or several numbers: .*step-1100.pt or step-100.pt"),
        (("tokens900B.pt", "tokens1T.pt"), "no whole number"),
        (("step-100-from-step-20.pt", "step-50-from-step-30.pt"), "several numbers that order them differently"),
        (("238_7a8882.pt", "666_dbd6fe.pt"), "several numbers that order them differently"),
        (("model-9-acc71.pt", "model-10.pt"), "several numbers that order them differently"),
        (("m-7-5.pt", "m-8-9-3-6.pt"), "several numbers that order them differently"),
        (("step3.pt", "t100.pt", "model-1000-acc83.pt"), "several numbers that order them differently"),
    ],
)
def test_names_whose_order_is_doubtful_are_refused(tmp_path, names, why):
    for name in names:
        torch.save({}, tmp_path / name)
    with pytest.raises(CurvatureError, match=why):
        numbered_states(tmp_path)


@pytest.mark.parametrize(
    "names",
    [
        ("epoch-1-step-500.pt", "epoch-2-step-600.pt"),
        ("epoch-1-step-9.pt", "epoch-2-step-9.pt", "epoch-3-step-5.pt"),
        ("step-100-acc90.pt", "step-200-acc80.pt"),
        ("llama-7b-9.pt", "llama-7b-10.PT"),
        ("resnet18_100.pt", "resnet18_200.pt"),
        ("step_1000_200.pt", "step_2000_200.pt"),
        ("step_10_v2.pt", "step_20_v1.pt"),
        ("Step_9_model.pt", "Step_10_model.SAFETENSORS"),
    ],
)
def test_other_numbers_that_do_not_contradict_are_taken(tmp_path, names):
    for name in reversed(names):
        (tmp_path / name).write_bytes(b"")
    assert [path.name for path in numbered_states(tmp_path).values()] == list(names)


def test_files_that_are_left_out_are_named(tmp_path):
    for name in ("step-1.pt", "last.pt", "best.BIN", "notes.txt", "step-2.ckpt", "step-\u00b2.pth", "weights.H5"):
        (tmp_path / name).write_bytes(b"")
    (tmp_path / "old.ckpt").mkdir()
    assert left_out_states(tmp_path) == ["best.BIN", "last.pt", "step-2.ckpt", "step-\u00b2.pth", "weights.H5"]


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        (lambda w: w.double().to("meta"), "meta"),
        (lambda w: w.to("meta"), "meta"),
        (lambda w: w.double().to_sparse(), "sparse_coo"),
        (lambda w: w.to_sparse_csr(), "sparse_csr"),
    ],
)
@pytest.mark.filterwarnings("ignore:Sparse CSR")
def test_tensors_without_all_of_their_numbers_are_one_line(tmp_path, change, kind):
    model, path = nn.Linear(3, 2), tmp_path / "step-1.pt"
    torch.save({**model.state_dict(), "weight": change(model.weight.detach())}, path)
    with pytest.raises(CurvatureError, match=rf"weight in .* is a {kind} tensor"):
        load_state(model, path)


def test_parameters_that_share_numbers_in_another_shape_or_order_are_not_tied(tmp_path):
    flat = torch.arange(4.0)
    model = nn.Module()
    model.whole, model.part = nn.Parameter(flat), nn.Parameter(flat[:3])
    model.square, model.turned = nn.Parameter(flat.reshape(2, 2)), nn.Parameter(flat.reshape(2, 2).T)
    torch.save({name: 2.0 * tensor.detach() for name, tensor in model.state_dict().items()}, tmp_path / "step-1.pt")
    load_state(model, tmp_path / "step-1.pt")
    assert model.turned.tolist() == [[0.0, 4.0], [2.0, 6.0]]
    assert model.part.tolist() == [0.0, 2.0, 4.0]


@pytest.mark.parametrize("ending", [".safetensors", ".SAFETENSORS", ".pt", ".PT"])
def test_endings_in_capitals_are_read_alike(ending, tmp_path):
    model, path = nn.Linear(2, 1), tmp_path / f"step-1{ending}"
    state = {"weight": torch.tensor([[2.0, -1.0]]), "bias": torch.tensor([0.5])}
    (save_file if "s" in ending.lower() else torch.save)(state, path)
    load_state(model, path)
    assert (model.weight.tolist(), model.bias.tolist()) == ([[2.0, -1.0]], [0.5])
