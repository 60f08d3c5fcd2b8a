"""All trials on each server: ``python on_servers.py [arguments of pytest]``. HOODOO_STORES names those that are wanted,
by default all. They are brought once, beside this environment: versitygw and fake-gcs-server by Go, Azurite by npm."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from counted import counts

HERE = Path(__file__).parent
HOME = Path(sys.prefix) / "servers"
LIMIT = 900  # seconds
# Server -> the variable that names the program, what builds it, where that is to be had, its package, the program.
BROUGHT = {
    "versitygw": (
        "HOODOO_VERSITYGW", "go", "https://go.dev/dl",
        "github.com/versity/versitygw/cmd/versitygw@v1.8.0", "versitygw",
    ),
    "fake-gcs": (
        "HOODOO_FAKE_GCS", "go", "https://go.dev/dl",
        "github.com/fsouza/fake-gcs-server@v1.56.1", "fake-gcs-server",
    ),
    "azurite": (
        "HOODOO_AZURITE", "npm", "https://nodejs.org",
        "azurite@3.37.0", "node_modules/.bin/azurite-blob",
    ),
}  # fmt: skip


def brought(name: str) -> tuple[Path | None, str]:
    """The program; None, and a sentence, where it can't be had."""
    variable, tool, site, package, below = BROUGHT[name]
    if os.environ.get(variable):
        return Path(os.environ[variable]), ""
    folder = HOME / name / package.rpartition("@")[2]
    program = folder / below
    if program.exists():
        return program, ""
    found = shutil.which(tool)
    if found is None:
        return None, f"{name} was left out: {tool} is not installed ({site}), and it comes with it."
    folder.mkdir(parents=True, exist_ok=True)
    command = {
        "go": [found, "install", package],
        "npm": [found, "install", "--no-audit", "--no-fund", "--prefix", str(folder), package],
    }[tool]
    try:
        done = subprocess.run(
            command, env={**os.environ, "GOBIN": str(folder)}, timeout=LIMIT, check=False
        ).returncode
    except subprocess.TimeoutExpired:
        done = 1
    if done or not program.exists():
        return None, f"{name} was left out: {tool} could not bring {package}, for the reason above."
    return program, ""


def main() -> int:
    command = [sys.executable, "-m", "pytest", *(sys.argv[1:] or ["-n", "2", str(HERE)])]
    wanted = os.environ.get("HOODOO_STORES", ",".join(["moto", *BROUGHT])).split(",")
    codes, lines = [0], []
    for name in wanted:
        program, why = brought(name) if name in BROUGHT else (None, "")
        if why:
            lines.append(why)
            continue
        print(f"--- on {name}", flush=True)
        counted = HOME / f"{name}.counts"
        HOME.mkdir(parents=True, exist_ok=True)
        counted.unlink(missing_ok=True)
        on_it = {"HOODOO_STORE": name, "HOODOO_COUNTS": str(counted)}
        if program is not None:
            on_it[BROUGHT[name][0]] = str(program)
        code = subprocess.run(command, env={**os.environ, **on_it}, check=False).returncode
        tried = "".join(f", {n} x {what}" for what, n in sorted(counts(counted).items()))
        lines.append(f"{name}: {'passed' if code == 0 else 'failed'}{tried}")
        codes.append(code)
    print("\n".join(lines))
    return max(codes)


if __name__ == "__main__":
    sys.exit(main())
