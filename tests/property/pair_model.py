"""The dictionary of a pairwise history: :class:`table_model.Model`, with partial updates and the other keys and paths.

Rows come so that no table type and no service may make a difference: a key that is not there gets the highest
ordering value so far, so that what a log file still knows of it never comes back.
"""

from __future__ import annotations

import datetime as dt

import pair_space as space
from attrs import evolve, field, frozen
from pair_cover import Config
from table_model import Model, Row, Setup, Stored, Values, _text


@frozen
class PairSetup(Setup):
    config: Config = field(factory=dict)
    stays: bool = False  # `update.partition.path` as the table has it

    @classmethod
    def of(cls, config: Config) -> PairSetup:
        virtual = {space.RFC: "rfc", space.HUDI: "hudi"}.get(config["record keys"], "")
        setup = cls(
            version=int(config["version"]),
            key=space.key_columns(config),
            partition=space.partition_columns(config),
            event_time=config["merger"] == "event_time"
            or (config["merger"] == "partial" and config["ordering"] != space.NONE),
            ordering=space.ordering_columns(config),
            hive="hive" in config["paths"],
            url="encoded" in config["paths"],
            merge_on_read=config["type"] == space.MERGE,
            virtual=virtual,
            metadata="" if config["metadata table"] in (space.DEFAULT, space.OFF) else "files",
            config=config,
        )
        return setup.indexed(config["index"])

    def indexed(self, index: str) -> PairSetup:
        """With another index; whether keys move follows from it."""
        said = self.config["update.partition.path"]
        records = index.endswith("record_index")
        moves = said == "true" if records else said != "false"
        return evolve(self, index=index, moves=moves)

    @property
    def made(self) -> bool:
        return not self.key

    @property
    def partial(self) -> bool:
        return self.config["merger"] == "partial"

    @property
    def shown_meta(self) -> tuple[str, ...] | None:
        return Setup.shown_meta.fget(self)  # type: ignore[attr-defined]

    def record_key(self, values: Values) -> str:
        if self.made:
            return str(values["k"])
        if self.config["key columns"] == space.JOINED:
            return "|".join(_text(values[name]) for name in self.key)
        if self.config["partitions"] == space.CUSTOM and len(self.key) == 1:
            return _text(values[self.key[0]])
        if space.generator(self.config) == "COMPLEX" and len(self.key) == 1:
            text = _text(values[self.key[0]])
            return f"{self.key[0]}:{text}"
        return Setup.record_key(self, values)

    def partition_path(self, values: Values) -> str:
        if "at" in values and "at" in self.partition:
            day = dt.datetime.fromtimestamp(values["at"], dt.timezone.utc).date()
            values = {**values, "at": day}
        return Setup.partition_path(self, values)


class PairModel(Model):
    """``given``: the columns of the data that is being written, where rows may be partial."""

    setup: PairSetup
    given: frozenset[str] | None = None

    def _put(self, row: Row, path: str, key: str, instant: str) -> None:
        values = row.values
        if self.setup.partial and self.given is not None:
            lying = self.find(path, key)
            if lying is not None:
                values = {n: v if n in self.given else lying.values[n] for n, v in values.items()}
        self.rows[path, key] = Stored(values, row.rank, path, key, instant)

    def copy(self) -> PairModel:
        return PairModel(self.setup, dict(self.rows))
