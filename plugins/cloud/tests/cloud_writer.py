"""A program: one of several writers of a table. ``cloud_writer.py URI OPTIONS NUMBER WRITES``

Each write updates a row that all of them update, and inserts one of its own, which it prints."""

from __future__ import annotations

import json
import sys

import hoodoo
from small_tables import rows

HOT = 1


def main() -> None:
    uri, options, number, writes = sys.argv[1:]
    table = hoodoo.open(uri, json.loads(options))
    for turn in range(int(writes)):
        own, text = 1000 * (int(number) + 1) + turn, f"{number}-{turn}"
        table.upsert(rows({HOT: text, own: text}, 5))
        print(json.dumps([own, text]), flush=True)


if __name__ == "__main__":
    main()
