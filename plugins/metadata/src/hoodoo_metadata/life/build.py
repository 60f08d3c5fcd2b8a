"""Build: partitions of the metadata table are made from the table, while writers go on (indexing).

First the property says that they are being built, so that nobody reads them. Their base files are
made of one look at the table. Then the indexing action is completed, by a decision that no other
comes before: what was committed since the look is added first, for as long as something was.
Whoever looked at the table before that decision and decides after it has to look again, and keeps
the new partitions from then on."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import timedelta

from attrs import evolve
from hoodoo.actions.transaction import Transaction
from hoodoo.errors import CommitConflictError, HoodooError, UnsupportedTableError
from hoodoo.hookspecs.participant import TableState
from hoodoo.kernel.events import action_events
from hoodoo.model.commit import CommitMetadata, Operation, WriteStat
from hoodoo.model.config import TableConfig
from hoodoo.model.filegroup import LogFile
from hoodoo.model.instant import Instant, State
from hoodoo.options.table import BOOTSTRAP_BASE
from hoodoo.storage.api import NOT_THERE, Storage
from hoodoo.timeline import partitions, properties, publish
from hoodoo.timeline.codec import avro as codec_avro
from hoodoo.timeline.fence import INDEXING
from hoodoo.timeline.heartbeat import Beating, Liveness
from hoodoo.timeline.instants import from_datetime, order_key, to_datetime
from hoodoo.timeline.names import parse_path
from hoodoo.timeline.publish import CoupledCommit
from hoodoo.timeline.snapshot import Snapshot
from hoodoo.timeline.timeline import Timeline, load, reload
from hoodoo_rows.api import Pending

from hoodoo_metadata.life.beginnings import free_beginnings, is_beginning
from hoodoo_metadata.life.catch_up import Behind, catch_up, covers
from hoodoo_metadata.life.definitions import PATH as DEFINITIONS_PATH
from hoodoo_metadata.life.definitions import PROPERTY as DEFINITIONS
from hoodoo_metadata.life.definitions import define, is_partitioned
from hoodoo_metadata.life.kept_by import UNIQUE_OF
from hoodoo_metadata.life.partition_state import built
from hoodoo_metadata.life.undo import forget
from hoodoo_metadata.partitions.api import Beginning
from hoodoo_metadata.partitions.column_stats.from_files import columns_of
from hoodoo_metadata.partitions.known import chosen, is_kept
from hoodoo_metadata.partitions.record_index.index_reach import made_noted, newest_made
from hoodoo_metadata.partitions.record_index.locations import millis_of
from hoodoo_metadata.partitions.record_index.size import IndexSize
from hoodoo_metadata.table.below import Below
from hoodoo_metadata.table.layout import FILES, INDEXES, OWN_INDEXES, RECORD_INDEX, is_own
from hoodoo_metadata.table.metadata_table import (
    FOLDER,
    OWN_MADE,
    MetadataTable,
    building,
    listed,
    make_table,
    mark_of,
    told_as,
)
from hoodoo_metadata.table.schema import record_schema

_ATTEMPTS = 50
# Store of each row when its file was written.
_OF_TIMES = {RECORD_INDEX, *OWN_INDEXES}
_MILLISECOND = timedelta(milliseconds=1)


def build(
    storage: Storage,
    config: TableConfig,
    wanted: Sequence[str],
    look: Callable[[], TableState],
    settings: IndexSize,
    shape: Callable[[TableConfig], Mapping[str, str | None]] = lambda now: {},
) -> TableConfig:
    """Make the partitions ``wanted`` again; the table's properties as they are then. ``look``
    answers the table as it is, ``shape`` what else changes of its properties, together with what
    says that they are being built.

    Where ``files`` is among them the whole metadata table is rebuilt. Raises CommitConflictError
    while another process builds, or if writers undo what it was made of again and again."""
    timeline = load(storage, config)
    refuse_another(Snapshot(storage, timeline))
    wanted = _whole(config, wanted)
    _refuse_files_without_times(config, wanted, look)
    plan = codec_avro.encode("HoodieIndexPlan", {"indexPartitionInfos": infos(wanted, timeline)})
    with (
        action_events(INDEXING, config.name, storage.root) as events,
        Beating(storage) as beats,
    ):
        mine = request_indexing(Snapshot(storage, timeline), plan, beats)
        events.report(instant=mine.requested, made=tuple(wanted))
        try:
            # Two that began at once have not seen each other before.
            refuse_another(Snapshot(storage, reload(storage, timeline)), mine)
            wanted = _still_kept(config, properties.load(storage), wanted)
            # Else whoever comes after a death would take what is there for complete: what an index
            # of before has left, or what lacks the writes that came since the properties say that
            # it is being built.
            for partition in sorted(wanted, key=lambda p: p != FILES):
                storage.delete(f"{FOLDER}/{mark_of(partition)}")
            config = properties.update(
                storage, config, lambda now: {**_retire(now, wanted), **shape(now)}
            )
            repeated: list[int] = []

            def told(places: int) -> None:
                repeated.append(places)
                settings.told(places)

            columns = _build(storage, mine, wanted, look, evolve(settings, told=told))
        except BaseException as error:
            with suppress(HoodooError):
                publish.withdraw(Snapshot(storage, timeline), mine)
            if isinstance(error, FileNotFoundError) or NOT_THERE in str(error):
                raise CommitConflictError(
                    f"metadata table of {config.name}",
                    f"a file that it was made of was taken away meanwhile ({error}).",
                    "Build it again.",
                ) from error
            raise
        events.report(made=tuple(wanted))
        unique = set(repeated) == {0}
        return finish(storage, properties.load(storage), wanted, columns, unique)


def _refuse_files_without_times(
    config: TableConfig, wanted: Sequence[str], look: Callable[[], TableState]
) -> None:
    """UnsupportedTableError where an index would store times of files that a bootstrap has made.
    Before the properties say that it is being built: else each later writer would go on with it."""
    if config.get(BOOTSTRAP_BASE) and not _OF_TIMES.isdisjoint(wanted):
        for slice_ in look().slices:
            millis_of(slice_.instant, config.timezone)


def without_times(
    config: TableConfig, wanted: Sequence[str], look: Callable[[], TableState]
) -> list[str]:
    """Those of ``wanted`` that can't be made, as :func:`build` would say."""
    try:
        _refuse_files_without_times(config, wanted, look)
    except UnsupportedTableError:
        return [partition for partition in wanted if partition in _OF_TIMES]
    return []


def request_indexing(snapshot: Snapshot, plan: bytes, beats: Beating) -> Instant:
    """The indexing action, requested: before the newest completed instant, if there is one. Spark
    Hudi 1.2 goes wrong where an indexing action is the newest: it then makes every partition that
    it adds at that instant, and undoes the one before."""
    done = [i.requested for i in snapshot.completed()]
    if not done:
        return publish.request(snapshot, INDEXING, plan, named=beats.add)
    zone = snapshot.config.timezone
    taken = {i.requested for i in snapshot.instants}
    moment = to_datetime(max(done, key=order_key), zone)
    for _ in range(_ATTEMPTS):
        moment -= _MILLISECOND
        instant = Instant(from_datetime(moment, zone), INDEXING, State.REQUESTED)
        if instant.requested in taken or not beats.add(instant.requested):
            continue
        if snapshot.storage.put_if_absent(snapshot.path(instant), plan):
            return instant
    raise CommitConflictError(
        f"{snapshot.root}: indexing", "no free instant was found.", "Build again."
    )


def finish(
    storage: Storage,
    config: TableConfig,
    done: Sequence[str],
    columns: Sequence[str],
    unique: bool = False,
) -> TableConfig:
    """The partitions ``done``, which are complete, may be read from here on. ``columns``: those
    whose ranges are kept; ``unique``: no record key is in two places."""
    standing = _standing(storage, config, done)
    ready = {*listed(config), *standing}
    define(storage, config, sorted(ready), columns, is_partitioned(storage, config=config))

    def changes(now: TableConfig) -> dict[str, str | None]:
        there = {*listed(now), *building(now)}.intersection(standing)  # not dropped meanwhile
        left = [p for p in building(now) if p not in there]
        told = {**told_as({*listed(now), *there}, left), DEFINITIONS: DEFINITIONS_PATH}
        made = {**made_noted(now), **_made(storage, now, there)}
        told[OWN_MADE] = ",".join(f"{p}:{when}" for p, when in sorted(made.items())) or None
        for index, key in UNIQUE_OF.items():
            if index in there:
                told[key] = "true" if unique else "false"
        return told

    config = properties.update(storage, config, changes)
    # Another build may have wiped them between the look and the properties, and have died.
    if lost := set(standing).difference(_standing(storage, config, standing)):
        config = properties.update(storage, config, lambda now: _retire(now, lost & {*listed(now)}))
    return config


def _made(storage: Storage, config: TableConfig, partitions: Iterable[str]) -> dict[str, str]:
    """When those of ``partitions`` that are Hoodoo's own were made."""
    timeline = load(storage, config)
    found = {p: newest_made(Snapshot(storage, timeline), p) for p in partitions if is_own(p)}
    return {partition: when for partition, when in found.items() if when is not None}


def _standing(storage: Storage, config: TableConfig, done: Sequence[str]) -> list[str]:
    """Those of ``done`` that may be read. The others wait for the next writer: one whose mark is
    gone was retired since it was completed; one without committed files was begun anew by a build
    that died; while somebody builds, all may be what is built; and without ``files`` Hudi's others
    are rebuilt with it."""
    living = Liveness(storage)
    timeline = load(storage, config)
    if any(i.action == INDEXING and living.is_alive(i.requested) for i in timeline.pending()):
        return []
    marked = [p for p in done if storage.head(f"{FOLDER}/{mark_of(p)}") is not None]
    if MetadataTable.open(storage, timeline).begun:
        marked = built(Snapshot(storage, timeline), marked)
    whole = FILES in (*listed(config), *marked)
    begun = FILES in building(config)  # the others are rebuilt with it
    return [p for p in marked if whole or (is_own(p) and not begun)]


def retire(storage: Storage, config: TableConfig) -> TableConfig:
    """All partitions wait for being rebuilt; nobody reads them meanwhile. Their marks go first:
    else the next writer would take them for complete. Their files stay for whoever rebuilds them,
    who is alone then: another one may be at it, or have done it, as soon as the properties say
    so."""
    # That of `files` first: without it none of the others is complete.
    for partition in sorted({*listed(config), *building(config)}, key=lambda p: (p != FILES, p)):
        storage.delete(f"{FOLDER}/{mark_of(partition)}")
    config = properties.load(storage)  # somebody may have made them readable until the marks went
    if listed(config):
        config = properties.update(storage, config, lambda now: _retire(now, listed(now)))
    return config


def finish_retiring(storage: Storage, config: TableConfig, lacking: Collection[str]) -> TableConfig:
    """:func:`retire`, of whoever ended half way: the partitions ``lacking`` their mark wait for
    being rebuilt."""
    with suppress(CommitConflictError):  # another one is at it
        wanted = sorted(lacking)
        return properties.update(storage, config, lambda now: _retire(now, wanted))
    return properties.load(storage)


def _build(
    storage: Storage,
    mine: Instant,
    wanted: Sequence[str],
    look: Callable[[], TableState],
    settings: IndexSize,
) -> list[str]:
    """The columns whose ranges are kept."""
    config = properties.load(storage)
    before = _beginnings(MetadataTable.open(storage, load(storage, config)))
    _wipe(storage, wanted)
    if RECORD_INDEX in wanted:  # before any writer comes to keep it
        define(storage, config, [RECORD_INDEX], (), settings.partitioned)
    target = look()
    transaction = Transaction(
        Snapshot(storage, target.timeline),
        mine,
        "indexing",
        "Build again.",
        "Open the table again, and build once more if need be.",
    )
    transaction.inflight()
    table = MetadataTable.open(storage, target.timeline)
    make_table(table.storage, target.config)
    begun = _begin(target, table, wanted, settings, before)
    ids = {
        partition: [stat.file_id for stat in stats]
        for partition, (_instant, stats) in zip(wanted, begun, strict=True)
    }
    content = codec_avro.encode(
        "HoodieIndexCommitMetadata",
        {"operationType": "INDEX", "indexPartitionInfos": infos(wanted, target.timeline)},
    )
    own: set[str] = set()
    late: list[WriteStat] = []
    for _ in range(_ATTEMPTS):

        def check(fresh: Timeline, seen: Timeline = target.timeline) -> None:
            covers(storage, seen, fresh)

        _sweep_others(table, target.timeline, wanted, own)
        try:
            transaction.complete(content, check=check, beside=_beside(table, begun, late))
        except Behind:
            now = look()
            caught = catch_up(target, now, wanted, ids, settings)
            own |= caught.keys
            late += caught.unnamed
            settings.told(-1)  # whether what came is unique was not looked at
            target, transaction.snapshot = now, Snapshot(storage, now.timeline)
        else:
            return columns_of(target.schema, target.config, target.options)
    raise CommitConflictError(
        f"indexing {mine.requested}", f"others wrote {_ATTEMPTS} times meanwhile.", "Build again."
    )


def _sweep_others(
    table: MetadataTable, look: Timeline, wanted: Sequence[str], own: Collection[str]
) -> None:
    """Take log files away that writers, who had looked before the indexes ``wanted`` were wiped,
    put there for what they have completed since: as many file groups as there were then may be too
    many now, and another hash sends other keys there. ``own``: the log files of what was caught up
    with."""
    done = {i.requested for i in look.completed()}
    for index in INDEXES:
        for entry in table.storage.list(index) if index in wanted else ():
            file = parse_path(entry.path, entry.size)
            if isinstance(file, LogFile) and file.instant in done and file.path not in own:
                table.storage.delete(file.path)


def _begin(
    target: TableState,
    table: MetadataTable,
    wanted: Sequence[str],
    settings: IndexSize,
    before: Collection[str],
) -> list[tuple[Instant, tuple[WriteStat, ...]]]:
    """Pending deltacommits of instants of their own, one for each partition, with their base files.
    ``before``: those of earlier builds."""
    for left in table.begun:  # of a process that died: nobody is at it
        forget(target.storage, target.config, left)
    free = free_beginnings(len(wanted), target.timeline, _beginnings(table), before)
    begun = []
    for requested, partition in zip(free, wanted, strict=True):
        instant = Instant(requested, "deltacommit", State.REQUESTED)
        for state in (State.REQUESTED, State.INFLIGHT):
            table.storage.put_if_absent(table.timeline.path(instant.at(state)), b"")
        pending = Pending.of(table.timeline, instant.at(State.INFLIGHT))
        if is_own(partition):
            table.storage.put_if_absent(mark_of(partition), b"")
        else:
            partitions.ensure(table.storage, partition, instant.requested)
        made_of = Beginning(target, table, pending, settings)
        begun.append((instant, chosen([partition])[0].begin(made_of)))
    return begun


def _beside(
    table: MetadataTable,
    begun: Sequence[tuple[Instant, tuple[WriteStat, ...]]],
    late: Sequence[WriteStat],
) -> CoupledCommit:
    """``late``: of log files that were put when their own instants were completed. The commit of
    the partition's beginning names them, as no other can."""
    text = record_schema(table.data.config.version)

    def newest() -> str | None:
        return reload(table.storage, table.timeline).last_instant_time()

    def files(done: Instant) -> tuple[tuple[str, bytes], ...]:
        found = []
        for instant, stats in begun:
            mine = evolve(instant, state=State.COMPLETED, completed=done.completed)
            made = {stat.partition_path for stat in stats}
            named = (*stats, *(stat for stat in late if stat.partition_path in made))
            told = tuple(stat for stat in named if not is_own(stat.partition_path))
            metadata = CommitMetadata(Operation.BULK_INSERT_PREPPED, told, extra={"schema": text})
            content = table.timeline.layout.encode_commit(metadata, "deltacommit")
            found.append((f"{FOLDER}/{table.timeline.path(mine)}", content))
        return tuple(found)

    return CoupledCommit(newest, files)


def _beginnings(table: MetadataTable) -> frozenset[str]:
    """How the partitions began that there are, or were."""
    return frozenset(i.requested for i in table.timeline.instants if is_beginning(i.requested))


def _wipe(storage: Storage, wanted: Sequence[str]) -> None:
    for partition in wanted:  # first what tells that it is complete: a wipe may stop half way
        storage.delete(f"{FOLDER}/{mark_of(partition)}")
    if FILES in wanted:
        for entry in Below(storage, FOLDER).list():
            if not (entry.is_dir and is_own(entry.name) and entry.name not in wanted):
                storage.delete_prefix(f"{FOLDER}/{entry.path}")
        return
    for partition in wanted:
        storage.delete_prefix(f"{FOLDER}/{partition}")


def _retire(config: TableConfig, wanted: Collection[str]) -> dict[str, str | None]:
    """Nobody reads the partitions ``wanted`` from here on."""
    return told_as((p for p in listed(config) if p not in wanted), {*building(config), *wanted})


def _whole(config: TableConfig, wanted: Sequence[str]) -> tuple[str, ...]:
    """``wanted``, and with ``files`` all partitions that there are: Hudi's are wiped with it, and
    of others the instants of their log files."""
    others = {*listed(config), *building(config)} if FILES in wanted else set()
    others = {p for p in others if is_kept(config, p)}
    return (*wanted, *sorted(others - set(wanted)))


def _still_kept(before: TableConfig, config: TableConfig, wanted: Sequence[str]) -> tuple[str, ...]:
    """:func:`_whole`, without what somebody has dropped since the properties were as ``before``.
    CommitConflictError if none is left."""
    gone = {*listed(before), *building(before)}.difference(listed(config), building(config))
    left = tuple(p for p in _whole(config, wanted) if is_kept(config, p) and p not in gone)
    if not left:
        raise CommitConflictError(
            f"metadata table of {config.name}",
            f"{', '.join(wanted)} was dropped meanwhile.",
            "Open the table again, and create the index if you need it.",
        )
    return left


def refuse_another(snapshot: Snapshot, mine: Instant | None = None) -> None:
    living = Liveness(snapshot.storage)
    for other in snapshot.pending():
        if other.action != INDEXING or (mine is not None and other.requested == mine.requested):
            continue
        if living.is_alive(other.requested):
            raise CommitConflictError(
                f"{snapshot.root}: indexing {other.requested}",
                "is still in progress.",
                "Wait until it has ended.",
            )
        publish.withdraw(snapshot, other)


def infos(wanted: Iterable[str], timeline: Timeline) -> list[dict[str, object]]:
    done = [i.requested for i in timeline.completed()]
    if not timeline.layout.names_completion:
        # Who goes by it must not take a write that completes later for one that it was made of.
        first = min(
            (order_key(i.requested) for i in timeline.pending() if i.is_write), default=None
        )
        done = [i for i in done if first is None or order_key(i) < first]
    newest = max(done, default=None)
    return [
        {"metadataPartitionPath": partition, "indexUptoInstant": newest} for partition in wanted
    ]
