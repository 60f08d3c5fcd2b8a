"""From a name or an object to a plugin that works."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import hoodoo
import pytest
from attrs import frozen
from hoodoo.errors import ConfigError, PluginError
from hoodoo.hookspecs import FAMILIES, Registration, Settings
from hoodoo.hookspecs.family import members
from hoodoo.hookspecs.layout import Slot
from hoodoo.kernel import resolve
from hoodoo.kernel.answers import plain
from hoodoo.kernel.discover import Plugin
from hoodoo.kernel.registry import Kernel
from hoodoo.kernel.resolve import default_name
from hoodoo.model.filegroup import FileSlice
from hoodoo.testing.directory import DirectoryStorage
from hoodoo.testing.stores import RecordingStorage


@frozen
class OneSlot:
    """A layout; the smallest Protocol there is."""

    settings: Settings | None = None

    def plan(
        self, arrivals: Mapping[str, int], slices: Sequence[FileSlice], row_bytes: float
    ) -> tuple[Slot, ...]:
        return tuple(Slot(path, 1) for path in arrivals)


def failing(settings: Settings) -> Any:
    raise ZeroDivisionError("broken on purpose")


def picky(settings: Settings) -> Any:
    raise ConfigError("option 'x'", "must be a number.", "Give one.")


def using(**factories: Any) -> Kernel:
    def hoodoo_layouts() -> list[Registration]:
        return [Registration(name, factory) for name, factory in factories.items()]

    marked = SimpleNamespace(hoodoo_layouts=hoodoo.hookimpl(hoodoo_layouts))
    return Kernel([Plugin("a", "a_module", "a-dist", "1.5", marked)])


def test_by_name() -> None:
    settings = Settings(options={"hoodie.x": "1"})
    instance, ref = resolve("layout", "ONE", settings, using=using(one=OneSlot))
    assert instance == OneSlot(settings)
    assert (ref.family, ref.name, ref.module) == ("layout", "one", "a_module")
    assert (ref.distribution, ref.version, ref.settings) == ("a-dist", "1.5", settings)
    assert ref.instance is None


def test_the_default_is_who_says_so() -> None:
    def hoodoo_layouts() -> list[Registration]:
        return [
            Registration("one", OneSlot, default=lambda settings: settings.get("x") == "1"),
            Registration("two", OneSlot, default=lambda settings: settings.get("x") != "2"),
            Registration("three", OneSlot, roles=("last",)),
        ]

    marked = SimpleNamespace(hoodoo_layouts=hoodoo.hookimpl(hoodoo_layouts))
    found = Kernel([Plugin("a", "a_module", "a-dist", "1.5", marked)])
    assert default_name("layout", Settings(), using=found) == "two"
    with pytest.raises(PluginError, match="is a default, and so is layout 'two'"):
        default_name("layout", Settings(options={"x": "1"}), using=found)
    with pytest.raises(PluginError, match="hoodoo-standard"):
        default_name("layout", Settings(options={"x": "2"}), using=found)


@pytest.mark.parametrize(
    ("family", "name", "bring"),
    [
        ("report", "verify", "hoodoo-cli"),
        ("query_type", "incremental", "hoodoo-history"),
        ("change_log", "DATA_BEFORE", "hoodoo-history"),
        ("engine", "spark", '"hoodoo[spark]"'),
        ("merger", "event_time", "hoodoo-standard"),
        ("action", "retention", "hoodoo-retention"),
    ],
)
def test_what_is_not_installed_says_what_brings_it(family: str, name: str, bring: str) -> None:
    with pytest.raises(PluginError) as caught:
        resolve(family, name, using=Kernel([]))
    fix = str(caught.value).rpartition("pip install ")[2]
    assert bring in fix


def test_an_object_needs_no_packaging(tmp_path: Path) -> None:
    mine = OneSlot()
    instance, ref = resolve("layout", mine, using=Kernel([]))
    assert plain(instance) is mine and plain(ref.instance) is mine
    assert ref.module == "" and ref.name.endswith("OneSlot")
    store = RecordingStorage(DirectoryStorage(tmp_path))
    assert resolve("storage", store, using=Kernel([])).instance == store


def test_an_object_that_lacks_members() -> None:
    class Half:
        is_global = True

        def buckets(self) -> int:
            return 1

    with pytest.raises(PluginError) as caught:
        resolve("index", Half(), using=Kernel([]))
    text = str(caught.value)
    assert "Half is no LookupIndex" in text
    assert "locate, moves_partitions" in text and "is_global" not in text


def test_the_nearest_protocol_is_named() -> None:
    class AlmostBucket:
        is_global = moves_partitions = False
        buckets = 4

        def bucket(self, keys: object) -> None: ...
        def file_id(self, bucket: int, uuid: str) -> None: ...

    with pytest.raises(PluginError, match="no ComputedIndex: it lacks bucket_of"):
        resolve("index", AlmostBucket(), using=Kernel([]))


def test_a_method_must_be_callable() -> None:
    with pytest.raises(PluginError, match="lacks plan"):
        resolve("layout", SimpleNamespace(plan=3), using=Kernel([]))
    resolve("layout", SimpleNamespace(plan=lambda *_: ()), using=Kernel([]))


def test_properties_are_not_computed_by_the_check() -> None:
    class Lazy:
        @property
        def record_key_fields(self) -> tuple[str, ...]:
            raise RuntimeError("not yet")

        partition_fields = ()

        def record_keys(self, batch: object) -> None: ...
        def partition_paths(self, batch: object) -> None: ...
        def partition_values(self, path: str, schema: object) -> None: ...

    resolve("key_generator", Lazy(), using=Kernel([]))


def test_a_class_is_not_an_object() -> None:
    with pytest.raises(PluginError, match=r"it is a class\. Fix: Give an object: OneSlot\("):
        resolve("layout", OneSlot, using=Kernel([]))


def test_unknown_name() -> None:
    with pytest.raises(PluginError) as caught:
        resolve("layout", "smal_file", using=using(small_file=OneSlot, append=OneSlot))
    text = str(caught.value)
    for part in ("'smal_file'", "Did you mean 'small_file'?", "append, small_file", "a-dist 1.5"):
        assert part in text


def test_a_failing_factory() -> None:
    with pytest.raises(PluginError) as caught:
        resolve("layout", "bad", using=using(bad=failing))
    text = str(caught.value)
    for part in ("layout 'bad'", "a-dist 1.5", "ZeroDivisionError", "broken on purpose"):
        assert part in text


@pytest.mark.parametrize("factory", ["nowhere_at_all:x", "hoodoo.errors:Nothing", "hoodoo.errors:"])
def test_a_factory_that_is_not_there(factory: str) -> None:
    with pytest.raises(PluginError, match="a-dist"):
        resolve("layout", "bad", using=using(bad=factory))


def test_errors_about_settings_pass_unwrapped() -> None:
    with pytest.raises(ConfigError, match="must be a number"):
        resolve("layout", "picky", using=using(picky=picky))


def test_what_a_factory_makes_is_checked() -> None:
    with pytest.raises(PluginError, match=r"layout 'bad' of plugin 'a'.*lacks plan"):
        resolve("layout", "bad", using=using(bad=lambda settings: object()))


def test_observers_take_no_objects() -> None:
    with pytest.raises(PluginError, match="takes no objects"):
        resolve("observer", object(), using=Kernel([]))


def test_members_of_protocols() -> None:
    found = members(FAMILIES["storage"].protocols[0])
    assert found["root"] is False and found["put_if_absent"] is True
    assert len(found) == 11
    lookup = members(FAMILIES["index"].protocols[0])
    assert set(lookup) == {"is_global", "moves_partitions", "locate"}
