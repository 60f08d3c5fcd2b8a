"""The options of object stores, with the names that their users know. What nobody says, the clouds'
own variables say (``AWS_*``, ``GOOGLE_*``, ``AZURE_*``).

``S3``, ``GOOGLE`` and ``AZURE`` are in the order of the setting of obstore that each is.
"""

from __future__ import annotations

from hoodoo.options import FLAG, TEXT, Choice, Duration, Option, Whole


def _text(key: str, summary: str, *aliases: str) -> Option[str]:
    return Option(key, summary, kind=TEXT, aliases=aliases)


TIMEOUT = Option(
    "hoodoo.cloud.timeout",
    "Seconds for which one operation on an object store is tried, again and again where that "
    "helps.",
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
S3_UNSIGNED: Option[bool] = Option(
    "hoodoo.s3.unsigned_payload",
    "Requests are signed without a hash of what they carry. It saves the hash of each written "
    "byte, here and on the "
    "server; what detects a damaged transfer then is TLS alone, so use it with `https`.",
    kind=FLAG,
    aliases=("aws_unsigned_payload", "unsigned_payload"),
)
# Setting of obstore -> what says it.
S3_SETTINGS = {
    "access_key_id": _text(
        "hoodoo.s3.access_key_id",
        "Access key.",
        "aws_access_key_id",
        "access_key_id",
        "fs.s3a.access.key",
        "hoodie.aws.access.key",
    ),
    "secret_access_key": _text(
        "hoodoo.s3.secret_access_key",
        "Secret of the access key.",
        "aws_secret_access_key",
        "secret_access_key",
        "fs.s3a.secret.key",
        "hoodie.aws.secret.key",
    ),
    "session_token": _text(
        "hoodoo.s3.session_token",
        "Token of temporary credentials.",
        "aws_session_token",
        "session_token",
        "fs.s3a.session.token",
        "hoodie.aws.session.token",
    ),
    "region": _text(
        "hoodoo.s3.region",
        "Region of the bucket.",
        "aws_region",
        "region",
        "fs.s3a.endpoint.region",
    ),
    "endpoint": _text(
        "hoodoo.s3.endpoint",
        "URL of the server, where it is not Amazon's; with `http://`, requests are not encrypted.",
        "aws_endpoint_url",
        "endpoint_url",
        "aws_endpoint",
        "endpoint",
        "fs.s3a.endpoint",
    ),
    "server_side_encryption": _text(
        "hoodoo.s3.server_side_encryption",
        "Encryption of new objects: `AES256`, `aws:kms`.",
        "aws_server_side_encryption",
        "fs.s3a.encryption.algorithm",
    ),
    "sse_kms_key_id": _text(
        "hoodoo.s3.sse_kms_key_id",
        "Key of the encryption of new objects.",
        "aws_sse_kms_key_id",
        "fs.s3a.encryption.key",
    ),
}
S3: tuple[Option, ...] = (*S3_SETTINGS.values(), S3_PROFILE, S3_PATH_STYLE, S3_UNSIGNED)

GOOGLE_SETTINGS = {
    "application_credentials": _text(
        "hoodoo.gs.application_credentials",
        "File with the credentials of a user or a service.",
        "google_application_credentials",
    ),
    "service_account": _text(
        "hoodoo.gs.service_account",
        "File with the key of a service account.",
        "google_service_account",
        "fs.gs.auth.service.account.json.keyfile",
    ),
    "service_account_key": _text(
        "hoodoo.gs.service_account_key",
        "Key of a service account, as JSON.",
        "google_service_account_key",
    ),
    "base_url": _text(
        "hoodoo.gs.endpoint", "URL of the server, where it is not Google's.", "google_base_url"
    ),
}
GOOGLE: tuple[Option, ...] = tuple(GOOGLE_SETTINGS.values())

AZURE_SETTINGS = {
    "account_name": _text(
        "hoodoo.azure.account_name",
        "Account, where the URI does not name it.",
        "azure_storage_account_name",
        "account_name",
    ),
    "account_key": _text(
        "hoodoo.azure.account_key",
        "Key of the account.",
        "azure_storage_account_key",
        "account_key",
    ),
    "sas_key": _text(
        "hoodoo.azure.sas_token",
        "Shared access signature.",
        "azure_storage_sas_token",
        "sas_token",
    ),
    "client_id": _text("hoodoo.azure.client_id", "Client of a service.", "azure_client_id"),
    "client_secret": _text(
        "hoodoo.azure.client_secret", "Secret of the client.", "azure_client_secret"
    ),
    "tenant_id": _text("hoodoo.azure.tenant_id", "Tenant of the client.", "azure_tenant_id"),
    "endpoint": _text(
        "hoodoo.azure.endpoint", "URL of the server, where it is not Azure's.", "azure_endpoint"
    ),
}
AZURE: tuple[Option, ...] = tuple(AZURE_SETTINGS.values())

# --- Hudi's lock in a DynamoDB table --------------------------------------------------------------
_LOCK = "hoodie.write.lock.dynamodb."
LOCK_TABLE = _text(
    f"{_LOCK}table", "The DynamoDB table of the lock dynamodb; it is created if it is not there."
)
LOCK_KEY = _text(
    f"{_LOCK}partition_key",
    "What names the table's lock in the DynamoDB table, the same for all its writers; by default "
    "the table's name.",
)
LOCK_REGION = _text(
    f"{_LOCK}region", "Region of the DynamoDB table; by default that of the store, else us-east-1."
)
LOCK_ENDPOINT = _text(
    f"{_LOCK}endpoint_url", "URL of the server of the DynamoDB table, where it is not Amazon's."
)
LOCK_BILLING = Option(
    f"{_LOCK}billing_mode",
    "How a DynamoDB table that is created is billed.",
    "PAY_PER_REQUEST",
    kind=Choice("PAY_PER_REQUEST", "PROVISIONED"),
)
LOCK_READS = Option(
    f"{_LOCK}read_capacity",
    "Units of reads of a DynamoDB table that is created PROVISIONED.",
    "20",
    kind=Whole(1),
)
LOCK_WRITES = Option(
    f"{_LOCK}write_capacity",
    "Units of writes of a DynamoDB table that is created PROVISIONED.",
    "10",
    kind=Whole(1),
)
LOCK_CREATION = Option(
    f"{_LOCK}table_creation_timeout",
    "Milliseconds within which a DynamoDB table that is created has to be there.",
    "600000",
    kind=Duration("ms"),
)
DYNAMO: tuple[Option, ...] = (
    LOCK_TABLE,
    LOCK_KEY,
    LOCK_REGION,
    LOCK_ENDPOINT,
    LOCK_BILLING,
    LOCK_READS,
    LOCK_WRITES,
    LOCK_CREATION,
)
