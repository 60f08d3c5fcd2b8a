"""The order of the steps: a repeated call goes on after a crash at any of them.

What is erased is noted first. The rows are deleted, log files compacted, and all older files
cleaned. Then the metadata table is built again, which leaves none of its old files. The proof comes
before the note goes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
from attrs import define, field
from hoodoo.errors import CallError, CommitConflictError, ConfigError, UnsupportedTableError
from hoodoo.kernel.log_files import log_files
from hoodoo.kernel.registry import kernel
from hoodoo.kernel.resolve import in_role
from hoodoo.model.meta import RECORD_KEY
from hoodoo.storage.api import Entry
from hoodoo.table.handle import TableHandle
from hoodoo.table.opened import installed_action
from hoodoo.table.running import rollback
from hoodoo.timeline import ledger
from hoodoo.timeline.names import parse_path
from hoodoo.timeline.plans import is_clustering, pending_compactions
from hoodoo.timeline.snapshot import Snapshot
from hoodoo.timeline.view import list_data as listed_files
from hoodoo_rows.api import ArrivingRows, Reads, Writes

from hoodoo_erasure import pending, proof
from hoodoo_erasure.contents import Decoding
from hoodoo_erasure.outcome import Erased
from hoodoo_erasure.sought import Sought

_BOOTSTRAP = "hoodie.bootstrap.base.path"
_METADATA = ".hoodie/metadata"
_OWN_METADATA = "hoodoo.metadata.partitions"
_TAG = "hoodoo.tag."  # with the name of a state behind it (hoodoo-copies)
# The role of actions that delete what a plugin has stored of older states beside the table's files.
FORGETS = "forgets"
_HOME = ".hoodie/.hoodoo"
# What Hoodoo's own distributions keep there; others say it by `stored_in` of their action. A doctor
# that was killed leaves an empty file.
_KNOWN = ("ledger", "replaced", "locks", "erasures", "backup")
_PROBE = "doctor-"
_PLANS = (
    ".clustering.requested",
    ".replacecommit.requested",
    ".clustering.inflight",
    ".replacecommit.inflight",
)
# Else a file that is rewritten takes over the bloom filter, which has the deleted keys.
_COPIES = "hoodoo.parquet.copy.unchanged"
_TRIES = 5
_PUBLISHED = {"metadata": "iceberg", "_delta_log": "delta"}


@define
class Erasure:
    """One call. ``where`` and ``keys`` as for ``table.delete``; ``texts`` are looked for as
    well."""

    table: TableHandle
    where: Any = None
    keys: Any = None
    texts: Sequence[str] = ()
    dropped: list[str] = field(factory=list)
    instants: list[str] = field(factory=list)
    deleted: int = 0

    def run(self, drops: bool, prove: bool | bytes) -> Erased:
        table = self.table
        table.check_writable()
        table.refresh()
        self._refuse(drops)
        before = pending.begun(table.storage)
        if self.where is None and self.keys is None and not before.paths:
            raise CallError(
                "table.erase",
                "needs keys or a condition.",
                "Say which rows to erase: table.erase(where=\"person = 'p-42'\").",
            )
        keys = before.keys | self._record_keys()
        texts = before.texts | {*self.texts}
        note = pending.begin(table.storage, keys, texts)
        self._drop_savepoints()
        rollback(table)  # files of writers that have died go
        if hasattr(table.storage, "sweep"):
            table.storage.sweep()
        self._delete()
        self._compact()
        self._rewrite(pa.array(sorted(keys), pa.string()))
        self._clean()
        self._forget_bounds()
        self._rebuild()
        self._forget_decisions()
        for service in self._forgetting():
            service.run(table)
        notes = (*before.paths, note)
        report = None
        if prove:
            sought = Sought(tuple(sorted(keys)), tuple(sorted(texts)))
            seen = proof.look_through(table.storage, self._decoding(), sought, notes)
            key = prove if isinstance(prove, bytes) else None
            report = proof.report(seen, sought, self._facts(), key, self._left)
        for path in notes:
            table.storage.delete(path)
        return Erased(self.deleted, len(keys), tuple(self.instants), tuple(self.dropped), report)

    # --- before ----------
    def _refuse(self, drops: bool) -> None:
        table = self.table
        config, timeline = table.config, table.timeline()
        if config.get(_BOOTSTRAP):
            raise UnsupportedTableError(
                f"table {config.name}",
                f"is bootstrapped ({_BOOTSTRAP}): rows are in files outside of it.",
                "Copy the rows into a new table, and erase them from both.",
            )
        for instant in timeline.pending():
            merges_logs = instant.action == "logcompaction"
            if merges_logs or is_clustering(Snapshot(table.storage, timeline), instant):
                raise CommitConflictError(
                    f"{table.storage.root}: {instant}",
                    "is pending, and needs older files.",
                    "Run it, or cancel it, and repeat the call.",
                )
        if unknown := self._of_unknown_plugins():
            raise UnsupportedTableError(
                f"table {config.name}",
                f"has files of a plugin that is not installed, which may hold the rows: {unknown}.",
                "Install the plugin that wrote them (pip list, where the table is written), or "
                "delete these folders; then repeat the call.",
            )
        points = sorted(timeline.savepointed(pending=True))
        if points and not drops:
            tags: dict[str, list[str]] = {}
            for key, at in self._tags().items():
                tags.setdefault(at, []).append(key.removeprefix(_TAG))
            shown = [" ".join([one, *(f"(tag {n})" for n in tags.get(one, ()))]) for one in points]
            raise ConfigError(
                f"table {config.name}",
                f"has savepoints, which keep files that hold the rows: {', '.join(shown)}.",
                "Delete them (table.delete_savepoint, hoodoo savepoint PATH INSTANT --delete), or "
                "drop all: drop_savepoints=True, --drop-savepoints.",
            )

    def _of_unknown_plugins(self) -> str:
        """Folders that no installed plugin looks after."""
        known = {f"{_HOME}/{name}" for name in _KNOWN}
        for service in self._forgetting():
            known |= {*getattr(service, "stored_in", ())}
        found = self.table.storage.list(_HOME)
        # A folder that has no file left is nothing.
        rest = [one for one in found if one.path not in known and not one.name.startswith(_PROBE)]
        unknown = [one for one in rest if self._has_files(one)]
        return ", ".join(one.path for one in unknown)

    def _has_files(self, entry: Entry) -> bool:
        return not entry.is_dir or bool(self.table.storage.list(entry.path, recursive=True))

    def _forgetting(self) -> Iterator[Any]:
        for offer in kernel().offers("action"):
            if FORGETS in offer.registration.roles:
                yield installed_action(self.table, offer.name)

    def _record_keys(self) -> set[str]:
        """The record keys of what is to be deleted."""
        table, found = self.table, set[str]()
        if self.where is not None:
            rows = Reads.read(table, [RECORD_KEY], self.where)
            for batch in rows.to_batches():
                found |= {*batch.column(0).to_pylist()}
        if self.keys is not None:
            data = self._as_rows()
            for batch in data.to_batches():
                found |= {*table.key_generator().record_keys(batch).to_pylist()}
        return found - {None}

    def _as_rows(self) -> pa.Table:
        table, data = self.table, self.keys
        if isinstance(data, (list, tuple, set, frozenset, pa.Array, pa.ChunkedArray)):
            data = ArrivingRows.known_data(data, table.schema, table.config.record_key_fields)
        if not isinstance(data, pa.Table):
            raise CallError(
                "table.erase",
                f"does not take {type(data).__name__} as keys.",
                "Give a list of keys, or a pyarrow Table with the key columns.",
            )
        return data

    def _tags(self) -> dict[str, str]:
        properties = self.table.config.properties
        return {key: at for key, at in properties.items() if key.startswith(_TAG)}

    def _drop_savepoints(self) -> None:
        if tags := self._tags():  # no name is left of a state that nobody can read
            self.table.change_properties(dict.fromkeys(tags))
        service = installed_action(self.table, "savepoint")
        for instant in sorted(self.table.timeline().savepointed(pending=True)):
            service.delete(self.table, instant)
            self.dropped.append(instant)

    # --- the steps ----------
    def _note(self, outcome: Any) -> None:
        instant = getattr(outcome, "instant", None)
        if instant:
            self.instants.append(instant)

    def _without_copies(self) -> TableHandle:
        other = self.table.with_options({_COPIES: "false"})
        other.made = {}  # plugins that know the options of before
        return other

    def _delete(self) -> None:
        table = self._without_copies()
        done = []
        if self.where is not None:
            action = in_role("action", "deletes_where")
            done.append(table.run(action, where=self.where, engine=None, batch=None))
        if self.keys is not None:
            done.append(Writes.delete(table, self.keys, engine=None))
        for commit in done:
            self.deleted += commit.deleted or 0
            self._note(commit)

    def _compact(self) -> None:
        """Until no newest slice has log files."""
        table = self._without_copies()
        if table.config.table_type != "MERGE_ON_READ":
            return
        for _ in range(_TRIES):
            if not self._logs() and not pending_compactions(table.timeline()):
                return
            self._note(table.run("compaction", strategy="unbounded", engine=None))
        raise self._busy("has log files after its compaction")

    def _logs(self) -> bool:
        return any(one.log_files for one in self.table.newest_slices()[1])

    def _rewrite(self, keys: pa.Array) -> None:
        """Files whose bloom filters still have keys of rows that were deleted before."""
        table, decoding = self.table, self._decoding()
        groups = [
            (one.partition_path, one.file_id)
            for one in table.newest_slices()[1]
            if one.base_file and decoding.filtered(table.storage, one.base_file.path, keys)
        ]
        if groups:
            other = self._without_copies()
            for commit in other.run("rewrite_groups", groups=groups, engine=None):
                self._note(commit)

    def _clean(self) -> None:
        """Until there is no file but those of the newest slices."""
        table = self.table
        for _ in range(_TRIES):
            done = table.run(
                "clean", policy="by_versions", fileversions_retained=1, reader_window=0
            )
            self._note(done)
            if not self._older():
                return
        raise self._busy(f"still has older files: {self._older()[0]}")

    def _older(self) -> list[str]:
        """Data files that are not of the newest slices."""
        table = self.table
        _, slices = table.newest_slices()
        newest = {
            file.path
            for one in slices
            for file in (one.base_file, *one.log_files)
            if file is not None
        }
        data = (e.path for e in listed_files(table.storage) if parse_path(e.path) is not None)
        return sorted(path for path in data if path not in newest)

    def _busy(self, why: str) -> CommitConflictError:
        return CommitConflictError(
            f"table {self.table.config.name}",
            f"{why}: others write, or plan, meanwhile.",
            "Repeat the call when they have ended.",
        )

    def _forget_bounds(self) -> None:
        """Plans of completed clusterings have values of rows, which nobody reads any more. No other
        file of a timeline is ever changed."""
        storage, timeline = self.table.storage, self.table.timeline()
        done = {instant.requested for instant in timeline.completed()}
        for entry in storage.list(self.table.config.timeline_path):
            if entry.name.partition(".")[0] in done and entry.name.endswith(_PLANS):
                data = storage.get(entry.path)
                plain = Writes.without_bounds(data, entry.path)
                if plain != data:
                    storage.put(entry.path, plain)

    def _forget_decisions(self) -> None:
        """Put empty decisions in the place of the last ones, whose plans have values of rows."""
        for _ in range(ledger.KEPT):
            ledger.barrier(Snapshot(self.table.storage, self.table.timeline()))

    def _rebuild(self) -> None:
        table = self.table
        own = (table.config.get(_OWN_METADATA) or "").split(",")
        if table.config.metadata_partitions:
            table.run("rebuild_index")
        elif own[0]:  # without a name, the partition of files would come, too
            for name in own:
                table.run("rebuild_index", name=name)
        elif table.storage.list(_METADATA):
            # Of one that is switched off: nobody reads it, and nobody keeps it up to date.
            table.storage.delete_prefix(_METADATA)

    # --- the proof ----------
    def _decoding(self) -> Decoding:
        table = self.table
        keyed = bool(table.config.record_key_fields)
        generator = table.key_generator() if keyed else None
        return Decoding(log_files(table.config), table.file_format(), generator)

    def _facts(self) -> dict[str, Any]:
        table = self.table
        newest = table.timeline().writes()
        return {
            "table": {
                "name": table.config.name,
                "root": table.storage.root,
                "version": table.config.version,
                "type": table.config.table_type,
                "newest_write": newest[-1].requested if newest else None,
            },
            "actions": list(self.instants),
            "rows_deleted": self.deleted,
            "savepoints_dropped": list(self.dropped),
        }

    def _left(self, path: str, place: str) -> str:
        """Why a file that has a key is there."""
        if place == proof.FILTER:
            return "the bloom filter says that the file may have the key, perhaps by chance."
        top = path.partition("/")[0]
        if top in _PUBLISHED:
            name = _PUBLISHED[top]
            return (
                f"metadata of {name}, which another process has published meanwhile. Repeat the "
                "call."
            )
        if path.startswith(".hoodie/"):
            return (
                "a partition path, a text that a writer put into a commit, or what an older "
                "version of Hoodoo noted of a clustering: these files are not changed. "
                "Copy the rows into a new table."
            )
        return (
            "another write has put the key into the table again, or the file is not of the table."
        )
