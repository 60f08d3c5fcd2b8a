"""Steps of a trial that change the index of its table: switched, or rebuilt; refused where the model says so."""

from __future__ import annotations

from typing import Any

import hoodoo
import pytest
from attrs import evolve, frozen
from hoodoo.errors import DataError, DuplicateKeyError
from hypothesis import strategies as st
from table_model import Model
from table_model_mor import LogModel
from tally import TALLY

SWITCH, REBUILD = "switch the index", "rebuild the record index"
_IN_PATHS = ("simple", "bloom", "partitioned_record_index")
_GLOBAL = ("global_simple", "global_bloom", "record_index", "growing_record_index")
_STORED = ("record_index", "partitioned_record_index", "growing_record_index")
_MOVES = {
    "global_simple": "hoodie.simple.index.update.partition.path",
    "global_bloom": "hoodie.bloom.index.update.partition.path",
}


@frozen
class Switch:
    kind: str = SWITCH
    index: str = "simple"


def switches() -> st.SearchStrategy[Switch]:
    return st.builds(
        Switch, st.sampled_from([SWITCH, SWITCH, REBUILD]), st.sampled_from((*_IN_PATHS, *_GLOBAL))
    )


def switch(trial: Any, op: Switch, where: str) -> None:
    """``trial``: a :class:`table_trial.Trial`."""
    setup, model, table = trial.setup, trial.model, trial.table
    if setup.merge_on_read and setup.index == "bucket":
        return  # file groups of log files alone stay behind, which `hudi` and the model take for a bucket's
    index = "record_index" if op.kind == REBUILD else op.index
    if index in _STORED and (setup.version < 9 or setup.virtual):
        return
    if index == "partitioned_record_index" and not setup.partition:
        return
    if op.kind == REBUILD:
        if setup.index == "partitioned_record_index":
            return
        partitioned = setup.metadata == "keys" and not _is_global_kept(trial)
        table.rebuild_index("record_index")
        TALLY.add("record indexes rebuilt")
        _indexed_anew(trial)
        binds = setup.is_global or setup.index == "bucket"
        if binds or partitioned or _doubled(model):
            assert noted(table) == _noted(setup.index), where
            _is(trial, setup.index)
        else:
            assert noted(table) == "record_index", where
            _is(trial, "record_index")
    elif index in _GLOBAL and _doubled(model):
        with pytest.raises(DuplicateKeyError, match="more than one partition path"):
            table.switch_index(index)
        TALLY.add("index switches refused")
    elif index in _IN_PATHS and setup.is_global and _wandered(model):
        with pytest.raises(DataError, match="its columns say"):
            table.switch_index(index)
        TALLY.add("index switches refused")
    else:
        found = table.switch_index(index)
        TALLY.add(f"switched to {index}")
        assert found.same, where
        assert found.found[0] == len(model.rows), where
        assert noted(table) == _noted(index), where
        _is(trial, index)
        if trial.setup.by_records and setup.merge_on_read:
            trial.table.rebuild_index()  # one that was there already may know keys that have no row
            _indexed_anew(trial)
    trial._check_newest(where)


def _indexed_anew(trial: Any) -> None:
    waiting = [] if trial.clustering is None else [trial.clustering.model]
    for model in (trial.model, *waiting):
        if isinstance(model, LogModel):
            model.indexed_anew()


def noted(table: hoodoo.Table) -> str | None:
    config = hoodoo.open(table.path).config
    found = config.get("hoodie.index.type") or config.get("hoodoo.index.type")
    return None if found is None else found.lower()


def _noted(index: str) -> str | None:
    return None if index == "simple" else index


def _is(trial: Any, index: str) -> None:
    """From here on the table has ``index``, and the option or property of old says whether keys move."""
    config = hoodoo.open(trial.table.path).config
    setup = evolve(trial.setup, index=index)
    if index in _MOVES:
        setup = evolve(setup, moves=config.get(_MOVES[index]) != "false")
    elif index in _IN_PATHS or index == "bucket":
        setup = evolve(setup, moves=True)
    if config.metadata_partitions:
        setup = evolve(setup, metadata="keys")
    trial.setup = trial.model.setup = setup
    if trial.clustering is not None:
        trial.clustering.model.setup = setup
    trial.table = trial._open()


def _is_global_kept(trial: Any) -> bool:
    """Whether the record index that the table has, if any, is of the whole table."""
    definitions = trial.path / ".hoodie/.index_defs/index.json"
    return not (definitions.exists() and '"isPartitioned":"true"' in definitions.read_text())


def _doubled(model: Model) -> bool:
    keys = [key for _path, key in model.rows]
    return len(keys) != len(set(keys))


def _wandered(model: Model) -> bool:
    return any(row.path != model.setup.partition_path(row.values) for row in model.rows.values())
