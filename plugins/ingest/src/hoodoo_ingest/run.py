"""The rounds of an ingestion: read a portion, write it in one commit with its checkpoint."""

from __future__ import annotations

import hashlib
import json
import os
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

import hoodoo
import pyarrow as pa
from attrs import define, field, frozen
from hoodoo.errors import (
    CommitConflictError,
    ConfigError,
    DataError,
    HoodooError,
    NotATableError,
    PluginError,
    TableExistsError,
)
from hoodoo.hookspecs.creation import NewTable
from hoodoo.kernel.events import action_events
from hoodoo.kernel.registry import kernel
from hoodoo.log import get_logger
from hoodoo.model.schema.avro import arrow_schema
from hoodoo.storage.uri import local_path
from hoodoo.table.table import Table
from hoodoo_cli.toolkit.places import is_local, located, missing
from hoodoo_cli.toolkit.written_files import write_rows
from hoodoo_rows.api import Commit

from hoodoo_ingest.checkpoint import Checkpoint, batch, newest_checkpoint, notes
from hoodoo_ingest.config import ASIDE, Config, read_config
from hoodoo_ingest.hookspecs.source import Around, Arrived, Portion, Position, Reading

_log = get_logger(__name__)
_FIELDS = {
    "record_key": "record_key_fields",
    "partition_by": "partition_fields",
    "ordering": "ordering_fields",
}


@frozen
class Round:
    """What a round did. ``number`` counts the rounds of the table, ``count`` the files or messages
    (``what``) that were read. ``bad_rows`` were set aside, in the file ``bad_file``."""

    number: int
    commit: Commit
    what: str
    count: int
    position: str
    seconds: float
    size: int | None = None
    bad_rows: int = 0
    bad_file: str = ""


def ingest(
    config: str | os.PathLike[str] | Mapping[str, Any], *, once: bool = False
) -> Iterator[Round]:
    """Feed a table from a source, as ``config`` says: the name of a TOML file, or a mapping of its
    sections. Returns an iterator: each step reads what is new, and writes it in one commit, which
    has the checkpoint, too. It ends when nothing is new, unless the configuration says
    ``continuous``. With ``once`` there is one round at most.

    Repeat the call to continue, also after a crash: each file or message takes effect once.

    Raises ConfigError for a wrong configuration; DataError for rows that can't be read, unless
    they are set aside; and what the write raises."""
    return Ingestion(read_config(config)).rounds(once=once)


@define
class Ingestion:
    """The ingestion that ``config`` describes. ``stop`` ends it after the round that is running."""

    config: Config
    stopped: threading.Event = field(factory=threading.Event)
    memory: dict[str, Any] = field(factory=dict)  # of the source
    skipped: Position | None = None  # before there is a table

    # --- what comes -------------------------------------------------------------------------------
    def next(self) -> tuple[Table | None, Checkpoint, Portion | None]:
        """The table if it is there, how far it was fed, and what a round would read. Changes
        nothing."""
        table = self._table()
        checkpoint = Checkpoint()
        if table is not None:
            name = self.config.run["name"]
            checkpoint = newest_checkpoint(table, name, self.config.kind)
        after = checkpoint.position or self.skipped
        return table, checkpoint, self._opened(table).next(after)

    def _table(self) -> Table | None:
        try:
            table = hoodoo.open(self.config.path, options=self.config.options)
        except NotATableError:
            return None
        self._check(table)
        return table

    def _check(self, table: Table) -> None:
        """What the configuration says of a new table must be true of the one that is there."""
        config = table.config
        for key, fields in _FIELDS.items():
            given, has = self.config.sections["table"][key], list(getattr(config, fields))
            if given is not None and given != has and self._made(table, key) != has:
                raise ConfigError(
                    f"{key} = {self.config.written['table'][key]} in section [table] of "
                    f"{self.config.where}",
                    f"is not so: table {config.name} has {has}.",
                    "Correct it, or leave it out: a table keeps what it was created with.",
                )

    def _made(self, table: Table, key: str) -> list[str]:
        """The columns that create makes of what is given for ``key``; none if it refuses it. A
        column may have a type (``day:TIMESTAMP``), and Debezium's payloads have columns of their
        own."""
        config, fields = table.config, _FIELDS[key]
        wanted = NewTable(
            self.config.path,
            table.schema,
            self.config.options,
            table_version=config.version,
            **{
                "record_key": config.record_key_fields,
                "partition_by": config.partition_fields,
                key: self.config.sections["table"][key],
            },
        )
        with suppress(HoodooError):
            for _plugin, hook in kernel().implementations("hoodoo_new_table"):
                if (made := hook.function(wanted)) is not None:
                    return list(getattr(made, fields))
        return []

    def _opened(self, table: Table | None) -> Reading:
        """The source; the schema may be another one in each round."""
        config = self.config
        errors = config.sections["errors"]
        plain = table is not None and config.sections["transform"]["sql"] is None
        around = Around(
            schema=self._schema(),
            types=table.schema if table is not None and plain else None,
            options=config.options,
            bad_rows=errors["limit"] if errors["bad_rows"] == ASIDE else 0,
            spark=self._spark,
            memory=self.memory,
            keys=self._keys(table) if errors["bad_rows"] == ASIDE else (),
            outputs=tuple(
                p for p in (config.sections["table"]["path"], errors["folder"]) if p is not None
            ),
        )
        return config.plugin.open(config.source, around)

    def _keys(self, table: Table | None) -> tuple[str, ...]:
        """The record key of what the source reads; none where a transform makes it."""
        if self.config.sections["transform"]["sql"] is not None:
            return ()
        given = self.config.sections["table"]["record_key"] or ()
        return tuple(given) if table is None else table.config.record_key_fields

    def _schema(self) -> pa.Schema | None:
        file = self.config.sections["schema"]["file"]
        if file is None:
            return None
        storage, name = located(file, self.config.options)
        try:
            return arrow_schema(storage.get(name), f"schema {file}")
        except (FileNotFoundError, IsADirectoryError):
            raise missing(file) from None

    def _spark(self) -> Any:
        try:
            from pyspark.sql import SparkSession
        except ImportError as error:
            raise PluginError(
                f"source {self.config.kind}",
                "needs PySpark, which is not installed.",
                "Install it: pip install 'hoodoo[spark]'.",
            ) from error
        builder = SparkSession.builder
        for key, value in self.config.spark.items():
            builder = builder.config(key, value)
        return builder.getOrCreate()

    # --- rounds -----------------------------------------------------------------------------------
    def stop(self) -> None:
        """End after the round that is running."""
        self.stopped.set()

    def rounds(self, once: bool = False) -> Iterator[Round]:
        """What :func:`ingest` returns."""
        run = self.config.run
        left = 1 if once else run["rounds"]
        while not self.stopped.is_set() and left != 0:
            began = time.monotonic()
            done, more = self.round()
            if done is not None:
                left = None if left is None else left - 1
                yield done
            if more:
                continue
            if once or not run["continuous"]:
                return
            self.stopped.wait(max(0.0, began + run["every"] - time.monotonic()))

    def round(self) -> tuple[Round | None, bool]:
        """Read and write one portion; and whether another one may be there already. Nothing, if
        nothing is new; the timeline is then as before."""
        for attempt in range(self.config.run["retries"] + 1):
            table, checkpoint, portion = self.next()
            if portion is None:
                return None, False
            try:
                done = self._write(table, checkpoint, portion)
                return done, portion.more or self.config.run["continuous"] is False
            except CommitConflictError as error:
                if attempt == self.config.run["retries"]:
                    raise
                _log.info("round_repeated", table=self.config.path, error=str(error))
        raise AssertionError("not reached")

    def _write(self, table: Table | None, known: Checkpoint, portion: Portion) -> Round | None:
        began = time.monotonic()
        number = known.round + 1
        name, place = self._named(table)
        with (
            action_events("ingest", name, place, end="done", round=number) as events,
            _read(portion) as arrived,
        ):
            bad = self._bad_rows(arrived, portion, number)
            if table is None and _is_nothing(arrived.rows) and not bad[0]:
                # No columns for a new table, and no commit that could say how far this was.
                self.skipped = portion.upto
                events.skip()
                return None
            rows = self._transformed(arrived.rows, table)
            commit = self._commit(table or self._created(rows), rows, number, portion)
            if not commit.instant:
                # Another process of this ingestion was faster: the next round sees its commit.
                events.skip()
                _log.info("round_skipped", table=self.config.path, round=number)
                return None
            events.report(commit.figures, instant=commit.instant)
            events.report(read=portion.count, bad_rows=bad[0])
        _log.info("round_done", table=self.config.path, round=number, instant=commit.instant)
        return Round(
            number,
            commit,
            portion.what,
            portion.count,
            portion.upto.hudi,
            time.monotonic() - began,
            portion.size,
            *bad,
        )

    def _named(self, table: Table | None) -> tuple[str, str]:
        """Name and place of the table, for events."""
        if table is not None:
            return table.config.name, table.handle.storage.root
        given = self.config.sections["table"]["name"]
        return given or self.config.path.rstrip("/").rpartition("/")[2], self.config.path

    def _commit(self, table: Table, rows: Any, number: int, portion: Portion) -> Commit:
        run = self.config.run
        said = notes(table, run["name"], self.config.kind, number, portion.upto)
        how: dict[str, Any] = {"batch": batch(run["name"], number, said)}
        if self.config.engine is not None:
            how["engine"] = self.config.engine
        if run["add_columns"] and run["operation"] != "delete":
            how["add_columns"] = True
        done: Commit = getattr(table, run["operation"])(rows, **how)
        return done

    def _transformed(self, rows: Any, table: Table | None) -> Any:
        """The rows as the table gets them."""
        if _is_nothing(rows):  # all were bad
            if table is None:
                raise DataError(
                    f"source of {self.config.where}",
                    "has no row that can be read, so that the columns of the new table are not "
                    "known.",
                    "Correct the source, or create the table first.",
                )
            return table.schema.empty_table()
        sql = self.config.sections["transform"]["sql"]
        if sql is None:
            return rows
        if getattr(hoodoo, "sql", None) is None:
            raise PluginError(
                f"section [transform] of {self.config.where}",
                "needs hoodoo-statements, which is not installed.",
                "Install it: pip install 'hoodoo-statements[sql]'.",
            )
        spark = self._spark() if self.config.engine == "spark" else None
        return hoodoo.sql(sql, {"source": rows}, spark=spark)

    def _created(self, rows: Any) -> Table:
        """The new table. A writer that creates it at the same time may be faster."""
        given = self.config.sections["table"]
        if given["record_key"] is None:
            raise ConfigError(
                f"table {self.config.path}",
                "is not there.",
                "Give record_key in section [table]: the columns that identify a row.",
            )
        named = {"type": "table_type", "version": "table_version"}
        keys = ("name", "record_key", "partition_by", "ordering", "type", "version", "index")
        how = {named.get(k, k): given[k] for k in keys if given[k] is not None}
        try:
            return hoodoo.create(self.config.path, rows.schema, options=self.config.options, **how)
        except TableExistsError:
            return hoodoo.open(self.config.path, options=self.config.options)

    # --- bad rows ---------------------------------------------------------------------------------
    def _bad_rows(self, arrived: Arrived, portion: Portion, number: int) -> tuple[int, str]:
        """How many there are, and the file that they were written to. DataError if there may be
        none, or not so many."""
        bad, errors = arrived.bad, self.config.sections["errors"]
        if bad is None or not bad.num_rows:
            return 0, ""
        first = bad.slice(0, 1).to_pylist()[0]
        if errors["bad_rows"] != ASIDE:
            row = "" if first["row"] is None else f" {first['row'][:100]!r}"
            raise DataError(
                f"row{row} of {first['place']}" if row else f"file {first['place']}",
                f"can't be read: {first['error']}",
                'Correct it; or give bad_rows = "aside" and a folder in section [errors].',
            )
        if bad.num_rows > errors["limit"]:
            raise DataError(
                f"round {number} of {self.config.where}",
                f"has more than {errors['limit']} rows that can't be read. {first['place']}: "
                f"{first['error']}",
                "Correct the schema or the source, or raise limit in section [errors].",
            )
        return bad.num_rows, self._set_aside(bad, portion, number)

    def _set_aside(self, bad: pa.Table, portion: Portion, number: int) -> str:
        """The file is there before the commit. A round that is repeated writes it again, so that
        its rows are there once, unless another process has read more meanwhile."""
        position = json.dumps([portion.upto.own, portion.upto.hudi]).encode()
        mark = hashlib.blake2b(position, digest_size=6).hexdigest()
        folder = self.config.sections["errors"]["folder"].rstrip("/")
        path = f"{folder}/{self.config.run['name'].replace('/', '-')}-{number}-{mark}.jsonl"
        if is_local(folder):
            os.makedirs(local_path(folder), exist_ok=True)
        write_rows(path, bad.schema, bad.to_batches(), self.config.options, overwrite=True)
        return path


def _is_nothing(rows: Any) -> bool:
    return isinstance(rows, pa.Table) and not rows.num_columns


@contextmanager
def _read(portion: Portion) -> Iterator[Arrived]:
    arrived = portion.read()
    try:
        yield arrived
    finally:
        if arrived.close is not None:
            arrived.close()
