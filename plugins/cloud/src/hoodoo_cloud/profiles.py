"""Profiles of Amazon's tools: ``~/.aws/credentials`` and ``~/.aws/config``."""

from __future__ import annotations

import configparser
import os

from hoodoo.errors import ConfigError

_NAMES = {
    "aws_access_key_id": "access_key_id",
    "aws_secret_access_key": "secret_access_key",
    "aws_session_token": "session_token",
    "region": "region",
    "endpoint_url": "endpoint",
}
# Profiles that have to be resolved by other programs, or by requests to other services.
_RESOLVED = ("sso_session", "sso_start_url", "role_arn", "credential_process")


def read(name: str | None, required: bool = False) -> dict[str, str]:
    """What the profile says, by obstore's names of settings; ``default`` where none is named.
    ConfigError for one that is named and is nowhere, or whose keys some other program has."""
    wanted = name or "default"
    said: dict[str, str] = {}
    there = False
    for variable, path, section in (
        (
            "AWS_CONFIG_FILE",
            "~/.aws/config",
            wanted if wanted == "default" else f"profile {wanted}",
        ),
        ("AWS_SHARED_CREDENTIALS_FILE", "~/.aws/credentials", wanted),
    ):
        parser = configparser.RawConfigParser()
        file = os.path.expanduser(os.environ.get(variable) or path)
        try:
            parser.read(file, "utf-8")
        except (configparser.Error, UnicodeDecodeError) as error:
            raise ConfigError(file, f"is no file of profiles: {error}", "Correct it.") from None
        if parser.has_section(section):
            there = True
            said |= dict(parser.items(section))
    if name and not there:
        raise ConfigError(
            f"profile {name!r}",
            "is in no file of profiles.",
            "Correct its name (AWS_PROFILE, or the option aws_profile).",
        )
    if (name or required) and "aws_access_key_id" not in said:
        for key in _RESOLVED:
            if key in said:
                raise ConfigError(
                    f"profile {wanted!r}",
                    f"has {key}, which only Amazon's tools resolve.",
                    f'Run: eval "$(aws configure export-credentials --profile {wanted} --format '
                    'env)" '
                    "and unset AWS_PROFILE.",
                )
    return {ours: said[theirs] for theirs, ours in _NAMES.items() if said.get(theirs)}
