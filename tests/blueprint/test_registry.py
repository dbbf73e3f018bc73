"""Agents in the files of a folder."""

import asyncio
import json
import logging
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Literal

import pytest

from tactician import Agent, RouterAgent
from tactician.agents import BaseRunnable
from tactician.blueprint import AgentRegistry, Blueprint, Builder, Limits
from tactician.blueprint.blueprint import KINDS
from tactician.errors import AgentNotFoundError, BlueprintError, ConfigurationError
from tactician.llm.model import ToolSpec
from tests.blueprint import acme
from tests.blueprint.constellations import ALLOW
from tests.blueprint.test_examples import KEYS, RESPONDER

ticks = iter(range(1, 1_000))


def written(file: Path, name: str = "Support", **more: object) -> Path:
    """A file with an agent, written later than the ones before."""
    said = {"type": "agent", "name": name, "model": "gpt-5.4", "instructions": "Help.", "maxTurns": 3, **more}
    return put(file, json.dumps(said))


def put(file: Path, text: str) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    later = next(ticks)
    os.utime(file, (later, later))
    return file


def instructions_of(runnable: BaseRunnable[object]) -> str | None:
    assert isinstance(runnable, Agent)
    source = runnable.spec.source
    return runnable.instructions if source is None else source.text


class TestNames:
    def test_they_are_the_paths_in_the_folder_in_order(self, tmp_path: Path) -> None:
        for name in ("teams/dev.json", "simple/support.yml", "simple/sales.v2.yaml", "router.json", "notes.txt"):
            written(tmp_path / name)
        assert AgentRegistry(tmp_path).list() == ["router", "simple/sales.v2", "simple/support", "teams/dev"]

    def test_each_of_them_is_found(self, tmp_path: Path) -> None:
        written(tmp_path / "a/b/deep.json", "Deep")
        written(tmp_path / "sales.v2.yaml", "Sales")
        registry = AgentRegistry(str(tmp_path))
        assert {name: registry.get(name).name for name in registry.list()} == {"a/b/deep": "Deep", "sales.v2": "Sales"}

    def test_what_begins_with_a_dot_is_no_agent(self, tmp_path: Path) -> None:
        written(tmp_path / ".hidden.json")
        written(tmp_path / "..data/support.json")
        registry = AgentRegistry(tmp_path)
        assert registry.list() == []
        for name in (".hidden", "..data/support"):
            with pytest.raises(AgentNotFoundError):
                registry.get(name)

    def test_an_unknown_one_is_told_with_the_one_that_was_meant(self, tmp_path: Path) -> None:
        written(tmp_path / "simple/support.json")
        with pytest.raises(AgentNotFoundError, match=r"has no agent 'simple/suport'. Did you mean 'simple/support'\?"):
            AgentRegistry(tmp_path).get("simple/suport")
        with pytest.raises(AgentNotFoundError, match=r"has no agent 'zzz'. There are: simple/support\."):
            AgentRegistry(tmp_path).get("zzz")

    def test_an_empty_folder_says_so(self, tmp_path: Path) -> None:
        with pytest.raises(AgentNotFoundError, match="There are: none"):
            AgentRegistry(tmp_path).get("any")

    def test_there_has_to_be_a_folder(self, tmp_path: Path) -> None:
        with pytest.raises(ConfigurationError, match="nowhere: there is no such folder"):
            AgentRegistry(tmp_path / "nowhere")

    def test_two_files_of_one_name_are_refused(self, tmp_path: Path) -> None:
        written(tmp_path / "support.json")
        written(tmp_path / "support.yaml")
        registry = AgentRegistry(tmp_path)
        assert registry.list() == ["support"]
        with pytest.raises(
            ConfigurationError, match=r"several files for the agent 'support': support.json, support.yaml"
        ):
            registry.get("support")


class TestFolder:
    @pytest.mark.parametrize(
        "name",
        [
            "",
            "/",
            "../secret",
            "a/../../secret",
            "./inner",
            "inner//x",
            "a\0b",
            "x" * 5_000,
            "\ud800",
            "inner/",
            "..",
            ".",
        ],
    )
    def test_no_name_leads_out_of_it(self, name: str, tmp_path: Path) -> None:
        written(tmp_path / "secret.json")
        written(tmp_path / "agents/inner.json")
        with pytest.raises(AgentNotFoundError) as caught:
            AgentRegistry(tmp_path / "agents").get(name)
        assert len(str(caught.value)) < 1_000

    def test_a_whole_path_is_no_name(self, tmp_path: Path) -> None:
        secret = written(tmp_path / "secret.json")
        (tmp_path / "agents").mkdir()
        with pytest.raises(AgentNotFoundError):
            AgentRegistry(tmp_path / "agents").get(str(secret.with_suffix("")))

    def test_links_out_of_it_lead_nowhere(self, tmp_path: Path) -> None:
        written(tmp_path / "outside/secret.json")
        agents = tmp_path / "agents"
        written(agents / "inner.json")
        (agents / "file.json").symlink_to(tmp_path / "outside/secret.json")
        (agents / "folder").symlink_to(tmp_path / "outside")
        (agents / "circle.json").symlink_to(agents / "circle.json")
        registry = AgentRegistry(agents)
        assert registry.list() == ["inner"]
        for name in ("file", "folder/secret", "circle"):
            with pytest.raises(AgentNotFoundError):
                registry.get(name)

    def test_links_inside_are_followed_as_those_of_mounted_settings_are(self, tmp_path: Path) -> None:
        written(tmp_path / "..2026_01/support.json", "Mounted")
        (tmp_path / "..data").symlink_to("..2026_01")
        (tmp_path / "support.json").symlink_to("..data/support.json")
        registry = AgentRegistry(tmp_path)
        assert registry.list() == ["support"]
        assert registry.get("support").name == "Mounted"

    def test_a_folder_that_is_a_link_is_followed_when_it_is_switched(self, tmp_path: Path) -> None:
        for release in ("one", "two"):
            written(tmp_path / release / "support.json", release)
        current = tmp_path / "current"
        current.symlink_to("one")
        registry = AgentRegistry(current, watch=True)
        assert registry.get("support").name == "one"
        current.unlink()
        current.symlink_to("two")
        assert registry.get("support").name == "two"

    def test_what_a_blueprint_names_is_in_it_too(self, tmp_path: Path) -> None:
        written(tmp_path / "secret.json")
        written(tmp_path / "agents/shared.json", "Shared")
        put(tmp_path / "agents/inner/up.json", '{"$ref": "../shared.json"}')
        put(tmp_path / "agents/out.json", '{"$ref": "../secret.json"}')
        registry = AgentRegistry(tmp_path / "agents")
        assert registry.get("inner/up").name == "Shared"
        with pytest.raises(BlueprintError, match="is outside of"):
            registry.get("out")
        assert AgentRegistry(tmp_path / "agents", root=tmp_path).get("out").name == "Support"


class TestBuilding:
    def test_it_is_built_once_when_it_is_first_asked_for(self, tmp_path: Path) -> None:
        file = written(tmp_path / "support.json")
        put(tmp_path / "wrong.json", "{")
        registry = AgentRegistry(tmp_path)
        first = registry.get("support")
        file.unlink()
        assert registry.get("support") is first

    def test_every_mistake_is_told_and_can_be_mended(self, tmp_path: Path) -> None:
        file = tmp_path / "support.yaml"
        put(file, "type: agent\nname: Support\nmodle: m\ninstructions: i\nmaxTurns: no\n")
        registry = AgentRegistry(tmp_path)
        with pytest.raises(BlueprintError) as caught:
            registry.get("support")
        assert {(one.path, one.line) for one in caught.value.problems} == {("modle", 3), ("model", 1), ("maxTurns", 5)}
        assert str(file) in str(caught.value)
        written(file)
        assert registry.get("support").name == "Support"

    def test_it_takes_what_build_takes(self, tmp_path: Path) -> None:
        tools = ["tests.blueprint.acme.look_up", "mine"]
        written(tmp_path / "support.json", toolClassNames=tools, responder=RESPONDER)
        made = AgentRegistry(tmp_path, allow=ALLOW, names={"mine": acme.Echo}, environment=KEYS).get("support")
        assert isinstance(made, Agent)
        assert [tool.name for tool in made.tools] == ["look_up", "echo"]
        with pytest.raises(BlueprintError, match="OPENROUTER_API_KEY") as caught:
            AgentRegistry(tmp_path, environment={}).get("support")
        assert len(caught.value.problems) == 3
        with pytest.raises(BlueprintError, match="more than 20 characters"):
            AgentRegistry(tmp_path, limits=Limits(size=20)).get("support")

    def test_a_constellation_of_several_files(self, tmp_path: Path) -> None:
        written(tmp_path / "simple/support.json")
        put(
            tmp_path / "routers/desk.yaml",
            "type: router\nname: Desk\nmodel: m\nroutes:\n- {description: d, target: {$ref: ../simple/support.json}}\n",
        )
        assert isinstance(AgentRegistry(tmp_path).get("routers/desk"), RouterAgent)

    def test_threads_share_one_object(self, tmp_path: Path) -> None:
        for number in range(5):
            written(tmp_path / f"{number}.json", toolClassNames=["slow"])
        together, made = Barrier(8), list[object]()

        class Slow(acme.Echo):
            def __init__(self) -> None:
                made.append(self)

        registry = AgentRegistry(tmp_path, names={"slow": Slow})

        def ask(_: int) -> list[int]:
            together.wait(timeout=30)
            return [id(registry.get(str(number))) for number in range(5)]

        with ThreadPoolExecutor(8) as threads:
            answers = list(threads.map(ask, range(8)))
        assert len(made) == 5
        assert all(answer == answers[0] for answer in answers)

    def test_one_that_is_asked_for_while_another_is_built(self, tmp_path: Path) -> None:
        written(tmp_path / "inner.json", "Inner")
        written(tmp_path / "outer.json", "Outer", toolClassNames=["needs"])
        seen: list[str] = []

        class Needs(acme.Echo):
            def __init__(self) -> None:
                seen.append(registry.get("inner").name)

        registry = AgentRegistry(tmp_path, names={"needs": Needs})
        assert registry.get("outer").name == "Outer"
        assert seen == ["Inner"]

    async def test_tasks_share_one_object(self, tmp_path: Path) -> None:
        written(tmp_path / "support.json")
        registry = AgentRegistry(tmp_path)
        made = await asyncio.gather(*(asyncio.to_thread(registry.get, "support") for _ in range(20)))
        assert len(set(map(id, made))) == 1


class TestReload:
    def test_one_is_read_anew(self, tmp_path: Path) -> None:
        for name in ("a", "b"):
            written(tmp_path / f"{name}.json", name)
        registry = AgentRegistry(tmp_path)
        a, b = registry.get("a"), registry.get("b")
        written(tmp_path / "a.json", "changed")
        assert registry.get("a") is a
        registry.reload("a")
        assert (registry.get("a").name, registry.get("b") is b) == ("changed", True)

    def test_all_are_read_anew(self, tmp_path: Path) -> None:
        for name in ("a", "b"):
            written(tmp_path / f"{name}.json", name)
        registry = AgentRegistry(tmp_path)
        before = [registry.get(name) for name in ("a", "b")]
        registry.reload()
        assert all(registry.get(one.name) is not one for one in before)

    def test_what_has_become_wrong_raises(self, tmp_path: Path) -> None:
        file = written(tmp_path / "a.json")
        registry = AgentRegistry(tmp_path, watch=True)
        registry.get("a")
        put(file, "{")
        registry.reload("a")
        with pytest.raises(BlueprintError):
            registry.get("a")

    def test_only_what_there_is_can_be_reloaded(self, tmp_path: Path) -> None:
        written(tmp_path / "support.json")
        registry = AgentRegistry(tmp_path)
        registry.reload("support")
        with pytest.raises(AgentNotFoundError, match="'support'"):
            registry.reload("suport")


@pytest.fixture
def log(caplog: pytest.LogCaptureFixture) -> Iterator[pytest.LogCaptureFixture]:
    with caplog.at_level(logging.WARNING, "tactician"):
        yield caplog


class TestWatching:
    def test_it_stays_the_same_until_its_file_changes(self, tmp_path: Path) -> None:
        file = written(tmp_path / "support.json", "old")
        registry = AgentRegistry(tmp_path, watch=True)
        old = registry.get("support")
        assert registry.get("support") is old
        written(file, "new")
        assert registry.get("support").name == "new"
        assert old.name == "old"

    def test_files_that_it_names_count_too(self, tmp_path: Path) -> None:
        put(tmp_path / "prompts/a.md", "first")
        written(tmp_path / "inner.json", instructions={"source": "file", "path": "prompts/a.md"})
        put(tmp_path / "outer.json", '{"$ref": "inner.json"}')
        registry = AgentRegistry(tmp_path, watch=True)
        first = registry.get("outer")
        assert instructions_of(first) == "first"
        assert registry.get("outer") is first
        put(tmp_path / "prompts/a.md", "second")
        assert instructions_of(registry.get("outer")) == "second"
        written(tmp_path / "inner.json", instructions="third")
        assert instructions_of(registry.get("outer")) == "third"

    def test_the_last_good_one_stays_while_the_file_is_wrong(
        self, tmp_path: Path, log: pytest.LogCaptureFixture
    ) -> None:
        file = written(tmp_path / "support.json", "good")
        registry = AgentRegistry(tmp_path, watch=True)
        good = registry.get("support")
        put(file, '{"type": "agent",\n "nam": "half')
        assert [registry.get("support") is good for _ in range(3)] == [True] * 3
        assert len(log.messages) == 1
        assert "'support' stays as it was" in log.messages[0]
        assert "line 2" in log.messages[0]
        written(file, "better")
        assert registry.get("support").name == "better"
        assert len(log.messages) == 1

    def test_a_file_that_a_wrong_one_names_is_watched_too(self, tmp_path: Path, log: pytest.LogCaptureFixture) -> None:
        file = written(tmp_path / "outer.json", "old")
        registry = AgentRegistry(tmp_path, watch=True)
        old = registry.get("outer")
        put(tmp_path / "inner.json", "{")
        put(file, '{"$ref": "inner.json"}')
        assert registry.get("outer") is old
        written(tmp_path / "inner.json", "mended")
        assert registry.get("outer").name == "mended"
        assert len(log.messages) == 1

    def test_a_second_file_of_the_name_is_told_once(self, tmp_path: Path, log: pytest.LogCaptureFixture) -> None:
        file = written(tmp_path / "support.json", "old")
        registry = AgentRegistry(tmp_path, watch=True)
        old = registry.get("support")
        written(tmp_path / "support.yaml", "other")
        written(file, "new")
        assert [registry.get("support") is old for _ in range(3)] == [True] * 3
        assert len(log.messages) == 1
        file.unlink()
        assert registry.get("support").name == "other"

    @pytest.mark.parametrize(
        "failure", [RuntimeError("no shelf"), SystemExit("over"), AgentNotFoundError("who?"), KeyError()]
    )
    def test_the_last_good_one_stays_whatever_happens(
        self, failure: BaseException, tmp_path: Path, log: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        class Odd(Blueprint):
            type: Literal["odd"] = "odd"

            def build_with(self, builder: Builder) -> BaseRunnable[object] | None:
                raise failure

        monkeypatch.setitem(KINDS, "odd", Odd)
        file = written(tmp_path / "support.json", "good")
        registry = AgentRegistry(tmp_path, watch=True)
        good = registry.get("support")
        put(file, '{"type": "odd"}')
        assert [registry.get("support") is good for _ in range(3)] == [True] * 3
        (message,) = log.messages
        assert "'support' stays as it was" in message
        assert (str(failure) or type(failure).__name__) in message
        written(file, "better")
        assert registry.get("support").name == "better"

    def test_a_tool_that_fails_leaves_the_last_good_one(self, tmp_path: Path, log: pytest.LogCaptureFixture) -> None:
        class Fails(acme.Echo):
            @property
            def spec(self) -> ToolSpec:
                raise RuntimeError("no connection")

        file = written(tmp_path / "support.json", "good")
        registry = AgentRegistry(tmp_path, watch=True, names={"fails": Fails})
        good = registry.get("support")
        written(file, "bad", toolClassNames=["fails"])
        assert [registry.get("support") is good for _ in range(3)] == [True] * 3
        assert "no connection" in log.text
        assert len(log.messages) == 1

    def test_every_mistake_is_logged(self, tmp_path: Path, log: pytest.LogCaptureFixture) -> None:
        file = written(tmp_path / "support.json", "good")
        registry = AgentRegistry(tmp_path, watch=True)
        registry.get("support")
        written(file, "bad", maxturn=1, toolClassNames=["no.one"])
        registry.get("support")
        assert "maxturn" in log.text
        assert "no.one" in log.text

    def test_one_that_is_gone_is_gone(self, tmp_path: Path) -> None:
        file = written(tmp_path / "support.json", "old")
        registry = AgentRegistry(tmp_path, watch=True)
        registry.get("support")
        file.unlink()
        for _ in range(2):
            with pytest.raises(AgentNotFoundError):
                registry.get("support")
        written(file, "again")
        assert registry.get("support").name == "again"
