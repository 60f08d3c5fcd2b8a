"""What the actions of the timeline mean."""

from __future__ import annotations

import pytest
from hoodoo.model.action import ACTIONS, named
from hoodoo.model.instant import Instant, State


def test_they_are_those_of_the_specification() -> None:
    """Hudi's ``HoodieTimeline.VALID_ACTIONS_IN_TIMELINE`` refuses others."""
    assert set(ACTIONS) == {
        "commit", "deltacommit", "replacecommit", "compaction", "logcompaction", "clustering",
        "clean", "rollback", "restore", "savepoint", "indexing", "schemacommit",
    }  # fmt: skip


@pytest.mark.parametrize("action", ACTIONS.values(), ids=lambda action: action.name)
def test_traits_agree_with_each_other(action: object) -> None:
    found = named(action.name)  # type: ignore[attr-defined]
    assert found is action
    done = named(found.completes_as)
    assert done.completes_as == done.name, "what is completed is filed under itself"
    assert found.writes <= (found.changes_rows and found.changes_files)
    assert not (found.is_service and (found.is_undone or found.writes or found.changes_rows))
    assert not (found.undoes and found.changes_files)
    assert found.replaces == done.replaces


def test_which_actions_are_meant() -> None:
    def with_trait(trait: str) -> set[str]:
        return {action.name for action in ACTIONS.values() if getattr(action, trait)}

    assert with_trait("undoes_one") == {"rollback"}
    assert with_trait("rewinds") == {"restore"}
    assert with_trait("is_plain") == {"commit"}
    assert with_trait("appends") == {"deltacommit", "logcompaction"}
    assert with_trait("compacts") == {"compaction", "logcompaction"}
    assert with_trait("replaces") == {"replacecommit", "clustering"}


def test_a_plan_completes_as_a_write_and_is_none() -> None:
    plan = Instant("20250101000000000", "compaction", State.REQUESTED)
    assert plan.completes_as_write and not plan.is_write
    assert plan.at(State.COMPLETED).completes_as_write


def test_a_name_that_nobody_knows_means_nothing() -> None:
    unknown = named("audit")
    assert unknown.completes_as == "audit"
    assert not (unknown.writes or unknown.is_undone or unknown.is_heeded or unknown.changes_files)
