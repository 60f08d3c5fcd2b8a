"""What readers of a catalog cannot do with a table is said when it is synced."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pytest
from hoodoo.model.config import TableConfig
from hoodoo_catalogs.glue import GlueCatalog
from hoodoo_catalogs.hive import HiveCatalog
from hoodoo_cli.commandline import main

SCHEMA = pa.schema([("id", pa.int64())])
CATALOGS = {"glue": GlueCatalog(None, {}), "hms": HiveCatalog("127.0.0.1", 1, {})}


def config(path: Path, version: int, kind: str) -> TableConfig:
    table = hoodoo.create(
        str(path), SCHEMA, record_key="id", table_version=version, table_type=kind
    )
    return table.config


@pytest.mark.parametrize("name", sorted(CATALOGS))
def test_versions_and_types_that_engines_do_not_read(tmp_path: Path, name: str) -> None:
    catalog = CATALOGS[name]
    assert catalog.limits(config(tmp_path / "a", 6, "COPY_ON_WRITE")) == ()
    for version in (8, 9):
        said = " ".join(catalog.limits(config(tmp_path / str(version), version, "COPY_ON_WRITE")))
        assert f"Trino reads no Hudi table of version {version}" in said
        assert ("Athena knows Hudi 0.14 and 0.15" in said) is (name == "glue")
        assert "table_version=6" in said and "table.publish" in said
    (merged,) = catalog.limits(config(tmp_path / "b", 6, "MERGE_ON_READ"))
    assert "base files of a merge-on-read table" in merged


def test_the_command_and_the_method_say_it(
    tmp_path: Path,
    fake: list[Any],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    said: Callable[..., Any] = lambda self, config: (f"Nobody reads version {config.version}",)  # noqa: E731
    monkeypatch.setattr(type(fake[0]), "limits", said)
    table = hoodoo.create(
        str(tmp_path / "t"), SCHEMA, record_key="id", options={"hoodoo.catalogs": "fake://db.t"}
    )
    (done,) = table.sync()
    assert done.limits == ("Nobody reads version 9",)
    with pytest.raises(SystemExit):
        main(["sync", str(tmp_path / "t")])
    assert "  Nobody reads version 9." in capsys.readouterr().out
