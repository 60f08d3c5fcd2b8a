"""What an object answers in another process: one that goes by ``hash()`` of texts, say, answers otherwise there.

Bytes on disk are decided by such answers, and workers and later sessions are other processes.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from typing import Any

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
    """What ``made.method(argument)`` is in a new process, whose hashes of texts are others; ``otherwise``, where the
    class of ``made`` can't be imported there, as that of a test may not.

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
