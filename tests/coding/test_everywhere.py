"""A coding agent wherever an agent can go: phases, planned agents, the mesh, HTTP, and tools of other agents."""

from pathlib import Path

import pytest

from tactician import Agent, Ensemble, MemoryStore, Phase, Platform, UserInput, achieves_goal, action, planned_agent
from tactician.coding import CodingAgent, CodingOutput, CodingTask, CommandPolicy, Workspace
from tactician.mesh import Mesh, Node
from tactician.testing import ScriptedModel, ToolCall
from tests.coding.support import create_repository, run_git
from tests.serve.api.serving import find, served, start

FIX = ToolCall("edit_file", path="shop.py", old_text="prices[1:]", new_text="prices")
FIXED = "def total(prices):\n    return sum(prices)\n"


def create_agent(folder: Path, *replies: object, name: str = "Coder", kind: str = "in_place") -> CodingAgent:
    workspace = Workspace.read_only(folder) if kind == "read_only" else Workspace.in_place(folder)
    return CodingAgent(name, model=ScriptedModel(*replies), workspace=workspace, commands=CommandPolicy(mode="never"))


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    return create_repository(tmp_path / "broken", {"shop.py": FIXED.replace("sum(prices)", "sum(prices[1:])")})


async def test_phases_plan_implement_and_review_by_a_second_agent(broken: Path) -> None:
    coder = create_agent(broken, "Remove the slice.", FIX, "Removed it.")
    reviewer = create_agent(
        broken, ToolCall("read_file", path="shop.py"), "No findings.", name="Reviewer", kind="read_only"
    )
    plan = Phase("plan", tasks=[CodingTask.review("Why is the total too low?", agent=coder)])
    work = Phase("implement", tasks=[CodingTask.fix("The total is too low", agent=coder)], after=[plan])
    review = Phase("review", tasks=[CodingTask.review("The change", agent=reviewer)], after=[work])
    result = await Ensemble("Shop", phases=[plan, work, review]).run()
    assert [output.role for output in result.task_outputs] == ["Coder", "Coder", "Reviewer"]
    assert "No findings." in result.raw
    assert run_git(broken, "diff", "--stat").startswith("shop.py")


async def test_an_action_of_a_planned_agent_has_a_coding_agent(broken: Path) -> None:
    coder = create_agent(broken, FIX, "Removed it.")

    @planned_agent
    class Maintainer:
        """Mends what users report."""

        @achieves_goal("The report is mended")
        @action
        async def mend(self, report: UserInput) -> CodingOutput:
            return (await coder.run(CodingTask.fix(report.content))).output

    result = await Platform().run(Maintainer(), "The total is too low")
    assert isinstance(result.output, CodingOutput)
    assert [file.path for file in result.output.files] == ["shop.py"]


async def test_a_node_offers_a_coding_agent_to_other_programs(broken: Path) -> None:
    async with Mesh("memory://workshop") as mesh:
        node = Node("workshop", Platform(store=MemoryStore()), mesh)
        node.offer(create_agent(broken, FIX, "Removed it."), name="fix-bug")
        async with node:
            result = await mesh.task("fix-bug").run("The total is too low")
    assert "Removed it." in str(result.output)
    assert "shop.py" in str(result.output)


async def test_a_coding_agent_is_a_tool_and_is_served_over_http(broken: Path) -> None:
    model = ScriptedModel(ToolCall("coder", request="Mend it"), "Mended.")
    lead = Agent("Lead", model=model, tools=[create_agent(broken, FIX, "Done.")])
    result = await lead.run("The total is too low")
    assert result.output == "Mended.", result.messages
    assert (broken / "shop.py").read_text() == FIXED
    platform = Platform(store=MemoryStore())
    platform.register(create_agent(broken, "It is fine."))
    async with served(platform) as client:
        run_id = await start(client, "coder", "Is it mended?")
        run = await find(client, run_id, "completed")
        assert run["result"]["summary"] == "It is fine."
