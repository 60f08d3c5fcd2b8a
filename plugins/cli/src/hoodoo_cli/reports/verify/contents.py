"""Verify: footers of base files, frames of log files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial

from attrs import frozen
from hoodoo.errors import HoodooError
from hoodoo.hookspecs.file_format import BaseFileFormat
from hoodoo.kernel.log_files import log_files
from hoodoo.model.filegroup import BaseFile, LogFile
from hoodoo.model.findings import Checked, Finding, Found, Progress
from hoodoo.storage.api import Storage
from hoodoo.timeline.instants import order_key
from hoodoo.timeline.layouts import first_layout_of
from hoodoo.timeline.plans import reading_order
from hoodoo.timeline.view import FileSystemView
from hoodoo_rows.api import Batches

from hoodoo_cli.reports.verify.files import DataFile, Instants
from hoodoo_cli.reports.verify.named_files import AT_ONCE, NamedFiles

_DAMAGED = "restore the file from a copy, or roll back or restore the table to before it."


@frozen
class _Opened:
    """``writers``: of a log file's blocks, the instant that wrote it, or that it takes back."""

    file: DataFile
    findings: tuple[Finding, ...] = ()
    writers: tuple[tuple[str, bool], ...] = ()


def check_contents(
    storage: Storage,
    file_format: BaseFileFormat | None,
    view: FileSystemView,
    history: NamedFiles,
    instants: Instants,
    progress: Progress,
) -> Found:
    """Open every committed file of ``view``, those of older slices and replaced groups too; read
    the footers of base files and the frames of log files, no rows. Several at a time."""
    slices = [s for group in view.groups(replaced=True) for s in group.slices]
    bases = [s.base_file for s in slices if s.base_file is not None]
    readable = [b for b in bases if file_format and b.extension == file_format.extension]
    logs = [log for s in slices for log in s.log_files]
    todo = [partial(_base, storage, file_format, history, b) for b in readable if file_format]
    # An upgraded table has log files of before, too.
    layouts = (instants.before.layout, first_layout_of(instants.before.config))
    says_writer = not any(layout.log_names_slice for layout in layouts)
    clusterings = {i.requested for i in instants.after.instants if i.traits.replaces}

    def beside(instant: str) -> bool:
        return instant in clusterings or instants.is_archived(instant)

    todo += [partial(_log, storage, says_writer, beside, log) for log in logs]
    findings: list[Finding] = []
    scanned: list[_Opened] = []
    for done, opened in enumerate(Batches.in_order(todo, AT_ONCE), 1):
        progress("files", done, len(todo))
        findings += opened.findings
        if isinstance(opened.file, LogFile):
            scanned.append(opened)
    if instants.before.layout.log_names_slice:
        findings += _stray_blocks(scanned, instants)
    return Found(
        tuple(findings),
        Checked(base_files=len(readable), log_files=len(logs)),
        _skipped(bases, readable),
    )


def _skipped(bases: list[BaseFile], readable: list[BaseFile]) -> tuple[str, ...]:
    kinds = sorted({b.extension.lstrip(".") for b in bases} - {b.extension[1:] for b in readable})
    if not kinds:
        return ()
    count = len(bases) - len(readable)
    return (
        f"{count} base files of the format {', '.join(kinds)}, for which no plugin is installed",
    )


def _base(
    storage: Storage, file_format: BaseFileFormat, history: NamedFiles, base: BaseFile
) -> Iterator[_Opened]:
    try:
        with file_format.reader(storage, base.path) as reader:
            rows = reader.num_rows
    except HoodooError as error:
        yield _Opened(base, _unless_gone(storage, base, "base.unreadable", error))
        return
    named = history.named.get(base.path)
    if named is None or named.rows is None or named.rows == rows:
        yield _Opened(base)
        return
    rule = f"it has {rows} rows, and commit {named.instant} says {named.rows}"
    yield _Opened(base, (Finding("base.rows", base.path, rule, _DAMAGED),))


def _log(
    storage: Storage, says_writer: bool, beside: Callable[[str], bool], log: LogFile
) -> Iterator[_Opened]:
    """``beside``: whether log files may be named after an instant that they were written beside."""
    try:
        with log_files().reader(storage, log.path, log.size) as reader:
            blocks, damages = reader.blocks, reader.damages
    except HoodooError as error:
        yield _Opened(log, _unless_gone(storage, log, "log.damaged", error))
        return
    found = [
        Finding("log.damaged", log.path, f"at offset {d.offset}: {d.reason}", _DAMAGED)
        for d in damages
    ]
    if says_writer:
        found += [
            Finding(
                "log.damaged",
                log.path,
                f"at offset {b.offset}: its block is of instant {b.instant or 'none'}, and its "
                "name "
                f"says {log.instant}",
                _DAMAGED,
            )
            for b in blocks
            if b.instant != log.instant
            and not b.is_rollback
            and not (beside(log.instant) and order_key(b.instant or "0") > order_key(log.instant))
        ]
    writers = ((b.target_instant if b.is_rollback else b.instant, b.is_rollback) for b in blocks)
    yield _Opened(log, tuple(found), tuple(writers))


def _unless_gone(
    storage: Storage, file: DataFile, kind: str, error: HoodooError
) -> tuple[Finding, ...]:
    """Nothing where the file was listed and has been cleaned away since."""
    if storage.head(file.path) is None:
        return ()
    return (Finding(kind, file.path, error.rule.rstrip("."), error.fix),)


def _stray_blocks(scanned: Iterable[_Opened], instants: Instants) -> Iterator[Finding]:
    """Version 6: blocks of instants that are not on the timeline, and that no rollback took
    back."""
    slices: dict[tuple[str, str], list[tuple[LogFile, _Opened]]] = {}
    for opened in scanned:
        if isinstance(opened.file, LogFile):
            key = (opened.file.partition_path, opened.file.file_id)
            slices.setdefault(key, []).append((opened.file, opened))
    for logs in slices.values():
        left: dict[str, str] = {}  # instant -> the log file with its first block
        for log, opened in sorted(logs, key=lambda pair: reading_order(pair[0])):
            for instant, taken_back in opened.writers:
                if taken_back:
                    left.pop(instant, None)
                else:
                    left.setdefault(instant, log.path)
        for instant, path in left.items():
            if not instants.is_known(instant):
                yield Finding(
                    "file.stray",
                    path,
                    f"it has blocks of instant {instant}, which is not on the timeline: unknown or "
                    "undone, and not taken back; once the timeline has been archived up to there, "
                    "readers will see their rows",
                    "have the file group compacted before that.",
                )
