"""Which partitions are too old: a rule made of options, and what the table says of a partition's
age."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta, timezone

from attrs import frozen
from hoodoo.errors import ConfigError
from hoodoo.kernel.log_files import log_files
from hoodoo.model.config import DEFAULT_PARTITION
from hoodoo.model.filegroup import FileSlice
from hoodoo.storage.api import Storage
from hoodoo.timeline import partitions
from hoodoo.timeline.instants import from_datetime, order_key
from hoodoo.timeline.timeline import Timeline

from hoodoo_retention import options as keys

_PARTS = {"yyyy": "%Y", "MM": "%m", "dd": "%d", "HH": "%H", "mm": "%M"}
_OLDEST = "0" * 17
_READERS = 16


@frozen
class Rule:
    """``strategy`` as Hudi names it; ``pattern`` is the date in a path as ``strptime`` spells it,
    ``segments`` where it is."""

    strategy: str
    days: int
    selected: tuple[str, ...]
    most: int
    pattern: str
    segments: slice
    nulls_too: bool

    @classmethod
    def of(cls, options: Mapping[str, str]) -> Rule:
        """What ``options`` say. ConfigError for a date that nobody could read."""
        java, text = keys.CLASS.given(options), keys.FORMAT.read(options)
        pattern = re.sub("|".join(_PARTS), lambda found: _PARTS[found[0]], text)
        if re.search("[A-Za-z]", re.sub("%.", "", pattern)) or "%d" not in pattern:
            raise ConfigError(
                f"option {keys.FORMAT.key}",
                "is made of yyyy, MM, dd, HH, mm and what is no letter, with dd at least, not "
                f"{text!r}.",
                "Write it like yyyy-MM-dd or yyyyMMdd/HH.",
            )
        first = keys.SEGMENT.read(options)
        return cls(
            strategy=keys.CLASSES[java] if java else keys.STRATEGY.read(options),
            days=keys.DAYS.read(options),
            selected=keys.SELECTED.given(options) or (),
            most=keys.MOST.read(options),
            pattern=pattern,
            segments=slice(first, first + text.count("/") + 1),
            nulls_too=keys.NULLS_TOO.read(options),
        )

    def too_old(
        self, storage: Storage, timeline: Timeline, slices: Sequence[FileSlice], now: datetime
    ) -> tuple[str, ...]:
        """The partition paths of ``slices`` that are too old, the oldest first."""
        if self.days <= 0:
            return ()
        zone = timeline.config.timezone
        limit = from_datetime(now - timedelta(days=self.days), zone)
        found: dict[str, list[FileSlice]] = {}
        for one in slices:
            if one.partition_path and (not self.selected or one.partition_path in self.selected):
                found.setdefault(one.partition_path, []).append(one)

        def since(path: str) -> str | None:
            if self.strategy == keys.BY_EVENT:
                return self._dated(path, timeline.config.hive_style, zone)
            if self.strategy == keys.BY_CREATION:
                return _created(storage, path)
            return _last_written(storage, timeline, found[path], limit)

        with ThreadPoolExecutor(_READERS) as readers:  # what is read are small files
            ages = list(zip(readers.map(since, found), found))
        return tuple(path for age, path in sorted((a or limit, p) for a, p in ages) if age < limit)

    def _dated(self, path: str, hive_style: bool, zone: str) -> str | None:
        """The instant that ``path`` names. ConfigError where it names none: it would stay for
        ever."""
        parts = path.split("/")[self.segments]
        if hive_style:
            parts = [part.partition("=")[2] for part in parts]
        if DEFAULT_PARTITION in parts:
            return _OLDEST if self.nulls_too else None
        try:
            date = datetime.strptime("/".join(parts), self.pattern)
        except ValueError as error:
            raise ConfigError(
                f"partition {path}",
                f"has no date that {keys.FORMAT.key} and {keys.SEGMENT.key} describe.",
                f"Correct these, or name the partitions that have one in {keys.SELECTED.key}.",
            ) from error
        return from_datetime(date.replace(tzinfo=timezone.utc), zone)


def _created(storage: Storage, path: str) -> str | None:
    """The instant of the write that made the partition; None where nobody has noted it."""
    try:
        data = storage.get(partitions.path_of(path))
    except FileNotFoundError:
        return None
    return order_key(partitions.parse(data, partitions.path_of(path)).commit_time)


def _last_written(
    storage: Storage, timeline: Timeline, slices: Sequence[FileSlice], limit: str
) -> str:
    """The newest instant that wrote to ``slices``: base files and log files say theirs in their
    names, but for the log files of version 6, whose blocks do. These are read only where it depends
    on them."""
    logs = [log for one in slices for log in one.log_files]
    newest = max(order_key(i) for i in (*(s.instant for s in slices), *(g.instant for g in logs)))
    if newest < limit and timeline.layout.log_names_slice:
        for log in logs:
            with log_files().reader(storage, log.path, log.size) as reader:
                newest = max([newest, *(order_key(b.instant) for b in reader.blocks if b.instant)])
    return newest
