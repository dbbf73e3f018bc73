"""`None` as a value of a template and as the output of a task: nothing, and not the word "done"."""

from __future__ import annotations

from tactician import Agent, Ensemble, MapReduce, Task
from tactician.testing import ScriptedModel


async def test_none_in_a_template_is_written_as_python_writes_it() -> None:
    model = ScriptedModel("a report")
    await Ensemble("E", [Task("Report on {topic}", model=model)], model=model).run({"topic": None})
    assert "Report on None" in model.calls[0].prompt


async def test_none_as_an_item_is_written_as_python_writes_it() -> None:
    model = ScriptedModel("mapped", "reduced")
    writer = Agent("Writer", model=model)
    group = MapReduce([None], map=Task("Look at {item}", agent=writer), reduce=lambda outputs: Task("R", agent=writer))
    await Ensemble("E", [group]).run({})
    assert "Look at None" in model.calls[0].prompt


async def test_a_handler_that_returns_nothing_has_no_output() -> None:
    seen: list[str] = []
    tasks = [
        Task("Do", handler=lambda task: None),
        Task("See", handler=lambda task: seen.append(str(task.context_outputs[0].raw))),
    ]
    result = await Ensemble("E", tasks).run({})
    assert seen == [""]
    assert [(output.raw, output.parsed) for output in result.task_outputs] == [("", None), ("", None)]
    assert result.output is None or result.output == ""
