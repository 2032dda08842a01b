"""The laws of chain starts."""

from __future__ import annotations

import copy

import torch
from torch import Tensor

from ebmkit.components.inits.replay import Replay
from ebmkit.components.models.hopfield import Hopfield
from ebmkit.contracts.kinds import Init
from ebmkit.contracts.modules.live import prepare_modules
from ebmkit.contracts.modules.starts import Starts
from ebmkit.testing.case import Case
from ebmkit.testing.device import pretended_device
from ebmkit.testing.law import Inapplicable, Law, require
from ebmkit.testing.oracles import generator
from ebmkit.testing.partner import build, default_dtype, seeded
from ebmkit.testing.setting import small_setting
from ebmkit.testing.untouched import no_global_randomness, require_same_bits, unmoved

#: Rows of a batch.
CHAINS = 7


def _starts(init: Init, case: Case, dtype: torch.dtype = torch.float64, seed: int = 0) -> Starts:
    with seeded(seed), default_dtype(dtype):
        objective = Replay(size=CHAINS).build(case.event)  # an init may continue the chains of an objective
        starts = init.build(case.event).follow(objective).to(dtype)
    memory = build(Hopfield(patterns=3, shape=case.event), case.event, dtype=dtype)  # or start at patterns of the model
    prepare_modules(starts, small_setting(memory, case.event))
    return starts


def _batch(init: Init, case: Case, dtype: torch.dtype = torch.float64, *, full: bool = False) -> Tensor:
    """A data batch of seven rows, or of the maximum number of chains."""
    most = init.capacity() or CHAINS
    return torch.randn(most if full else min(CHAINS, most), *case.event, generator=generator(1), dtype=dtype)


def _ended(x: Tensor) -> Tensor:
    """Possible end points of chains started at x."""
    return 0.5 * x + 1


def draws_like_the_batch(init: Init, case: Case) -> None:
    """A draw has the number of rows, shape, dtype and device of the batch, and is finite."""
    single, double = torch.float32, torch.float64
    for own, dtype in ((single, single), (single, double), (double, single), (double, double)):
        starts, batch = _starts(init, case, own), _batch(init, case, dtype)
        for n in (1, len(batch)):
            x = starts.draw(batch[:n], generator(2))
            seen = f"{n} rows of {dtype} and shape {tuple(batch.shape)} gave {x.dtype}, {tuple(x.shape)}"
            require((x.shape, x.dtype, x.device) == (batch[:n].shape, dtype, batch.device), seen)
            require(bool(x.isfinite().all()), f"{int((~x.isfinite()).sum())} numbers are not finite")
            starts.keep(_ended(x))


def is_deterministic(init: Init, case: Case) -> None:
    """The same generator gives the same draw to the last bit."""
    one, two, batch = _starts(init, case), _starts(init, case), _batch(init, case)
    require_same_bits(one.draw(batch, generator(2)), two.draw(batch, generator(2)), "two draws from one seed")


def uses_no_global_randomness(init: Init, case: Case) -> None:
    """All randomness of draws comes from the generator that is passed."""
    starts, batch = _starts(init, case), _batch(init, case)
    with no_global_randomness():
        starts.keep(_ended(starts.draw(batch, generator(2))))
        starts.draw(batch, generator(3))


def leaves_the_batch_alone(init: Init, case: Case) -> None:
    """The batch is not modified, not even by a chain that changes its start in place."""
    starts, batch = _starts(init, case), _batch(init, case)
    with unmoved(batch):
        starts.draw(batch, generator(2)).add_(1)


def keeps_its_own_states(init: Init, case: Case) -> None:
    """What a chain does to its start in place does not affect the next draw, and starts are not drawn once for all
    chains: if a draw depends on the generator, its rows differ."""
    one, two, batch = _starts(init, case), _starts(init, case), _batch(init, case)
    drawn = one.draw(batch, generator(2))
    expected = two.draw(batch, generator(2))
    drawn.add_(1)
    for starts in (one, two):
        starts.keep(_ended(expected))
    again = one.draw(batch, generator(3)), two.draw(batch, generator(3))
    require_same_bits(*again, "draws after a chain changed its start in place, and after one that did not,")
    other = _starts(init, case).draw(batch, generator(4))
    same_rows = len(batch) > 1 and bool((other == other[:1]).all())
    require(torch.equal(expected, other) or not same_rows, "all chains have the same start, which depends on the seed")


def remembers_in_its_buffers_alone(init: Init, case: Case) -> None:
    """Starts that load the saved state of others produce the same draws, to the last bit."""
    one, two, batch = _starts(init, case), _starts(init, case, seed=1), _batch(init, case, full=True)
    rng = generator(2)
    for _ in range(2):
        one.keep(_ended(one.draw(batch, rng)))
    two.load_state_dict({name: tensor.clone() for name, tensor in one.state_dict().items()})
    require_same_bits(one.draw(batch, generator(3)), two.draw(batch, generator(3)), "draws of starts and their twin")


def holds_as_many_chains_as_it_says(init: Init, case: Case) -> None:
    """`capacity` chains can be drawn at once, and one more is refused with a message."""
    capacity = init.capacity()
    if capacity is None:
        raise Inapplicable("it takes any number of chains")
    starts, batch = _starts(init, case), _batch(init, case, full=True)
    require(starts.capacity == capacity, f"the component states {capacity} chains, its module {starts.capacity}")
    starts.keep(starts.draw(batch, generator(2)))
    try:
        starts.draw(torch.cat([batch, batch[:1]]), generator(2))
    except ValueError:
        return
    raise AssertionError(f"{capacity + 1} chains were drawn from {capacity}")


def runs_on_the_device(init: Init, case: Case) -> None:
    """On another device draws equal those on the CPU, without host synchronisation."""
    starts, batch = _starts(init, case, torch.float32), _batch(init, case, torch.float32)
    twin, rng = copy.deepcopy(starts), generator(2)
    starts.keep(_ended(starts.draw(batch, rng)))
    on_cpu = starts.draw(batch, rng)
    with pretended_device() as gpu:
        there, moved, rng = twin.to(gpu.device), batch.to(gpu.device), gpu.generator(2)
        with gpu.watched() as seen:
            there.keep(_ended(there.draw(moved, rng)))
            x = there.draw(moved, rng)
        seen.require_no_host_syncs()
        require(x.device == gpu.device, f"a draw is on {x.device}")
        require_same_bits(x.cpu(), on_cpu, "draws on the device and on the CPU")


LAWS: tuple[Law, ...] = (
    draws_like_the_batch,
    is_deterministic,
    uses_no_global_randomness,
    leaves_the_batch_alone,
    keeps_its_own_states,
    remembers_in_its_buffers_alone,
    holds_as_many_chains_as_it_says,
    runs_on_the_device,
)
