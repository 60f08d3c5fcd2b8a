"""The options that the Spark plugin reads."""

from __future__ import annotations

from hoodoo.hookspecs.registration import Option
from hoodoo.options import Duration, Size, Whole

_STREAMING = "hoodie.datasource.write.streaming."
IDENTIFIER = Option(
    f"{_STREAMING}checkpoint.identifier",
    "The name of a stream among those that write into the table; by default the id of its query.",
)
RETRIES = Option(
    f"{_STREAMING}retry.count", "How often a batch of a stream is tried again.", "3", kind=Whole(0)
)
PAUSE = Option(
    f"{_STREAMING}retry.interval.ms",
    "Milliseconds to wait before a batch of a stream is tried again.",
    "2000",
    kind=Duration("ms"),
)
STREAMING: tuple[Option, ...] = (IDENTIFIER, RETRIES, PAUSE)
COMMIT_BYTES = Option(
    "hoodoo.spark.commit.bytes",
    "Bytes of rows, in memory, that a write of the data source takes at most: its commit runs in one process.",
    "1073741824",
    kind=Size(1),
)
