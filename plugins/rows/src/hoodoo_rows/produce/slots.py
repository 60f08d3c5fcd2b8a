"""Slots: every file that a write will make, named before any task runs.

A slot is one file group of this write. Tasks generate nothing: file ids, file names and tokens come
from here (uuid5 over instant and slot), so a task that runs twice makes the same file.
"""

from __future__ import annotations

import heapq
import uuid
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from attrs import evolve, frozen
from hoodoo.errors import UnsupportedTableError
from hoodoo.hookspecs.layout import Slot
from hoodoo.model.filegroup import BaseFile, FileSlice

from hoodoo_rows.model.key_hash import key_hash
from hoodoo_rows.produce.log_names import LogPlan, PlannedLog


def fraction(keys: pa.Array) -> npt.NDArray[np.float64]:
    """The hash of each key as a number in [0, 1)."""
    scaled: Any = (key_hash(keys) >> np.uint64(11)).astype(np.float64) / float(1 << 53)
    return np.asarray(scaled, np.float64)


def part_of(keys: pa.Array, parts: int) -> pa.Array:
    """The task of each key when nothing but the key matters: int32, ``0 <= part < parts``."""
    return part_of_hash(key_hash(keys), parts)


def part_of_hash(hashes: npt.NDArray[np.uint64], parts: int) -> pa.Array:
    """The same, of keys whose hashes are known."""
    return pa.array((hashes % np.uint64(parts)).astype(np.int32))


_NAMESPACE = uuid.UUID("6d5f6f1c-9a53-5d2e-9f0e-f00d00f00d00")

PLAN_SCHEMA = pa.schema(
    [
        ("slot", pa.int32()),
        ("part", pa.int32()),
        ("partition_path", pa.string()),
        ("file_id", pa.string()),
        ("bucket", pa.int32()),  # null unless the index computes buckets
        ("insert_weight", pa.int64()),  # 0: takes updates only
        ("file_name", pa.string()),
        ("base_path", pa.string()),  # null for a new file group
        ("base_size", pa.int64()),
        ("base_instant", pa.string()),
        ("base_name", pa.string()),
        ("log_version", pa.int32()),  # null: a base file is written
        ("log_base_file", pa.string()),
        ("log_prev_commit", pa.string()),
        ("log_files", pa.list_(pa.string())),
        ("slice", pa.binary()),  # where its keys have to be read
        ("after_deletes", pa.bool_()),  # its log files may hold deletes
        ("compacting", pa.bool_()),  # and a compaction of it is pending
        ("log_fresh", pa.bool_()),  # the log file begins a file group
        ("work", pa.int64()),
    ]
)


@frozen
class PlannedSlot:
    """One row of the plan; see PLAN_SCHEMA."""

    slot: int
    partition_path: str
    file_id: str
    file_name: str
    bucket: int | None = None
    insert_weight: int = 0
    base: BaseFile | None = None
    log: PlannedLog | None = None
    work: int = 1  # bytes to rewrite, or a stand-in for them: balances the tasks
    part: int = 0


def new_uuid(instant: str, *parts: object) -> str:
    """The random half of a new file id: the same for the same instant and place."""
    return str(uuid.uuid5(_NAMESPACE, "/".join([instant, *map(str, parts)])))


class SlotPlan:
    """Collects the slots of one write and deals them out to tasks."""

    def __init__(
        self, instant: str, slices: Iterable[FileSlice], extension: str, logs: LogPlan | None = None
    ) -> None:
        """``logs``: how log files are named, where the table is merged on read."""
        self._instant = instant
        self._extension = extension
        self._logs = logs
        self._slices = {(s.partition_path, s.file_id): s for s in slices}
        self._slots: dict[tuple[str, str], PlannedSlot] = {}

    def __len__(self) -> int:
        return len(self._slots)

    def existing(self, partition_path: str, file_id: str, inserts: int = 0) -> None:
        """The file group is rewritten; ``inserts`` is its weight for new rows."""
        key = (partition_path, file_id)
        if key in self._slots:
            slot = self._slots[key]
            self._slots[key] = evolve(slot, insert_weight=slot.insert_weight + inserts)
            return
        self._add(partition_path, file_id, None, inserts, self._slices[key])

    def new(self, partition_path: str, inserts: int) -> None:
        """A file group that does not exist yet, for new rows."""
        name = new_uuid(self._instant, partition_path, len(self._slots))
        self._add(partition_path, f"{name}-0", None, inserts, None)

    def bucket(self, partition_path: str, bucket: int, file_id: str, rows: int) -> None:
        """The file group of a bucket, existing or not."""
        found = self._slices.get((partition_path, file_id))
        self._add(partition_path, file_id, bucket, rows, found)

    def add_slots(self, planned: Iterable[Slot]) -> None:
        """What the layout answered."""
        for slot in planned:
            if slot.file_id is None:
                self.new(slot.partition_path, slot.weight)
            else:
                self.existing(slot.partition_path, slot.file_id, slot.weight)

    def _add(
        self, path: str, file_id: str, bucket: int | None, inserts: int, slice_: FileSlice | None
    ) -> None:
        number = len(self._slots)
        base = slice_.base_file if slice_ else None
        name = f"{file_id}_{number}-0-0_{self._instant}{self._extension}"
        work = (base.size if base else 0) + 100 * inserts + 1
        self._slots[path, file_id] = PlannedSlot(
            number, path, file_id, name, bucket, inserts, base, work=work
        )

    def _with_log(self, slot: PlannedSlot) -> PlannedSlot:
        """``slot``, with a log file in the place of its base file where that will do."""
        slice_ = self._slices.get((slot.partition_path, slot.file_id))
        if self._logs is None:
            if slice_ is not None and slice_.row_logs:
                raise _with_logs(slice_)
            return slot
        begun = (slot.partition_path, slot.file_id) in self._logs.begun
        if slice_ is None and not (begun or self._logs.begin_groups):
            return slot
        if slot.insert_weight and slice_ is not None and not self._logs.take_inserts:
            # The index finds keys in base files only: an insert goes there. Layouts choose file
            # groups without log files for it.
            return slot
        file, planned = self._logs.plan(slot.partition_path, slot.file_id, slot.slot, slice_)
        return evolve(slot, file_name=file.name, log=planned, work=100 * slot.insert_weight + 1)

    def deal(self, tasks: int) -> tuple[list[PlannedSlot], int]:
        """Slots with their part, heaviest first to the least loaded task; and the number of
        parts."""
        parts = max(1, min(tasks, len(self._slots)))
        loads = [(0, part) for part in range(parts)]
        dealt = []
        for slot in sorted(
            map(self._with_log, self._slots.values()), key=lambda s: (-s.work, s.slot)
        ):
            load, part = heapq.heappop(loads)
            heapq.heappush(loads, (load + slot.work, part))
            dealt.append(evolve(slot, part=part))
        return sorted(dealt, key=lambda s: s.slot), parts


def _with_logs(slice_: FileSlice) -> UnsupportedTableError:
    return UnsupportedTableError(
        f"file group {slice_.file_id} of partition path {slice_.partition_path!r}",
        f"has log files, such as {slice_.row_logs[-1].name}, in a table that is copied on write "
        "(hoodie.table.type): a new base file would lose their rows",
        "set hoodie.table.type=MERGE_ON_READ in hoodie.properties; after a compaction of all "
        "slices (strategy unbounded) the table can be COPY_ON_WRITE.",
    )


def plan_table(slots: Iterable[PlannedSlot]) -> pa.Table:
    """The plan as data, for the tasks."""
    rows: list[Mapping[str, object]] = [
        {
            "slot": s.slot,
            "part": s.part,
            "partition_path": s.partition_path,
            "file_id": s.file_id,
            "bucket": s.bucket,
            "insert_weight": s.insert_weight,
            "file_name": s.file_name,
            "base_path": s.base.path if s.base else None,
            "base_size": s.base.size if s.base else None,
            "base_instant": s.base.instant if s.base else None,
            "base_name": s.base.name if s.base else None,
            "log_version": s.log.version if s.log else None,
            "log_base_file": s.log.base_file if s.log else None,
            "log_prev_commit": s.log.prev_commit if s.log else None,
            "log_files": list(s.log.files) if s.log else None,
            "slice": s.log.slice if s.log else None,
            "after_deletes": s.log.after_deletes if s.log else None,
            "compacting": s.log.compacting if s.log else None,
            "log_fresh": s.log.fresh if s.log else None,
            "work": s.work,
        }
        for s in slots
    ]
    return pa.Table.from_pylist(rows, schema=PLAN_SCHEMA)
