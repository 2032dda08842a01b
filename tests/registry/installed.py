"""The packages of `plugins/`, installed without pip: their modules, and the metadata that an installer would write."""

import tomllib
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[2]


class Package(NamedTuple):
    """A folder of `plugins/`, as an outside author would publish it."""

    folder: Path
    project: dict[str, Any]

    @property
    def modules(self) -> list[Path]:
        """The top-level packages under `src/`."""
        return sorted(path.parent for path in self.folder.glob("src/*/__init__.py"))


def packages() -> list[Package]:
    """All of them; a new folder of `plugins/` with a pyproject.toml is one more."""
    files = sorted(ROOT.glob("plugins/*/pyproject.toml"))
    return [Package(file.parent, tomllib.loads(file.read_text())["project"]) for file in files]


def install(site: Path) -> Path:
    """Put every package into a folder that can stand on the search path."""
    for package in packages():
        for module in package.modules:
            (site / module.name).symlink_to(module, target_is_directory=True)
        project = package.project
        info = site / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
        info.mkdir()
        lines = ["Metadata-Version: 2.1", f"Name: {project['name']}", f"Version: {project['version']}"]
        lines += [f"Requires-Dist: {requirement}" for requirement in project["dependencies"]]
        (info / "METADATA").write_text("\n".join(lines) + "\n")
        groups = project["entry-points"].items()
        text = [
            f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in each.items()) for group, each in groups
        ]
        (info / "entry_points.txt").write_text("\n".join(text))
    return site
