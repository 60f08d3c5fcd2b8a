"""What a serving process says of itself: ``/health`` for supervisors, ``/metrics`` for Prometheus,
on loopback."""

from __future__ import annotations

import ipaddress
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

from attrs import define, field
from prometheus_client import (
    CONTENT_TYPE_LATEST,
    REGISTRY,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    generate_latest,
)

from hoodoo_serve.serving import Serving
from hoodoo_serve.table_services import Round

_IDLE = 30.0  # seconds for which a connection may say nothing
_SECONDS = (0.1, 0.3, 1, 3, 10, 30, 60, 180, 600, 1800, 3600, 10800)


class Metrics:
    """Counters of rounds and services, in ``registry``. What else is in it is shown as well, such
    as those of an observer."""

    def __init__(self, registry: CollectorRegistry = REGISTRY) -> None:
        self.registry = registry
        labels = ("location", "service")
        self.runs = Counter(
            "hoodoo_services",
            "Services that had something to do, by how they ended.",
            (*labels, "outcome"),
            registry=registry,
        )
        self.seconds = Histogram(
            "hoodoo_service_seconds",
            "Duration of those services.",
            labels,
            buckets=_SECONDS,
            registry=registry,
        )
        self.rounds = Counter(
            "hoodoo_service_rounds",
            "Looks at a table, by role.",
            ("location", "role"),
            registry=registry,
        )
        self.leads = Gauge(
            "hoodoo_service_leads", "1 where this process leads.", ("location",), registry=registry
        )
        self.ended = Gauge(
            "hoodoo_service_last_round_timestamp_seconds",
            "When the last round ended.",
            ("location",),
            registry=registry,
        )

    def seen(self, path: str, found: Round) -> None:
        """Count one round."""
        self.rounds.labels(path, found.role).inc()
        self.leads.labels(path).set(found.role == "leads")
        self.ended.labels(path).set(found.ended)
        for ran in found.ran:
            if ran.done or ran.error:
                self.runs.labels(path, ran.what, "failed" if ran.error else "done").inc()
                self.seconds.labels(path, ran.what).observe(ran.seconds)


@define
class Health:
    """The server of ``serving``, at ``host`` and ``port`` (0: any free one). Well: each table had a
    round within three times ``serving.every`` and a minute, and nothing of its last round
    failed."""

    serving: Serving
    metrics: Metrics
    host: str = "127.0.0.1"
    port: int = 0
    _server: ThreadingHTTPServer | None = field(default=None, init=False)
    _began: float = field(factory=time.time, init=False)

    def start(self) -> int:
        """Begin to answer; the port."""
        outer = self

        class Handler(BaseHTTPRequestHandler):
            server_version, sys_version = "hoodoo", ""
            timeout = _IDLE  # of the socket, which its base class reads

            def do_GET(self) -> None:
                path = self.path.split("?")[0].rstrip("/")
                if not outer.allows(self.headers.get("Host", "")):
                    self._answer(403, "text/plain", b"This is for programs of this machine.\n")
                elif path == "/metrics":
                    self._answer(200, CONTENT_TYPE_LATEST, generate_latest(outer.metrics.registry))
                elif path in ("/health", ""):
                    well, said = outer.state()
                    body = json.dumps(said, indent=2).encode() + b"\n"
                    self._answer(200 if well else 503, "application/json", body)
                else:
                    self._answer(404, "text/plain", b"/health and /metrics are here.\n")

            def _answer(self, status: int, kind: str, body: bytes) -> None:
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:
                """Nothing: a question each second is no news."""

        self._server = ThreadingHTTPServer((self.host, self.port), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, name="health", daemon=True).start()
        return int(self._server.server_address[1])

    def stop(self) -> None:
        """End; harmless where it has not begun."""
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()

    def allows(self, host: str) -> bool:
        """Whether a request names this machine: a page of elsewhere whose name leads here does not
        (DNS rebinding)."""
        name = urlsplit(f"//{host}").hostname or ""
        try:
            return name in ("localhost", self.host) or ipaddress.ip_address(name).is_loopback
        except ValueError:
            return False

    def state(self) -> tuple[bool, dict[str, object]]:
        """Whether all is well, and each table's last round."""
        states, now = self.serving.states(), time.time()
        late = 3 * self.serving.every + 60
        tables: dict[str, object] = {}
        well = True
        for table in self.serving.tables:
            found = states.get(table.path)
            since = now - (found.ended if found else self._began)
            good = since <= late and not (found and found.failed)
            well &= good
            tables[table.path] = {
                "well": good,
                "role": found.role if found else "starts",
                "seconds_since_last_round": round(since, 1),
                "failed": list(found.failed) if found else [],
                "ran": [ran.what for ran in found.ran if ran.done] if found else [],
            }
        return well, {"well": well, "tables": tables}
