"""Hypothesis strategies: kinds of tables, and lists of writes as plain data."""

from __future__ import annotations

from attrs import evolve, frozen
from cluster_draws import Cluster, clusterings
from hypothesis import strategies as st
from index_steps import Switch, switches
from option_draws import Chosen, options
from table_model import Setup
from table_values import ORDERED

UPSERT, INSERT, BULK_INSERT, APPEND = "upsert", "insert", "bulk_insert", "append"
DELETE_KEYS, DELETE_ROWS, DELETE_ANYWHERE = "delete keys", "delete rows", "delete anywhere"
OVERWRITE, OVERWRITE_TABLE, DROP = "insert_overwrite", "insert_overwrite_table", "delete_partitions"
REWRITE = "upsert what was read"
COMPACT, SCHEDULE = "compact", "schedule or run a compaction"


@frozen
class Draw:
    """One row, as numbers that the trial turns into values (0 is the simplest everywhere)."""

    key: int = 0
    part: int = 0
    order: tuple[int, int] = (0, 0)
    dead: bool = False
    payload: int = 0


@frozen
class Op:
    """One write. ``source``: in which shape the rows are handed over. ``evolve``: what the schema of
    the rows has more than the table's. ``lacks``, ``narrow``: columns left out, older types.
    ``floats``: columns of integers arrive as floating numbers. ``wrong``: before it the same is tried with
    one row that has to be refused."""

    kind: str
    rows: tuple[Draw, ...] = ()
    source: str = "table"
    evolve: str = ""
    lacks: bool = False
    narrow: bool = False
    backwards: bool = False
    reopen: bool = False
    floats: bool = False
    wrong: str = ""


# A third of the tables.
_VIRTUAL = st.sampled_from([""] * 6 + ["rfc", "hudi", "later"])


def _drawn(merged: bool) -> st.SearchStrategy[tuple[Chosen, ...]]:
    return st.lists(options(merged), max_size=3).map(tuple)


@st.composite
def merged_setups(draw: st.DrawFn) -> Setup:
    """Tables that are merged on read. One ordering column at most: more are refused by `hudi`."""
    setup = draw(setups())
    ordering = setup.ordering[:1]
    return evolve(
        setup,
        merge_on_read=True,
        blocks=draw(st.sampled_from(["parquet", "avro"])),
        drawn=draw(_drawn(merged=True)),
        ordering=ordering,
        ordering_types=setup.ordering_types[:1],
    )


@st.composite
def setups(draw: st.DrawFn) -> Setup:
    version = draw(st.sampled_from([9, 6, 8]))
    index = draw(st.sampled_from(["simple", "global_simple", "bucket"]))
    partition = draw(st.sampled_from([(), ("p",), ("p",), ("p", "q")]))
    virtual, metadata = draw(_VIRTUAL), ""
    if version > 6 and draw(st.booleans()):
        virtual = ""  # Hudi keeps no record index of virtual keys
        metadata = draw(st.sampled_from(["files", "keys", ""]))
        if not metadata:
            kinds = ["record_index", *(["partitioned_record_index"] if partition else [])]
            index = draw(st.sampled_from(kinds))
    ordered = st.sampled_from(sorted(ORDERED))
    most = 2 if version >= 9 else 1
    ordering = tuple(draw(st.lists(ordered, max_size=most)))
    return Setup(
        version=version,
        key=draw(st.sampled_from([("k",), ("k",), ("k", "k2"), ("k", "k3")])),
        partition=partition,
        index=index,
        event_time=bool(ordering) and draw(st.sampled_from([True, True, False])),
        ordering=tuple(f"o{i}" for i in range(len(ordering))),
        ordering_types=ordering,
        hive=draw(st.booleans()),
        url=draw(st.booleans()),
        moves=index in ("simple", "bucket", "partitioned_record_index")
        or draw(st.sampled_from([True, True, False])),
        small_file_limit=draw(st.sampled_from([None, 0])),
        max_file_size=draw(st.sampled_from([None, 1500])),
        bloom=draw(st.sampled_from([False, False, False, True])),
        virtual=virtual,
        metadata=metadata,
        drawn=draw(_drawn(merged=False)),
    )


DRAWS = st.builds(
    Draw,
    key=st.integers(0, 11),
    part=st.integers(0, 7),
    order=st.tuples(st.integers(0, 5), st.integers(0, 5)),
    dead=st.sampled_from([False, False, False, False, True]),
    payload=st.integers(0, 400),
)
_KINDS = st.sampled_from(
    [UPSERT] * 6 + [INSERT, BULK_INSERT, APPEND] * 2 + [DELETE_KEYS, DELETE_ROWS, DELETE_ANYWHERE]
    + [OVERWRITE, OVERWRITE_TABLE, DROP, REWRITE]
)  # fmt: skip
_MOR_KINDS = st.one_of(_KINDS, st.sampled_from([COMPACT, SCHEDULE, SCHEDULE, UPSERT, UPSERT]))
FRACTION, AMBIGUOUS_KEY = "a fraction", "an ambiguous key"
_WRONG = st.sampled_from([""] * 4 + [FRACTION, AMBIGUOUS_KEY])
_SOURCES = st.sampled_from(["table", "sliced", "reader", "files", "views"])
_CHANGES = st.sampled_from([""] * 6 + ["widen w", "widen f", "later_text", "later_long",
                                       "later_inner", "later_list"])  # fmt: skip


def ops(most_rows: int = 8, merged: bool = False) -> st.SearchStrategy[Op]:
    rows = st.lists(DRAWS, max_size=most_rows).map(tuple)
    kinds = _MOR_KINDS if merged else _KINDS
    floats = st.sampled_from([False, False, True])
    return st.builds(Op, kinds, rows, _SOURCES, _CHANGES, st.booleans(), st.booleans(),
                     st.booleans(), st.booleans(), floats, _WRONG)  # fmt: skip


def sequences(
    least: int = 2, most: int = 9, most_rows: int = 8, merged: bool = False
) -> st.SearchStrategy[list[Op | Cluster | Switch]]:
    step = st.one_of(*[ops(most_rows, merged)] * 4, clusterings(), switches())
    return st.lists(step, min_size=least, max_size=most)
