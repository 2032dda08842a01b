"""Components, classes, torch modules and functions in a dictionary."""

import subprocess
import sys

import pytest
import torch

from ebmkit.api import Bregman, component
from ebmkit.components.metrics import PseudoLikelihood
from ebmkit.components.models import MLP, Gaussian, MLPScore
from ebmkit.components.objectives import NoiseConditionalScoreMatching
from ebmkit.components.samplers import HMC, NUTS, AnnealedLangevin
from ebmkit.components.schedules import Geometric
from ebmkit.contracts.kinds import KINDS
from ebmkit.errors.base import Mistakes
from ebmkit.language.load import load_spec
from ebmkit.language.sections import Chains
from ebmkit.registry.builtin import COMPONENTS
from ebmkit.registry.classes import class_in, class_names
from ebmkit.registry.loading import Plugins


@component("half")
class Half(Bregman):
    """Half the square."""

    scale: float = 1.0

    def psi(self, u):
        return self.scale * u * u / 2


TRAINED = {"data": "two_moons", "model": MLP(hidden=(4,)), "train": {"steps": 2}}


def spec(**sections):
    return {"ebmkit": 1, "model": Gaussian(mean=(0.0, 1.0)), "sampler": HMC(step_size=0.3), **sections}


def test_components_are_what_their_names_and_parameters_are():
    plain = {"ebmkit": 1, "model": {"use": "gaussian", "mean": [0, 1]}, "sampler": {"use": "hmc", "step_size": 0.3}}
    assert load_spec(spec()).hash == load_spec(plain).hash
    assert load_spec(spec()).spec.sampler == HMC(step_size=0.3)


def test_defaults_of_an_object_count_as_unwritten():
    """Long chains have no `steps`: those of an object that leaves them out are not refused."""
    assert load_spec(spec(chains=Chains(count=2), sampler=NUTS())).spec.chains.count == 2
    with pytest.raises(Mistakes, match=r"^sampler\.steps E2"):
        load_spec(spec(chains=Chains(count=2), sampler=NUTS(steps=7)))


def test_an_object_in_several_places_is_one_part():
    noise = Geometric(count=4)
    network = {"model": MLPScore(schedule=noise), "sampler": AnnealedLangevin(schedule=noise)}
    training = {"objective": NoiseConditionalScoreMatching(schedule=noise), "train": {"steps": 2}}
    plan = load_spec({"ebmkit": 1, "data": "two_moons", **network, **training})
    assert plan.spec.model.schedule is plan.spec.sampler.schedule is plan.spec.objective.schedule
    assert plan.resolved["model"]["schedule"] == "$geometric_1"


def test_classes_stand_for_names():
    assert load_spec(spec(sampler={"use": HMC, "step_size": 0.3})).hash == load_spec(spec()).hash
    assert load_spec(spec(sampler=HMC)).spec.sampler == HMC()


def test_a_class_at_hand_joins_the_notebook():
    plan = load_spec(spec(**TRAINED | {"objective": {"use": "bregman", "generator": Half(scale=2)}}))
    assert plan.spec.objective.generator == Half(scale=2)
    assert plan.resolved["objective"]["generator"]["use"] == "notebook.half"


def test_a_class_that_was_passed_keeps_its_namespace():
    sections = TRAINED | {"objective": {"use": "bregman", "generator": Half()}}
    plan = load_spec(spec(**sections), plugins={"mine": [Half]})
    assert plan.resolved["objective"]["generator"]["use"] == "mine.half"
    assert [loaded.plugin.namespace for loaded in plan.plugins] == ["mine"]


def test_wrong_parameters_of_an_object_are_at_their_path():
    with pytest.raises(Mistakes, match=r"^sampler\.steps E105 'steps' of sampler 'hmc' must be an integer"):
        load_spec(spec(sampler=HMC(steps="many")))


def network():
    return torch.nn.Sequential(torch.nn.Linear(2, 1), torch.nn.Flatten(0))


def test_a_module_is_a_model_with_a_shape():
    net = network()
    plan = load_spec(spec(model={"use": net, "shape": (2,)}))
    assert plan.event == (2,)
    built = plan.spec.model.build((2,))
    assert built is not net
    assert torch.equal(built[0].weight, net[0].weight)


def test_weights_are_those_of_the_file_whatever_the_module_has_now():
    net = network()
    before = net[0].weight.detach().clone()
    plan = load_spec(spec(model={"use": net, "shape": (2,)}))
    with torch.no_grad():
        net[0].weight.zero_()
    assert torch.equal(plan.spec.model.build((2,))[0].weight, before)
    assert plan.hash != load_spec(spec(model={"use": net, "shape": (2,)})).hash


def test_an_energy_without_a_shape_is_refused_where_it_stands():
    with pytest.raises(Mistakes, match=r"^model"):
        load_spec(spec(model=lambda x: x.sum(-1)))


def test_two_networks_of_one_class_have_two_names():
    nets = [torch.nn.Linear(2, 1) for _ in range(2)]
    names = [cls.component_name for cls in Plugins(nets).load("notebook").components]
    assert names == ["linear", "linear_2"]


@pytest.mark.parametrize("kind", list(KINDS))
def test_every_built_in_class_is_found_by_its_name(kind):
    folder, names = COMPONENTS[kind]
    found = class_names(f"ebmkit.components.{folder}")
    classes = [class_in(f"ebmkit.components.{folder}", name) for name in found]
    assert sorted(cls.component_name for cls in classes) == sorted(names.split())
    assert {cls.component_kind for cls in classes} == {kind}


def test_a_class_is_found_with_a_hint_and_without_torch():
    assert PseudoLikelihood.component_kind == "metric"  # objectives have one of this name too
    with pytest.raises(AttributeError, match="did you mean 'MLP'"):
        class_in("ebmkit.components.models", "MPL")
    program = (
        "import sys, ebmkit\n"
        "from ebmkit.components.models import Gaussian\n"
        "from ebmkit.components.samplers import HMC\n"
        "plan = ebmkit.load_spec({'ebmkit': 1, 'model': Gaussian(mean=(0,)), 'sampler': HMC()})\n"
        "print('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
