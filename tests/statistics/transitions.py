"""The exact transition matrix of a sampler's own step, by going through every outcome of its random draws.

    P = transition_matrix(Gibbs(scan="fixed"), module, every_state(3, (-1.0, 1.0)))

The step that runs is the real one. While it runs, its random draws are answered from a script: a coin `u < p` falls
both ways, one run after the other, and each run knows with which probability it would have happened. What ends up in
row x of the matrix is the law of x', to rounding. A draw that the script does not know moves the generator, and that is
an error.

All states stand side by side as chains of one batch, and chains draw for themselves: an outcome is that of every chain,
with a probability of each chain's own. Where a sampler lays its draws out otherwise, as `parallel_tempering` does with
its replicas, or where its state is more than x, go from one state at a time:

    P = torch.cat([rows(lambda rng, k=k: number(step_from(k, rng)), chains=1, states=N) for k in range(N)])
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Any

import torch
from torch import Generator, Tensor, nn
from torch.overrides import TorchFunctionMode

from ebmkit.chains.energy import frozen
from ebmkit.contracts.kinds import Sampler

#: A law in the place of N(0, 1), on which enumeration is possible: values and their probabilities.
Support = Sequence[tuple[float, float]]


def every_state(event: int | tuple[int, ...], values: Sequence[float]) -> Tensor:
    """All states, the first unit changing last, `(N, *event)`."""
    event = (event,) if isinstance(event, int) else event
    states = list(product(values, repeat=torch.Size(event).numel()))
    return torch.tensor(states, dtype=torch.float64).view(-1, *event)


def transition_matrix(
    sampler: Sampler, module: nn.Module, states: Tensor, *, steps: int = 1, normal: Support = ()
) -> Tensor:
    """`P[a, b]`, the probability to go from `states[a]` to `states[b]` in so many steps."""

    def run(rng: Generator) -> Tensor:
        with frozen(module) as energy:
            state = sampler.init(energy, states.clone(), rng)
            for _ in range(steps):
                state, _ = sampler.step(energy, state, rng)
        return number(state.x, states)

    return rows(run, chains=len(states), states=len(states), normal=normal)


def number(x: Tensor, states: Tensor) -> Tensor:
    """Which of the states each x is; -1 for none."""
    x, states = x.flatten(1), states.flatten(1)
    rule = torch.linspace(1, 2, states.shape[1], dtype=states.dtype).sqrt()  # gives every state another length
    lengths, order = (states @ rule).sort()
    found = order[torch.searchsorted(lengths, x @ rule - 1e-9).clamp(max=len(order) - 1)]
    return torch.where((states[found] == x).all(1), found, -1)


def rows(run: Callable[[Generator], Tensor], *, chains: int, states: int, normal: Support = ()) -> Tensor:
    """The law of `run(rng) -> (chains,)`, which says in which of so many states each chain ends, `(chains, states)`."""
    law = torch.zeros(chains, states, dtype=torch.float64)
    for ended, probability in outcomes(run, chains, normal):
        happens = probability > 0  # what cannot happen to one chain may happen to another
        assert bool((ended[happens] >= 0).all()), "a step led to none of the states"
        law[happens, ended[happens]] += probability[happens]
    return law


def outcomes(run: Callable[[Generator], Tensor], chains: int, normal: Support = ()) -> Iterator[tuple[Tensor, Tensor]]:
    """What `run` returns for every outcome of its draws, and with which probability for each chain `(chains,)`."""
    taken: list[int] = []
    while True:
        dice = Dice(taken, chains, normal)
        rng = Generator().manual_seed(0)
        before = rng.get_state(), torch.default_generator.get_state()
        with dice:
            ended = run(rng)
        after = rng.get_state(), torch.default_generator.get_state()
        assert all(map(torch.equal, before, after)), "a random number was drawn in a way that is not scripted"
        yield ended, dice.probability
        taken = dice.taken
        while taken and taken[-1] == dice.options[len(taken) - 1] - 1:
            taken.pop()
        if not taken:
            return
        taken[-1] += 1


class Dice(TorchFunctionMode):
    """Answers random draws: as `taken` says, and with the first possible outcome from there on."""

    def __init__(self, taken: list[int], chains: int, normal: Support) -> None:
        super().__init__()
        self.script = list(taken)
        self.taken: list[int] = []
        self.options: list[int] = []
        self.chains = chains
        self.normal = normal
        self.probability = torch.ones(chains, dtype=torch.float64)

    def __enter__(self) -> Dice:
        # The module that is imported now: a planted bug may have replaced it. `tests/maths/test_coins.py` proves it.
        self.coins = sys.modules["ebmkit.maths.coins"].Uniform
        self.unscripted = self.coins.draw
        self.coins.draw = lambda uniform, rng: Uniform(self, uniform._numbers)
        return super().__enter__()

    def __exit__(self, *error: Any) -> None:
        self.coins.draw = self.unscripted
        super().__exit__(*error)

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        match getattr(function, "__name__", ""):
            case "uniform_":
                return Uniform(self, args[0])
            case "normal_":
                return self._normal(*args, **kwargs)
            case "randint":
                return self._randint(*args, **kwargs)
        return function(*args, **kwargs)

    def choose(self, law: Tensor) -> int:
        """One of the options of a law `(options, chains)`; those that no chain can take are passed over."""
        possible = [k for k in range(len(law)) if bool((law[k] * self.probability).any())]
        assert possible, "the probabilities of an outcome sum up to nothing"
        at = self.script[len(self.taken)] if len(self.taken) < len(self.script) else 0
        self.taken.append(at)
        self.options.append(len(possible))
        self.probability = self.probability * law[possible[at]]
        return possible[at]

    def draws(self, shape: torch.Size) -> Iterator[Any]:
        """Where the independent draws of a tensor stand: one place a chain each, or one for all chains together."""
        if len(shape) and shape[0] == self.chains:
            return ((slice(None), *index) for index in product(*map(range, shape[1:])))
        return product(*map(range, shape))

    def alike(self, probabilities: Sequence[float]) -> Tensor:
        """A law that is the same for all chains."""
        return torch.tensor(probabilities, dtype=torch.float64).unsqueeze(1).expand(-1, self.chains)

    def _normal(self, x: Tensor, mean: float = 0.0, std: float = 1.0, *, generator: Generator) -> Tensor:
        assert self.normal, "a normal draw needs a law on few values in its place: normal=[(value, probability), ...]"
        values, probabilities = zip(*self.normal, strict=True)
        for place in self.draws(x.shape):
            x[place] = mean + std * values[self.choose(self.alike(probabilities))]
        return x

    def _randint(self, high: int, size: Sequence[int], *, generator: Generator, device: Any = None) -> Tensor:
        found = torch.zeros(tuple(size), dtype=torch.int64)
        for place in self.draws(found.shape):
            found[place] = self.choose(self.alike([1 / high] * high))
        return found


class Uniform:
    """Numbers between 0 and 1 of which nothing is known until they are compared, once."""

    def __init__(self, dice: Dice, like: Tensor) -> None:
        self.dice, self.like = dice, like
        like.fill_(torch.nan)  # whoever goes on with the tensor itself gets nothing sensible

    def __lt__(self, threshold: Tensor | float) -> Tensor:
        dice, self.dice = self.dice, None  # the second comparison fails
        p = torch.as_tensor(threshold, dtype=torch.float64).nan_to_num(nan=0.0).clamp(0, 1)
        p = p.expand(self.like.shape)
        below = torch.zeros(self.like.shape, dtype=torch.bool)
        for place in dice.draws(below.shape):
            chance = p[place].expand(dice.chains)
            below[place] = dice.choose(torch.stack([1 - chance, chance])) == 1
        return below

    __le__ = __lt__

    def lt_(self, threshold: Tensor) -> Tensor:
        return (self < threshold).to(self.like.dtype)

    def __ge__(self, threshold: Tensor | float) -> Tensor:
        return ~(self < threshold)

    __gt__ = __ge__

    def log(self) -> LogUniform:
        return LogUniform(self)

    log_ = log


class LogUniform:
    """Their logarithms: compared, or minus the times at which clocks ring that are divided by their rates."""

    def __init__(self, uniform: Uniform) -> None:
        self.uniform = uniform

    def __lt__(self, threshold: Tensor) -> Tensor:
        return self.uniform < threshold.exp()

    def __ge__(self, threshold: Tensor) -> Tensor:
        return self.uniform >= threshold.exp()

    def __rtruediv__(self, rates: Tensor) -> Race:
        assert rates.shape == self.uniform.like.shape
        return Race(self.uniform.dice, rates)


class Race:
    """`rates / log u`, of which the least is at the clock that rings first."""

    def __init__(self, dice: Dice, rates: Tensor) -> None:
        self.dice, self.rates = dice, rates

    def argmin(self, dim: int, keepdim: bool = False) -> Tensor:
        assert dim in (-1, self.rates.dim() - 1)
        law = self.rates.double() / self.rates.double().sum(-1, keepdim=True)
        first = torch.zeros(law.shape[:-1], dtype=torch.int64)
        for place in self.dice.draws(first.shape):
            first[place] = self.dice.choose(law[place].view(-1, law.shape[-1]).T.expand(-1, self.dice.chains))
        return first.unsqueeze(-1) if keepdim else first


def stationary_error(P: Tensor, pi: Tensor) -> float:
    """How far `pi P` is from `pi`, at most."""
    return float((pi @ P - pi).abs().max())


def balance_error(P: Tensor, pi: Tensor) -> float:
    """How far `pi_a P_ab` is from `pi_b P_ba`, at most."""
    flow = pi.unsqueeze(1) * P
    return float((flow - flow.T).abs().max())
