"""Runs that are forked, shown step by step, compared and deleted, from the command line."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.cli.test_stored import GOOD, PAYER, WRITER, Desk

BAD = '{"mood": "bad", "stars": 1}'
FEEDBACK = "Writer/review/asked"


@pytest.fixture
def writer(tmp_path: Path) -> Desk:
    return Desk(tmp_path, WRITER)


@pytest.fixture
def written(writer: Desk) -> str:
    """The id of a process that has completed."""
    process = writer.waiting()
    assert writer("respond", process, GOOD, writer.file).code == 3
    assert writer("respond", process, "yes", writer.file).code == 0
    return process


def fork_in(text: str) -> str:
    """The id of a fork, as the command has said it."""
    found = re.search(r"The fork is (\w+)\.", text)
    assert found is not None, text
    return found[1]


def test_another_answer_and_what_came_of_it(writer: Desk, written: str) -> None:
    steps = writer("show", written, "--steps").out
    assert re.search(r"2 .* action draft .* Draft .* 20\d\d-", steps)
    assert re.search(r"3 .* suspended review .* How is 'about frogs'\?", steps)
    listed = json.loads(writer("show", written, "--steps", "--json").out)
    assert [step["kind"] for step in listed][:3] == ["start", "action", "suspended"]
    assert listed[2]["waits_for"] == [FEEDBACK]

    done = writer("fork", written, writer.file, "--at", "3", "--respond", f"{FEEDBACK}={BAD}")
    assert done.code == 3, done.err
    fork = fork_in(done.err)
    assert f"Compare with: tactician show {written} --compare {fork}" in done.err
    assert f"tactician respond {fork} yes {writer.file}" in done.err
    done = writer("respond", fork, "yes", writer.file)
    assert (done.code, done.out) == (0, '{"text":"about frogs: 1 stars"}\n')

    seen = writer("show", written, "--compare", fork).out
    assert re.search(r"status .* completed .* completed", seen)
    assert re.search(r"output .* 4 stars.* 1 stars", seen)
    assert f"forked from {written} after step 3" in seen
    assert "The first 3 steps are the same." in seen
    assert re.search(r"5 .* action review .* 6 .* action review", seen)
    compared = json.loads(writer("show", written, "--compare", fork, "--json").out)
    assert len(compared["common"]) == 3
    assert [step["kind"] for step in compared["second"]["further_steps"]][:2] == ["fork", "resume"]
    assert compared["second"]["forked_from"] == [written, 3]
    assert compared["first"]["output"] == '{"text":"about frogs: 4 stars"}'


def test_another_input(writer: Desk, written: str) -> None:
    done = writer("fork", written, writer.file, "--input", "toads")
    assert done.code == 3
    assert "How is 'about toads'?" in done.err


def test_another_decision_about_a_tool(tmp_path: Path) -> None:
    payer = Desk(tmp_path, PAYER)
    run = payer.waiting("the bill")
    assert payer("respond", run, "--reject", "too much", payer.file).out == "Then not.\n"
    (request,) = [step for step in json.loads(payer("show", run, "--steps", "--json").out) if step["waits_for"]]
    done = payer("fork", run, payer.file, "--respond", f"{request['waits_for'][0]}=yes")
    assert (done.code, done.out) == (0, "It is paid.\n"), done.err

    seen = payer("show", fork_in(done.err)).out
    assert "Payer completed" in seen
    assert re.search(r"user .* the bill", seen)
    assert re.search(r"tool .* paid 3", seen)
    assert re.search(r"→ It is paid\.", seen)
    assert re.search(r"\d+ tokens · price unknown · \d+ steps", seen)
    run_facts = json.loads(payer("show", run, "--json").out)
    assert (run_facts["status"], run_facts["output"], run_facts["messages"][-1]["role"]) == (
        "completed",
        "Then not.",
        "assistant",
    )
    listed = payer("ps", "--all").out
    assert re.search(rf"{run} .* completed .* tokens .* Then not\.", listed)


def test_another_model(tmp_path: Path) -> None:
    desk = Desk(tmp_path, PAYER)
    run = desk.waiting("the bill")
    done = desk("fork", run, desk.file, "--at", "0", "--model", "no-such-model")
    assert done.code == 2
    assert "no-such-model" in done.err
    assert len(desk.listed("--all")) == 1, "there is no fork"


MISTAKES = {
    "a step that does not exist": (("--at", "99"), "has the steps 1 to 3: there is no step 99."),
    "an input after the start": (("--at", "1", "--input", "x"), "Another input is possible from the start only"),
    "an answer to nothing": (
        ("--respond", "other=x"),
        f"did not wait for other after step 3; it waited for {FEEDBACK}",
    ),
    "an answer without a request": (("--respond", "x"), "--respond takes REQUEST=VALUE, and got: x"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_one_message(mistake: str, writer: Desk) -> None:
    arguments, expected = MISTAKES[mistake]
    done = writer("fork", writer.waiting(), writer.file, *arguments)
    assert done.code == 2
    assert expected in done.err
    assert done.err.count("error:") == 1
    assert "Traceback" not in done.err


def test_old_runs_are_deleted(writer: Desk, written: str) -> None:
    waiting = writer("run", writer.file, "toads")
    assert waiting.code == 3
    assert writer("prune", "--older-than", "1d").out == "0 runs deleted\n"
    assert writer("prune", "--older-than", "0s").out == "1 run deleted\n"
    assert [run["status"] for run in writer.listed("--all")] == ["waiting"]
    assert "There is no run" in writer("show", written).err
    wrong = writer("prune", "--older-than", "soon")
    assert wrong.code == 2
    assert "'soon' is not a duration: write 30d, 12h, 90m or 45s." in wrong.err
