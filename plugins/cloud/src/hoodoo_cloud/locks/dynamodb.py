"""Hudi's lock in a DynamoDB table: Spark Hudi and Hoodoo exclude each other.

Source: ``org.apache.hudi.aws.transaction.lock.DynamoDBBasedLockProvider`` of Hudi 1.2 and the lock
client of Amazon that it uses: an item by the name of the table to be locked, with its owner, the
length of its lease in milliseconds, and a number of its version that each sign of life replaces. It
is deleted at the end. Who has seen one version for the length of its lease takes it over; no clock
of another host is asked. The item is there no longer than it is had."""

from __future__ import annotations

import functools
import os
import socket
import time
import uuid
from collections.abc import Callable, Mapping
from typing import Any

from attrs import define, field, frozen
from hoodoo.errors import ConfigError, StorageError
from hoodoo.hookspecs.registration import Settings
from hoodoo.options.write import LOCK_WAIT
from hoodoo.storage.api import Storage
from hoodoo.storage.lock import Held
from hoodoo.timeline.ledger import LOCK

from hoodoo_cloud import options, places
from hoodoo_cloud.locks import leases

_KEY, _OWNER, _LEASE, _VERSION = "key", "ownerName", "leaseDuration", "recordVersionNumber"
_RELEASED = "isReleased"
_LOST = "ConditionalCheckFailedException"
_NO_TABLE = "ResourceNotFoundException"


@frozen
class Service:
    """How to get to DynamoDB; ``keys``: of the user, empty: what Amazon's own chain finds."""

    region: str
    endpoint: str | None = None
    keys: Mapping[str, str] = field(factory=dict, repr=False, hash=False)

    def client(self) -> Any:
        return _client(os.getpid(), self.region, self.endpoint, tuple(sorted(self.keys.items())))


@functools.lru_cache(maxsize=8)
def _client(pid: int, region: str, endpoint: str | None, keys: tuple[tuple[str, str], ...]) -> Any:
    try:
        import boto3
        from botocore.config import Config
    except ImportError:
        raise ConfigError(
            "lock dynamodb", "needs boto3, Amazon's own client.", "pip install hoodoo[dynamodb]"
        ) from None
    return boto3.session.Session().client(
        "dynamodb",
        region_name=region,
        endpoint_url=endpoint,
        config=Config(
            connect_timeout=5,
            read_timeout=10,
            retries={"total_max_attempts": 4, "mode": "standard"},
        ),
        **dict(keys),
    )


@frozen
class DynamoLock:
    """``key``: of the item, by default the table's name. ``lease``: seconds without a sign of life
    after which it may be taken over."""

    service: Service
    table: str
    key: str = ""
    lease: float = 60.0
    billing: str = "PAY_PER_REQUEST"
    capacity: tuple[int, int] = (20, 10)
    creation: float = 600.0
    # A lock with a key of its own is one for all tables that are given it.
    path: str = field(default="", eq=False)

    @classmethod
    def from_settings(cls, settings: Settings) -> DynamoLock:
        given = settings.options
        table = options.LOCK_TABLE.given(given)
        if not table:
            raise ConfigError(
                f"option {options.LOCK_TABLE.key}",
                "is missing: the lock dynamodb needs a table.",
                "Name one; it is created if it is missing.",
            )
        key = options.LOCK_KEY.given(given) or ""
        found = places.aws(settings)
        keys = {
            f"aws_{name}": found[name]
            for name in ("access_key_id", "secret_access_key", "session_token")
            if name in found
        }
        region = options.LOCK_REGION.given(given) or found.get("region") or "us-east-1"
        endpoint = options.LOCK_ENDPOINT.given(given)
        if endpoint and "://" not in endpoint:
            endpoint = f"https://{endpoint}"
        return cls(
            Service(region, endpoint, keys),
            table,
            key or settings.table.name,
            LOCK_WAIT.read(given) / 1000,
            options.LOCK_BILLING.read(given),
            (options.LOCK_READS.read(given), options.LOCK_WRITES.read(given)),
            options.LOCK_CREATION.read(given) / 1000,
            path=key,
        )

    def acquire(self, storage: Storage, name: str, wait: float) -> Held | None:
        """Raises StorageError; the lock is not had then."""
        table = self.key or storage.root
        key = table if name == LOCK else f"{table}/{name}"
        record = _Item(self, key, f"lock {key!r} in the DynamoDB table {self.table}")
        return leases.acquire(record, wait, self.lease, self.lease / 3)


@define
class _Item:
    lock: DynamoLock
    key: str
    obj: str
    _owner: str = field(factory=lambda: f"{socket.gethostname()}{uuid.uuid4()}", init=False)

    def look(self) -> leases.Seen:
        def ask(client: Any) -> Any:
            return client.get_item(
                TableName=self.lock.table, Key={_KEY: {"S": self.key}}, ConsistentRead=True
            )

        item = self._asked(ask).get("Item")
        if not item:
            return leases.Seen(free=True)
        try:
            life, version = int(item[_LEASE]["S"]) / 1000, item[_VERSION]["S"]
        except (KeyError, ValueError):
            raise StorageError(
                self.obj, "is no item of Hudi's lock.", "Use a table of its own for locks."
            ) from None
        return leases.Seen(_RELEASED in item, version, life=life)

    def take(self, seen: leases.Seen) -> object | None:
        version = str(uuid.uuid4())
        item = {_KEY: self.key, _OWNER: self._owner, _LEASE: self._lease, _VERSION: version}
        condition: dict[str, Any] = {
            "ConditionExpression": "attribute_not_exists(#pk)",
            "ExpressionAttributeNames": {"#pk": _KEY},
        }
        if seen.version is not None:
            condition = {
                "ConditionExpression": "attribute_exists(#pk) AND #rvn = :rvn",
                "ExpressionAttributeNames": {"#pk": _KEY, "#rvn": _VERSION},
                "ExpressionAttributeValues": {":rvn": {"S": seen.version}},
            }
        values = {name: {"S": value} for name, value in item.items()}
        return self._changed(
            version,
            lambda client: client.put_item(TableName=self.lock.table, Item=values, **condition),
        )

    def renew(self, version: object) -> object | None:
        after = str(uuid.uuid4())
        condition = self._still(version)
        condition["ExpressionAttributeNames"]["#ld"] = _LEASE
        condition["ExpressionAttributeValues"] |= {
            ":ld": {"S": self._lease},
            ":new": {"S": after},
        }
        return self._changed(
            after,
            lambda client: client.update_item(
                TableName=self.lock.table,
                Key={_KEY: {"S": self.key}},
                UpdateExpression="SET #ld = :ld, #rvn = :new",
                **condition,
            ),
        )

    def give_back(self, version: object) -> None:
        def ask(client: Any) -> Any:
            return client.delete_item(
                TableName=self.lock.table, Key={_KEY: {"S": self.key}}, **self._still(version)
            )

        self._asked(ask, lost={})

    @property
    def _lease(self) -> str:
        return str(round(self.lock.lease * 1000))

    def _still(self, version: object) -> dict[str, Any]:
        return {
            "ConditionExpression": "attribute_exists(#pk) AND #rvn = :rvn AND #on = :on",
            "ExpressionAttributeNames": {"#pk": _KEY, "#rvn": _VERSION, "#on": _OWNER},
            "ExpressionAttributeValues": {":rvn": {"S": version}, ":on": {"S": self._owner}},
        }

    def _changed(self, version: str, ask: Callable[[Any], Any]) -> str | None:
        """Whether the item is ours. A request may have been sent twice, and lost against itself."""
        try:
            if self._asked(ask, lost=None) is not None:
                return version
        except StorageError:
            if self.look().version == version:
                return version
            raise
        return version if self.look().version == version else None

    def _asked(self, ask: Callable[[Any], Any], **otherwise: Any) -> Any:
        """The answer; ``lost`` where the condition did not hold. The table is created where there
        is none."""
        from botocore.exceptions import BotoCoreError, ClientError

        made = False
        while True:
            try:
                return ask(self.lock.service.client())
            except ClientError as error:
                code = error.response.get("Error", {}).get("Code", "")
                if code == _LOST and "lost" in otherwise:
                    return otherwise["lost"]
                if code == _NO_TABLE and not made:
                    made = True
                    self._create()
                    continue
                raise self._explained(code, error) from None
            except BotoCoreError as error:
                raise self._explained(type(error).__name__, error) from None

    def _create(self) -> None:
        from botocore.exceptions import BotoCoreError, ClientError

        client, lock = self.lock.service.client(), self.lock
        more: dict[str, Any] = {"BillingMode": lock.billing}
        if lock.billing == "PROVISIONED":
            reads, writes = lock.capacity
            more["ProvisionedThroughput"] = {
                "ReadCapacityUnits": reads,
                "WriteCapacityUnits": writes,
            }
        end = time.monotonic() + lock.creation
        try:
            try:
                client.create_table(
                    TableName=lock.table,
                    KeySchema=[{"AttributeName": _KEY, "KeyType": "HASH"}],
                    AttributeDefinitions=[{"AttributeName": _KEY, "AttributeType": "S"}],
                    **more,
                )
            except ClientError as error:  # another writer creates it
                if error.response.get("Error", {}).get("Code") != "ResourceInUseException":
                    raise
            pause = 0.05
            while client.describe_table(TableName=lock.table)["Table"]["TableStatus"] != "ACTIVE":
                if time.monotonic() > end:
                    raise StorageError(
                        f"the DynamoDB table {lock.table}",
                        f"is not active {lock.creation:g} s after it was created.",
                        "Try again.",
                    )
                time.sleep(pause)
                pause = min(2 * pause, 5.0)
        except ClientError as error:
            code = error.response.get("Error", {}).get("Code", "")
            raise self._explained(code, error) from None
        except BotoCoreError as error:
            raise self._explained(type(error).__name__, error) from None

    def _explained(self, code: str, error: Exception) -> StorageError:
        service = self.lock.service
        where = service.endpoint or f"DynamoDB in {service.region}"
        rules = {
            "AccessDeniedException": (
                "access is denied",
                "Allow these credentials GetItem, PutItem, UpdateItem and DeleteItem on the table "
                "(and "
                "DescribeTable, CreateTable where it is to be created).",
            ),
            "ExpiredTokenException": (
                "the token of the credentials has expired",
                "Get new credentials.",
            ),
            "UnrecognizedClientException": (
                "the credentials are not valid",
                "Correct keys and token, and the region.",
            ),
            "NoCredentialsError": (
                "no credentials were found: not in options, variables or profile, and this host "
                "has none of its own",
                "Set them, as for the table's store.",
            ),
            "EndpointConnectionError": (
                f"{where} can't be reached",
                "Check hoodie.write.lock.dynamodb.endpoint_url, the region and the network.",
            ),
            "ProvisionedThroughputExceededException": (
                "the table's capacity is used up",
                "Give it more, or the billing mode PAY_PER_REQUEST.",
            ),
            "ValidationException": (
                "it has another key than Hudi's lock, which is a text named 'key'",
                "Use a table of its own for locks.",
            ),
        }
        rule, fix = rules.get(code, (f"{where} answered {code}", "Try again."))
        return StorageError(self.obj, f"{rule}.", fix)
