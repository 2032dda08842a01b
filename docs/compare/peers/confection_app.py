"""confection's way: functions in catalogue registries, named by `@registry` in the sections of the file."""

import sys
from pathlib import Path

import catalogue
import components
from confection import Config, registry


def register(kind: str, **makers: type) -> None:
    entries = catalogue.create("compare", kind, entry_points=False)
    setattr(registry, kind, entries)
    for name, make in makers.items():
        entries.register(name, func=make)


register("data", two_moons=components.TwoMoons)
register("models", mlp=components.Mlp, gaussian=components.Gaussian)
register("samplers", langevin=components.Langevin, exact=components.Exact)
register("objectives", mle=components.Mle)
register("sections", train=components.Train, experiment=components.Experiment)

if __name__ == "__main__":
    registry.resolve(Config().from_disk(Path(sys.argv[1])))
