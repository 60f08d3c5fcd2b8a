"""All options of a call at once: of their types, and each said once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from hoodoo.errors import ConfigError, OptionConflictError
from hoodoo.options.option import Option


def as_text(given: Mapping[str, object] | None) -> dict[str, str]:
    """The options as texts. ConfigError for what is no mapping, or a value that is no text, number
    or flag."""
    if given is not None and not isinstance(given, Mapping):
        raise ConfigError(
            f"options of type {type(given).__qualname__}", "is not a mapping of keys to values.",
            'give a dictionary, e.g. {"hoodie.parquet.compression.codec": "zstd"}.',
        )  # fmt: skip
    return {key: _text(key, value) for key, value in (given or {}).items()}


def judged(given: Mapping[str, str], declared: Iterable[Option]) -> dict[str, str]:
    """The options under their newest names and in their plain spelling (``yes`` is ``true``, ``1
    KB`` is ``1024``); undeclared ones as they are.

    Raises ConfigError for a value that is not of its option's type or out of its bounds,
    OptionConflictError where two names of one option say different things.
    """
    options = dict(given)
    declared = [option for option in declared if not given.keys().isdisjoint(option.names)]
    own = {option.key for option in declared}
    for option in declared:
        said = [name for name in option.names if name in given]
        values = [option.spell(option.parse(given[name], name)) for name in said]
        for name, value in zip(said[1:], values[1:], strict=True):
            if value != values[0]:
                raise OptionConflictError(
                    f"options {said[0]}={given[said[0]]} and {name}={given[name]}",
                    "are two names of one option, with different values.",
                    f"Give it once, as {option.key}.",
                )
        for name in said:
            if name not in own:  # a plugin may declare an older name as an option of its own
                options.pop(name, None)
        options[option.key] = values[0]
    return options


def _text(key: object, value: object) -> str:
    if isinstance(key, str) and isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(key, str) and isinstance(value, (str, int, float)):
        return str(value)
    raise ConfigError(
        f"option {key!r}",
        f"its value is {value!r}; keys must be text, and values must be text, numbers or booleans.",
        "Leave the option out to get its default.",
    )
