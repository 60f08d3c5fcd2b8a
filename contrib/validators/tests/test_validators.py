"""A write whose rows break a rule is refused, and the table is as it was."""

from __future__ import annotations

from typing import Any

import hoodoo
import pyarrow as pa
import pytest
from hoodoo.errors import ConfigError, DataError, HoodooError, PluginError

JAVA = "org.apache.hudi.client.validator."
PREFIX = "hoodie.precommit.validators"
SCHEMA = pa.schema([("id", pa.int64()), ("fare", pa.float64()), ("city", pa.string())])


def fares(*fares: float | None, first: int = 1, city: str = "oslo") -> pa.Table:
    return pa.table(
        {
            "id": range(first, first + len(fares)),
            "fare": pa.array(fares, pa.float64()),
            "city": [city] * len(fares),
        },
        SCHEMA,
    )


def table(path: str, **more: Any) -> Any:
    return hoodoo.create(path, SCHEMA, record_key="id", partition_by="city", **more)


def checked(made: Any, options: dict[str, str]) -> Any:
    """The table for writes with these options."""
    return hoodoo.open(made.handle.storage.root, options)


def values(made: Any) -> list[Any]:
    return sorted(made.read(["id", "fare"]).to_arrow().to_pylist(), key=lambda row: row["id"])


def single(query: str) -> dict[str, str]:
    return {PREFIX: "single_value", f"{PREFIX}.single.value.sql.queries": query}


NO_NULLS = single("select count(*) from <TABLE_NAME> where fare is null#0")


@pytest.mark.parametrize("kind", ["cow", "mor"])
@pytest.mark.parametrize("version", [6, 9])
@pytest.mark.parametrize("metadata", ["true", "false"])
def test_the_rows_after_the_write_are_checked(
    tmp_path: Any, kind: str, version: int, metadata: str
) -> None:
    made = table(
        f"{tmp_path}/t", table_type=kind, table_version=version,
        options={"hoodie.metadata.enable": metadata},
    )  # fmt: skip
    checked(made, NO_NULLS).upsert(fares(1.0, 2.0))
    with pytest.raises(DataError) as error:
        checked(made, NO_NULLS).upsert(fares(None, first=2))
    assert "answers 1, and 0 is expected" in str(error.value)
    assert values(made) == [{"id": 1, "fare": 1.0}, {"id": 2, "fare": 2.0}]
    checked(made, NO_NULLS).upsert(fares(5.0, first=2))
    assert values(made)[1] == {"id": 2, "fare": 5.0}
    assert made.verify().ok


@pytest.mark.parametrize("kind", ["cow", "mor"])
def test_of_hudi_classes_and_several_queries(tmp_path: Any, kind: str) -> None:
    made = table(f"{tmp_path}/t", table_type=kind)
    made.upsert(fares(1.0, 2.0, None))
    options = {
        PREFIX: f"{JAVA}SqlQueryEqualityPreCommitValidator,{JAVA}SqlQueryInequalityPreCommitValidator",
        f"{PREFIX}.equality.sql.queries": "select count(*) from <TABLE_NAME> where fare is null;"
        "select max(id) from <TABLE_NAME>",
        f"{PREFIX}.inequality.sql.queries": "select sum(fare) from <TABLE_NAME>",
    }
    checked(made, options).upsert(fares(7.0))
    with pytest.raises(DataError, match="Equality.*fare is null answers other rows"):
        checked(made, options).upsert(fares(9.0, first=3))
    with pytest.raises(DataError, match="Inequality.*answers the same rows"):
        checked(made, options).upsert(fares(7.0))
    with pytest.raises(DataError, match="max"):
        checked(made, options).delete(pa.table({"id": [3], "city": ["oslo"]}))
    assert [row["fare"] for row in values(made)] == [7.0, 2.0, None]


def test_only_partition_paths_that_are_touched_count(tmp_path: Any) -> None:
    made = table(f"{tmp_path}/t")
    made.upsert(fares(1.0, city="rome"))
    checked(made, single("select count(*) from <TABLE_NAME>#1")).upsert(fares(2.0, first=5))


def test_partitions_that_leave_the_table(tmp_path: Any) -> None:
    made = table(f"{tmp_path}/t", options=single("select count(*) from <TABLE_NAME>#1"))
    made.bulk_insert(fares(1.0, 2.0))  # is not checked, as in Hudi
    with pytest.raises(DataError, match="answers 0, and 1"):
        made.delete_partitions(["oslo"])
    made.insert_overwrite(fares(3.0))
    assert values(made) == [{"id": 1, "fare": 3.0}]


def test_services_are_not_checked(tmp_path: Any) -> None:
    made = table(f"{tmp_path}/t", table_type="mor")
    made.upsert(fares(1.0))
    made.upsert(fares(2.0))
    again = hoodoo.open(f"{tmp_path}/t", single("select count(*) from <TABLE_NAME>#77"))
    again.compact()
    again.cluster()
    assert values(again) == [{"id": 1, "fare": 2.0}]


def test_a_column_that_comes_with_the_write(tmp_path: Any) -> None:
    made = table(f"{tmp_path}/t")
    made.upsert(fares(1.0))
    wider = fares(2.0, first=2).append_column("tip", pa.array([3.0]))
    checked(made, single("select sum(tip) from <TABLE_NAME>#3.0")).upsert(wider, add_columns=True)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({PREFIX: "single_value"}, "has no query"),
        (single("select 1#1"), "has a query without <TABLE_NAME>"),
        (single("select count(*) from <TABLE_NAME>"), "does not say which value"),
    ],
)
def test_wrong_options(tmp_path: Any, options: dict[str, str], expected: str) -> None:
    made = table(f"{tmp_path}/t")
    with pytest.raises(ConfigError, match=expected):
        checked(made, options).upsert(fares(1.0))
    assert made.read().count() == 0


def test_an_unknown_validator(tmp_path: Any) -> None:
    made = table(f"{tmp_path}/t")
    with pytest.raises(PluginError, match="singel_value"):
        checked(made, {PREFIX: "singel_value"}).upsert(fares(1.0))


def test_a_query_that_cannot_be_answered_refuses_the_write(tmp_path: Any) -> None:
    made = table(f"{tmp_path}/t")
    with pytest.raises(HoodooError):
        checked(made, single("select no_such from <TABLE_NAME>#1")).upsert(fares(1.0))
    assert made.read().count() == 0
    made.upsert(fares(1.0))
