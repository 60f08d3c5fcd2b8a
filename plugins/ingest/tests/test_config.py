"""Configurations: what is refused, and how it is said."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, ClassVar

import hoodoo
import pytest
from folders import config
from hoodoo.errors import ConfigError, PluginError
from hoodoo.kernel.answers import Who, checked
from hoodoo.kernel.registry import kernel
from hoodoo_ingest import kinds
from hoodoo_ingest.config import SECTIONS, read_config
from hoodoo_ingest.hookspecs.source import Around
from hoodoo_ingest.run import Ingestion
from hoodoo_ingest.sources.files import KEYS as FILES
from hoodoo_ingest.sources.kafka import KEYS as KAFKA

PAGE = Path(__file__).parents[3] / "docs/ingest.md"

REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "a section": ({"sorce": {}}, "Did you mean 'source'?"),
    "a key": ({"run": {"operatoin": "upsert"}}, "Did you mean 'operation'?"),
    "a key of the source": ({"source": {"paht": "x"}}, "Did you mean 'path'?"),
    "a key of the table": ({"table": {"recordkey": "x"}}, "Did you mean 'record_key'?"),
    "no section": ({"run": 3}, "is no section"),  # type: ignore[dict-item]
    "a number": ({"source": {"max_files": 0}}, "has to be a whole number from 1 on"),
    "a size": ({"source": {"max_bytes": "many"}}, "has to be a size"),
    "a flag": ({"run": {"continuous": "yes"}}, "has to be true or false"),
    "seconds": ({"run": {"every": -1}}, "has to be a number of seconds"),
    "names": ({"table": {"record_key": [1]}}, "has to be names"),
    "a text": ({"transform": {"sql": 1}}, "has to be a text"),
    "options": ({"table": {"options": {"a": {"b": 1}}}}, "with quotes around keys with dots"),
    "an operation": ({"run": {"operation": "merge"}}, "has to be one of upsert"),
    "aside without a folder": ({"errors": {"bad_rows": "aside"}}, "without the other"),
    "a folder alone": ({"errors": {"folder": "x"}}, "without the other"),
    "an empty section": ({"schema": {}}, "lacks file"),
    "a variable": ({"source": {"pattern": "${HOODOO_NO_SUCH}"}}, "is no environment variable"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_refused(tmp_path: Path, what: str) -> None:
    more, said = REFUSED[what]
    known = config(tmp_path)
    for name, section in more.items():
        known[name] = {**known.get(name, {}), **section} if isinstance(section, dict) else section
    with pytest.raises(ConfigError, match=said.replace("?", r"\?")) as caught:
        read_config(known)
    assert caught.value.fix


def test_sources_that_nobody_offers(tmp_path: Path) -> None:
    with pytest.raises(PluginError, match="files"):
        read_config(config(tmp_path, source={"kind": "filez"}))


def test_what_sources_answer_is_judged() -> None:
    kernel()  # knows the families that distributions bring

    class Wrong:
        keys: ClassVar[dict[str, Any]] = {}
        engine = None

        def open(self, given: Any, around: Any) -> Wrong:
            return self

        def next(self, after: Any) -> Any:
            return "a portion"

    plugin = checked("source", Wrong(), Who("source", "wrong", "ours", "1"))
    reading = plugin.open({}, Around())
    with pytest.raises(PluginError, match="wrong"):
        reading.next(None)


def test_no_source(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="what the source is"):
        read_config({"table": {"path": "t"}})
    with pytest.raises(ConfigError, match="lacks path"):
        read_config({"source": {"kind": "files"}, "table": {"path": "t"}})
    with pytest.raises(ConfigError, match=r"\[table\] .* lacks path"):
        read_config({"source": {"kind": "files", "path": "in"}})


def test_kafka_needs_spark_and_columns(tmp_path: Path) -> None:
    source = {"kind": "kafka", "servers": "b:9092", "topic": "t"}
    known: dict[str, Any] = {"source": source, "table": {"path": "t"}}
    with pytest.raises(ConfigError, match="can't read the source kafka"):
        read_config({**known, "run": {"engine": "local"}})
    assert read_config(known).engine == "spark"


def test_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "c.toml"
    with pytest.raises(ConfigError, match="can't be read"):
        read_config(file)
    file.write_text("[source\n")
    with pytest.raises(ConfigError, match="is no TOML"):
        read_config(file)
    monkeypatch.setenv("HOODOO_FOLDER", "here")
    file.write_text(
        '[source]\nkind = "files"\npath = "${HOODOO_FOLDER}/in"\nmax_bytes = "1.5 MB"\n'
        '[table]\npath = "t"\nrecord_key = "a, b"\noptions = {"hoodie.clean.automatic" = false}\n'
    )
    found = read_config(file)
    assert found.source["path"] == "here/in" and found.source["max_bytes"] == 1_500_000
    assert found.sections["table"]["record_key"] == ["a", "b"]
    assert found.options == {"hoodie.clean.automatic": "false"}
    assert found.run["operation"] == "upsert" and found.engine is None


def test_secrets_are_not_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOODOO_SECRET", "hidden")
    secret = {"password": "${HOODOO_SECRET}"}
    for more in ({"max_files": "${HOODOO_SECRET}"}, {"options": {**secret, "more": []}}):
        with pytest.raises(ConfigError) as caught:
            read_config(config(tmp_path, source=more))
        assert "hidden" not in str(caught.value) and "${HOODOO_SECRET}" in str(caught.value)
    found = read_config(config(tmp_path, source={"options": secret}, spark=secret))
    assert found.source["options"]["password"] == found.spark["password"] == "hidden"
    assert "hidden" not in repr(Ingestion(found))


def test_no_retries(tmp_path: Path) -> None:
    assert read_config(config(tmp_path, run={"retries": 0})).run["retries"] == 0
    with pytest.raises(ConfigError, match="from 0 on"):
        read_config(config(tmp_path, run={"retries": -1}))


def test_without_a_reader_of_toml(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("tomllib", "tomli"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ConfigError, match="Python 3.11 or newer"):
        read_config(tmp_path / "c.toml")


def test_sizes() -> None:
    assert [kinds.size(one) for one in (7, "7", "2 kB", "1GB")] == [7, 7, 2000, 10**9]
    for wrong in (0, -1, True, "7 rows", 1.5e-9):
        with pytest.raises(ValueError, match="has to be a size"):
            kinds.size(wrong)


def test_the_page_names_every_key() -> None:
    text = PAGE.read_text("utf-8")
    keys = {**FILES, **KAFKA}
    for section in SECTIONS.values():
        keys |= section
    assert [key for key in keys if f"`{key}`" not in text] == []


@pytest.mark.parametrize("number", [0, 1])
def test_the_files_on_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """The first one runs; the other one is right."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("JAAS", "secret")
    blocks = PAGE.read_text("utf-8").split("```toml\n")[1:]
    assert len(blocks) == 2
    (tmp_path / "c.toml").write_text(blocks[number].partition("```")[0])
    assert read_config("c.toml").path.endswith("rides")
    if number:
        return
    (tmp_path / "landing/rides").mkdir(parents=True)
    rows = '{"ride": 1, "city": "oslo", "fare": 950, "ts": 1}\n{"ride": 2, "fare": 0}\n'
    (tmp_path / "landing/rides/1.jsonl").write_text(rows)
    (one,) = hoodoo.ingest("c.toml")
    assert one.commit.inserted == 1
