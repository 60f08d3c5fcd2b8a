"""Dialect: how the text of statements is read."""

from __future__ import annotations

import re
from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.tokens import TokenType

from hoodoo_statements.text.paths import call_of


class HoodooSpark(Spark):  # type: ignore[misc]  # its types are not known to mypy
    """Spark's SQL as Spark reads it from version 4 on: a quote within a text is written twice, or
    with a backslash. Calls stay as they are written: what each function computes is said in
    :mod:`hoodoo_statements.spark_sql`."""

    class Tokenizer(Spark.Tokenizer):  # type: ignore[misc]
        STRING_ESCAPES: ClassVar[list[str]] = ["\\", "'", '"']
        # Hudi's type, which is more than bytes.
        KEYWORDS: ClassVar[dict[str, Any]] = {**Spark.Tokenizer.KEYWORDS, "BLOB": TokenType.BLOB}

    class Parser(Spark.Parser):  # type: ignore[misc]
        FUNCTIONS: ClassVar[dict[str, Any]] = {}
        COLON_IS_VARIANT_EXTRACT: ClassVar[bool] = True  # v:a.b, which Databricks has

        def _parse_cast(self, *args: Any, **options: Any) -> Any:
            """A cast that is written as such: sqlglot makes one of 1L, too."""
            made = super()._parse_cast(*args, **options)
            made.meta["written"] = True
            return made

        def _parse_vector_expressions(self, expressions: list[Any]) -> list[Any]:
            """Hudi names the elements after their number: VECTOR(4, DOUBLE)."""
            return expressions

    class Generator(Spark.Generator):  # type: ignore[misc]
        # Spark 3 has WITH within queries. Moved to the top, two of one name would become one.
        EXPRESSIONS_WITHOUT_NESTED_CTES: ClassVar[set[Any]] = set()
        TRANSFORMS: ClassVar[dict[Any, Any]] = {
            **Spark.Generator.TRANSFORMS,
            exp.JSONExtract: lambda self, tree: self.sql(call_of(tree)),
        }


# Text is read as Spark has it: Hudi's and Delta's statements are written for it.
DIALECT = HoodooSpark
# Names of sqlglot's own classes in its errors.
_TOKEN = re.compile(r" but got <Token .*?>")
_MISSING = re.compile(r"Required keyword: '\w+' missing for <class '[^']*'>")


def fault(error: Exception) -> str:
    """What sqlglot says is wrong with a text, in one line and in words of SQL."""
    said = _TOKEN.sub("", str(error).splitlines()[0]).rstrip(".")
    return _MISSING.sub("a part is missing", said)
