"""A trial of expressions: each function, operator and cast that text may use, over drawn values, by Hoodoo and by Spark.

The expressions are made from the registry of functions and from the operators that :mod:`hoodoo_statements.spark_sql`
knows: a new one joins by itself. Spark says of each value alone whether it is an error (with its own expressions, in the
driver), and computes all others in one query.
"""

from __future__ import annotations

import datetime as dt
import itertools
import math
import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa
from attrs import define, field, frozen
from hoodoo.errors import ConfigError, DataError, SchemaError
from hoodoo_statements.evaluate import Evaluator
from hoodoo_statements.find_changes import together
from hoodoo_statements.spark_sql.functions import FUNCTIONS
from hoodoo_statements.spark_sql.operators import ARITHMETIC, BITS
from hoodoo_statements.spark_sql.translate import COMPARISONS
from hoodoo_statements.text.parse import parsed
from hoodoo_statements.text.scope import Scope

_MICROS = 253402300799_000_000  # the last second of the year 9999
KINDS: dict[str, tuple[pa.DataType, str]] = {
    "boolean": (pa.bool_(), "boolean"), "tinyint": (pa.int8(), "tinyint"), "smallint": (pa.int16(), "smallint"),
    "int": (pa.int32(), "int"), "bigint": (pa.int64(), "bigint"), "float": (pa.float32(), "float"),
    "double": (pa.float64(), "double"), "money": (pa.decimal128(9, 2), "decimal(9,2)"),
    "exact": (pa.decimal128(30, 10), "decimal(30,10)"), "text": (pa.string(), "string"),
    "written": (pa.string(), "string"), "bytes": (pa.binary(), "binary"), "day": (pa.date32(), "date"),
    "moment": (pa.timestamp("us", "UTC"), "timestamp"), "local": (pa.timestamp("us"), "timestamp_ntz"),
    "list": (pa.list_(pa.int32()), "array<int>"),
}  # fmt: skip
NUMBERS = ("tinyint", "smallint", "int", "bigint", "float", "double", "money", "exact")
WHOLE = NUMBERS[:4]
PLAIN = tuple(k for k in KINDS if k != "list")
_LETTERS = {
    "S": ("text", "written", "int", "day", "double"), "I": ("int", "tinyint"), "L": ("bigint", "int"),
    "D": ("double", "float", "int", "money"), "B": ("boolean",), "V": ("text", "written", "int", "day"), "T": ("day", "moment"), "E": ("day",), "Z": ("moment", "day"), "Q": ("moment", "local"),
    "Y": ("bytes",), "N": NUMBERS, "W": WHOLE, "M": ("double", "float", "money", "exact"), "C": PLAIN, "X": tuple(KINDS),
    "A": ("list",),
}  # fmt: skip
_TEXTS = ("", "a", "abc", "ABC", " ab ", "Straße", "İstanbul", "ΑΣ", "ﬁx", "ünï", "日本語", "a\u0301", "😀b", "ab", "b",
          "xaby", "a,b", "a%b_c", "a\nb", "ab\n", "\t", "1", "tést", "aaa", "a.b", "A_b", "\\", "'", '"')  # fmt: skip
_WRITTEN = ("1", "-7", "+5", " 42 ", "3.75", "-0.5", "1e3", "1E-2", "abc", "", "2147483648", "9223372036854775808", "NaN",
            "Infinity", "1d", "0x1F", "1_000", "2020", "2020-03", "2020-3-5", "2020-02-30", "2020-01-01T10", "2020-01-01",
            "2020-01-01 10:20:30", "2020-01-01 1:2:3.5", "2020-01-01T10:20:30Z", "2020-01-01 10:20:30+02:00", "true", "T",
            "no", "0", "12345-01-01", "0001-01-01", "9999-12-31", "2020-01-01 10:20:30.123456789", "10:20:30", ".5", "5.",
            "99999999999999999999", "1.005", "\u00a05", "2020-01-01 ", "-2020-01-01", "1e400")  # fmt: skip
_DOUBLES = (0.0, -0.0, 1.0, -1.5, 2.5, 0.5, 1e20, 1.5e-5, 0.001, 0.00099, 12345678.9, 1e7, 9999999.0, 2.675, -2.675, 1.005,
            9.223372036854775807e18, 2147483647.5, -2147483648.9, math.nan, math.inf, -math.inf, 1e308, 5e-324, 123456.789,
            0.1, 1e16, 4503599627370497.5, 3.0, 127.9)  # fmt: skip


def _values(kind: str, draw: random.Random) -> Any:
    """A value of ``kind``: an edge, or any."""
    pool: Sequence[Any] = {
        "boolean": (True, False), "text": _TEXTS, "written": _WRITTEN, "double": _DOUBLES,
        "tinyint": (0, 1, -1, 127, -128, 7, 2, 3), "smallint": (0, 1, -1, 32767, -32768, 12, 2),
        "int": (0, 1, -1, 2, 3, 2**31 - 1, -(2**31), 365, 65, 8364, 5, -3), "bytes": (b"", b"a", b"\xc3\x9f", b"abc", b"\xff\x00"),
        "bigint": (0, 1, -1, 2, 2**63 - 1, -(2**63), 2**31, 10**12, 1_700_000_000, -7, 3),
        "float": (0.0, -0.0, 1.5, 0.1, -2.5, 3.4e38, 1e-10, math.nan, math.inf, 16777216.0, 0.001, 1e7),
        "money": tuple(map(Decimal, ("0.00", "1.25", "-1.25", "2.50", "0.05", "9999999.99", "-9999999.99", "2.75", "0.50", "1.50"))),
        "exact": tuple(map(Decimal, ("0E-10", "1.0000000000", "0.0000000001", "-2.5000000000", "12345678901234567890.1234567891", "3.7500000000"))),
        "day": tuple(dt.date(1970, 1, 1) + dt.timedelta(n) for n in (0, -1, 18321, 18262, 19782, 16435, 10956, -719162, 2932896, 18353, 17897)),
        "moment": (0, -1, 1_700_000_000_123_456, 1_582_934_400_000_000, 946_684_799_999_999, -62_135_596_800_000_000, _MICROS, 1_708_300_799_500_000),
        "local": (0, -1, 1_700_000_000_000_000, _MICROS),
        "list": ([], [1], [1, 2, None], [3, 3]),
    }[kind]  # fmt: skip
    if draw.random() < 0.07:
        return None
    if kind == "double" and draw.random() < 0.4:
        return draw.choice([draw.uniform(-1e3, 1e3), draw.uniform(-1, 1) * 10.0 ** draw.randint(-12, 22), round(draw.uniform(-50, 50), 3)])  # fmt: skip
    if kind == "int" and draw.random() < 0.3:
        return draw.randint(-2000, 2000)
    if kind == "bigint" and draw.random() < 0.3:
        return draw.randint(-(10**10), 10**10)
    if kind == "text" and draw.random() < 0.25:
        return "".join(draw.choice("abcABC ßüéÅzq1.,-") for _ in range(draw.randint(1, 7)))
    if kind == "moment" and draw.random() < 0.4:
        return draw.randint(-(10**16), 4 * 10**15)
    if kind == "day" and draw.random() < 0.4:
        return dt.date(1970, 1, 1) + dt.timedelta(draw.randint(-40000, 40000))
    return draw.choice(pool)


def drawn_rows(draw: random.Random, count: int) -> pa.Table:
    """Three columns of each kind, called a_, b_, c_."""
    columns = {
        f"{side}_{kind}": pa.array([_values(kind, draw) for _ in range(count)], of)
        for kind, (of, _) in KINDS.items()
        for side in "abc"
    }
    return pa.table({"i": pa.array(range(count), pa.int32()), **columns})


def _literal(value: Any, of: pa.DataType, name: str) -> str:
    if value is None:
        return f"cast(null as {name})"
    if pa.types.is_string(of):
        return f"cast(X'{value.encode().hex()}' as string)"
    if pa.types.is_binary(of):
        return f"X'{value.hex()}'"
    if pa.types.is_date(of):
        return f"date_from_unix_date({(value - dt.date(1970, 1, 1)).days})"
    if pa.types.is_timestamp(of):
        return f"cast(timestamp_micros({value}) as {name})"
    if pa.types.is_list(of):
        listed = ", ".join("cast(null as int)" if v is None else str(v) for v in value)
        return f"cast(array({listed}) as array<int>)"
    return f"cast('{value}' as {name})"


def values_text(rows: pa.Table) -> str:
    """``rows`` as Spark's VALUES."""
    columns = []
    for name in rows.column_names:
        of, spark = (pa.int32(), "int") if name == "i" else KINDS[name[2:]]
        plain = rows[name].cast(pa.int64()) if pa.types.is_timestamp(of) else rows[name]
        columns.append([_literal(v, of, spark) for v in plain.to_pylist()])
    listed = ",\n".join(f"({', '.join(one)})" for one in zip(*columns, strict=True))
    return f"VALUES {listed} AS t({', '.join(rows.column_names)})"


# --- expressions --------------------------------------------------------------------------------------
@frozen
class Case:
    """``name``: of the function or operator; ``text``: the expression; ``exact``: to the last bit."""

    name: str
    text: str
    exact: bool = True


_PATTERNS = ("a", "(a)(b)", "[abc]+", "b$", "^a", "a.b", r"\d+", r"\s", "(a|b)", "x?y", "[^a]", r"a\.b", "a{2}", "ab*",
             r"\w+", r"\p{Lu}", "(?i)a", "a(?=b)", r"(a)\1", ".", r"\bb", "a*", "ß")  # fmt: skip
_TEXT_LITERALS: dict[str, Sequence[Sequence[str]]] = {
    "rlike": (_PATTERNS,), "regexp": (_PATTERNS,), "regexp_like": (_PATTERNS,),
    "regexp_replace": (_PATTERNS, ("$2$1", "x", "", "$1", r"\$", "$0", "[$1]", r"\\", "$9")),
    "trunc": (("year", "MM", "week", "quarter", "day", "mon", "yy"),),
    "date_trunc": (("year", "month", "day", "HOUR", "minute", "second", "week", "quarter", "millisecond", "microsecond", "dd"),),
    "date_format": (("yyyy-MM-dd", "dd/MM/yy", "HH:mm:ss", "EEE", "yyyy'T'HH", "hh a", "MMM d", "SSS", "D", "yyyy-MM-dd HH:mm:ss.SSSSSS", "EEEE", "M/d", "MMMM"),),
    "date_part": (("year", "MONTH", "day", "dow", "doy", "week", "hour", "minute", "quarter", "second"),),
    "datepart": (("year", "hour", "dow"),), "named_struct": (("x",), ("y",), ("z",)),
}  # fmt: skip
# Of a text of two billion characters a test would die; a date is hardly made of large numbers.
_SMALL = ("repeat", "lpad", "rpad", "make_date")
_WHOLE_LITERALS = (0, 1, 2, 3, -1, 256, 5)


def _function_cases(draw: random.Random, each: int) -> Iterator[Case]:
    for name, function in FUNCTIONS.items():
        for signature in function.signatures:
            if signature == "0":
                continue  # the type of array() has no values in Arrow, and the time does not stand still
            seen = set()
            for _ in range(each * (2 if any(c.islower() for c in signature) else 1)):
                text = f"{name}({', '.join(_drawn_arguments(draw, name, signature))})"
                if text not in seen:
                    seen.add(text)
                    yield Case(name, text, function.exact)


def _drawn_arguments(draw: random.Random, name: str, signature: str) -> Iterator[str]:
    letters = signature.rstrip("*")
    if signature.endswith("*"):
        period = 2 if letters == "sX" else 1
        letters += letters[-period:] * draw.randint(0, 2)
    shared = draw.choice(_LETTERS["C"])
    literals = 0
    sides = iter(itertools.cycle("abc"))
    for letter in letters:
        if letter == "s":
            pools = _TEXT_LITERALS.get(name, (("a", "day", ""),))
            value = draw.choice(list(pools[min(literals, len(pools) - 1)]))
            literals += 1
            yield "r'" + value + "'" if "\\" in value else "'" + value.replace("'", "''") + "'"
        elif letter == "i":
            yield str(draw.choice(_WHOLE_LITERALS))
        else:
            kinds = ("tinyint",) if name in _SMALL and letter == "I" else _LETTERS[letter]
            same = letter == "C" and draw.random() < 0.8
            kind = shared if same else kinds[0] if draw.random() < 0.5 else draw.choice(kinds)
            yield f"{next(sides)}_{kind}"


def _cast_cases() -> Iterator[Case]:
    names = dict.fromkeys(spark for _, spark in KINDS.values())
    for kind, name, word in itertools.product(KINDS, names, ("cast", "try_cast")):
        yield Case(word, f"{word}(a_{kind} as {name})")


def _operator_cases(draw: random.Random) -> Iterator[Case]:
    signs = {"IS NOT DISTINCT FROM": "<=>", "IS DISTINCT FROM": "is distinct from"}
    compared = [signs.get(s, s) for s in COMPARISONS.values()]
    for one, other in itertools.product(KINDS, KINDS):
        sign = draw.choice(compared)
        yield Case(sign, f"a_{one} {sign} b_{other}")
    for sign, one, other in itertools.product(ARITHMETIC.values(), NUMBERS, NUMBERS):
        yield Case(sign, f"a_{one} {sign} b_{other}")
    for sign, one, other in itertools.product(BITS.values(), WHOLE, WHOLE):
        yield Case(sign, f"a_{one} {sign} b_{other}")
    for kind in KINDS:
        yield Case("between", f"a_{kind} between b_{kind} and c_{kind}")
        yield Case("in", f"a_{kind} in (b_{kind}, c_{kind})")
        yield Case("case", f"case when a_boolean then a_{kind} else b_{kind} end")
        yield Case("case", f"case a_{kind} when b_{kind} then 1 else 2 end")
        yield Case("is null", f"a_{kind} is not null")
        yield Case("-", f"-a_{kind}")
    for text in (
        "a_text like b_text", "a_text like 'a%'", r"a_text like '%\_%'", "a_text ilike 'A%'", "a_text not like '_b'",
        "a_text like '%!%%' escape '!'", "a_text || b_text", "a_text || a_int", "a_text rlike 'a+'", "trim(both 'a' from a_text)",
        "trim(leading 'a' from a_text)", "substring(a_text from 2 for 2)", "position('b' in a_text)", "a_list[0]", "a_list[a_int]",
        "extract(year from a_day)", "extract(dow from a_moment)", "a_day + 1", "a_day - a_int", "a_day + interval 1 day",
        "a_day - interval 2 month", "a_moment + interval 36 hour", "a_moment - interval 1 year", "a_boolean and b_boolean",
        "a_boolean or b_boolean", "not a_boolean", "a_int <> 0 and 10 / a_int > 1", "a_int = 0 or 10 % a_int = 1", "~a_int",
        "a_boolean is true", "a_boolean is not false", "a_day < '2020-01-01'", "a_int = '5'", "a_moment > '2020-03'", "a_money * 2",
        "a_money + 1.5", "a_float = 0.1", "a_float > 1", "a_double < 2.5", "a_money / 2D", "1.5 + a_double", "a_tinyint + 1Y",
        "2147483647 + a_int", "-2147483648", "a_bigint + 1", "cast(a_money + 1 as string)", "a_int in (1, 2.5)", "'x' || null",
        "if(a_int > 0, a_int, 0)", "a_text in ('a', null)", "a_int between 0 and 2.5", "a_money % 2", "a_double % 1.5", "7 div 2",
        "cast(cast(a_double as string) as double)", "coalesce(null, a_text)", "nullif(a_int, 1)", "X'1F' = a_bytes", "0.5", "1e3",
        *(f"(a_int, a_text) {sign} (b_int, b_text)" for sign in compared),
        "(a_int, a_text) in ((b_int, b_text), (a_int, c_text))", "(a_int, a_text) not in ((1, 'a'), (2, 'b'))",
        "a_money / 7.0", "a_money / 3", "1 / a_money", "a_money / b_money * 100", "a_exact / a_money", "a_day >= date '2020-02-29'",
        "a_day < date '2020-01-31' + interval 1 month", "a_moment < timestamp '2020-01-01 10:00:00.5'", "a_local = '2020-02-30'",
        "a_day <> date '2020-02-30'", "a_int <> 0 and a_text = 'a' and 10 / a_int > 1 and a_int = b_int", "2000000000 + 2000000000",
        "(a_double, a_day) = (b_double, b_day)", r"r'a\\_b'", "size(array())",
    ):  # fmt: skip
        yield Case("text", text)


def all_cases(draw: random.Random, each: int) -> list[Case]:
    """Each function ``each`` times for each of its signatures; each cast; each operator on each pair of types."""
    return [*_function_cases(draw, each), *_cast_cases(), *_operator_cases(draw)]


# --- the three computers ------------------------------------------------------------------------------
ERROR = "an error"


def ours(case: Case, rows: pa.Table, evaluator: Evaluator) -> list[Any] | str:
    """The values, with ERROR where one is an error; or why the expression is refused."""
    try:
        found = parsed(case.text, Scope("t", rows.schema), "value")
        sql = found.sql
    except (ConfigError, SchemaError) as error:
        return str(error)
    seen = together(rows, None, tuple(c.flat for c in found.columns))
    if not found.columns:
        seen = pa.table({"": pa.nulls(rows.num_rows)})
    try:
        return _plain(evaluator.columns(seen, [sql], "value")[0])
    except DataError:
        pass
    values: list[Any] = []
    for n in range(rows.num_rows):
        try:
            values += _plain(evaluator.columns(seen.slice(n, 1), [sql], "value")[0])
        except DataError:
            values.append(ERROR)
    return values


def _plain(column: pa.ChunkedArray) -> list[Any]:
    """The values; dates and times as numbers, as Python's end at the year 9999."""
    t = pa.types
    if t.is_date(column.type):
        return [v if v is None else ("day", v) for v in column.cast(pa.int32()).to_pylist()]
    if t.is_timestamp(column.type):
        zoned = column.type.tz is not None
        return [
            v if v is None else ("moment", zoned, v) for v in column.cast(pa.int64()).to_pylist()
        ]
    if t.is_string(column.type):  # Spark's may be bytes that are no text
        found = column.cast(pa.binary()).to_pylist()
        return [v if v is None else v.decode(errors="surrogateescape") for v in found]
    return list(column.to_pylist())


@define
class Spark:
    """``spark``: a session. ``rows``: what expressions are computed of."""

    spark: Any
    rows: pa.Table
    refused: Counter[str] = field(factory=Counter)

    def values(self, cases: Sequence[Case], ansi: bool) -> list[list[Any]]:
        """Of each case the value of each row, or ERROR."""
        self.spark.conf.set("spark.sql.ansi.enabled", str(ansi).lower())
        self.spark.conf.set("spark.sql.session.timeZone", "UTC")
        self.spark.sql(f"SELECT * FROM {values_text(self.rows)}").createOrReplaceTempView("drawn")
        made: list[list[Any]] = []
        for n in range(0, len(cases), 60):
            made += self._some(cases[n : n + 60])
        return made

    def _some(self, cases: Sequence[Case]) -> list[list[Any]]:
        known = self._known(cases)
        asked = [case for case, is_known in zip(cases, known) if is_known]
        failed = self._failed(asked)
        listed = []
        for n, case in enumerate(asked):
            bad = ", ".join(str(i) for i in sorted(failed[n]))
            text = f"CASE WHEN i NOT IN ({bad}) THEN {case.text} END" if bad else case.text
            listed.append(f"{text} AS c{n}")
        answers = {}
        if asked:
            table = (
                self.spark.sql(f"SELECT i, {', '.join(listed)} FROM drawn").toArrow().sort_by("i")
            )
            for n in range(len(asked)):
                column = _plain(table[f"c{n}"])
                answers[n] = [ERROR if i in failed[n] else v for i, v in enumerate(column)]
        numbers = iter(range(len(asked)))
        return [
            answers[next(numbers)] if is_known else [ERROR] * self.rows.num_rows
            for is_known in known
        ]

    def _known(self, cases: Sequence[Case]) -> list[bool]:
        """Which of the expressions Spark takes at all: by halves, as most are."""
        from pyspark.errors import AnalysisException, ParseException

        try:
            self.spark.sql(f"SELECT {', '.join(case.text for case in cases)} FROM drawn")
        except (AnalysisException, ParseException):
            if len(cases) == 1:
                self.refused[cases[0].name] += 1
                return [False]
            half = len(cases) // 2
            return self._known(cases[:half]) + self._known(cases[half:])
        return [True] * len(cases)

    def _failed(self, cases: Sequence[Case]) -> list[set[int]]:
        """The rows of which each of ``cases`` is an error, as Spark's own expressions say one by one."""
        from py4j.protocol import Py4JJavaError
        from pyspark.errors import PySparkException

        if not cases:
            return []
        jvm = self.spark._jvm
        frame = self.spark.sql(f"SELECT {', '.join(c.text for c in cases)} FROM drawn")
        plan = frame._jdf.queryExecution().analyzed()
        replace = getattr(jvm, "org.apache.spark.sql.catalyst.optimizer.ReplaceExpressions$")
        plan = getattr(replace, "MODULE$").apply(plan)
        base = self.spark.table("drawn")._jdf.queryExecution().optimizedPlan()
        data = base.data()
        rows = [data.apply(n) for n in range(data.size())]
        bind = getattr(jvm, "org.apache.spark.sql.catalyst.expressions.BindReferences$")
        bind = getattr(bind, "MODULE$")
        projected = plan.projectList()
        child = plan.child().output()
        sequence = getattr(
            getattr(jvm, "org.apache.spark.sql.catalyst.expressions.package$"), "MODULE$"
        ).AttributeSeq(child)
        failed: list[set[int]] = []
        for n in range(projected.size()):
            bound = bind.bindReference(projected.apply(n).child(), sequence, False)
            bad = set()
            for i, row in enumerate(rows):
                try:
                    bound.eval(row)
                except (Py4JJavaError, PySparkException) as error:
                    if "INTERNAL_ERROR" in str(error):
                        bad = self._failed_queries(cases[n])
                        break
                    bad.add(i)
            failed.append(bad)
        return failed

    def _failed_queries(self, case: Case) -> set[int]:
        """The same by queries, of expressions that the optimizer has to rewrite first."""
        from pyspark.errors import PySparkException

        def fails(where: str) -> bool:
            try:
                self.spark.sql(f"SELECT {case.text} FROM drawn {where}").collect()
            except PySparkException:
                return True
            return False

        if not fails(""):
            return set()
        return {i for i in range(self.rows.num_rows) if fails(f"WHERE i = {i}")}


# --- the verdict --------------------------------------------------------------------------------------
@define
class Verdict:
    """Numbers of values: equal, an error in both, refused of a row; of expressions that are refused; and the faults."""

    equal: int = 0
    errors: int = 0
    refused_rows: int = 0
    refused: list[tuple[Case, str]] = field(factory=list)
    faults: list[str] = field(factory=list)
    proven: Counter[str] = field(factory=Counter)
    values: Counter[str] = field(factory=Counter)
    # Values that Spark without ANSI has otherwise, by function.
    otherwise: dict[str, int] = field(factory=lambda: defaultdict(int))

    @property
    def report(self) -> str:
        return (
            f"{self.equal} values equal, {self.errors} errors in both, {self.refused_rows} values refused, "
            f"{len(self.refused)} expressions refused, {len(self.faults)} faults; without ANSI otherwise: "
            f"{sum(self.otherwise.values())} values of {len(self.otherwise)} functions"
        )


def judged(spark: Any, cases: Iterable[Case], rows: pa.Table, plain: bool = True) -> Verdict:
    """Of all ``cases``. ``plain``: also beside Spark without ANSI."""
    verdict, evaluator = Verdict(), Evaluator()
    taken: list[tuple[Case, list[Any]]] = []
    for case in cases:
        found = ours(case, rows, evaluator)
        if isinstance(found, str):
            verdict.refused.append((case, found))
        else:
            taken.append((case, found))
    real = Spark(spark, rows)
    theirs = real.values([case for case, _ in taken], ansi=True)
    lax = real.values([case for case, _ in taken], ansi=False) if plain else theirs
    spark.conf.set("spark.sql.ansi.enabled", "true")
    for (case, mine), strict, loose in zip(taken, theirs, lax, strict=True):
        for n, (a, b, c) in enumerate(zip(mine, strict, loose, strict=True)):
            verdict.values[case.name] += 1
            if a is ERROR:
                verdict.errors += b is ERROR
                verdict.refused_rows += b is not ERROR
            elif b is not ERROR and same(a, b, case):
                verdict.equal += 1
                verdict.proven[case.name] += a is not None
                if c is ERROR or not same(a, c, case):
                    verdict.otherwise[case.name] += 1
            else:
                values = {name: rows[name][n].as_py() for name in rows.column_names if name in case.text}  # fmt: skip
                verdict.faults.append(f"{case.text} of {values}: {a!r}, and Spark: {b!r}")
    return verdict


def same(a: Any, b: Any, case: Case) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        if math.isnan(a) or math.isnan(b):
            return math.isnan(a) and math.isnan(b)
        if a == b:
            return math.copysign(1, a) == math.copysign(1, b)
        return not case.exact and abs(a - b) <= 2 * math.ulp(max(abs(a), abs(b)))
    if isinstance(a, str) and isinstance(b, str) and a != b:
        # Before version 19 Java writes more digits of some numbers than it has to.
        return "double" in case.text + "float" and len(b) > len(a) and _as_number(a) == _as_number(b) is not None  # fmt: skip
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(same(x, y, case) for x, y in zip(a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[k], b[k], case) for k in a)
    return type(a) is type(b) and bool(a == b)


def _as_number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
