"""Stores and places of the runs that survive crashes."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.crash.site import Site
from tests.stores import postgres
from tests.support.effort import SEED
from tests.support.nursery import Nursery


@pytest.fixture(scope="package")
def server() -> Iterator[postgres.Server]:
    with postgres.running(postgres.installed()) as server:
        yield server


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return postgres.create_store_url(request, tmp_path)


@pytest.fixture(scope="package")
def nursery() -> Iterator[Nursery]:
    nursery = Nursery("tests.crash.worker")
    yield nursery
    nursery.close()


@pytest.fixture
async def site(nursery: Nursery, url: str, tmp_path: Path) -> AsyncIterator[Site]:
    site = Site(nursery, url, tmp_path)
    with site.fleet:
        yield site
    await site.aclose()


@pytest.fixture
def chance() -> random.Random:
    print(f"TACTICIAN_SEED={SEED}")
    return random.Random(SEED)
