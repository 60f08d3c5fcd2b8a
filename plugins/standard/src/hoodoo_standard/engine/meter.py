"""A counter of what crosses an exchange, in this process."""

from __future__ import annotations

import threading
from typing import Any

from attrs import define, field
from hoodoo.hookspecs.engine import Counted


@define
class LocalMeter:
    """Counts in this process."""

    total: Counted = field(factory=Counted)
    lock: Any = field(factory=threading.Lock, repr=False, eq=False)

    def add(self, counted: Counted) -> None:
        with self.lock:
            self.total = self.total + counted

    def read(self) -> Counted:
        return self.total

    def __reduce__(self) -> tuple[Any, ...]:  # a lock stays where it is
        return LocalMeter, (self.total,)
