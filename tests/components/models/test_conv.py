"""`conv` and spectral normalisation, against convolution by hand, singular values and finite differences."""

import copy
import math
from itertools import pairwise

import pytest
import torch
from torch import nn
from torch.func import functional_call
from torch.nn import functional as F  # noqa: N812

from ebmkit.chains.chain import run_chain
from ebmkit.chains.energy import Energy, frozen
from ebmkit.components.models.conv import Conv
from ebmkit.components.models.conv_layers import ConvLayer
from ebmkit.components.models.gaussian import Gaussian
from ebmkit.components.samplers.langevin import Langevin
from ebmkit.contracts.question import Question
from ebmkit.engine.ema import RunningMean
from ebmkit.maths.spectral import SpectralNorm
from ebmkit.registry.reference import page
from tests.components.oracles import generator

#: (channels, height, width), not all square and not all divisible by the strides.
IMAGES = [(1, 1, 1), (1, 4, 4), (3, 5, 7), (2, 10, 8)]

#: Each activation and its largest slope.
ACTIVATIONS = {
    "leaky_relu": (nn.LeakyReLU(0.2), 1.0),
    "silu": (nn.SiLU(), 1.1),
    "softplus": (nn.Softplus(), 1.0),
    "gelu": (nn.GELU(), 1.13),
    "tanh": (nn.Tanh(), 1.0),
    "relu": (nn.ReLU(), 1.0),
}

LAYERS = (
    ConvLayer(channels=4),
    ConvLayer(channels=5, kernel=4, stride=2, padding=2),
    ConvLayer(channels=3, kernel=2, stride=3),
)


def images(event, count=6, seed=0, scale=1.0):
    return scale * torch.randn(count, *event, generator=generator(seed))


def built(event=(2, 10, 8), seed=0, **parameters):
    torch.manual_seed(seed)
    return Conv(**{"layers": LAYERS, "dense": (6,), "spectral_norm": True, **parameters}).build(event)


def spectral_layers(module):
    return [child for child in module.modules() if isinstance(child, SpectralNorm)]


def vectors(module):
    return [buffer.clone() for buffer in module.buffers()]


def all_equal(these, those):
    return all(torch.equal(a, b) for a, b in zip(these, those, strict=True))


# The network ----------------------------------------------------------------------------------------------------------


def convolve(x, weight, bias, stride, padding):
    """Window by window."""
    count, channels, height, width = x.shape
    padded = torch.zeros(count, channels, height + 2 * padding, width + 2 * padding)
    padded[:, :, padding : padding + height, padding : padding + width] = x
    size = weight.shape[-1]
    rows = range(0, padded.shape[2] - size + 1, stride)
    columns = range(0, padded.shape[3] - size + 1, stride)
    windows = [
        [padded[:, :, r : r + size, c : c + size].flatten(1) @ weight.flatten(1).T for c in columns] for r in rows
    ]
    return torch.stack([torch.stack(row, 2) for row in windows], 2) + bias.view(-1, 1, 1)


def reference(module, head, activation, base_scale):
    function = ACTIVATIONS[activation][0]

    def energy(x):
        h = x
        for layer, listed in zip(module.convolutions, LAYERS, strict=True):
            h = function(convolve(h, layer.weight, layer.bias, listed.stride, listed.padding))
        h = torch.einsum("bchw->bc", h) if head == "sum" else h.reshape(len(x), -1)
        for layer in module.dense:
            h = function(h @ layer.weight.T + layer.bias)
        base = 0 if base_scale is None else 1 / (2 * base_scale**2)
        return h @ module.last.weight[0] + module.last.bias + base * x.pow(2).sum((1, 2, 3))

    return energy


@pytest.mark.parametrize("event", IMAGES, ids=str)
@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize(
    ("head", "dense", "base_scale"), [("flatten", (6, 5), 2.0), ("sum", (), None), ("sum", (3,), 0.5)]
)
def test_energy_and_gradient(event, activation, head, dense, base_scale):
    module = built(event, spectral_norm=False, activation=activation, head=head, dense=dense, base_scale=base_scale)
    x = images(event, scale=3).requires_grad_()
    expected = reference(module, head, activation, base_scale)(x)
    (slope,) = torch.autograd.grad(expected.sum(), x)
    energy, gradient = Energy(module).value_and_grad(x)
    assert energy.shape == (6,)
    torch.testing.assert_close(energy, expected.detach())
    torch.testing.assert_close(gradient, slope)


def test_the_base_confines_what_spectral_norm_leaves_flat():
    far = images((2, 10, 8), scale=1e3)
    assert bool((built().eval()(far) > 1e6).all())
    assert bool((built(base_scale=None).eval()(far).abs() < 1e6).all())


def test_the_default_is_small_and_halves_twice():
    module = Conv().build((1, 28, 28))
    assert module.last.in_features == 128 * 7 * 7
    assert spectral_layers(module) == []


def test_sections_document_every_key():
    assert all(parameter.meaning for parameter in page(ConvLayer).parameters)


# Table 5.1 ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("preset", "event", "kernels", "dense"),
    [
        ("thesis_a", (1, 28, 28), ["64x1x3", "64x64x4", "128x64x4", "256x128x3", "512x256x4"], [512, 256, 1]),
        ("thesis_b", (3, 32, 32), ["64x3x3", "64x64x4", "128x64x4", "256x128x4", "512x256x4"], [512, 256, 1]),
        ("thesis_c", (3, 32, 32), ["64x3x3", "128x64x4", "256x128x4", "512x256x4", "1024x512x4"], [1024, 512, 256, 1]),
    ],
)
def test_presets(preset, event, kernels, dense):
    with torch.device("meta"):  # shapes are enough
        module = Conv(preset=preset).build(event)
        energy = module(torch.empty(2, *event))
    assert energy.shape == (2,)
    weights = [convolution.weight for convolution in module.convolutions]
    assert ["x".join(map(str, weight.shape[:3])) for weight in weights] == kernels
    assert all(weight.shape[2] == weight.shape[3] for weight in weights)
    linear = [(layer.in_features, layer.out_features) for layer in (*module.dense, module.last)]
    assert linear == list(pairwise(dense))


def test_the_table_ends_in_one_pixel():
    """All three end with a 4 x 4 convolution of 4 x 4 pixels, which is why A strides with a kernel of 3."""
    for preset, event in {"thesis_a": (1, 28, 28), "thesis_b": (3, 32, 32), "thesis_c": (3, 32, 32)}.items():
        smaller = (event[0], event[1] - 8, event[2])
        assert Conv(preset=preset).refusal(Question(event, Gaussian())) is None
        assert "gets 3 x 4" in Conv(preset=preset).refusal(Question(smaller, Gaussian()))


@pytest.mark.parametrize("own", [{"layers": LAYERS}, {"dense": (5,)}, {"head": "sum"}], ids=str)
def test_a_preset_excludes_a_list(own):
    with pytest.raises(ValueError, match=f"'thesis_a' defines layers and head, so '{next(iter(own))}' cannot"):
        Conv(preset="thesis_a", **own)


# What it takes --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("event", [(2,), (28, 28), (1, 2, 3, 4)], ids=str)
def test_only_images(event):
    words = r"takes images of shape \(channels, height, width\), not states of shape"
    assert words.replace("\\", "") in Conv().refusal(Question(event, Gaussian()))
    with pytest.raises(ValueError, match=words):
        Conv().build(event)


@pytest.mark.parametrize(("size", "fits"), [(6, False), (7, True)])
def test_an_image_may_not_vanish(size, fits):
    model = Conv(layers=(ConvLayer(channels=1, kernel=3, padding=0), ConvLayer(channels=1, kernel=7, padding=1)))
    for event in ((1, size, 20), (1, 20, size)):
        if fits:
            assert model.refusal(Question(event, model)) is None
            assert model.build(event)(images(event)).shape == (6,)
        else:
            assert "layers[1], with kernel 7 and padding 1, gets" in model.refusal(Question(event, model))
            with pytest.raises(ValueError, match="too large layers for an image of"):
                model.build(event)


# Spectral normalisation: the singular value ---------------------------------------------------------------------------


def normalised_by(layer):
    """The effective weight, as a matrix, without moving anything."""
    training, layer.training = layer.training, False
    weight = layer.normalised_weight().detach().flatten(1)
    layer.training = training
    return weight


@pytest.mark.parametrize("power_iterations", [1, 4])
def test_the_largest_singular_value_is_one(power_iterations):
    module = built(power_iterations=power_iterations)
    for layer in spectral_layers(module):
        layer.layer.weight.data *= 7.0
    for _ in range(3000 // power_iterations):
        module(images((2, 10, 8), 1))
    for layer in spectral_layers(module):
        weight = layer.layer.weight.detach().flatten(1)
        torch.testing.assert_close(normalised_by(layer), weight / torch.linalg.svdvals(weight)[0], rtol=1e-6, atol=1e-6)
        assert float(torch.linalg.svdvals(normalised_by(layer))[0]) == pytest.approx(1, abs=1e-6)
    assert len(spectral_layers(module)) == 5  # every layer, dense and last too


def test_a_network_that_was_never_trained_is_nearly_normalised():
    for seed in range(5):
        for layer in spectral_layers(built(seed=seed).eval()):
            assert 1 - 1e-12 < float(torch.linalg.svdvals(normalised_by(layer))[0]) < 1.05


@pytest.mark.parametrize("power_iterations", [1, 3])
def test_a_training_pass_makes_n_iterations_from_where_the_last_ended(power_iterations):
    layer = spectral_layers(built(power_iterations=power_iterations))[1]
    layer.layer.weight.data = images(layer.layer.weight.shape[1:], 5, seed=3)
    matrix, u = layer.layer.weight.detach().flatten(1), layer.u.clone()
    for _ in range(2):
        weight = layer.normalised_weight()
        for _ in range(power_iterations):
            v = matrix.T @ u / (matrix.T @ u).norm()
            u = matrix @ v / (matrix @ v).norm()
        torch.testing.assert_close(layer.u, u)
        torch.testing.assert_close(layer.v, v)
        torch.testing.assert_close(weight.flatten(1), matrix / (u @ matrix @ v))


def test_the_estimate_follows_the_weight():
    """One iteration a pass is enough while the weight moves slowly, as it does in training."""
    layer = SpectralNorm(nn.Linear(12, 9), 1)
    drift = 0.01 * torch.randn(9, 12, generator=generator(0))
    for _ in range(300):
        layer.layer.weight.data += drift
        layer.normalised_weight()
    assert float(torch.linalg.svdvals(normalised_by(layer))[0]) == pytest.approx(1, abs=1e-3)


def test_against_the_normalisation_of_torch():
    """It iterates the other way round, from v to u, and arrives at the same outputs and gradients."""
    torch.manual_seed(0)
    ours = SpectralNorm(nn.Conv2d(3, 5, 4, 2, 1), 500)
    theirs = nn.utils.parametrizations.spectral_norm(copy.deepcopy(ours.layer), n_power_iterations=500)
    x = images((3, 8, 8))
    torch.testing.assert_close(ours(x), theirs(x))
    (a,) = torch.autograd.grad(ours(x).square().sum(), ours.layer.weight)
    (b,) = torch.autograd.grad(theirs(x).square().sum(), theirs.parametrizations.weight.original)
    torch.testing.assert_close(a, b)


# Spectral normalisation: the Lipschitz bound --------------------------------------------------------------------------


def operator(convolution, event):
    """A convolution as a matrix, column by column."""
    layer = convolution.layer
    basis = torch.eye(math.prod(event)).view(-1, *event)
    return F.conv2d(basis, convolution.normalised_weight().detach(), None, layer.stride, layer.padding).flatten(1).T


def test_the_matrix_of_the_kernel_bounds_the_convolution():
    """Its norm is not the convolution's: that is larger by up to ceil(kernel / stride)."""
    ratios = []
    for kernel, stride, padding in [(3, 1, 1), (4, 2, 1), (4, 1, 0), (2, 2, 0), (3, 2, 1), (1, 1, 0)]:
        torch.manual_seed(kernel)
        layer = SpectralNorm(nn.Conv2d(2, 3, kernel, stride, padding), 500).train()
        layer.normalised_weight()
        norm = float(torch.linalg.svdvals(operator(layer.eval(), (2, 8, 8)))[0])
        assert 1 - 1e-6 < norm < math.ceil(kernel / stride) + 1e-6
        ratios.append(norm / math.ceil(kernel / stride))
    assert ratios[3] == pytest.approx(1)
    assert ratios[5] == pytest.approx(1)


def bound(module, event, head, slope):
    """The product of the norms of all layers, by singular values."""
    product = 1.0
    for convolution in module.convolutions:
        matrix = operator(convolution, event)
        product *= float(torch.linalg.svdvals(matrix)[0]) * slope
        event = tuple(convolution(torch.zeros(1, *event)).shape[1:])
    product *= math.sqrt(event[1] * event[2]) if head == "sum" else 1
    return product * slope  # the dense layer's activation; dense and last have norm one


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("head", ["flatten", "sum"])
def test_finite_differences_stay_within_the_bound(activation, head):
    event = (2, 10, 8)
    module = built(activation=activation, head=head, base_scale=None, power_iterations=300)
    for layer in spectral_layers(module):
        layer.layer.weight.data *= 30
    module(images(event, 1))
    module.eval()
    assert all(float(torch.linalg.svdvals(normalised_by(each))[0]) < 1 + 1e-6 for each in spectral_layers(module))
    steepest = bound(module, event, head, ACTIVATIONS[activation][1])

    x = images(event, 2000)
    gradient = Energy(module).value_and_grad(x)[1]
    steep = gradient.flatten(1).norm(dim=1).topk(100).indices
    x, step = x[steep], 1e-4 * gradient[steep] / gradient[steep].flatten(1).norm(dim=1).view(-1, 1, 1, 1)
    with torch.no_grad():
        uphill = (module(x + step) - module(x)) / step.flatten(1).norm(dim=1)
        across = (module(x[:50]) - module(x[50:])).abs() / (x[:50] - x[50:]).flatten(1).norm(dim=1)
    assert 1e-3 * steepest < float(uphill.max()) <= steepest
    assert float(across.max()) <= steepest

    plain = built(activation=activation, head=head, base_scale=None, spectral_norm=False)
    weights = {name.replace(".layer", ""): value for name, value in module.state_dict().items() if name[-1] not in "uv"}
    plain.load_state_dict(weights)
    assert float(Energy(plain).value_and_grad(x)[1].flatten(1).norm(dim=1).max()) > 100 * steepest


def test_the_bound_is_reached():
    """One channel, windows that do not overlap, all units active: every layer keeps the length of a gradient."""
    layers = (ConvLayer(channels=1, kernel=2, stride=2, padding=0),) * 2
    module = built((1, 8, 8), layers=layers, dense=(), activation="relu", base_scale=None)
    for parameter in module.parameters():
        parameter.data.abs_().mul_(30)
    module(images((1, 8, 8)))
    gradient = Energy(module.eval()).value_and_grad(images((1, 8, 8)).abs())[1]
    torch.testing.assert_close(gradient.flatten(1).norm(dim=1), torch.ones(6))


# Spectral normalisation: what moves and what does not -----------------------------------------------------------------


def test_eval_mode_moves_nothing():
    module, x = built().eval(), images((2, 10, 8))
    before, energy = vectors(module), module(x)
    for _ in range(3):
        assert torch.equal(module(x), energy)
    assert all_equal(before, vectors(module))


def test_training_mode_moves_the_vectors_and_no_random_number():
    module = built()
    before, state = vectors(module), torch.get_rng_state()
    module(images((2, 10, 8)))
    assert torch.equal(state, torch.get_rng_state())
    assert not all_equal(before, vectors(module))


def test_the_start_comes_from_the_global_generator():
    """The direction u is drawn; a zero-sum pair of rows would hide a fixed one from its singular vector for ever."""
    layer = nn.Linear(3, 2)
    layer.weight.data = torch.tensor([[1.0, 0.0, 0.0], [-1.0, 0.0, 0.0]])
    starts = []
    for seed in (4, 4, 5):
        torch.manual_seed(seed)
        starts.append(SpectralNorm(layer, 1))
        torch.testing.assert_close(starts[-1].eval().normalised_weight(), layer.weight / math.sqrt(2))
    drawn = [torch.cat([start.u, start.v]) for start in starts]
    assert torch.equal(drawn[0], drawn[1])
    assert not torch.equal(drawn[0], drawn[2])


def test_a_checkpoint_goes_on_with_the_same_bits():
    x, first = images((2, 10, 8)), built(seed=1)
    for _ in range(3):
        first(x)
    saved = {name: tensor.clone() for name, tensor in first.state_dict().items()}
    assert {name.rsplit(".", 1)[-1] for name in saved} == {"weight", "bias", "u", "v"}
    second = built(seed=2)
    second.load_state_dict(saved)
    for _ in range(4):
        assert torch.equal(first(x), second(x))
    assert all_equal(vectors(first), vectors(second))

    lost = built(seed=2)
    lost.load_state_dict({name: tensor for name, tensor in saved.items() if name[-2:] != ".u"}, strict=False)
    lost(x)
    second.load_state_dict(saved)
    assert not torch.equal(lost(x), second(x))  # so the vectors are needed


def test_a_running_mean_follows_the_vectors():
    module = built()
    mean = RunningMean(module)
    module(images((2, 10, 8)))
    mean.update(1, 0.5)
    assert all_equal(vectors(mean.module), vectors(module))


# Spectral normalisation: gradients ------------------------------------------------------------------------------------


def test_parameter_gradients_against_finite_differences():
    """u and v are constants, which eval mode shows: there a finite difference does not move them either."""
    module, x = built((2, 6, 5), activation="silu").eval(), images((2, 6, 5), 3)
    names, parameters = zip(*module.named_parameters(), strict=True)
    inputs = [parameter.detach().clone().requires_grad_() for parameter in parameters]
    assert torch.autograd.gradcheck(
        lambda *given: functional_call(module, dict(zip(names, given, strict=True)), (x,)), inputs, atol=1e-7
    )


def test_the_gradient_of_a_training_pass_is_that_of_miyato():
    """dL/dW = (G - <G, W/sigma> u v') / sigma, with G the gradient in the effective weight."""
    layer = SpectralNorm(nn.Linear(5, 4), 1)
    layer.layer.weight.data = images((5,), 4, seed=1)
    x = images((5,), 7)
    layer(x).square().sum().backward()
    u, v, W = layer.u, layer.v, layer.layer.weight.detach()
    sigma = u @ W @ v
    effective = (W / sigma).requires_grad_()
    (G,) = torch.autograd.grad((x @ effective.T + layer.layer.bias.detach()).square().sum(), effective)
    expected = (G - (G * W / sigma).sum() * torch.outer(u, v)) / sigma
    torch.testing.assert_close(layer.layer.weight.grad, expected)


def test_backward_may_come_after_the_next_pass():
    """Two passes in one loss: each is differentiated with the vectors that it used."""
    x, y = images((2, 10, 8), seed=1), images((2, 10, 8), seed=2)
    together, apart = built(), built()
    weights = list(together.parameters())
    first, second = together(x).sum(), together(y).sum()
    both = torch.autograd.grad(first - second, weights)
    one = torch.autograd.grad(apart(x).sum(), list(apart.parameters()))
    two = torch.autograd.grad(apart(y).sum(), list(apart.parameters()))
    for found, a, b in zip(both, one, two, strict=True):
        torch.testing.assert_close(found, a - b)


def test_it_can_be_differentiated_twice():
    """As score matching does: through the gradient in x to the weights, in training mode."""
    module, x = built(activation="silu"), images((2, 10, 8)).requires_grad_()
    (slope,) = torch.autograd.grad(module(x).sum(), x, create_graph=True)
    slope.square().sum().backward()
    assert all(float(layer.layer.weight.grad.abs().sum()) > 0 for layer in spectral_layers(module))


# Baking ---------------------------------------------------------------------------------------------------------------


@pytest.fixture
def counted(monkeypatch):
    """Every computation of a normalised weight."""
    calls = []
    compute = SpectralNorm.normalised_weight
    monkeypatch.setattr(SpectralNorm, "normalised_weight", lambda self: calls.append(self) or compute(self))
    return calls


def test_a_chain_normalises_once(counted):
    module, x = built().train(), images((2, 10, 8))
    before = vectors(module)
    run_chain(Langevin(steps=9), module, x, generator(0))
    assert counted == spectral_layers(module)
    assert all_equal(before, vectors(module))
    counted.clear()
    module(x)  # training goes on as before
    assert counted == spectral_layers(module)
    assert module.training
    assert not all_equal(before, vectors(module))


def test_baked_is_unbaked_to_the_last_bit():
    module, x = built(), images((2, 10, 8))
    expected, slope = Energy(module.eval()).value_and_grad(x)
    with frozen(module.train()) as energy:
        assert torch.equal(energy(x), expected)
        value, gradient = energy.value_and_grad(x)
        assert torch.equal(value, expected)
        assert torch.equal(gradient, slope)


def test_nothing_stays_baked(counted):
    """Behind a chain, also one that is broken off, the energy follows the weights again."""

    class Stop(Exception):
        pass

    def stop():
        raise Stop

    module, x = built(), images((2, 10, 8))
    with pytest.raises(Stop):
        run_chain(Langevin(steps=9), module, x, generator(0), on_step=stop)
    energy = module.eval()(x)
    spectral_layers(module)[0].layer.weight.data[0, 0] *= 2
    assert not torch.equal(module(x), energy)
    assert len(counted) == 3 * len(spectral_layers(module))


def test_a_chain_inside_a_chain(counted):
    module, x = built(), images((2, 10, 8))
    with frozen(module) as outer:
        energy = outer(x)
        with frozen(module) as inner:
            assert torch.equal(inner(x), energy)
        assert torch.equal(outer(x), energy)
    assert len(counted) == 2 * len(spectral_layers(module))
