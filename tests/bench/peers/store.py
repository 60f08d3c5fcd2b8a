"""A server of S3 for the tables of a run with ``--store``, and how many requests of each kind it has answered.

The server writes a line for each request (werkzeug's, which moto runs on); they are counted from there, so that the
clients of all contenders are counted the same way. A process of its own, on loopback.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from attrs import asdict, define

SERVERS = Path(__file__).resolve().parents[3] / "plugins/cloud/tests"
BUCKET = "bench"
# What Spark's own client of S3 needs (Hadoop 3.3.4 is PySpark 3.5's).
JARS = ("org.apache.hadoop:hadoop-aws:3.3.4", "com.amazonaws:aws-java-sdk-bundle:1.12.262")
# The server colours lines of other answers than 200.
_LINE = re.compile(r'"(?:\x1b\[[0-9;]*m)*([A-Z]+) (\S+) HTTP/')


def kind_of(method: str, target: str) -> str:
    """As a bill has them: what writes, what lists, what reads, what deletes (which costs nothing)."""
    path, _, query = target.partition("?")
    names = {part.partition("=")[0] for part in query.split("&") if part}
    if method == "DELETE" or (method == "POST" and "delete" in names):
        return "delete"
    if method in ("PUT", "POST"):
        return "put"
    key = path.strip("/").partition("/")[2]
    return "list" if method == "GET" and not key else {"GET": "get", "HEAD": "head"}[method]


@define
class Store:
    endpoint: str
    log: str

    @property
    def order(self) -> dict[str, str]:
        return asdict(self)

    @property
    def settings(self) -> dict[str, str]:
        """Of a Spark session whose tables are here; Hoodoo takes the same."""
        settings = {
            "endpoint": self.endpoint, "endpoint.region": "us-east-1", "access.key": "access",
            "secret.key": "secret-secret", "path.style.access": "true",
            "connection.ssl.enabled": "false",
            "connection.maximum": "2000",  # Hudi leaves streams of its metadata table open
        }  # fmt: skip
        return {f"spark.hadoop.fs.s3a.{name}": value for name, value in settings.items()}

    def requests(self) -> Counter[str]:
        """All until now, by kind."""
        text = Path(self.log).read_text("utf-8", errors="replace")
        return Counter(kind_of(method, target) for method, target in _LINE.findall(text))


@contextmanager
def running(folder: Path) -> Iterator[Store]:
    sys.path.append(str(SERVERS))
    from servers import moto

    with moto(folder) as server:
        server.bucket(BUCKET)
        yield Store(server.endpoint, str(folder / "moto.log"))
