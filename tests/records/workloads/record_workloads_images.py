"""Records of images and networks: folders of images, pooled levels, initial weights, counts and training."""

import numpy as np
import torch
from hidden_folder import folder
from PIL import Image
from recording import refused
from small_clients import numbers, signed
from torch import nn

from workloads.data.datasets import ImageSet
from workloads.data.image_folder import is_folder, read_folder
from workloads.image_networks.alexnet import alexnet, alexnet_shapes
from workloads.image_networks.fit import FitSettings, fit
from workloads.image_networks.initial import initialise
from workloads.image_networks.models import ADAPTED, LAYERS, MODELS, ModelSettings, model
from workloads.image_networks.resize import adapt_network, require_positive
from workloads.image_networks.resnet import BasicBlock, ResNet, resnet, resnet_shapes
from workloads.image_networks.small import levels, perceptron, pool, small_convnet
from workloads.image_networks.two_layer import two_layer, two_layer_shapes
from workloads.image_networks.vgg import vgg16, vgg16_shapes
from workloads.image_networks.vit import vit, vit_shapes

DOUBLE = torch.float64
NAMES = (("training", "Test"), ("TRAIN", "val", "test"), ("train", "validation", "valid"), ("train",), ("test",))


def _image(path, size=(4, 4), level=0, mode="L"):
    path.parent.mkdir(parents=True, exist_ok=True)
    values = (np.arange(size[0] * size[1]).reshape(size[::-1]) * 3 + level) % 256
    image = Image.fromarray(values.astype(np.uint8))
    image.convert(mode).save(path)


def _read(place, side=None):
    train, test = read_folder(place, side)
    return [
        (
            one.images.shape,
            one.labels,
            one.split,
            one.classes,
            one.pixel_mean,
            one.pixel_deviation,
            [int(image.sum()) for image in one.images],
        )
        for one in (train, test)
    ]


def folders_of_two_layouts():
    for names in (
        ("train/cat/1.png", "train/dog/2.png", "test/cat/3.png"),
        ("Training/b/1.png", "Training/a/2.png", "Training/a/.x/3.png", "val/a/1.png", "valid/b/1.png"),
        tuple(f"{kind}/{number}.png" for kind in ("b", "a", "c") for number in range(7 if kind == "b" else 2)),
        ("train/1.png", "dog/1.png", "dog/2.png"),
    ):
        with folder() as (place, hide):
            for number, name in enumerate(names):
                _image(place / name, level=10 * number)
            (place / "notes.txt").write_text("x")
            yield names[:3], hide(refused(_read, place))


def names_of_folders_of_images():
    for names in (*(("train", test) for test in ("test", "testing", "val", "valid", "validation", "tests")), *NAMES):
        with folder() as (place, hide):
            for at, name in enumerate(names):
                for label, count in (("a", 3), ("b", 2 + at)):
                    for number in range(count):
                        _image(place / name / label / f"{number}.png", level=10 * at)
            yield names, hide(refused(lambda: [len(one.labels) for one in read_folder(place)]))


def folders_that_are_refused():
    for names in (
        (),
        ("cat/1.png",),
        ("cat/1.png", "dog/x.txt"),
        ("train/cat/1.png", "train/dog/1.png"),
        ("test/cat/1.png", "test/dog/1.png"),
        ("train/1.png", "test/1.png"),
        ("train/a/1.png", "train/b/1.png", "test/1.png"),
        ("train/a/1.png", "train/b/1.png", "train/1.png", "test/a/1.png"),
        ("train/a/1.png", "train/b/1.png", "test/c/1.png"),
        ("train/a/1.png", "train/b/1.png", "training/a/1.png", "test/a/1.png"),
        ("train/a/1.png", "train/b/1.png", "test/a/1.png", "a/1.png"),
        ("set/train/a/1.png", "set/test/a/1.png", "b/1.png"),
        ("train/a/x.txt", "test/a/1.png"),
        ("train/a/1.png", "train/b/1.png", "test/a/x.txt"),
        ("cat/1.png", "dog/1.png"),
    ):
        with folder() as (place, hide):
            for name in names:
                if name.endswith("png"):
                    _image(place / name)
                else:
                    (place / name).parent.mkdir(parents=True, exist_ok=True)
                    (place / name).write_text("")
            yield names, hide(refused(read_folder, place))
    yield (
        refused(read_folder, "/no/such folder"),
        [is_folder(name) for name in ("mnist", "a/b", "a\\b", "~", "m:f", "m/x:f", ".")],
    )


def sizes_and_modes_of_images():
    with folder() as (place, hide):
        _image(place / "a" / "1.png", (6, 4))
        _image(place / "a" / "2.png", (4, 8), 30)
        _image(place / "b" / "3.png", (5, 5), 60, "RGB")
        yield hide(refused(_read, place)), _read(place, 2), _read(place, 4), _read(place, 6)[0][0]
        (place / "b" / "4.png").write_text("broken")
        yield hide(refused(_read, place))[:110]
        Image.fromarray(np.arange(16, dtype=np.uint16).reshape(4, 4)).save(place / "b" / "4.png")
        yield hide(refused(_read, place))


def flat_images():
    with folder() as (place, _):
        for name in ("a/1.png", "a/2.png", "b/1.png"):
            (place / name).parent.mkdir(exist_ok=True)
            Image.new("RGB", (2, 2), (51, 102, 255)).save(place / name)
        yield _read(place)


def pooled_levels():
    grey = ImageSet(
        "s", (np.arange(2 * 36) * 3 % 256).astype(np.uint8).reshape(2, 6, 6), np.array([0, 1]), "train", None, 0.25, 0.5
    )
    colour = ImageSet(
        "s",
        (np.arange(3 * 16) * 5 % 256).astype(np.uint8).reshape(1, 3, 4, 4),
        np.array([0]),
        "train",
        None,
        (0.1, 0.2, 0.3),
        (1.0, 2.0, 0.5),
    )
    for side in (1, 2, 3, 6, 4, 0, 12):
        yield refused(lambda side=side: levels(grey, side)[1]), refused(lambda side=side: pool(grey, side)[0].sum())
    yield pool(colour, 2), levels(colour, 1), str(pool(grey, 2, torch.float32).dtype), refused(pool, colour, 3)


def _network(module):
    return (
        [(name, tuple(p.shape)) for name, p in module.named_parameters()][:6],
        len(list(module.parameters())),
        signed(list(module.parameters()))[:8],
        sum(p.numel() for p in module.parameters()),
    )


def small_networks():
    x = numbers(3, 6, seed=1)
    for seed, activation in ((0, "tanh"), (1, "softplus")):
        network = perceptron(6, (5, 4), 3, seed, activation=activation)
        yield _network(network), network(x), [type(layer).__name__ for layer in network]
        network = small_convnet(4, (2, 3), 3, seed, activation=activation)
        yield (
            _network(network),
            network(numbers(2, 4, 4, seed=2)),
            network(numbers(1, 1, 4, 4, seed=3)),
            [type(layer).__name__ for layer in network],
        )
    yield perceptron(6, (), 2, 0)(x), small_convnet(5, (), 2, 0)(numbers(1, 5, 5))
    for make in (
        lambda: perceptron(0, (), 1, 0),
        lambda: perceptron(1, (0,), 1, 0),
        lambda: perceptron(1, (1,), 1, 0, activation="relu"),
        lambda: small_convnet(6, (1, 1), 2, 0),
        lambda: small_convnet(4, (0,), 2, 0),
        lambda: small_convnet(0, (1,), 2, 0),
    ):
        yield refused(lambda make=make: type(make()).__name__)


def two_layers():
    x = numbers(3, 1, 2, 2, seed=1)
    for options in ({}, {"base": "zero"}, {"base": "zero", "slope": 1.0}, {"width": 3, "slope": 1.0}):
        network = two_layer(2, 1, inputs=4, dtype=DOUBLE, **options)
        network(x).sum().backward()
        yield (
            _network(network),
            network(x),
            network.input.weight.grad.sum(),
            network.out.weight.requires_grad,
            network.input.inputs_first,
        )
    for options in ({"base": "x"}, {"slope": 0.5}, {"width": 0}, {"inputs": 0}, {"classes": 0}):
        yield refused(lambda options=options: two_layer_shapes(**options))
    yield [(name, tuple(p.shape)) for name, p in two_layer_shapes().named_parameters()]


def residual_networks():
    x = numbers(2, 1, 9, 9, seed=1)
    for depth, norm in ((10, "batch"), (10, "group"), (18, "batch")):
        network = resnet(depth, 3, 2, channels=1, width=2, norm=norm, dtype=DOUBLE)
        yield _network(network), network(x), network.eval()(x)
    yield (
        [sum(p.numel() for p in resnet_shapes(depth, 10).parameters()) for depth in (10, 18)],
        [sum(p.numel() for p in resnet_shapes(10, 10, channels=1, width=width).parameters()) for width in (1, 8)],
    )
    for make in (
        lambda: resnet_shapes(12, 3),
        lambda: resnet_shapes(10, 3, norm="layer"),
        lambda: resnet_shapes(10, 0),
        lambda: resnet_shapes(10, 1, width=3, norm="group"),
        lambda: resnet_shapes(10, 1, width=0),
        lambda: resnet_shapes(10, 1, channels=0),
    ):
        yield refused(make)


def networks_for_one_size():
    x = numbers(1, 1, 28, 28, seed=1)
    for network in (
        alexnet(3, 1, channels=1, side=28, adapt="pad", hidden=5, filters=(2, 3, 2, 4, 3), dtype=DOUBLE),
        vgg16(
            3, 1, channels=1, side=28, adapt="pad", hidden=(4,), stages=((2, 3), (2,), (3,), (2,), (3,)), dtype=DOUBLE
        ),
        vit(3, 1, channels=1, side=28, adapt="pad", patch=16, width=4, depth=2, heads=2, dtype=DOUBLE),
    ):
        yield _network(network), network.eval()(x), type(network.fit).__name__
    yield [
        sum(p.numel() for p in shapes.parameters())
        for shapes in (
            alexnet_shapes(10),
            vgg16_shapes(10),
            vit_shapes(100),
            vgg16_shapes(10, hidden=()),
            vit_shapes(10, patch=4, width=8, depth=1, heads=4),
        )
    ]
    for make in (
        lambda: alexnet_shapes(10, side=28),
        lambda: alexnet_shapes(10, side=33, adapt="pad"),
        lambda: alexnet_shapes(0),
        lambda: alexnet_shapes(1, filters=(1, 0, 1, 1, 1)),
        lambda: vgg16_shapes(1, hidden=(0,)),
        lambda: vgg16_shapes(1, side=16),
        lambda: vit_shapes(1, patch=5),
        lambda: vit_shapes(1, heads=3),
        lambda: vit_shapes(1, dropout=1.0),
        lambda: vit_shapes(1, dropout=-0.1),
        lambda: vit_shapes(1, depth=0),
        lambda: vit_shapes(1, side=30),
    ):
        yield refused(make)


def adapted_sides():
    for side, adapt in (
        (32, "none"),
        (32, "pad"),
        (28, "pad"),
        (29, "pad"),
        (1, "pad"),
        (0, "pad"),
        (33, "none"),
        (31, "none"),
        (32, "crop"),
    ):
        found = refused(adapt_network, "net", side, 32, adapt)
        yield found if isinstance(found, str) else getattr(found, "padding", "as it is")
    yield refused(require_positive, a=1, b=0), require_positive(a=1, b=1)


def initial_weights():
    for fan in ("in", "out"):
        with torch.device("meta"):
            shapes = nn.Sequential(
                nn.Conv2d(2, 4, (3, 1)),
                nn.BatchNorm2d(4),
                nn.ReLU(),
                nn.Flatten(),
                nn.Linear(8, 3),
                nn.ReLU(),
                nn.Linear(3, 2, bias=False),
                nn.LayerNorm(2),
            )
        for seed in (0, 5):
            yield _network(initialise(shapes, seed, DOUBLE, fan=fan))
            with torch.device("meta"):
                shapes = nn.Sequential(
                    nn.Conv2d(2, 4, (3, 1), bias=False), nn.Linear(8, 3), nn.Tanh(), nn.Linear(3, 2), nn.ReLU()
                )


def networks_by_name():
    for name in MODELS:
        channels = 1 if name in ("convnet", "perceptron") or "two" in name else 3
        side = 32 if name in ADAPTED else 8
        network = model(
            name, ModelSettings(4, channels, side, 1, {"alexnet": 64, "vgg16": 8, "vit": 8}.get(name, 2), dtype=DOUBLE)
        )
        yield (
            name,
            signed(list(network.parameters()))[-2:],
            sum(p.numel() for p in network.parameters()),
            [part for part, _ in network.named_parameters()][:3],
        )
    yield (
        refused(model, "x", ModelSettings(2, 1, 8)),
        refused(model, "convnet", ModelSettings(2, 3, 8)),
        refused(model, "vit", ModelSettings(2, 1, 32, norm="group")),
        refused(model, "alexnet", ModelSettings(2, 1, 28)),
        LAYERS,
        ADAPTED,
    )
    yield (
        [
            sum(p.numel() for p in model(name, ModelSettings(10, 1, 8)).parameters())
            for name in ("two-layer", "perceptron", "convnet")
        ],
        sum(p.numel() for p in model("resnet10", ModelSettings(2, 1, 8, width=2, norm="group")).parameters()),
    )


def networks_for_colour_by_default():
    networks = (
        alexnet(3, 1, hidden=4, filters=(2, 3, 2, 2, 2)),
        vgg16(3, 1, hidden=(4, 3), stages=((2,), (2,), (3,), (2,), (2,))),
        vit(3, 1, width=8),
        resnet(10, 3, 1, width=2),
    )
    yield [[tuple(p.shape) for p in network.parameters() if p.dim() > 1][:2] for network in networks]
    for name in ("two-layer", "perceptron", "resnet10", "vit"):
        network = model(name, ModelSettings(3, 2, 32 if name == "vit" else 8, 1, 8 if name == "vit" else 2))
        yield name, [tuple(p.shape) for p in network.parameters() if p.dim() > 1][:2]
    for name in [name for name in MODELS if "two" in name]:
        network, x = model(name, ModelSettings(3, 1, 4, 1, 2, dtype=DOUBLE)), numbers(3, 16, seed=1).reshape(3, 1, 4, 4)
        yield name, signed([*network.parameters()]), signed([network(x).detach(), network(-x).detach()])


def training_of_small_classifiers():
    x, y = numbers(10, 4, seed=1), torch.arange(10) % 3
    for settings in (
        FitSettings(2, 4, 0.05),
        FitSettings(2, 4, 0.05, seed=1),
        FitSettings(2, 3, 0.1, "sgd"),
        FitSettings(1, 20, 0.1, "sgd", 0.0, 0.5),
        FitSettings(1, 5, 0.05, weight_decay=0.5),
        FitSettings(0),
    ):
        network, seen = perceptron(4, (3,), 3, 0), []
        network.eval()
        found = fit(network, x, y, settings, progress=lambda done, loss, seen=seen: seen.append((done, loss)))
        yield found.losses, found.accuracy, seen, network.training, signed(list(network.parameters()))[:2]
    noisy = nn.Sequential(nn.Dropout(0.5), *perceptron(4, (), 3, 0))
    yield (
        fit(noisy, x, y, FitSettings(2, 5, 0.05, seed=3)).losses,
        fit(perceptron(4, (), 3, 0), x, y, FitSettings(1, 5, 0.1), loss=lambda out, wanted: (out**2).mean()).losses,
    )


def training_that_is_refused():
    for options in (
        {"epochs": -1},
        {"batch": 0},
        {"learning_rate": 0.0},
        {"learning_rate": float("inf")},
        {"optimizer": "lamb"},
        {"momentum": 1.0},
        {"momentum": -0.1},
        {"weight_decay": -1.0},
        {"momentum": 0.0, "weight_decay": 0.0},
    ):
        yield str(refused(lambda options=options: FitSettings(**options)))
    network, x = perceptron(4, (), 3, 0), numbers(5, 4)
    yield (
        refused(fit, network, x, torch.zeros(4, dtype=torch.int64), FitSettings()),
        refused(fit, network, x[:0], torch.zeros(0, dtype=torch.int64), FitSettings()),
        refused(
            fit, perceptron(4, (), 3, 0).requires_grad_(False), x, torch.zeros(5, dtype=torch.int64), FitSettings()
        ),
    )
    yield refused(fit, perceptron(4, (), 3, 0), x / 0.0, torch.zeros(5, dtype=torch.int64), FitSettings(2, 2, 0.5))


def stages_of_several_blocks():
    network = ResNet((1, 2, 3, 4), 2, 1, 2, "group")
    yield [len(getattr(network, f"layer{k}")) for k in (1, 2, 3, 4)], sum(p.numel() for p in network.parameters())
    yield [type(block.shortcut).__name__ for k in (1, 2, 3, 4) for block in getattr(network, f"layer{k}")]
    yield BasicBlock(2, 3, 1, "batch").shortcut[0].kernel_size, BasicBlock(2, 2, 2, "batch").shortcut[0].stride


def squares_within_images():
    for size, side in (((5, 8), 5), ((8, 5), 3), ((7, 4), 5), ((7, 4), 8)):
        with folder() as (place, _):
            for number, name in enumerate(("a/1.png", "a/2.png", "b/3.png", "b/4.png")):
                _image(place / name, size, number)
            train, _test = read_folder(place, side)
            yield size, side, train.images[0]


def colours_of_one_image():
    for coloured in ("train/a/1.png", "train/b/2.png", "test/a/3.png", ""):
        with folder() as (place, _):
            for name in ("train/a/1.png", "train/b/2.png", "test/a/3.png", "test/b/4.png"):
                _image(place / name, mode="RGB" if name == coloured else "L")
            _image(place / "test" / "b" / "4.png", mode="1")
            yield [one.images.shape for one in read_folder(place)]


def widths_that_do_not_divide():
    for name, width in (("alexnet", 100), ("alexnet", 1), ("vgg16", 10), ("vgg16", 1)):
        network = model(name, ModelSettings(3, 2, 32, width=width))
        yield name, width, [p.shape[0] for p in network.parameters() if p.ndim > 1]
