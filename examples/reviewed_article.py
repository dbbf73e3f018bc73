"""An article that an editor reviews: approve, edit, send back with feedback, or stop.

In a terminal:  python -m examples.reviewed_article "frogs"
On a server, leave out the reviewer: the run waits until `platform.respond` brings the decision.
"""

import sys

from tactician import Ensemble, Review, ReviewPolicy, Task
from tactician.ensemble import ConsoleReviewer, TaskInput


def publish(task: TaskInput) -> str:
    """Return what is printed."""
    return f"PRINTED\n\n{task.context_outputs[-1].raw}"


outline = Task("Outline an article about {input} in three points", expected_output="Three points", review=Review.skip())
article = Task(
    "Write an article of three sentences",
    context=[outline],
    review=Review.after("Shall this article be printed?", timeout=3600, on_timeout="exit_early"),
)
printing = Task("Print the article", context=[article], handler=publish, review=Review.skip())

agent = Ensemble("Reviewed article", [outline, article, printing], review_policy=ReviewPolicy.AFTER_EVERY_TASK)

if __name__ == "__main__":
    agent.reviewer = ConsoleReviewer(name="the person at the terminal")
    result = agent.run_sync(" ".join(sys.argv[1:]) or "frogs")
    print(result.raw, f"({result.exit_reason})", sep="\n\n")
