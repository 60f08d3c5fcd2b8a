"""Rules for numbers of buckets: regular expressions of partition paths, each with a number.

Source: ``RegexRuleEngine`` of Hudi 1.2."""

from __future__ import annotations

import re
from functools import lru_cache

from hoodoo.options.kinds import BadValueError

REGEX = "regex"
MOST = 99_999_999
# Where Java's regular expressions and Python's differ, or one of them has no such thing.
_JAVAS_OWN = re.compile(r"\\[^dDwWsSbBntrf\W_]|\(\?(?!:)|&&|\[[^\]]*\[|[*+?}]\+")
Rules = tuple[tuple[re.Pattern[str], int], ...]


@lru_cache(64)
def rules_of(expressions: str) -> Rules:
    """``regex,number;regex,number``, the first that is found in a path counts. BadValueError for
    what Hudi refuses, or would understand otherwise."""
    return tuple(_rule(one) for one in expressions.rstrip(";").split(";"))


def _rule(text: str) -> tuple[re.Pattern[str], int]:
    parts = text.strip().rstrip(",").split(",")
    if len(parts) != 2:
        raise BadValueError(f"has {text!r} where a rule is `regex,number`")
    regex, number = parts[0].strip(), parts[1].strip()
    if not (number.isascii() and number.isdigit() and 0 < int(number) <= MOST):
        raise BadValueError(f"has {number!r} where a number of buckets is, from 1 on")
    if _JAVAS_OWN.search(regex):
        raise BadValueError(
            f"has {regex!r}, which regular expressions of Java and of Python may read otherwise"
        )
    try:
        return re.compile(regex, re.ASCII), int(number)
    except re.error as error:
        raise BadValueError(f"has {regex!r}, which is no regular expression: {error}") from None
