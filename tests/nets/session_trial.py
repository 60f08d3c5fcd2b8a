"""Random statements of a session beside the same text on tables of DuckDB.

The grammar has what both mean alike: no division, no order of nulls, numbers whose sums are exact. So the text needs no
translation for DuckDB, and none of hoodoo's own parts computes what is expected.

    python tests/nets/session_trial.py 0 1000

runs the trials of the numbers from 0 to 999, 25 steps each, and prints how many statements agreed, and the statements
of each trial that did not."""

from __future__ import annotations

import random
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import duckdb
import hoodoo

_CITIES = ("oslo", "rome", "kyiv", "it's", "")
_COLUMNS = {"id": "bigint", "city": "string", "n": "int", "x": "double", "ok": "boolean"}


class SessionTrial:
    """Three tables: ``a`` and ``b`` of Hudi, of a type that is drawn, and rows ``c``."""

    def __init__(self, seed: int, home: Path) -> None:
        self.rng = random.Random(f"session {seed}")
        self.duck = duckdb.connect()
        self.texts: list[str] = []
        tables: dict[str, Any] = {}
        for name in "abc":
            rows = [self.row(i) for i in range(self.rng.randrange(12))]
            self.duck.execute(
                f"CREATE TABLE {name} (id BIGINT, city VARCHAR, n INTEGER, x DOUBLE, ok BOOLEAN)"
            )
            for row in rows:
                self.duck.execute(f"INSERT INTO {name} VALUES (?, ?, ?, ?, ?)", list(row.values()))
            if name == "c":
                tables[name] = self.duck.sql("SELECT * FROM c").to_arrow_table()
                continue
            made = hoodoo.create(
                home / name,
                _COLUMNS,
                record_key="id",
                table_type=self.rng.choice(("cow", "mor")),
                partition_by=self.rng.choice(((), "city")) if name == "a" else (),
                options={"hoodie.metadata.enable": self.rng.choice(("true", "false"))},
            )
            if rows:
                made.insert(rows)
            tables[name] = made
        self.session = hoodoo.session(tables=tables)

    def row(self, key: int) -> dict[str, Any]:
        draw = self.rng
        return {
            "id": key,
            "city": draw.choice(_CITIES),
            "n": draw.choice((None, 0, 1, 2, -3, 7)),
            "x": draw.choice((None, 0.0, 0.25, -1.5, 8.0)),
            "ok": draw.choice((None, True, False)),
        }

    # --- the grammar ------------------------------------------------------------------------------
    def number(self, of: str, depth: int = 2) -> str:
        draw = self.rng
        if depth == 0 or draw.random() < 0.4:
            return draw.choice((f"{of}.id", f"{of}.n", f"{of}.n", "1", "-2", "5"))
        inner = [self.number(of, depth - 1) for _ in range(2)]
        return draw.choice(
            (
                f"({inner[0]} + {inner[1]})",
                f"({inner[0]} - {inner[1]})",
                f"coalesce({inner[0]}, {inner[1]})",
                f"abs({inner[0]})",
                f"length({of}.city)",
                f"(CASE WHEN {self.truth(of, 0)} THEN {inner[0]} ELSE {inner[1]} END)",
            )
        )

    def text(self, of: str) -> str:
        word = self.rng.choice(_CITIES).replace("'", "''")
        return self.rng.choice(
            (
                f"{of}.city",
                f"upper({of}.city)",
                f"{of}.city || 'x'",
                f"'{word}'",
                f"coalesce({of}.city, 'none')",
            )
        )

    def truth(self, of: str, depth: int = 2) -> str:
        draw = self.rng
        if depth == 0 or draw.random() < 0.4:
            sign = draw.choice(("=", "<>", "<", "<=", ">", ">="))
            return draw.choice(
                (
                    f"{self.number(of, 0)} {sign} {self.number(of, 0)}",
                    f"{of}.x {sign} 0.25",
                    f"{self.text(of)} {sign} {self.text(of)}",
                    f"{of}.{draw.choice(list(_COLUMNS))} IS {draw.choice(('', 'NOT '))}NULL",
                    f"{of}.ok",
                    f"{of}.city LIKE '{draw.choice(('o%', '%o%', '_o__', 'it%'))}'",
                    f"{of}.n IN (0, 1, {draw.randrange(9)})",
                    f"{of}.id BETWEEN 2 AND {draw.randrange(12)}",
                )
            )
        inner = [self.truth(of, depth - 1) for _ in range(2)]
        return draw.choice(
            (
                f"({inner[0]} AND {inner[1]})",
                f"({inner[0]} OR {inner[1]})",
                f"(NOT {inner[0]})",
                *inner,
            )
        )

    def rows(self, depth: int = 2) -> str:
        """A query with the columns k (a number), t (a text) and s (a number), k unique of some."""
        draw, name = self.rng, self.rng.choice("abc")
        if depth == 0:
            return f"SELECT id AS k, city AS t, n AS s FROM {name} WHERE {self.truth(name, 1)}"
        other = draw.choice("abc")
        on = draw.choice(("p.id = q.id", "p.city = q.city AND p.id < q.id", "p.n = q.n"))
        join = draw.choice(("JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"))
        one = f"SELECT {self.number('p')} AS k, {self.text('q')} AS t, {self.number('q')} AS s"
        one = f"{one} FROM {name} p {join} {other} q ON {on} WHERE {self.truth('p')}"
        inner = self.rows(depth - 1)
        return draw.choice(
            (
                one,
                f"SELECT count(*) AS k, {name}.city AS t, sum({self.number(name)}) AS s FROM {name} "
                f"GROUP BY {name}.city HAVING max({name}.id) > 2",
                f"SELECT DISTINCT i.k, i.t, max(i.s) AS s FROM ({inner}) i GROUP BY i.k, i.t",
                f"WITH i AS ({inner}) SELECT i.k, {other}.city AS t, i.s FROM i JOIN {other} ON i.k = {other}.id",
                f"SELECT id AS k, city AS t, n AS s FROM {name} WHERE id IN (SELECT i.k FROM ({inner}) i)",
                f"SELECT id AS k, city AS t, (SELECT max(i.s) FROM ({inner}) i) AS s FROM {name}",
                f"SELECT p.id AS k, p.city AS t, p.n AS s FROM {name} p WHERE {draw.choice(('', 'NOT '))}EXISTS "
                f"(SELECT 1 FROM {other} q WHERE q.id = p.n AND {self.truth('q', 1)})",
                f"({inner}) UNION {draw.choice(('', 'ALL '))}({self.rows(0)})",
                f"SELECT k, t, row_number() OVER (PARTITION BY t ORDER BY k) AS s FROM ({self.rows(0)}) i",
            )
        )

    def change(self) -> str:
        draw, name = self.rng, self.rng.choice("ab")
        values = ["(" + ", ".join(map(_literal, self.row(draw.randrange(20, 99)).values())) + ")"]
        keys = "SELECT k, max(t) AS t, max(s) AS s FROM ({}) i WHERE k IS NOT NULL GROUP BY k"
        source, other, also = keys.format(self.rows(1)), draw.choice("abc"), self.rows(1)
        free = self.duck.execute(f"SELECT 1 + coalesce(max(id), 0) FROM {name}").fetchone()[0]
        fresh = f"{free} + row_number() OVER (ORDER BY k)"
        of_row = f"q.id = {name}.{draw.choice(('id', 'n'))}"
        what = draw.choice(("max(q.n)", "min(q.n) - 1", "count(*)", "count(q.x)", "sum(q.n)"))
        return draw.choice(
            (
                f"INSERT INTO {name} (id, city, n) SELECT {fresh}, coalesce(t, 'none'), 3 FROM ({source}) i "
                "ORDER BY k LIMIT 5",
                f"INSERT OVERWRITE b SELECT id, city, n + 1, x, ok FROM b WHERE {self.truth('b', 1)}",
                f"DELETE FROM {name} WHERE id {draw.choice(('', 'NOT '))}IN (SELECT k FROM ({source}) i)",
                f"DELETE FROM {name} WHERE n IN (SELECT i.s FROM ({also}) i) AND {self.truth(name, 1)}",
                f"DELETE FROM {name} WHERE {draw.choice(('', 'NOT '))}EXISTS (SELECT 1 FROM {other} q "
                f"WHERE {of_row} AND {self.truth('q', 1)}) AND {self.truth(name, 1)}",
                f"UPDATE {name} SET n = (SELECT {what} FROM {other} q WHERE {of_row}) WHERE {self.truth(name, 1)}",
                f"UPDATE {name} SET n = (SELECT {what} FROM {other} q), ok = NOT ok WHERE {self.truth(name, 1)}",
                f"UPDATE {name} SET x = 4.5, city = coalesce((SELECT max(i.t) FROM ({also}) i WHERE i.k = "
                f"{name}.id), 'none') WHERE id IN (SELECT k FROM ({source}) i)",
                f"MERGE INTO {name} AS m USING {other} AS s ON m.id = s.id WHEN MATCHED AND s.ok THEN UPDATE SET "
                f"n = s.n, x = s.x WHEN NOT MATCHED AND {self.truth('s', 1)} THEN INSERT (id, city, n) "
                "VALUES (s.id, s.city, s.n) WHEN NOT MATCHED BY SOURCE AND m.n > 1 THEN "
                + draw.choice(("DELETE", "UPDATE SET n = m.n - 1")),
                f"INSERT INTO {name} VALUES {values[0]}",
                f"DELETE FROM {name} WHERE {self.truth(name, 1)} AND id % 3 = 0",
                f"UPDATE {name} SET n = {draw.choice(('n + 1', 'length(city)', 'NULL', '4'))} WHERE {self.truth(name)}",
                f"UPDATE {name} SET city = 'bonn', ok = NOT ok WHERE {self.truth(name, 1)}",
                f"MERGE INTO {name} AS m USING ({source}) AS s ON m.id = s.k WHEN MATCHED AND s.s > 1 THEN DELETE "
                "WHEN MATCHED THEN UPDATE SET x = 2.5 WHEN NOT MATCHED THEN INSERT (id, city, n) VALUES (s.k, 'new', 1)",
            )
        )

    # --- what has to agree ------------------------------------------------------------------------
    def run(self, steps: int) -> int:
        """The number of statements that agreed."""
        for _ in range(steps):
            if self.rng.random() < 0.25:
                text = self.change()
                self.texts.append(text)
                if " VALUES " in text and text.startswith("INSERT") and self._has(text):
                    continue  # Hudi has a key once
                for one in _of_duckdb(text):
                    self.duck.execute(one)
                self.session.sql(text)
            else:
                self.same(self.rows())
        for name in "abc":
            self.same(f"SELECT * FROM {name}")
        return len(self.texts)

    def same(self, text: str) -> None:
        self.texts.append(text)
        expected = self.duck.execute(text).fetchall()
        found = [tuple(row.values()) for row in self.session.sql(text).to_pylist()]
        assert _sorted(found) == _sorted(expected), "\n".join(self.texts)

    def _has(self, text: str) -> bool:
        name, key = text.split()[2], text.partition("(")[2].partition(",")[0]
        return bool(self.duck.execute(f"SELECT 1 FROM {name} WHERE id = {key}").fetchall())


def _of_duckdb(text: str) -> list[str]:
    """DuckDB has no INSERT OVERWRITE."""
    if not text.startswith("INSERT OVERWRITE b "):
        return [text]
    query = text.removeprefix("INSERT OVERWRITE b ")
    return [
        f"CREATE OR REPLACE TEMP TABLE kept AS {query}",
        "DELETE FROM b",
        "INSERT INTO b FROM kept",
    ]


def _literal(value: Any) -> str:
    if isinstance(value, str):
        return "'{}'".format(value.replace("'", "''"))
    return "NULL" if value is None else f"{value!r}".upper()


def _sorted(rows: list[Any]) -> list[Any]:
    return sorted(rows, key=repr)


def main(first: int, last: int, steps: int = 25) -> int:
    """The number of trials that found a difference, or an error."""
    began, agreed, bad = time.monotonic(), 0, 0
    for number in range(first, last):
        with tempfile.TemporaryDirectory(prefix="hoodoo-net-") as home:
            trial = SessionTrial(number, Path(home))
            try:
                agreed += trial.run(steps)
            except Exception as error:
                bad += 1
                texts = "\n".join(trial.texts)
                print(f"number {number}: {type(error).__name__}: {error}\n{texts}\n", flush=True)
        if (number + 1 - first) % 50 == 0 or number + 1 == last:
            done, taken = number + 1 - first, time.monotonic() - began
            print(
                f"numbers {first} to {number}: {done} trials, {agreed:,} statements agreed, {bad} differences, "
                f"{taken:.0f} s",
                flush=True,
            )
    return bad


if __name__ == "__main__":
    sys.exit(bool(main(int(sys.argv[1]), int(sys.argv[2]))))
