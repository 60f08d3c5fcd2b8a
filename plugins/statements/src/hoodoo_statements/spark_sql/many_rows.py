"""Many rows: aggregates, windows and queries within an expression."""

from typing import Any

from attrs import frozen
from sqlglot import exp

from hoodoo_statements.spark_sql.decimals import average_of_decimals
from hoodoo_statements.spark_sql.functions import AGGREGATES, WINDOWS
from hoodoo_statements.spark_sql.kinds import (
    BIGINT,
    BOOLEAN,
    INT,
    Made,
    Refused,
    duckdb_name,
    is_decimal,
    is_fractional,
    spark_name,
)
from hoodoo_statements.spark_sql.parts import Parts


@frozen
class ManyRows(Parts):
    """What uses more than the one row: refused unless ``rows``."""

    def _aggregate(self, tree: Any, name: str, only: str = "") -> Made:
        given, distinct, found = list(tree.expressions), "", AGGREGATES[name]
        if len(given) == 1 and isinstance(given[0], exp.Distinct):
            given, distinct = list(given[0].expressions), "DISTINCT "
        if len(given) == 1 and isinstance(given[0], exp.Star) and name == "count":
            return Made(found.text("*", "", only), BIGINT)
        if len(given) != 1:
            raise Refused(f"calls {name}() of {len(given)} values", self.instead)
        of = self._node(given[0])
        if found.sql.startswith("avg") and is_decimal(of.kind):
            average = average_of_decimals(of, distinct, f" FILTER (WHERE {only})" if only else "")
            if average is None:
                why = f"calls avg({spark_name(of.kind)})"
                raise Refused(why, "Cast the values, such as to DOUBLE.")
            return average
        if name in ("sum", "avg", "mean") and (of.kind is None or found.kind(of.kind) is None):
            raise Refused(
                f"calls {name}({spark_name(of.kind)})", "Cast the values, such as to DOUBLE."
            )
        kind = found.kind(of.kind)
        if distinct and "FILTER" in found.sql:
            raise Refused(f"calls {name}(DISTINCT ...)", self.instead)
        sql = found.text(of.bare if name == "sum" and of.bare else of.sql, distinct, only)
        exact = name == "sum" and kind is not None and not is_fractional(kind)
        return Made(f"CAST({sql} AS {duckdb_name(kind)})" if exact and kind else sql, kind, True)

    def _window(self, tree: Any) -> Made:
        if not self.rows:
            raise Refused("has a window", self.instead)
        inner = tree.this
        while isinstance(inner, (exp.IgnoreNulls, exp.RespectNulls)):
            inner = inner.this
        if isinstance(inner, exp.Filter):  # Spark refuses it
            raise Refused("has FILTER with a window", "Write sum(CASE WHEN ... THEN x END).")
        name = inner.name.lower() if isinstance(inner, exp.Anonymous) else ""
        given = [self._node(n) for n in inner.expressions if not isinstance(n, exp.Star)]
        order = tree.args.get("order")
        for node in (*tree.args.get("partition_by", ()), *(order.expressions if order else ())):
            by = node.this if isinstance(node, exp.Ordered) else node
            by.replace(exp.Var(this=self._node(by).sql))
        if name in WINDOWS:
            kind = WINDOWS[name].kind(given[0].kind if given else None)
            for node, one in zip(list(inner.expressions), given):
                node.replace(exp.Var(this=one.sql))
            sql = tree.sql("duckdb")
            return Made(f"CAST({sql} AS INTEGER)" if kind == INT else sql, kind, True)
        if name not in AGGREGATES:
            raise self._unknown(name or inner.sql("spark"))
        made = self._aggregate(inner, name)
        bare = AGGREGATES[name].text(given[0].sql if given else "*")
        if "FILTER" in bare:
            raise Refused(f"calls {name}() over a window", self.instead)
        if is_decimal(made.kind) and AGGREGATES[name].sql.startswith("avg"):
            inner.replace(exp.Var(this=""))
            average = average_of_decimals(given[0], "", tree.sql("duckdb"))
            assert average is not None
            return average
        inner.replace(exp.Var(this=bare))
        sql = tree.sql("duckdb")
        exact = name == "sum" and made.kind is not None and not is_fractional(made.kind)
        return Made(
            f"CAST({sql} AS {duckdb_name(made.kind)})" if exact and made.kind else sql,
            made.kind,
            True,
        )

    def _filter(self, tree: Any) -> Made:
        of = tree.this
        name = of.name.lower() if isinstance(of, exp.Anonymous) else ""
        if name not in AGGREGATES or not self.rows:
            raise Refused("has FILTER there", "Write sum(CASE WHEN ... THEN x END).")
        condition = self.true(self._node(tree.expression.this), "FILTER")
        return self._aggregate(of, name, condition.sql)

    def _subquery(self, tree: Any) -> Made:
        if not self.rows:
            raise Refused("has a query", self.instead)
        return Made(self._subquery_text(tree), tree.meta.get("kind"))

    def _subquery_text(self, query: Any) -> str:
        if not self.rows:
            raise Refused("has a query", self.instead)
        text = query.sql("duckdb")
        return text if text.startswith("(") else f"({text})"

    def _exists(self, tree: Any) -> Made:
        return Made(f"EXISTS {self._subquery_text(tree.this)}", BOOLEAN)
