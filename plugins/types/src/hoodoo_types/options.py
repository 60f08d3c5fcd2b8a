"""Options of hoodoo-types."""

from __future__ import annotations

from hoodoo.options import NAMES, Option

FOLDERS = Option(
    "hoodoo.blob.folders",
    "Folders or URIs, separated by commas, whose files read_blob may read, beside the table's own: "
    "a reference is data, which whoever writes rows chooses.",
    kind=NAMES,
)
