"""Query: a SELECT over tables of Hoodoo and other rows, by DuckDB or by Spark."""

from __future__ import annotations

import os
import re
import uuid
from collections.abc import Container, Mapping, Sequence
from datetime import datetime, timezone
from typing import Any

import pyarrow as pa
from attrs import evolve, field, frozen
from hoodoo.errors import ConfigError, DataError, HoodooError, SchemaError
from hoodoo.model.meta import META_COLUMNS, META_FIELDS
from hoodoo.table.table import Table
from hoodoo_rows.api import ArrivingRows, Scan
from hoodoo_rows.model.conform import conform
from hoodoo_rows.model.normalize import plain_schema
from sqlglot import exp

from hoodoo_statements.evaluate import Evaluator, sql_type
from hoodoo_statements.spark_sql.columns import assigned, known_column
from hoodoo_statements.spark_sql.kinds import Refused
from hoodoo_statements.spark_sql.queries import for_duckdb, named
from hoodoo_statements.text.blobs import with_bytes, without_blobs
from hoodoo_statements.text.chains import shallow
from hoodoo_statements.text.dialect import DIALECT
from hoodoo_statements.text.moments import moment
from hoodoo_statements.text.parse import at_moment, checked
from hoodoo_statements.text.pruning import implied
from hoodoo_statements.text.scope import Scope, unknown_column
from hoodoo_statements.text.stars import spelt_out, takes_all
from hoodoo_statements.text.vector_search import search_of

_META = frozenset(META_COLUMNS)
# How DuckDB names a column that is not there.
_MISSING = re.compile(r'(?:Referenced column|does not have a column named) "([^"]+)"')
_TOO_NARROW = "Overflow in multiplication of DECIMAL(18)"  # what DuckDB says


@frozen
class Asked:
    """What the query ``tree`` names, in lower case, and whether it takes columns besides."""

    tree: Any
    names: frozenset[str]
    all_columns: bool

    @classmethod
    def of(cls, tree: Any) -> Asked:
        names = (name.name.lower() for name in tree.find_all(exp.Identifier))
        return cls(tree, frozenset(names), takes_all(tree))


@frozen
class Query:
    """``known``: what names of tables mean. ``spark``: the session that runs it; None: DuckDB
    does."""

    known: Mapping[str, Any]
    spark: Any = None
    evaluator: Evaluator = field(factory=lambda: Evaluator(os.cpu_count() or 1))

    def run(self, tree: Any) -> Any:
        """The answer: a pyarrow Table, or a DataFrame. ConfigError for names that mean nothing."""
        tree = tree.copy()
        blobs = without_blobs(tree) if self.spark is None else {}
        if self.spark is None:
            tree = at_moment(named(tree), datetime.now(timezone.utc))
            for select in tree.find_all(exp.Select):
                select.set("hint", None)  # says how Spark computes, and not what
            for query in tree.find_all(exp.Query):
                _refuse_sorts(query)
        tables = (node.parts for node in tree.find_all(exp.Table))
        wanted = [".".join(part.name for part in parts).lower() for parts in tables]
        filtered = set[str]()
        read = self._tables(tree, filtered)
        if self.spark is not None:
            return self._on_spark(tree, read, filtered)
        # DuckDB itself asks a scan for what the query needs of it.
        rows = {n: f if isinstance(f, Scan) else arrow_of(f) for n, f in read.items()}
        try:
            answer = self._by_duckdb(tree, rows, filtered, False)
        except DataError as error:
            if _TOO_NARROW not in str(error):
                raise
            answer = self._by_duckdb(tree, rows, filtered, True)
        except SchemaError as error:
            missing = _MISSING.search(str(error))
            if missing is None:
                raise
            there = [
                n
                for name, found in self.known.items()
                if name.lower() in wanted
                for n in _columns(found)
            ]
            raise unknown_column(missing[1], "the query", there, "its tables") from None
        asked = (known for name, known in self.known.items() if name.lower() in wanted)
        return with_bytes(answer, blobs, asked) if blobs else answer

    def _by_duckdb(
        self, tree: Any, rows: Mapping[str, Any], filtered: set[str], wide: bool
    ) -> pa.Table:
        """What DuckDB answers. Decimals are multiplied in 64 bits, which is faster and nearly
        always enough, or in 128 with ``wide``."""
        schemas = {name: found.schema for name, found in rows.items()}
        try:
            with shallow("query", "SELECT ..."):
                made = for_duckdb(tree.copy(), schemas, wide).sql("duckdb")
        except Refused as refused:
            text = tree.sql(DIALECT)
            raise ConfigError(f"query {text!r}", f"{refused.why}.", refused.fix) from None
        return self.evaluator.query(made, rows, filtered)

    def cast(self, rows: pa.Table, columns: Sequence[pa.Field]) -> pa.Table:
        """``rows`` with these names and types, as an insert assigns them."""
        plain = rows.rename_columns([f"c{n}" for n in range(rows.num_columns)])
        listed = []
        for n, column in enumerate(columns):
            given = known_column(f"c{n}", plain.schema.field(n).type)
            made = assigned(given, column.type, f"column {column.name} of the insert").sql
            kind = sql_type(column.type)
            listed.append(made if kind is None else f"CAST({made} AS {kind})")
        try:
            found = self.evaluator.columns(plain, listed, "insert")
        except (DataError, SchemaError):
            for column, made in zip(columns, listed):  # which of them it is
                self.evaluator.columns(plain, [made], f"column {column.name} of the insert")
            raise
        return pa.table(found, names=[column.name for column in columns])

    def _tables(self, tree: Any, filtered: set[str]) -> dict[str, Any]:
        """What the tables of ``tree`` are, by the names that they get there. Into ``filtered`` go
        the names of reads with a filter that the query has as well."""
        lower = {name.lower(): found for name, found in self.known.items()}
        read: dict[str, Any] = {}
        once: dict[tuple[int, Any], str] = {}
        nodes = list(tree.find_all(exp.Table))
        shared, asked = _shared(nodes), Asked.of(tree)
        for node in nodes:
            if not isinstance(node.this, exp.Identifier):
                continue  # a function that makes rows
            name = ".".join(part.name for part in node.parts)
            if named_before(node, name.lower()):
                continue
            if name.lower() not in lower:
                raise ConfigError(
                    f"table {name}",
                    f"is not among tables= ({', '.join(self.known) or 'none'}).",
                    f'Name it: tables={{"{name}": table}}.',
                )
            found, version = lower[name.lower()], node.args.get("version")
            if isinstance(found, (str, os.PathLike)):  # files of a table are not its rows
                raise ConfigError(
                    f"table {name}",
                    f"is the path {os.fspath(found)}.",
                    f'Open it: tables={{"{name}": hoodoo.open(path)}}; so does hoodoo.session.',
                )
            as_of = None if version is None else moment(version, name)
            if as_of is not None and not isinstance(found, Table):
                raise ConfigError(
                    f"table {name}",
                    f"has a time or version, and is a {type(found).__name__}.",
                    "Name a table of Hoodoo there: hoodoo.open(path).",
                )
            node.set("version", None)
            # A table that the query names twice is read once: at one moment, and at half the cost.
            one = search_of(node) is None and not (asked.all_columns and asked.names & _META)
            same = (id(found if one else node), as_of)
            called = once.get(same)
            if called is None:
                called = once[same] = f"hoodoo_{uuid.uuid4().hex[:12]}"
                read[called], is_filtered = self._read(found, asked, node, len(nodes) == 1, as_of)
                if is_filtered:
                    filtered.add(called)
            if not node.alias:
                alias = name if name.lower() in shared else node.name
                qualify(tree, [part.name.lower() for part in node.parts], alias)
                node.set("alias", exp.TableAlias(this=exp.to_identifier(alias, quoted=True)))
            node.set("this", exp.to_identifier(called))
            node.set("db", None)
            node.set("catalog", None)
        return read

    def _read(
        self, found: Any, asked: Asked, node: Any, alone: bool, as_of: Any
    ) -> tuple[Any, Any]:
        """Of a table at the time ``as_of``, the columns that the query names anywhere; and of the
        only one, what its condition lets through: with whether it does."""
        search = search_of(node)
        if not isinstance(found, Table):
            return (found if search is None else search.rows(found, ())), False
        schema = found.schema if as_of is None else found.read(as_of=as_of).schema
        columns = list[str]()
        whole = pa.schema([*schema, *META_FIELDS])
        tree = asked.tree
        if not asked.all_columns:
            columns = [n for n in whole.names if n.lower() in asked.names] or schema.names[:1]
        else:
            columns = schema.names
            own = [n for n in META_COLUMNS if n in asked.names]
            if own and spelt_out(tree, node, columns):
                columns = [*columns, *own]
        if search is not None:
            return search.rows(found, columns), False
        where = tree.args.get("where") if alone and _is_of(tree, node) else None
        if where is not None and not list(tree.find_all(exp.Subquery, exp.CTE)):
            names = frozenset(t.alias_or_name.lower() for t in tree.find_all(exp.Table))
            try:
                scope = Scope("table", whole, None, names)
                filtered = implied(checked(where.this, scope, "where").tree, whole)
                if filtered is not None:
                    return found.read(columns, filtered, as_of), True
            except HoodooError:
                pass  # the query says what is wrong with it
        return found.read(columns, as_of=as_of), False

    def _on_spark(self, tree: Any, read: Mapping[str, Any], filtered: Container[str]) -> Any:
        # The DataFrames travel with the query: over Connect it is looked at when it runs, and names
        # are of nobody then.
        text = tree.sql(DIALECT)
        if not read:
            return self.spark.sql(text)
        text, frames = text.replace("{", "{{").replace("}", "}}"), {}
        for name, found in read.items():
            text = text.replace(name, f"{{{name}}}")
            # A DataFrame of Spark Connect answers a column for each name that it is asked for.
            if hasattr(type(found), "createOrReplaceTempView"):
                frames[name] = found
            elif hasattr(found, "to_spark"):
                frames[name] = (_asked_again(found) if name in filtered else found).to_spark(
                    self.spark
                )
            else:
                frames[name] = frame_of(self.spark, arrow_of(found))
        return self.spark.sql(text, **frames)


def _refuse_sorts(select: exp.Query) -> None:
    """Of sorts within a task only Spark knows what they mean: it says how rows are in tasks."""
    for part in ("sort", "cluster"):
        if select.args.get(part) is not None:
            raise ConfigError(
                f"query {select.sql(DIALECT)!r}",
                f"has {part.upper()} BY, which sorts the rows of each task of Spark.",
                "Write ORDER BY, which sorts all rows; or give a session: "
                "hoodoo.session(spark, ...).",
            )


def _asked_again(scan: Scan) -> Scan:
    """``scan``, whose filter the query has as well."""
    spec = evolve(scan.plan.spec, again=True)
    return evolve(scan, plan=evolve(scan.plan, spec=spec))


def _columns(found: Any) -> list[str]:
    """The names of the columns of a table or of rows; none where they are not known before a
    read."""
    if isinstance(found, Table):
        return list(found.schema.names)
    names = getattr(found, "column_names", None)
    return list(names) if isinstance(names, list) else []


def named_before(node: Any, name: str) -> bool:
    """Whether a WITH around ``node`` says what ``name`` is there. Of its queries, each knows those
    before it, so that ``WITH t AS (SELECT * FROM t)`` is of the table."""
    child, parent = node, node.parent
    while parent is not None:
        if isinstance(parent, exp.With):
            at = next(n for n, one in enumerate(parent.expressions) if one is child)
            named = parent.expressions[: at + bool(parent.args.get("recursive"))]
            child, parent = parent.parent, parent.parent.parent
        else:
            given = parent.args.get("with_") or parent.args.get("with")
            named = given.expressions if isinstance(given, exp.With) else []
            child, parent = parent, parent.parent
        if any(cte.alias_or_name.lower() == name for cte in named):
            return True
    return False


def _shared(nodes: Sequence[Any]) -> set[str]:
    """Of tables without an alias, the whole names that end as another one: a.t and b.t."""
    plain = [n for n in nodes if isinstance(n.this, exp.Identifier) and not n.alias]
    whole = {".".join(part.name.lower() for part in node.parts) for node in plain}
    last = [name.rpartition(".")[2] for name in whole]
    return {name for name in whole if last.count(name.rpartition(".")[2]) > 1}


def qualify(tree: Any, path: Sequence[str], alias: str) -> None:
    """Columns that are qualified by the whole name ``path`` of a table get its ``alias``."""
    if len(path) == 1:
        return
    for column in list(tree.find_all(exp.Column)):
        parts = column.parts
        if [part.name.lower() for part in parts[: len(path)]] != path or len(parts) == len(path):
            continue
        first, *fields = parts[len(path) :]
        made: Any = exp.Column(this=first, table=exp.to_identifier(alias, quoted=True))
        for field_ in fields:
            made = exp.Dot(this=made, expression=field_)
        column.replace(made)


def frame_of(spark: Any, rows: pa.Table) -> Any:
    """``rows`` as a DataFrame with the same types. SchemaError for a type that Spark lacks."""
    import pyspark
    from pyspark.errors import PySparkTypeError
    from pyspark.sql.pandas.types import from_arrow_schema

    fields = [pa.field(f.name, _known(f.type)) for f in plain_schema(rows.schema)]
    try:
        struct = from_arrow_schema(pa.schema(fields), prefer_timestamp_ntz=True)
    except (PySparkTypeError, TypeError) as error:
        raise SchemaError(
            "rows of a query", f"have a type that Spark lacks: {error}", "Cast the column."
        ) from None
    if not rows.num_rows:  # PySpark can't make a frame of Arrow data without batches
        return spark.createDataFrame([], struct)
    wanted = pa.schema(fields)
    plain = pa.Table.from_batches([conform(b, wanted) for b in rows.to_batches()], wanted)
    if int(pyspark.__version__.partition(".")[0]) >= 4:
        return spark.createDataFrame(plain, struct)
    return spark.createDataFrame(plain.to_pylist(maps_as_pydicts="strict"), struct)


def _known(kind: pa.DataType) -> pa.DataType:
    """The type of a column that Spark has for the values of ``kind``: one as wide, with a sign, in
    microseconds."""
    if pa.types.is_unsigned_integer(kind):
        wide = {8: pa.int16(), 16: pa.int32(), 32: pa.int64()}
        return wide.get(kind.bit_width, pa.decimal128(20, 0))
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us", kind.tz and "UTC")
    if pa.types.is_float16(kind):
        return pa.float32()
    return pa.date32() if pa.types.is_date64(kind) else kind


def _is_of(tree: Any, node: Any) -> bool:
    """Whether the condition of ``tree`` is one of the stored rows of ``node``. It is not after a
    join, which may be an outer one and make rows of null, and not where columns were renamed, or
    rows gathered or drawn."""
    return (
        isinstance(tree, exp.Select)
        and node.parent is (tree.args.get("from_") or tree.args.get("from"))
        and not (tree.args.get("joins") or node.args.get("pivots") or node.args.get("sample"))
        and not node.alias_column_names
    )


def arrow_of(found: Any) -> pa.Table:
    """All rows of ``found``: a read, Arrow data, a frame, other rows that a write accepts."""
    kind = type(found)  # a DataFrame of Spark Connect has an attribute of any name
    if hasattr(kind, "to_arrow"):
        return found.to_arrow()
    rows = ArrivingRows.known_data(found, None)
    if isinstance(rows, pa.Table):
        return rows
    if hasattr(kind, "toArrow"):  # a DataFrame of Spark
        return rows.toArrow()
    plain = ArrivingRows.as_arrow(rows)
    if isinstance(plain, pa.RecordBatchReader):
        return plain.read_all()
    return plain if isinstance(plain, pa.Table) else plain.to_table()
