"""The options of object stores, with the names that their users know. What nobody says, the clouds' own
variables say (``AWS_*``, ``GOOGLE_*``, ``AZURE_*``).

``S3``, ``GOOGLE`` and ``AZURE`` are in the order of the setting of obstore that each is.
"""

from __future__ import annotations

from hoodoo.options import FLAG, TEXT, Duration, Option


def _text(key: str, summary: str, *aliases: str) -> Option[str]:
    return Option(key, summary, kind=TEXT, aliases=aliases)


TIMEOUT = Option(
    "hoodoo.cloud.timeout",
    "Seconds for which one operation on an object store is tried, again and again where that helps.",
    "60",
    kind=Duration("s", 0.1, whole=False),
)
ANONYMOUS = Option(
    "hoodoo.cloud.anonymous",
    "Read a public bucket without credentials.",
    kind=FLAG,
    aliases=("skip_signature",),
)
COMMON: tuple[Option, ...] = (TIMEOUT, ANONYMOUS)

S3_PROFILE = _text(
    "hoodoo.s3.profile", "Profile of `~/.aws/credentials` and `~/.aws/config`.", "aws_profile"
)
S3_PATH_STYLE: Option[bool] = Option(
    "hoodoo.s3.path_style",
    "The bucket is in the path of a request, not in the name of its host.",
    kind=FLAG,
    aliases=("fs.s3a.path.style.access",),
)
# Setting of obstore -> what says it.
S3_SETTINGS = {
    "access_key_id": _text(
        "hoodoo.s3.access_key_id", "Access key.",
        "aws_access_key_id", "access_key_id", "fs.s3a.access.key",
    ),
    "secret_access_key": _text(
        "hoodoo.s3.secret_access_key", "Secret of the access key.",
        "aws_secret_access_key", "secret_access_key", "fs.s3a.secret.key",
    ),
    "session_token": _text(
        "hoodoo.s3.session_token", "Token of temporary credentials.",
        "aws_session_token", "session_token", "fs.s3a.session.token",
    ),
    "region": _text(
        "hoodoo.s3.region", "Region of the bucket.",
        "aws_region", "region", "fs.s3a.endpoint.region",
    ),
    "endpoint": _text(
        "hoodoo.s3.endpoint",
        "URL of the server, where it is not Amazon's; with `http://`, requests are not encrypted.",
        "aws_endpoint_url", "endpoint_url", "aws_endpoint", "endpoint", "fs.s3a.endpoint",
    ),
    "server_side_encryption": _text(
        "hoodoo.s3.server_side_encryption", "Encryption of new objects: `AES256`, `aws:kms`.",
        "aws_server_side_encryption", "fs.s3a.encryption.algorithm",
    ),
    "sse_kms_key_id": _text(
        "hoodoo.s3.sse_kms_key_id", "Key of the encryption of new objects.",
        "aws_sse_kms_key_id", "fs.s3a.encryption.key",
    ),
}  # fmt: skip
S3: tuple[Option, ...] = (*S3_SETTINGS.values(), S3_PROFILE, S3_PATH_STYLE)

GOOGLE_SETTINGS = {
    "application_credentials": _text(
        "hoodoo.gs.application_credentials", "File with the credentials of a user or a service.",
        "google_application_credentials",
    ),
    "service_account": _text(
        "hoodoo.gs.service_account", "File with the key of a service account.",
        "google_service_account", "fs.gs.auth.service.account.json.keyfile",
    ),
    "service_account_key": _text(
        "hoodoo.gs.service_account_key", "Key of a service account, as JSON.",
        "google_service_account_key",
    ),
    "base_url": _text(
        "hoodoo.gs.endpoint", "URL of the server, where it is not Google's.", "google_base_url"
    ),
}  # fmt: skip
GOOGLE: tuple[Option, ...] = tuple(GOOGLE_SETTINGS.values())

AZURE_SETTINGS = {
    "account_name": _text(
        "hoodoo.azure.account_name", "Account, where the URI does not name it.",
        "azure_storage_account_name", "account_name",
    ),
    "account_key": _text(
        "hoodoo.azure.account_key", "Key of the account.",
        "azure_storage_account_key", "account_key",
    ),
    "sas_key": _text(
        "hoodoo.azure.sas_token", "Shared access signature.",
        "azure_storage_sas_token", "sas_token",
    ),
    "client_id": _text("hoodoo.azure.client_id", "Client of a service.", "azure_client_id"),
    "client_secret": _text(
        "hoodoo.azure.client_secret", "Secret of the client.", "azure_client_secret"
    ),
    "tenant_id": _text("hoodoo.azure.tenant_id", "Tenant of the client.", "azure_tenant_id"),
    "endpoint": _text(
        "hoodoo.azure.endpoint", "URL of the server, where it is not Azure's.", "azure_endpoint"
    ),
}  # fmt: skip
AZURE: tuple[Option, ...] = tuple(AZURE_SETTINGS.values())
