"""A table's store: the objects below one prefix of a bucket."""

from __future__ import annotations

import builtins
import mmap
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from operator import attrgetter
from typing import Any

import obstore
import pyarrow as pa
from attrs import field, frozen
from hoodoo.errors import StorageError, StorageUnknownError
from hoodoo.hookspecs.registration import Settings
from hoodoo.storage import temporaries
from hoodoo.storage.api import Entry, Storage
from hoodoo.timeline.markers import MARKERS
from obstore.exceptions import PreconditionError

from hoodoo_cloud import creation, places, reading
from hoodoo_cloud import scratch as local_places
from hoodoo_cloud.clients import Patience, client, delete, got, tried
from hoodoo_cloud.faults import (
    LISTING,
    STRANGE,
    Fate,
    StrangeAnswerError,
    explained,
    fate,
    no_bucket,
)
from hoodoo_cloud.listing import is_gone, is_there, listing, pages
from hoodoo_cloud.places import Place
from hoodoo_cloud.remembering import remembering
from hoodoo_cloud.waiting import waiting

_NOT_PLAIN = frozenset({"", ".", ".."})
_MOST = 5000 << 20  # bytes of one put, which S3 and Azure take
_SIDE_BY_SIDE = 16  # requests
_AT_ONCE = 1000  # objects of one request that deletes


@frozen
class ObjectStorage:
    """Implements :class:`~hoodoo.storage.api.Storage`. Its objects are created by conditional puts,
    one request each, so none is ever seen half; files of more than 5000 MiB are refused. It travels
    to workers as it is."""

    root: str
    prefix: str
    place: Place = field(repr=False)

    @classmethod
    def from_settings(cls, settings: Settings) -> Storage:
        """At the option ``hoodoo.storage.uri``, set by whoever opens the table."""
        return remembering(cls(*places.find(settings)))

    @property
    def shared(self) -> bool:
        return self.place.cloud != "memory"

    @property
    def plain_files(self) -> bool:
        return False

    @property
    def at_once(self) -> int:
        return _SIDE_BY_SIDE

    # --- writing ----------------------------------------------------------------------------------
    def put(self, path: str, data: bytes) -> None:
        key = self._key(path)
        self._before_writing(path, len(data))
        try:
            tried(self.place, lambda: self._put(key, data))
            is_there(self.place, key)
        except Exception as error:
            # The client may have sent it several times: only a refusal says that none took place.
            kind = StorageError if fate(error) is Fate.REFUSED else StorageUnknownError
            raise explained(error, self.place, self._uri(path), "writing", kind) from None

    def _put(self, key: str, data: bytes) -> None:
        made = obstore.put(client(self.place, size=len(data)), key, data, use_multipart=False)
        if creation.genuine(self.place, made):
            return
        found: bytes | None = None
        with suppress(FileNotFoundError):
            found = got(self.place, key).bytes().to_bytes()
        if found != data:
            raise StrangeAnswerError(STRANGE)

    def put_if_absent(self, path: str, data: bytes) -> bool:
        key = self._key(path)
        self._before_writing(path, len(data))
        return self._created(key, data, path) is not None

    def put_file_if_absent(self, path: str, local: str) -> bool:
        return self.put_file(path, local) is not None

    def put_file(self, path: str, local: str) -> str | None:
        """:meth:`put_file_if_absent`: the tag of what was created, None where it was there. The
        file is mapped, not read into memory."""
        key = self._key(path)
        try:
            size = os.stat(local).st_size
            self._before_writing(path, size)
            if not size:
                return self._created(key, b"", path)
            with open(local, "rb") as file:
                data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except OSError as error:
            raise StorageError(
                local, f"reading it failed: {error.strerror or error}.", "Try again."
            ) from error
        # Not closed here: the client may hold on to it for a moment; the last who does closes it.
        return self._created(key, memoryview(data), path)

    def _created(self, key: str, data: bytes | memoryview, path: str) -> str | None:
        made = creation.create(self.place, key, data, self._uri(path))
        is_there(self.place, key)
        return made

    def delete(self, path: str) -> bool:
        key = self._key(path)
        if self.head(path) is None:  # S3 says nothing of what was not there
            return False
        is_gone(self.place, [key])
        try:
            tried(self.place, lambda: delete(self.place, key))
        except FileNotFoundError as error:
            if no_bucket(error):
                raise explained(error, self.place, self._uri(path), "deleting") from None
            return False
        except Exception as error:
            kind = StorageError if fate(error) is Fate.REFUSED else StorageUnknownError
            raise explained(error, self.place, self._uri(path), "deleting", kind) from None
        return True

    def discard(self, paths: Sequence[str]) -> None:
        """One request, where the store takes many names at once; sent again as long as it may
        help."""
        keys = [self._key(path) for path in paths]
        if not keys:
            return
        is_gone(self.place, keys)
        try:
            tried(self.place, lambda: self._gone(keys))
        except Exception as error:
            kind = StorageUnknownError
            raise explained(error, self.place, self._uri(paths[0]), "deleting", kind) from None

    def _gone(self, keys: builtins.list[str]) -> None:
        try:
            delete(self.place, keys)
        except FileNotFoundError as error:
            if no_bucket(error):
                raise
            if len(keys) > 1:  # those after it may be there still
                for key in keys:
                    self._gone([key])

    def delete_prefix(self, prefix: str) -> int:
        """A thousand at a time, where the store takes so many; fewer where no answer came for so
        many. It goes on for as long as objects go."""
        removed, most, patience = 0, _AT_ONCE, Patience(self.place)
        left = self._keys_below(prefix)
        while left:
            part = left[:most]
            is_gone(self.place, part)
            try:
                delete(self.place, part)
                gone, left = len(part), left[most:]
            except Exception as error:
                lost = not isinstance(error, FileNotFoundError)  # else another process deletes, too
                if lost and fate(error) is Fate.REFUSED:
                    raise self._not_deleted(error, prefix) from None
                still = self._keys_below(prefix)
                gone, left = len({*left}.difference(still)), still
                most = max(most // 8, _SIDE_BY_SIDE) if lost else most
                if left and not gone and not patience.again(error):
                    raise self._not_deleted(error, prefix) from None
            removed += gone
            if gone:
                patience = Patience(self.place)
        return removed

    def _keys_below(self, prefix: str) -> builtins.list[str]:
        return [self._key(entry.path) for entry in self.list(prefix, recursive=True)]

    def _not_deleted(self, error: Exception, prefix: str) -> StorageError:
        """Half of it may be done."""
        return explained(error, self.place, self._uri(prefix), "deleting", StorageUnknownError)

    def scratch(self) -> str:
        try:
            return local_places.scratch()
        except OSError as error:
            raise StorageError(
                "the local temporary directory",
                f"making a folder failed: {error.strerror or error}.",
                "Let TMPDIR name a directory that can be written to.",
            ) from error

    def sweep(self) -> int:
        """What dead processes left on this host, and probes in the store that are a day old."""
        key, old = self._below(temporaries.TEMP_DIR), time.time() - temporaries.DAY
        with self._guard("sweeping", temporaries.TEMP_DIR):
            found = tried(self.place, lambda: obstore.list(client(self.place), key).collect())
            left = [o["path"] for o in found if o["last_modified"].timestamp() < old]
            if left:
                tried(self.place, lambda: self._gone(left))
        return len(left) + local_places.sweep()

    # --- reading ----------------------------------------------------------------------------------
    def get(self, path: str) -> bytes:
        key = self._key(path)
        with self._guard("reading", path):
            found: bytes = tried(self.place, lambda: got(self.place, key).bytes().to_bytes())
            is_there(self.place, key)
            return found

    def open(self, path: str) -> pa.NativeFile:
        key = self._key(path)
        with self._guard("opening", path):
            found = self._head(key)
        # Not a method's frame: a file that is open holds no more than it needs.
        return reading.opened(found["size"], _Ranges(self, path, key, found["e_tag"]).read)

    def head(self, path: str) -> Entry | None:
        key = self._key(path)
        try:
            with self._guard("looking at", path):
                found = self._head(key)
        except FileNotFoundError:
            return None
        is_there(self.place, key)
        return Entry(
            path, found["size"], found["last_modified"].timestamp(), tag=creation.tag_of(found)
        )

    def _head(self, key: str) -> Any:
        return tried(self.place, lambda: self._look(key))

    def _look(self, key: str) -> Any:
        try:
            return got(self.place, key, {"head": True}).meta
        except FileNotFoundError:
            raise
        except Exception as error:
            if fate(error) is not Fate.REFUSED:
                raise
            return got(self.place, key).meta  # the answer to HEAD has no text that says why

    def list(self, prefix: str = "", recursive: bool = False) -> list[Entry]:
        if prefix:
            self._key(prefix.removesuffix("/"))
        key = self._below(prefix.removesuffix("/"))
        cut = len(self.prefix) + 1 if self.prefix else 0
        with self._guard(LISTING, prefix):
            found = listing(self.place, key, recursive, self.prefix, prefix == MARKERS)
        folders = [Entry(p[cut:], is_dir=True) for p in found.folders]
        made = [_entry(o, cut) for o in found.objects if o["path"] != key]
        # Other programs mark directories by empty objects of their names.
        names = {e.path for e in folders}
        if recursive:
            names = {e.path.rpartition("/")[0] for e in made}
        kept = [e for e in made if e.size or e.path not in names]
        plain = (e for e in (*folders, *kept) if not temporaries.is_ours(e.path))
        return sorted(plain, key=attrgetter("path"))

    def pages(self, prefix: str = "") -> Iterator[builtins.list[Entry]]:
        """All objects below ``prefix`` by name, a thousand for each request, as far as somebody
        takes them. Errors are those of :meth:`list`."""
        key = self._below(prefix.removesuffix("/"))
        cut = len(self.prefix) + 1 if self.prefix else 0
        found = pages(self.place, key)
        while True:
            with self._guard(LISTING, prefix):
                page = next(found, None)
            if page is None:
                return
            yield [_entry(o, cut) for o in page]

    # --- paths ------------------------------------------------------------------------------------
    def _key(self, path: str) -> str:
        """Of an object; refuses what could lie outside the root."""
        if not _NOT_PLAIN.isdisjoint(path.split("/")) or "\0" in path:
            raise StorageError(
                f"path {path!r}",
                f"is not relative to the root {self.root} in plain parts.",
                "Use a/b/c: no leading or trailing '/', no empty part, no '.' and no '..'.",
            )
        return self._below(path)

    def _below(self, path: str) -> str:
        return "/".join(part for part in (self.prefix, path) if part)

    def _uri(self, path: str) -> str:
        return f"{self.root}/{path}" if path else self.root

    # --- errors -----------------------------------------------------------------------------------
    def _before_writing(self, path: str, size: int) -> None:
        if size > _MOST:
            raise StorageError(
                self._uri(path),
                f"has {size} bytes, and one put takes {_MOST} at most.",
                "Write smaller files: hoodie.parquet.max.file.size.",
            )
        with waiting(self.place, self.root, "the first write"):
            creation.prove(self.place, self._below, self.root)

    @contextmanager
    def _guard(self, doing: str, path: str) -> Iterator[None]:
        """FileNotFoundError is an answer of the reading methods, where there is a bucket."""
        try:
            with waiting(self.place, self._uri(path), doing):
                yield
        except FileNotFoundError as error:
            if no_bucket(error):
                raise explained(error, self.place, self._uri(path), doing) from None
            raise FileNotFoundError(2, "no such object", self._uri(path)) from None
        except Exception as error:
            if isinstance(error, StorageError):
                raise
            raise explained(error, self.place, self._uri(path), doing) from None


def _entry(found: Any, cut: int) -> Entry:
    """Of what obstore says of an object, without the first ``cut`` letters of its name."""
    tag = creation.tag_of(found)
    return Entry(found["path"][cut:], found["size"], found["last_modified"].timestamp(), tag=tag)


@frozen
class _Ranges:
    """Ranges of one version of an object."""

    storage: ObjectStorage
    path: str
    key: str
    tag: str | None

    def read(self, start: int, end: int) -> memoryview:
        uri, options = f"{self.storage.root}/{self.path}", {"range": (start, end)}
        if self.tag:
            options["if_match"] = self.tag  # type: ignore[assignment]
        try:
            tag, found = tried(self.storage.place, lambda: self._answered(options))
            if self.tag and tag != self.tag:  # of a server that knows no conditions of reads
                raise FileNotFoundError
            return found
        except (FileNotFoundError, PreconditionError):
            raise OSError(
                f"{uri}: it was deleted or replaced while it was read. Fix: read the table again."
            ) from None
        except Exception as error:
            raise OSError(str(explained(error, self.storage.place, uri, "reading"))) from None

    def _answered(self, options: Any) -> tuple[str | None, memoryview]:
        found = got(self.storage.place, self.key, options)
        return found.meta["e_tag"], memoryview(found.bytes())
