"""One round of what is due, and who leads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any, ClassVar

import hoodoo
import pytest
from hoodoo.errors import ConfigError
from hoodoo.hookspecs.action import AfterWrite
from hoodoo_serve import table_services
from hoodoo_serve.table_services import Round, TableServices, service_options
from hoodoo_serve.testing.service_policy import ServicePolicyContract

Made = Callable[..., hoodoo.Table]


def actions(table: hoodoo.Table) -> list[str]:
    return [instant.action for instant in table.timeline().instants]


def done(found: Round) -> list[str]:
    assert not found.failed, found.failed
    return [ran.what for ran in found.ran if ran.done]


def values(table: hoodoo.Table) -> dict[str, list[Any]]:
    rows = table.read(columns=["id", "v", "ts"]).to_arrow()
    return dict(rows.sort_by("id").to_pydict())


def services(table: hoodoo.Table, **options: str) -> TableServices:
    return TableServices(table.path, {f"hoodie.{key}": text for key, text in options.items()})


class TestPendingPlans(ServicePolicyContract):
    @pytest.fixture
    def policy(self) -> str:
        return "pending_plans"


class TestFollowing(ServicePolicyContract):
    options: ClassVar = {"hoodie.compact.inline": "true"}

    @pytest.fixture
    def policy(self) -> str:
        return "following"


def test_log_files_are_compacted_when_it_is_due(made: Made) -> None:
    table = made()
    looked = services(table)
    before = values(table)
    assert done(looked.round()) == ["compaction"]
    assert done(looked.round()) == []
    assert "commit" in actions(table)
    assert values(table) == before
    looked.close()


def test_a_table_that_wants_no_compaction_gets_none(made: Made) -> None:
    looked = TableServices(made().path, {"hoodie.compact.inline": "false"})
    assert done(looked.round()) == []
    looked.close()


@pytest.mark.parametrize("kind", ["compaction", "clustering"])
def test_plans_of_others_are_run(made: Made, kind: str) -> None:
    table = made(deltas=2)
    if kind == "clustering":  # it leaves file groups alone that have log files
        table.compact()
        assert table.schedule(kind, columns="v")
    else:
        assert table.schedule(kind)
    looked = services(table)
    assert done(looked.round()) == ["pending plans"]
    assert not table.timeline().pending()
    looked.close()


def test_one_leads_and_the_other_stands_by(made: Made) -> None:
    table = made()
    first, second = services(table), services(table)
    assert first.round().role == "leads"
    assert second.round().role == "stands by"
    assert first.round().role == "leads"
    first.close()
    assert second.round().role == "leads"
    assert first.round().role == "stands by"
    second.close()


def test_a_table_that_is_not_there_is_said(made: Made, tmp_path: Any) -> None:
    found = TableServices(str(tmp_path / "none"), {}).round()
    assert found.role == "failed"
    assert "none" in found.failed[0]


def test_what_fails_does_not_stop_what_comes_next(
    made: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Policy:
        def services(self, table: Any) -> Sequence[AfterWrite]:
            def first(timeline: Any, engine: Any) -> bool:
                raise ConfigError("the disk", "is full.", "Make it larger.")

            def second(timeline: Any, engine: Any) -> bool:
                raise ZeroDivisionError("of a stranger")

            def third(timeline: Any, engine: Any) -> bool:
                return True

            return [
                AfterWrite("third", third, order=3),
                AfterWrite("first", first, order=1),
                AfterWrite("second", second, order=2),
            ]

    mine = SimpleNamespace(instance=Policy())
    monkeypatch.setattr(table_services, "resolve", lambda *_: mine)
    looked = TableServices(made(deltas=1).path, {}, lock="")
    found = looked.round()
    assert [(ran.what, ran.error, ran.done) for ran in found.ran] == [
        ("first", "ConfigError", False),
        ("second", "ZeroDivisionError", False),
        ("third", "", True),
    ]
    assert found.failed == (
        "first: the disk: is full. Fix: Make it larger.",
        "second: ZeroDivisionError: of a stranger",
    )
    looked.close()


def test_options_of_services_beside_writers_become_their_own() -> None:
    given = {"hoodie.datasource.clustering.async.enable": "true"}
    assert service_options("COPY_ON_WRITE", given) == {
        "hoodie.clustering.inline": "true",
        "hoodie.clustering.inline.max.commits": "4",
    }
    assert service_options("MERGE_ON_READ", {}) == {"hoodie.compact.inline": "true"}
