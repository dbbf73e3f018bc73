"""Processes in a store, from the command line: what waits is listed, shown, answered, resumed and killed."""

import json
import re
import sqlite3
from pathlib import Path

import pytest

from tactician.cli import listing
from tactician.cli.console import SafeConsole
from tests.cli.support import Done, tactician, written

WRITER = """
import os
from typing import Literal
from pydantic import BaseModel, Field
from tactician import UserInput, achieves_goal, action, planned_agent
from tactician.process import OperationContext, ask_human, confirm

class Draft(BaseModel):
    text: str

class Feedback(BaseModel):
    mood: Literal["good", "bad"]
    stars: int = Field(ge=1, le=5, description="from 1 to 5")

class Printed(BaseModel):
    text: str

@planned_agent(description="Writes, and asks")
class Writer:
    @action(post=["drafted"])
    def draft(self, topic: UserInput, context: OperationContext) -> Draft:
        context.blackboard["subject"] = topic
        return Draft(text=f"about {topic.content}")

    @action
    async def review(self, draft: Draft) -> Feedback:
        return await ask_human(Feedback, f"How is {draft.text!r}?")

    @achieves_goal("printed")
    @action
    async def publish(self, draft: Draft, feedback: Feedback) -> Printed:
        if os.environ.get("BROKEN"):
            raise ValueError("no ink")
        if not await confirm(None, "Print it?"):
            raise ValueError("nobody wants it")
        return Printed(text=f"{draft.text}: {feedback.stars} stars")
"""
POET = """
from datetime import timedelta
from pydantic import BaseModel
from tactician import Agent, UserInput, achieves_goal, action, planned_agent
from tactician.process import OperationContext, ask_human
from tactician.testing import ScriptedModel

class Poem(BaseModel):
    text: str

class Praised(BaseModel):
    text: str

@planned_agent(description="Writes a poem")
class Poet:
    @action
    async def write(self, topic: UserInput, context: OperationContext) -> Poem:
        poet = Agent("Poet", model=ScriptedModel("Roses are red"))
        return Poem(text=(await poet.run(topic.content, context=context.run)).output)

    @achieves_goal("praised")
    @action
    async def ask(self, poem: Poem) -> Praised:
        day = timedelta(days=1)
        return Praised(text=await ask_human(str, "What do you say?", deadline=day, default="no comment"))
"""
PAYER = '''
from tactician import Agent, tool
from tactician.testing import ScriptedModel, ToolCall

@tool(needs_approval=True)
def pay(amount: int) -> str:
    """Pays."""
    return f"paid {amount}"

model = ScriptedModel()
model.when(prompt_contains="paid 3").reply("It is paid.")
model.when(prompt_contains="rejected: too much").reply("Then not.")
model.when(prompt_contains="the bill").reply(ToolCall("pay", amount=3))
payer = Agent("Payer", model=model, tools=[pay])
'''
OFFICE = """
from dataclasses import dataclass
from tactician import UserInput, achieves_goal, action, ask_human, planned_agent

@dataclass
class Word:
    text: str

@planned_agent(description="Asks an editor")
class Asker:
    @achieves_goal("asked")
    @action
    async def ask(self, text: UserInput) -> Word:
        return Word(await ask_human(str, "Is this good?", required_role="chief editor"))
"""
GOOD = '{"mood": "good", "stars": 4}'


class Desk:
    """A file with an agent, and a store."""

    def __init__(self, folder: Path, source: str) -> None:
        self.folder, self.file = folder, Path(written(folder, source)).name

    def __call__(self, *arguments: str, **env: str) -> Done:
        return tactician(*arguments, env={"TACTICIAN_STORE": "runs.db", **env}, cwd=self.folder)

    def waiting(self, input: str = "frogs") -> str:
        """The id of a process that waits."""
        done = self("run", self.file, input)
        assert done.code == 3, done.err
        return str(self.listed()[0]["id"])

    def listed(self, *options: str) -> list[dict[str, object]]:
        listed: list[dict[str, object]] = json.loads(self("ps", "--json", *options).out)
        return listed


@pytest.fixture
def writer(tmp_path: Path) -> Desk:
    return Desk(tmp_path, WRITER)


@pytest.fixture
def payer(tmp_path: Path) -> Desk:
    return Desk(tmp_path, PAYER)


def test_a_long_list_is_cut_and_filtered_by_status(writer: Desk) -> None:
    writer.waiting()
    writer.waiting("toads")
    newest = str(writer.listed()[-1]["id"])
    done = writer("ps", "--limit", "1")
    assert newest in done.out
    assert done.out.count("waiting") == 1
    assert len(writer("ps").out.splitlines()) == 6  # a line for each of two runs, and four of the frame
    assert "Shown: 1 run. There are more: `--limit` and `--status` choose others." in done.err
    assert [row["id"] for row in writer.listed("--limit", "1")] == [newest]
    assert writer("ps", "--limit", "2").err == ""
    assert len(writer.listed("--status", "waiting")) == 2
    assert writer("ps", "--status", "stuck", "--status", "failed").out == "No runs with the status stuck or failed.\n"


@pytest.mark.parametrize("columns", [80, 100, 120])
def test_ids_statuses_and_times_of_a_long_list_are_never_cut(
    writer: Desk, columns: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = writer.waiting("frogs " * 100)
    monkeypatch.setattr(listing, "out", SafeConsole(width=columns))
    listing.ps(store=str(writer.folder / "runs.db"))
    table = capsys.readouterr().out
    assert re.search(rf"{run} .* Writer .* waiting .* \d\d:\d\d:\d\d ", table)
    assert max(map(len, table.splitlines())) <= columns


@pytest.mark.parametrize("columns", [16, 20, 30, 35, 36, 40, 59, 60, 71, 72])
def test_ids_can_be_copied_from_a_narrow_terminal(
    writer: Desk, columns: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = writer.waiting("frogs " * 100)
    monkeypatch.setattr(listing, "out", SafeConsole(width=columns))
    listing.ps(store=str(writer.folder / "runs.db"))
    table = capsys.readouterr().out
    assert run in table
    assert ("waiting" in table) == (columns >= 30)
    assert ("Writer" in table) == (columns >= 36)
    assert max(map(len, table.splitlines())) <= columns


def test_an_answer_without_the_required_role_says_which_option_has_it(tmp_path: Path) -> None:
    office = Desk(tmp_path, OFFICE)
    run = office.waiting()
    done = office("respond", run, "good", office.file)
    assert (done.code, done.out) == (2, "")
    assert "it needs an answer with the role 'chief editor', none was given" in done.err
    assert "`--role 'chief editor'` in a terminal" in done.err
    assert office("respond", run, "good", office.file, "--role", "chief editor").code == 0


def test_what_waits_is_kept_listed_shown_and_answered(writer: Desk) -> None:
    done = tactician("run", writer.file, "frogs", "--store", "runs.db", cwd=writer.folder)
    assert (done.code, done.out) == (3, "")
    (row,) = writer.listed()
    assert (row["agent"], row["kind"], row["status"]) == ("Writer", "process", "waiting")
    assert row["waits_for"] == [
        {"id": "Writer/review/asked", "kind": "form", "prompt": "How is 'about frogs'?", "deadline": None}
    ]
    assert isinstance(row["since"], float)
    process = str(row["id"])
    assert process in done.err.splitlines()[0], "it is named before anything can go wrong"
    assert f"tactician respond {process} 'JSON or text' {writer.file} --store runs.db" in done.err

    table = writer("ps").out
    assert re.search(rf"{process} .* Writer .* waiting .* 20\d\d-.* How is 'about frogs'\?", table)

    seen = writer("show", process).out
    assert "Writer waiting" in seen
    assert re.search(r"draft .* 20\d\d-\d\d-\d\d .* ms .* Draft", seen)
    assert re.search(r'Draft .* \{"text":"about frogs"\}', seen)
    assert re.search(r'UserInput .* subject .* {"content":"frogs",', seen)
    assert "drafted is true" in seen
    assert "mood  select  good, bad" in seen
    assert "stars  number  from 1 to 5" in seen

    done = writer("respond", process, "Writer/review/asked", GOOD, writer.file)
    assert done.code == 3
    assert "? Print it?  confirmation Writer/publish/asked" in done.err
    assert f"tactician respond {process} yes {writer.file}" in done.err

    done = writer("respond", process, "yes", writer.file)
    assert done.code == 0, done.err
    assert done.out == '{"text":"about frogs: 4 stars"}\n'
    assert writer.listed() == []
    assert [row["status"] for row in writer.listed("--all")] == ["completed"]
    assert writer("ps").out == "No open runs. `tactician ps --all` shows finished runs too.\n"
    assert "reached publish" in writer("show", process).out


def test_a_process_is_drawn_as_far_as_it_has_come(writer: Desk) -> None:
    done = writer("show", writer.waiting(), writer.file, "--mermaid")
    assert done.out.startswith("flowchart LR\n")
    assert "class action_draft done" in done.out


def test_a_wrong_answer_is_one_message_and_changes_nothing(writer: Desk) -> None:
    process = writer.waiting()
    done = writer("respond", process, '{"mood": "good", "stars": 9}', writer.file)
    assert done.code == 2
    assert "Writer/review/asked: the answer is not valid: stars: Input should be less than or equal to 5" in done.err
    assert writer("respond", process, GOOD, writer.file).code == 3

    done = writer("respond", process, "perhaps", writer.file)
    assert done.code == 2
    assert "error: Writer/publish/asked: 'perhaps' is not an answer to 'Print it?': answer yes or no" in done.err


def test_an_action_that_fails_is_shown_with_its_error(writer: Desk) -> None:
    process = writer.waiting()
    done = writer("respond", process, GOOD, writer.file, BROKEN="1")
    assert done.code == 1
    assert "Writer failed: publish raised ValueError: no ink" in done.err
    assert "Traceback" not in done.err
    seen = writer("show", process).out
    assert "publish raised ValueError: no ink" in seen
    assert re.search(r"publish .* ValueError: no ink", seen)


def test_what_was_used_and_how_long_it_waits_is_shown(tmp_path: Path) -> None:
    poet = Desk(tmp_path, POET)
    process = poet.waiting()
    seen = poet("show", process).out
    assert re.search(r"\d+ tokens · price unknown", seen.partition("action")[0]), "those of the process"
    assert re.search(r"write .* tokens · price unknown", seen)
    assert re.search(r"until 20\d\d-.*; without an answer: no comment", seen)
    done = poet("respond", process, "lovely [sic]", poet.file)
    assert (done.code, done.out) == (0, '{"text":"lovely [sic]"}\n')


def test_killing_needs_no_file_and_keeps_why(writer: Desk) -> None:
    process = writer.waiting()
    assert writer("kill", process, "--reason", "nobody reads it").out == f"{process} was killed\n"
    seen = writer("show", process).out
    assert "Writer killed" in seen
    assert "nobody reads it" in seen
    assert "How is" not in seen

    again = writer("kill", process)
    assert (again.code, again.err) == (2, f"error: {process} cannot be killed: it was killed already.\n")
    answer = writer("respond", process, GOOD, writer.file)
    assert (answer.code, answer.err) == (2, f"error: {process} was killed: it does not wait for an answer.\n")


def test_resuming_what_waits_says_again_what_it_waits_for(writer: Desk) -> None:
    done = writer("resume", writer.waiting(), writer.file)
    assert done.code == 3
    assert "? How is 'about frogs'?" in done.err


def test_a_file_without_the_agent_keeps_nobody_from_answering(writer: Desk) -> None:
    (writer.folder / "other.py").write_text(WRITER.replace("Writer", "Author"))
    process = writer.waiting()
    wrong = writer("respond", process, GOOD, "other.py")
    assert wrong.code == 2
    assert "No agent is registered as 'Writer'" in wrong.err
    assert "No agent is registered as 'Writer'" in writer("resume", process, "other.py").err

    done = writer("respond", process, GOOD, writer.file)
    assert done.code == 3, done.err
    assert "? Print it?" in done.err


def test_a_run_that_needs_an_approval_is_answered_too(payer: Desk) -> None:
    run = payer.waiting("the bill")
    assert [row["kind"] for row in payer.listed()] == ["run"]
    assert "? May pay(" in payer("show", run).out
    assert payer("resume", run, payer.file).code == 3

    done = payer("respond", run, "perhaps", payer.file)
    assert done.code == 2
    assert "answer --approve or --reject REASON" in done.err

    done = payer("respond", run, "--approve", payer.file)
    assert (done.code, done.out) == (0, "It is paid.\n"), done.err


def test_a_rejection_has_a_reason(payer: Desk) -> None:
    done = payer("respond", payer.waiting("the bill"), "--reject", "too much", payer.file)
    assert (done.code, done.out) == (0, "Then not.\n"), done.err


def test_what_a_process_asks_can_be_rejected(writer: Desk) -> None:
    process = writer.waiting()
    done = writer("respond", process, "--reject", "no time", writer.file)
    assert done.code == 1
    assert "'review' ran and gave nothing: \"How is 'about frogs'?\" was rejected (no time)" in done.err
    assert [row["status"] for row in writer.listed("--all")] == ["stuck"]


def test_a_rejection_of_a_confirmation_is_a_no(writer: Desk) -> None:
    process = writer.waiting()
    assert writer("respond", process, GOOD, writer.file).code == 3
    done = writer("respond", process, "--reject", "not now", writer.file)
    assert done.code == 1
    assert "nobody wants it" in done.err


def test_a_run_can_be_killed(payer: Desk) -> None:
    run = payer.waiting("the bill")
    assert payer("kill", run).code == 0
    assert [row["status"] for row in payer.listed("--all")] == ["killed"]
    resumed = payer("resume", run, payer.file)
    expected = f"error: The run {run} was killed: nothing continues it.\n"
    assert (resumed.code, resumed.err) == (2, expected)


def test_an_approval_is_no_answer_to_a_form(writer: Desk) -> None:
    done = writer("respond", writer.waiting(), "--approve", writer.file)
    assert done.code == 2
    assert done.err == "error: Writer/review/asked is not an approval (form): answer it with a VALUE.\n"


def test_the_project_can_name_the_store(writer: Desk) -> None:
    (writer.folder / "tactician.toml").write_text('[process]\nstore = "sqlite:///kept.db"\n', encoding="utf-8")
    done = tactician("run", writer.file, "frogs", cwd=writer.folder)
    assert done.code == 3
    assert (writer.folder / "kept.db").exists()
    assert "waiting" in tactician("ps", cwd=writer.folder).out


def test_without_a_store_nothing_can_be_answered_later(writer: Desk) -> None:
    done = tactician("run", writer.file, "frogs", cwd=writer.folder)
    assert done.code == 3
    assert "This run waits for an answer, and no store keeps it." in done.err


def test_a_password_is_not_repeated(writer: Desk) -> None:
    done = tactician("ps", "--store", "postgresql://me:secret@127.0.0.1:1/x", cwd=writer.folder)
    assert done.code == 2
    assert done.err.count("error:") == 1
    assert "secret" not in done.err


MISTAKES = {
    "no store": (("ps", "--store", ""), "No store is named: add --store FILE_OR_URL"),
    "a store that is not there": (("ps", "--store", "nowhere.db"), "nowhere.db: there is no such store."),
    "an unknown process": (("show", "x"), "There is no run with the id 'x' in the store"),
    "no file for a drawing": (("show", "x", "--mermaid"), "--mermaid needs the file with the agent"),
    "no value": (
        ("respond", "x", "agents_here.py"),
        "respond ID takes [REQUEST] VALUE FILE, and got: agents_here.py. FILE has the agent",
    ),
    "a value beside a decision": (
        ("respond", "x", "r", "yes", "agents_here.py", "--approve"),
        "respond ID takes [REQUEST] FILE, and got: r yes agents_here.py",
    ),
    "an unknown personality": (
        ("run", "agents_here.py", "x", "--personality", "pirate"),
        "There is no personality 'pirate'. There are: plain, starwars,",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_one_message(mistake: str, writer: Desk) -> None:
    arguments, expected = MISTAKES[mistake]
    if mistake != "a store that is not there":
        (writer.folder / "runs.db").touch()
    env = {"TACTICIAN_STORE": ""} if mistake == "no store" else {}
    done = writer(*arguments, **env)
    assert done.code == 2
    assert expected in done.err
    assert done.err.count("error:") == 1
    assert "Traceback" not in done.err


def test_the_request_has_to_be_known(writer: Desk) -> None:
    process = writer.waiting()
    done = writer("respond", process, "other", GOOD, writer.file)
    assert (done.code, done.err) == (
        2,
        f"error: There is no request 'other': {process} waits for Writer/review/asked.\n",
    )


def damage(folder: Path, run_id: str, change: str) -> None:
    """Changes what the store has of a run, as a defect of a disk would."""
    with sqlite3.connect(folder / "runs.db") as database:
        number = database.execute("SELECT number FROM tactician_documents WHERE id = ?", (run_id,)).fetchone()
        database.execute(change, number)
    database.close()


DAMAGE = {
    "its header": "UPDATE tactician_documents SET header = '{' WHERE number = ?",
    "its state": "UPDATE tactician_bodies SET body = '{}' WHERE document = ?",
}


@pytest.mark.parametrize("part", DAMAGE)
def test_a_record_that_cannot_be_read_says_so_hides_no_other_and_can_be_killed(part: str, writer: Desk) -> None:
    process = writer.waiting()
    writer("run", writer.file, "toads")
    damage(writer.folder, process, DAMAGE[part])

    broken, other = writer.listed()
    assert (broken["id"], other["problem"]) == (process, None)
    assert ("cannot be read" in str(broken["problem"])) == (part == "its header")
    done = writer("show", process)
    assert done.code == 2
    assert "Writer waiting" in done.out, "what is known is shown"
    assert "cannot be read" in done.err
    assert f"`tactician kill {process}` ends the run." in done.err
    assert writer("kill", process).code == 0
    assert [run["id"] for run in writer.listed()] == [other["id"]]


ASKER = """
from tactician import UserInput, achieves_goal, action, planned_agent
from tactician.process import ask_human

@planned_agent(description="Asks at once")
class Asker:
    @action
    def listen(self, topic: UserInput) -> int | None:
        return None

    @achieves_goal("asked")
    @action
    async def ask(self, topic: UserInput) -> str:
        return await ask_human(str, "Well?")
"""


def test_it_is_known_since_when_there_is_a_process_that_has_done_nothing(tmp_path: Path) -> None:
    desk = Desk(tmp_path, ASKER)
    desk.waiting()
    (row,) = desk.listed()
    assert isinstance(row["since"], float)
    assert row["parent_id"] is None
    assert re.search(r"waiting .* 20\d\d-.* Well\?", desk("ps").out)


def test_the_trace_of_a_stored_run_is_a_tree_or_a_page(tmp_path: Path) -> None:
    file, store = written(tmp_path, POET), ("--store", "runs.db")
    assert tactician("run", file, "roses", *store, cwd=tmp_path).code == 3
    (run,) = json.loads(tactician("ps", "--json", *store, cwd=tmp_path).out)
    shown = tactician("trace", run["id"], *store, cwd=tmp_path).out
    for fact in ("run Poet", "action write", "model scripted", "waiting"):
        assert fact in shown
    done = tactician("trace", run["id"], *store, "--html", "run.html", "--json", "run.json", cwd=tmp_path)
    assert (done.code, done.out) == (0, "")
    page = (tmp_path / "run.html").read_text("utf-8")
    assert "Roses are red" in page
    assert "What do you say?" in page
    assert json.loads((tmp_path / "run.json").read_text("utf-8"))["format"] == "tactician-trace"
    unknown = tactician("trace", "f00", "--events", "none.jsonl", cwd=tmp_path)
    assert (unknown.code, unknown.err) == (2, "error: none.jsonl cannot be read: No such file or directory\n")
