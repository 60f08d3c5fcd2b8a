"""Counting in tasks, read on the driver: an accumulator."""

from __future__ import annotations

from typing import Any

from attrs import frozen
from hoodoo.hookspecs.engine import Counted


@frozen
class SparkMeter:
    """Implements :class:`~hoodoo.hookspecs.engine.Meter`. Spark adds what a task counted when the
    task has ended well; what is evaluated twice counts twice."""

    accumulator: Any

    @classmethod
    def on(cls, context: Any) -> SparkMeter:
        """A new one of the SparkContext ``context``."""
        return cls(context.accumulator(Counted(), _Sum()))

    def add(self, counted: Counted) -> None:
        self.accumulator.add(counted)

    def read(self) -> Counted:
        found: Counted = self.accumulator.value
        return found


class _Sum:
    """What PySpark calls an AccumulatorParam."""

    def zero(self, value: Counted) -> Counted:
        return Counted()

    def addInPlace(self, one: Counted, other: Counted) -> Counted:
        return one + other
