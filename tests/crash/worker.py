"""Program that forks workers, which continue the runs of a store."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

from tactician import Platform
from tactician.errors import TacticianError
from tactician.platform import Worker
from tactician.runs.life.durable import DurableRun
from tactician.stores import PostgresStore, SqliteStore, open_store
from tactician.testing import ScriptedModel
from tests.crash.kinds import create_agents, create_service
from tests.crash.ledger import Ledger, note_check
from tests.crash.newsroom import create_newsroom
from tests.support.nursery import serve_nursery

_POLL = 0.02
_logger = logging.getLogger(__name__)
_STORES = (SqliteStore, PostgresStore)
"""Classes that are loaded before the first fork, so that no worker has to."""


async def work(url: str, ledger: Ledger, name: str, lease: float, request: str = "", conversation_id: str = "") -> None:
    """Make a request to a service, if there is one to make. Then continue all runs of a store, for ever."""
    store = open_store(url)
    platform = Platform(models=ScriptedModel(), store=store).register(*create_agents(ledger), create_newsroom(ledger))
    service = create_service(ledger, platform)
    if request:
        try:
            await service.request_agent("desk", request, conversation_id=conversation_id)
        except TacticianError as error:
            _logger.warning("%s: %s", name, error)
    await Worker(platform, name=name, lease=lease, poll=_POLL).run()


def be_worker(name: str, url: str, ledger: str, lease: str, *request: str) -> None:
    """Work until somebody ends the process. What the worker logs is beside the ledger."""
    path = Path(ledger)
    defaults = DurableRun.__init__.__kwdefaults__
    assert defaults is not None
    defaults["seconds"] = float(lease)  # also of the runs that begin here
    try:
        with path.with_suffix(".log").open("ab") as log:
            os.dup2(log.fileno(), sys.stdout.fileno())
            os.dup2(log.fileno(), sys.stderr.fileno())
        with _checks_noted():
            asyncio.run(work(url, Ledger(path, name), name, float(lease), *request))
    except BaseException:
        traceback.print_exc()


@contextmanager
def _checks_noted() -> Iterator[None]:
    """Let the ledger know whenever the framework makes sure that a run is this worker's."""
    check_lease = DurableRun.check_lease

    async def check_and_note(run: DurableRun) -> None:
        await check_lease(run)
        note_check()

    with patch.object(DurableRun, "check_lease", check_and_note):
        yield


if __name__ == "__main__":
    serve_nursery(be_worker)
