"""From a URI, options, variables and profiles to a place."""

from __future__ import annotations

import os
import sys
import types
from pathlib import Path
from typing import Any

import hoodoo
import pytest
from hoodoo.errors import ConfigError, StorageError
from hoodoo.hookspecs import Settings
from hoodoo_cloud.clients import client
from hoodoo_cloud.places import Place, find


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in list(os.environ):
        if name.startswith(("AWS_", "AZURE_", "GOOGLE_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))


def _find(uri: str, **options: str) -> tuple[str, str, Place]:
    return find(Settings(options={"hoodoo.storage.uri": uri, **options}))


def _settings(uri: str, **options: str) -> dict[str, str]:
    return dict(_find(uri, **options)[2].settings)


@pytest.mark.parametrize(
    ("uri", "cloud", "bucket", "prefix"),
    [
        ("s3://b/a/t/", "s3", "b", "a/t"),
        ("s3a://b/t", "s3", "b", "t"),
        ("s3n://b", "s3", "b", ""),
        ("gs://b/a b%20", "gs", "b", "a b%20"),
        ("abfss://c@acc.dfs.core.windows.net/t", "azure", "c", "t"),
        ("abfs://c@acc.dfs.core.windows.net/t", "azure", "c", "t"),
        ("wasbs://c@acc.blob.core.windows.net/t", "azure", "c", "t"),
        ("memory://m/t", "memory", "m", "t"),
    ],
)
def test_uris(uri: str, cloud: str, bucket: str, prefix: str) -> None:
    root, found, place = _find(uri)
    assert (root, found, place.cloud, place.bucket) == (uri.rstrip("/"), prefix, cloud, bucket)
    if cloud == "azure":
        assert dict(place.settings)["account_name"] == "acc"
    key = {
        "azure": {"account_key": "a2V5"},
        "s3": {"aws_access_key_id": "a", "aws_secret_access_key": "b"},
    }
    if cloud != "gs":
        assert client(_find(uri, **key.get(cloud, {}))[2]) is not None


def test_az_needs_an_account(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError, match="names no account"):
        _find("az://c/t")
    assert _settings("az://c/t", account_name="mine")["account_name"] == "mine"
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_NAME", "theirs")
    assert _settings("az://c/t")["account_name"] == "theirs"


def test_hdfs_is_refused_with_the_reason() -> None:
    for uri in ("hdfs://name:8020/t", "viewfs://cluster/t"):
        with pytest.raises(ConfigError, match="lies on HDFS, .* only if it is absent") as caught:
            hoodoo.open(uri)
        assert uri in str(caught.value)


@pytest.mark.parametrize("uri", ["s3:///t", "s3://b/a//t", "s3://b/../t", "s3://", "s3:///"])
def test_wrong_uris(uri: str) -> None:
    with pytest.raises(StorageError):
        _find(uri)


@pytest.mark.parametrize(
    ("key", "secret", "endpoint"),
    [
        ("aws_access_key_id", "aws_secret_access_key", "aws_endpoint_url"),
        ("access_key_id", "secret_access_key", "endpoint"),
        ("fs.s3a.access.key", "fs.s3a.secret.key", "fs.s3a.endpoint"),
        ("hoodoo.s3.access_key_id", "hoodoo.s3.secret_access_key", "hoodoo.s3.endpoint"),
    ],
)
def test_names_that_users_know(key: str, secret: str, endpoint: str) -> None:
    given = {key: "k", secret: "s", endpoint: "http://h:1", "region": "eu-west-1"}
    _, _, place = _find("s3://b/t", **given)
    assert dict(place.settings) == {
        "access_key_id": "k", "secret_access_key": "s", "endpoint": "http://h:1", "region": "eu-west-1",
    }  # fmt: skip
    assert place.plain
    assert not place.known
    assert "'s'" not in repr(place)


def test_an_endpoint_without_a_scheme_is_encrypted() -> None:
    _, _, place = _find("s3://b/t", **{"fs.s3a.endpoint": "s3.example.org"})
    assert dict(place.settings)["endpoint"] == "https://s3.example.org"
    assert not place.plain


def test_sources_are_not_mixed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "credentials").write_text(
        "[default]\naws_access_key_id = d\naws_secret_access_key = ds\n"
        "[work]\naws_access_key_id = w\naws_secret_access_key = ws\naws_session_token = wt\n"
    )
    (tmp_path / "config").write_text(
        "[profile work]\nregion = eu-north-1\n[profile sso]\nsso_session = x\n"
    )
    assert _settings("s3://b/t")["access_key_id"] == "d"
    found = _settings("s3://b/t", aws_profile="work")
    assert (found["access_key_id"], found["session_token"], found["region"]) == (
        "w",
        "wt",
        "eu-north-1",
    )
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "v")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "vs")
    assert _settings("s3://b/t")["secret_access_key"] == "vs"
    assert _settings("s3://b/t", aws_profile="work")["secret_access_key"] == "ws"
    monkeypatch.setenv("AWS_SESSION_TOKEN", "vt")
    said = _settings("s3://b/t", aws_access_key_id="o", aws_secret_access_key="os")
    assert said == {"access_key_id": "o", "secret_access_key": "os"}
    with pytest.raises(ConfigError, match="secret_access_key is missing"):
        _settings("s3://b/t", aws_access_key_id="o")
    with pytest.raises(ConfigError, match="export-credentials --profile sso"):
        _settings("s3://b/t", aws_profile="sso")
    with pytest.raises(ConfigError, match="is in no file of profiles"):
        _settings("s3://b/t", aws_profile="nowhere")


class _Session:
    """As much of Spark's as is asked."""

    def __init__(self, said: dict[str, str]) -> None:
        self.said = said
        self.sparkContext = self

    @property
    def client(self) -> Any:
        """Of Spark Connect alone: in PySpark 3.5 it is here, too, and no AttributeError."""
        raise RuntimeError("ONLY_SUPPORTED_WITH_SPARK_CONNECT")

    def getConf(self) -> Any:
        return self

    def getAll(self) -> list[tuple[str, str]]:
        return [(f"spark.hadoop.{key}", value) for key, value in self.said.items()]


def _session(monkeypatch: pytest.MonkeyPatch, **said: str) -> None:
    given = {key.replace("_", "."): value for key, value in said.items()}
    kind = types.SimpleNamespace(getActiveSession=lambda: _Session(given))
    module: Any = types.ModuleType("pyspark.sql")
    module.SparkSession = kind
    monkeypatch.setitem(sys.modules, "pyspark.sql", module)


def test_a_spark_session_says_what_nobody_else_does(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "credentials").write_text(
        "[default]\naws_access_key_id = d\naws_secret_access_key = ds\n"
    )
    _session(
        monkeypatch, fs_s3a_access_key="s", fs_s3a_secret_key="ss", fs_s3a_session_token="st",
        fs_s3a_endpoint="localhost:9000", fs_s3a_connection_ssl_enabled="false",
        fs_s3a_path_style_access="true", fs_s3a_bucket_mine_access_key="m",
    )  # fmt: skip
    assert _settings("s3a://b/t") == {
        "access_key_id": "s", "secret_access_key": "ss", "session_token": "st",
        "endpoint": "http://localhost:9000", "virtual_hosted_style_request": "false",
    }  # fmt: skip
    assert _settings("s3a://mine/t")["access_key_id"] == "m"
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "v")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "vs")
    found = _settings("s3a://b/t")
    assert (found["access_key_id"], found["endpoint"]) == ("v", "http://localhost:9000")
    assert "session_token" not in found
    found = _settings("s3a://b/t", aws_access_key_id="o", aws_secret_access_key="os")
    assert found["secret_access_key"] == "os"
    assert "session_token" not in found
    _session(
        monkeypatch,
        fs_s3a_aws_credentials_provider="org.apache.hadoop.fs.s3a.AnonymousAWSCredentialsProvider",
    )
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    assert _settings("s3a://b/t") == {"skip_signature": "true"}


def test_payloads_are_signed_unless_an_option_says_otherwise() -> None:
    keys = {"aws_access_key_id": "a", "aws_secret_access_key": "s"}
    assert "unsigned_payload" not in _settings("s3://b/t", **keys)
    for name in ("hoodoo.s3.unsigned_payload", "aws_unsigned_payload"):
        assert _settings("s3://b/t", **keys, **{name: "true"})["unsigned_payload"] == "true"
        assert "unsigned_payload" not in _settings("s3://b/t", **keys, **{name: "false"})


def test_a_spark_session_of_other_clouds(monkeypatch: pytest.MonkeyPatch) -> None:
    uri = "abfss://c@acc.dfs.core.windows.net/t"
    _session(monkeypatch, fs_azure_account_key_acc_dfs_core_windows_net="a2V5")
    assert _settings(uri) == {"account_name": "acc", "account_key": "a2V5"}
    monkeypatch.setenv("AZURE_STORAGE_SAS_TOKEN", "sas")
    assert _settings(uri) == {"account_name": "acc", "sas_key": "sas"}
    monkeypatch.delenv("AZURE_STORAGE_SAS_TOKEN")
    _session(
        monkeypatch, fs_azure_account_oauth2_client_id="id",
        fs_azure_account_oauth2_client_secret="secret",
        fs_azure_account_oauth2_client_endpoint="https://login.microsoftonline.com/tenant/oauth2/token",
    )  # fmt: skip
    assert _settings(uri) == {
        "account_name": "acc", "client_id": "id", "client_secret": "secret", "tenant_id": "tenant",
    }  # fmt: skip
    _session(monkeypatch, fs_gs_auth_service_account_json_keyfile="/key.json")
    assert _settings("gs://b/t") == {"service_account": "/key.json"}
