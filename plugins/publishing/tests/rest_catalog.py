"""A REST catalog of Iceberg tables, as far as its specification is needed here, in memory."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from pydantic import TypeAdapter
from pyiceberg.exceptions import CommitFailedException
from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.serializers import FromInputFile
from pyiceberg.table.update import TableRequirement, TableUpdate, update_table_metadata

_TABLE = re.compile(r"/v1/namespaces/([^/]+)/tables/([^/]+)")


class _Handler(BaseHTTPRequestHandler):
    namespaces: set[str]
    tables: dict[str, Any]  # name -> metadata
    lock: threading.Lock

    def log_message(self, *said: Any) -> None:
        """Quiet."""

    def _answer(self, code: int, body: Any) -> None:
        data = json.dumps(body).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _refuse(self, code: int, kind: str) -> None:
        self._answer(code, {"error": {"message": kind, "type": kind, "code": code}})

    def _loaded(self, name: str) -> None:
        metadata = json.loads(self.tables[name].model_dump_json())
        said = {"metadata-location": "memory", "metadata": metadata, "config": {}}
        self._answer(200, said)

    def do_GET(self) -> None:
        if self.path.startswith("/v1/config"):
            return self._answer(200, {"defaults": {}, "overrides": {}})
        if match := _TABLE.fullmatch(self.path):
            name = f"{match[1]}.{match[2]}"
            if name in self.tables:
                return self._loaded(name)
            return self._refuse(404, "NoSuchTableException")
        found = self.path.removeprefix("/v1/namespaces/")
        if found in self.namespaces:
            return self._answer(200, {"namespace": [found], "properties": {}})
        return self._refuse(404, "NoSuchNamespaceException")

    def do_HEAD(self) -> None:
        there = self.path.removeprefix("/v1/namespaces/") in self.namespaces
        self.send_response(204 if there else 404)
        self.end_headers()

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path == "/v1/namespaces":
            self.namespaces.add(".".join(body["namespace"]))
            return self._answer(200, {"namespace": body["namespace"], "properties": {}})
        if self.path.endswith("/register"):
            space = self.path.split("/")[3]
            if space not in self.namespaces:
                return self._refuse(404, "NoSuchNamespaceException")
            source = PyArrowFileIO().new_input(body["metadata-location"])
            self.tables[f"{space}.{body['name']}"] = FromInputFile.table_metadata(source)
            return self._loaded(f"{space}.{body['name']}")
        match = _TABLE.fullmatch(self.path)
        assert match, self.path
        name = f"{match[1]}.{match[2]}"
        with self.lock:
            before = self.tables[name]
            try:
                for one in body["requirements"]:
                    TypeAdapter(TableRequirement).validate_python(one).validate(before)
            except CommitFailedException:
                return self._refuse(409, "CommitFailedException")
            updates = tuple(TypeAdapter(TableUpdate).validate_python(u) for u in body["updates"])
            self.tables[name] = update_table_metadata(before, updates)
        return self._loaded(name)


@contextmanager
def rest_catalog() -> Iterator[str]:
    """Its address."""
    members = {"namespaces": set(), "tables": {}, "lock": threading.Lock()}
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), members))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
