"""What key generators answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from hoodoo.errors import DataError, NullKeyError
from hoodoo.kernel.answers import shapes
from hoodoo.kernel.answers.declared import prepare, rule
from hoodoo.kernel.answers.seam import Ask
from hoodoo.kernel.answers.wrong import Wrong, excused, says

_FILL = "fill the column or filter these rows out before writing."
# A directory outside of the table; one that listings pass over, as its name is one of Hudi's own;
# and what no file system takes.
_UNFIT = r"^/|//|/$|\x00|(^|/)(\.\.?|\.hoodie[^/]*)(/|$)"


@rule("KeyGenerator.record_keys")
def _record_keys(answer: Any, ask: Ask, batch: pa.RecordBatch) -> pa.Array:
    return _filled_keys(answer, batch.num_rows, lambda bad: _blame_keys(ask, batch, bad))


@rule("GeneratesKeys.generated_keys")
def _generated_keys(
    answer: Any, ask: Ask, rows: int, instant: str, task: int, first_row: int
) -> pa.Array:
    keys = _filled_keys(answer, rows, lambda bad: None)
    if rows > 1 and pc.any(pc.equal(keys.slice(1), keys.slice(0, rows - 1))).as_py():
        raise Wrong("the same key for two rows", "a key for each row, no two of them the same")
    return keys


@rule("KeyTraits.delete_block_keys")
def _delete_block_keys(answer: Any, ask: Ask, keys: pa.Array) -> pa.Array:
    if not isinstance(answer, pa.Array | pa.ChunkedArray) or answer.type != pa.string():
        raise Wrong(says(answer), "an array of strings")
    if len(answer) != len(keys) or answer.null_count:
        raise Wrong(says(answer), f"{len(keys)} keys, none of them null")
    return answer


@rule("KeyTraits.deleted_keys")
def _deleted_keys(answer: Any, ask: Ask, keys: Any) -> Any:
    """One array or several."""
    for found in answer if isinstance(answer, tuple | list) else (answer,):
        if not isinstance(found, pa.Array | pa.ChunkedArray) or found.type != pa.string():
            raise Wrong(says(found), "one pyarrow.Array of strings, or several")
    return answer


@rule("KeyGenerator.partition_paths")
def _partition_paths(answer: Any, ask: Ask, batch: pa.RecordBatch) -> pa.Array:
    rows = batch.num_rows
    if isinstance(answer, pa.Array) and answer.type == pa.string() and len(answer) == rows:
        if answer.null_count:
            _blame_path(ask, batch, answer.is_null())
        shapes.array(answer, pa.string(), rows, "partition paths")
        _check_fit(answer, ask, batch)
        return answer
    return shapes.array(answer, pa.string(), rows, "partition paths")


@rule("KeyGenerator.partition_values")
def _partition_values(answer: Any, ask: Ask, path: str, schema: pa.Schema) -> Any:
    wanted = "a mapping of columns of the table to values of their types, or None"
    if answer is None:
        return None
    shapes.instance(answer, Mapping, wanted)
    for name, value in answer.items():
        if not isinstance(name, str):
            raise Wrong(f"a mapping with {says(name)}", wanted)
        at = schema.get_field_index(name)
        if at < 0 and "." not in name:
            raise Wrong(f"the column {name!r}, which the table lacks", wanted)
        if at >= 0 and not _fits(value, schema.field(at).type):
            raise Wrong(f"{says(value)} for {name!r}, a {schema.field(at).type}", wanted)
    return answer


@prepare("Settles.settled")
def _prepare_settled(ask: Ask, stored: Callable[[], Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    def read() -> Any:
        with excused():
            return stored()

    return (read,), {}


# --- inside ---------------------------------------------------------------------------------------
def _filled_keys(answer: Any, rows: int, blame: Callable[[pa.Array], None]) -> pa.Array:
    wanted = f"a pyarrow.Array of {rows} record keys of type string, none of them null or empty"
    if not isinstance(answer, pa.Array) or answer.type != pa.string() or len(answer) != rows:
        raise Wrong(says(answer), wanted)
    if answer.null_count:
        blame(answer.is_null())
        raise Wrong(says(answer), wanted)
    if not shapes.shortest(answer):
        blame(pc.equal(answer, ""))
        raise Wrong("an empty key", wanted)
    return answer


def _blame_keys(ask: Ask, batch: pa.RecordBatch, bad: pa.Array) -> None:
    """NullKeyError where the columns of the key are empty in the rows whose keys are ``bad``: the
    data is at fault then, and not the generator."""
    for name in ask.inner.record_key_fields:
        column = _column(batch, name)
        if column is not None and pc.all(_is_empty(column.filter(bad))).as_py():
            count = pc.sum(_is_empty(column)).as_py()
            raise NullKeyError(
                f"key column {name}",
                f"is null or empty in {count} of {len(column)} rows of a batch.",
                _FILL,
            )


def _blame_path(ask: Ask, batch: pa.RecordBatch, bad: pa.Array) -> None:
    for name in ask.inner.partition_fields:
        column = _column(batch, name.partition(":")[0])
        if column is not None and column.filter(bad).null_count == pc.sum(bad).as_py():
            raise DataError(
                f"partition column {name}",
                f"is null in {column.null_count} of {len(column)} rows of a batch, and {ask.who} "
                "makes no partition path of that.",
                _FILL,
            )


def _check_fit(paths: pa.Array, ask: Ask, batch: pa.RecordBatch) -> None:
    if not pc.max(pc.binary_length(paths)).as_py():
        return  # not partitioned
    distinct = pc.unique(paths)
    unfit = distinct.filter(pc.match_substring_regex(distinct, _UNFIT))
    if len(unfit):
        path = unfit[0].as_py()
        for name in ask.inner.partition_fields:
            column = _column(batch, name.partition(":")[0])
            if column is None or not pa.types.is_string(column.type):
                continue
            if pc.any(pc.match_substring_regex(column, _UNFIT)).as_py():
                raise DataError(
                    f"partition column {name}",
                    f"makes the partition path {path!r}, which can't be a directory of rows of the "
                    "table.",
                    "Encode the paths: hoodie.datasource.write.partitionpath.urlencode=true, or "
                    "change the values.",
                )
        raise Wrong(f"the path {path!r}", "paths of directories of rows of the table")


def _column(batch: pa.RecordBatch, name: str) -> pa.Array | None:
    parts = [name] if name in batch.schema.names else name.split(".")
    if parts[0] not in batch.schema.names:
        return None
    column = batch.column(parts[0])
    try:
        return pc.struct_field(column, parts[1:]) if parts[1:] else column
    except (pa.ArrowException, TypeError):
        return None


def _is_empty(column: pa.Array) -> pa.Array:
    null = pc.is_null(column)
    if pa.types.is_string(column.type):
        return pc.or_(null, pc.fill_null(pc.equal(column, ""), False))
    return null


def _fits(value: Any, kind: pa.DataType) -> bool:
    try:
        pa.scalar(value, kind)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return False
    return True
