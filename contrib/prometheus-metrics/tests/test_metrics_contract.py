"""The observer keeps the contract of its hook, and fails nothing."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hoodoo.hookspecs.observer import Event
from hoodoo.testing.contracts.observer import ObserverContract
from hoodoo_prometheus_metrics import plugin


class TestPrometheusMetrics(ObserverContract):
    @pytest.fixture
    def observe(self) -> Callable[[Event], None]:
        return plugin.hoodoo_event
