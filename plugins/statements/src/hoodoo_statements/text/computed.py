"""Conditions on what lies within variants, as functions of pyarrow that DuckDB computes: a read
takes them to its tasks as it takes all that pyarrow knows, and they are what statements compute.

A function is known to one process. So an expression that has one brings its text along when it is
pickled, and the process that gets it registers the function."""

from __future__ import annotations

import copyreg
import hashlib
import re
import threading
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from attrs import evolve
from sqlglot import exp

from hoodoo_statements.evaluate import Evaluator
from hoodoo_statements.text.parse import Expression, refuse_no_condition

_NAME = re.compile(r"hoodoo_sql_[0-9a-f]{32}")
_CALLS = ("variant_get", "try_variant_get")
# Of each function: what DuckDB computes, and the columns of it.
_texts: dict[str, tuple[str, pa.Schema]] = {}
_lock = threading.Lock()
_own = threading.local()


def looks_within(tree: exp.Expression) -> bool:
    """Whether the condition ``tree`` has a path within a variant."""
    return any(
        isinstance(node, exp.JSONExtract)
        or (isinstance(node, exp.Anonymous) and node.name.lower() in _CALLS)
        for node in tree.walk()
    )


def computed(whole: Expression, tree: exp.Expression) -> pc.Expression:
    """The condition ``tree``, a part of ``whole``, as an expression of pyarrow. Raises ConfigError
    for what is not computed, SchemaError for what is no condition."""
    named = {column.name for column in tree.find_all(exp.Column)}
    used = tuple({c.flat: c for c in whole.columns if c.flat in named}.values())
    made = evolve(whole, tree=tree, columns=used).made
    if made.kind is not None and not pa.types.is_boolean(made.kind):
        refuse_no_condition(made.kind, whole.what, whole.text)
    schema = pa.schema([pa.field(c.flat, c.column.type) for c in used])
    about = made.sql.encode() + schema.serialize().to_pybytes()
    name = f"hoodoo_sql_{hashlib.sha256(about).hexdigest()[:32]}"
    _register(name, made.sql, schema)
    return pc.Expression._call(name, [pc.field(c.column.name) for c in used])


def _register(name: str, sql: str, schema: pa.Schema) -> None:
    def condition(context: Any, *columns: Any) -> pa.Array:
        count = context.batch_length
        rows = [_rows(c, f.type, count) for c, f in zip(columns, schema, strict=True)]
        if not count:
            return pa.array([], pa.bool_())
        if not hasattr(_own, "evaluator"):
            _own.evaluator = Evaluator()
        (found,) = _own.evaluator.columns(pa.table(rows, schema=schema), [sql], "where")
        return found.combine_chunks().cast(pa.bool_())

    with _lock:
        if name not in _texts:
            said = {"summary": "A condition of SQL.", "description": sql}
            kinds = {f.name: f.type for f in schema}
            pc.register_scalar_function(condition, name, said, kinds, pa.bool_())
            copyreg.pickle(pc.Expression, _reduced)
            _texts[name] = sql, schema


def _rows(column: Any, kind: pa.DataType, count: int) -> pa.Array:
    """An argument as an array of the type ``kind``, which says what is a variant."""
    array = pa.repeat(column, count) if isinstance(column, pa.Scalar) else column
    if not pa.types.is_struct(kind):
        return array
    children = [array.field(at) for at in range(kind.num_fields)]
    mask = array.is_null() if array.null_count else None
    return pa.StructArray.from_arrays(children, fields=list(kind), mask=mask)


def _reduced(given: pc.Expression) -> Any:
    plain, (content,) = given.__reduce__()
    known = {name: _texts[name] for name in _NAME.findall(str(given)) if name in _texts}
    return (_load, (known, content)) if known else (plain, (content,))


def _load(known: Mapping[str, tuple[str, pa.Schema]], content: Any) -> pc.Expression:
    for name, (sql, schema) in known.items():
        _register(name, sql, schema)
    return pc.Expression._deserialize(content)
