"""Memory scopes of tasks: what they read, what they write, and when."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from datetime import timedelta

import pytest

from tactician import (
    Ensemble,
    InProcessMemory,
    InProcessReflections,
    Platform,
    Reflection,
    RunStatus,
    Scope,
    Task,
    Workflow,
    days,
)
from tactician.ensemble import EnsembleDefinitionError, ReflectionInput, ScopeEntry, TaskFailedError, TaskInput
from tactician.ensemble.learning.reflection import ReflectionStrategy
from tactician.ensemble.learning.scoped_memory import ScopedMemory
from tactician.errors import ModelError, StoreError
from tactician.guardrails import failed
from tactician.llm import ModelRequest, ModelResponse
from tactician.platform import Worker
from tactician.runs import RunContext
from tactician.stores import MemoryStore
from tactician.stores.document import Lease, StoredDocument
from tactician.testing import FakeClock, ScriptedModel
from tests.ensemble.learning.support import TopicEmbeddings, now, over
from tests.ensemble.support import places_of, prompt_of
from tests.support.stored import JsonStore, load_record

POINTS = range(0, 130, 2)
SCOPES = {"project": Scope(keep_last=50), "week": Scope(keep_within=days(7))}


def remembering(*scopes: str) -> Task:
    """A task with scopes, for an agent."""
    return Task("Report on {topic}", memory=scopes)


async def texts(memory: ScopedMemory, scope: str = "project") -> list[str]:
    return [entry.content for entry in await memory.entries(scope)]


class TestReading:
    async def test_later_runs_read_what_earlier_ones_wrote_newest_first(self) -> None:
        memory, model, clock = InProcessMemory(SCOPES), ScriptedModel("About frogs.", "About newts.", "3"), FakeClock()
        ensemble = Ensemble("E", [remembering("project")], model=model, memory=memory)
        for topic in ("frogs", "newts", "toads"):
            await ensemble.run({"topic": topic}, context=RunContext.over(model, clock=clock))
            clock.advance(60)
        assert "## Memory" not in prompt_of(model, 0)
        assert prompt_of(model, 2) == (
            "## Memory: project\n\n"
            "### Report on {topic} (2023-11-14 22:31)\n\nAbout newts.\n\n---\n\n"
            "### Report on {topic} (2023-11-14 22:30)\n\nAbout frogs.\n\n"
            "## Task\n\nReport on toads"
        )

    async def test_each_scope_has_a_section_before_the_context(self) -> None:
        memory, model = InProcessMemory(SCOPES), ScriptedModel("1", "2")
        await memory.add("project", "of the project")
        await memory.add("week", "of the week")
        first, second = Task("First"), Task("Second", memory=["week", "project"])
        await Ensemble("E", [first, second], model=model, memory=memory).run()
        prompt = prompt_of(model, 1)
        headings = [line for line in prompt.splitlines() if line.startswith("## ")]
        assert headings == ["## Memory: week", "## Memory: project", "## Context from Previous Tasks", "## Task"]
        assert "of the" not in prompt_of(model, 0), "a task reads the scopes that it names"

    async def test_five_entries_are_read(self) -> None:
        memory, model = InProcessMemory(SCOPES), ScriptedModel("done")
        for number in range(7):
            await memory.add("project", f"text {number}")
        await Ensemble("E", [remembering("project")], model=model, memory=memory).run({"topic": "frogs"})
        assert [n for n in range(7) if f"text {n}" in prompt_of(model)] == [2, 3, 4, 5, 6]

    async def test_with_an_embedder_the_closest_in_meaning_are_read(self) -> None:
        memory, model = InProcessMemory(SCOPES, embedder=TopicEmbeddings()), ScriptedModel("done")
        await memory.add("project", "frog")
        for _ in range(6):
            await memory.add("project", "tax")
        await Ensemble("E", [remembering("project")], model=model, memory=memory).run({"topic": "frogs"})
        assert prompt_of(model).index("frog") < prompt_of(model).index("tax")

    async def test_a_handler_gets_the_entries(self) -> None:
        memory = InProcessMemory(SCOPES)
        await memory.add("project", "note")
        seen: list[TaskInput] = []
        await Ensemble("E", [Task("T", handler=seen.append, memory=["project"])], memory=memory).run()
        assert [entry.content for entry in seen[0].memory["project"]] == ["note"]

    async def test_entries_that_are_too_old_are_not_read(self) -> None:
        memory, model, clock = InProcessMemory(SCOPES), ScriptedModel("1", "2"), FakeClock()
        ensemble = Ensemble("E", [remembering("week")], model=model, memory=memory)
        await ensemble.run({"topic": "frogs"}, context=RunContext.over(model, clock=clock))
        clock.advance(timedelta(days=8).total_seconds())
        await ensemble.run({"topic": "newts"}, context=RunContext.over(model, clock=clock))
        assert "## Memory" not in prompt_of(model, 1)
        assert await texts(memory, "week") == ["2"]


class TestWriting:
    async def test_an_entry_says_which_task_and_run_wrote_it_and_when(self) -> None:
        memory, clock = InProcessMemory(SCOPES), FakeClock()
        task = Task("Report", id="report", role="Reporter", memory=["project", "week"])
        ensemble = Ensemble("E", [task], model=ScriptedModel("News."), memory=memory)
        result = await ensemble.run(context=over(clock=clock))
        for scope in ("project", "week"):
            (entry,) = await memory.entries(scope)
            assert entry == ScopeEntry("News.", now(clock), "report", "Reporter", result.run_id, entry.id)

    async def test_an_output_that_is_not_accepted_is_not_written(self) -> None:
        memory = InProcessMemory(SCOPES)
        task = Task("T", handler=lambda _: "bad", output_guardrails=[lambda _: failed("bad")], memory=["project"])
        with pytest.raises(TaskFailedError):
            await Ensemble("E", [task], memory=memory).run()
        assert await texts(memory) == []

    async def test_the_memory_is_written_before_the_reflection(self) -> None:
        memory = InProcessMemory(SCOPES)
        seen: list[list[str]] = []

        async def look(input: ReflectionInput) -> None:
            seen.append(await texts(memory))

        task = Task("T", handler=lambda _: "done", memory=["project"], reflect=Reflection(strategy=look))
        await Ensemble("E", [task], memory=memory, reflections=InProcessReflections()).run()
        assert seen == [["done"]]

    async def test_tasks_of_one_run_read_what_those_before_wrote(self) -> None:
        memory, model = InProcessMemory(SCOPES), ScriptedModel("one", "two")
        tasks = [Task("A", memory=["project"]), Task("B", context=[], memory=["project"])]
        await Ensemble("E", tasks, model=model, memory=memory, workflow=None).run()
        assert "one" in prompt_of(model, 1)
        assert await texts(memory) == ["two", "one"]

    async def test_runs_at_the_same_time_lose_nothing(self) -> None:
        memory = InProcessMemory(SCOPES)
        task = Task("T", handler=lambda t: t.values["n"], memory=["project"])
        ensemble = Ensemble("E", [task], memory=memory)
        await asyncio.gather(*(ensemble.run({"n": str(n)}) for n in range(30)))
        assert sorted(await texts(memory), key=int) == [str(n) for n in range(30)]


class TestHierarchy:
    def build(self, memory: ScopedMemory, model: ScriptedModel, strategy: ReflectionStrategy) -> Ensemble:
        """A manager who answers alone."""
        tasks = [
            Task("Research", memory=["project"], handler=lambda _: "found"),
            Task("Report", id="report", memory=["week"], reflect=Reflection(strategy=strategy)),
        ]
        return Ensemble(
            "E", tasks, model=model, workflow=Workflow.HIERARCHICAL, memory=memory, reflections=InProcessReflections()
        )

    async def test_the_manager_reads_what_the_tasks_would_and_its_answer_is_kept_for_the_last_one(self) -> None:
        memory, model = InProcessMemory(SCOPES), ScriptedModel("first", "second")
        await memory.add("project", "of the project")
        seen: list[ReflectionInput] = []

        def strategy(review: ReflectionInput) -> str:
            seen.append(review)
            return "Be short."

        ensemble = self.build(memory, model, strategy)
        await ensemble.run()
        await ensemble.run()
        assert prompt_of(model, 0).startswith("## Memory: project\n\n### Note")
        headings = [line for line in prompt_of(model, 1).splitlines() if line.startswith("## ")]
        notes = "## Task Improvement Notes (from prior executions)"
        assert headings == ["## Memory: project", "## Memory: week", notes, "## Tasks"]
        assert "- Be short." in prompt_of(model, 1)
        assert (await texts(memory), await texts(memory, "week")) == (["of the project"], ["second", "first"])
        assert [(one.task_id, one.output) for one in seen] == [("report", "first"), ("report", "second")]

    async def test_a_manager_that_fails_leaves_nothing(self) -> None:
        memory = InProcessMemory(SCOPES)
        ensemble = self.build(memory, ScriptedModel(ModelError("down")), lambda _: "note")
        with pytest.raises(TaskFailedError):
            await ensemble.run()
        assert await texts(memory, "week") == []

    async def test_reflection_on_a_task_without_an_output_of_its_own_is_a_mistake(self) -> None:
        tasks = [Task("A", reflect=True, handler=str), Task("B", reflect=True)]
        ensemble = Ensemble(
            "E", tasks, model=ScriptedModel(), workflow=Workflow.HIERARCHICAL, reflections=InProcessReflections()
        )
        with pytest.raises(EnsembleDefinitionError, match="only the last task has an output") as caught:
            await ensemble.check()
        assert places_of(caught.value.problems) == ["tasks[0].reflect"]


class TestMistakes:
    async def test_a_scope_that_is_not_declared_is_a_mistake_with_its_place_and_a_hint(self) -> None:
        tasks = [Task("A", memory=["project", "weak"]), Task("B", memory=["project"])]
        with pytest.raises(EnsembleDefinitionError) as caught:
            await Ensemble("E", tasks, model=ScriptedModel(), memory=InProcessMemory(SCOPES)).check()
        assert places_of(caught.value.problems) == ["tasks[0].memory[1]"]
        assert "'weak' is not declared (declared: 'project', 'week')" in str(caught.value)
        assert "Did you mean 'week'?" in str(caught.value)

    async def test_a_scope_without_a_memory_is_a_mistake(self) -> None:
        with pytest.raises(EnsembleDefinitionError, match=r"is not declared \(declared: none\)"):
            await Ensemble("E", [remembering("project")], model=ScriptedModel()).check({"topic": "x"})

    def test_wrong_settings_are_mistakes(self) -> None:
        with pytest.raises(EnsembleDefinitionError, match=r"it is a list of scopes: write memory=\('project',\)"):
            Task("T", memory="project")
        with pytest.raises(EnsembleDefinitionError, match="names a scope twice"):
            Task("T", memory=["a", "a"])
        with pytest.raises(EnsembleDefinitionError, match="is not a memory, such as SqlMemory"):
            Ensemble("E", [Task("T")], memory=InProcessReflections())  # type: ignore[arg-type]


class Down(MemoryStore):
    """A store that answers when it is told to."""

    is_down = True

    async def find(self, *args: object, **settings: object) -> list:  # type: ignore[type-arg]
        if self.is_down:
            raise StoreError("the database is down")
        return await super().find(*args, **settings)  # type: ignore[arg-type]


class SlowStore(MemoryStore):
    """A store whose writer may die once it has written."""

    async def save(self, document: StoredDocument, lease: Lease | None = None) -> StoredDocument:
        saved = await super().save(document, lease)
        for _ in range(4):
            await asyncio.sleep(0)
        return saved


class SlowModel(ScriptedModel):
    """A model whose caller may die while it waits for the answer."""

    async def generate(self, request: ModelRequest) -> ModelResponse:
        response = await super().generate(request)
        for _ in range(8):
            await asyncio.sleep(0)
        return response


class Site:
    """An ensemble of which a worker may die, with what lasts longer than the worker."""

    def __init__(self) -> None:
        self.runs = JsonStore()
        self.documents = SlowStore()
        self.reflections = InProcessReflections()
        self.memory = ScopedMemory(self.documents, SCOPES)
        self.reflected: list[str] = []
        self.models: list[ScriptedModel] = []

    def platform(self) -> Platform:
        """A platform of another worker."""
        model = SlowModel()
        model.when(prompt_contains="Report on frogs").reply("About frogs.")
        self.models.append(model)

        async def strategy(input: ReflectionInput) -> str:
            await asyncio.sleep(0)
            self.reflected.append(input.output)
            return "Be short."

        async def finish(task: TaskInput) -> str:
            await asyncio.sleep(0)
            return ", ".join(entry.content for entry in task.memory["project"])

        reflection = Reflection(strategy=strategy)
        tasks = [
            Task("Report on frogs", id="report", memory=["project", "week"], reflect=reflection),
            Task("Finish", id="finish", handler=finish, memory=["project"]),
        ]
        ensemble = Ensemble("E", tasks, memory=self.memory, reflections=self.reflections)
        return Platform(models=model, store=self.runs).register(ensemble)

    async def interrupt(self, steps: int) -> str:
        """Begin a run, interrupt its worker after some steps of the event loop, and return the id of the run."""
        platform = self.platform()
        run_id = await platform.enqueue("E", {})
        working = asyncio.create_task(Worker(platform).run_once())
        for _ in range(steps):
            await asyncio.sleep(0)
        working.cancel()
        with suppress(asyncio.CancelledError):
            await working
        return run_id


class TestDurability:
    @pytest.mark.parametrize("steps", POINTS)
    async def test_a_run_that_is_interrupted_anywhere_writes_nothing_twice(self, steps: int) -> None:
        site = Site()
        run_id = await site.interrupt(steps)
        await Worker(site.platform()).run_once()
        record = await load_record(site.runs, run_id)
        assert (record.status, record.header.output) == (RunStatus.COMPLETED, "About frogs.")
        assert await texts(site.memory) == ["About frogs.", "About frogs."], "one of each task"
        assert await texts(site.memory, "week") == ["About frogs."]
        assert [one.suggestions for one in await site.reflections.load("report")] == [("Be short.",)]

    @pytest.mark.parametrize("steps", POINTS)
    async def test_a_run_that_continues_reads_no_later_entries_than_it_first_saw(self, steps: int) -> None:
        site = Site()
        await site.memory.add("project", "early")
        await site.interrupt(steps)
        asked = [prompt_of(model) for model in site.models if model.calls]
        await site.memory.add("project", "late")
        await Worker(site.platform()).run_once()
        prompts = [prompt_of(model) for model in site.models if model.calls]
        assert all("early" in prompt for prompt in prompts)
        if asked:
            assert not any("late" in prompt for prompt in prompts), "what it was first asked with counts"

    async def test_a_memory_that_does_not_answer_interrupts_the_run_which_is_resumed(self) -> None:
        documents = Down()
        memory = ScopedMemory(documents, SCOPES)
        task = Task("T", handler=lambda _: "done", memory=["project"])
        ensemble, runs = Ensemble("E", [task], memory=memory), JsonStore()
        platform = Platform(models=ScriptedModel(), store=runs).register(ensemble)
        run_id = await platform.enqueue("E", {})
        with suppress(StoreError):
            await Worker(platform).run_once()
        assert (await load_record(runs, run_id)).status is not RunStatus.COMPLETED
        documents.is_down = False
        await Worker(platform).run_once()
        assert (await load_record(runs, run_id)).status is RunStatus.COMPLETED
        assert await texts(memory) == ["done"]
