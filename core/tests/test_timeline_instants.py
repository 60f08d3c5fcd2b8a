"""Instants: strictly monotonic whatever the clock does; points in time as users give them."""

from __future__ import annotations

from datetime import date, datetime, timedelta, timezone

import pytest
from hoodoo.errors import ConfigError, CorruptTableError, HoodooError
from hoodoo.model.action import ACTIONS
from hoodoo.model.filegroup import BaseFile, LogFile
from hoodoo.model.instant import Instant, State
from hoodoo.timeline import instants
from hoodoo.timeline.layouts import LAYOUTS
from hoodoo.timeline.names import parse_data_file
from hypothesis import given
from hypothesis import strategies as st

T = "20240418223550847"
MOMENTS = st.datetimes(
    min_value=datetime(1990, 1, 1), max_value=datetime(2100, 1, 1), timezones=st.just(timezone.utc)
)


@given(st.lists(MOMENTS, min_size=1, max_size=30), st.sampled_from(["UTC", "LOCAL"]))
def test_strictly_monotonic_with_any_clock(clock: list[datetime], zone: str) -> None:
    last: str | None = None
    for now in clock:
        new = instants.next_instant(now, last, zone)
        assert len(new) == 17
        assert last is None or new > last
        assert new >= instants.from_datetime(now, zone)
        last = new


@given(MOMENTS, st.sampled_from(["UTC", "LOCAL"]))
def test_there_and_back(moment: datetime, zone: str) -> None:
    text = instants.from_datetime(moment, zone)
    assert instants.from_datetime(instants.to_datetime(text, zone), zone) == text
    if zone == "UTC":
        assert moment - instants.to_datetime(text) < timedelta(milliseconds=1)


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        ("20240418223550847", "20240418223550848"),
        ("20240418223550", "20240418223551000"),  # legacy: the end of its second
        ("20241231235959999", "20250101000000000"),
        ("00000000000000004", "20200101000000000"),
        (None, "20200101000000000"),
    ],
)
def test_next_after(after: str | None, expected: str) -> None:
    assert instants.next_instant(datetime(2020, 1, 1, tzinfo=timezone.utc), after) == expected


@pytest.mark.parametrize("last", ["99999999999999999", "99991231235959999"])
def test_nothing_follows_a_date_that_is_none(last: str) -> None:
    with pytest.raises(CorruptTableError, match=last):
        instants.next_instant(datetime(2020, 1, 1, tzinfo=timezone.utc), last)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (T, T),
        ("20240418223550", "20240418223550999"),
        ("000", "00000000000000000"),
        ("2024-04-18T22:35:50.847Z", T),
        ("2024-04-18 22:35:50.847999+00:00", T),
        ("2024-04-19T00:35:50.847+0200", T),
        ("2024-04-18T22:35Z", "20240418223500000"),
        (datetime(2024, 4, 18, 22, 35, 50, 847000, tzinfo=timezone.utc), T),
        (datetime(2024, 4, 18, 20, 35, 50, 847999, timezone(timedelta(hours=-2))), T),
        ("2024-04-18", "20240418235959999"),
        (date(2024, 2, 29), "20240229235959999"),
        ("00000000000001", "00000000000001999"),
    ],
)
def test_points(value: str | datetime, expected: str) -> None:
    assert instants.parse_point(value) == expected


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (datetime(2024, 4, 18), "zone"),
        ("2024-04-18T22:35:50", "zone"),
        ("2024-02-30", "not a date"),
        ("20249999999999999", "not a date"),
        ("20240418223561", "not a date"),
        ("yesterday", "neither"),
        ("20240418", "neither"),
        ("", "neither"),
        ("2024-13-18T22:35:50Z", "not a date"),
        ("2024-04-18T22:35:50+99:00", "not a date"),
        (20240418223550847, "neither"),
    ],
)
def test_points_refused(value: str | datetime, said: str) -> None:
    with pytest.raises(ConfigError, match=said) as caught:
        instants.parse_point(value)
    assert caught.value.fix


# --- names ------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("name", "layout", "instant"),
    [
        (f"{T}.commit.requested", 1, Instant(T, "commit", State.REQUESTED)),
        (f"{T}.inflight", 2, Instant(T, "commit", State.INFLIGHT)),
        (f"{T}.commit", 1, Instant(T, "commit")),
        ("20240418223550.commit", 1, Instant("20240418223550", "commit")),
        (f"{T}_{T}.commit", 2, Instant(T, "commit", State.COMPLETED, T)),
        (f"{T}.savepoint.inflight", 2, Instant(T, "savepoint", State.INFLIGHT)),
        (f"{T}.clustering.requested", 2, Instant(T, "clustering", State.REQUESTED)),
        (f"{T}_{T}.replacecommit", 2, Instant(T, "replacecommit", State.COMPLETED, T)),
        (f"{T}.logcompaction.inflight", 1, Instant(T, "logcompaction", State.INFLIGHT)),
    ],
)
def test_instant_names(name: str, layout: int, instant: Instant) -> None:
    assert LAYOUTS[layout].parse_instant(name) == instant
    assert LAYOUTS[layout].file_name(instant) == name


@pytest.mark.parametrize("layout", [1, 2])
@pytest.mark.parametrize("action", sorted(ACTIONS))
@pytest.mark.parametrize("state", list(State))
def test_every_action_and_state_round_trips(action: str, state: State, layout: int) -> None:
    instant = Instant(T, action, state, T if layout == 2 and state is State.COMPLETED else None)
    found = LAYOUTS[layout].parse_instant(LAYOUTS[layout].file_name(instant))
    assert found is not None
    assert (found.requested, found.state, found.completed) == (T, state, instant.completed)
    services = {"compaction": "commit", "logcompaction": "deltacommit"}
    services["clustering"] = "replacecommit"
    renamed = state is State.COMPLETED or (layout == 1 and action == "clustering")
    assert found.action == (services.get(action, action) if renamed else action)


@pytest.mark.parametrize(
    ("name", "layout"),
    [
        ("hoodie.properties", 1),
        (f"{T}.commit", 2),
        (f"{T}_{T}.commit", 1),
        (f"{T}_{T}.compaction", 2),
        (f"{T}.requested", 1),
        (f"{T}.commit.requested.crc", 1),
        (f".{T}.commit.crc", 1),
        (f"{T}.nonsense", 1),
        (f"{T}1.commit", 1),
        ("metadata", 1),
    ],
)
def test_foreign_timeline_names(name: str, layout: int) -> None:
    assert LAYOUTS[layout].parse_instant(name) is None


def test_completed_on_layout_2_needs_its_time() -> None:
    with pytest.raises(HoodooError, match="completion time"):
        LAYOUTS[2].file_name(Instant(T, "commit"))


@pytest.mark.parametrize("extension", [".parquet", ".orc", ".lance", ".hfile"])
def test_base_file_names(extension: str) -> None:
    name = f"0712b9f9-d2d5-4cae-bcf4-8fd7146af503-0_0-13-23_{T}{extension}"
    file = parse_data_file("a=1/b=2", name, 5)
    assert isinstance(file, BaseFile)
    assert (file.file_id, file.write_token, file.instant, file.extension, file.size) == (
        "0712b9f9-d2d5-4cae-bcf4-8fd7146af503-0",
        "0-13-23",
        T,
        extension,
        5,
    )
    assert file.path == f"a=1/b=2/{name}"


@pytest.mark.parametrize("suffix", ["", ".cdc"])
def test_log_file_names(suffix: str) -> None:
    name = f".0712b9f9-0_{T}.log.3_0-13-9{suffix}"
    file = parse_data_file("", name)
    assert isinstance(file, LogFile)
    assert (file.file_id, file.version, file.suffix) == ("0712b9f9-0", 3, suffix)
    assert file.path == name


@pytest.mark.parametrize(
    "name",
    [
        "part-00000.parquet",
        f"a_b_c_{T}.parquet",
        f"x_0-1-2_{T}.parquet.crc",
        f".x_0-1-2_{T}.parquet.crc",
        f".x_{T}.log.1_0-1-2.crc",
        f"x_0-1-2_{T}",
        "_SUCCESS",
        ".hoodie_partition_metadata",
        "x_0-1-2_2024.parquet",
    ],
)
def test_foreign_data_names(name: str) -> None:
    assert parse_data_file("p", name) is None
