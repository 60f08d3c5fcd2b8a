"""What the trials of this run have met: a check that never happens checks nothing."""

from __future__ import annotations

from attrs import define, field


@define
class Tally:
    counts: dict[str, int] = field(factory=dict)

    def add(self, what: str) -> None:
        self.counts[what] = self.counts.get(what, 0) + 1


TALLY = Tally()
