"""What a Spark session of this process says of object stores: Hadoop's settings ``fs.s3a.*``,
``fs.gs.*`` and ``fs.azure.*``, given as ``spark.hadoop.*``. PySpark is not imported for it."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from hoodoo.options import Option

_PREFIX = "spark.hadoop."
_ANONYMOUS = "AnonymousAWSCredentialsProvider"
# Of an account: setting of obstore -> Hadoop's, which the account's host follows.
_OF_ACCOUNT = {
    "account_key": "fs.azure.account.key",
    "sas_key": "fs.azure.sas.fixed.token",
    "client_id": "fs.azure.account.oauth2.client.id",
    "client_secret": "fs.azure.account.oauth2.client.secret",
}
_TOKENS = "fs.azure.account.oauth2.client.endpoint"  # https://login.microsoftonline.com/TENANT/...


def hadoop() -> dict[str, str]:
    """Hadoop's settings of the session, without the prefix; none where there is no session."""
    sql = sys.modules.get("pyspark.sql")
    if sql is None:
        return {}
    kind: Any = sql.SparkSession
    try:
        session = kind.getActiveSession() or getattr(kind, "_instantiatedSession", None)
        if session is None:
            return {}
        if ".connect." in type(session).__module__:
            found = dict(session.conf.getAll)
        else:
            found = dict(session.sparkContext.getConf().getAll())
    except Exception:  # a session that has ended says nothing
        return {}
    start = len(_PREFIX)
    return {k[start:]: v for k, v in found.items() if k.startswith(f"{_PREFIX}fs.") and v}


def said(cloud: str, bucket: str, host: str, known: Mapping[str, Option[str]]) -> dict[str, str]:
    """By obstore's names of settings. ``host``: that of an Azure URI, else of the account."""
    if cloud == "memory" or not (found := hadoop()):
        return {}
    if cloud == "azure":
        made = {
            name: value
            for name, key in _OF_ACCOUNT.items()
            if (value := found.get(f"{key}.{host}") or found.get(key))
        }
        tokens = (found.get(f"{_TOKENS}.{host}") or found.get(_TOKENS) or "").split("/")
        return made | ({"tenant_id": tokens[3]} if len(tokens) > 3 else {})
    own = f"fs.s3a.bucket.{bucket}."
    if cloud == "s3":  # what is said of one bucket comes first
        found = found | {
            f"fs.s3a.{k[len(own) :]}": v for k, v in found.items() if k.startswith(own)
        }
    made = {
        name: found[alias]
        for name, option in known.items()
        for alias in option.aliases
        if alias.startswith("fs.") and alias in found
    }
    if cloud != "s3":
        return made
    if (style := found.get("fs.s3a.path.style.access", "").lower()) in ("true", "false"):
        made["virtual_hosted_style_request"] = "false" if style == "true" else "true"
    if _ANONYMOUS in found.get("fs.s3a.aws.credentials.provider", ""):
        made["skip_signature"] = "true"
    plain = found.get("fs.s3a.connection.ssl.enabled", "").lower() == "false"
    if plain and "endpoint" in made and "://" not in made["endpoint"]:
        made["endpoint"] = f"http://{made['endpoint']}"
    return made
