"""What an object answers in another process: if it uses ``hash()`` of texts, the answer differs.

Bytes on disk are decided by such answers, and workers and later sessions are other processes.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import IO, Any

_CODE = """
import pickle, sys
path, data = pickle.loads(sys.stdin.buffer.read())
sys.path[:] = path
try:
    made, method, argument = pickle.loads(data)
except (ImportError, AttributeError):
    sys.exit(3)
sys.stdout.buffer.write(pickle.dumps(getattr(made, method)(argument)))
"""
_NOT_THERE = 3


def answered(made: Any, method: str, argument: Any, otherwise: Any) -> Any:
    """What ``made.method(argument)`` is in a new process, whose hashes of texts are others;
    ``otherwise``, where the class of ``made`` can't be imported there, as that of a test may not.

    >>> import pyarrow as pa
    >>> from hoodoo.testing.another_process import answered
    >>> answered(pa.array([1, 2]), "take", pa.array([1]), None).to_pylist()
    [2]
    """
    seed = "1" if os.environ.get("PYTHONHASHSEED") != "1" else "2"
    done = subprocess.run(
        [sys.executable, "-c", _CODE],
        input=pickle.dumps((sys.path, pickle.dumps((made, method, argument)))),
        capture_output=True,
        timeout=600,
        env={**os.environ, "PYTHONHASHSEED": seed},
    )
    if done.returncode == _NOT_THERE:
        return otherwise
    assert done.returncode == 0, done.stderr.decode("utf-8", "replace")
    return pickle.loads(done.stdout)


_RACE = """
import pickle, sys
path, me, data = pickle.loads(sys.stdin.buffer.read())
sys.path[:] = path
try:
    storage, names = pickle.loads(data)
except (ImportError, AttributeError):
    sys.exit(3)
storage.put(f"ready/{me}", b"")
while storage.head("go") is None:
    pass
won = [name for name in names if storage.put_if_absent(name, me.encode())]
sys.stdout.buffer.write(pickle.dumps(won))
"""


def racing(storage: Any, names: Sequence[str], processes: int = 2) -> list[list[str]] | None:
    """The ``names`` that each of some new processes has created in ``storage``, all of them at the
    same time; None where the class of the store can't be imported there."""
    data = pickle.dumps((storage, list(names)))
    running = [
        subprocess.Popen(
            [sys.executable, "-c", _RACE], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        for _ in range(processes)
    ]
    try:
        for number, one in enumerate(running):
            put: IO[bytes] | None = one.stdin
            assert put is not None
            put.write(pickle.dumps((sys.path, str(number), data)))
            put.close()
        while not all(storage.head(f"ready/{number}") for number in range(processes)):
            if any(one.poll() == _NOT_THERE for one in running):
                return None
            assert all(one.poll() is None for one in running), "a process has failed"
            time.sleep(0.01)
        storage.put("go", b"")
        found = []
        for one in running:
            assert one.stdout is not None
            answer = one.stdout.read()
            assert one.wait() == 0, "a process has failed"
            found.append(pickle.loads(answer))
        return found
    finally:
        for one in running:
            one.kill()
            one.wait()
            for pipe in (one.stdin, one.stdout):
                assert pipe is not None
                pipe.close()
