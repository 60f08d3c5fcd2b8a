"""What logical types, participants, pruners and query types answer is judged, member by member."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest
from hoodoo.errors import PluginError
from hoodoo.hookspecs import (
    archived_timeline,
    change_log,
    index,
    logical_type,
    participant,
    pruner,
    query_type,
)
from hoodoo.hookspecs.family import members
from hoodoo.kernel.answers import Who, checked, kind_of
from hoodoo.kernel.answers.seam import may_travel, wrapped

# Protocol -> the kind that judges it.
PROTOCOLS = {
    participant.Participant: "participant",
    participant.ParticipantServices: "participant",
    participant.ListsFiles: "participant",
    participant.KnowsRanges: "participant",
    participant.Participation: "participation",
    logical_type.LogicalType: "logical_type",
    pruner.Pruner: "pruner",
    change_log.ChangeLogFormat: "change_log",
    change_log.ChangeLog: "change_log_of_rewrite",
    query_type.QueryType: "query_type",
    query_type.QueryPlan: "query_plan",
    query_type.UnitReader: "unit_reader",
    archived_timeline.ArchivedTimeline: "archived_timeline",
    index.LearningIndex: "index",
}
WHO = Who("participant", "acme", "acme-dist", "1.0")


class Strange:
    """No answer to anything."""

    def __eq__(self, other: object) -> bool:
        raise ValueError("not comparable")

    __hash__ = None  # type: ignore[assignment]


CASES = [(p, name, method) for p in PROTOCOLS for name, method in members(p).items()]


@pytest.mark.parametrize(
    ("protocol", "name", "method"), CASES, ids=lambda v: getattr(v, "__name__", v)
)
@pytest.mark.parametrize("answer", ["strange", "raises"])
def test_a_wrong_answer_names_the_plugin(
    protocol: type, name: str, method: bool, answer: str
) -> None:
    kind = kind_of(PROTOCOLS[protocol])
    rules = {**kind.properties, **kind.methods}
    assert name in rules, f"{protocol.__name__}.{name} has no rule at the seam"
    if answer == "strange" and rules[name] is None:
        return  # it answers nothing

    def acts(self: Any, *args: Any, **kwargs: Any) -> Any:
        if answer == "raises":
            raise RuntimeError("broken inside")
        return Strange()

    made = type("Acme", (), {name: acts if method else property(acts)})()
    obj = wrapped(kind, made, WHO)
    with pytest.raises(PluginError, match="acme-dist"):
        if method:
            wanted = inspect.signature(getattr(protocol, name)).parameters
            getattr(obj, name)(
                *[None for p in list(wanted)[1:] if wanted[p].default is inspect.Parameter.empty]
            )
        else:
            getattr(obj, name)


def test_who_lacks_join_is_no_participant() -> None:
    from hoodoo.kernel.resolve import check

    with pytest.raises(PluginError, match="join"):
        check("participant", object(), "participant 'acme'")
    assert checked("pruner", Pruning(), Who("pruner", "p")).keep(None, ()) == ()


class Pruning:
    def keep(self, request: Any, slices: Any) -> Any:
        return slices


def test_who_holds_large_arrays_travels() -> None:
    """Pickle hands them to the file as buffers, which have no length of their own."""
    may_travel(np.arange(100_000), WHO)
