"""What formats of log blocks answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from hoodoo.kernel.answers import shapes
from hoodoo.kernel.answers.declared import rule
from hoodoo.kernel.answers.seam import Ask, iterated
from hoodoo.kernel.answers.wrong import Wrong, says
from hoodoo.model.log_block import BlockKind

_WITHOUT_ROWS = (BlockKind.COMMAND, BlockKind.DELETE, BlockKind.CORRUPT)


@rule("LogBlockFormat.kind")
def _kind(answer: Any, ask: Ask) -> int:
    found = shapes.whole(answer, 0)
    if found in _WITHOUT_ROWS or found >= 1 << 31:
        raise Wrong(f"the type {int(found)}", "the type of a block that holds rows")
    return found


@rule("LogBlockFormat.decode")
def _rows(
    answer: Any,
    ask: Ask,
    content: Any,
    schema_text: str,
    columns: Sequence[str] | None,
    obj: str,
) -> pa.Table:
    if not isinstance(answer, pa.Table):
        raise Wrong(says(answer), "a pyarrow.Table")
    names = answer.schema.names
    if len(set(names)) < len(names) or (columns is not None and not set(names).issubset(columns)):
        raise Wrong(f"a table with {names}", "those of the columns wanted that the block has")
    return answer


@rule("LogBlockFormat.encode")
def _content(answer: Any, ask: Ask, *given: Any) -> Iterator[bytes | pa.Buffer]:
    if not hasattr(answer, "__iter__") or isinstance(answer, str | bytes):
        raise Wrong(says(answer), "bytes and buffers, in pieces")
    return iterated(answer, ask, _piece)


def _piece(piece: Any, ask: Ask) -> bytes | pa.Buffer:
    if not isinstance(piece, bytes | pa.Buffer):
        raise Wrong(says(piece), "bytes and buffers, in pieces")
    return piece
