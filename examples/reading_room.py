"""A reading room: each letter is read on its own, the summaries are combined, and a reply is revised until it is short.

Run it with `tactician run examples/reading_room.py "the owner of a mill"`.
"""

from tactician import END, Edge, Ensemble, Graph, LlmOptions, Loop, MapReduce, Task
from tactician.ensemble import TaskInput, TaskOutputs

SHORT = LlmOptions(max_tokens=40)
LETTERS = [
    "The mill is loud at night, and the children cannot sleep.",
    "The bread of the mill is the best in the valley.",
    "The wheel of the mill stops when the river is low.",
]
MOST_WORDS = 12


def is_short(outputs: TaskOutputs) -> bool:
    """Return whether the reply is short enough."""
    return len(outputs["reply"].raw.split()) <= MOST_WORDS


def is_ready(outputs: TaskOutputs) -> bool:
    """Return whether the reply can be sent."""
    return len(outputs.last.raw.split()) <= MOST_WORDS


def count_words(task: TaskInput) -> str:
    """Tell the writer how long the reply is."""
    (reply,) = task.context_outputs
    return f"The reply has {len(reply.raw.split())} words; it may have {MOST_WORDS}."


def read_reply(task: TaskInput) -> str:
    """Return the reply as it is."""
    return task.context_outputs[0].raw


def shorten(task: TaskInput) -> str:
    """Return the first words of the reply."""
    return " ".join(task.context_outputs[0].raw.split()[:MOST_WORDS])


read = MapReduce(
    LETTERS,
    map=lambda letter: Task(f"Sum up this letter in five words: {letter}", role="Reader"),
    reduce=lambda summaries: Task(f"Sum up these {len(summaries)} letters in one sentence", role="Reader"),
    chunk_size=2,
    id="letters",
)
reply = Task("Write one sentence in reply, as {input}", id="reply", role="Writer")
count = Task("Count the words", id="count", handler=count_words)
revise = Loop([reply, count], until=is_short, max_iterations=2, id="revise", context=[read])
send = Graph(
    {
        "check": Task("Read it", id="checked", context=[revise], handler=read_reply),
        "shorten": Task("Shorten the reply", id="shortened", handler=shorten),
    },
    start="check",
    edges=[Edge("check", END, when=is_ready), Edge("check", "shorten"), Edge("shorten", END)],
    id="send",
)
agent = Ensemble("Reading room", [read, revise, send], model=SHORT, description="Answers letters")
