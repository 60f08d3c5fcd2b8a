"""What installs and publishes Hoodoo agrees with setup.cfg: versions, dependencies, licences, paths."""

from __future__ import annotations

import configparser
import json
import re
import sys
from pathlib import Path

import hoodoo

REPO = Path(__file__).parents[2]
SETUPS = [REPO / "setup.cfg", REPO / "core/setup.cfg", *sorted(REPO.glob("plugins/*/setup.cfg"))]
# Names on conda-forge that differ from those on PyPI.
CONDA = {
    "xxhash": "python-xxhash",
    "duckdb": "python-duckdb",
    "prometheus-client": "prometheus_client",
}


def setup(path: Path) -> configparser.ConfigParser:
    parser = configparser.ConfigParser()
    parser.read(path, encoding="utf-8")
    return parser


def needs(text: str) -> dict[str, str]:
    """Packages and their bounds, without Hoodoo's own."""
    found = re.findall(r"^([A-Za-z][\w.-]*)(?:\[[\w,]+\])?\s*([<>=!~].*)?$", text, re.M)
    return {name: bounds for name, bounds in found if not name.startswith("hoodoo")}


def required() -> dict[str, str]:
    """What `pip install hoodoo` brings: all distributions but hoodoo-cloud, and the extra `sql` of statements."""
    found: dict[str, str] = {}
    for path in SETUPS:
        if path.parent.name != "cloud":
            found |= needs(setup(path)["options"].get("install_requires", ""))
    return found | needs(
        setup(REPO / "plugins/statements/setup.cfg")["options.extras_require"]["sql"]
    )


def optional() -> dict[str, str]:
    found = needs(setup(REPO / "plugins/cloud/setup.cfg")["options"]["install_requires"])
    for path in SETUPS:
        if setup(path).has_section("options.extras_require"):
            for text in setup(path)["options.extras_require"].values():
                found |= needs(text)
    return found


def test_one_version_everywhere() -> None:
    assert setup(REPO / "setup.cfg")["metadata"]["version"] == hoodoo.__version__
    for path in SETUPS[1:]:
        (module,) = re.findall(r"^attr: (\w+)\.__version__$", setup(path)["metadata"]["version"])
        text = (path.parent / "src" / module / "__init__.py").read_text("utf-8")
        assert f'__version__ = "{hoodoo.__version__}"' in text, path
    major, minor, _ = hoodoo.__version__.split(".")
    bounds = f">={hoodoo.__version__},<{major}.{int(minor) + 1}"
    for path in SETUPS:
        for name, found in re.findall(
            r"^(hoodoo-\w+)(?:\[\w+\])?([<>=].*)$", path.read_text("utf-8"), re.M
        ):
            assert found == bounds, f"{path}: {name}"
    recipe = (REPO / "packaging/conda/meta.yaml").read_text("utf-8")
    assert f'{{% set version = "{hoodoo.__version__}" %}}' in recipe


def test_the_recipe_of_conda_has_what_pip_brings() -> None:
    recipe = (REPO / "packaging/conda/meta.yaml").read_text("utf-8")
    run = recipe.split("  run:\n")[1].split("  run_constrained:\n")
    brought = dict(re.findall(r"^    - (\S+) ?(.*)$", run[0], re.M))
    python = brought.pop("python")
    assert python == setup(REPO / "setup.cfg")["options"]["python_requires"]
    assert brought == {CONDA.get(name, name): bounds for name, bounds in required().items()}
    bounded = dict(re.findall(r"^    - (\S+) ?(.*)$", run[1].split("\n\n")[0], re.M))
    assert all(optional()[name] == bounds for name, bounds in bounded.items())
    named = set(re.findall(r'"(\w+)"', recipe.split("{% for name in [")[1].split("]")[0]))
    assert named == {path.parent.name for path in SETUPS[2:]}


def test_each_dependency_has_its_reason_and_its_licence() -> None:
    page = (REPO / "docs/dependencies.md").read_text("utf-8")
    reasons, licences = page.split("## Licences")
    for name in {**required(), **optional()}:
        assert f"`{name}`" in reasons, f"{name}: docs/dependencies.md does not say why"
        assert f"`{name}`" in licences, f"{name}: docs/dependencies.md does not name its licence"


def test_files_that_workflows_and_images_name_exist() -> None:
    texts = {
        path: path.read_text("utf-8")
        for folder in ("packaging", ".github", ".devcontainer")
        for path in (REPO / folder).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    for path, text in texts.items():
        named = re.findall(
            r"(?:/src/|(?<=[ (]))((?:\.ci|docs|packaging|tests|plugins|core)(?:/[\w.-]+)+)", text
        )
        for one in named:
            assert (REPO / one).exists(), f"{path}: {one}"
    tox = configparser.ConfigParser(interpolation=None)
    tox.read(REPO / "tox.ini", encoding="utf-8")
    for path, text in texts.items():
        for names in re.findall(r"tox run -e ([\w,]+)", text):
            for name in names.split(","):
                assert name == "tests" or f"testenv:{name}" in tox, f"{path}: {name}"


def test_the_container_of_developers_starts_from_files_that_exist() -> None:
    found = json.loads((REPO / ".devcontainer/devcontainer.json").read_text("utf-8"))
    assert (REPO / ".devcontainer" / found["build"]["dockerfile"]).exists()
    setup_line = re.search(
        r"^python3 -m venv .*pip install (.*)$", (REPO / "CONTRIBUTING.md").read_text("utf-8"), re.M
    )
    assert setup_line is not None
    said = setup_line[1].replace('"', "'")
    assert found["postCreateCommand"].split("pip install ")[1].startswith(said), (
        "one command sets up both"
    )


def test_first_pages_need_only_what_pip_brings() -> None:
    """Whoever has installed ``hoodoo`` alone runs the first example; frames come with ``hoodoo[frames]``."""
    brought = {"hoodoo", *required(), *sys.stdlib_module_names}
    for page in ("README.md", "docs/index.md", "docs/quickstart.md"):
        text = (REPO / page).read_text("utf-8")
        blocks = re.findall(r"^```python\n(.*?)^```", text, re.M | re.S)
        imported = set(re.findall(r"^(?:import|from) (\w+)", "".join(blocks), re.M))
        assert blocks and imported <= brought, page
    frames = needs(setup(REPO / "plugins/frames/setup.cfg")["options.extras_require"]["frames"])
    assert frames.keys() == {"polars", "pandas", "duckdb"}
    extras = setup(REPO / "setup.cfg")["options.extras_require"]
    assert extras["frames"].strip().startswith("hoodoo-frames[frames]")


def test_the_default_run_has_the_tests_of_every_distribution() -> None:
    tox = configparser.ConfigParser(interpolation=None)
    tox.read(REPO / "tox.ini", encoding="utf-8")
    named = set(re.findall(r"[\w/-]+/tests\b", tox["testenv"]["commands"]))
    there = {str(path.relative_to(REPO)) for path in REPO.glob("plugins/*/tests")}
    assert there <= named, there - named
