"""The order of the steps of a copy: whoever looks at it meanwhile sees a state that was, or an
error where files of a state in between had been cleaned before they could be copied.

A savepoint holds the files of the newest write while they are copied. Data files come first, then
the archived timeline, then instants by their completion, and the properties. Files that the copy
does not need any more go last. If a clean or an undo comes in between, the look is repeated: what
was copied stays."""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import partial

from attrs import asdict, define, field
from hoodoo.errors import CommitConflictError, ConfigError, CorruptTableError
from hoodoo.model.config import TableConfig
from hoodoo.options.table import BACKUP_OF
from hoodoo.storage.api import Entry, Storage, get_if_there
from hoodoo.storage.together import side_by_side
from hoodoo.table.handle import TableHandle
from hoodoo.table.opened import installed_action
from hoodoo.timeline import properties
from hoodoo.timeline.fence import INDEXING
from hoodoo.timeline.instants import order_key
from hoodoo.timeline.layouts import layout_of
from hoodoo.timeline.removed import taken_since
from hoodoo.timeline.snapshot import Snapshot

from hoodoo_copies.outcome import BackedUp
from hoodoo_copies.savepoints import comments
from hoodoo_copies.source import HOME, Look, look, of_copy
from hoodoo_copies.transfer import Copied, digest, stamp_of, transfer

MANIFESTS = f"{HOME}/.hoodoo/backup"  # the one with the greatest number counts
_TRIES = 20
_AHEAD = 256 << 20  # bytes of files that are copied at the same time
_HOLD = "backup "


@define
class Copy:
    """A copy of ``table`` in ``target``. ``known``: its files, as the manifest has them."""

    table: TableHandle
    target: Storage
    holds: bool = True  # files of the source may be cleaned meanwhile
    known: dict[str, Copied] = field(factory=dict)
    instants: set[str] = field(factory=set)
    copied: dict[str, Copied] = field(factory=dict)
    removed: int = 0

    def run(self, check_all: bool) -> BackedUp:
        """Raises ConfigError if the target is no copy of this table, or somebody has written to it;
        CommitConflictError if cleans come too often."""
        self._begin()
        hold = self._hold()
        try:
            found = self._copied(hold)
        finally:
            if hold:
                with suppress(ConfigError):
                    installed_action(self.table, "savepoint").delete(self.table, hold)
        verified = self._verify() if check_all else len(self.copied)
        size = sum(one.size for one in self.copied.values())
        files = len(self.known)
        return BackedUp(found.point, files, len(self.copied), size, self.removed, verified)

    # --- what is there ----------
    def _begin(self) -> None:
        table, target = self.table, self.target
        table.refresh()
        data = read_manifest(target)
        if data is None:
            # A process that ended at once may have left empty folders.
            if any(not e.is_dir or target.list(e.path, recursive=True) for e in target.list("")):
                raise ConfigError(
                    f"place {target.root}",
                    "is not empty, and no backup.",
                    "Choose an empty place, or the place of an earlier backup of this table. What "
                    "hoodoo restore-backup has made is complete: open it.",
                )
            self._put_manifest()
            return
        said = json.loads(data)
        if said["source"] != table.storage.root:
            raise ConfigError(
                f"place {target.root}",
                f"has the backup of another table, {said['source']}.",
                "Choose an empty place.",
            )
        self.known = {one["path"]: Copied(**one) for one in said["files"]}
        self.instants = {*said["instants"]}

    def _put_manifest(self) -> None:
        said = {
            "source": self.table.storage.root,
            "instants": sorted(self.instants),
            "files": [asdict(one) for _, one in sorted(self.known.items())],
        }
        older = self.target.list(MANIFESTS)
        number = max((int(e.name) for e in older), default=0) + 1
        path = f"{MANIFESTS}/{number:09d}"
        if not self.target.put_if_absent(path, json.dumps(said).encode()):
            raise CommitConflictError(
                f"{self.target.root}/{path}",
                "another process has put it meanwhile.",
                "Let one process at a time write a backup, and repeat the call.",
            )
        for entry in older:
            self.target.delete(entry.path)

    def _hold(self) -> str:
        """The newest write, protected from cleans; empty if it is protected anyway, or there is
        none."""
        table = self.table
        cleans = self.holds and BACKUP_OF not in table.config.properties
        for instant, comment in comments(table).items() if cleans else ():
            if comment.startswith(_HOLD):  # of a process that has ended
                installed_action(table, "savepoint").delete(table, instant)
        timeline = table.timeline()
        writes = timeline.writes() if cleans else ()
        if not writes or writes[-1].requested in timeline.savepointed():
            return ""
        comment = f"{_HOLD}{uuid.uuid4().hex}"
        held: str = installed_action(table, "savepoint").run(table, comment=comment)
        return held

    # --- the copy ----------
    def _copied(self, hold: str) -> Look:
        table = self.table
        for _ in range(_TRIES):
            table.refresh()
            timeline = table.timeline()
            with suppress(FileNotFoundError):  # a clean, or archiving: look again
                seen = look(table, timeline, hold)
                self._refuse_written(seen)
                self._transfer(seen.data)
                self._transfer(seen.archive)
                content = {e.path: table.storage.get(e.path) for e in seen.steps}
                if taken_since(Snapshot(table.storage, timeline)) or self._moved(seen):
                    continue
                self._publish(seen, content)
                return seen
        raise CommitConflictError(
            f"backup of {table.config.name}",
            f"cleans, rollbacks or archiving came in between {_TRIES} times.",
            "Repeat the call when fewer writers are active: what was copied stays.",
        )

    def _moved(self, seen: Look) -> bool:
        """Whether instants have been archived, or the properties have changed, since the look."""
        storage, now = self.table.storage, self.table.load_timeline()
        there = {e.path for e in storage.list(seen.config.timeline_path)}
        is_gone = any(e.path not in there for e in seen.steps)
        return (
            is_gone
            or now.start != seen.timeline.start
            or (properties.load(storage).properties != seen.config.properties)
        )

    def _refuse_written(self, seen: Look) -> None:
        """Somebody else has put instants into the copy."""
        ours = {*self.instants, *(e.name for e in seen.steps)}
        layout = layout_of(seen.config)
        for entry in self.target.list(seen.config.timeline_path):
            found = layout.parse_instant(entry.name)
            if found is None or entry.name in ours:
                continue
            if self.holds or found.action != INDEXING:  # that of a restore makes indexes at its end
                raise ConfigError(
                    f"backup {self.target.root}",
                    f"has been written to ({entry.name}): a backup is only read.",
                    "Make a table of it (hoodoo restore-backup), and back up to another place.",
                )

    def _transfer(self, entries: Iterable[Entry]) -> None:
        there = {e.path: e for e in self.target.list("", recursive=True)}
        calls: list[tuple[Callable[[], Copied], int]] = []
        for entry in entries:
            known, has = self.known.get(entry.path), there.get(entry.path)
            same = known and has and has.size == known.size and known.stamp == stamp_of(entry)
            if not same:
                call = partial(transfer, self.table.storage, self.target, entry, has)
                calls.append((call, entry.size))
        for one in side_by_side(self.target, calls, _AHEAD):
            self.known[one.path] = self.copied[one.path] = one

    def _publish(self, seen: Look, content: Mapping[str, bytes]) -> None:
        """The timeline and the properties of the copy, from one state that was to the next."""
        target, config = self.target, seen.config
        wanted = {e.path: e for e in seen.steps}
        layout, start = layout_of(config), seen.timeline.start
        there = [
            (found, e)
            for e in target.list(config.timeline_path)
            if (found := layout.parse_instant(e.name)) and e.path not in wanted
        ]
        # Those that are completed first: what is left of an instant looks pending then.
        there.sort(key=lambda one: (one[0].is_completed, order_key(one[0].requested)), reverse=True)
        older = [e for i, e in there if start and order_key(i.requested) < order_key(start)]
        self.instants |= {e.name for e in seen.steps}
        self._put_manifest()
        self._remove(e for _, e in there if e not in older)  # they have been undone
        for path, data in content.items():
            self._put(path, data, wanted[path])
        self._remove(reversed(older))  # they are archived
        is_backup = {BACKUP_OF: self.table.storage.root} if self.holds else {}
        self._put_properties({**of_copy(config), **is_backup})
        files = {e.path for e in (*seen.data, *seen.archive, *seen.steps)}
        self._remove(
            e
            for e in target.list("", recursive=True)
            if e.path not in files
            and e.path != properties.PATH
            and not e.path.startswith(MANIFESTS)
        )
        self.known = {path: one for path, one in self.known.items() if path in files}
        self.instants = {e.name for e in seen.steps}
        self._put_manifest()

    def _put(self, path: str, data: bytes, entry: Entry) -> None:
        found = Copied(path, len(data), hashlib.sha256(data).hexdigest(), stamp_of(entry))
        known = self.known.get(path)
        has = get_if_there(self.target, path)
        if has != data:
            # Whole or not at all; those that are there never change, but for what is erased of
            # them.
            if has is not None or not self.target.put_if_absent(path, data):
                self.target.put(path, data)
            self.copied[path] = found
        elif known is None or known.sha256 != found.sha256:
            self.copied[path] = found
        self.known[path] = found

    def _put_properties(self, wanted: Mapping[str, str]) -> None:
        target = self.target
        if target.head(properties.PATH) is None and target.head(properties.BACKUP) is None:
            properties.create(target, TableConfig(wanted))
            return

        def changes(now: TableConfig) -> dict[str, str | None]:
            gone: dict[str, str | None] = {k: None for k in now.properties if k not in wanted}
            other = {k: v for k, v in wanted.items() if now.get(k) != v}
            return {**gone, **other}

        now = properties.recovered(target)
        if changes(now):
            properties.update(target, now, changes)

    def _remove(self, entries: Iterable[Entry]) -> None:
        for entry in list(entries):
            self.target.delete(entry.path)
            self.known.pop(entry.path, None)
            self.removed += 1

    def _verify(self) -> int:
        """All files of the copy are read, and compared with the checksums of what was written."""
        for path, one in sorted(self.known.items()):
            try:
                found = digest(self.target, path)
            except FileNotFoundError:
                found = "none"
            if found != one.sha256:
                raise CorruptTableError(
                    f"{self.target.root}/{path}",
                    f"has the SHA-256 {found}, and {one.sha256} was written.",
                    "Delete the file, and repeat the backup: it is copied again.",
                )
        return len(self.known)


def read_manifest(storage: Storage) -> bytes | None:
    """The newest manifest; None if the place is no backup."""
    numbers = [entry.path for entry in storage.list(MANIFESTS)]
    return storage.get(max(numbers)) if numbers else None
