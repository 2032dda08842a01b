"""The templates, and the files that are made from them: plain replacement of placeholders, nothing is evaluated."""

from __future__ import annotations

from ebmkit.scaffold.names import FOLDER, Names


def component_files(names: Names) -> dict[str, str]:
    """The files of a component by their path in the package: the class, its test, its spec."""
    return {
        f"src/{names.module}/{names.component}.py": filled(f"kinds/{names.kind}.py", names),
        f"tests/test_{names.component}.py": filled("test.py", names),
        f"specs/{names.component}.yaml": filled(f"specs/{names.kind}.yaml", names),
    }


def package_files(names: Names) -> dict[str, str]:
    """The files of a package with one component."""
    return {
        "pyproject.toml": filled("package/pyproject.toml", names),
        "README.md": filled("package/README.md", names),
        "LICENSE": filled("package/LICENSE", names),
        ".gitignore": filled("package/gitignore", names),
        ".github/workflows/test.yml": filled("package/workflow.yml", names),
        f"src/{names.module}/__init__.py": filled("package/init.py", names),
        f"src/{names.module}/py.typed": "",
        **component_files(names),
    }


def filled(template: str, names: Names) -> str:
    """The text of a template with the names in the places of its placeholders."""
    text = (FOLDER / f"{template}.txt").read_text(encoding="utf-8")
    for placeholder, value in names.values().items():
        text = text.replace(placeholder, value)
    return text
