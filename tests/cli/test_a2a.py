"""Servers of A2A that commands start: several agents, private addresses of notifications, gRPC."""

from __future__ import annotations

import asyncio
import re
import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from a2a.types import TaskPushNotificationConfig
from a2a.utils.constants import TransportProtocol
from a2a.utils.errors import InvalidParamsError

from tests.cli.support import tactician, written
from tests.cli.test_terminal import terminal, wait_until_it_answers
from tests.serve.a2a.sdk import COMPLETED, REJECTED, load_card, open_sdk_client, read_text, send

OFFICE = """
from tactician import Agent
from tactician.errors import Ranked
from tactician.testing import ScriptedModel

clock = Agent("Clock", description="Tells the time", model=ScriptedModel().when(prompt_contains="").reply("Noon."))
cook = Agent("Cook", description="Knows recipes", model=ScriptedModel().when(prompt_contains="").reply("Flour."))

def script():
    ranking = ScriptedModel().when(prompt_contains="bread").reply([Ranked("cook", 0.9), Ranked("clock", 0.1)])
    return ranking.when(prompt_contains="Sing").reply([Ranked("cook", 0.2), Ranked("clock", 0.1)])
"""
BOTH = pytest.mark.parametrize("command", [("a2a", "serve"), ("serve",)], ids=" ".join)


@asynccontextmanager
async def serve(folder: Path, command: Sequence[str], *options: str) -> AsyncIterator[str]:
    """Serve the office with a command, and yield the address."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    arguments = (*command, written(folder, OFFICE), "--port", str(port), *options)
    with terminal(folder, *arguments) as seen:
        await asyncio.to_thread(seen.wait_for, f"http://127.0.0.1:{port}")
        await asyncio.to_thread(wait_until_it_answers, port)
        yield f"http://127.0.0.1:{port}"


async def test_standard_clients_use_a_file_with_two_agents(tmp_path: Path) -> None:
    async with (
        serve(tmp_path, ("a2a", "serve"), "--scripted", "--grpc-port", "0") as url,
        open_sdk_client(url) as client,
        open_sdk_client(url, TransportProtocol.GRPC) as over_grpc,
        open_sdk_client(f"{url}/a2a/clock", TransportProtocol.HTTP_JSON) as clock,
    ):
        tasks = [await send(one, "How do I bake bread?") for one in (client, over_grpc, clock)]
        unfit = await send(client, "Sing!")

    assert [read_text(task) for task in tasks] == ["Flour.", "Flour.", "Noon."]
    assert [task.status.state for task in (*tasks, unfit)] == [COMPLETED, COMPLETED, COMPLETED, REJECTED]


@BOTH
async def test_each_agent_has_the_same_address_in_both_commands(command: Sequence[str], tmp_path: Path) -> None:
    async with serve(tmp_path, command, "--grpc-port", "0") as url:
        whole, own = await load_card(url), await load_card(f"{url}/a2a/cook")
        async with open_sdk_client(f"{url}/a2a/cook", TransportProtocol.GRPC) as client:
            task = await send(client, "How do I bake bread?")

    assert ({skill.id for skill in whole.skills}, own.name) == ({"clock", "cook"}, "Cook")
    assert [interface.url for interface in own.supported_interfaces[:2]] == [f"{url}/a2a/cook/", f"{url}/a2a/cook"]
    assert re.fullmatch(r"127\.0\.0\.1:\d+", own.supported_interfaces[2].url)
    assert read_text(task) == "Flour."


@BOTH
@pytest.mark.parametrize("way", ["nothing", "option", "settings"])
async def test_notifications_go_to_private_addresses_when_wanted(
    command: Sequence[str], way: str, tmp_path: Path
) -> None:
    if way == "settings":
        (tmp_path / "tactician.toml").write_text("[a2a]\nprivate_push = true\n", encoding="utf-8")
    options = ["--private-push"] if way == "option" else []
    async with serve(tmp_path, command, *options) as url, open_sdk_client(f"{url}/a2a/cook") as client:
        task = await send(client, "How do I bake bread?")
        config = TaskPushNotificationConfig(task_id=task.id, id="mine", url="http://127.0.0.1:9/hook")
        if way == "nothing":
            with pytest.raises(InvalidParamsError, match="has to be public"):
                await client.create_task_push_notification_config(config)
        else:
            assert await client.create_task_push_notification_config(config) == config


@BOTH
async def test_the_settings_file_has_the_port_of_grpc(command: Sequence[str], tmp_path: Path) -> None:
    settings = '[a2a]\ngrpc_port = 0\ngrpc_url = "agents.example.com:443"\n'
    (tmp_path / "tactician.toml").write_text(settings, encoding="utf-8")
    async with serve(tmp_path, command) as url:
        card = await load_card(url)

    assert card.supported_interfaces[-1].url == "agents.example.com:443"


@BOTH
def test_a_port_of_grpc_that_another_program_uses_is_a_message(command: Sequence[str], tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = tactician(*command, written(tmp_path, OFFICE), "--port", "8000", "--grpc-port", port)
    assert done.code == 2
    assert f"error: 127.0.0.1:{port} cannot be used: Address already in use. Choose another port or host.\n" in done.err
    assert "Traceback" not in done.err


@pytest.mark.parametrize(
    ("file", "message"),
    [
        ("none.pem", "none.pem: the certificate cannot be read."),
        (
            "wrong.pem",
            "wrong.pem and wrong.pem cannot be used for gRPC: they have to be a certificate chain and its key, as PEM.",
        ),
    ],
)
def test_a_certificate_that_cannot_be_used_is_a_message(file: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "wrong.pem").write_text("no certificate", encoding="utf-8")
    settings = f'[a2a]\ngrpc_port = 0\ngrpc_certificate = "{file}"\ngrpc_key = "{file}"\n'
    (tmp_path / "tactician.toml").write_text(settings, encoding="utf-8")
    done = tactician("a2a", "serve", written(tmp_path, OFFICE), cwd=tmp_path)
    assert (done.code, done.err) == (2, f"error: {message}\n")
