"""A Temporal worker that is killed in the middle of an action: give it the server, the URL of the store, and a log."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

from temporalio.client import Client

from tactician import Platform
from tactician.integrations.temporal import TemporalDriver
from tactician.stores import open_store
from tactician.testing import ScriptedModel
from tests.integrations.agents import Logging


async def main(target: str, url: str, log: str) -> None:
    agent = Logging(Path(log), die=lambda: os.kill(os.getpid(), signal.SIGKILL))
    platform = Platform(models=ScriptedModel(), store=open_store(url)).register(agent)
    driver = TemporalDriver(platform, await Client.connect(target), lease=1.0)
    await driver.create_worker().run()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
