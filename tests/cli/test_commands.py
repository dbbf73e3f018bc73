"""The command line as a user sees it: a process of its own, its two streams and its exit code."""

import asyncio
import json
import os
from contextlib import suppress
from pathlib import Path

import pytest

from tactician.cli import main
from tactician.llm import EmbeddedModel
from tactician.planning import Goal, PlanningBudget, SearchLimitExceeded
from tests.cli.support import ROOT, STAR_NEWS, tactician, written
from tests.support.chat_server import ChatServer, answers, completion

GREETER = """
from tactician import Agent, UserInput, achieves_goal, action, planned_agent

class Greeting:
    def __init__(self, text):
        self.text = text
    def __str__(self):
        return self.text

@planned_agent(description="Greets")
class Greeter:
    @achieves_goal("Greet")
    @action
    def greet(self, user_input: UserInput) -> Greeting:
        \"\"\"Says hello.\"\"\"
        return Greeting(f"Hello, {user_input.content}!")
"""


def test_run_shows_progress_on_stderr_and_the_result_on_stdout(tmp_path: Path) -> None:
    done = tactician("run", written(tmp_path, GREETER), "Lynda")
    assert (done.code, done.out) == (0, "Hello, Lynda!\n")
    assert [line.split("  ")[0] for line in done.err.splitlines()] == [
        "Greeter towards greet",
        "plan greet",
        "▶ greet",
        "✓ greet → Greeting",
        "completed",
    ]


def test_run_draws_the_plan_in_full_when_asked(tmp_path: Path) -> None:
    done = tactician("run", "--plan", written(tmp_path, GREETER), "Lynda")
    assert "1. greet  UserInput → Greeting" in done.err


@pytest.mark.embedded
def test_the_demo_runs_on_the_embedded_model() -> None:
    done = tactician("run", "-p", "-r", STAR_NEWS, "Lynda is a Scorpio, find news for her")
    assert done.code == 0, done.err
    assert done.out.strip()
    for expected in (
        "plan extract_person → read_horoscope → find_news → write_up",
        "✓ extract_person → StarPerson",
        "tokens · $0.0000",
        "· search_news(",
        "prompt to local",
        "response of local",
        "completed",
    ):
        assert expected in done.err


async def test_run_uses_the_server_that_the_environment_names() -> None:
    replies = ('{"name": "Lynda", "sign": "Leo"}', '{"items": [{"title": "Comet"}]}', "Ha ha, Lynda!")
    async with ChatServer(*(answers(completion(reply)) for reply in replies)) as server:
        env = {"OPENAI_BASE_URL": server.url, "TACTICIAN_MODEL": "openai:some-model"}
        done = await asyncio.to_thread(tactician, "run", STAR_NEWS, "Lynda is a Leo", env=env)
    assert (done.code, done.out) == (0, "Ha ha, Lynda!\n"), done.err
    assert [body["model"] for body in server.bodies] == ["some-model"] * 3


def test_an_agent_with_tools_runs_too(tmp_path: Path) -> None:
    file = written(
        tmp_path,
        "from tactician import Agent\n"
        "from tactician.testing import ScriptedModel, ToolCall\n"
        "def add(a: int, b: int) -> int:\n    return a + b\n"
        "model = ScriptedModel(ToolCall('add', a=3, b=4), 'It is 7.')\n"
        "helper = Agent('Helper', model=model, tools=[add])\n",
    )
    done = tactician("run", file, "What is 3 + 4?")
    assert (done.code, done.out) == (0, "It is 7.\n")
    assert "· add(" in done.err
    assert "→ 7" in done.err


GROUPS = """
from tactician import Ai, Platform, ToolGroup, UserInput, achieves_goal, action, planned_agent
from tactician.testing import ScriptedModel, ToolCall
from tactician.tools.group_registry import ToolGroups

def add(a: int, b: int) -> int:
    return a + b

@planned_agent(description="Adds")
class Adder:
    @achieves_goal("added")
    @action(tool_groups=["math"])
    async def add(self, user_input: UserInput, ai: Ai) -> str:
        model = ScriptedModel(ToolCall("add", a=3, b=4), "It is 7.")
        group = ai.context.services.find(ToolGroups)["math"]
        return await Ai.over(model).with_tool_group(group).generate_text("3 + 4?")

"""


@pytest.mark.parametrize(
    "how",
    [
        'math = ToolGroup("math", [add])',
        'platform = Platform(ScriptedModel(), tool_groups=[ToolGroup("math", [add])])',
        'math = ToolGroup("math", [add])\nplatform = Platform(ScriptedModel()).register(math, Adder())',
    ],
    ids=["in the module", "on a platform", "both"],
)
def test_the_tool_groups_of_a_file_are_there(tmp_path: Path, how: str) -> None:
    done = tactician("run", written(tmp_path, GROUPS + how), "What is 3 + 4?")
    assert (done.code, done.out) == (0, "It is 7.\n"), done.err


def test_plan_draws_actions_goals_and_plan() -> None:
    done = tactician("plan", STAR_NEWS)
    assert done.code == 0
    for expected in (
        "StarNewsFinder",
        "goal write_up",
        "1. extract_person  UserInput → StarPerson",
        "4. write_up  StarPerson, NewsStories, Horoscope → Writeup",
        "the plans start from UserInput",
    ):
        assert expected in done.out


SHOP = """
from pydantic import BaseModel
from tactician import UserInput, achieves_goal, action, planned_agent

class Cheap(BaseModel):
    text: str
class Dear(BaseModel):
    text: str
class Lost(BaseModel):
    text: str
class Thief(BaseModel):
    text: str

@planned_agent(description="Sells")
class Shop:
    @achieves_goal("sell something cheap", value=0.9)
    @action(cost=0.25)
    def sell(self, user_input: UserInput) -> Cheap: ...
    @achieves_goal("sell something dear", value=0.5)
    @action(cost=0.5)
    def offer(self, cheap: Cheap) -> Dear: ...
    @achieves_goal("find what was lost")
    @action
    def find(self, thief: Thief) -> Lost: ...
    @action
    def follow(self, lost: Lost) -> Thief: ...
"""


LED = """
from dataclasses import dataclass
from tactician import Planner, UserInput, achieves_goal, action, planned_agent

@dataclass
class Sold:
    text: str

@planned_agent(planner=Planner.SUPERVISOR, description="Sells")
class Shop:
    @action(cost=0.1, value=0.8)
    def greet(self, user_input: UserInput) -> None: ...
    @achieves_goal("sold")
    @action
    def sell(self, user_input: UserInput) -> Sold: ...
"""


def test_plan_describes_each_action_when_it_is_asked_to() -> None:
    done = tactician("plan", "-v", STAR_NEWS)
    assert "needs StarPerson, Horoscope" in done.out
    assert "gives NewsStories" in done.out
    assert "Looks up the horoscope" in done.out


def test_plan_of_nine_actions_is_one_screen(tmp_path: Path) -> None:
    more = "".join(f"    @action\n    def extra_{n}(self, user_input: UserInput) -> Dear: ...\n" for n in range(5))
    done = tactician("plan", written(tmp_path, SHOP + more))
    assert len(done.out.splitlines()) <= 24
    assert "extra_4  UserInput → Dear" in done.out
    assert "-v says why" in done.out


def test_plan_says_why_and_what_comes_next(tmp_path: Path) -> None:
    done = tactician("plan", "-v", written(tmp_path, SHOP))
    assert done.code == 0, done.err
    assert "1. sell  UserInput → Cheap  cost 0.25" in done.out
    assert "'offer' is not needed: a plan that runs it works without it." in done.out
    assert "chosen sell (net value 0.65); then offer (net value -0.25)" in done.out
    assert "No plan reaches 'find': " in done.out


def test_plan_of_an_agent_that_a_model_leads_shows_what_it_may_call(tmp_path: Path) -> None:
    done = tactician("plan", written(tmp_path, LED))
    assert done.code == 0, done.err
    assert "sell" in done.out
    assert "a model decides which actions lead to a goal" in done.out
    assert "supervise" not in done.out
    assert "not needed" not in done.out


def test_plan_of_an_agent_without_a_plan_says_what_is_worth_most(tmp_path: Path) -> None:
    done = tactician("plan", written(tmp_path, LED.replace("SUPERVISOR", "UTILITY")))
    assert done.code == 0, done.err
    assert "greet  UserInput → nothing  cost 0.1, value 0.8\n" in done.out
    assert "first greet (net value 0.7); then whatever is worth most" in done.out
    assert "nearest" not in done.out


def test_plan_does_not_explain_every_action_of_a_large_agent(tmp_path: Path) -> None:
    more = "".join(f"    @action\n    def extra_{n}(self, user_input: UserInput) -> Dear: ...\n" for n in range(30))
    done = tactician("plan", "-v", written(tmp_path, SHOP + more))
    assert "'extra_1' is not needed" in done.out
    assert "and 13 more" in done.out


def test_run_tells_it_in_the_voice_that_is_wanted(tmp_path: Path) -> None:
    done = tactician("run", written(tmp_path, GREETER), "Lynda", env={"TACTICIAN_PERSONALITY": "montypython"})
    assert (done.code, done.out) == (0, "Hello, Lynda!\n")
    assert "coconuts" in done.err


def test_plan_prints_a_mermaid_flowchart() -> None:
    done = tactician("plan", "--mermaid", STAR_NEWS)
    lines = done.out.splitlines()
    assert lines[0] == "flowchart LR"
    assert "    type_UserInput --> action_extract_person" in lines
    assert '    action_write_up[["write_up"]]' in lines


def test_agents_lists_what_a_file_has() -> None:
    done = tactician("agents", STAR_NEWS)
    assert done.code == 0
    assert "StarNewsFinder" in done.out
    assert "planned agent" in done.out
    assert "write_up" in done.out


def test_models_says_what_there_is_and_why_without_showing_a_key() -> None:
    instances = [{"id": "main", "url": "http://x", "key": "sk-secret", "models": "a,b", "provider": "openai"}]
    done = tactician("models", env={"LLM_INSTANCES": json.dumps(instances), "OPENAI_API_KEY": "sk-other"})
    assert done.code == 0
    assert "The default is a, because LLM_INSTANCES lists it." in done.out
    assert "openai:gpt-5.4" in done.out
    assert "sk-" not in done.out + done.err


def test_the_model_option_decides(tmp_path: Path) -> None:
    file = written(tmp_path, "from tactician import Agent\nhelper = Agent('Helper')\n")
    done = tactician("run", file, "hi", "--model", "openai:x")
    assert done.code == 2
    assert done.err == "error: openai:x: set OPENAI_API_KEY to your key for openai\n"


MISTAKES = {
    "a missing file": (None, "there is no such file"),
    "a file that is not Python": ("def x(:", "line 1: SyntaxError"),
    "a file that cannot be imported": ("import no_such_module", "line 1: ModuleNotFoundError: No module named"),
    "a file that raises": ("x = 1\nraise ValueError('broken')", "line 2: ValueError: broken"),
    "a file without an agent": ("x = 1", "it defines no agent. Add an agent at module level"),
    "several agents": (
        "from tactician import Agent\na = Agent('A')\nb = Agent('B')",
        "has several agents: A, B. Choose with --agent NAME.",
    ),
    "an unknown model": (
        "from tactician import Agent\na = Agent('A', model='no-such-model')",
        "Nothing serves the model 'no-such-model'.",
    ),
    "a missing key": ("from tactician import Agent\na = Agent('A', model='gpt-5.4')", "set OPENAI_API_KEY to your key"),
    "an unset role": (
        "from tactician import Agent\na = Agent('A', model='role:poet')",
        "No model has the role 'poet'.",
    ),
    "an unannotated parameter": (
        GREETER.replace("user_input: UserInput", "user_input"),
        "greet: parameter 'user_input' has no type; annotate it",
    ),
}
FAILURES = {
    "a goal that cannot be reached": (
        GREETER.replace("user_input: UserInput", "user_input: Greeting").replace("-> Greeting", "-> str"),
        "Greeter is stuck: No plan reaches 'greet': 'Greeting' is missing and no action provides it",
    ),
    "an action that raises": (GREETER.replace("return Greeting", "1 / 0; return Greeting"), "ZeroDivisionError"),
    "a model that gives garbage three times": (
        "from tactician import Agent\nfrom tactician.testing import ScriptedModel\n"
        "a = Agent('A', model=ScriptedModel('x', 'y', 'z'), output_type=int)",
        "A: no valid int in 3 attempts",
    ),
}


@pytest.mark.parametrize("mistake", [*MISTAKES, *FAILURES])
def test_a_mistake_is_one_clear_message_without_a_traceback(mistake: str, tmp_path: Path) -> None:
    source, expected = {**MISTAKES, **FAILURES}[mistake]
    file = written(tmp_path, source) if source is not None else str(tmp_path / "nowhere.py")
    done = tactician("run", file, "hi", cwd=tmp_path)
    assert done.code == (1 if mistake in FAILURES else 2)
    assert expected in done.err
    assert done.err.count("error:") == 1
    assert "Traceback" not in done.err
    assert not done.out


def test_a_search_that_is_too_large_is_a_message_too(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def give_up() -> None:
        raise SearchLimitExceeded(Goal("paid", {"paid": True}), 250_000, (), "expansions", PlanningBudget())

    monkeypatch.setattr("tactician.cli.commands.app", give_up)
    with pytest.raises(SystemExit, match="1"):
        main()
    assert "error: " in (told := capsys.readouterr().err)
    assert "paid" in told


def test_debug_shows_the_traceback(tmp_path: Path) -> None:
    done = tactician("run", "--debug", str(tmp_path / "nowhere.py"), "hi")
    assert done.code != 0
    assert "Traceback" in done.err
    assert "there is no such file" in done.err


def test_the_traceback_of_an_action_is_without_the_frames_of_the_command_line(tmp_path: Path) -> None:
    file = tmp_path / "shop.py"
    file.write_text(
        "from tactician import UserInput, achieves_goal, action, planned_agent\n"
        "@planned_agent(description='d')\nclass Shop:\n"
        "    @achieves_goal('g')\n    @action\n    def sell(self, user_input: UserInput) -> str:\n"
        "        return 1 / 0\n",
        encoding="utf-8",
    )
    done = tactician("run", "--debug", str(file), "hi")

    assert done.code == 1
    assert "return 1 / 0" in done.err
    assert f"sell raised ZeroDivisionError: division by zero ({file}:7)" in done.err
    assert all(name not in done.err for name in ("/cli/", "typer", "runpy", "__main__"))
    assert f"({file}:7)" in tactician("run", str(file), "hi").err


def test_a_broken_configuration_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "tactician.toml").write_text("[models]\ndefalt = 'x'\n", encoding="utf-8")
    done = tactician("models", cwd=tmp_path)
    assert done.code == 2
    assert "tactician.toml is wrong:" in done.err
    assert "line 2: models.defalt: there is no such field; did you mean 'default'?" in done.err
    (tmp_path / "tactician.toml").write_text("[models.router]\npolicy = 'stiky'\n", encoding="utf-8")
    assert "'least_loaded' or 'sticky'; did you mean 'sticky'?" in tactician("models", cwd=tmp_path).err


def test_a_blueprint_is_a_file_with_an_agent(tmp_path: Path) -> None:
    (tmp_path / "helper.yaml").write_text("type: agent\nname: Helper\nmodel: local\ninstructions: Help.\nmaxTurns: 3\n")
    assert "Helper" in tactician("agents", "helper.yaml", cwd=tmp_path).out
    (tmp_path / "helper.toml").touch()
    wrong = tactician("run", "helper.toml", "x", cwd=tmp_path)
    assert wrong.code == 2
    assert "helper.toml is neither a Python file nor a blueprint in .json, .yaml or .yml" in wrong.err


def test_plan_needs_a_planned_agent(tmp_path: Path) -> None:
    done = tactician("plan", written(tmp_path, "from tactician import Agent\na = Agent('A')\n"))
    assert done.code == 2
    assert "there is no planned agent in this file, only A." in done.err


def test_help_and_version() -> None:
    assert "run" in tactician("--help").out
    assert tactician("--version").out.startswith("tactician ")


LARGE = {
    "market_research": ("The cloud market: Amazon and Microsoft", "Amazon leads with 31 %"),
    "fact_checker": ("The Moon is made of cheese. Water boils at 100 degrees.", "The Moon is made of cheese"),
    "meal": ("Ann would like two omelettes, cooked by Bob, who is 44", "omelette"),
    "constellation": ("Please plan a picnic", "umbrellas"),
}


@pytest.mark.parametrize("name", LARGE)
def test_an_example_that_is_too_large_for_the_embedded_model_has_a_script(name: str) -> None:
    request, expected = LARGE[name]
    done = tactician("run", str(ROOT / "examples" / f"{name}.py"), request, "--scripted")
    assert done.code == 0, done.err
    assert expected in done.out
    assert "too small" not in done.err


def test_a_file_without_a_script_says_how_to_add_one() -> None:
    done = tactician("run", STAR_NEWS, "Lynda is a Scorpio", "--scripted")
    assert done.code == 2
    assert "has no script: define a function `script`" in done.err


ECHO_WITH_SCRIPT = """
from tactician import UserInput, achieves_goal, action, planned_agent
from tactician.testing import ScriptedModel

@planned_agent(description="Echoes")
class Echo:
    @achieves_goal("Echoed")
    @action
    def echo(self, text: UserInput) -> str:
        return text.content

def script() -> ScriptedModel:
    return ScriptedModel()
"""


def test_a_file_with_a_script_says_that_the_embedded_model_is_too_small(tmp_path: Path) -> None:
    file = written(tmp_path, ECHO_WITH_SCRIPT)
    embedded = tactician("run", file, "hello")
    assert "The embedded model is too small for" in embedded.err
    assert "Add --scripted" in embedded.err
    large = tactician("run", file, "hello", env={"OPENAI_API_KEY": "sk-1"})
    assert "too small" not in large.err


def test_a_file_with_a_script_says_that_no_model_is_set_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(EmbeddedModel, "is_installed", lambda: False)
    monkeypatch.setattr("tactician.llm.embedded.is_available", lambda: False)
    for name in [*os.environ]:
        if name.endswith("_API_KEY") or name.startswith("LLM_"):
            monkeypatch.delenv(name)
    monkeypatch.setattr("sys.argv", ["tactician", "run", written(tmp_path, ECHO_WITH_SCRIPT), "hello"])
    with suppress(SystemExit):
        main()
    done = capsys.readouterr()
    said = " ".join(done.err.split())
    assert done.out == "hello\n", "its agent asks no model"
    assert "No model is set up for" in said
    assert "--scripted" in said
    assert "too small" not in said


COVER = """
from tactician import achieves_goal, action, planned_agent


class Done: ...


def source(number):
    def gather(self) -> None: ...

    facts = sorted({f"fact{number * step % 12}" for step in (1, 5, 7)})
    return action(post=facts, cost=0.3 + number * 7 % 13 / 20)(gather)


class Cover:
    for number in range(30):
        locals()[f"source{number}"] = source(number)

    @achieves_goal("Covered")
    @action(pre=[f"fact{number}" for number in range(12)])
    def finish(self) -> Done:
        return Done()


cover = planned_agent(description="Gathers facts")(Cover)()
"""


def test_plan_shows_how_the_search_went(tmp_path: Path) -> None:
    picture = tmp_path / "search.svg"

    done = tactician("plan", written(tmp_path, COVER), "--search", "--picture", str(picture))

    assert "search for finish  optimal" in done.out
    assert "states" in done.out
    assert picture.read_text(encoding="utf-8").startswith("<svg")
    assert "least cost possible" in picture.read_text(encoding="utf-8")


def test_plan_says_when_no_search_was_needed() -> None:
    assert "no search was needed" in tactician("plan", STAR_NEWS, "--search").out


FUNCTION = """
from tactician import runnable

@runnable
def shout(text: str) -> str:
    return {}[text]
"""


def test_an_error_of_a_function_is_a_message_with_its_line(tmp_path: Path) -> None:
    file = written(tmp_path, FUNCTION)
    done = tactician("run", file, "boom")
    assert (done.code, done.out) == (1, "")
    assert done.err.endswith(f"error: KeyError: 'boom' ({file}:6). --debug shows the traceback.\n")
    assert "Traceback" not in done.err
    debugged = tactician("run", file, "boom", "--debug")
    assert debugged.code == 1
    assert debugged.err.rstrip().endswith("KeyError: 'boom'")
    assert "Traceback" in debugged.err


def test_ctrl_c_while_modules_are_imported_is_a_word(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("tactician.cli.app.main", interrupt)
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 130
    assert capsys.readouterr().err == "interrupted\n"
