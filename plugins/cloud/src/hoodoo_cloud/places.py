"""From the URI of a table and its options to the place where its objects lie."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from attrs import field, frozen
from hoodoo.errors import ConfigError, StorageError
from hoodoo.hookspecs.registration import Settings
from hoodoo.options import Option
from hoodoo.options.table import STORAGE_URI
from hoodoo.storage.uri import split

from hoodoo_cloud import options, profiles, spark_settings

# Variables of the clouds that obstore does not read, or not under this name: setting -> their
# names.
_VARIABLES = {
    "s3": {
        "access_key_id": ("AWS_ACCESS_KEY_ID",),
        "secret_access_key": ("AWS_SECRET_ACCESS_KEY",),
        "session_token": ("AWS_SESSION_TOKEN",),
        "region": ("AWS_REGION", "AWS_DEFAULT_REGION"),
        "endpoint": ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT"),
    },
    "gs": {
        "application_credentials": ("GOOGLE_APPLICATION_CREDENTIALS",),
        "service_account": ("GOOGLE_SERVICE_ACCOUNT", "GOOGLE_SERVICE_ACCOUNT_PATH"),
        "service_account_key": ("GOOGLE_SERVICE_ACCOUNT_KEY",),
        "base_url": ("GOOGLE_BASE_URL",),
    },
    "azure": {
        "account_name": ("AZURE_STORAGE_ACCOUNT_NAME", "AZURE_STORAGE_ACCOUNT"),
        "account_key": ("AZURE_STORAGE_ACCOUNT_KEY", "AZURE_STORAGE_KEY"),
        "sas_key": ("AZURE_STORAGE_SAS_TOKEN", "AZURE_STORAGE_SAS_KEY"),
        "client_id": ("AZURE_CLIENT_ID",),
        "client_secret": ("AZURE_CLIENT_SECRET",),
        "tenant_id": ("AZURE_TENANT_ID",),
        "endpoint": ("AZURE_STORAGE_ENDPOINT", "AZURE_ENDPOINT"),
    },
}
_SETTINGS: dict[str, Mapping[str, Option[str]]] = {
    "s3": options.S3_SETTINGS,
    "gs": options.GOOGLE_SETTINGS,
    "azure": options.AZURE_SETTINGS,
    "memory": {},
}
CLOUDS = {
    "s3": "s3",
    "s3a": "s3",
    "s3n": "s3",
    "gs": "gs",
    "memory": "memory",
    "abfs": "azure",
    "abfss": "azure",
    "az": "azure",
    "wasbs": "azure",
}
_HOST = re.compile(r"([^@/]+)@([a-z0-9]+)\.(?:dfs|blob)\..+")
_URL = re.compile(r"https?://[^\s/]\S*")
_KEYS, _TOKEN, _UNSIGNED = ("access_key_id", "secret_access_key"), "session_token", "skip_signature"
_SECRETS = {
    "gs": {"application_credentials", "service_account", "service_account_key"},
    "azure": {"account_key", "sas_key", "client_id", "client_secret", "tenant_id"},
    "memory": set[str](),
}


@frozen
class Place:
    """A bucket (or container) and how to get there. What it holds travels to workers: the settings
    that the driver found, so that a worker needs none of its variables; who has none uses the chain
    of its own host. It is not shown: secrets are in it."""

    cloud: str
    bucket: str
    settings: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    timeout: float = 60.0
    plain: bool = False  # unencrypted HTTP

    @property
    def known(self) -> bool:
        """Whether it is the cloud itself, of which it is known that it keeps conditions of puts."""
        return not {"endpoint", "base_url"} & dict(self.settings).keys()


def find(settings: Settings) -> tuple[str, str, Place]:
    """``(root, prefix, place)`` of the table that the option ``hoodoo.storage.uri`` names."""
    uri = STORAGE_URI.read(settings.options)
    scheme, rest = split(uri)  # "s3://" without its slashes would have no scheme
    uri, cloud = uri.rstrip("/"), CLOUDS[scheme]
    bucket, _, prefix = rest.rstrip("/").partition("/")
    if not bucket:
        raise StorageError(uri, "names no bucket.", f"Write {scheme}://bucket/path/of/the/table.")
    if any(part in ("", ".", "..") for part in prefix.split("/")) and prefix:
        raise StorageError(uri, "has an empty part, '.' or '..'.", "Leave it out.")
    host = _HOST.fullmatch(bucket)
    found = _settings(cloud, settings, *(_of_host(bucket) if host else (bucket, "")))
    if cloud == "azure":
        if host:
            bucket, found["account_name"] = host[1], host[2]
        if "account_name" not in found:
            raise ConfigError(
                uri,
                "names no account.",
                f"Write {scheme}://container@account.dfs.core.windows.net/path, or set the option "
                "account_name or AZURE_STORAGE_ACCOUNT_NAME.",
            )
    endpoint = found.get("endpoint", found.get("base_url", ""))
    if endpoint and not _URL.fullmatch(endpoint):
        raise ConfigError(
            f"endpoint {endpoint!r}",
            "is no URL of a server.",
            "Write http://host:port or https://host.",
        )
    return (
        uri,
        prefix,
        Place(
            cloud,
            bucket,
            tuple(sorted(found.items())),
            options.TIMEOUT.read(settings.options),
            endpoint.lower().startswith("http://"),
        ),
    )


def aws(settings: Settings) -> dict[str, str]:
    """Keys, token, region and endpoint for Amazon's services, by the names of obstore's
    settings."""
    return _settings("s3", settings)


def _of_host(bucket: str) -> tuple[str, str]:
    """The container and the host of ``container@host``."""
    container, _, host = bucket.partition("@")
    return container, host


def _settings(cloud: str, settings: Settings, bucket: str = "", host: str = "") -> dict[str, str]:
    """What options say, else the profile that they name, else variables, else the Spark session of
    this process, else the default profile."""
    given = settings.options
    said = {
        name: text for name, option in _SETTINGS[cloud].items() if (text := option.given(given))
    }
    if options.ANONYMOUS.given(given):
        said["skip_signature"] = "true"
    told = _variables(cloud)
    session = spark_settings.said(cloud, bucket, host, _SETTINGS[cloud])
    if cloud != "s3":
        keys = _SECRETS[cloud]
        if keys & (told.keys() | said.keys()):  # keys are never of two sources
            session = {n: t for n, t in session.items() if n not in keys}
        return {**session, **told, **said}
    style = options.S3_PATH_STYLE.given(given)
    if style is not None:
        said["virtual_hosted_style_request"] = "false" if style else "true"
    if options.S3_UNSIGNED.given(given):
        said["unsigned_payload"] = "true"
    wanted = options.S3_PROFILE.given(given)
    profile = profiles.read(wanted or os.environ.get("AWS_PROFILE"), bool(wanted))
    if wanted or os.environ.get("AWS_PROFILE") or told.keys() & set(_KEYS):
        session = {n: t for n, t in session.items() if n not in (*_KEYS, _TOKEN, _UNSIGNED)}
    if (
        _KEYS[0] in said
        or (_KEYS[0] in told and not wanted)
        or _KEYS[0] in session
        or _UNSIGNED in session
    ):  # keys are never of two sources
        profile = {name: text for name, text in profile.items() if name in ("region", "endpoint")}
    if _KEYS[0] in said:
        session = {n: t for n, t in session.items() if n not in (*_KEYS, _TOKEN, _UNSIGNED)}
    if _KEYS[0] in said or _KEYS[0] in profile:
        told = {n: t for n, t in told.items() if n not in (*_KEYS, _TOKEN)}
    found = {**profile, **session, **told, **said}
    lacking = [name for name in _KEYS if name not in found]
    if len(lacking) == 1:
        raise ConfigError(
            "credentials of S3", f"{lacking[0]} is missing beside the other one.", "Set both."
        )
    if "endpoint" in found and "://" not in found["endpoint"]:  # as fs.s3a.endpoint has it
        found["endpoint"] = f"https://{found['endpoint']}"
    return found


def _variables(cloud: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, variables in _VARIABLES.get(cloud, {}).items():
        for variable in variables:
            if os.environ.get(variable):
                found.setdefault(name, os.environ[variable])
    return found
