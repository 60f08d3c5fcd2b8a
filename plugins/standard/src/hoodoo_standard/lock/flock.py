"""The lock of the operating system on a file: whoever waits is woken, and no process asks again.

`.hoodie/.hoodoo/locks/<name>.flock` in a directory that this machine sees as plain files. The
system frees the lock with the process that holds it. Where there is no such file, or the file
system has no locks, the lock is that of :mod:`hoodoo_standard.lock.conditional_put`; the two
exclude nobody from each other, so that all writers of a table have to see it in the same way."""

from __future__ import annotations

import errno
import os
import threading
from contextlib import suppress

from attrs import define, field, frozen
from hoodoo.errors import StorageError
from hoodoo.hookspecs.registration import Settings
from hoodoo.storage.api import Storage, has_plain_files
from hoodoo.storage.lock import Held
from hoodoo.storage.uri import local_path

from hoodoo_standard.lock import FOLDER, lease

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

_LOCAL = "file://"
_open: set[int] = set()  # the descriptors of files that are open here
# The answers of a file system that has no locks, or none for this file.
_NO_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL, errno.EROFS, errno.EACCES}


@frozen
class FlockLock:
    """``renew`` and ``validity``: those of ``conditional_put``, where that takes its place."""

    renew: float = 30.0
    validity: float = 300.0

    @classmethod
    def from_settings(cls, settings: Settings) -> FlockLock:
        return cls(*lease(settings))

    def acquire(self, storage: Storage, name: str, wait: float) -> Held | None:
        """Raises StorageError; the lock is not had then."""
        if fcntl is None or not (storage.root.startswith(_LOCAL) and has_plain_files(storage)):
            return self._numbered(storage, name, wait)
        file = os.path.join(local_path(storage.root), FOLDER, f"{name}.flock")
        try:
            held = _Held.opened(file)
            if held.take_now(wait <= 0) or (wait > 0 and _Waiting(held).within(wait)):
                try:
                    return held.noted()
                except BaseException:
                    held.give_up()
                    raise
        except OSError as error:
            if error.errno in _NO_LOCKS:
                return self._numbered(storage, name, wait)
            raise StorageError(
                f"lock file {file}", f"can't be locked: {error}.",
                "Check the directory, or choose another hoodie.write.lock.provider.",
            ) from error  # fmt: skip
        return None

    def _numbered(self, storage: Storage, name: str, wait: float) -> Held | None:
        from hoodoo_standard.lock.conditional_put import ConditionalPutLock

        return ConditionalPutLock(self.renew, self.validity).acquire(storage, name, wait)


@define
class _Held:
    """A file that is open in this process; the lock is of this opening of it, so that the threads
    of a process exclude each other, too."""

    _descriptor: int
    from_dead: bool = False
    _ended: bool = field(default=False, init=False)
    _guard: threading.Lock = field(factory=threading.Lock, init=False)

    @classmethod
    def opened(cls, file: str) -> _Held:
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
        try:
            found = os.open(file, flags, 0o666)
        except FileNotFoundError:
            os.makedirs(os.path.dirname(file), exist_ok=True)
            found = os.open(file, flags, 0o666)
        _open.add(found)
        return cls(found)

    def take_now(self, close: bool) -> bool:
        """Whether the lock was free, and is held from now on; ``close`` the file if not."""
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            if close:
                self.give_up()
            return False
        except OSError:
            self.give_up()
            raise

    def take(self) -> None:
        """Wait for the lock, however long that takes."""
        fcntl.flock(self._descriptor, fcntl.LOCK_EX)

    def noted(self) -> _Held:
        """A byte in the file says that it is held: who finds it there after the lock was freed has
        it from a dead holder."""
        self.from_dead = os.fstat(self._descriptor).st_size > 0
        os.pwrite(self._descriptor, b"1", 0)
        return self

    def is_held(self) -> bool:
        return not self._ended

    def release(self) -> None:
        with self._guard:
            ended, self._ended = self._ended, True
        if not ended and self._descriptor in _open:
            with suppress(OSError):
                os.ftruncate(self._descriptor, 0)
            self.give_up()

    def give_up(self) -> None:
        """Free the lock, also where a process that was forked meanwhile has the file open."""
        if self._descriptor in _open:  # else it is another process that opened the file
            _open.discard(self._descriptor)
            with suppress(OSError):
                fcntl.flock(self._descriptor, fcntl.LOCK_UN)
            os.close(self._descriptor)


@define
class _Waiting:
    """A thread waits in the system, which knows no limit of time. If nobody needs the lock any
    more, it frees the lock as soon as it has it."""

    _held: _Held
    _done: threading.Event = field(factory=threading.Event, init=False)
    _guard: threading.Lock = field(factory=threading.Lock, init=False)
    _taken: bool = field(default=False, init=False)
    _given_up: bool = field(default=False, init=False)

    def within(self, seconds: float) -> bool:
        """Whether it could be had."""
        thread = threading.Thread(target=self._wait, name="hoodoo-flock", daemon=True)
        try:
            thread.start()
            self._done.wait(seconds)
        except BaseException:  # an interrupt, or there can be no more threads
            if self._has_it() or thread.ident is None:
                self._held.give_up()
            raise
        return self._has_it()

    def _has_it(self) -> bool:
        """Whether the lock has been taken; it is given up on if not."""
        with self._guard:
            self._given_up = not self._taken
        return self._taken

    def _wait(self) -> None:
        with suppress(OSError):
            self._held.take()
            with self._guard:
                self._taken = not self._given_up
        if not self._taken:
            self._held.give_up()
        self._done.set()


def _forked() -> None:
    """The lock of a process that dies is not kept by one that was forked from it."""
    while _open:
        with suppress(OSError):
            os.close(_open.pop())


if fcntl is not None:
    os.register_at_fork(after_in_child=_forked)
