"""Where the tests' tables are: in memory where there is room for them.

Every step of a write is made durable; on a disk the tests would wait for that most of the time.
"""

from __future__ import annotations

import os
import shutil

_MEMORY = "/dev/shm"
_ROOM = 4 << 30  # bytes; a whole run needs less than one GiB
# pytest reads it where no --basetemp is given; whoever has set it knows better.
_VARIABLE = "PYTEST_DEBUG_TEMPROOT"


def _has_room() -> bool:
    try:
        return os.access(_MEMORY, os.W_OK) and shutil.disk_usage(_MEMORY).free > _ROOM
    except OSError:
        return False


if _has_room():
    os.environ.setdefault(_VARIABLE, _MEMORY)
