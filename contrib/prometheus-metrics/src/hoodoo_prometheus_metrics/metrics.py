"""The metrics: counters, a histogram and gauges by table and action."""

from __future__ import annotations

from functools import cache

from hoodoo.hookspecs.observer import Event
from prometheus_client import REGISTRY, CollectorRegistry, Counter, Gauge, Histogram

_OF = ("table", "location", "action")
# Seconds: a small write takes a tenth of one, a clustering may take hours.
_SECONDS = (0.1, 0.3, 1, 3, 10, 30, 60, 180, 600, 1800, 3600, 10800)


class Metrics:
    """What is counted, in one registry."""

    def __init__(self, registry: CollectorRegistry) -> None:
        def counter(name: str, text: str, *labels: str) -> Counter:
            return Counter(f"hoodoo_{name}", text, (*_OF, *labels), registry=registry)

        self.runs = counter("actions", "Runs of actions that ended.", "outcome")
        self.errors = counter("action_errors", "Runs that failed, by error class.", "error")
        self.files = counter("files", "Data files put or deleted.", "change")
        self.rows = counter("rows", "Rows inserted, updated or deleted.", "change")
        self.bytes = counter("written_bytes", "Size of the data files put.")
        self.partitions = counter("partitions", "Partitions touched by runs, each run for itself.")
        self.seconds = Histogram(
            "hoodoo_action_seconds", "Duration of runs.", (*_OF, "outcome"), buckets=_SECONDS,
            registry=registry,
        )  # fmt: skip
        self.running = Gauge(
            "hoodoo_actions_running", "Runs under way in this process.", _OF, registry=registry
        )
        self.succeeded = Gauge(
            "hoodoo_action_last_done_timestamp_seconds", "When a run was done.", _OF,
            registry=registry,
        )  # fmt: skip
        self._begun: set[str] = set()  # run_id of each run under way

    def observe(self, event: Event) -> None:
        """Count ``event``: a start, or the end of a run. What an action does not know is not
        counted."""
        of = (event.table, event.location, event.action)
        if event.step == "started" and event.run_id:
            self._begun.add(event.run_id)
            self.running.labels(*of).inc()
        if not event.outcome:
            return
        if event.run_id in self._begun:  # what fails while it is planned has not started
            self._begun.discard(event.run_id)
            self.running.labels(*of).dec()
        self.runs.labels(*of, event.outcome).inc()
        if event.duration is not None:
            self.seconds.labels(*of, event.outcome).observe(event.duration)
        if event.outcome == "failed":
            self.errors.labels(*of, event.error).inc()
        elif event.outcome == "done":
            self.succeeded.labels(*of).set_to_current_time()
        changes = {
            self.files: {"added": event.files_added, "removed": event.files_removed},
            self.rows: {
                "inserted": event.rows_inserted, "updated": event.rows_updated,
                "deleted": event.rows_deleted,
            },
        }  # fmt: skip
        for metric, counts in changes.items():
            for change, count in counts.items():
                if count is not None:
                    metric.labels(*of, change).inc(count)
        if event.bytes_written is not None:
            self.bytes.labels(*of).inc(event.bytes_written)
        if event.partitions is not None:
            self.partitions.labels(*of).inc(len(event.partitions))


@cache
def default_metrics() -> Metrics:
    """Those in prometheus_client's own registry, which its servers and exporters show."""
    return Metrics(REGISTRY)
