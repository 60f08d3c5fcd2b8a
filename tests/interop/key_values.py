"""Random rows and settings for key generators: what is awkward in a key, more often than chance has it."""

from __future__ import annotations

import datetime as dt
import struct
from collections.abc import Callable
from decimal import Decimal
from random import Random
from typing import Any

import pyarrow as pa
from key_cases import ENCODING, KEYS, NESTED, PARTITIONS, TIME, VERSION, WRITE

SCHEMA = pa.schema(
    [
        ("s", pa.string()), ("i", pa.int32()), ("l", pa.int64()), ("f", pa.float32()),
        ("d", pa.float64()), ("b", pa.bool_()), ("day", pa.date32()),
        ("at", pa.timestamp("us", "UTC")), ("ntz", pa.timestamp("us")),
        ("dec", pa.decimal128(10, 2)), ("fine", pa.decimal128(38, 8)), ("bin", pa.binary()),
        ("st", NESTED), ("seconds", pa.int64()), ("when", pa.string()), ("dated", pa.string()),
    ]
)  # fmt: skip
PIECES = [
    *"aZ09", *",,::///--==%%", *" ._+*?#'\"\\{}[]^~|<>&;@!$()`", "\t", "\n", "\x01", "\x7f", "é", "ü", "日本",
    "𝄞", "\u0301", "\u200b", "\ufeff", "null", "__null__", "__empty__", "..", "%2F", "2024-01-02",
    "__HIVE_DEFAULT_PARTITION__", "s:", "default", "true", "E",
]  # fmt: skip
EDGES: dict[str, list[Any]] = {
    "i": [0, -1, 2**31 - 1, -(2**31)],
    "l": [0, -1, 2**63 - 1, -(2**63), 10**18, -(10**15)],
    "d": [0.0, -0.0, 5e-324, -1e-323, 1e-3, 1e7, 1e21, float("nan"), float("inf"), -float("inf"), 1.8e308],
    "seconds": [0, -1, 1, 86_399, 2**31, -(2**31), 4_102_444_800],
}  # fmt: skip
ZONES = [
    "UTC",
    "Europe/Berlin",
    "America/New_York",
    "Asia/Kolkata",
    "GMT-03:30",
    "Australia/Lord_Howe",
]
OUTPUTS = [
    "yyyy/MM/dd", "yyyy-MM-dd HH:mm:ss.SSS", "yyyyMMddHH", "xxxx-'W'ww-e", "DDD/yy", "EEE, d MMMM yyyy",
    "hh:mm a", "yyyy-MM-dd'T'HH:mm:ssZZ", "H.k.K.h", "'day='dd",
]  # fmt: skip
_START = dt.datetime(1970, 1, 1)


def drawn(random: Random, count: int) -> pa.Table:
    """``count`` rows, one in eight of their values null."""

    def cell(make: Callable[[], Any], column: str = "") -> Any:
        if random.random() < 0.125:
            return None
        edges = EDGES.get(column)
        return random.choice(edges) if edges and random.random() < 0.25 else make()

    def text() -> str:
        return "".join(random.choices(PIECES, k=random.choice([0, 1, 1, 2, 3, 6])))

    def moment() -> dt.datetime:
        far = random.random() < 0.2
        seconds = (
            random.randrange(-62_000_000_000, 250_000_000_000)
            if far
            else random.randrange(-(2**32), 2**32)
        )
        return _START + dt.timedelta(
            seconds=seconds, microseconds=random.choice([0, 5, 250_000, 999_999])
        )

    def day() -> dt.date:
        return moment().date()

    def double() -> float:
        plain = random.randrange(-(10**7), 10**7) / 10 ** random.randrange(8)
        bits: float = struct.unpack("<d", random.randbytes(8))[0]
        return random.choice([plain, plain, bits, float(random.randrange(-(2**60), 2**60))])

    def single() -> float:
        return float(struct.unpack("<f", random.randbytes(4))[0])

    def nested() -> dict[str, Any]:
        deep = {"b": cell(text), "d": cell(day)}
        return {
            "a": cell(text),
            "n": cell(lambda: random.randrange(-99, 99)),
            "deep": cell(lambda: deep),
        }

    make: dict[str, Callable[[], Any]] = {
        "s": text, "i": lambda: random.randrange(-(2**31), 2**31), "d": double, "f": single,
        "l": lambda: random.randrange(-(2**63), 2**63) >> random.randrange(63),
        "b": lambda: random.random() < 0.5, "day": day, "ntz": moment, "st": nested,
        "at": lambda: moment().replace(tzinfo=dt.timezone.utc),
        "dec": lambda: Decimal(random.randrange(-(10**9), 10**9)).scaleb(-2),
        "fine": lambda: Decimal(random.randrange(-(10**20), 10**20) >> random.randrange(66)).scaleb(-8),
        "bin": lambda: random.randbytes(random.randrange(4)),
        "seconds": lambda: random.randrange(-(2**32), 2**33),
        "when": lambda: moment().strftime("%Y-%m-%d %H:%M:%S").rjust(19, "0"),
        "dated": lambda: random.choice(["-", "", "", ""]) + day().isoformat() + random.choice(["", "", "-x"]),
    }  # fmt: skip
    columns = [pa.array([cell(make[f.name], f.name) for _ in range(count)], f.type) for f in SCHEMA]
    return pa.Table.from_arrays(columns, schema=SCHEMA)


def settings(random: Random) -> list[tuple[str, dict[str, str]]]:
    """(key generator, options): each type as a key and a path, and random ones of each generator."""
    plain = [name for name in SCHEMA.names if name != "st"]
    fields = [*plain, "st.a", "st.n", "st.deep.b", "st.deep.d"]

    def style() -> dict[str, str]:
        switches = [
            WRITE + "hive_style_partitioning", WRITE + "partitionpath.urlencode",
            WRITE + "keygenerator.consistent.logical.timestamp.enabled",
        ]  # fmt: skip
        return {switch: "true" for switch in switches if random.random() < 0.5}

    def some() -> str:
        return ",".join(random.sample(fields, random.choice([2, 3, 4])))

    def times(texts: bool) -> dict[str, str]:
        said = {"output.dateformat": random.choice(OUTPUTS)}
        if texts:
            said |= {"timestamp.type": random.choice(["DATE_STRING", "MIXED"])}
            said |= {"input.dateformat": "yyyy-MM-dd HH:mm:ss"}
        else:
            kinds = ["UNIX_TIMESTAMP", "EPOCHMILLISECONDS", "EPOCHMICROSECONDS", "SCALAR"]
            said |= {"timestamp.type": random.choice(kinds)}
            said |= {
                "timestamp.scalar.time.unit": random.choice(["MINUTES", "hours", "NANOSECONDS"])
            }
        for zone in ("input.timezone", "output.timezone", "timezone"):
            if random.random() < 0.3:
                said[zone] = random.choice(ZONES)
        return {TIME + key: text for key, text in said.items()}

    made = [("SIMPLE", {KEYS: field, PARTITIONS: field, **style()}) for field in fields]
    made += [("COMPLEX", {KEYS: some(), PARTITIONS: some(), **style()}) for _ in range(8)]
    for version, more in (("6", {ENCODING: "true"}), ("6", {ENCODING: "false"}), ("9", {})):
        made.append(("COMPLEX", {KEYS: "s", PARTITIONS: some(), VERSION: version, **more}))
    made += [("NON_PARTITION", {KEYS: field}) for field in ("s", "d", some(), some())]
    made += [("GLOBAL_DELETE", {KEYS: field}) for field in ("s", some())]
    slashes = {WRITE + "slash.separated.date.partitioning": "true"}
    made += [
        ("SIMPLE", {KEYS: "l", PARTITIONS: name, **slashes, **style()}) for name in ("dated", "day")
    ]
    for _ in range(12):
        texts = random.random() < 0.4
        column = (
            "when"
            if texts
            else random.choice(["seconds", "l", "d", "dec", "at", "ntz", "day", "st.n"])
        )
        made.append(("TIMESTAMP", {KEYS: "s", PARTITIONS: column, **times(texts), **style()}))
        parts = [f"{field}:SIMPLE" for field in random.sample(fields, 2)] + [f"{column}:TIMESTAMP"]
        random.shuffle(parts)
        key = random.choice(["s", some()])
        made.append(("CUSTOM", {KEYS: key, PARTITIONS: ",".join(parts), **times(texts), **style()}))
    return made
