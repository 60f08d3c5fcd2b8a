"""Options: honoured, without effect, unknown, contradicting."""

from __future__ import annotations

import warnings
from types import SimpleNamespace

import hoodoo
import pytest
from hoodoo.errors import ConfigError, HoodooWarning, OptionConflictError, UnknownOptionError
from hoodoo.hookspecs import Option, Registration
from hoodoo.kernel import check_options, declared_options
from hoodoo.kernel.discover import Plugin
from hoodoo.kernel.options import known_to_hudi
from hoodoo.kernel.registry import Kernel
from hoodoo.model.config import TableConfig
from hoodoo.model.writer_keys import WRITER_KEYS
from hoodoo.options.core import CORE_OPTIONS

BUCKETS = Option("hoodie.bucket.index.num.buckets", default="4", table_property=True)
SIZE = Option("hoodie.parquet.max.file.size", default="125829120")  # as if core honoured it
FACTORY = "somewhere:make"  # never called here
JAVA = "org.apache.hudi.keygen.SimpleKeyGenerator"


def hoodoo_indexes() -> list[Registration]:
    return [Registration("bucket", FACTORY, options=(BUCKETS, Option("acme.index.depth")))]


def hoodoo_key_generators() -> list[Registration]:
    return [Registration("SIMPLE", FACTORY, aliases=(JAVA,)), Registration("COMPLEX", FACTORY)]


USING = Kernel(
    [
        Plugin(
            "a",
            "a_module",
            "a-dist",
            "1.0",
            SimpleNamespace(
                hoodoo_indexes=hoodoo.hookimpl(hoodoo_indexes),
                hoodoo_key_generators=hoodoo.hookimpl(hoodoo_key_generators),
            ),
        )
    ]
)


def table(**properties: str) -> TableConfig:
    return TableConfig({key.replace("__", "."): value for key, value in properties.items()})


def check(given: dict[str, object], config: TableConfig | None = None) -> dict[str, str]:
    """With every warning an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return check_options(given, config, also=(SIZE,), using=USING)


def test_declared_options_come_back_as_text() -> None:
    given = {SIZE.key: 1024, BUCKETS.key: "8", "acme.index.depth": 1.5}
    assert check(given) == {SIZE.key: "1024", BUCKETS.key: "8", "acme.index.depth": "1.5"}
    assert check_options(None, using=USING) == {}


@pytest.mark.parametrize("value", [None, ["a"], b"x", {"a": 1}])
def test_values_that_are_no_text(value: object) -> None:
    with pytest.raises(ConfigError, match="acme.index.depth"):
        check({"acme.index.depth": value})


def test_booleans_are_spelt_as_hudi_does() -> None:
    assert check({"acme.index.depth": True}) == {"acme.index.depth": "true"}


def test_the_list_of_hudi_is_there() -> None:
    assert len(known_to_hudi()) > 500
    assert {"hoodie.metadata.enable", "hoodie.parquet.max.file.size"} <= known_to_hudi()
    properties = {name for names in WRITER_KEYS.values() for name in names}
    assert (WRITER_KEYS.keys() | properties) <= known_to_hudi()


def test_known_without_effect_warns_once_for_all() -> None:
    given = {
        "hoodie.embed.timeline.server": "false",
        "hoodie.write.markers.type": "DIRECT",
        SIZE.key: "1",
    }
    with pytest.warns(HoodooWarning) as caught:
        check_options(given, also=(SIZE,), using=USING)
    assert len(caught) == 1
    text = str(caught[0].message)
    assert (
        "hoodie.embed.timeline.server, hoodie.write.markers.type" in text and SIZE.key not in text
    )
    assert caught[0].filename == __file__


def test_unknown_options_are_all_named_with_the_nearest() -> None:
    with pytest.raises(UnknownOptionError) as caught:
        check({"hoodie.parquet.max.filesize": "1", "acme.index.dept": "2", "whatever": "3"})
    text = str(caught.value)
    for part in ("'whatever'", "'hoodie.parquet.max.file.size'", "'acme.index.depth'"):
        assert part in text


def test_a_property_repeated_is_fine() -> None:
    config = table(hoodie__table__name="t", hoodie__table__ordering__fields="a,b")
    given = {"hoodie.table.name": "t", "hoodie.table.ordering.fields": "a, b"}
    assert check(dict(given), config) == given
    flags = table(hoodie__populate__meta__fields="true")
    assert check({"hoodie.populate.meta.fields": "TRUE"}, flags)


@pytest.mark.parametrize(
    ("key", "value", "prop", "stored"),
    [
        (BUCKETS.key, "8", BUCKETS.key, "16"),
        ("hoodie.datasource.write.recordkey.field", "k2", "hoodie.table.recordkey.fields", "k"),
        ("hoodie.datasource.write.precombine.field", "u", "hoodie.table.ordering.fields", "ts"),
        ("hoodie.datasource.write.recordkey.field", "K", "hoodie.table.recordkey.fields", "k"),
    ],
)
def test_a_contradiction_names_both_values(key: str, value: str, prop: str, stored: str) -> None:
    config = TableConfig({prop: stored})
    with pytest.raises(OptionConflictError) as caught:
        check({key: value}, config)
    text = str(caught.value)
    for part in (key, prop, repr(value), repr(stored)):
        assert part in text
    assert check({key: value}) == {key: value}  # at creation nothing is contradicted


def test_a_table_that_does_not_say_has_the_default() -> None:
    with pytest.raises(OptionConflictError, match="has the default"):
        check({BUCKETS.key: "8"}, table(hoodie__table__name="t"))
    assert check({BUCKETS.key: "4"}, table(hoodie__table__name="t"))


def test_a_table_property_given_at_opening() -> None:
    with pytest.raises(OptionConflictError, match="'t'"):
        check({"hoodie.table.name": "other"}, table(hoodie__table__name="t"))


def test_no_properties_yet_contradict_nothing() -> None:
    assert check({BUCKETS.key: "8"}, TableConfig())


def test_an_option_that_is_no_table_property_may_differ_from_its_default() -> None:
    assert check({SIZE.key: "1"}, table(hoodie__table__name="t"))


def test_a_class_name_and_its_short_name_are_equal() -> None:
    key = "hoodie.datasource.write.keygenerator.class"
    assert check({key: JAVA}, table(hoodie__table__keygenerator__type="SIMPLE"))
    with pytest.raises(OptionConflictError, match="COMPLEX"):
        check({key: JAVA}, table(hoodie__table__keygenerator__type="COMPLEX"))


def test_the_suffix_of_the_custom_key_generator_says_more_about_the_same_column() -> None:
    config = table(hoodie__table__partition__fields="city:SIMPLE,ts:TIMESTAMP")
    key = "hoodie.datasource.write.partitionpath.field"
    assert check({key: "city,ts"}, config)
    for other in ("ts,city", "city:TIMESTAMP,ts:TIMESTAMP"):
        with pytest.raises(OptionConflictError):
            check({key: other}, config)


def test_declared_options() -> None:
    everything = {option.key for option in declared_options(using=USING)}
    assert {BUCKETS.key, "acme.index.depth", "hoodie.datasource.insert.dup.policy"} <= everything
    assert declared_options("index", "BUCKET", using=USING)[0] == BUCKETS
    assert len(declared_options("index", using=USING)) == 2
    assert declared_options("index", "mine.Object", using=USING) == ()
    assert declared_options("key_generator", "SIMPLE", using=USING) == ()


def test_what_core_reads_is_honoured() -> None:
    """Nothing that core reads warns or is unknown, and Hudi knows its names."""
    assert {option.key for option in CORE_OPTIONS} <= {o.key for o in declared_options()}
    for option in CORE_OPTIONS:
        # Those of RFC-08 have come into no release of Hudi.
        if not option.key.startswith(("hoodoo.", "record.level.index.")):
            assert option.key in known_to_hudi(), option
