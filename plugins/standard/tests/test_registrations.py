"""What this distribution offers, through the kernel; and the observer."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import pytest
import structlog
from hoodoo.hookspecs.observer import Event
from hoodoo.hookspecs.registration import Settings
from hoodoo.kernel.registry import kernel
from hoodoo.kernel.resolve import resolve
from hoodoo.model.config import TableConfig
from hoodoo.testing.contracts.creation import CreationContract
from hoodoo.testing.contracts.observer import ObserverContract
from hoodoo_standard import registrations

SETTINGS = {
    "SIMPLE": ("id", "part"),
    "COMPLEX": ("a,b", "p,q"),
    "NON_PARTITION": ("id", ""),
    "CUSTOM": ("id", "part:SIMPLE,ts:TIMESTAMP"),
}


def settings(keys: str, partitions: str) -> Settings:
    return Settings(
        TableConfig(
            {
                "hoodie.table.recordkey.fields": keys,
                "hoodie.table.partition.fields": partitions,
                "hoodie.table.ordering.fields": "ts",
                "hoodie.keygen.timebased.timestamp.type": "UNIX_TIMESTAMP",
                "hoodie.keygen.timebased.output.dateformat": "yyyy/MM",
                "hoodoo.index.tee": "bloom,simple",
            }
        )
    )


def offers() -> list[tuple[str, str, str]]:
    return [
        (family, offer.name, name)
        for family in ("key_generator", "merger", "index", "layout", "serializer")
        for offer in kernel().offers(family)
        if offer.plugin.distribution == "hoodoo-standard"
        for name in (offer.name, *offer.registration.aliases)
    ]


@pytest.mark.parametrize(("family", "name", "alias"), offers())
def test_every_name_and_alias_makes_an_object(family: str, name: str, alias: str) -> None:
    given = settings(*SETTINGS.get(name, ("id", "part")))
    assert resolve(family, alias, given).instance == resolve(family, name, given).instance


@pytest.mark.parametrize(
    ("family", "alias"),
    [
        ("key_generator", "org.apache.hudi.keygen.SimpleKeyGenerator"),
        ("key_generator", "org.apache.hudi.keygen.SimpleAvroKeyGenerator"),
        ("key_generator", "org.apache.hudi.keygen.ComplexKeyGenerator"),
        ("key_generator", "org.apache.hudi.keygen.NonpartitionedKeyGenerator"),
        ("key_generator", "org.apache.hudi.keygen.TimestampBasedKeyGenerator"),
        ("key_generator", "org.apache.hudi.keygen.TimestampBasedAvroKeyGenerator"),
        ("key_generator", "org.apache.hudi.keygen.CustomKeyGenerator"),
        ("key_generator", "org.apache.hudi.keygen.CustomAvroKeyGenerator"),
        ("key_generator", "org.apache.hudi.keygen.GlobalDeleteKeyGenerator"),
        ("key_generator", "org.apache.hudi.keygen.GlobalAvroDeleteKeyGenerator"),
        ("merger", "EVENT_TIME_ORDERING"),
        ("merger", "ce9acb64-bde0-424c-9b91-f6ebba25356d"),
        ("merger", "org.apache.hudi.common.model.OverwriteWithLatestAvroPayload"),
        ("merger", "org.apache.hudi.common.model.DefaultHoodieRecordPayload"),
        ("merger", "org.apache.hudi.common.model.EventTimeAvroPayload"),
        ("index", "SIMPLE"),
        ("index", "GLOBAL_SIMPLE"),
        ("index", "BUCKET"),
        ("layout", "small_file"),
        ("layout", "new_files"),
        ("serializer", "arrow"),
        ("serializer", "avro"),
        ("serializer", "pickle"),
    ],
)
def test_names_found_in_tables(family: str, alias: str) -> None:
    assert kernel().find(family, alias) is not None


def test_what_decides_bytes_is_a_table_property() -> None:
    properties = {key for key, option in kernel().options.items() if option.table_property}
    assert {
        "hoodie.datasource.write.hive_style_partitioning",
        "hoodie.datasource.write.partitionpath.urlencode",
        "hoodie.datasource.write.keygenerator.consistent.logical.timestamp.enabled",
        "hoodie.write.complex.keygen.new.encoding",
        "hoodie.bucket.index.num.buckets",
        "hoodie.bucket.index.hash.field",
        "hoodie.simple.index.update.partition.path",
    } <= properties
    assert "hoodie.parquet.max.file.size" not in properties


class TestLog(ObserverContract):
    @pytest.fixture
    def observe(self) -> Callable[[Event], None]:
        return registrations.hoodoo_event


def test_an_event_is_one_line() -> None:
    event = Event("write.committed", "t", "123", {"inserted": 3, "table": "other"})
    with structlog.testing.capture_logs() as lines:
        registrations.hoodoo_event(event)
    assert lines == [
        {
            "event": "write.committed", "log_level": "info", "table": "t", "instant": "123",
            "inserted": 3, "detail_table": "other",
        }
    ]  # fmt: skip


def test_lines_are_quiet_unless_asked_for(
    capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    """Unconfigured structlog prints every line to standard output."""
    assert not structlog.is_configured()  # whatever the tests before it did
    event = Event("write.committed", "t", "123", {"inserted": 3})
    registrations.hoodoo_event(event)
    assert capfd.readouterr() == ("", "")
    with caplog.at_level(logging.INFO, "hoodoo"):
        registrations.hoodoo_event(event)
    (line,) = caplog.messages
    assert "event='write.committed'" in line and "inserted=3" in line and "instant='123'" in line


class TestCreation(CreationContract):
    @pytest.fixture
    def new_table(self) -> Any:
        return registrations.hoodoo_new_table
