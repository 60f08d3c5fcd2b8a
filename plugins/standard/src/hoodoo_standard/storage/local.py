"""The local store: files below one directory, durable when a method returns.

Creation is a hard link, which is atomic and refuses an existing name on every POSIX file system;
``rename`` would replace it, and ``O_EXCL`` would show a file before its bytes are there.
"""

from __future__ import annotations

import builtins
import errno
import os
import shutil
import stat
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from operator import attrgetter

import pyarrow as pa
from attrs import field, frozen
from hoodoo.errors import StorageError, StorageUnknownError
from hoodoo.hookspecs.registration import Settings
from hoodoo.options.table import STORAGE_URI
from hoodoo.storage import temporaries, uri
from hoodoo.storage.api import Entry
from hoodoo.timeline.properties import PATH

_FIXES = {
    errno.ENOSPC: "Free space on the file system, then try again.",
    errno.EDQUOT: "Free space in the quota, then try again.",
    errno.EACCES: "Check the permissions of the file and of its directories.",
    errno.EPERM: "Check the permissions, and that the file system supports hard links.",
    errno.EROFS: "The file system is mounted read-only.",
    errno.ENAMETOOLONG: "Choose shorter partition values or a shorter table path.",
    errno.ESTALE: "Open the table at the path where it is now.",
    errno.EMFILE: "Raise the limit of open files (ulimit -n).",
}
# Parts of a path that would make it another one.
_NOT_PLAIN = frozenset({"", ".", ".."})


@frozen
class LocalStorage:
    """Implements :class:`~hoodoo.storage.api.Storage` below the directory ``base``.

    ``base`` is a path or a ``file://`` URI, made absolute at once, so that tasks that run in
    another directory see the same files. ``durable=False`` leaves out every fsync: for tests only.
    A directory is not an object: ``head`` and ``get`` don't see it. Temporaries don't show in
    lists."""

    base: str = field(converter=uri.local_path)
    durable: bool = field(default=True, kw_only=True)
    # The directories of tables that were read here: of one at most. Nobody makes them again.
    _tables: set[str] = field(factory=set, init=False, eq=False, repr=False)

    @classmethod
    def from_settings(cls, settings: Settings) -> LocalStorage:
        """At the option ``hoodoo.storage.uri``, set by whoever opens the table."""
        return cls(STORAGE_URI.read(settings.options))

    @property
    def root(self) -> str:
        return "file://" + self.base

    @property
    def plain_files(self) -> bool:
        return True

    # --- writing ----------------------------------------------------------------------------------
    def put(self, path: str, data: bytes) -> None:
        target = self._file(path)
        temp = self._temporary(path, data)
        try:
            with self._guard("writing", path):
                self._into_place(partial(os.replace, temp, target), target)
                _forget_checksum(target)
        except BaseException:
            _unlink_quietly(temp)
            raise
        self._settle(path, os.path.dirname(target))

    def put_if_absent(self, path: str, data: bytes) -> bool:
        target = self._file(path)
        with self._guard("creating", path):
            if os.path.lexists(target):  # spares the temporary; the link below is what decides
                return False
        if not data:
            return self._create_empty(target, path)
        temp = self._temporary(path, data)
        try:
            return self._link(temp, target, path)
        finally:
            _unlink_quietly(temp)

    def put_file_if_absent(self, path: str, local: str) -> bool:
        """``local`` is moved when the answer is True, left alone when it is False."""
        target = self._file(path)
        with self._guard("creating", path):
            if os.path.lexists(target) and not os.path.samefile(local, target):
                return False
            self._sync(local)
        try:
            created = self._link(local, target, path)
        except StorageError as exc:
            if not (isinstance(exc.__cause__, OSError) and exc.__cause__.errno == errno.EXDEV):
                raise
            created = self._copy(local, target, path)
        if created:
            _unlink_quietly(local)
        return created

    def delete(self, path: str) -> bool:
        target = self._file(path)
        with self._guard("deleting", path):
            try:
                if os.path.isdir(target) and not os.path.islink(target):
                    return False
                os.unlink(target)
            except (FileNotFoundError, NotADirectoryError):
                return False
            _forget_checksum(target)
        self._settle(path, os.path.dirname(target))
        return True

    def delete_prefix(self, prefix: str) -> int:
        """Temporaries, which another process may be writing, stay; :meth:`sweep` removes them. A
        link goes, not what it leads to, which may lie outside of the root."""
        top = self._directory(prefix)
        if top in (self.base, *self._tables):
            self._tables.clear()
        if prefix and os.path.islink(top):
            with self._guard("deleting", prefix, StorageUnknownError):
                removed = int(_unlink(top))
            self._settle(prefix, os.path.dirname(top))
            return removed
        if not os.path.isdir(top):
            return 0
        removed = 0
        # Half of it may be gone when an error comes: the outcome is unknown, not "nothing
        # happened".
        with self._guard("deleting", prefix, StorageUnknownError):
            for directory, folders, files in os.walk(
                top, topdown=False, onerror=_raise_unless_gone
            ):
                if not temporaries.is_ours(self._relative(directory)):
                    links = [f for f in folders if os.path.islink(os.path.join(directory, f))]
                    for name in (*files, *links):
                        removed += _unlink(os.path.join(directory, name))
                _rmdir(directory)
        self._settle(prefix, os.path.dirname(top))
        return removed

    def scratch(self) -> str:
        with self._guard("making the scratch directory", ""):
            self._refuse_to_make(top for top in self._tables if not os.path.isdir(top))
            return temporaries.scratch(self.base)

    def sweep(self, older_than: float = temporaries.DAY) -> int:
        """Remove own temporaries of processes that have ended, and those of other machines that
        nobody touched for ``older_than`` seconds; how many files."""
        with self._guard("sweeping temporaries", temporaries.TEMP_DIR):
            return temporaries.sweep(self.base, older_than)

    # --- reading ----------------------------------------------------------------------------------
    def set_modified(self, path: str, seconds: float) -> None:
        """Give a file another time of modification, in seconds since the epoch."""
        with suppress(OSError):  # it is as good without
            os.utime(self._file(path), (seconds, seconds))

    def get(self, path: str) -> bytes:
        target = self._file(path)
        with (
            self._guard("reading", path),
            self._missing_is_not_found(path),
            open(target, "rb") as file,
        ):
            if path == PATH:
                self._tables.add(os.path.dirname(target))
            return file.read()

    def open(self, path: str) -> pa.NativeFile:
        """An ``OSFile``, not a memory map: a disk or mount that fails under a map kills the process
        with SIGBUS, while a failing read is an error that names the file; and pages of a map count
        as the process's memory, which has a budget. Reads at an offset are thread-safe.
        """
        target = self._file(path)
        with self._guard("opening", path), self._missing_is_not_found(path):
            if os.path.isdir(target):
                raise IsADirectoryError(errno.EISDIR, "is a directory")
            return pa.OSFile(target, "rb")

    def head(self, path: str) -> Entry | None:
        target = self._file(path)
        with self._guard("looking at", path):
            try:
                found = os.stat(target)
            except (FileNotFoundError, NotADirectoryError):
                return None
        if stat.S_ISDIR(found.st_mode):
            return None
        return Entry(path, found.st_size, found.st_mtime)

    def list(self, prefix: str = "", recursive: bool = False) -> list[Entry]:
        self._directory(prefix)
        with self._guard("listing", prefix):
            found: list[Entry] = []
            waiting = [prefix.strip("/")]
            while waiting:
                for entry in self._children(waiting.pop()):
                    if entry.is_dir and recursive:
                        waiting.append(entry.path)
                    else:
                        found.append(entry)
        return sorted(found, key=attrgetter("path"))

    def names(self, folder: str) -> builtins.list[str]:
        """The names of the files in a directory; none of them is looked at, but links."""
        with self._guard("listing", folder):
            try:
                scanned = os.scandir(self._directory(folder))
            except (FileNotFoundError, NotADirectoryError):
                return []
            with scanned:
                return [item.name for item in scanned if item.is_file()]

    def _children(self, directory: str) -> Iterator[Entry]:
        if temporaries.is_ours(directory):
            return
        try:
            scanned = os.scandir(os.path.join(self.base, directory))
        except (FileNotFoundError, NotADirectoryError):
            return
        except OSError as exc:
            if exc.errno == errno.ENAMETOOLONG:  # a filter may name it: no such folder can exist
                return
            raise
        with scanned:
            for item in scanned:
                path = f"{directory}/{item.name}" if directory else item.name
                if temporaries.is_ours(path):
                    continue
                try:
                    found = item.stat()
                except FileNotFoundError:  # gone since the scan, or a dangling link
                    continue
                if item.is_dir():
                    yield Entry(path, 0, found.st_mtime, is_dir=True)
                else:
                    yield Entry(path, found.st_size, found.st_mtime)

    # --- paths ------------------------------------------------------------------------------------
    def _file(self, path: str) -> str:
        """The local path of an object; refuses what could lie outside the root."""
        parts = path.split("/")
        if not _NOT_PLAIN.isdisjoint(parts) or "\0" in path:
            raise StorageError(
                f"path {path!r}",
                f"is not relative to the root {self.root} in plain parts.",
                "Use a/b/c: no leading or trailing '/', no empty part, no '.' and no '..'.",
            )
        return os.path.join(self.base, *parts)

    def _directory(self, prefix: str) -> str:
        return self._file(prefix.removesuffix("/")) if prefix else self.base

    def _relative(self, local: str) -> str:
        return os.path.relpath(local, self.base).replace(os.sep, "/")

    # --- steps of a write -------------------------------------------------------------------------
    def _temporary(self, path: str, data: bytes) -> str:
        """A durable temporary with these bytes, next to nothing that a reader looks at."""
        directory = os.path.join(self.base, *temporaries.TEMP_DIR.split("/"))
        temp = os.path.join(directory, temporaries.new_name())
        with self._guard("writing", path):
            try:
                self._into_place(partial(self._write, temp, data), temp)
            except BaseException:
                _unlink_quietly(temp)
                raise
        return temp

    def _write(self, local: str, data: bytes) -> None:
        with open(local, "xb") as file:
            file.write(data)
            file.flush()
            if self.durable:
                os.fsync(file.fileno())

    def _link(self, local: str, target: str, path: str) -> bool:
        with self._guard("creating", path):
            try:
                self._into_place(partial(os.link, local, target), target)
            except FileExistsError:
                # A network file system may repeat a request whose answer got lost: then the name
                # exists because we made it. It may also be gone again.
                if not os.path.lexists(target) or not os.path.samefile(local, target):
                    return False
        self._settle(path, os.path.dirname(target))
        return True

    def _create_empty(self, target: str, path: str) -> bool:
        """As a link to an empty temporary would: there are no bytes that come later than the name.
        Each file of a write has a marker, which spares the temporary by this."""
        with self._guard("creating", path):
            try:
                self._into_place(partial(_touch, target), target)
            except FileExistsError:
                return False
        self._settle(path, os.path.dirname(target))
        return True

    def _copy(self, local: str, target: str, path: str) -> bool:
        """From another file system: copy next to the table first, then create as ever."""
        temp = os.path.join(self.base, *temporaries.TEMP_DIR.split("/"), temporaries.new_name())
        try:
            with self._guard("copying to", path):
                self._into_place(partial(shutil.copyfile, local, temp), temp)
                self._sync(temp)
            return self._link(temp, target, path)
        finally:
            _unlink_quietly(temp)

    def _into_place(self, action: Callable[[], object], target: str) -> None:
        """Run ``action``, which names ``target``; where it fails because of that, make the
        directories above ``target``.

        A directory may vanish in between, at any depth, when another process deletes its prefix.
        """
        for attempt in range(10):
            try:
                if attempt:
                    self._make_directory(os.path.dirname(target))
                action()
            except FileNotFoundError:
                if attempt == 9:
                    raise
            else:
                return

    def _make_directory(self, directory: str) -> None:
        missing = []
        while not os.path.isdir(directory):
            missing.append(directory)
            directory = os.path.dirname(directory)
        self._refuse_to_make(missing)
        for made in reversed(missing):
            with suppress(FileExistsError):
                os.mkdir(made)
            # Also when another process made it: its name has to be durable before ours below it.
            self._sync(os.path.dirname(made))

    def _refuse_to_make(self, missing: Iterable[str]) -> None:
        """A table that was renamed or deleted while it is written stays away: what was made at its
        old path would be taken for a table, or a write as done that no table has."""
        if not self._tables.isdisjoint(missing):
            raise OSError(errno.ESTALE, "the table was deleted or moved away")

    def _settle(self, path: str, directory: str) -> None:
        """Make a changed name durable. The change is already visible, so failure means unknown."""
        with (
            self._guard("making durable", path, StorageUnknownError),
            suppress(FileNotFoundError),
        ):
            self._sync(directory)

    def _sync(self, local: str) -> None:
        if (
            not self.durable or sys.platform == "win32"
        ):  # there a folder can't be opened, and needs no fsync
            return
        descriptor = os.open(local, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    # --- errors -----------------------------------------------------------------------------------
    @contextmanager
    def _guard(
        self, doing: str, path: str, kind: type[StorageError] = StorageError
    ) -> Iterator[None]:
        try:
            yield
        except _Missing as exc:
            raise FileNotFoundError(errno.ENOENT, "no such object", exc.args[0]) from None
        except OSError as exc:
            obj = f"{self.root}/{path}" if path else self.root
            rule = f"{doing} failed: {exc.strerror or exc}."
            fix = _FIXES.get(exc.errno or 0, "Check the file system, then try again.")
            raise kind(obj, rule, fix) from exc

    @contextmanager
    def _missing_is_not_found(self, path: str) -> Iterator[None]:
        """FileNotFoundError is an answer of the reading methods, also where a directory stands."""
        try:
            yield
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            raise _Missing(f"{self.root}/{path}") from None


class _Missing(Exception):
    """Carries "there is no such object" past the conversion of OSError."""


def _forget_checksum(target: str) -> None:
    # Hadoop's local file system keeps `.name.crc` beside a file and refuses the file when they
    # differ.
    folder, name = os.path.split(target)
    _unlink_quietly(os.path.join(folder, f".{name}.crc"))


def _touch(target: str) -> None:
    os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))


def _unlink(local: str) -> bool:
    """Whether it was there."""
    with suppress(FileNotFoundError):
        os.unlink(local)
        return True
    return False


def _unlink_quietly(local: str) -> None:
    with suppress(OSError):  # a leftover is swept later; it must not turn a success into an error
        os.unlink(local)


def _rmdir(directory: str) -> None:
    try:
        os.rmdir(directory)
    except FileNotFoundError:
        pass
    except OSError as exc:  # somebody wrote into it meanwhile, or temporaries stay in it
        if exc.errno not in (errno.ENOTEMPTY, errno.EEXIST):
            raise


def _raise_unless_gone(exc: OSError) -> None:
    if not isinstance(exc, FileNotFoundError):
        raise exc
