"""All trials on each server: ``python on_servers.py [arguments of pytest]``. versitygw is built with Go, beside this
environment, once."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

VERSION = "v1.8.0"
HERE = Path(__file__).parent


def versitygw() -> Path | None:
    """The program; None, and a sentence, where it can't be had."""
    folder = Path(sys.prefix) / "servers" / VERSION
    program = folder / "versitygw"
    if program.exists():
        return program
    go = shutil.which("go")
    if go is None:
        print(
            "versitygw was left out: Go is not installed (https://go.dev/dl), and it is built with it."
        )
        return None
    done = subprocess.run(
        [go, "install", f"github.com/versity/versitygw/cmd/versitygw@{VERSION}"],
        env={**os.environ, "GOBIN": str(folder)}, timeout=900, check=False,
    )  # fmt: skip
    if done.returncode:
        print("versitygw was left out: Go could not build it, for the reason above.")
        return None
    return program


def main() -> int:
    command = [sys.executable, "-m", "pytest", *(sys.argv[1:] or ["-n", "2", str(HERE)])]
    codes = [subprocess.run(command, check=False).returncode]
    program = versitygw()
    if program is not None:
        on_it = {"HOODOO_S3_SERVER": "versitygw", "HOODOO_VERSITYGW": str(program)}
        codes.append(subprocess.run(command, env={**os.environ, **on_it}, check=False).returncode)
    return max(codes)


if __name__ == "__main__":
    sys.exit(main())
