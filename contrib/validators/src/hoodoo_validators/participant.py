"""Pre-commit validation as a participant: it refuses the write whose rows break a rule."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timezone

from attrs import evolve, frozen
from hoodoo.errors import DataError
from hoodoo.hookspecs import Settings
from hoodoo.hookspecs.participant import ActionChange
from hoodoo.kernel.resolve import resolve
from hoodoo.model.commit import CommitMetadata, Operation
from hoodoo.model.instant import State
from hoodoo.model.schema.avro import avro_text
from hoodoo.storage.api import Storage
from hoodoo.table.handle import TableHandle
from hoodoo.timeline import view
from hoodoo.timeline.instants import next_instant
from hoodoo.timeline.snapshot import Snapshot
from hoodoo.timeline.timeline import Timeline
from hoodoo_rows.api import Scan

from hoodoo_validators.hookspec import StagedCommit, Validator
from hoodoo_validators.options import VALIDATORS

# As in Hudi: not of services, and not of a bulk insert, which loads what has been checked
# elsewhere.
_CHECKED = frozenset({
    Operation.INSERT, Operation.INSERT_PREPPED, Operation.UPSERT, Operation.UPSERT_PREPPED,
    Operation.DELETE, Operation.DELETE_PREPPED, Operation.INSERT_OVERWRITE,
    Operation.INSERT_OVERWRITE_TABLE, Operation.DELETE_PARTITION,
})  # fmt: skip


@frozen
class Validation:
    """Implements :class:`~hoodoo.hookspecs.participant.Participant`. ``validators``: by their
    names."""

    settings: Settings
    validators: Mapping[str, Validator]

    @classmethod
    def from_settings(cls, settings: Settings) -> Validation:
        names = VALIDATORS.stored(settings.options) or ()
        return cls(settings, {n: resolve("validator", n, settings).instance for n in names})

    def join(self, storage: Storage, timeline: Timeline) -> Validating | None:
        return Validating(self) if self.validators else None


@frozen
class Validating:
    """Implements :class:`~hoodoo.hookspecs.participant.Participation`."""

    of: Validation

    @property
    def keys(self) -> bool:
        return False

    @property
    def noted(self) -> Mapping[str, str]:
        return {}

    def begin(self, change: ActionChange) -> None:
        """DataError where a validator finds a problem."""
        if change.operation not in _CHECKED:
            return
        commit = staged(change, self.of.settings)
        for name, validator in self.of.validators.items():
            if problems := validator.problems(commit):
                raise DataError(
                    f"write to {change.timeline.config.name}",
                    f"is refused by the validator {name}: {'; '.join(problems)}.",
                    f"Repair the rows, or change {VALIDATORS.key}. The table is as it was.",
                )


def staged(change: ActionChange, settings: Settings) -> StagedCommit:
    """The rows before and after ``change``. Lists the partition paths that it touches."""
    paths = {stat.partition_path for stat in change.stats} | set(change.replaced)
    files = view.parsed(view.list_data(change.storage, paths))
    table = TableHandle(change.storage, change.timeline.config, settings.options).source()
    before, after = (
        Scan.of(
            evolve(table, timeline=timeline),
            view=view.from_files(Snapshot(change.storage, timeline), files),
        )
        for timeline in (change.timeline, _with(change))
    )
    return StagedCommit(change.operation, tuple(sorted(paths)), before, after)


def _with(change: ActionChange) -> Timeline:
    """The timeline as if the write had been committed."""
    timeline, instant = change.timeline, change.instant
    last = timeline.last_instant_time()
    completed = next_instant(
        datetime.now(timezone.utc), max(filter(None, (last, instant.requested)))
    )
    own = instant.at(State.COMPLETED, completed if timeline.layout.names_completion else None)
    after = timeline.followed_by(own)
    schema = avro_text(change.schema, timeline.config.name)
    after.note(
        own, CommitMetadata(change.operation, change.stats, change.replaced, {"schema": schema})
    )
    return after
