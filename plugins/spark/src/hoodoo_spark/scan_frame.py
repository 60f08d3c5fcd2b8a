"""Scan frame: the DataFrame of a scan, whose filters leave files out as those of the scan do.

``frame.where(...)`` reads what a filter asks of columns, ``=`` and ``in``, out of Spark's own form
of it, and lets the pruners look which files can have such rows. Spark evaluates the whole filter as
ever, on the rows of the files that are left: what is not understood here leaves nothing out, and
neither does a filter of rows in Spark's cache. Columns keep their identity, so that ``frame.v``
means the same afterwards. A filter behind another step (``select``, SQL on a view) is Spark's
alone."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from attrs import evolve, frozen
from hoodoo.errors import HoodooError
from hoodoo.log import get_logger
from hoodoo.model.filegroup import FileSlice
from hoodoo_rows.api import Reads, Scan

_log = get_logger(__name__)
_CATALYST = "org.apache.spark.sql.catalyst"
# Spark's types whose values compare as Arrow's do.
_INTEGERS = {"byte": 1, "short": 2, "integer": 4, "long": 8}
Make = Callable[[Scan, Any], Any]
Node = tuple[dict[str, Any], list[Any]]


@frozen
class Filtered:
    """What a frame is made of: ``scan``, then ``conditions``, Spark's, of the columns ``output``;
    without conditions, those of the frame. ``make`` makes a DataFrame of a scan."""

    scan: Scan
    make: Make
    output: tuple[Any, ...] = ()
    conditions: tuple[Any, ...] = ()


def with_pruning(frame: Any, scan: Scan, make: Make) -> Any:
    """``frame``, which is of ``scan``, as one that leaves files out by its filters."""
    if scan.plan.since is not None or len(scan.plan.slices) < 2:
        return frame
    return _as_scan_frame(frame, Filtered(scan, make))


def _as_scan_frame(frame: Any, made: Filtered) -> Any:
    known: Any = type(frame)
    frame.__class__ = _class(known)
    frame._hoodoo = made
    return frame


@cache
def _class(base: Any) -> Any:
    """``base``, PySpark's class of DataFrames, with filters that leave files out."""
    if hasattr(base, "_hoodoo"):
        return base

    def filter(self: Any, condition: Any) -> Any:
        plain = base.filter(self, condition)
        try:
            return _filtered(self, plain, base)
        except HoodooError:
            raise
        except Exception as error:  # of another version of Spark: no file is left out
            _log.debug("spark.filter.not_read", error=repr(error))
            return plain

    members = {"filter": filter, "where": filter, "_hoodoo": None, "__module__": base.__module__}
    return type(base.__name__, (base,), members)


def _filtered(frame: Any, plain: Any, base: Any) -> Any:
    made: Filtered = frame._hoodoo
    if not made.output:  # each column is a message from the JVM
        output = _items(frame._jdf.queryExecution().analyzed().output())
        made = evolve(made, output=tuple(output))
    plan = plain._jdf.queryExecution().analyzed()
    if plan.nodeName() != "Filter":
        return plain
    condition = plan.condition()
    conditions = (*made.conditions, condition)
    where = _expression(_tree(json.loads(condition.toJSON())), made.scan.plan.stored)
    slices = made.scan.plan.slices
    if where is not None and _is_cached(plain):
        return plain
    kept = slices if where is None else _kept(made.scan, where)
    if len(kept) == len(slices):
        return _as_scan_frame(plain, evolve(made, conditions=conditions))
    scan = evolve(made.scan, plan=evolve(made.scan.plan, slices=kept))
    inner = made.make(scan, plain.sparkSession)
    jvm = plain.sparkSession._jvm
    found = _renamed(jvm, inner._jdf.queryExecution().analyzed(), made.output)
    for one in conditions:
        found = _named(jvm, f"{_CATALYST}.plans.logical.Filter")(one, found)
    dataset = _named(jvm, plain._jdf.getClass().getName())
    rows = dataset.ofRows(plain.sparkSession._jsparkSession, found)
    answer = base(rows, plain.sparkSession)
    return _as_scan_frame(answer, evolve(made, scan=scan, conditions=conditions))


def _is_cached(frame: Any) -> bool:
    """Whether Spark has rows of it in its cache: then no file is read, whatever the filters are."""
    # Of a plan of its own: the frame's may meet a cache that is made before its first use.
    plan = frame.select("*")._jdf.queryExecution().withCachedData()
    leaves = _items(plan.collectLeaves())
    return any(leaf.getClass().getSimpleName() == "InMemoryRelation" for leaf in leaves)


def _renamed(jvm: Any, plan: Any, output: tuple[Any, ...]) -> Any:
    """``plan`` with the columns ``output``, which other parts of a query may refer to."""
    alias = _named(jvm, f"{_CATALYST}.expressions.Alias")
    nothing = jvm.scala.Option.apply(None)
    columns = [
        alias(column, old.name(), old.exprId(), old.qualifier(), nothing, jvm.PythonUtils.toSeq([]))
        for column, old in zip(_items(plan.output()), output, strict=True)
    ]
    return _named(jvm, f"{_CATALYST}.plans.logical.Project")(jvm.PythonUtils.toSeq(columns), plan)


def _kept(scan: Scan, where: pc.Expression) -> tuple[FileSlice, ...]:
    """The file slices of ``scan`` that may have rows for which ``where`` is true as well."""
    return Reads.narrowed(scan.source, scan.plan, where=where).slices


# --- what a filter asks ---------------------------------------------------------------------------
def _tree(nodes: list[dict[str, Any]]) -> Node:
    """Spark's list of the nodes of an expression, each before its children, as a tree."""
    left = iter(nodes)

    def take() -> Node:
        node = next(left)
        return node, [take() for _ in range(node["num-children"])]

    return take()


def _expression(tree: Node, schema: pa.Schema) -> pc.Expression | None:
    """What of a filter is understood: those of its parts, all of which have to be true."""
    found: pc.Expression | None = None
    for part in _parts(tree):
        one = _one_column(part, schema)
        if one is not None:
            found = one if found is None else found & one
    return found


def _parts(tree: Node) -> Iterator[Node]:
    if _kind(tree) == "And":
        for child in tree[1]:
            yield from _parts(child)
    else:
        yield tree


def _one_column(tree: Node, schema: pa.Schema) -> pc.Expression | None:
    """``column = value`` or ``column in (values)``."""
    kind, children = _kind(tree), tree[1]
    if kind not in ("EqualTo", "EqualNullSafe", "In") or len(children) < 2:
        return None
    if kind != "In" and _column(children[0]) is None:
        children = children[::-1]
    name = _column(children[0])
    if name is None or schema.get_field_index(name) < 0:
        return None
    values = [_value(child) for child in children[1:]]
    if any(value is None for value in values):
        return None
    field = schema.field(name)
    try:
        return pc.field(name).isin(pa.array([v[0] for v in values if v is not None], field.type))
    except (pa.ArrowException, OverflowError):  # no value of the column's type
        return None


def _kind(tree: Node) -> str:
    return str(tree[0]["class"]).rpartition(".")[2]


def _column(tree: Node) -> str | None:
    """The name of a column, perhaps in a wider integer type."""
    node, children = tree
    if _kind(tree) == "AttributeReference" and node["dataType"] in ("string", *_INTEGERS):
        return str(node["name"])
    if _kind(tree) == "Cast" and _kind(children[0]) == "AttributeReference":
        inner, outer = children[0][0]["dataType"], node["dataType"]
        if inner in _INTEGERS and outer in _INTEGERS and _INTEGERS[inner] <= _INTEGERS[outer]:
            return str(children[0][0]["name"])
    return None


def _value(tree: Node) -> tuple[str | int] | None:
    """The text or the integer that is compared with, in a tuple; None for anything else."""
    node, children = tree
    if _kind(tree) == "Cast" and children[0][0].get("dataType") in _INTEGERS:
        wide = _INTEGERS.get(node["dataType"], 0)
        return _value(children[0]) if wide >= _INTEGERS[children[0][0]["dataType"]] else None
    if _kind(tree) != "Literal" or node.get("value") is None:
        return None
    if node["dataType"] == "string":
        return (str(node["value"]),)
    return (int(node["value"]),) if node["dataType"] in _INTEGERS else None


# --- Spark's side ---------------------------------------------------------------------------------
def _items(found: Any) -> list[Any]:
    """A sequence of Scala's as a list."""
    return [found.apply(n) for n in range(found.size())]


def _named(jvm: Any, name: str) -> Any:
    for part in name.split("."):
        jvm = getattr(jvm, part)
    return jvm
