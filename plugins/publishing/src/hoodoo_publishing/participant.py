"""Open formats as a participant: after each action of the table, their metadata is brought up to
it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import ClassVar, TypeVar

import pyarrow as pa
from attrs import frozen
from hoodoo.errors import (
    CommitConflictError,
    ConfigError,
    HoodooError,
    PluginError,
    SchemaError,
    UnsupportedTableError,
    warn,
)
from hoodoo.hookspecs.participant import ActionChange, RebuildRequest
from hoodoo.model.config import TableConfig
from hoodoo.model.meta import without_meta
from hoodoo.model.schema.avro import arrow_schema
from hoodoo.options.table import DROP_COLUMNS
from hoodoo.storage.api import Storage
from hoodoo.table.handle import TableHandle
from hoodoo.timeline.timeline import Timeline

from hoodoo_publishing import options
from hoodoo_publishing.catalogs.faces import Faces, faces
from hoodoo_publishing.files import Head, completion
from hoodoo_publishing.iceberg.file_ids import note_ids, with_ids
from hoodoo_publishing.sync import Again, Format, sync

T = TypeVar("T")


@frozen
class Publisher:
    """Of a table that is shown in other ``formats``. It writes after an action, never with it: a
    failure here is no failure of the action, and the next action, or ``table.publish()``, catches
    up."""

    formats: tuple[Format, ...]
    faces: Faces = Faces()
    # Of its part in an action.
    keys = False
    noted: ClassVar[Mapping[str, str]] = {}

    def join(self, *look: object) -> Publisher:
        return self

    def begin(self, change: ActionChange) -> None:
        """SchemaError for an action that brings a column which a format has no type for: the table
        could not be published any more. One that is there already stops no action."""
        try:
            self._refuse_types(change.schema)
        except SchemaError:
            if not self._had_one(change):
                raise

    def _had_one(self, change: ActionChange) -> bool:
        """Whether the table has such a column before the action."""
        timeline = change.timeline
        text = timeline.latest_schema_text(change.storage) or timeline.config.create_schema
        try:
            self._refuse_types(without_meta(arrow_schema(text)) if text else pa.schema([]))
        except SchemaError:
            return True
        return False

    def _refuse_types(self, schema: pa.Schema) -> None:
        for form in self.formats:
            form.refuse(schema)

    def new_table(self, config: TableConfig) -> TableConfig:
        check(config, self.formats)
        faces(options.CATALOGS.stored(config.properties) or (), [f.name for f in self.formats])
        if config.create_schema:
            schema = without_meta(arrow_schema(config.create_schema))
            self._refuse_types(schema)
            return with_ids(config, self.formats, schema)
        return config

    def after_action(self, request: RebuildRequest, timeline: Timeline) -> tuple[str, ...]:
        """Publish new commits. Returns ``<format> <instant>`` of each new version."""
        news = True
        try:
            done = publish(request, self.formats, timeline)
            news = bool(done)
            note_ids(request.storage, request.config, self.formats, timeline.latest_schema_text)
            return done
        finally:  # of the other formats, where one failed
            self._show(request.storage, request.config, news)

    def _show(self, storage: Storage, config: TableConfig, published: bool = True) -> None:
        """Update the catalogs. The table is right without them."""
        for face, found in self.faces.update(storage, config, self.formats, published):
            if isinstance(found, HoodooError):
                warn(
                    f"table {config.name}: the catalog entry {face} is not updated ({found}) The "
                    "next action, or table.publish(), repeats it."
                )

    def undone(self, storage: Storage, config: TableConfig, requested: str) -> None:
        """Before the files of ``requested`` are deleted: no format shows them as its newest state
        any more. A failure stops no rollback, which every writer may depend on."""
        shown = [form for form in self.formats if _shows(form, storage, requested)]
        if not shown:
            return
        try:
            # A look alone: the rollback itself is pending.
            look = partial(TableHandle(storage, config, {}).write_target, looks=True)
            publish(RebuildRequest(storage, config, look), shown)
            self._show(storage, config)
        except Exception as error:
            warn(
                f"table {config.name}: until the next action, readers of other formats may miss "
                f"files of {requested}, which is undone ({error})."
            )

    def before_clean(self, request: RebuildRequest, paths: Sequence[str]) -> None:
        """The newest state of the table is published, and snapshots that name one of ``paths`` are
        not listed any more. CommitConflictError where the newest published state can't be replaced
        by one without these files: the clean stays pending."""
        try:
            _, errors = _published(request, self.formats)
        except HoodooError as error:  # of the table
            errors = dict.fromkeys((form.name for form in self.formats), error)
        for form in self.formats:
            name = f"{form.name} metadata of {request.config.name}"
            failed = errors.get(form.name)
            if failed is not None and (needed := _needed(form, request.storage, paths)):
                raise CommitConflictError(
                    f"clean of {request.config.name}",
                    f"would delete {needed}, which readers of {form.name} need: "
                    f"what is newer can't be published ({failed})",
                    f"Remove the cause, or publish {form.name} no longer: "
                    'table.publish("", keep=True).',
                ) from failed
            try:
                form.expire(request.storage, paths)
            except Exception as why:  # the clean goes on: no reader needs these files by default
                warn(f"{name}: older states may name files that are cleaned now ({why}).")
        self._show(request.storage, request.config)


def _shows(form: Format, storage: Storage, requested: str) -> bool:
    """Whether the newest published state has the commit ``requested``, or files of it."""
    try:
        head = form.head(storage)
    except Exception:  # nobody reads the table by it
        return False
    files = head.files.values()
    return head.instant == requested or any(file.instant == requested for file in files)


def _needed(form: Format, storage: Storage, paths: Sequence[str]) -> str | None:
    """One of ``paths`` that the newest published state has. None as well of metadata that can't be
    read: nobody reads the table by it."""
    try:
        return min(form.head(storage).files.keys() & set(paths), default=None)
    except Exception:
        return None


def publish(
    request: RebuildRequest, formats: Sequence[Format], timeline: Timeline | None = None
) -> tuple[str, ...]:
    """Bring the metadata of ``formats`` up to the newest commit. ``timeline``: that of a moment
    ago; where they show its newest commit, the table is not looked at."""
    done, errors = _published(request, formats, timeline)
    for error in errors.values():
        raise error
    return done


def _published(
    request: RebuildRequest, formats: Sequence[Format], timeline: Timeline | None = None
) -> tuple[tuple[str, ...], dict[str, HoodooError]]:
    """The same; and the errors of formats, by their names. One that fails does not stop the
    others."""
    check(request.config, formats)
    tried = partial(_tried, request.config.name)
    heads = [(form, tried(form, partial(form.head, request.storage))) for form in formats]
    errors = {form.name: head for form, head in heads if isinstance(head, HoodooError)}
    ready = [(form, head) for form, head in heads if isinstance(head, Head)]
    # One look for all, after the heads: it is older than none of them.
    if not ready:
        return (), errors
    if timeline is not None and all(_is_newest(head, timeline) for _, head in ready):
        for form, head in ready:
            form.repair(request.storage, head)
        return (), errors
    state = tried(ready[0][0], request.look)
    if isinstance(state, HoodooError):
        raise state
    done: list[str] = []
    again = Again(request.look)
    for form, head in ready:
        found = tried(form, partial(sync, form, request.storage, (head, state), again))
        if isinstance(found, HoodooError):
            errors[form.name] = found
        else:
            done += [f"{form.name} {instant}" for instant in found]
    return tuple(done), errors


def _is_newest(head: Head, timeline: Timeline) -> bool:
    """Whether ``head`` shows the write that completed last. In table version 6, which does not say
    when writes completed, one that began earlier may have come since."""
    newest = max(timeline.writes(), key=completion, default=None)
    return newest is not None and bool(newest.completed) and newest.requested == head.instant


def _tried(table: str, form: Format, work: Callable[[], T]) -> T | HoodooError:
    """What ``work`` answers, or its error. The action is done: nothing of this may look like its
    failure."""
    try:
        return work()
    except HoodooError as error:
        return error
    except Exception as error:
        why = f"failed with {type(error).__name__}: {error}."
        repeat = "Call table.publish() once the cause is removed."
        return PluginError(f"{form.name} metadata of {table}", why, repeat)


def check(config: TableConfig, formats: Sequence[Format]) -> None:
    """Raises ConfigError or UnsupportedTableError for tables that can't be shown."""
    if not formats:
        return
    if not config.base_file_format.upper().endswith("PARQUET"):
        raise UnsupportedTableError(
            f"table {config.name}",
            f"its base files are {config.base_file_format}: readers of "
            f"{' and '.join(form.name for form in formats)} know Parquet.",
            "Create it with base files in Parquet, or without hoodoo.open.formats.",
        )
    if config.table_type == "MERGE_ON_READ" and not options.READ_OPTIMIZED.stored(
        config.properties
    ):
        raise ConfigError(
            f"table {config.name}",
            "is merged on read: other formats can't show the rows of its log files.",
            f"Create the table with {options.READ_OPTIMIZED.key}=true to publish its base files as "
            "of their last compaction, or as COPY_ON_WRITE.",
        )
    if DROP_COLUMNS.stored(config.properties):
        raise UnsupportedTableError(
            f"table {config.name}",
            f"its files lack the partition columns ({DROP_COLUMNS.key}), which readers of other "
            "formats need.",
            f"Create it without {DROP_COLUMNS.key}, or without hoodoo.open.formats.",
        )
