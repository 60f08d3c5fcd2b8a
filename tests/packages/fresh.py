"""Wheels of all distributions, installed into a clean environment; then the quickstart, without Spark. Says how long it takes.
Fails where install and quickstart take more than a minute of processor time: the clock of a busy machine says nothing.
Also fails if twine or check-wheel-contents finds a fault, or if a second build gives other bytes.

    python tests/packages/fresh.py [--offline FOLDER] [--sbom FILE]

``tox run -e packages`` runs it. What is timed is what a new user waits for: the install, and the page. With ``--offline``
third-party packages come from the wheels in FOLDER; else from the index that pip is configured for. ``--sbom`` writes the
bill of materials of the clean environment (CycloneDX, JSON): each package with its version, licence and hashes of files.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

REPO = Path(__file__).parents[2]
SECONDS = 60.0
NEEDED = ("hoodoo", "polars")  # the page shows polars, too
# What a wheel must have, and must not have.
FOREIGN = re.compile(r"(^|/)(tests?|docs|contrib)/|\.pyc$")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--offline", metavar="FOLDER", help="take third-party wheels from there")
    parser.add_argument("--sbom", metavar="FILE", help="write the bill of materials there")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        wheels = build(work, "wheels")
        bad = [said for wheel in wheels for said in faults(wheel)]
        bad += differing(wheels, build(work, "again"))
        run([sys.executable, "-m", "twine", "check", "--strict", *map(str, wheels)], work)
        # hoodoo only names the others, and Spark looks for pyspark_hoodoo.
        meant = ["--ignore", "W007,W008,W009"]
        run([sys.executable, "-m", "check_wheel_contents", *meant, *map(str, wheels)], work)
        passed = timed("install", lambda: install(work, given.offline))
        passed += timed("quickstart", lambda: quickstart(work))
        timed("doctor", lambda: run([binary(work, "hoodoo"), "doctor", "--engine", "local"], work))
        bad += bill(work, given.sbom, len(wheels))
        for said in bad:
            print(f"fault: {said}")
        print(
            f"{len(wheels)} wheels; install and quickstart took {passed:.1f} s of processor time (goal: {SECONDS:g})"
        )
        return 1 if bad or passed > SECONDS else 0


def build(work: Path, folder: str) -> list[Path]:
    """A wheel of each distribution, of a copy of the sources. All files in it have the time of SOURCE_DATE_EPOCH, which
    a release sets to that of its commit: the same sources make the same bytes."""
    os.environ.setdefault("SOURCE_DATE_EPOCH", "1700000000")
    copy = work / f"sources-{folder}"
    ignored = shutil.ignore_patterns(
        ".git", ".tox", ".mypy_cache", "build", "*.egg-info", "__pycache__", "tests"
    )
    shutil.copytree(REPO, copy, ignore=ignored)
    for setup in sorted(
        (copy / "setup.cfg", copy / "core/setup.cfg", *copy.glob("plugins/*/setup.cfg"))
    ):
        if not (setup.parent / "LICENSE").exists():
            shutil.copy(copy / "LICENSE", setup.parent)
        run(
            [
                sys.executable,
                "-m",
                "build",
                "--wheel",
                "--no-isolation",
                "--outdir",
                str(work / folder),
                str(setup.parent),
            ],
            work,
        )
    return sorted((work / folder).glob("*.whl"))


def differing(wheels: list[Path], again: list[Path]) -> list[str]:
    """Wheels that two builds of the same sources have made otherwise."""
    first, second = (
        {p.name: hashlib.sha256(p.read_bytes()).digest() for p in each} for each in (wheels, again)
    )
    return [
        f"{name}: a second build has other bytes"
        for name in first
        if first[name] != second.get(name)
    ]


def bill(work: Path, file: str | None, wheels: int) -> list[str]:
    """The bill of materials of the clean environment."""
    target = Path(file).resolve() if file else work / "sbom.json"
    command = ["-m", "cyclonedx_py", "environment", "--of", "JSON", "-o", str(target)]
    run([sys.executable, *command, binary(work, "python")], work)
    parts = {one["name"]: one for one in json.loads(target.read_text("utf-8"))["components"]}
    lacking = [name for name, one in parts.items() if not one.get("version")]
    print(f"bill of materials: {len(parts)} packages")
    ours = [name for name in parts if name.startswith("hoodoo")]
    found = [f"bill of materials: {name} has no version" for name in lacking]
    if len(ours) < wheels - 1:  # hoodoo-cloud is an extra
        found.append(f"bill of materials: of Hoodoo it has only {', '.join(ours)}")
    return found


def faults(wheel: Path) -> list[str]:
    """What is wrong with what a wheel holds."""
    with zipfile.ZipFile(wheel) as packed:
        names = packed.namelist()
        (about,) = [name for name in names if name.endswith(".dist-info/METADATA")]
        said = packed.read(about).decode()
    found = [f"{wheel.name} has {name}" for name in names if FOREIGN.search(name)]
    if "License-Expression: Apache-2.0" not in said and "License: Apache-2.0" not in said:
        found.append(f"{wheel.name} does not say its licence")
    if not any(name.endswith(".dist-info/licenses/LICENSE") for name in names):
        found.append(f"{wheel.name} has no copy of its licence")
    if "Requires-Python: >=3.10" not in said:
        found.append(f"{wheel.name} does not say which Python it needs")
    packages = {name.split("/")[0] for name in names if re.match(r"hoodoo\w*/__init__.py", name)}
    typed = {name.split("/")[0] for name in names if name.endswith("/py.typed")}
    found += [f"{wheel.name}: {package} has no py.typed" for package in sorted(packages - typed)]
    return found


def install(work: Path, offline: str | None) -> None:
    run([sys.executable, "-m", "venv", str(work / "fresh")], work)
    links = ["--find-links", str(work / "wheels")]
    if offline:
        links += ["--no-index", "--find-links", str(Path(offline).resolve())]
    run(
        [
            binary(work, "python"),
            "-m",
            "pip",
            "install",
            "-q",
            "--disable-pip-version-check",
            *links,
            *NEEDED,
        ],
        work,
    )


def quickstart(work: Path) -> None:
    """The page, as somebody pastes it; no PySpark is there."""
    text = (REPO / "docs/quickstart.md").read_text("utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```$", text, re.M | re.S)
    script = work / "quickstart.py"
    script.write_text(
        "\n".join([*blocks, "import sys", "assert 'pyspark' not in sys.modules", ""]), "utf-8"
    )
    here = work / "here"
    here.mkdir()
    run([binary(work, "python"), str(script)], here)


def binary(work: Path, name: str) -> str:
    folder = "Scripts" if os.name == "nt" else "bin"
    return str(work / "fresh" / folder / name)


def run(command: list[str], where: Path) -> None:
    """Ends the script with what the program printed, if it fails. The environment of the caller is not seen."""
    variables = {
        key: text for key, text in os.environ.items() if key not in ("PYTHONPATH", "VIRTUAL_ENV")
    }
    done = subprocess.run(
        command, cwd=where, env=variables, capture_output=True, text=True, check=False
    )
    if done.returncode:
        sys.exit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")


def timed(what: str, call: Callable[[], object]) -> float:
    """Seconds of processor time that the programs which ``call`` runs took."""
    began, before = time.monotonic(), os.times()
    call()
    after = os.times()
    taken = (
        after.children_user + after.children_system - before.children_user - before.children_system
    )
    print(f"{what}: {time.monotonic() - began:.1f} s, {taken:.1f} s of processor time")
    return taken


if __name__ == "__main__":
    sys.exit(main())
