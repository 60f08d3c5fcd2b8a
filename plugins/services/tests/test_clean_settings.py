"""Options of cleaning that core reads."""

from __future__ import annotations

import pytest
from hoodoo.errors import ConfigError
from hoodoo_services.clean.settings import CleanSettings, named


def test_defaults() -> None:
    assert CleanSettings.of({}) == CleanSettings("by_commits", 0.0, True, 1, 32)


def test_new_names_go_before_old_ones() -> None:
    old = {
        "hoodie.cleaner.policy": "KEEP_LATEST_BY_HOURS",
        "hoodie.cleaner.incremental.mode": "false",
        "hoodie.clean.max.commits": "3",
        "hoodie.cleaner.parallelism": "4",
    }
    assert CleanSettings.of(old) == CleanSettings("KEEP_LATEST_BY_HOURS", 0.0, False, 3, 4)
    new = {"hoodie.clean.policy": "by_versions", "hoodie.clean.trigger.max.commits": "2"}
    assert CleanSettings.of({**old, **new}) == CleanSettings("by_versions", 0.0, False, 2, 4)


def test_never() -> None:
    given = {"hoodie.clean.automatic": "false", "hoodie.clean.trigger.max.commits": "2"}
    assert CleanSettings.of(given).every == 0


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("hoodoo.clean.reader.window", "-1"),
        ("hoodoo.clean.reader.window", "nan"),
        ("hoodoo.clean.reader.window", "an hour"),
        ("hoodie.clean.parallelism", "0"),
        ("hoodie.clean.trigger.max.commits", "1.5"),
    ],
)
def test_no_numbers(key: str, value: str) -> None:
    with pytest.raises(ConfigError, match=key):
        CleanSettings.of({key: value})


def test_arguments_are_options() -> None:
    assert named({"commits_retained": 2, "reader_window": 1.5}) == {
        "hoodie.clean.commits.retained": 2,
        "hoodoo.clean.reader.window": 1.5,
    }
