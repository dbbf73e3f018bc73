"""Research that improves its own instructions: each run leaves notes that later runs read.

Run it with `tactician run examples/trends.py "frogs"`, which reflects by the model and leaves its notes in the program.
`python -m examples.trends` runs it three times with a rule in place of the model's reflection.
"""

import asyncio

from tactician import Ensemble, InProcessReflections, LlmOptions, Reflection, Task
from tactician.ensemble import ReflectionInput, ReflectionStore
from tactician.llm import ModelLike

SHORT = LlmOptions(max_tokens=120)
DESCRIPTION = "Research the top 5 trends in {input}"


def check_summary(review: ReflectionInput) -> str | None:
    """Return what the output lacks, or nothing."""
    if "## Summary" not in review.output:
        return "Always include a ## Summary section as the first heading"
    return None


def create_ensemble(task: Task, reflections: ReflectionStore, model: ModelLike = SHORT) -> Ensemble:
    """Return an ensemble that learns from its runs."""
    return Ensemble("Trends", [task], model=model, reflections=reflections, description="Researches trends")


agent = create_ensemble(Task(DESCRIPTION, reflect=True), InProcessReflections())


async def main() -> None:
    """Run the same task three times with one store."""
    task = Task(DESCRIPTION, reflect=Reflection(max_reflections=5, strategy=check_summary))
    store = InProcessReflections()
    for number in (1, 2, 3):
        result = await create_ensemble(task, store).run("cloud-native Java")
        notes = [note for reflection in await store.load(task.identity) for note in reflection.notes]
        print(f"Run {number}: {result.raw!r}\nNotes for the next one: {notes}")


if __name__ == "__main__":
    asyncio.run(main())
