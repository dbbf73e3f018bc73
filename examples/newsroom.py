"""A newsroom: two agents work at once, a third writes from what they found, and a function counts the words.

Run it with `tactician run examples/newsroom.py "frogs"`.
"""

from tactician import Agent, Ensemble, LlmOptions, Task
from tactician.ensemble import TaskInput

SHORT = LlmOptions(max_tokens=60)


def count_words(task: TaskInput) -> str:
    """Return the article with its number of words."""
    (article,) = task.context_outputs
    return f"{article.raw}\n\n({len(article.raw.split())} words)"


research = Task(
    "Research facts about {input}",
    expected_output="Two short facts",
    agent=Agent(role="Researcher", goal="Find facts that can be checked", background="Ten years in libraries."),
)
quotes = Task("Collect what people say about {input}", expected_output="One short quote", role="Reporter")
article = Task("Write an article", expected_output="Two sentences", context=[research, quotes])
count = Task("Count the words", context=[article], handler=count_words)

agent = Ensemble("Newsroom", [research, quotes, article, count], model=SHORT, description="Writes short articles")
