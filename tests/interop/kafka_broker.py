"""A broker of Kafka in KRaft mode, on a free port of the loopback interface, in a JVM of its own."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType

from py4j.java_gateway import JavaMember

BROKER_VARIABLE = "HOODOO_INTEROP_KAFKA"  # a folder of the broker's jars
SPARK_VARIABLE = "HOODOO_INTEROP_KAFKA_SPARK"  # a folder of the jars with which Spark reads Kafka
_SECONDS = 60
_SETTINGS = """process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
controller.listener.names=CONTROLLER
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
log.dirs={folder}/log
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
auto.create.topics.enable=false
group.initial.rebalance.delay.ms=0
"""


class Broker:
    """``with Broker(jars, folder) as broker``: it runs, and answers at ``broker.servers``."""

    def __init__(self, jars: Path, folder: Path) -> None:
        self.jars, self.folder = jars, folder
        self.port, controller = _free(), _free()
        folder.mkdir(parents=True)
        self.settings = folder / "server.properties"
        text = _SETTINGS.format(port=self.port, controller=controller, folder=folder)
        self.settings.write_text(text)
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def servers(self) -> str:
        return f"127.0.0.1:{self.port}"

    def __enter__(self) -> Broker:
        self._java("kafka.tools.StorageTool", "format", "-t", "hoodoo-interop-kafka-0", "-c",
                   str(self.settings)).wait(_SECONDS)  # fmt: skip
        self.process = self._java("kafka.Kafka", str(self.settings))
        end = time.monotonic() + _SECONDS
        while time.monotonic() < end and self.process.poll() is None:
            with socket.socket() as asking:
                if asking.connect_ex(("127.0.0.1", self.port)) == 0:
                    return self
            time.sleep(0.2)
        self.__exit__(None, None, None)
        raise RuntimeError(f"no broker: {(self.folder / 'output').read_text()[-2000:]}")

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait(_SECONDS)
        shutil.rmtree(self.folder / "log", ignore_errors=True)

    def _java(self, name: str, *arguments: str) -> subprocess.Popen[bytes]:
        home = os.environ.get("JAVA_HOME")
        java = str(Path(home, "bin/java")) if home else "java"
        command = [java, "-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC",
                   "-cp", f"{self.jars}/*", name, *arguments]  # fmt: skip
        with (self.folder / "output").open("ab") as out:
            return subprocess.Popen(command, stdout=out, stderr=out, cwd=self.folder)


class Client:
    """What tests do with a broker, by Kafka's own client in the JVM of Spark."""

    def __init__(self, spark: object, servers: str) -> None:
        self.jvm = spark.sparkContext._jvm  # type: ignore[attr-defined]
        self.gateway = spark.sparkContext._gateway._gateway_client  # type: ignore[attr-defined]
        self.servers = servers
        text = "org.apache.kafka.common.serialization.StringSerializer"
        settings = self._properties({"key.serializer": text, "value.serializer": text})
        self.producer = self.jvm.org.apache.kafka.clients.producer.KafkaProducer(settings)
        self.admin = self.jvm.org.apache.kafka.clients.admin.Admin.create(self._properties({}))

    def _properties(self, more: Mapping[str, str]) -> object:
        made = self.jvm.java.util.Properties()
        for key, value in {"bootstrap.servers": self.servers, **more}.items():
            made.setProperty(key, value)
        return made

    def create(self, topic: str, partitions: int = 1) -> None:
        new = self.jvm.org.apache.kafka.clients.admin.NewTopic
        option = self.jvm.java.util.Optional
        made = new(topic, option.of(partitions), option.empty())
        self.admin.createTopics(self._list(made)).all().get()

    def grow(self, topic: str, partitions: int) -> None:
        more = self.jvm.org.apache.kafka.clients.admin.NewPartitions.increaseTo(partitions)
        self.admin.createPartitions(self._map(topic, more)).all().get()

    def delete(self, topic: str) -> None:
        self.admin.deleteTopics(self._list(topic)).all().get()

    def lose(self, topic: str, before: int, partition: int = 0) -> None:
        """Kafka deletes the messages before an offset, as its retention does."""
        part = self.jvm.org.apache.kafka.common.TopicPartition(topic, partition)
        # Java has a method of the object and one of the class by this name: py4j finds neither.
        owner = "z:org.apache.kafka.clients.admin.RecordsToDelete"
        records = JavaMember("beforeOffset", None, owner, self.gateway)(before)
        self.admin.deleteRecords(self._map(part, records)).all().get()

    def send(self, topic: str, key: str, value: str | None, partition: int = 0) -> None:
        record = self.jvm.org.apache.kafka.clients.producer.ProducerRecord
        self.producer.send(record(topic, partition, key, value)).get()

    def close(self) -> None:
        self.producer.close()
        self.admin.close()

    def _list(self, one: object) -> object:
        made = self.jvm.java.util.ArrayList()
        made.add(one)
        return made

    def _map(self, key: object, value: object) -> object:
        made = self.jvm.java.util.HashMap()
        made.put(key, value)
        return made


def _free() -> int:
    with socket.socket() as asking:
        asking.bind(("127.0.0.1", 0))
        return int(asking.getsockname()[1])
