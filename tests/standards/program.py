"""Program that forks workers of the buyer, and the server of the shop."""

from __future__ import annotations

import asyncio
import os
import sys
import traceback
from pathlib import Path

import mcp.client.stdio
import uvicorn
import uvicorn.protocols.http.auto

from tactician.platform import Worker
from tactician.serve import A2aSettings, a2a_app
from tactician.stores import SqliteStore, open_store
from tests.crash.ledger import Ledger
from tests.standards.buyer import create_buyer_platform
from tests.standards.shop import create_shop_platform
from tests.support.nursery import serve_nursery

_POLL = 0.02
_LOADED = (mcp.client.stdio, SqliteStore, uvicorn.protocols)
"""Parts that are loaded before the first fork, so that no process has to."""


async def work(url: str, ledger: Ledger, shop: str, lease: float) -> None:
    """Continue the runs of the buyer for ever."""
    platform = create_buyer_platform(open_store(url), ledger, shop)
    await Worker(platform, lease=lease, poll=_POLL).run()


async def sell(url: str, ledger: Ledger, shop: str, lease: float) -> None:
    """Serve the shop for ever."""
    settings = A2aSettings(poll=_POLL, lease=lease)
    app = a2a_app(create_shop_platform(open_store(url), ledger), shop, settings=settings)
    port = int(shop.rpartition(":")[2])
    await uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=port, log_level="critical")).serve()


def be_process(name: str, role: str, url: str, path: str, shop: str, lease: str) -> None:
    """Be a worker or the shop until somebody ends the process. What it logs is beside the ledger."""
    ledger = Ledger(Path(path), name)
    try:
        with Path(path).with_suffix(".log").open("ab") as log:
            os.dup2(log.fileno(), sys.stdout.fileno())
            os.dup2(log.fileno(), sys.stderr.fileno())
        asyncio.run((sell if role == "shop" else work)(url, ledger, shop, float(lease)))
    except BaseException:
        traceback.print_exc()


if __name__ == "__main__":
    serve_nursery(be_process)
