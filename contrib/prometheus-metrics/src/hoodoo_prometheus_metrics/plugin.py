"""What this distribution offers: an observer. Discovery imports it in every process, so
prometheus_client, and the metrics, come with the first event."""

from __future__ import annotations

from hoodoo import hookimpl
from hoodoo.hookspecs.observer import Event


@hookimpl
def hoodoo_event(event: Event) -> None:
    from hoodoo_prometheus_metrics.metrics import default_metrics

    default_metrics().observe(event)
