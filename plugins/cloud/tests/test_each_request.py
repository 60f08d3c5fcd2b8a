"""Each request of an upsert in turn meets trouble on the line: the write ends as if nothing had been."""

from __future__ import annotations

import os
from typing import Any
from uuid import uuid4

import hoodoo
import pytest
from counted import count
from servers import Server
from shaping import CUT, CUT_AFTER, HALF, Line, Request, Trouble, line_to
from small_tables import created, rows, texts

pytestmark = pytest.mark.sampled(4)

TRIALS = os.environ.get("HOODOO_TRIALS")
MORE, ALL = TRIALS in ("more", "all"), TRIALS == "all"
# One after the other, from request to request.
TROUBLES = {
    "throttled": (Trouble(503, "SlowDown"), Trouble(429, "TooManyRequests")),
    "answer lost": (CUT_AFTER,),
    "line cut": (CUT, HALF),
}
KINDS = ["COPY_ON_WRITE", "MERGE_ON_READ"]
MOST = 120  # requests of one upsert
# Every request of a table that is open, every second one of a new process, whose order differs each time.
STEPS = {"open": 1, "new": 1 if ALL else 2} if MORE else {"open": 6}
DRAWN = list(TROUBLES) if MORE else ["answer lost"]


class At:
    """A rule of a line: trouble at one request, counted from when it was set."""

    def __init__(self, line: Line, number: int, trouble: Trouble) -> None:
        self.number, self.trouble, self.seen = number, trouble, 0
        line.rule = self

    def __call__(self, request: Request) -> Trouble | None:
        self.seen += 1
        return self.trouble if self.seen == self.number else None


@pytest.mark.parametrize("kind", KINDS if MORE else KINDS[:1])
@pytest.mark.parametrize("trouble", DRAWN)
@pytest.mark.parametrize("process", STEPS)
def test_trouble_at_each_request(server: Server, trouble: str, kind: str, process: str) -> None:
    uri = f"{server.bucket(f'b-{uuid4().hex}')}/t"
    created(uri, server.options, kind).upsert(rows({1: "a", 2: "a"}, 1))
    right, step = {1: "a", 2: "a"}, STEPS[process]
    with line_to(server.port) as line:
        far = server.through(line.port)
        table: Any = hoodoo.open(uri, far)
        table.upsert(rows({2: "a"}, 1))
        for turn, number in enumerate(range(1, MOST, step)):
            if process == "new":
                line.rule = None
                table = hoodoo.open(uri, far)
            rule = At(line, number, TROUBLES[trouble][turn % len(TROUBLES[trouble])])
            new = {1: f"{trouble} {number}", 100 + number: "b"}
            table.upsert(rows(new, 1 + number))
            line.rule = None
            right |= new
            assert texts(hoodoo.open(uri, server.options)) == right
            count(f"{trouble} at a request")
            if rule.seen < number:
                break
        else:
            raise AssertionError(f"more than {MOST} requests")
        assert line.troubles > 2
    last: Any = hoodoo.open(uri, server.options)
    assert not last.verify().findings
