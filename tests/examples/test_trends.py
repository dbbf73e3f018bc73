"""The example of tasks that improve their instructions: scripted runs, and a run on the embedded model."""

import pytest

from examples import trends
from tactician import InProcessReflections, Reflection, RunContext, RunStatus, Task
from tactician.testing import ScriptedModel


async def test_the_second_run_reads_what_the_first_one_has_left() -> None:
    model = ScriptedModel("1. Virtual threads", {"suggestions": ["Name a project for each trend."]}, "1. Loom", {})
    ensemble = trends.create_ensemble(Task(trends.DESCRIPTION, reflect=True), InProcessReflections(), model)
    first = await ensemble.run("cloud-native Java")
    second = await ensemble.run("cloud-native Java")
    assert (first.raw, second.raw) == ("1. Virtual threads", "1. Loom")
    assert "Task Improvement Notes" not in model.calls[0].prompt
    assert "- Name a project for each trend." in model.calls[2].prompt


async def test_a_rule_leaves_a_note_until_the_output_follows_it() -> None:
    model, store = ScriptedModel("Loom", "## Summary\nLoom", "## Summary\nLoom again"), InProcessReflections()
    task = Task(trends.DESCRIPTION, reflect=Reflection(max_reflections=5, strategy=trends.check_summary))
    for _ in range(3):
        await trends.create_ensemble(task, store, model).run("cloud-native Java")
    assert "## Summary" not in model.calls[0].prompt
    assert model.calls[1].prompt.count("- Always include a ## Summary section as the first heading") == 1
    assert len(await store.load(task.identity)) == 1


@pytest.mark.embedded
async def test_it_runs_on_the_embedded_model(capsys: pytest.CaptureFixture[str]) -> None:
    await trends.main()
    assert "Run 3: " in capsys.readouterr().out


@pytest.mark.embedded
async def test_the_embedded_model_reflects() -> None:
    task, store = Task(trends.DESCRIPTION, reflect=True), InProcessReflections()
    context = RunContext.current()
    result = await trends.create_ensemble(task, store).run("frogs", context=context)
    assert result.status is RunStatus.COMPLETED
    assert result.usage.requests >= 2
    assert all(reflection.notes or reflection.failure for reflection in await store.load(task.identity))
