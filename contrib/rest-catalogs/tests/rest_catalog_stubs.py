"""Servers on loopback with the published interfaces of these catalogs, in memory. A request whose
body is not what the interface says, or whose token is wrong, is refused as the servers do it."""

from __future__ import annotations

import itertools
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from jsonschema import ValidationError, validate

TOKEN = "right"
TEXT, NUMBER, FLAG = {"type": "string"}, {"type": "integer"}, {"type": "boolean"}
TEXTS = {"type": "object", "additionalProperties": TEXT}


def shape(required: str, **properties: Any) -> dict[str, Any]:
    """The schema of an object."""
    named = {name.replace("_0", "-"): kind for name, kind in properties.items()}
    said = {"type": "object", "properties": named, "additionalProperties": False}
    return {**said, "required": required.split()}


def among(text: str) -> dict[str, Any]:
    return {"enum": text.split()}


class Stub(BaseHTTPRequestHandler):
    """``tables``: by name. ``fault``: called before each answer; what it returns is answered."""

    tables: dict[str, Any]
    places: set[str]
    lock: Any
    numbers: Iterator[int]
    asked: list[str]
    fault: Any = None
    protocol_version = "HTTP/1.1"

    def log_message(self, *said: Any) -> None:
        """Quiet."""

    def _answer(self, status: int, body: Any = None, tag: str = "") -> None:
        data = b"" if body is None else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        if tag:
            self.send_header("ETag", tag)
        self.end_headers()
        self.wfile.write(data)

    def _any(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        data = self.rfile.read(length)
        where = urlsplit(self.path)
        self.asked.append(f"{self.command} {where.path}")
        fault = vars(type(self))["fault"]
        found = fault(self.command, where.path) if fault else None
        if found is not None:
            return self._answer(*found)
        parts = [unquote(part) for part in where.path.strip("/").split("/")]
        query = {key: values[0] for key, values in parse_qs(where.query).items()}
        if parts[-2:] == ["oauth", "tokens"]:
            form = parse_qs(data.decode())
            right = form["client_secret"] == ["secret"] and form["client_id"] == ["me"]
            right &= form["grant_type"] == ["client_credentials"]
            return self._answer(200 if right else 401, {"access_token": TOKEN, "expires_in": 60})
        if self.headers.get("Authorization") != f"Bearer {TOKEN}":
            return self._no(401, "UNAUTHENTICATED")
        try:
            body = json.loads(data) if data else None
            with self.lock:
                self._served(parts, query, body)
        except ValidationError as error:
            self._no(400, f"INVALID_ARGUMENT {error.json_path}: {error.message}")

    do_GET = do_POST = do_PUT = do_DELETE = _any

    def _no(self, status: int, kind: str) -> None:
        raise NotImplementedError

    def _served(self, parts: list[str], query: dict[str, str], body: Any) -> None:
        raise NotImplementedError

    def _page(self, key: str, items: list[Any], query: dict[str, str], names: Any) -> None:
        """Two items a page, and the token of the next one as ``names`` say."""
        at = int(query.get(names[1], "0"))
        said = {key: items[at : at + 2]}
        if at + 2 < len(items):
            said[names[0]] = str(at + 2)
        self._answer(200, said)


class Unity(Stub):
    """``api/all.yaml`` of unitycatalog/unitycatalog."""

    FORMATS = "DELTA ICEBERG CSV JSON AVRO PARQUET ORC TEXT"
    NAMES = (
        "BOOLEAN BYTE SHORT INT LONG FLOAT DOUBLE DATE TIMESTAMP TIMESTAMP_NTZ STRING BINARY "
        "DECIMAL INTERVAL ARRAY STRUCT MAP VARIANT CHAR NULL USER_DEFINED_TYPE TABLE_TYPE"
    )
    COLUMN = shape(
        "",
        name=TEXT,
        type_text=TEXT,
        type_json=TEXT,
        type_name=among(NAMES),
        type_precision=NUMBER,
        type_scale=NUMBER,
        type_interval_type=TEXT,
        position=NUMBER,
        comment=TEXT,
        nullable=FLAG,
        partition_index=NUMBER,
    )
    TABLE = shape(
        "name catalog_name schema_name table_type columns",
        name=TEXT,
        catalog_name=TEXT,
        schema_name=TEXT,
        table_type=among("MANAGED EXTERNAL STREAMING_TABLE MATERIALIZED_VIEW METRIC_VIEW VIEW"),
        data_source_format=among(FORMATS),
        columns={"type": "array", "items": COLUMN},
        storage_location=TEXT,
        comment=TEXT,
        properties=TEXTS,
    )
    SCHEMA = shape("name catalog_name", name=TEXT, catalog_name=TEXT, comment=TEXT)
    PAGES = ("next_page_token", "page_token")

    def _no(self, status: int, kind: str) -> None:
        self._answer(status, {"error_code": kind, "message": "no"})

    def _served(self, parts: list[str], query: dict[str, str], body: Any) -> None:
        assert parts[:3] == ["api", "2.1", "unity-catalog"]
        what, name, call = parts[3], parts[4] if len(parts) > 4 else "", self.command
        if what == "catalogs":
            self._page("catalogs", [{"name": "main"}], query, self.PAGES)
        elif (what, call) == ("schemas", "GET"):
            within = query["catalog_name"]
            names = sorted(s for s in self.places if s.startswith(f"{within}."))
            found = [{"name": n.partition(".")[2], "catalog_name": within} for n in names]
            self._page("schemas", found, query, self.PAGES)
        elif (what, call) == ("schemas", "POST"):
            validate(body, self.SCHEMA)
            if body["catalog_name"] != "main":
                return self._no(404, "CATALOG_NOT_FOUND")
            self.places.add(f"{body['catalog_name']}.{body['name']}")
            self._answer(200, body)
        elif (what, call, name) == ("tables", "GET", ""):
            start = f"{query['catalog_name']}.{query['schema_name']}."
            found = [t for n, t in sorted(self.tables.items()) if n.startswith(start)]
            self._page("tables", found, query, self.PAGES)
        elif (what, call) == ("tables", "POST"):
            validate(body, self.TABLE)
            schema = f"{body['catalog_name']}.{body['schema_name']}"
            full = f"{schema}.{body['name']}"
            if schema not in self.places:
                return self._no(404, "SCHEMA_NOT_FOUND")
            if full in self.tables:
                return self._no(409, "TABLE_ALREADY_EXISTS")
            number = next(self.numbers)
            self.tables[full] = {**body, "table_id": f"id{number}", "updated_at": number}
            self._answer(200, self.tables[full])
        elif what == "tables" and name not in self.tables:
            self._no(404, "TABLE_NOT_FOUND")
        elif call == "GET":
            self._answer(200, self.tables[name])
        else:
            assert call == "DELETE"
            del self.tables[name]
            self._answer(200, {})


class Polaris(Stub):
    """``spec/polaris-catalog-apis/generic-tables-api.yaml`` of apache/polaris, the namespaces of
    Iceberg's REST catalogs, and the list of catalogs."""

    TABLE = shape(
        "name format", name=TEXT, format=TEXT, base_0location=TEXT, doc=TEXT, properties=TEXTS
    )
    NAMESPACE = shape("namespace", namespace={"type": "array", "items": TEXT}, properties=TEXTS)
    PAGES = ("next-page-token", "pageToken")

    def _no(self, status: int, kind: str) -> None:
        self._answer(status, {"error": {"message": "no", "type": kind, "code": status}})

    def _served(self, parts: list[str], query: dict[str, str], body: Any) -> None:
        call = self.command
        if parts == ["api", "management", "v1", "catalogs"]:
            return self._answer(200, {"catalogs": [{"name": "lake"}]})
        generic = parts[:4] == ["api", "catalog", "polaris", "v1"]
        catalog, *rest = parts[4:] if generic else parts[3:]
        if catalog != "lake":
            return self._no(404, "NotFoundException")
        assert rest[0] == "namespaces"
        if not generic and call == "POST":
            validate(body, self.NAMESPACE)
            name = "\x1f".join(body["namespace"])
            if name in self.places:
                return self._no(409, "AlreadyExistsException")
            if len(body["namespace"]) > 1 and name.rpartition("\x1f")[0] not in self.places:
                return self._no(404, "NoSuchNamespaceException")
            self.places.add(name)
            return self._answer(200, {"namespace": body["namespace"]})
        if not generic:
            parent = query.get("parent")
            names = [
                n.split("\x1f")
                for n in sorted(self.places)
                if (n.rpartition("\x1f")[0] or None) == parent
            ]
            return self._page("namespaces", names, query, self.PAGES)
        namespace = rest[1]
        if namespace not in self.places:
            return self._no(404, "NoSuchNamespaceException")
        assert rest[2] == "generic-tables"
        if len(rest) == 3 and call == "GET":
            levels = namespace.split("\x1f")
            found = [
                {"namespace": levels, "name": n.rpartition("/")[2]}
                for n, t in sorted(self.tables.items())
                if n.startswith(f"{namespace}/") and t["format"] != "ICEBERG"
            ]
            return self._page("identifiers", found, query, self.PAGES)
        if call == "POST":
            validate(body, self.TABLE)
            if f"{namespace}/{body['name']}" in self.tables:
                return self._no(409, "AlreadyExistsException")
            self.tables[f"{namespace}/{body['name']}"] = body
            return self._answer(200, {"table": body})
        name = f"{namespace}/{rest[3]}"
        if self.tables.get(name, {"format": "ICEBERG"})["format"] == "ICEBERG":
            return self._no(404, "NoSuchTableException")
        if call == "GET":
            return self._answer(200, {"table": self.tables[name]})
        assert call == "DELETE"
        del self.tables[name]
        self._answer(204)


class BigQuery(Stub):
    """The resource ``tables`` of the API v2."""

    FIELD: dict[str, Any] = shape(
        "name type",
        name=TEXT,
        type=among(
            "STRING BYTES INTEGER FLOAT BOOLEAN TIMESTAMP DATE TIME DATETIME NUMERIC BIGNUMERIC "
            "RECORD"
        ),
        mode=among("NULLABLE REQUIRED REPEATED"),
        fields={"type": "array", "items": {"$ref": "#/$defs/field"}},
        description=TEXT,
        precision=TEXT,
        scale=TEXT,
    )
    EXTERNAL = shape(
        "sourceUris sourceFormat",
        sourceUris={"type": "array", "items": TEXT},
        sourceFormat=among("CSV NEWLINE_DELIMITED_JSON AVRO PARQUET ORC ICEBERG"),
        fileSetSpecType=among(
            "FILE_SET_SPEC_TYPE_FILE_SYSTEM_MATCH FILE_SET_SPEC_TYPE_NEW_LINE_DELIMITED_MANIFEST"
        ),
        autodetect=FLAG,
        parquetOptions=shape("", enumAsString=FLAG, enableListInference=FLAG),
        schema=shape("fields", fields={"type": "array", "items": {"$ref": "#/$defs/field"}}),
    )
    TABLE = {
        **shape(
            "tableReference",
            tableReference=shape(
                "projectId datasetId tableId", projectId=TEXT, datasetId=TEXT, tableId=TEXT
            ),
            description=TEXT,
            externalDataConfiguration=EXTERNAL,
        ),
        "$defs": {"field": FIELD},
    }
    PAGES = ("nextPageToken", "pageToken")

    def _no(self, status: int, kind: str) -> None:
        self._answer(status, {"error": {"code": status, "message": "no", "status": kind}})

    def _served(self, parts: list[str], query: dict[str, str], body: Any) -> None:
        assert parts[:3] == ["bigquery", "v2", "projects"]
        rest, call = parts[3:], self.command
        if not rest:
            return self._page("projects", [{"id": "acme"}], query, self.PAGES)
        if len(rest) == 2:
            found = [{"datasetReference": {"datasetId": d}} for d in sorted(self.places)]
            return self._page("datasets", found, query, self.PAGES)
        if rest[0] != "acme" or rest[2] not in self.places:
            return self._no(404, "notFound")
        if len(rest) == 4 and call == "GET":
            found = [t for n, t in sorted(self.tables.items()) if n.startswith(f"{rest[2]}.")]
            return self._page("tables", found, query, self.PAGES)
        if call == "POST":
            validate(body, self.TABLE)
            name = f"{rest[2]}.{body['tableReference']['tableId']}"
            if name in self.tables:
                return self._no(409, "duplicate")
            return self._stored(name, body)
        name = f"{rest[2]}.{rest[4]}"
        if name not in self.tables:
            return self._no(404, "notFound")
        if call == "GET":
            return self._answer(200, self.tables[name])
        if call == "PUT":
            validate(body, self.TABLE)
            if self.headers.get("If-Match") != self.tables[name]["etag"]:
                return self._no(412, "conditionNotMet")
            return self._stored(name, body)
        del self.tables[name]
        self._answer(204)

    def _stored(self, name: str, body: Any) -> None:
        tag = f"tag{next(self.numbers)}"
        self.tables[name] = {**body, "type": "EXTERNAL", "etag": tag}
        self._answer(200, self.tables[name], tag)


@contextmanager
def serving(kind: type[Stub], *places: str) -> Iterator[tuple[str, type[Stub]]]:
    """Host and port of a stub, and its class, which has what is stored there. ``places``: schemas,
    namespaces, datasets."""
    own = {
        "tables": {},
        "places": set(places),
        "lock": threading.Lock(),
        "numbers": itertools.count(1),
        "asked": [],
        "fault": None,
    }
    made = type(kind.__name__, (kind,), own)
    server = ThreadingHTTPServer(("127.0.0.1", 0), made)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield f"127.0.0.1:{server.server_port}", made
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
