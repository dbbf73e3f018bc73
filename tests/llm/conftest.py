from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.support.chat_server import ChatServer, answers, completion


@pytest.fixture
async def server() -> AsyncIterator[ChatServer]:
    """A server that says "hello" until it is told to say something else."""
    async with ChatServer(answers(completion("hello"))) as running:
        yield running
