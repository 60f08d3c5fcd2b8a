"""Hypothesis strategies for a table's whole life: services between writes, as plain data."""

from __future__ import annotations

from attrs import evolve, frozen
from cluster_draws import Cluster, clusterings
from hypothesis import strategies as st
from table_draws import DRAWS, UPSERT, Op, merged_setups, ops, setups
from table_model import Setup

CLEAN, PLAN_CLEAN, ARCHIVE = "clean", "plan a clean", "archive"
SAVEPOINT, UNSAVE = "savepoint", "delete_savepoint"
RESTORE, UNDO, UNPLAN, HEAL = "restore", "roll the newest back", "drop a plan", "rollback"

REBUILD, COMPACT_INDEX = "rebuild_index", "compact_metadata"

# Few columns, so that a life costs little: what types there are is another trial's.
PAYLOAD = ("w", "f", "text", "inner")
_SERVICES = [CLEAN] * 3 + [ARCHIVE] * 2 + [SAVEPOINT] * 2 + [RESTORE] * 2 + [UNDO] * 2
_SERVICES += [PLAN_CLEAN, UNSAVE, UNPLAN, HEAL, REBUILD, COMPACT_INDEX]


@frozen
class Service:
    """``which`` chooses among what there is, from the newest on; ``much`` is how much to keep."""

    kind: str
    which: int = 0
    much: int = 0


@frozen
class Try:
    """A write whose process ends at its mutating operation number ``crash``, unless it is done by then."""

    op: Op
    crash: int = 1

    @property
    def kind(self) -> str:
        return f"{self.op.kind} that crashes"


Step = Op | Service | Try | Cluster
_CLEANING = st.sampled_from([None, None, 1, 2, 3])
_ARCHIVING = st.sampled_from([None, None, (1, 2), (2, 3)])


@st.composite
def lives(draw: st.DrawFn, merged: bool = False) -> Setup:
    """Kinds of tables, with and without services after each write."""
    setup = draw(merged_setups() if merged else setups())
    retained, kept = draw(_CLEANING), draw(_ARCHIVING)
    more = {"hoodie.clean.automatic": "false"}
    if retained is not None:
        more = {"hoodie.clean.commits.retained": str(retained)}
    more["hoodie.archive.automatic"] = "false"
    if kept is not None:
        del more["hoodie.archive.automatic"]
        more |= {"hoodie.keep.min.commits": str(kept[0]), "hoodie.keep.max.commits": str(kept[1])}
        more.setdefault("hoodie.clean.commits.retained", "1")
    # Incremental reads need to know which commit wrote a row.
    virtual = "rfc" if setup.virtual else ""
    return evolve(setup, payload=PAYLOAD, more=tuple(more.items()), virtual=virtual)


def services() -> st.SearchStrategy[Service]:
    return st.builds(Service, st.sampled_from(_SERVICES), st.integers(0, 7), st.integers(0, 2))


def tries() -> st.SearchStrategy[Try]:
    return st.builds(Try, ops(4).filter(lambda op: op.kind in _CRASHING), st.integers(1, 40))


_CRASHING = frozenset({"upsert", "insert", "bulk_insert", "append", "insert_overwrite",
                       "insert_overwrite_table", "delete rows"})  # fmt: skip


def life(
    merged: bool = False, least: int = 4, most: int = 14, rows: int = 5
) -> st.SearchStrategy[list[Step]]:
    """Writes and services: about as many of one as of the other, and clusterings."""
    writes, kept, failing = ops(rows, merged), services(), tries()
    laid = clusterings()
    step = st.one_of(writes, kept, laid, writes, kept, writes, kept, failing)
    begin = st.builds(Op, st.just(UPSERT), st.lists(DRAWS, min_size=1, max_size=rows).map(tuple))
    return st.builds(
        lambda a, rest: [a, *rest], begin, st.lists(step, min_size=least, max_size=most)
    )
