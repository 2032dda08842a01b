"""Hydra's way: structured configs in the store, chosen by the defaults list, built by `instantiate`."""

from dataclasses import dataclass, field

import hydra
from hydra.core.config_store import ConfigStore
from hydra.utils import instantiate
from omegaconf import MISSING, DictConfig


@dataclass
class Part:
    _target_: str = MISSING


@dataclass
class TwoMoons(Part):
    _target_: str = "components.TwoMoons"
    noise: float = 0.05


@dataclass
class Mlp(Part):
    _target_: str = "components.Mlp"
    width: int = 64


@dataclass
class Gaussian(Part):
    _target_: str = "components.Gaussian"
    scale: float = 1.0


@dataclass
class Langevin(Part):
    _target_: str = "components.Langevin"
    steps: int = 100
    step_size: float = 0.01


@dataclass
class Exact(Part):
    _target_: str = "components.Exact"


@dataclass
class Mle(Part):
    _target_: str = "components.Mle"
    sampler: Part = MISSING


@dataclass
class Train(Part):
    _target_: str = "components.Train"
    steps: int = MISSING
    batch_size: int = 128


@dataclass
class Experiment(Part):
    _target_: str = "components.Experiment"
    name: str = MISSING
    data: Part = MISSING
    model: Part = MISSING
    objective: Part = MISSING
    train: Train = field(default_factory=Train)


store = ConfigStore.instance()
store.store(name="experiment", node=Experiment)
store.store(group="data", name="two_moons", node=TwoMoons)
store.store(group="model", name="mlp", node=Mlp)
store.store(group="model", name="gaussian", node=Gaussian)
store.store(group="objective", name="mle", node=Mle)
store.store(group="sampler", name="langevin", node=Langevin)
store.store(group="sampler", name="exact", node=Exact)


@hydra.main(version_base="1.3", config_path=None)
def main(config: DictConfig) -> None:
    instantiate(config)


if __name__ == "__main__":
    main()
