"""What this distribution offers. Discovery imports it in every process: nothing heavy here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from hoodoo import hookimpl
from hoodoo.hookspecs import Registration

from hoodoo_validators import options

_JAVA = "org.apache.hudi.client.validator.SqlQuery"
_QUERIES = "hoodoo_validators.queries:"


@hookimpl
def hoodoo_families() -> Mapping[str, str]:
    return {"validator": "hoodoo_validators.hookspec:FAMILY"}


@hookimpl
def hoodoo_participants() -> Iterable[Registration]:
    return [
        Registration(
            "validators",
            "hoodoo_validators.participant:Validation.from_settings",
            options=(options.VALIDATORS,),
            summary="checks the rows of a write before it is committed",
        )
    ]


@hookimpl
def hoodoo_validators() -> Iterable[Registration]:
    return [
        Registration(
            "equality",
            f"{_QUERIES}ComparesAnswers.equality",
            aliases=(f"{_JAVA}EqualityPreCommitValidator",),
            options=(options.EQUAL,),
            summary="queries answer the same before and after a write",
        ),
        Registration(
            "inequality",
            f"{_QUERIES}ComparesAnswers.inequality",
            aliases=(f"{_JAVA}InequalityPreCommitValidator",),
            options=(options.UNEQUAL,),
            summary="queries do not answer the same before and after a write",
        ),
        Registration(
            "single_value",
            f"{_QUERIES}AnswersOneValue.from_settings",
            aliases=(f"{_JAVA}SingleResultPreCommitValidator",),
            options=(options.SINGLE,),
            summary="queries answer an expected value after a write",
        ),
    ]
