"""What a user says about virtual keys, and what a table notes of it."""

from __future__ import annotations

import pytest
from hoodoo.errors import ConfigError, OptionConflictError
from hoodoo.model.config import KEPT_META, POPULATE, VIRTUAL, TableConfig
from hoodoo.model.meta import COMMIT_TIME, META_COLUMNS, RECORD_KEY
from hoodoo_standard.creation.virtual import (
    CLASS,
    COLUMNS,
    CONCATENATOR,
    VirtualSettings,
)

OF_VIRTUAL_KEYS = [COLUMNS, CONCATENATOR, CLASS, KEPT_META]


@pytest.mark.parametrize(
    "options", [{}, {VIRTUAL: "false"}, {POPULATE: "true"}, {VIRTUAL: "false", POPULATE: "True "}]
)
def test_keys_are_stored_unless_somebody_says_so(options: dict[str, str]) -> None:
    assert VirtualSettings.of(options) is None


def test_the_rfcs_setting() -> None:
    """Hudi's property too; the commit time is kept, as the RFC drops the record key alone."""
    for more in ({}, {POPULATE: "false"}):
        found = VirtualSettings.of({VIRTUAL: " TRUE ", **more})
        assert found == VirtualSettings()
        assert found is not None and found.strict and found.kept == (COMMIT_TIME,)
        assert found.properties() == {POPULATE: "false", VIRTUAL: "true", KEPT_META: COMMIT_TIME}


def test_hudis_setting_alone_is_what_hudi_makes_of_it() -> None:
    found = VirtualSettings.of({POPULATE: "false"})
    assert found is not None and not found.strict and found.kept == ()
    assert found.properties() == {POPULATE: "false"}


def test_everything_said() -> None:
    found = VirtualSettings.of(
        {VIRTUAL: "true", COLUMNS: " a, b.c ,", CONCATENATOR: "-", CLASS: "my.Keys",
         KEPT_META: f"{COMMIT_TIME}, {RECORD_KEY}"}
    )  # fmt: skip
    assert found is not None
    assert found.columns == ("a", "b.c")
    assert (found.concatenator, found.generator) == ("-", "my.Keys")
    assert found.kept == (COMMIT_TIME, RECORD_KEY)
    # Columns and class are noted as the table's own, under Hudi's names.
    assert found.properties() == {
        POPULATE: "false", VIRTUAL: "true", CONCATENATOR: "-",
        KEPT_META: f"{COMMIT_TIME},{RECORD_KEY}",
    }  # fmt: skip


def test_nothing_kept() -> None:
    found = VirtualSettings.of({VIRTUAL: "true", KEPT_META: ""})
    assert found is not None and found.kept == ()
    assert KEPT_META not in found.properties()


@pytest.mark.parametrize(
    ("virtual", "populate", "named"), [("true", "true", "true"), ("false", "false", "false")]
)
def test_settings_that_contradict_each_other(virtual: str, populate: str, named: str) -> None:
    with pytest.raises(OptionConflictError, match=f"{VIRTUAL}={named}: contradicts {POPULATE}"):
        VirtualSettings.of({VIRTUAL: virtual, POPULATE: populate})


@pytest.mark.parametrize("more", [{}, {VIRTUAL: "false"}, {POPULATE: "true"}])
@pytest.mark.parametrize("key", OF_VIRTUAL_KEYS)
def test_settings_without_a_use(key: str, more: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match=f"{key}.*keys of this table are stored"):
        VirtualSettings.of({key: COMMIT_TIME, **more})


@pytest.mark.parametrize("key", [VIRTUAL, POPULATE])
def test_flags_are_true_or_false(key: str) -> None:
    with pytest.raises(ConfigError, match=f"{key}.*true or false, not 'maybe'"):
        VirtualSettings.of({key: "maybe"})


def test_an_empty_concatenator() -> None:
    with pytest.raises(ConfigError, match="concatenator: must be a text that is not empty"):
        VirtualSettings.of({VIRTUAL: "true", CONCATENATOR: ""})


def test_meta_columns_that_do_not_exist() -> None:
    with pytest.raises(
        ConfigError, match=r"must be of _hoodie_commit_time, .*_file_name, not .*id"
    ):
        VirtualSettings.of({VIRTUAL: "true", KEPT_META: f"{COMMIT_TIME},id"})


@pytest.mark.parametrize(
    ("properties", "strict", "filled"),
    [
        ({}, False, META_COLUMNS),
        ({VIRTUAL: "true"}, False, META_COLUMNS),  # Hudi's own property has the last word
        ({POPULATE: "true", KEPT_META: COMMIT_TIME}, False, META_COLUMNS),
        ({POPULATE: "false"}, False, ()),
        ({POPULATE: "false", VIRTUAL: "false"}, False, ()),
        ({POPULATE: "false", VIRTUAL: "true", KEPT_META: ""}, True, ()),
        (
            {POPULATE: "false", VIRTUAL: "true", KEPT_META: f"{COMMIT_TIME}, x"},
            True,
            (COMMIT_TIME,),
        ),
    ],
)
def test_what_a_table_says(
    properties: dict[str, str], strict: bool, filled: tuple[str, ...]
) -> None:
    config = TableConfig(properties)
    assert config.keys_are_strict is strict
    assert config.filled_meta == frozenset(filled)
