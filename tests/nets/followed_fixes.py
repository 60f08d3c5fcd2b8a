"""Followed fixes: what a *Fix* names that can be done (an argument, an option, to leave one out, another name), and the
same call with that done."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from typing import Any

from attrs import evolve, field, frozen
from hoodoo.errors import HoodooError

_ARGUMENT = re.compile(
    r"""(?<![\w.])([a-z_]+)=("[^"]*"|'[^']*'|\[[^\]]*\]|-?\d+|True|False|None)"""
)
_OPTION = re.compile(r"(?<![\w.])((?:hoodie|hoodoo)(?:\.[\w-]+)+)\s*=\s*([^\s,;)]+)")
_DID_YOU_MEAN = re.compile(r"[Dd]id you mean '([^']+)'")
_NAMED_ARGUMENT = re.compile(r"^(?:argument |\w+\.?\w*\()?([a-z_]+)=")
_NAMED_OPTION = re.compile(r"option '?([\w.-]+)'?")


@frozen
class Call:
    """A call with named ``arguments``, of which ``options`` are in a dictionary of their own."""

    arguments: Mapping[str, Any]
    options: Mapping[str, Any] = field(factory=dict)


def followed(
    call: Call, error: HoodooError, parameters: frozenset[str]
) -> Iterator[tuple[str, Call]]:
    """Each thing that the fix of ``error`` says to do, in words, and ``call`` with it done. ``parameters``: of the
    function that was called."""
    fix, obj = str(error.fix), str(error.obj)
    for part in re.split(r"\bor\b|;|\. ", fix):  # what one alternative says is done together
        words, options, arguments = [], dict(call.options), dict(call.arguments)
        for key, value in _OPTION.findall(part):
            text = value.rstrip(".'\"`").strip("'\"`")
            if text and "..." not in text and "…" not in text:
                words.append(f"{key}={text}")
                options[key] = text
        for name, text in _ARGUMENT.findall(part):
            if name not in parameters or "..." in text or name in ("path", "name"):
                continue
            try:
                arguments[name] = ast.literal_eval(text)
            except (ValueError, SyntaxError):
                continue
            words.append(f"{name}={text}")
        if words:
            yield ", ".join(words), Call(arguments, options)
    named, argument = _NAMED_OPTION.match(obj), _NAMED_ARGUMENT.match(obj)
    if re.search(r"\b[Ll]eave (it|the option) out\b", fix):
        if named and named[1] in call.options:
            left = {k: v for k, v in call.options.items() if k != named[1]}
            yield f"without {named[1]}", evolve(call, options=left)
        elif argument and argument[1] in call.arguments:
            less = {k: v for k, v in call.arguments.items() if k != argument[1]}
            yield f"without {argument[1]}", evolve(call, arguments=less)
    if (meant := _DID_YOU_MEAN.search(fix)) and named and named[1] in call.options:
        if "." in meant[1]:
            rest = {k: v for k, v in call.options.items() if k != named[1]}
            changed = {**rest, meant[1]: call.options[named[1]]}
        else:
            changed = {**call.options, named[1]: meant[1]}
        yield f"{named[1]}: {meant[1]}", evolve(call, options=changed)


def is_same(call: Call, other: Call) -> bool:
    return dict(call.arguments) == dict(other.arguments) and dict(call.options) == dict(
        other.options
    )
