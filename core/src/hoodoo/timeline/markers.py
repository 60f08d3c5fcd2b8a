"""Markers: which files a pending instant is about to leave, for whoever rolls it back.

Hoodoo's own rollback lists files and needs no markers; Spark Hudi deletes only what markers name,
and would leave the files of a crashed write for good. Direct markers, the kind that needs no
server.
"""

from __future__ import annotations

# Hudi's place for what a pending instant leaves lying about. Markers of an instant are in a folder
# of its name; staged rows are beside it, under a name that Hudi doesn't take for markers.
MARKERS = ".hoodie/.temp"
STAGED = f"{MARKERS}/hoodoo-"
CREATE = "CREATE"  # a base file of a new file group
MERGE = "MERGE"  # a base file in place of another one
APPEND = "APPEND"  # a log file
# Of the metadata table: who undoes something there, Spark Hudi too, lists its files.
NO_MARKER = ""


def marker(instant: str, partition_path: str, name: str, kind: str) -> str:
    """The path of the marker of a file, an empty file that comes before it. ``kind``: CREATE, MERGE
    or APPEND."""
    folder = f"{MARKERS}/{instant}/{partition_path}" if partition_path else f"{MARKERS}/{instant}"
    return f"{folder}/{name}.marker.{kind}"


def created(path: str, instant: str) -> str:
    """The file that a marker of ``instant`` at ``path`` says was created; empty where it says
    something else."""
    folder, end = f"{MARKERS}/{instant}/", f".marker.{CREATE}"
    fits = path.startswith(folder) and path.endswith(end)
    return path[len(folder) : -len(end)] if fits else ""
