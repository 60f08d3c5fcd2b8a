def with_keys(
    offsets: int,
    wide: bool,
    data: int,
    bytes: int,
    valid: int,
    start: int,
    number: int,
    hashes: int,
    size: int,
    bits: int,
    found: int,
) -> None: ...
