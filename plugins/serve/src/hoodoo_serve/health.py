"""What a serving process says of itself: ``/health`` and ``/live`` for supervisors, ``/metrics``
for Prometheus; to who has a token, or on loopback."""

from __future__ import annotations

import hmac
import ipaddress
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

from attrs import define, field
from prometheus_client import REGISTRY, CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.exposition import choose_encoder

from hoodoo_serve.places import Listed, Places
from hoodoo_serve.serving import Serving
from hoodoo_serve.table_services import Round

_IDLE = 30.0  # seconds for which a connection may say nothing
_SECONDS = (0.1, 0.3, 1, 3, 10, 30, 60, 180, 600, 1800, 3600, 10800)


# Of the report "summary": gauges by the name of the field, and of what they tell.
_FIGURES = {
    "bytes": ("hoodoo_table_bytes", "All data files."),
    "old_bytes": ("hoodoo_table_old_bytes", "Older slices, replaced and unfinished files."),
    "base_files": ("hoodoo_table_base_files", "Base files of the newest slices."),
    "small_files": ("hoodoo_table_small_files", "Base files that are small."),
    "log_files": ("hoodoo_table_log_files", "Log files of the newest slices."),
    "log_bytes": ("hoodoo_table_log_bytes", "Size of those log files."),
    "compaction_lag": (
        "hoodoo_table_compaction_lag_commits",
        "Writes of log files since the newest compaction.",
    ),
    "compaction_since": (
        "hoodoo_table_compaction_waits_since_timestamp_seconds",
        "When the oldest log file was written that waits for a compaction.",
    ),
    "clustering_lag": (
        "hoodoo_table_clustering_lag_commits",
        "Writes since the newest clustering, if there was one.",
    ),
    "pending": ("hoodoo_table_pending_instants", "Instants that are not completed."),
    "oldest_pending_at": (
        "hoodoo_table_oldest_pending_timestamp_seconds",
        "When the oldest pending instant was requested.",
    ),
    "last_commit_at": (
        "hoodoo_table_last_commit_timestamp_seconds",
        "When the newest write completed.",
    ),
}


class Metrics:
    """Counters of rounds and services, and figures of tables, in ``registry``. What else is in it
    is shown as well, such as those of an observer."""

    def __init__(self, registry: CollectorRegistry = REGISTRY) -> None:
        def gauge(name: str, text: str, *labels: str) -> Gauge:
            return Gauge(name, text, labels, registry=registry)

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
        self.leads = gauge("hoodoo_service_leads", "1 where this process leads.", "location")
        self.failed = gauge(
            "hoodoo_service_failed", "1 where something of the last round failed.", "location"
        )
        self.ended = gauge(
            "hoodoo_service_last_round_timestamp_seconds", "When the last round ended.", "location"
        )
        self.figures = {
            field: gauge(name, text, "location") for field, (name, text) in _FIGURES.items()
        }
        self.tables = gauge("hoodoo_served_tables", "Tables that this process serves.")
        self.listed = gauge(
            "hoodoo_served_place_listed_timestamp_seconds",
            "When a place was listed whole for the last time.",
            "place",
        )
        self._used: dict[str, set[tuple[Any, tuple[str, ...]]]] = {}
        self._lock = threading.Lock()

    def seen(self, path: str, found: Round) -> None:
        """Count one round."""
        with self._lock:
            self._of(self.rounds, path, found.role).inc()
            self._of(self.leads, path).set(found.role == "leads")
            self._of(self.failed, path).set(bool(found.failed))
            self._of(self.ended, path).set(found.ended)
            for ran in found.ran:
                if ran.done or ran.error:
                    self._of(self.runs, path, ran.what, "failed" if ran.error else "done").inc()
                    self._of(self.seconds, path, ran.what).observe(ran.seconds)
            if found.figures is not None:
                self._measured(path, found.figures)

    def gone(self, path: str) -> None:
        """Forget a table: what is no longer there has no alerts."""
        with self._lock:
            for metric, labels in self._used.pop(path, ()):
                metric.remove(*labels)

    def place(self, place: str, found: Listed) -> None:
        """Note a look at a place. One that never succeeded is as old as can be."""
        if not found.error:
            self.listed.labels(place).set(found.at)
        else:
            self.listed.labels(place)

    def _measured(self, path: str, figures: Any) -> None:
        for name, metric in self.figures.items():
            value = getattr(figures, name)
            if value is not None:
                self._of(metric, path).set(value)
            elif (metric, (path,)) in self._used[path]:
                metric.remove(path)
                self._used[path].discard((metric, (path,)))

    def _of(self, metric: Any, *labels: str) -> Any:
        self._used.setdefault(labels[0], set()).add((metric, labels))
        return metric.labels(*labels)


@define
class Health:
    """The server of ``serving``, at ``host`` and ``port`` (0: any free one); with a ``token``, of
    those alone who send it as a bearer. Live: each table had a round within three times
    ``serving.every`` and a minute. Well: besides, nothing of its last round failed, and each of
    ``places`` could be listed."""

    serving: Serving
    metrics: Metrics
    host: str = "127.0.0.1"
    port: int = 0
    token: str = ""
    places: Places | None = None
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
                elif not outer.knows(self.headers.get("Authorization", "")):
                    self._answer(401, "text/plain", b"Send the token as a bearer.\n")
                elif path == "/metrics":
                    outer.metrics.tables.set(len(outer.serving.paths))
                    encode, kind = choose_encoder(self.headers.get("Accept", ""))
                    self._answer(200, kind, encode(outer.metrics.registry))
                elif path in ("/health", "/live", ""):
                    live, well, said = outer.state()
                    body = json.dumps(said, indent=2).encode() + b"\n"
                    good = live if path == "/live" else well
                    self._answer(200 if good else 503, "application/json", body)
                else:
                    self._answer(404, "text/plain", b"/health, /live and /metrics are here.\n")

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
        (DNS rebinding). Who has the token may come by any name."""
        if self.token:
            return True
        name = urlsplit(f"//{host}").hostname or ""
        try:
            return name in ("localhost", self.host) or ipaddress.ip_address(name).is_loopback
        except ValueError:
            return False

    def knows(self, authorization: str) -> bool:
        """Whether a request has the token, if there is one."""
        kind, _, given = authorization.partition(" ")
        same = hmac.compare_digest(given.strip().encode(), self.token.encode())
        return not self.token or (kind.lower() == "bearer" and same)

    def state(self) -> tuple[bool, bool, dict[str, object]]:
        """Whether it lives, whether all is well, and the last round of each table."""
        states, now = self.serving.states(), time.time()
        late = 3 * self.serving.every + 60
        tables: dict[str, object] = {}
        live = well = True
        for path in self.serving.paths:
            found = states.get(path)
            began = max(self._began, self.serving.since.get(path, self._began))
            since = now - (found.ended if found else began)
            good = since <= late and not (found and found.failed)
            live &= since <= late
            well &= good
            tables[path] = {
                "well": good,
                "role": found.role if found else "starts",
                "seconds_since_last_round": round(since, 1),
                "failed": list(found.failed) if found else [],
                "ran": [ran.what for ran in found.ran if ran.done] if found else [],
            }
        said: dict[str, object] = {"well": well, "tables": tables}
        if self.places is not None:
            looks = self.places.last
            said["well"] = well = well and not any(look.error for look in looks.values())
            said["places"] = {
                place: {"tables": look.tables, "error": look.error} for place, look in looks.items()
            }
        return live, well, said
