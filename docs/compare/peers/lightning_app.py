"""LightningCLI's way: `class_path` and `init_args` of typed classes; jsonargparse reads them and makes the objects."""

import warnings

from jsonargparse.typing import PositiveFloat, PositiveInt
from lightning.pytorch import LightningDataModule, LightningModule
from lightning.pytorch.cli import LightningCLI

warnings.filterwarnings("ignore")


class TwoMoons(LightningDataModule):
    def __init__(self, noise: float = 0.05, batch_size: PositiveInt = 128):
        super().__init__()


class Energy:
    exact_samples = False


class Mlp(Energy):
    def __init__(self, width: PositiveInt = 64): ...


class Gaussian(Energy):
    exact_samples = True

    def __init__(self, scale: PositiveFloat = 1.0): ...


class Sampler:
    needs_exact_samples = False


class Langevin(Sampler):
    def __init__(self, steps: PositiveInt = 100, step_size: PositiveFloat = 0.01): ...


class Exact(Sampler):
    needs_exact_samples = True


class Mle(LightningModule):
    def __init__(self, energy: Energy, sampler: Sampler):
        super().__init__()
        if sampler.needs_exact_samples and not energy.exact_samples:
            raise ValueError(
                f"sampler {type(sampler).__name__} needs exact samples, which model {type(energy).__name__} has not"
            )


if __name__ == "__main__":
    LightningCLI(LightningModule, LightningDataModule, subclass_mode_model=True, subclass_mode_data=True, run=False)
