"""What one action writes into the metadata table is computed without waiting for other actions of the process."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from hoodoo_metadata.partitions.api import Work


def test_two_actions_do_not_wait_for_each_other() -> None:
    both = threading.Barrier(2)

    class Change:
        @property
        def keys(self) -> None:
            both.wait(20)

    def keys(_: int) -> Any:
        given: Any = {"begun": None, "change": Change(), "files": None, "kept": ()}
        return Work(**given, file_format=None, options={}).keys

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(keys, range(2))) == [None, None]
