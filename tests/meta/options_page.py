"""docs/options.md, generated from the declarations. ``python tests/meta/options_page.py`` writes it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from hoodoo.hookspecs import FAMILIES
from hoodoo.hookspecs.registration import Option
from hoodoo.kernel import kernel
from hoodoo.options.core import FILE_OPTIONS
from hoodoo.options.kinds import Size
from hoodoo.options.table import TABLE_OPTIONS
from hoodoo.options.virtual import VIRTUAL_OPTIONS
from hoodoo.options.write import WRITE_OPTIONS
from hoodoo_clustering.options import CLUSTERING_OPTIONS
from hoodoo_formats.options import PARQUET_OPTIONS
from hoodoo_metadata.options import METADATA_OPTIONS
from hoodoo_services.options import (
    ARCHIVE_OPTIONS,
    CLEAN_OPTIONS,
    COMPACTION_OPTIONS,
    LOG_COMPACTION_OPTIONS,
)
from hoodoo_standard.creation.options import NEW_TABLE_OPTIONS

kernel()  # knows the families that distributions bring

PAGE = Path(__file__).parents[2] / "docs/options.md"
OURS = (
    "hoodoo-core",
    "hoodoo-rows",
    "hoodoo-cli",
    "hoodoo-standard",
    "hoodoo-formats",
    "hoodoo-services",
    "hoodoo-clustering",
    "hoodoo-history",
    "hoodoo-frames",
    "hoodoo-serve",
    "hoodoo-hashing",
    "hoodoo-publishing",
    "hoodoo-versions",
    "hoodoo-erasure",
    "hoodoo-bootstrap",
    "hoodoo-copies",
    "hoodoo-ingest",
    "hoodoo-catalogs",
    "hoodoo-blob",
    "hoodoo-statements",
    "hoodoo-cloud",
    "hoodoo-spark",
)
HEAD = """\
# Options

Most tables need none of these. Those that users set most often:

| you want | option |
|---|---|
| no services in the writer | `hoodie.clean.automatic=false`, `hoodie.archive.automatic=false`, with [`hoodoo serve`](services.md) |
| compaction every few writes | `hoodie.compact.inline=true` |
| clustering every few writes | `hoodie.clustering.inline=true` |
| earlier states for longer | `hoodie.clean.commits.retained` |
| another file size | `hoodie.parquet.max.file.size`, `hoodie.parquet.small.file.limit` |
| less memory | `hoodoo.memory.bytes` |
| Spark Hudi as a second writer | `hoodie.write.lock.provider` |

These keys are the `options` of `hoodoo.create` and `hoodoo.open`, and the `-o KEY=VALUE` of the
commands: Hudi's names, and some of Hoodoo's own. All are checked before anything is done. An
unknown key, and a value of a wrong type or out of its bounds, is an error that says what is right.
A key of Hudi that has no effect in Hoodoo gives a warning that says why. *Table.*: the value is stored with the
table when it is created; a different value later is an error.

| type | values |
|---|---|
| flag | `true`, `1`, `yes`, `on`, or `false`, `0`, `no`, `off`, in upper or lower case |
| integer, number | decimal digits; no thousands separators |
| bytes | a number of bytes, or one with a unit: `128MB`, `1.5 GiB`, `64k`. Units are multiples of 1024. *bytes (MB)*: a number without a unit counts MB |
| duration | a number in the unit that the option names, or with a unit: `500ms`, `30s`, `5 min`, `2h`, `7d` |
| choice | one of the listed words, in any case |
| list, columns | texts, separated by commas |
| plugin | the name of an installed plugin, one of its other names, or its Java class (`hoodoo plugins`) |
| regular expression | a pattern of Python's module `re` |

*Older* names are those of earlier versions of Hudi.

```python
import hoodoo
import pyarrow as pa

sizes = {"hoodie.parquet.small.file.limit": "64MB", "hoodie.clean.automatic": "off"}
table = hoodoo.create("options", pa.schema([("id", pa.int64())]), record_key="id", options=sizes)
try:
    hoodoo.open("options", {"hoodie.parquet.small.file.limit": "many"})
except hoodoo.errors.ConfigError as error:
    print(error)
```
"""
GROUPS: tuple[tuple[str, tuple[Option, ...]], ...] = (
    ("The table", TABLE_OPTIONS),
    ("A new table: also arguments of create", NEW_TABLE_OPTIONS),
    ("Virtual keys", VIRTUAL_OPTIONS),
    ("Writing, and several writers", WRITE_OPTIONS),
    ("Files", (*PARQUET_OPTIONS, *FILE_OPTIONS)),
    ("Metadata table", METADATA_OPTIONS),
    (
        "Compaction, cleaning, archiving",
        (*COMPACTION_OPTIONS, *LOG_COMPACTION_OPTIONS, *CLEAN_OPTIONS, *ARCHIVE_OPTIONS),
    ),
    ("Clustering", CLUSTERING_OPTIONS),
)
# Of these kinds the page says which values there are; of others, the error does.
_SAYS_BOUNDS = ("columns", "number")
TITLES = {"clustering": "Orders of a clustering"}


def page() -> str:
    """The whole text."""
    parts, seen = [HEAD], set[str]()
    for title, options in (*GROUPS, *_by_family()):
        fresh = list({o.key: o for o in options if o.key not in seen}.values())
        seen |= {o.key for o in fresh}
        if fresh:
            parts.append(f"## {title}\n\n{_table(fresh)}")
    return "\n".join(parts)


def _by_family() -> Iterable[tuple[str, tuple[Option, ...]]]:
    for family in FAMILIES:
        title = TITLES.get(family, f"Plugins: {family.replace('_', ' ')}".strip())
        offers = [o for o in kernel().offers(family) if o.plugin.distribution in OURS]
        yield title, tuple(option for offer in offers for option in offer.registration.options)


def _table(options: Iterable[Option]) -> str:
    lines = ["| option | type, default, purpose |", "|---|---|"]
    for o in sorted(options, key=lambda option: option.key):
        names = [f"Also: {', '.join(f'`{n}`' for n in o.aliases)}."] if o.aliases else []
        names += [f"Older: {', '.join(f'`{n}`' for n in o.older)}."] if o.older else []
        stored = ["*Table.*"] if o.table_property else []
        what = " ".join([*stored, o.summary, *names]).replace("|", "\\|")
        kind = ", ".join(part for part in (_type(o), _default(o)) if part)
        lines.append(f"| `{o.key}` | {kind}. {what} |")
    return "\n".join(lines) + "\n"


def _type(option: Option[Any]) -> str:
    kind = option.kind
    name, bounds = kind.name.replace("whole number", "integer"), kind.bounds
    if isinstance(kind, Size) and kind.unit != "b":
        name = f"{name} ({kind.unit.upper()}B)"
    if name == "choice":
        return f"{name}: {bounds}"
    return f"{name}, {bounds}" if bounds and name in _SAYS_BOUNDS else name


def _default(option: Option[Any]) -> str:
    if option.default is None:
        return ""
    kind, text = option.kind, option.default
    if isinstance(kind, Size) and kind.unit == "b":
        for letter, size in (("GiB", 1 << 30), ("MiB", 1 << 20)):
            if int(text) >= size and int(text) % size == 0:
                return f"{int(text) // size} {letter}"
    return f"`{text}`" if text else "(empty)"


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
