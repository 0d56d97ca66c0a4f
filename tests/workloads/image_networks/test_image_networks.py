"""AlexNet, VGG16, the small transformer and the two-layer network: sizes, seeds, images that do not fit."""

import pytest
import torch
from torch import nn
from torch.func import functional_call

from workloads.image_networks.alexnet import alexnet, alexnet_shapes
from workloads.image_networks.initial import initialise
from workloads.image_networks.resize import adapt_network
from workloads.image_networks.resnet import resnet, resnet_shapes
from workloads.image_networks.two_layer import two_layer, two_layer_shapes
from workloads.image_networks.vgg import vgg16, vgg16_shapes
from workloads.image_networks.vit import vit, vit_shapes

SMALL = {
    "alexnet": lambda seed, **more: alexnet(7, seed, channels=1, hidden=8, **more),
    "vgg16": lambda seed, **more: vgg16(7, seed, channels=1, hidden=(8,), **more),
    "vit": lambda seed, **more: vit(7, seed, channels=1, width=8, depth=2, **more),
}
EVERY = {**SMALL, "two-layer": lambda seed, **more: two_layer(7, seed, inputs=28**2, width=5, **more)}


def count(model):
    return sum(parameter.numel() for parameter in model.parameters())


def test_the_head_of_alexnet_holds_the_share_that_the_printed_savings_imply():
    """FeDLRT, Appendix B.3: the head saves 96 % to 97 %, all layers together 87.3 % to 87.5 %."""
    model = alexnet_shapes(10)
    assert count(model) == 23_272_266
    assert 87.3 / 97 < count(model.head) / count(model) < 87.5 / 96


def test_parameter_counts_of_vgg16():
    assert count(vgg16_shapes(10)) == 15_253_578
    assert count(vgg16_shapes(10, hidden=())) == 14_728_266
    assert [m.out_channels for m in vgg16_shapes(10).modules() if isinstance(m, nn.Conv2d)] == [
        *(64, 64, 128, 128, 256, 256, 256),
        *[512] * 6,
    ]


def test_the_weight_matrices_of_the_transformer_are_as_printed():
    model = vit_shapes(100)
    shapes = [tuple(m.weight.shape) for name, m in model.named_modules() if isinstance(m, nn.Linear)]
    assert shapes == [(512, 192), *[(512, 512)] * 36, (100, 512)]
    embedding, tokens, layer = 192 * 512 + 512, (16 + 1) * 512 + 512, 6 * (512**2 + 512) + 4 * 512
    assert count(model) == embedding + tokens + 6 * layer + 2 * 512 + 512 * 100 + 100 == 9_628_260


def test_the_two_layer_network_is_the_printed_formula():
    model = two_layer(dtype=torch.float64)
    assert [(name, tuple(p.shape), p.requires_grad) for name, p in model.named_parameters()] == [
        ("input.weight", (784, 784), True),
        ("out.weight", (10, 784), False),
    ]
    x = torch.randn(4, 28, 28, dtype=torch.float64)
    W, W_out = model.input.weight, model.out.weight.T
    torch.testing.assert_close(model(x), torch.relu(x.reshape(4, 784) @ W) @ W_out, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("base", "slope", "learns"), [("normal", 0, True), ("zero", 0, False), ("zero", 1, True)])
def test_the_printed_start_has_no_gradient_where_the_derivative_of_relu_at_0_is_0(base, slope, learns):
    """RoLoRA, (12): with B = 0 and no weight of its own the map is 0, where ReLU's derivative is a choice."""
    model = two_layer(inputs=20, base=base, slope=slope, dtype=torch.float64)
    generator = torch.Generator().manual_seed(0)
    A = torch.randn(20, 4, generator=generator, dtype=torch.float64, requires_grad=True)
    B = torch.zeros(4, 20, dtype=torch.float64, requires_grad=True)
    x = torch.randn(30, 20, generator=generator, dtype=torch.float64)
    logits = functional_call(model, {"input.weight": model.input.weight.detach() + A @ B}, (x,))
    loss = nn.functional.cross_entropy(logits, torch.arange(30) % 10)
    in_A, in_B = torch.autograd.grad(loss, (A, B))
    assert not in_A.any()  # B = 0
    assert bool(in_B.any()) is learns


@pytest.mark.parametrize("make", EVERY.values(), ids=EVERY.keys())
def test_the_seed_decides_and_the_global_state_is_left_alone(make):
    before = torch.get_rng_state()
    model = make(3) if make is EVERY["two-layer"] else make(3, side=28, adapt="pad")
    assert torch.equal(before, torch.get_rng_state())
    torch.manual_seed(99)
    same, other = make(3), make(4)
    for tensor, twin in zip(model.state_dict().values(), same.state_dict().values(), strict=True):
        assert torch.equal(tensor, twin)
        assert tensor.isfinite().all()
    weights = [(p, q) for p, q in zip(model.parameters(), other.parameters(), strict=True) if p.any()]
    assert not any(torch.equal(p, q) for p, q in weights if p.std() > 0)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("make", EVERY.values(), ids=EVERY.keys())
def test_every_parameter_takes_part(make, dtype):
    model = make(0, dtype=dtype) if make is EVERY["two-layer"] else make(0, side=28, adapt="pad", dtype=dtype)
    logits = model(torch.randn(6, 1, 28, 28, generator=torch.Generator().manual_seed(1)).to(dtype))
    assert logits.shape == (6, 7)
    assert logits.dtype == dtype
    logits.pow(2).sum().backward()
    for name, parameter in model.named_parameters():
        assert not parameter.requires_grad or parameter.grad.any(), name


@pytest.mark.parametrize("make", SMALL.values(), ids=SMALL.keys())
def test_images_that_do_not_fit_are_adapted_by_name_or_refused(make):
    with pytest.raises(ValueError, match=r"takes images of 32 x 32, got 28 x 28; adapt='pad' adds copies"):
        make(0, side=28)
    with pytest.raises(ValueError, match=r"at most 32 x 32, got 64 x 64"):
        make(0, side=64, adapt="pad")
    with pytest.raises(ValueError, match="adapt must be one of none, pad, got 'crop'"):
        make(0, adapt="crop")
    small = torch.randn(2, 1, 27, 27)
    padded = nn.functional.pad(small, (2, 3, 2, 3), mode="replicate")
    assert torch.equal(make(0, side=27, adapt="pad").eval()(small), make(0).eval()(padded))
    assert count(make(0, side=27, adapt="pad")) == count(make(0))


def test_attention_is_that_of_torch():
    model = vit(3, 0, channels=1, width=8, depth=1, dtype=torch.float64)
    attention = model.layers[0].attention
    reference = nn.MultiheadAttention(8, 2, batch_first=True, dtype=torch.float64)
    with torch.no_grad():
        parts = (attention.query, attention.key, attention.value)
        reference.in_proj_weight.copy_(torch.cat([part.weight for part in parts]))
        reference.out_proj.weight.copy_(attention.output.weight)
        reference.out_proj.bias.zero_()
        reference.in_proj_bias.zero_()
    x = torch.randn(5, 6, 8, dtype=torch.float64)
    torch.testing.assert_close(attention(x), reference(x, x, x, need_weights=False)[0], rtol=1e-12, atol=1e-12)


def test_patches_are_squares_of_the_image():
    model = vit(3, 0, channels=2, width=8, depth=1)
    x = torch.arange(2 * 32 * 32, dtype=torch.float32).reshape(1, 2, 32, 32)
    seen = []
    model.embedding.register_forward_pre_hook(lambda module, given: seen.append(given[0]))
    model(x)
    assert torch.equal(seen[0][0, 6], x[0, :, 8:16, 16:24].flatten())  # row 1, column 2 of four


def test_bad_sizes_are_named():
    with pytest.raises(
        ValueError, match=r"classes, channels, hidden, filters must be positive, got \(0, 3, 4096, 64\)"
    ):
        alexnet(0, 0)
    with pytest.raises(ValueError, match=r"must be positive, got \(10, 3, 0, 64\)"):
        vgg16(10, 0, hidden=(4, 0))
    with pytest.raises(ValueError, match="patch must divide 32 and heads must divide width, got 5, 2 and 512"):
        vit(10, 0, patch=5)
    with pytest.raises(ValueError, match=r"dropout must be in \[0, 1\), got 1"):
        vit(10, 0, dropout=1)
    with pytest.raises(ValueError, match="base must be one of normal, zero, got 'one'"):
        two_layer_shapes(base="one")
    with pytest.raises(ValueError, match="slope must be one of 0, 1, got 2"):
        two_layer_shapes(slope=2)


@pytest.mark.parametrize("depth", [10, 18])
def test_group_norm_has_the_parameters_of_batch_norm_and_no_statistics(depth):
    batch, group = (resnet_shapes(depth, 10, norm=norm) for norm in ("batch", "group"))
    assert count(batch) == count(group)
    assert list(dict(batch.named_parameters())) == list(dict(group.named_parameters()))
    assert not list(group.buffers())
    model = resnet(depth, 10, 0, width=4, norm="group")
    assert model(torch.randn(2, 3, 8, 8)).isfinite().all()
    for norm in (m for m in model.modules() if isinstance(m, nn.GroupNorm)):
        assert (norm.weight == 1).all()
        assert not norm.bias.any()


def test_norms_that_do_not_fit_are_named():
    with pytest.raises(ValueError, match="unknown norm 'layer': choose one of batch, group"):
        resnet(10, 10, 0, norm="layer")
    with pytest.raises(ValueError, match="width must be divisible by 2 for group norm, got 3"):
        resnet(10, 10, 0, width=3, norm="group")


def test_a_single_pixel_is_surrounded_by_its_copies():
    assert torch.equal(adapt_network("net", 1, 4, "pad")(torch.full((1, 1, 1, 1), 3.0)), torch.full((1, 1, 4, 4), 3.0))
    assert isinstance(adapt_network("net", 4, 4, "none"), nn.Identity)
    for side in (0, -1, 5):
        with pytest.raises(ValueError, match=f"net takes images of at most 4 x 4, got {side} x {side}"):
            adapt_network("net", side, 4, "pad")


@pytest.mark.parametrize("fan", ["in", "out"])
def test_initial_weights_have_the_variances_that_are_stated(fan):
    """Kernels 3 x 5 of 20 and 50 channels; of two linear layers the first has a ReLU behind it, thus the factor 2."""
    with torch.device("meta"):
        shapes = nn.Sequential(
            nn.Conv2d(20, 50, (3, 5)), nn.Linear(300, 100), nn.ReLU(), nn.Linear(100, 300), nn.Tanh(), nn.LayerNorm(7)
        )
    made = initialise(shapes, 3, torch.float64, fan=fan)
    conv, first, _, second, _, norm = made
    channels = {"in": 20, "out": 50}[fan]
    for layer, variance in ((conv, 2 / (channels * 15)), (first, 2 / 300), (second, 1 / 100)):
        spread = (2 / layer.weight.numel()) ** 0.5
        assert float(layer.weight.detach().square().mean()) / variance == pytest.approx(1.0, abs=5 * spread)
        assert not layer.bias.any()
    assert norm.weight.tolist() == [1.0] * 7
    assert norm.bias.tolist() == [0.0] * 7


def test_the_base_of_the_two_layer_network_has_the_variance_that_is_stated():
    weight = two_layer(width=200, dtype=torch.float64).input.weight.detach()
    assert weight.shape == (784, 200)
    # The variance of 784 * 200 normal numbers is known to a standard deviation of 0.36 %.
    assert float(weight.var()) * 784 == pytest.approx(1.0, rel=0.02)
    assert not two_layer(width=200, base="zero").input.weight.any()
