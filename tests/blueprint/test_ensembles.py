"""Ensembles as data: there and back, with mistakes at their lines, and run from the command line."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, given

from tactician import Agent, Blueprint, Ensemble, Phase, PhaseReview, RunContext, Task
from tactician.ensemble import Reflection, TaskInput
from tactician.errors import BlueprintError
from tactician.testing import ScriptedModel
from tests.blueprint import acme
from tests.blueprint.constellations import ALLOW, HOSTS, KEYS
from tests.blueprint.ensembles import ensembles
from tests.cli.support import tactician
from tests.ensemble.support import prompt_of
from tests.support.effort import examples

NEWSROOM = """\
type: ensemble
name: Newsroom
model: gpt-5.4-mini
tasks:
- id: research
  description: Research {topic}
  expectedOutput: Two findings
  agent:
    type: agent
    name: Researcher
    model: default
    instructions: ""
    maxTurns: 50
    toolClassNames: []
    handoffs: []
    inputGuardrails: []
    outputGuardrails: []
    role: Researcher
    goal: Find facts
- id: quote
  description: Find a quote about {topic}
  agent: Researcher
  context: []
- description: Write an article
  context:
  - research
  - quote
- id: count
  description: Count the words
  context:
  - Write an article
  handler: tests.blueprint.acme.count_words
"""
PHASES = """\
type: ensemble
name: Reports
phases:
- name: research
  tasks:
  - id: gather
    description: Gather figures
  review:
    task:
      description: Are they complete?
      role: Critic
      context:
      - gather
    maxRetries: 1
- name: report
  tasks:
  - description: Draft it
    handler: tests.blueprint.acme.count_words
  after:
  - research
  workflow: sequential
  review:
    function: tests.blueprint.acme.check_length
- name: sign
  tasks:
  - description: Sign it
    handler: tests.blueprint.acme.count_words
  after:
  - research
  - report
  review:
    person:
      role: editor
      timeout: 60.0
      onTimeout: continue
"""
FIRM = """\
type: ensemble
name: Firm
tasks:
- description: Report on {topic}
workflow: hierarchical
constraints:
  requiredWorkers:
  - Writer
  maxCallsPerWorker:
    Writer: 2
  maxDelegations: 5
  stages:
  - - Researcher
  - - Writer
"""


def load(text: str) -> Ensemble:
    """Build an ensemble."""
    built = Blueprint.from_yaml(text).build(allow=ALLOW)
    assert isinstance(built, Ensemble)
    return built


class TestRoundTrip:
    @pytest.mark.parametrize("text", [NEWSROOM, PHASES])
    def test_what_was_written_is_written_again(self, text: str) -> None:
        assert load(text).to_blueprint(strict=True).to_yaml() == text

    @examples(60, *HealthCheck)
    @given(ensembles())
    def test_any_ensemble_built_again_has_the_same_blueprint(self, ensemble: Ensemble) -> None:
        blueprint = ensemble.to_blueprint(strict=True)
        again = Blueprint.from_json(blueprint.to_json()).build(allow=ALLOW, environment=KEYS, hosts=HOSTS)
        assert again.to_blueprint(strict=True).to_json() == blueprint.to_json()
        assert (again.name, again.description) == (ensemble.name, ensemble.description)
        assert Blueprint.from_yaml(blueprint.to_yaml()) == blueprint

    async def test_one_that_was_built_does_the_same(self) -> None:
        model = ScriptedModel("Frogs sing.", "'Quak'", "Frogs sing 'Quak'.")
        result = await load(NEWSROOM).run({"topic": "frogs"}, context=RunContext.over(model))
        assert result.output == 3
        assert prompt_of(model).startswith("## Task\n\nResearch frogs")

    def test_tasks_that_share_an_agent_share_it_again(self) -> None:
        research, quote, *_ = load(NEWSROOM).tasks
        assert research.agent is quote.agent
        assert isinstance(research.agent, Agent)
        assert (research.agent.spec.role, research.agent.spec.goal) == ("Researcher", "Find facts")

    def test_settings_that_a_blueprint_cannot_express_are_told_and_not_left_out(self) -> None:
        task = Task("a", handler=acme.count_words, reflect=Reflection())
        with pytest.raises(BlueprintError, match=r"tasks\[0\]: the setting 'reflect' of a task"):
            Ensemble("E", [task]).to_blueprint()


class TestHandlers:
    def test_lambdas_are_refused(self) -> None:
        tasks = [Task("a", handler=lambda task: 1, when=lambda known: True)]
        with pytest.raises(BlueprintError) as caught:
            Ensemble("E", phases=[Phase("p", tasks, review=PhaseReview(lambda task: "APPROVE"))]).to_blueprint()
        places = [problem.path for problem in caught.value.problems]
        assert places == ["phases[0].tasks[0].handler", "phases[0].tasks[0].when", "phases[0].review.function"]
        assert "<lambda>" in caught.value.problems[0].message

    def test_only_names_of_allowed_packages_stand_for_something(self) -> None:
        with pytest.raises(BlueprintError, match=r"tasks\[3\]\.handler: there is nothing with the name"):
            Blueprint.from_yaml(NEWSROOM).build()
        with pytest.raises(BlueprintError, match=r"os\.system"):
            load("type: ensemble\nname: E\ntasks: [{description: a, handler: os.system}]\n")

    def test_a_handler_has_to_be_a_function(self) -> None:
        with pytest.raises(BlueprintError, match="is not a function"):
            load("type: ensemble\nname: E\ntasks: [{description: a, handler: tests.blueprint.acme.Order}]\n")

    async def test_a_handler_can_be_registered_under_a_name(self) -> None:
        def count(task: TaskInput) -> int:
            return 7

        text = "type: ensemble\nname: E\ntasks: [{description: a, handler: count}]\n"
        built = Blueprint.from_yaml(text).build(names={"count": count})
        assert (await built.run(None, context=RunContext.over(ScriptedModel()))).output == 7


class TestMistakes:
    def test_all_are_told_at_once_with_their_lines(self, tmp_path: Path) -> None:
        file = tmp_path / "wrong.yaml"
        file.write_text(
            "type: ensemble\nname: E\nworkflow: sequential\ntasks:\n"
            "- description: a\n  context: [b]\n  handler: os.system\n"
            "- description: b\n  context: [a, c]\n  maxToolCalls: 0\n"
            "- description: d\n  agent: Resercher\n  rolle: x\n"
            "- description: d\n"
            "manager: {type: function, functionName: tests.blueprint.acme.upwards}\n",
            encoding="utf-8",
        )
        with pytest.raises(BlueprintError) as caught:
            Blueprint.load(file, allow=ALLOW)
        found = {(problem.line, problem.path) for problem in caught.value.problems}
        assert found == {
            (7, "tasks[0].handler"), (9, "tasks[1].context[0]"), (9, "tasks[1].context[1]"),
            (10, "tasks[1].maxToolCalls"), (12, "tasks[2].agent"), (13, "tasks[2].rolle"), (14, "tasks[3].id"),
            (15, "manager"),
        }  # fmt: skip

    def test_mistakes_of_tasks_and_between_tasks_have_their_lines(self) -> None:
        with pytest.raises(BlueprintError) as caught:
            load("type: ensemble\nname: E\ntasks:\n- description: ' '\n- description: b\n  goal: ' '\n")
        assert [(problem.line, problem.path) for problem in caught.value.problems] == [
            (4, "tasks[0].description"), (6, "tasks[1].goal")
        ]  # fmt: skip
        later = "- {id: a, description: a, context: [b]}\n- {id: b, description: b}\n"
        with pytest.raises(BlueprintError, match=r"line 5: tasks\[0\]\.context\[0\].*appears later"):
            load(f"type: ensemble\nname: E\nworkflow: sequential\ntasks:\n{later}")

    def test_mistakes_in_phases_have_their_lines(self) -> None:
        wrong = PHASES.replace("  - report\n", "  - reports\n").replace("      - gather", "      - gathering")
        with pytest.raises(BlueprintError) as caught:
            load(wrong)
        assert [(problem.line, problem.path) for problem in caught.value.problems] == [
            (13, "phases[0].review.task.context[0]"), (30, "phases[2].after[1]")
        ]  # fmt: skip
        with pytest.raises(BlueprintError, match="say one of task, function and person"):
            load(PHASES.replace("    function: tests.blueprint.acme.check_length\n", "    maxRetries: 1\n"))

    def test_constraints_are_checked_with_the_workers(self) -> None:
        with pytest.raises(BlueprintError, match=r"line 12: constraints\.stages: .*unknown agent 'Researcher'"):
            load(FIRM)

    def test_an_agent_that_several_have_the_name_of_is_no_name(self) -> None:
        twice = yaml.safe_load(NEWSROOM)
        twice["tasks"][2]["agent"] = twice["tasks"][0]["agent"]
        with pytest.raises(BlueprintError, match=r"tasks\[1\]\.agent: 2 agents of the ensemble have the name"):
            Blueprint.from_data(twice).build(allow=ALLOW)


class TestCommand:
    def test_run_takes_the_values_of_templates(self, tmp_path: Path) -> None:
        (tmp_path / "newsroom.yaml").write_text(
            "type: ensemble\nname: E\ntasks:\n- {description: 'Say {topic} to {who}', handler: words.say}\n",
            encoding="utf-8",
        )
        (tmp_path / "words.py").write_text("def say(task):\n    return task.description\n", encoding="utf-8")
        done = tactician(
            "blueprint", "run", "newsroom.yaml", "--allow", "words", "topic=AI", "who=Ann Lee", cwd=tmp_path
        )
        assert (done.code, done.out.strip()) == (0, "Say AI to Ann Lee")

    def test_a_value_that_is_missing_is_told(self, tmp_path: Path) -> None:
        (tmp_path / "e.yaml").write_text(
            "type: ensemble\nname: E\ntasks:\n- description: Say {topic} to {who}\n", encoding="utf-8"
        )
        done = tactician("blueprint", "run", "e.yaml", "topic=AI", cwd=tmp_path)
        assert done.code == 2
        assert "no value for 'who'" in done.err

    def test_check_tells_the_mistakes(self, tmp_path: Path) -> None:
        (tmp_path / "e.yaml").write_text(
            "type: ensemble\nname: E\ntasks:\n- description: a\n  context: [b]\n", encoding="utf-8"
        )
        done = tactician("blueprint", "check", "e.yaml", cwd=tmp_path)
        assert done.code == 1
        assert "there is no task with the id 'b'" in done.out + done.err
