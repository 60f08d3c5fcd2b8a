"""The contract of actions can fail: an action that breaks a rule is found by the test of that rule."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import hoodoo
import pytest
from attrs import frozen
from hoodoo.errors import CallError, ConfigError
from hoodoo.hookspecs.action import AfterWrite
from hoodoo.options import FLAG, Option
from hoodoo.table.handle import TableHandle
from hoodoo.testing.contracts.action import SCHEMA, ActionContract
from hoodoo.timeline.timeline import Timeline
from hoodoo_rows.api import Writes, WriteTarget

pytestmark = pytest.mark.sampled(4)

INLINE = Option("acme.forget", "Forget after writes.", "false", kind=FLAG)
PLAN = ".hoodie/forget.plan"


@frozen
class Forget:
    """Drops the partition ``b``, as an action should."""

    def run(self, table: TableHandle, partition: str = "b") -> Any:
        def choose(target: WriteTarget) -> Sequence[str] | None:
            return [partition] if partition in {s.partition_path for s in target.slices} else None

        commit = Writes.drop_partitions(table.write_request(Writes.DELETE_PARTITION), choose)
        return "" if commit is None else commit.instant

    def after_write(self, table: TableHandle) -> AfterWrite | None:
        if not INLINE.read(table.options):
            return None
        return AfterWrite("forgetting", lambda timeline, engine: bool(self.run(table)))


class HalfPlanned(Forget):
    def schedule(self, table: TableHandle) -> str | None:
        return None


class SaysNothing(Forget):
    def run(self, table: TableHandle, partition: str = "b") -> Any:
        super().run(table, partition)


class DoesNothing(Forget):
    def run(self, table: TableHandle, partition: str = "b") -> Any:
        return ""


class AlwaysCommits(Forget):
    """Also where there is nothing to do."""

    def run(self, table: TableHandle, partition: str = "b") -> Any:
        commit = Writes.drop_partitions(
            table.write_request(Writes.DELETE_PARTITION), lambda target: [partition]
        )
        return commit and commit.instant


class CommitsOnce(Forget):
    """Whatever the table has, as long as nobody has done so before."""

    def run(self, table: TableHandle, partition: str = "b") -> Any:
        if any(i.action == "replacecommit" for i in table.timeline().instants):
            return ""
        commit = Writes.drop_partitions(
            table.write_request(Writes.DELETE_PARTITION), lambda target: [partition]
        )
        return commit and commit.instant


class TakesAnything(Forget):
    def run(self, table: TableHandle, partition: str = "b", **options: Any) -> Any:
        return super().run(table, partition)


class InTwoSteps(Forget):
    """A process that ends between its commits leaves what nobody asked for."""

    def run(self, table: TableHandle, partition: str = "b") -> Any:
        return super().run(table, "a") + super().run(table, partition)


class ForgetsToFinish(Forget):
    """What a process that ended has begun is never taken up again."""

    def run(self, table: TableHandle, partition: str = "b") -> Any:
        if not table.storage.put_if_absent(PLAN, b""):
            return ""
        return super().run(table, partition)


class PlansElsewhere(Forget):
    """The plan is not on the timeline."""

    def schedule(self, table: TableHandle) -> str | None:
        return "20240101000000000"

    def run_planned(self, table: TableHandle, instant: str) -> Any:
        return self.run(table)


class WhileYoung(Forget):
    """Drops the partition as long as the table has three writes."""

    def run(self, table: TableHandle, partition: str = "b") -> Any:
        def choose(target: WriteTarget) -> Sequence[str] | None:
            return [partition] if len(target.timeline.writes()) == 3 else None

        commit = Writes.drop_partitions(table.write_request(Writes.DELETE_PARTITION), choose)
        return "" if commit is None else commit.instant


class ListsBefore(Forget):
    """As :class:`WhileYoung`, but it goes by a list that it made before: what another writer adds goes, too."""

    def run(self, table: TableHandle, partition: str = "b") -> Any:
        table.refresh()
        listed = [partition] if len(table.timeline().writes()) == 3 else None
        commit = Writes.drop_partitions(
            table.write_request(Writes.DELETE_PARTITION), lambda target: listed
        )
        return "" if commit is None else commit.instant


class WritesBeforeTheWrite(Forget):
    def after_write(self, table: TableHandle) -> AfterWrite | None:
        if INLINE.read(table.options):
            self.run(table)
        return super().after_write(table)


class AlwaysDue(Forget):
    def after_write(self, table: TableHandle) -> AfterWrite | None:
        def due(timeline: Timeline, engine: Callable[[], Any]) -> bool:
            self.run(table)
            return True

        return AfterWrite("forgetting", due)


class JudgesLate(Forget):
    def after_write(self, table: TableHandle) -> AfterWrite | None:
        def due(timeline: Timeline, engine: Callable[[], Any]) -> bool:
            return INLINE.read(table.options) and bool(self.run(table))

        return AfterWrite("forgetting", due)


class Suite(ActionContract):
    table = {"partition_by": "region"}
    changes_rows = True
    inline = {"acme.forget": "true"}
    wrong = {"acme.forget": "perhaps"}

    def prepare(self, table: Any) -> None:
        super().prepare(table)
        assert {s.partition_path for s in table.file_slices()} == {"a", "b"}


RULES = [name for name in vars(ActionContract) if name.startswith("test_")]
BROKEN: dict[type[Forget], str] = {
    HalfPlanned: "test_obeys_the_protocol",
    SaysNothing: "test_a_run_does_something_and_says_what",
    DoesNothing: "test_a_run_does_something_and_says_what",
    AlwaysCommits: "test_a_second_run_changes_nothing",
    CommitsOnce: "test_a_table_without_commits_stays_so",
    TakesAnything: "test_an_unknown_option_is_an_error",
    PlansElsewhere: "test_a_plan_is_run_by_whom_it_meets",
    AlwaysDue: "test_after_a_write_it_is_due_once",
    WritesBeforeTheWrite: "test_after_a_write_it_is_due_once",
    JudgesLate: "test_wrong_options_are_refused_before_a_write",
    InTwoSteps: "test_a_crash_leaves_the_table_old_or_new",
    ForgetsToFinish: "test_a_crash_leaves_the_table_old_or_new",
    ListsBefore: "test_a_writer_in_between_comes_before_or_after",
}


class TestForget(Suite):
    @pytest.fixture
    def action(self) -> Forget:
        return Forget()


class Looking(Suite):
    effect = "never"


def fails(action: Forget, rule: str, path: Path, kind: type[ActionContract] = Suite) -> str | None:
    """What the test ``rule`` says of ``action``; None where it passes."""
    suite = kind()
    path.mkdir()
    fixture = {
        name: inspect.unwrap(_plain(getattr(Suite, name))) for name in ("created", "prepared")
    }
    created = fixture["created"](suite, path, (9, "COPY_ON_WRITE"))
    offered: dict[str, Any] = {"action": action, "created": created, "tmp_path": path}
    test = getattr(suite, rule)
    if "prepared" in inspect.signature(test).parameters:
        offered["prepared"] = fixture["prepared"](suite, path, created)
    try:
        test(**{name: offered[name] for name in inspect.signature(test).parameters})
    except pytest.skip.Exception:
        return None
    except (AssertionError, pytest.fail.Exception, ConfigError) as error:
        return str(error) or type(error).__name__
    return None


def _plain(fixture: Any) -> Any:
    """The function of a fixture: newer versions of pytest wrap it in an object."""
    return getattr(fixture, "_get_wrapped_function", lambda: fixture)()


@pytest.mark.parametrize("kind", BROKEN, ids=lambda kind: kind.__name__)
def test_a_broken_action_is_found(kind: type[Forget], tmp_path: Path) -> None:
    assert fails(kind(), BROKEN[kind], tmp_path / "broken"), "the rule can't fail"
    assert fails(Forget(), BROKEN[kind], tmp_path / "whole") is None


def test_an_action_that_only_looks(tmp_path: Path) -> None:
    rules = [BROKEN[DoesNothing], "test_a_crash_leaves_the_table_old_or_new"]
    for number, rule in enumerate(rules):
        assert fails(Forget(), rule, tmp_path / f"changes{number}", Looking)
    assert fails(DoesNothing(), BROKEN[DoesNothing], tmp_path / "looks", Looking) is None


class Planned(Forget):
    """Plans nothing; what it takes is what matters."""

    def schedule(self, table: TableHandle, partition: str = "b") -> str | None:
        return None

    def run_planned(self, table: TableHandle, instant: str, engine: Any = None) -> Any:
        return instant


def test_options_are_judged_by_what_an_action_names(tmp_path: Path) -> None:
    table = hoodoo.create(str(tmp_path / "t"), SCHEMA, record_key="id", partition_by="region")
    assert table.run_planned(Planned(), "20240101000000000", engine="local") == "20240101000000000"
    assert table.schedule(Planned(), partition="a") is None
    with pytest.raises(
        CallError, match=r"Did you mean 'engine'\? It is called as table\.run_planned"
    ):
        table.run_planned(Planned(), "20240101000000000", engin="local")
    with pytest.raises(CallError, match="'partition'"):
        table.schedule(Planned(), partitions="a")
    with pytest.raises(CallError, match=r"It is called as table\.run\('restore', instant\)"):
        table.run("restore")
    with pytest.raises(CallError, match="there is no option 'stategy'"):
        table.run("compaction", stategy="log_size")
    with pytest.raises(ConfigError, match="runs at once and can.t be planned"):
        table.schedule(Forget())


def test_each_rule_has_a_broken_action() -> None:
    assert set(BROKEN.values()) == set(RULES)


def test_an_action_that_chooses_with_each_attempt_passes(tmp_path: Path) -> None:
    rule = "test_a_writer_in_between_comes_before_or_after"
    assert fails(WhileYoung(), rule, tmp_path / "right") is None
