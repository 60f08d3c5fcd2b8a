"""hudi-rs as a process that the tests talk to: the program in ``hudi_rs``, which ``prepare.py`` builds.

The environment variable ``HOODOO_INTEROP_HUDI_RS`` names the built program.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import pyarrow as pa

PEER_VARIABLE = "HOODOO_INTEROP_HUDI_RS"


class HudiRsError(Exception):
    """What hudi-rs answered in place of a result."""


class HudiRs:
    """One process. Each request opens its table anew, so that it sees what Hoodoo has done meanwhile."""

    def __init__(self, program: str | Path | None = None) -> None:
        self._scratch = tempfile.TemporaryDirectory(prefix="hudi-rs-")
        self._process = subprocess.Popen(
            [str(program or os.environ[PEER_VARIABLE])],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    @property
    def pid(self) -> int:
        """Of the process, which uses two threads."""
        return self._process.pid

    def __enter__(self) -> HudiRs:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(timeout=60)
        self._process.stdout.close()
        self._scratch.cleanup()

    def ask(
        self, verb: str, table: str | Path, rows: pa.Table | str | None = None, **more: Any
    ) -> Any:
        """What it answers. ``rows``: or the path of a file of them. ``more``: as ``src/main.rs`` says."""
        request = {"do": verb, "table": str(table), **more}
        if isinstance(rows, str):
            request["rows"] = rows
        elif rows is not None:
            request["rows"] = self._file("in.arrow")
            with pa.OSFile(request["rows"], "wb") as sink, pa.ipc.new_file(sink, rows.schema) as to:
                to.write_table(rows)
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise HudiRsError(f"the process ended ({self._process.wait(timeout=60)})")
        answer = json.loads(line)
        if "error" in answer:
            raise HudiRsError(answer["error"])
        return answer["ok"]

    def read(self, table: str | Path, columns: Sequence[str], **more: Any) -> list[dict[str, Any]]:
        """The rows of a read, as dictionaries."""
        to = self._file("out.arrow")
        said = self.ask("read", table, to=to, **more)
        if not said["rows"]:
            return []
        with pa.OSFile(to) as source:
            found: list[dict[str, Any]] = (
                pa.ipc.open_file(source).read_all().select(columns).to_pylist()
            )
        return found

    def _file(self, name: str) -> str:
        return str(Path(self._scratch.name) / name)
