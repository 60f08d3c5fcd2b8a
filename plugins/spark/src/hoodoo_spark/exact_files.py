"""Relations of exact files: Spark's own Parquet reader reads the files of a list, and looks for no
others.

A folder that a stream of Spark's has written holds a log of its files, ``_spark_metadata``. Spark
reads such a folder by its log (``MetadataLogFileIndex``) and lists nothing; the log may name files
anywhere. A log made here names the files of a scan. Without a log Spark lists the folders that it
is given, and passes over folders within them whose names begin with ``_`` or ``.``, which are
partition paths like any other.

Whatever way Spark is given the files, those that it then has are counted: it never reads fewer in
silence."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote

import pyarrow as pa
from hoodoo.log import get_logger
from hoodoo.model.filegroup import BaseFile
from hoodoo.storage.api import Entry
from hoodoo.storage.uri import split

from hoodoo_spark.session import is_connect
from hoodoo_spark.types import spark_schema

_log = get_logger(__name__)
_IGNORES = "spark.sql.streaming.fileStreamSink.ignoreMetadata"
# The first entry of a log, as one that others have been put into: an entry of another name is not
# found where the session's spark.sql.streaming.fileSink.log.compactInterval is 1.
_ENTRY = "_spark_metadata/0.compact"
# It is no Parquet file: a Spark that lists the folder fails, and says this name.
_GUARD = f"set {_IGNORES} to false.parquet"
_OPTIONS = {
    "recursiveFileLookup": "true",  # no columns from the names of folders
    "mergeSchema": "false",
    # Files of Hudi's writers say so where they hold dates of the old calendar; others are new.
    "datetimeRebaseMode": "CORRECTED",
    "int96RebaseMode": "CORRECTED",
    # The files are those that the timeline names: without one of them the answer is wrong.
    "ignoreMissingFiles": "false",
    "ignoreCorruptFiles": "false",
}
_PLAIN = "/:@"  # what a URI holds as it is
# Of each session of Spark Connect, the folders that its server reads again for each query: by what
# is in them.
_folders: weakref.WeakKeyDictionary[Any, dict[str, str]] = weakref.WeakKeyDictionary()


def is_read(file: Entry | BaseFile) -> bool:
    """Whether Spark reads such a file at all: it passes over empty ones, and over names that it
    takes for hidden."""
    return file.size > 0 and file.name[:1] not in ("_", ".")


def read_files(
    spark: Any, root: str, files: Sequence[Entry], schemas: Sequence[Any]
) -> list[Any] | None:
    """A DataFrame of the rows of ``files``, Parquet files below the URI ``root`` that Spark finds
    there, too, for each of ``schemas`` (StructType or pyarrow.Schema, of what the files have:
    nothing is inferred). None where Spark has not just these files, whatever way it is given
    them."""
    structs = [spark_schema(s) if isinstance(s, pa.Schema) else s for s in schemas]
    if not files:
        return [spark.createDataFrame([], struct) for struct in structs]
    ways = (_by_log, _by_paths) if all(map(is_read, files)) else ()
    for way in ways:
        try:
            with way(spark, root.rstrip("/"), files) as paths:
                found = [_frame(spark, paths, struct) for struct in structs]
                if all(len(_seen(frame)) == len(files) for frame in found):
                    return found
        except Exception as error:  # of Spark, of several classes
            _log.debug("spark.files.not_seen", way=way.__name__, error=repr(error))
    return None


def _frame(spark: Any, paths: Sequence[str], struct: Any) -> Any:
    return spark.read.schema(struct).options(**_OPTIONS).parquet(*paths)


def _seen(frame: Any) -> Sequence[str]:
    """The files that Spark reads for ``frame``."""
    # Not by the names, each of which is a message from the JVM: an array of Java's knows its
    # length.
    found: Sequence[str]
    found = frame.inputFiles() if is_connect(frame) else frame._jdf.inputFiles()
    return found


@contextmanager
def _by_log(spark: Any, root: str, files: Sequence[Entry]) -> Iterator[list[str]]:
    """A folder with a log of the files. A classic session reads it once, when it makes the
    DataFrame; the server of Spark Connect for each query, as long as the session lasts."""
    text = "\n".join(["v1", *(_line(root, file) for file in files)])
    if not is_connect(spark):
        folder = _folder(text)
        try:
            yield ["file://" + folder]
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        return
    known = _folders.setdefault(spark, {})
    key = hashlib.sha256(text.encode()).hexdigest()
    if not os.path.exists(os.path.join(known.get(key, ""), _ENTRY)):
        known[key] = _folder(text)
        weakref.finalize(spark, shutil.rmtree, known[key], ignore_errors=True)
    yield ["file://" + known[key]]


def _folder(text: str) -> str:
    folder = tempfile.mkdtemp(prefix="hoodoo-relation-")
    for name, content in ((_ENTRY, text), (_GUARD, "")):
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(content)
    return folder


def _line(root: str, file: Entry) -> str:
    scheme, rest = split(root)
    return json.dumps(
        {
            "path": f"{scheme}://{quote(f'{rest}/{file.path}', _PLAIN)}",
            "size": file.size,
            "isDir": False,
            "modificationTime": int(file.modified * 1000),
            "blockReplication": 1,
            "blockSize": file.size,
            "action": "add",
        }
    )


@contextmanager
def _by_paths(spark: Any, root: str, files: Sequence[Entry]) -> Iterator[list[str]]:
    """Each file by its path, which takes Spark some 2 ms each."""
    _log.info("spark.files.by_paths", files=len(files), hint=f"{_IGNORES} is to be false")
    yield [_literal(f"{root}/{file.path}") for file in files]


def _literal(path: str) -> str:
    """``path`` with the characters escaped that Spark would take for a pattern."""
    return "".join("\\" + c if c in "\\*?[]{}" else c for c in path)
