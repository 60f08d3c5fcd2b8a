"""Several record key columns, several partition columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc
from attrs import evolve, frozen
from hoodoo.errors import ConfigError, OptionConflictError
from hoodoo.hookspecs.key_generator import KeyGenerator
from hoodoo.hookspecs.registration import Settings
from hoodoo.model.meta import RECORD_KEY
from hoodoo.model.table_version import version_of

from hoodoo_standard.keygen.ambiguity import refuse_keys
from hoodoo_standard.keygen.auto import AutoKeyGenerator
from hoodoo_standard.keygen.partition_path import PartitionPaths
from hoodoo_standard.keygen.paths import ByPaths
from hoodoo_standard.keygen.record_key import complex_keys, plain_keys
from hoodoo_standard.options import COMPLEX_ENCODING, STORED_ENCODING

_ENCODINGS = {"FIELD_PREFIXED": False, "VALUE_ONLY": True}


@frozen
class ComplexKeyGenerator(ByPaths):
    """Keys ``f1:v1,f2:v2``; the path is made of all partition columns, joined by ``/``.

    A key of one column is ``f:v`` too, or the bare value with ``bare_single``. None: the table does
    not say which, ``wanted`` is what the writer says, if he does, and :meth:`settled` finds out.
    ``one_form``: the table version has the first form alone, but for keys of before an upgrade.
    ``virtual``: keys are not stored, so that any form will do to read the table by."""

    record_key_fields: tuple[str, ...]
    paths: PartitionPaths
    bare_single: bool | None = False
    wanted: bool | None = None
    one_form: bool = True
    virtual: bool = False
    can_be_virtual = True

    @classmethod
    def from_settings(cls, settings: Settings) -> KeyGenerator:
        keys, paths = settings.table.record_key_fields, PartitionPaths.from_settings(settings)
        if not keys:
            return AutoKeyGenerator(paths)
        table = settings.table
        wanted = COMPLEX_ENCODING.given(settings.options)
        bare = _encoding(table.get(STORED_ENCODING))
        one_form = table.traits.has_one_key_form
        if bare is None and one_form:
            # One that was upgraded keeps the keys of older releases, and their form.
            made_so = version_of(table.initial_version).has_one_key_form
            bare = False if made_so or not table.populate_meta_fields else None
            if wanted or COMPLEX_ENCODING.stored(table.properties):
                raise ConfigError(
                    f"option {COMPLEX_ENCODING.key}",
                    "is for table versions up to 8; version 9 writes column:value.",
                    "leave it out.",
                )
        if bare is None and not one_form:
            bare = COMPLEX_ENCODING.stored(table.properties)
        if len(keys) > 1:
            return cls(keys, paths, False, one_form=one_form)
        return cls(keys, paths, bare, wanted, one_form, not table.populate_meta_fields)

    def record_keys(self, batch: pa.RecordBatch) -> pa.Array:
        if self.bare_single is False or (self.bare_single is None and self.virtual):
            return complex_keys(batch, self.record_key_fields, self.paths.logical_timestamps)
        if self.bare_single is None:
            raise self._unknown("a table of its version may have keys of both forms")
        return self._bare(batch)

    def refuse_ambiguous(self, batch: pa.RecordBatch) -> None:
        refuse_keys(batch, self.record_key_fields)
        self.paths.refuse_ambiguous(batch)

    def settled(self, stored: Callable[[], pa.RecordBatch | None]) -> ComplexKeyGenerator:
        """As the table's keys are: read off one of them where the table does not say.

        ConfigError where no key is stored and the writer does not say, or where the stored one is
        of neither form; OptionConflictError where the writer says otherwise."""
        if self.bare_single is not None:
            return self
        row = stored()
        if row is None or not row.num_rows or row.column(RECORD_KEY).null_count:
            if self.one_form:
                return evolve(self, bare_single=False)
            if self.wanted is None:
                raise self._unknown("no key is stored that would tell")
            return evolve(self, bare_single=self.wanted)
        key = row.column(RECORD_KEY)
        forms = {
            False: complex_keys(row, self.record_key_fields, self.paths.logical_timestamps),
            True: self._bare(row),
        }
        found = [bare for bare, made in forms.items() if pc.all(pc.equal(made, key)).as_py()]
        if not found:
            raise self._unknown(
                f"its key {key[0].as_py()!r} is neither {forms[False][0].as_py()!r} nor "
                f"{forms[True][0].as_py()!r}"
            )
        if self.wanted not in (None, found[0]):
            raise OptionConflictError(
                f"option {COMPLEX_ENCODING.key}={str(self.wanted).lower()}",
                f"contradicts the table, which has the key {key[0].as_py()!r}.",
                "leave it out.",
            )
        return evolve(self, bare_single=found[0])

    def deleted_keys(self, keys: pa.ChunkedArray) -> Sequence[pa.ChunkedArray]:
        """Keys that a delete block names, as :meth:`record_keys` makes them. Where they are
        virtual, the release that wrote it may not be known, so that column:value can be a bare
        value, too: then both are given. Where they are stored, bare values are of a time in which
        they were virtual."""
        prefix = f"{self.record_key_fields[0]}:"
        if not self.virtual:
            if len(self.record_key_fields) > 1 or self.bare_single is not False:
                return [keys]
            longer = pc.binary_join_element_wise(prefix, keys, "")
            return [pc.if_else(pc.starts_with(keys, prefix), keys, longer)]
        maybe = pc.all(pc.starts_with(keys, prefix)).as_py()
        if self.bare_single:
            return [keys, pc.utf8_slice_codeunits(keys, len(prefix))] if maybe else [keys]
        longer = pc.binary_join_element_wise(prefix, keys, "")
        return [keys, longer] if maybe else [longer]

    def delete_block_keys(self, keys: pa.ChunkedArray) -> pa.ChunkedArray:
        """What delete blocks name for keys of :meth:`record_keys`: where they are virtual the bare
        value, as readers of Spark Hudi 1.2 and ``hudi`` take no other for the key of a row."""
        if not self.virtual or self.bare_single:
            return keys
        return pc.utf8_slice_codeunits(keys, len(self.record_key_fields[0]) + 1)

    def table_properties(self) -> Mapping[str, str]:
        """The encoding, where the table version does not say it."""
        if len(self.record_key_fields) > 1:
            return {}
        if self.one_form:
            return {STORED_ENCODING: "VALUE_ONLY"} if self.bare_single else {}
        bare = self.bare_single if self.bare_single is not None else self.wanted
        return {COMPLEX_ENCODING.key: "true" if bare else "false"}

    def _bare(self, batch: pa.RecordBatch) -> pa.Array:
        return plain_keys(batch, self.record_key_fields[0], self.paths.logical_timestamps)

    def _unknown(self, why: str) -> ConfigError:
        name = self.record_key_fields[0]
        return ConfigError(
            f"record key {name!r} of the key generator COMPLEX",
            f"the table does not say whether keys are {name}:value (Hudi up to 0.14.0 and since "
            "1.1) or "
            f"the bare value (0.14.1 to 1.0.2), and {why}.",
            f"open it with the option {COMPLEX_ENCODING.key}: false for {name}:value, true for the "
            "bare "
            "value.",
        )


def _encoding(text: str | None) -> bool | None:
    if text is None:
        return None
    if text.strip().upper() not in _ENCODINGS:
        raise ConfigError(
            f"table property {STORED_ENCODING}={text!r}",
            f"is not one of {', '.join(_ENCODINGS)}.",
            "correct it.",
        )
    return _ENCODINGS[text.strip().upper()]
