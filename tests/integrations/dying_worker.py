"""A Temporal worker that is killed in the middle: give it the server, the namespace, the store, a log, and a name."""

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
from tests.integrations.agents import CountingModel, Logging, counter


async def main(target: str, namespace: str, url: str, log: str, name: str) -> None:
    def die() -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    agent = Logging(Path(log), die) if name == "Logging" else counter(Path(log), die)
    platform = Platform(models=CountingModel(), store=open_store(url)).register(agent)
    client = await Client.connect(target, namespace=namespace)
    driver = TemporalDriver(platform, client, lease=1.0)
    await driver.create_worker().run()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
