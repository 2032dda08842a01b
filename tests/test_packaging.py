"""What users install: the wheel has the specs in it, and the metadata say what was promised."""

import subprocess
import sys
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run([*pip, "--wheel-dir", str(folder), str(ROOT)], check=True)
    (path,) = folder.glob("ebmkit_core-*.whl")
    return zipfile.ZipFile(path)


@pytest.fixture(scope="module")
def metadata(wheel):
    (name,) = [name for name in wheel.namelist() if name.endswith("METADATA")]
    return Parser().parsestr(wheel.read(name).decode())


def test_the_wheel_holds_the_packaged_specs_data_and_templates(wheel):
    names = set(wheel.namelist())
    for spec in ROOT.glob("specs/**/*.yaml"):
        assert f"ebmkit/specs/{spec.relative_to(ROOT / 'specs').as_posix()}" in names
    assert {"ebmkit/components/data/digits.npz", "ebmkit/components/data/digits.txt", "ebmkit/py.typed"} <= names
    assert [name for name in names if name.startswith("ebmkit/report/template/")]
    assert {"ebmkit/scaffold/templates/kinds/sampler.py.txt", "ebmkit/scaffold/templates/package/LICENSE.txt"} <= names
    assert not [name for name in names if name.startswith(("tests", "docs", "plugins"))]


def test_a_packaged_spec_runs_from_the_wheel_in_any_folder(wheel, tmp_path):
    """The wheel on the path is an installation; this checkout is not on it."""
    wheel.extractall(tmp_path / "site")
    program = (
        f"import sys; sys.path.insert(0, {str(tmp_path / 'site')!r})\n"
        "import ebmkit; from ebmkit.language.packaged import folder\n"
        "assert 'site' in ebmkit.__file__ and 'site' in str(folder()), (ebmkit.__file__, folder())\n"
        "print(ebmkit.load_spec('quickstart').spec.name)"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "quickstart"


def test_dependencies_are_few_and_torch_has_only_a_floor(metadata):
    assert metadata["Name"] == "ebmkit-core"
    requirements = [Requirement(text) for text in metadata.get_all("Requires-Dist")]
    core = {requirement.name.lower(): requirement for requirement in requirements if not requirement.marker}
    assert str(core["torch"].specifier) == ">=2.6"
    # Private methods of its scanner are overridden: a later version is tried before it is allowed.
    (ruamel,) = (name for name in core if name.startswith("ruamel"))
    assert any(bound.operator == "<" for bound in core[ruamel].specifier)
    assert not {"scipy", "pandas", "scikit-learn", "torchvision"} & set(core)
    assert set(metadata.get_all("Provides-Extra")) == {"arviz", "dev", "flows", "tensorboard"}
