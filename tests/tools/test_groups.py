"""Tool groups: by name, by themselves, in agents and actions, and as `tactician.toml` selects them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import pytest

from tactician import (
    Agent,
    AgentDefinition,
    Ai,
    Autonomous,
    OperationContext,
    PlannedAgent,
    Planner,
    Platform,
    ProcessStatus,
    Tool,
    UserInput,
    achieves_goal,
    action,
    approve,
    planned_agent,
    simple_agent,
    tool,
)
from tactician.errors import ConfigurationError, DeclarationError
from tactician.runs import RunContext
from tactician.testing import ScriptedModel, ToolCall
from tactician.tools import DeclaredTool, ToolGroup, ToolGroupPermission
from tests.support.stored import JsonStore

Configure: TypeAlias = Callable[[str], object]


@tool
def search(query: str) -> str:
    """Searches the web."""
    return f"found {query}"


@tool(group="other")
def fetch(url: str) -> str:
    """Fetches a page."""
    return f"page {url}"


def plain(text: str) -> str:
    """A plain function."""
    return text.upper()


class Calculator:
    def __init__(self, offset: int) -> None:
        self.offset = offset

    @tool
    def add(self, a: int, b: int) -> int:
        """Adds."""
        return a + b + self.offset


WEB = ToolGroup("web", [search, fetch])


def names(tools: tuple[Tool, ...]) -> list[str]:
    return [one.name for one in tools]


def shown(model: ScriptedModel, call: int = 0) -> list[str]:
    return [spec.name for spec in model.calls[call].tools]


class TestWhatAGroupIs:
    async def test_tools_functions_and_objects_carry_its_name(self) -> None:
        mixed = await ToolGroup("mixed", [search, plain, Calculator(1), DeclaredTool("d", "declared")]).load_tools()
        assert [(one.name, one.traits.group) for one in mixed] == [
            ("search", "mixed"),
            ("plain", "mixed"),
            ("add", "mixed"),
            ("d", "mixed"),
        ]
        assert search.traits.group is None
        assert await mixed[2].call('{"a": 1, "b": 2}', RunContext.over(ScriptedModel())) == "4"

    async def test_one_tool_or_one_object_needs_no_list(self) -> None:
        assert names(await ToolGroup("one", search).load_tools()) == ["search"]
        assert names(await ToolGroup("one", Calculator(0)).load_tools()) == ["add"]

    async def test_a_tool_that_has_its_name_already_stays_as_it_is(self) -> None:
        (kept,) = await ToolGroup("other", fetch).load_tools()
        assert kept is fetch

    async def test_a_function_gives_them_each_time_that_they_are_needed(self) -> None:
        given: list[object] = [search]

        def give() -> list[object]:
            return given

        async def connect() -> Calculator:
            return Calculator(0)

        group = ToolGroup("lazy", give)
        assert names(await group.load_tools()) == ["search"]
        given.append(plain)
        assert names(await group.load_tools()) == ["search", "plain"]
        assert names(await ToolGroup("lazy", connect).load_tools()) == ["add"]

    async def test_what_the_function_raises_says_whose_tools_are_missing(self) -> None:
        def broken() -> object:
            raise OSError("no server")

        with pytest.raises(OSError, match="no server") as caught:
            await ToolGroup("web", broken).load_tools()
        assert caught.value.__notes__ == ["in the tool group 'web'"]

    def test_what_it_says_of_itself(self) -> None:
        group = ToolGroup(
            "web",
            [],
            description="The web",
            provider="Acme",
            version="2",
            permissions=[ToolGroupPermission.INTERNET_ACCESS, ToolGroupPermission.HOST_ACCESS],
        )
        assert (group.name, group.description, group.provider, group.version) == ("web", "The web", "Acme", "2")
        assert group.permissions == {"internet_access", "host_access"}
        assert repr(group) == "ToolGroup('web')"

    def test_an_object_without_tools_is_a_mistake(self) -> None:
        with pytest.raises(DeclarationError, match="no method declared with @tool"):
            ToolGroup("web", [UserInput("x")])

    def test_a_function_with_parameters_is_a_tool_and_not_who_gives_tools(self) -> None:
        with pytest.raises(DeclarationError, match="put it into a list"):
            ToolGroup("web", plain)


class TestAi:
    async def test_a_name_stands_for_what_the_platform_has_when_the_model_is_called(self) -> None:
        model = ScriptedModel(ToolCall("search", query="frogs"), "done")
        platform = Platform(model)
        ai = Ai(platform.context()).with_tools(plain).with_tool_group("web")
        platform.register(WEB)
        assert await ai.generate_text("go") == "done"
        assert shown(model) == ["plain", "search", "fetch"]
        assert "found frogs" in str(model.calls[1].messages)

    async def test_several_groups_and_one_that_is_nowhere_registered(self) -> None:
        model = ScriptedModel("done")
        ai = Ai(Platform(model, tool_groups=[WEB]).context())
        await ai.with_tool_groups("web", ToolGroup("math", Calculator(0))).generate_text("go")
        assert shown(model) == ["search", "fetch", "add"]

    async def test_a_group_that_is_named_again_counts_once_and_the_last_one_of_a_name_wins(self) -> None:
        model = ScriptedModel("1", "2")
        ai = Ai(Platform(model, tool_groups=[WEB]).context()).with_tool_group("web")
        await ai.with_tool_group("web").generate_text("go")
        await ai.with_tool_group(ToolGroup("web", plain_group())).generate_text("go")
        assert (shown(model), shown(model, 1)) == (["search", "fetch"], ["plain"])

    async def test_unknown_names_are_all_told_with_those_that_are_known(self) -> None:
        ai = Ai(Platform(ScriptedModel(), tool_groups=[WEB]).context())
        with pytest.raises(ConfigurationError) as caught:
            await ai.with_tool_groups("wep", "web", "maps").generate_text("go")
        assert str(caught.value) == (
            "There is no tool group 'wep' or 'maps' here. Did you mean 'web'? Known: math, goals, web. Register "
            'it, with platform.register(ToolGroup("wep", [...])), and run on that platform; or use '
            'ToolGroup("wep", [...]) itself.'
        )

    async def test_without_a_platform_no_group_is_known(self) -> None:
        with pytest.raises(ConfigurationError, match=r"'web' here\. Known: math"):
            await ScriptedModel().ai().with_tool_group("web").generate_text("go")

    async def test_a_tool_that_two_groups_have_is_there_once(self) -> None:
        model = ScriptedModel("done")
        await model.ai().with_tool_groups(WEB, ToolGroup("research", [search, plain])).generate_text("go")
        assert shown(model) == ["search", "fetch", "plain"]

    async def test_different_tools_of_one_name_are_an_error(self) -> None:
        ai = ScriptedModel().ai().with_tool_groups(WEB, ToolGroup("maps", DeclaredTool("search", "Finds a place")))
        with pytest.raises(
            ConfigurationError, match="groups 'web' and 'maps' have different tools of the name 'search'"
        ):
            await ai.generate_text("go")


def plain_group() -> list[object]:
    return [plain]


class TestAgents:
    async def test_an_agent_has_its_own_tools_and_those_of_its_groups(self) -> None:
        model = ScriptedModel(ToolCall("search", query="frogs"), "done")
        agent = Agent("R", tools=[plain], tool_groups=["web", ToolGroup("math", Calculator(0))])
        result = await agent.run("go", context=Platform(model, tool_groups=[WEB]).context())
        assert result.output == "done"
        assert shown(model) == ["plain", "search", "fetch", "add"]
        assert [one.name for one in agent.tools] == ["plain"]

    async def test_one_name_is_not_its_letters(self) -> None:
        model = ScriptedModel("done")
        await Agent("R", tool_groups="web").run("go", context=Platform(model, tool_groups=[WEB]).context())
        assert shown(model) == ["search", "fetch"]

    async def test_its_tools_can_be_replaced_while_it_runs(self) -> None:
        @tool
        def switch() -> str:
            agent.replace_tools([plain])
            return "switched"

        model = ScriptedModel(ToolCall("switch"), "done")
        agent = Agent("R", model=model, tools=[switch], tool_groups=[WEB])
        await agent.run("go")
        assert (shown(model), shown(model, 1)) == (["switch", "search", "fetch"], ["plain", "search", "fetch"])

    async def test_a_variant_has_the_same_groups(self) -> None:
        model = ScriptedModel("done")
        await Agent("R", model=model, tool_groups=[WEB]).with_changes(instructions="x").run("go")
        assert shown(model) == ["search", "fetch"]

    async def test_an_unknown_name_fails_the_run_before_the_model_is_asked(self) -> None:
        model = ScriptedModel()
        with pytest.raises(ConfigurationError, match="There is no tool group 'web' here"):
            await Agent("R", model=model, tool_groups=["web"]).run("go")
        assert model.calls == []

    async def test_a_tool_of_its_own_with_the_same_name_is_a_mistake(self) -> None:
        with pytest.raises(DeclarationError, match="'search' is used twice"):
            await Agent("R", model=ScriptedModel(), tools=[search], tool_groups=[WEB]).run("go")

    async def test_an_autonomous_agent_sees_the_enabled_groups_only(self) -> None:
        model = ScriptedModel(ToolCall("task_over"))
        autonomy = Autonomous(enabled_tool_groups={"math"})
        groups = [WEB, ToolGroup("math", Calculator(0))]
        await Agent("R", model=model, tools=[plain], tool_groups=groups, autonomy=autonomy).run("go")
        assert shown(model) == ["plain", "add", "task_over"]

    async def test_a_run_that_waits_finds_the_tools_again(self) -> None:
        paid: list[int] = []

        @tool(needs_approval=True)
        def pay(amount: int) -> str:
            paid.append(amount)
            return "paid"

        model = ScriptedModel(ToolCall("pay", amount=3), "done")
        agent = Agent("R", tool_groups=["bank"])
        context = Platform(model, tool_groups=[ToolGroup("bank", pay)]).context()
        waiting = await agent.run("go", context=context)
        done = await agent.resume(waiting.run_id, {waiting.pending[0].id: approve()}, context=context)
        assert (done.output, paid) == ("done", [3])

    def test_a_definition_cannot_say_them(self) -> None:
        with pytest.raises(DeclarationError, match="R: a definition cannot name tool groups"):
            AgentDefinition.from_agent(Agent("R", tool_groups=["web"]))


@dataclass(frozen=True)
class News:
    text: str


@dataclass(frozen=True)
class Report:
    text: str


@planned_agent(description="reports news")
class Reporter:
    @action(tool_groups=["web"])
    async def find(self, topic: UserInput, ai: Ai) -> News:
        return News(await ai.generate_text(topic.content))

    @achieves_goal("a report")
    @action
    async def write(self, news: News, context: OperationContext) -> Report:
        return Report(await context.ai.generate_text(news.text))


class TestActions:
    async def test_every_ai_of_the_action_has_the_tools_and_that_of_others_has_not(self) -> None:
        model = ScriptedModel(ToolCall("search", query="x"), "news", "report")
        platform = Platform(model, tool_groups=[WEB]).register(Reporter())
        assert await platform.invoke(Report, "frogs") == Report("report")
        assert [shown(model, call) for call in range(3)] == [["search", "fetch"], ["search", "fetch"], []]

    async def test_the_operation_context_and_flows_inside_the_action_have_them_too(self) -> None:
        async def ask(request: str, ai: Ai) -> str:
            return await ai.generate_text(request)

        @planned_agent(description="d")
        class Agent:
            @achieves_goal("a report")
            @action(tool_groups=["web"])
            async def write(self, topic: UserInput, context: OperationContext) -> Report:
                text = await context.ai.generate_text("one")
                return Report(text + (await simple_agent(str, ask).run("two", context=context.run)).output)

        model = ScriptedModel("1", "2")
        assert (await Platform(model, tool_groups=[WEB]).start(Agent(), "go")).result == Report("12")
        assert (shown(model), shown(model, 1)) == (["search", "fetch"], ["search", "fetch"])

    async def test_an_action_that_a_model_leads_to_has_them(self) -> None:
        @planned_agent(description="d", planner=Planner.SUPERVISOR)
        class Agent:
            @achieves_goal("a report")
            @action(tool_groups=["web"])
            async def write(self, topic: UserInput, ai: Ai) -> Report:
                return Report(await ai.generate_text("write"))

        model = ScriptedModel(ToolCall("write"), "text")
        assert (await Platform(model, tool_groups=[WEB]).start(Agent(), "go")).result == Report("text")
        assert (shown(model), shown(model, 1)) == (["write"], ["search", "fetch"])


@planned_agent(description="needs much")
class Needy:
    @action(tool_groups=["web", "maps"])
    def find(self, topic: UserInput) -> News:
        return News(topic.content)

    @achieves_goal("a report")
    @action(tool_groups=["mail"])
    def write(self, news: News) -> Report:
        return Report(news.text)


MISSING = (
    "Needy cannot start: the action 'find' needs the tool group 'maps'; the action 'write' needs the tool group "
    "'mail'. There is no tool group 'maps' or 'mail' here. Known: math, goals, web. Register it, with "
    'platform.register(ToolGroup("maps", [...])), and run on that platform; or use ToolGroup("maps", [...]) itself.'
)


class TestMissingGroups:
    async def test_a_process_does_not_start_and_all_that_is_missing_is_told_at_once(self) -> None:
        platform = Platform(ScriptedModel(), tool_groups=[WEB]).register(Needy())
        for begin in (platform.start, platform.spawn):
            with pytest.raises(ConfigurationError) as caught:
                await begin("Needy", "go")
            assert str(caught.value) == MISSING
        assert await platform.processes() == []

    async def test_outside_of_platforms_it_does_not_start_either(self) -> None:
        agent, context = PlannedAgent(Needy()), RunContext.over(ScriptedModel())
        with pytest.raises(
            ConfigurationError, match="Needy cannot start: the action 'find' needs the tool group 'web'"
        ):
            await agent.run("go", context=context)

    async def test_a_process_that_is_gone_on_with_elsewhere_waits_until_the_groups_are_there(self) -> None:
        everywhere, store = [ToolGroup(name, []) for name in ("web", "maps", "mail")], JsonStore()
        rich = Platform(ScriptedModel(), store=store, tool_groups=everywhere).register(Needy())
        poor = Platform(ScriptedModel(), store=store).register(Needy())
        process = await poor.process(await rich.enqueue("Needy", "go"))
        with pytest.raises(ConfigurationError, match="Needy cannot start"):
            await process.run()
        assert process.status is ProcessStatus.NOT_STARTED
        poor.register(*everywhere)
        assert (await process.run()).result == Report("go")


class TestRegistration:
    def test_a_name_is_taken_once_and_then_nothing_is_registered(self) -> None:
        platform = Platform(ScriptedModel(), tool_groups=[WEB])
        with pytest.raises(DeclarationError, match="another tool group has this name"):
            platform.register(Reporter(), ToolGroup("maps", []), ToolGroup("web", []))
        assert (list(platform.agents), list(platform.tool_groups)) == ([], ["math", "goals", "web"])

    def test_agents_that_are_wrong_keep_the_groups_out(self) -> None:
        platform = Platform(ScriptedModel())
        with pytest.raises(DeclarationError, match="this is the class"):
            platform.register(WEB, Reporter)
        assert list(platform.tool_groups) == ["math", "goals"]
        assert len(platform.register(WEB).tool_groups) == 3


DOCKER = ToolGroup("docker", [search, fetch, plain])


class TestConfiguration:
    @pytest.fixture
    def configure(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Configure:
        file = tmp_path / "tactician.toml"
        monkeypatch.setenv("TACTICIAN_CONFIG", str(file))
        return file.write_text

    async def test_a_group_is_made_of_tools_of_registered_ones(self, configure: Configure) -> None:
        configure(
            '[tool_groups.web]\ntools = ["search", "f*"]\ndescription = "The web"\nprovider = "Docker"\n'
            'version = "2"\npermissions = ["internet_access"]\n'
        )
        platform = Platform(ScriptedModel(), tool_groups=[DOCKER])
        group = platform.tool_groups["web"]
        assert [(one.name, one.traits.group) for one in await group.load_tools()] == [
            ("search", "web"),
            ("fetch", "web"),
        ]
        assert (group.description, group.provider, group.version) == ("The web", "Docker", "2")
        assert group.permissions == {ToolGroupPermission.INTERNET_ACCESS}

    async def test_the_name_of_a_group_says_whose_tool_is_meant(self, configure: Configure) -> None:
        configure('[tool_groups.web]\ntools = ["docker:search"]\n[tool_groups.any]\ntools = ["search"]\n')
        maps = ToolGroup("maps", DeclaredTool("search", "Finds a place"))
        platform = Platform(ScriptedModel(), tool_groups=[maps, DOCKER])
        (found,) = await platform.tool_groups["web"].load_tools()
        assert found.description == "Searches the web."
        with pytest.raises(ConfigurationError, match="'maps' and 'docker' have different tools of the name 'search'"):
            await platform.tool_groups["any"].load_tools()

    async def test_select_all_of_a_pattern_but_not_what_is_excluded(self, configure: Configure) -> None:
        configure('[tool_groups.web]\ntools = ["docker:*"]\nexclude = ["fetch"]\n')
        platform = Platform(ScriptedModel(), tool_groups=[DOCKER])
        assert [each.name for each in await platform.tool_groups["web"].load_tools()] == ["search", "plain"]

    async def test_a_tool_that_is_nowhere_is_an_error(self, configure: Configure) -> None:
        configure('[tool_groups.web]\ntools = ["search", "docker:serch", "nix:search"]\n')
        with pytest.raises(ConfigurationError) as caught:
            await Platform(ScriptedModel(), tool_groups=[DOCKER]).tool_groups["web"].load_tools()
        assert str(caught.value) == (
            "tactician.toml: tool_groups.web.tools: no tool of a registered group is called 'docker:serch' or "
            "'nix:search'; the registered groups: goals, docker"
        )

    async def test_an_action_can_name_it(self, configure: Configure) -> None:
        configure('[tool_groups.web]\ntools = ["search"]\n')
        model = ScriptedModel("news", "report")
        assert (await Platform(model, tool_groups=[DOCKER]).start(Reporter(), "x")).result == Report("report")
        assert shown(model) == ["search"]

    def test_a_name_that_the_program_has_registered_is_an_error(self, configure: Configure) -> None:
        configure('[tool_groups.docker]\ntools = ["search"]\n')
        with pytest.raises(ConfigurationError, match="a group of the name docker is registered by the program"):
            list(Platform(ScriptedModel(), tool_groups=[DOCKER]).tool_groups)

    @pytest.mark.parametrize(
        "line", ["tools = []", 'tools = ["a"]\nmodel = "x"', 'tools = ["a"]\npermissions = ["all"]']
    )
    def test_a_setting_that_is_not_possible_is_an_error(self, configure: Configure, line: str) -> None:
        configure(f"[tool_groups.web]\n{line}\n")
        with pytest.raises(ConfigurationError, match=r"tool_groups\.web"):
            list(Platform(ScriptedModel()).tool_groups)

    def test_a_file_that_is_not_toml_is_an_error_when_the_platform_is_made(self, configure: Configure) -> None:
        configure("no toml")
        with pytest.raises(ConfigurationError, match=r"tactician\.toml"):
            Platform(ScriptedModel())
