"""What hoodoo-serve offers: the subcommand ``serve``, its policies, and services beside writers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from hoodoo import hookimpl
from hoodoo.hookspecs import Registration

from hoodoo_serve import options


@hookimpl
def hoodoo_families() -> Mapping[str, str]:
    return {
        "service_policy": "hoodoo_serve.hookspecs:SERVICE_POLICY",
    }


@hookimpl
def hoodoo_service_policies() -> Iterable[Registration]:
    module = "hoodoo_serve.policies"
    return [
        Registration(
            "pending_plans",
            f"{module}:PendingPlans.from_settings",
            options=options.OPTIONS,
            summary="plans that nobody runs",
        ),
        Registration(
            "following",
            f"{module}:Following.from_settings",
            options=options.OPTIONS,
            summary="what would follow a write, at its thresholds",
        ),
    ]


@hookimpl
def hoodoo_actions() -> Iterable[Registration]:
    return [
        Registration(
            "services_beside",
            "hoodoo_serve.beside:ServicesBeside.from_settings",
            options=options.ASYNC_OPTIONS,
            summary="a thread beside the writer compacts, clusters, cleans and archives, when it "
            "is due",
        )
    ]


@hookimpl
def hoodoo_commands() -> Iterable[Registration]:
    return [
        Registration(
            "serve",
            "hoodoo_serve.commands.serve:serve",
            summary="Run the services of tables when they are due: compact, cluster, clean, "
            "archive, planned work.",
        )
    ]
