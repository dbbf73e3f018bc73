"""A quarterly report in three phases, each good enough before the next one begins.

A reviewer sends the analysis back, or asks for better figures first; a function makes sure that both quarters are in
the report. The embedded model is too small to judge; run it with `tactician run examples/quarterly_report.py "Acme"
--scripted`, and a script plays a larger one.
"""

from tactician import Ensemble, Phase, PhaseReview, Task
from tactician.ensemble import TaskInput
from tactician.testing import ScriptedModel

QUARTERS = ("Q3", "Q4")


def check_report(task: TaskInput) -> str:
    """Decide whether the report has all it needs."""
    (report,) = task.context_outputs
    missing = [quarter for quarter in QUARTERS if quarter not in report.raw]
    return f"RETRY: the report must include data of {' and '.join(missing)}" if missing else "APPROVE"


ingest = Task("Collect the figures of {input} for the last two quarters")
analyse = Task("Analyse the figures", expected_output="What changed, and why")
draft = Task("Draft a summary report", context=[ingest, analyse], expected_output="Two sentences")

ingestion = Phase("ingestion", [ingest])
analysis = Phase(
    "analysis",
    [analyse],
    after=[ingestion],
    review=PhaseReview(
        Task(
            "Review the analysis. If the figures are incomplete or wrong, retry the predecessor, and say what to fix. "
            "If the analysis itself is the problem, retry it.",
            role="Quality reviewer for financial reports",
        )
    ),
)
reporting = Phase("reporting", [draft], after=[analysis], review=PhaseReview(check_report, max_retries=3))

agent = Ensemble("Reports", phases=[ingestion, analysis, reporting], description="Reports on the quarters of a company")


def script() -> ScriptedModel:
    """Return what a larger model says."""
    return ScriptedModel(
        "Q3: 4.1 million.",
        "Revenue was 4.1 million in Q3.",
        "RETRY_PREDECESSOR: the figures of Q4 are missing",
        "Q3: 4.1 million. Q4: 4.6 million.",
        "Revenue grew by 12 % from Q3 to Q4, since prices rose.",
        "APPROVE",
        "Revenue grew by 12 %. Prices rose.",
        "Revenue grew by 12 % from Q3 to Q4. Prices rose.",
    )
