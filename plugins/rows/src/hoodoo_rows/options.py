"""Options of reads, those of writes and actions too."""

from __future__ import annotations

from hoodoo.options.kinds import FLAG
from hoodoo.options.option import Option

BY_ROWS = Option(
    "hoodie.merge.use.record.positions",
    "A read merges log files by the rows of the base file that their blocks name, where all of "
    "them do; false: always by record keys.",
    "true",
    kind=FLAG,
)

GROUP = Option(
    "hoodoo.write.group",
    "Upserts of waiting threads of one process share a commit.",
    "true",
    kind=FLAG,
)
