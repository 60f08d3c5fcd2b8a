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
    "Bytes of rows, in memory, that a write of the data source takes at most: its commit runs in "
    "one process.",
    "1073741824",
    kind=Size(1),
)
SMALL_BYTES = Option(
    "hoodoo.spark.small.bytes",
    "Bytes of rows, in memory, up to which a write on Spark goes on in the driver's process once "
    "Spark has made them, "
    "instead of in further jobs. 0: never.",
    "4194304",
    kind=Size(0),
)
SMALL_READS = Option(
    "hoodoo.spark.small.read.bytes",
    "Bytes of stored files that such a write reads or rewrites in the driver's process at most; "
    "steps that need more "
    "run in Spark's tasks.",
    "67108864",
    kind=Size(0),
)
DRIVER_BYTES = Option(
    "hoodoo.spark.driver.bytes",
    "Bytes of keys and of their places, in memory, that a write on Spark holds in the driver's "
    "process; of more, all stay "
    "with tasks, which costs an exchange. At most an eighth of spark.driver.maxResultSize counts, "
    "and at most 96 MiB.",
    "33554432",
    kind=Size(0),
)
