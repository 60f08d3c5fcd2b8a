"""Build the program of ``hudi_rs``, in which hudi-rs writes and reads for the tests, or find it built.

Cargo fetches some 460 crates and compiles them for minutes. So the program is stored in ``~/.cache/hoodoo/hudi-rs`` (or
below ``XDG_CACHE_HOME``), under a name that follows from its sources, its ``Cargo.lock`` and the compiler; later runs,
of other checkouts too, find it there, and cargo finds what it compiled before beside it. ``HOODOO_HUDI_RS_BUILD=cached``
takes what is there and builds nothing.

    python tests/interop/build_hudi_rs.py [--release]

prints where the program is; else why there is none, and ends with 2. ``--release``: optimized, for benchmarks.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

SOURCES = Path(__file__).resolve().parent / "hudi_rs"
BUILD_VARIABLE = "HOODOO_HUDI_RS_BUILD"
NAME = "hudi_rs_peer"


class NotBuilt(Exception):
    """Why there is no program; the message is a sentence for the user."""


def program(say: Callable[[str], None], profile: str = "dev") -> Path:
    """Where it is. ``profile``: of cargo, ``dev`` or ``release``. Raises NotBuilt."""
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "hoodoo" / "hudi-rs"
    cargo = shutil.which("cargo")
    if cargo is None:
        raise NotBuilt("cargo is missing: install Rust (https://rustup.rs).")
    name = NAME if profile == "dev" else f"{NAME}_{profile}"
    built = home / _fingerprint() / name
    if built.exists():
        return built
    if os.environ.get(BUILD_VARIABLE) == "cached":
        raise NotBuilt(f"{built} is not built: `tox run -e hudi-rs` builds it.")
    if shutil.which("protoc") is None:
        raise NotBuilt("protoc is missing: install the compiler of protocol buffers.")
    _compile(cargo, home / "target", profile, say)
    built.parent.mkdir(parents=True, exist_ok=True)
    part = built.with_suffix(".part")  # under its name when it is whole
    folder = "debug" if profile == "dev" else profile
    shutil.copy2(home / "target" / folder / NAME, part)
    return part.rename(built)


def _fingerprint() -> str:
    found = hashlib.sha256()
    for name in ("Cargo.toml", "Cargo.lock", "src/main.rs"):
        found.update((SOURCES / name).read_bytes())
    found.update(subprocess.run(["rustc", "-V"], capture_output=True, check=True).stdout)
    return found.hexdigest()[:16]


def _compile(cargo: str, target: Path, profile: str, say: Callable[[str], None]) -> None:
    began = time.monotonic()
    manifest = str(SOURCES / "Cargo.toml")
    command = [cargo, "build", "--locked", "--profile", profile, "--manifest-path", manifest]
    log = target.with_suffix(".log")
    log.parent.mkdir(parents=True, exist_ok=True)
    say(f"hudi-rs with cargo (some 20 minutes of one core the first time; {log}) ...")
    with log.open("w") as output:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
            env={**os.environ, "CARGO_TARGET_DIR": str(target)},
        )  # fmt: skip
        while process.poll() is None:
            try:
                process.wait(timeout=30)
            except subprocess.TimeoutExpired:
                say(f"hudi-rs with cargo: {time.monotonic() - began:.0f} s")
    if process.returncode:
        lines = [line for line in log.read_text("utf-8", "replace").splitlines() if line.strip()]
        errors = [line for line in lines if line.startswith("error")]
        raise NotBuilt(f"cargo failed: {(errors or lines or ['no output'])[0]} (all of it: {log}).")
    say(f"hudi-rs with cargo: done in {time.monotonic() - began:.0f} s")


def main() -> int:
    try:
        profile = "release" if "--release" in sys.argv[1:] else "dev"
        print(program(lambda text: print(text, file=sys.stderr, flush=True), profile))
    except NotBuilt as error:
        print(error)
        return 2
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
