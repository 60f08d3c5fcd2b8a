"""Listings of a timeline: what comes is added to what was known, with the result of a look at all of it."""

from __future__ import annotations

import random

import pytest
from hoodoo.model.instant import Instant, State
from hoodoo.timeline.layouts.base import TimelineLayout
from hoodoo.timeline.layouts.layout1 import Layout1
from hoodoo.timeline.layouts.layout2 import Layout2
from hoodoo.timeline.listed import NOTHING, Listed, listed

ACTIONS = ("commit", "deltacommit", "replacecommit", "clean", "rollback", "savepoint")
PLANS = ("compaction", "clustering", "logcompaction")


def shown(names: set[str], layout: TimelineLayout) -> dict[str, object]:
    """The same by its definition: every name is parsed, every selection made by looking at all instants."""
    rank = list(State)
    furthest: dict[tuple[str, str], Instant] = {}
    for name in sorted(names):
        found = layout.parse_instant(name)
        if found is None:
            continue
        key = (found.requested, found.traits.completes_as)
        old = furthest.get(key, found)
        twice = found.is_completed and found.completion_order < old.completion_order
        if old is found or twice or rank.index(found.state) > rank.index(old.state):
            furthest[key] = found
    instants = tuple(sorted(furthest.values(), key=lambda i: (i.requested, i.action)))
    writes = {i.requested: i for i in instants if i.is_completed and i.completes_as_write}
    begun = [i.requested for i in instants if i.completes_as_write]
    kept = {i.requested for i in instants if i.is_completed and i.action == "savepoint"}
    times = [t for i in instants for t in (i.requested, i.completed) if t]
    return {
        "instants": instants,
        "writes": writes,
        "order": list(writes),
        "pending": tuple(i for i in instants if not i.is_completed),
        "others": tuple(i for i in instants if not (i.is_completed and i.completes_as_write)),
        "last": max(times, default=None),
        "start": next((w for w in begun if w not in kept), begun[0] if begun else None),
    }


def said(found: Listed) -> dict[str, object]:
    made = found.selected
    return {
        "instants": made.instants, "writes": made.writes, "order": list(made.writes),
        "pending": made.pending, "others": made.others, "last": made.last, "start": found.start,
    }  # fmt: skip


@pytest.mark.parametrize("layout", [Layout1(), Layout2()], ids=["1", "2"])
def test_what_has_come_is_added(layout: TimelineLayout) -> None:
    for seed in range(150):
        draw = random.Random(seed)
        names: set[str] = {"history", "hoodie.properties"} if seed % 2 else set()
        known, clock = NOTHING, 20240101000000000
        for _ in range(25):
            for _ in range(draw.randrange(4)):
                clock += draw.randrange(1, 4)
                pick = draw.random()
                if names and pick < 0.15:  # rolled back, archived
                    names.discard(draw.choice(sorted(names)))
                    continue
                requested = str(clock - draw.choice((0, 0, 0, 7, 40)))
                state = draw.choice(("requested", "inflight", "done", "done"))
                plan = draw.choice(PLANS) if layout.number == 2 and pick > 0.8 else None
                action = plan or draw.choice(ACTIONS)
                if state == "done":
                    completed = None if layout.number == 1 else str(clock)
                    instant = Instant(requested, action, State.COMPLETED, completed)
                else:
                    instant = Instant(requested, action, State(state.upper()))
                names.add(layout.file_name(instant))
            known = listed(names, layout, known)
            assert said(known) == said(listed(names, layout)) == shown(names, layout), seed
            assert known.names == names


def test_only_what_is_new_is_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    layout, parsed = Layout2(), []

    def counting(name: str) -> Instant | None:
        parsed.append(name)
        return Layout2.parse_instant(layout, name)

    names = set()
    for number in range(1000):
        requested = str(20240101000000000 + 2 * number)
        names |= {f"{requested}.commit.requested", f"{requested}.inflight"}
        names.add(f"{requested}_{int(requested) + 1}.commit")
    monkeypatch.setattr(layout, "parse_instant", counting, raising=False)
    known = listed(names, layout)
    assert len(parsed) <= 1002  # the completed ones, and one of each way to be pending
    parsed.clear()
    assert listed(set(names), layout, known) is known
    names.add("20240101000009000.commit.requested")
    assert len(listed(names, layout, known).selected.instants) == 1001
    assert parsed == ["20240101000009000.commit.requested"]
