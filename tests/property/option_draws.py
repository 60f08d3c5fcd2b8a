"""Hypothesis strategy for the options of a trial's table, drawn from the declarations of core and of plugins.

A new option joins without a line here, unless it changes what the model predicts.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from hoodoo.hookspecs import Option
from hoodoo.kernel import declared_options
from hoodoo.options import core, table
from hoodoo.options.kinds import Choice, Duration, Flag, Names, Number, Size, Whole
from hoodoo.options.write import DROPS, DUPLICATES, UNDONE
from hoodoo_clustering import options as clustering
from hoodoo_metadata import options as metadata
from hoodoo_serve import options as serve
from hoodoo_services import options as services
from hoodoo_standard import options as standard
from hoodoo_standard.creation import options as new_table
from hypothesis import strategies as st

Chosen = tuple[tuple[str, str], ...]  # key, text

# Never drawn: with them the table holds, or keeps, other things than the model says. Neither are drawn:
# properties of tables, of which the trial's setup has those that matter; options without bounds (texts,
# columns, plugins), whose values have to fit the table.
NOT_DRAWN: tuple[Option[Any], ...] = (
    # How rows are merged, and columns of integers that become floating.
    new_table.WRITER_MODE, table.WIDEN_INTEGERS,
    # Which columns rows may bring or lack: they bring and lack some.
    table.ADD_COLUMNS, table.FILL_COLUMNS,
    # Which indexes there are: the setup has these.
    metadata.ENABLED, metadata.KEYS, metadata.PATH_KEYS, metadata.RECORD_MOVES, metadata.FILTERS,
    # Another way to say what another one says: the two may contradict each other.
    DROPS,
    # Blocks of log files, of text in ordering columns: the setup has it.
    core.LOG_BLOCKS,
    # Services after writes: they are steps of their own, and the model has to hear of them.
    services.COMPACT_INLINE, clustering.INLINE, clustering.SCHEDULED,
    services.CLEAN_INLINE, services.ARCHIVE_INLINE,
    serve.ASYNC_CLUSTERING, serve.ASYNC_COMPACTION, serve.ASYNC_CLEANING, serve.ASYNC_ARCHIVING,
    # Files that stay for longer than the model says.
    services.CLEAN_WINDOW,
    # Log files are clustered where a step says so; who gives way to whom is fixed.
    clustering.WITH_LOGS, UNDONE,
)  # fmt: skip
# Only these values: more would be compacted in part, where the model has no eye for file groups, or cleaned
# or archived earlier than it says (lives draw such values themselves, and reckon with them).
LIMITED: dict[str, tuple[str, ...]] = {
    services.TARGET_IO.key: ("1024", "512000"),
    services.LOG_SIZE.key: ("0", "1"),
    services.LOG_COUNT.key: ("0", "1"),
    services.DAYS.key: ("64",),
    services.COMMITS_RETAINED.key: ("10", "18"),
    services.ARCHIVE_LEAST.key: ("20", "25"),
    services.ARCHIVE_MOST.key: ("30", "100"),
    # At least twice the interval between two signs of life.
    standard.LOCK_VALIDITY.key: ("300",),
    standard.LOCK_RENEW.key: ("1", "30"),
    # Threads and files in numbers that a busy machine has.
    standard.THREADS.key: ("1", "2", "3"),
    services.CLEAN_THREADS.key: ("1", "2"),
    metadata.KEYS_LEAST.key: ("1", "2", "10"),
    metadata.PATH_KEYS_LEAST.key: ("1", "2"),
    metadata.KEYS_MOST.key: ("10", "100"),
    metadata.PATH_KEYS_MOST.key: ("2", "10"),
}
# A row's place in log files follows from what an index finds, and these ask it more.
_ONLY_COPIED = {DUPLICATES.key}
_ONLY_MERGED = {standard.CONCURRENCY.key}
_WHOLE = (0, 1, 2, 3, 7, 20)
_SIZES = (0, 1, 777, 64 << 10, 1 << 20, 1 << 30)
_NUMBERS = (1e-9, 0.01, 0.5, 0.999, 1.0, 2.5, 100.0)


def values(option: Option[Any]) -> list[str]:
    """A few that it may have, as texts; none where it isn't drawn."""
    if option.table_property or option in NOT_DRAWN:
        return []
    if option.key in LIMITED:
        return list(LIMITED[option.key])
    kind = option.kind
    if isinstance(kind, Flag):
        return ["true", "false"]
    if isinstance(kind, Choice):
        return list(kind.values)
    if isinstance(kind, Names) and kind.of:
        return [*kind.of, ",".join(kind.of)]
    if isinstance(kind, (Whole, Size, Number, Duration)):
        near = [n for n in (getattr(kind, "least", None), getattr(kind, "most", None)) if n]
        among: Iterable[float] = {Whole: _WHOLE, Size: _SIZES}.get(type(kind), _NUMBERS)
        return list(dict.fromkeys(str(n) for n in (*near, *among) if _fits(kind, str(n))))
    return []


def _fits(kind: Any, text: str) -> bool:
    try:
        kind.parse(text)
    except ValueError:
        return False
    return True


_DRAWN = {
    option.key: found
    for option in sorted(declared_options(), key=lambda option: option.key)
    if (found := values(option))
}


def options(merged: bool) -> st.SearchStrategy[Chosen]:
    """Up to six of them, for a table of the type. None is the simplest."""
    left_out = _ONLY_COPIED if merged else _ONLY_MERGED
    keys = [key for key in _DRAWN if key not in left_out]
    one = st.sampled_from(keys).flatmap(
        lambda key: st.tuples(st.just(key), st.sampled_from(_DRAWN[key]))
    )
    return st.lists(one, max_size=6, unique_by=lambda pair: pair[0]).map(tuple)
