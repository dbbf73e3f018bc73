"""Ensembles as data: there and back, with mistakes at their lines, and run from the command line."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, given

from tactician import (
    Agent,
    Blueprint,
    Ensemble,
    InProcessMemory,
    Loop,
    MapReduce,
    Phase,
    PhaseReview,
    Reflection,
    RunContext,
    Scope,
    SqlMemory,
    SqlReflections,
    Task,
)
from tactician.context_format import JsonFormatter
from tactician.ensemble import ConsoleReviewer, TaskInput
from tactician.ensemble.work.composite import find_composite
from tactician.errors import BlueprintError
from tactician.testing import ScriptedModel
from tests.blueprint import acme
from tests.blueprint.constellations import ALLOW, HOSTS, KEYS
from tests.blueprint.ensembles import ensembles
from tests.cli.support import tactician
from tests.ensemble.support import prompt_of
from tests.support.effort import examples

LOCAL = (*ALLOW, "tactician.stores")
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
        again = Blueprint.from_json(blueprint.to_json()).build(allow=LOCAL, environment=KEYS, hosts=HOSTS)
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

    def test_what_a_blueprint_cannot_express_is_told_and_not_left_out(self) -> None:
        class Store(InProcessMemory):
            """A memory of a function."""

        class Format(JsonFormatter):
            """A format of a function."""

        task = Task("a", handler=acme.count_words, reflect=Reflection(strategy=lambda it: None))
        with pytest.raises(BlueprintError) as caught:
            Ensemble(
                "E",
                [task, MapReduce([date(2026, 1, 1)], map=task, reduce=lambda outputs: task, id="m")],
                memory=Store({"project": Scope()}),
                reflections=SqlReflections("sqlite:///notes.db"),
                reviewer=ConsoleReviewer(name="Ann"),
                listeners=[lambda event: None],
                context_format=Format(),
            ).to_blueprint()
        assert {problem.path for problem in caught.value.problems} == {
            "tasks[0].reflect.strategy", "tasks[1].items[0]", "tasks[1].map.reflect.strategy", "tasks[1].reduce",
            "memory", "reviewer", "listeners[0]", "contextFormatter",
        }  # fmt: skip


class TestGroups:
    async def test_tasks_of_groups_do_what_they_do_in_python(self) -> None:
        built = load(
            "type: ensemble\nname: E\ntasks:\n"
            "- {type: mapReduce, id: letters, items: [a b, c], map: {description: 'Read {item}'},"
            " reduce: {description: Combine them}}\n"
            "- {type: loop, id: revise, context: [letters], maxIterations: 2, tasks: [{description: Reply}]}\n"
            "- {id: count, description: Count, context: [revise], handler: tests.blueprint.acme.count_words}\n"
        )
        model = ScriptedModel("A and B.", "C.", "All.", "Dear all", "Dear all, hello")
        result = await built.run({}, context=RunContext.over(model))
        assert result.output == 3
        assert all(
            text in prompt_of(model, call)
            for call, text in enumerate(["Read a b", "Read c", "Combine them", "Reply", "Reply"])
        )

    async def test_a_group_outside_of_an_ensemble_is_the_ensemble_with_it_alone(self) -> None:
        count = Task("Count the words", handler=acme.count_words)
        loop = Loop([count], id="Twice", max_iterations=2)
        whole = Ensemble("E", [Task("Do it", agent=loop)])
        for runnable in (loop, whole):
            text = runnable.to_blueprint().to_yaml()
            built = load(text)
            assert built.to_blueprint().to_yaml() == text
        assert (await load(loop.to_blueprint().to_yaml()).run({})).output == 0

    def test_items_without_a_json_form_are_told_by_their_places(self) -> None:
        items = [1.5, float("inf"), {"a": float("nan")}, b"x"]
        letters = MapReduce(items, map=Task("Read {item}"), reduce=Task("Combine"), id="letters")
        with pytest.raises(BlueprintError) as caught:
            Ensemble("E", [letters]).to_blueprint()
        places = [line.split(":")[0].strip(" -") for line in str(caught.value).splitlines() if "no JSON form" in line]
        assert places == [f"tasks[0].items[{place}]" for place in (1, 2, 3)]
        assert len(str(caught.value).splitlines()) == 4

    def test_a_task_inside_names_tasks_outside_and_never_the_other_way_round(self) -> None:
        inside = "{type: loop, id: L, tasks: [{id: b, description: B, context: [a]}]}"
        built = load(f"type: ensemble\nname: E\ntasks: [{{id: a, description: A}}, {inside}]\n")
        a, loop = built.tasks
        assert loop.named_context == (a,)
        with pytest.raises(BlueprintError, match=r"tasks\[1\]\.context\[0\]: there is no task with the id 'b'"):
            load(f"type: ensemble\nname: E\ntasks: [{inside.replace('[a]', '[]')}, {{description: A, context: [b]}}]\n")

    def test_the_nearest_task_of_a_name_is_meant(self) -> None:
        text = "type: ensemble\nname: E\ntasks:\n- {id: a, description: A}\n"
        text += "- {type: loop, id: L, tasks: [{id: a, description: Inner}, {description: B, context: [a]}]}\n"
        text += "- {description: Last, context: [a]}\n"
        outer, loop, last = load(text).tasks
        assert last.named_context == (outer,)
        composite = find_composite(loop)
        assert composite is not None
        inner, task = composite.parts.values()
        assert task.named_context == (inner,)

    def test_an_agent_is_shared_by_tasks_in_groups(self) -> None:
        agent: Agent[object] = Agent("Ann", role="Writer")
        made = Ensemble("E", [Loop([Task("a", agent=agent)], id="L"), Task("b", agent=agent)])
        assert made.to_blueprint().to_yaml().count("name: Ann") == 1
        loop, task = load(made.to_blueprint().to_yaml()).tasks
        composite = find_composite(loop)
        assert composite is not None
        assert composite.parts["tasks[0]"].agent is task.agent

    @pytest.mark.parametrize(
        "kind",
        [
            "{type: router, name: R, model: m, routes: [{description: d, target: {$ref: a.yaml}}]}",
            "{type: network, name: N, maxRounds: 1, peers: [{$ref: a.yaml}, {$ref: b.yaml}]}",
            "{type: planned, className: tests.blueprint.acme.Teller}",
            "{type: function, functionName: tests.blueprint.acme.upwards}",
            "{type: ensemble, name: Inner, tasks: [{description: x, agent: {$ref: a.yaml}}]}",
            "{$ref: a.yaml}",
        ],
    )
    def test_any_kind_of_agent_does_a_task(self, kind: str, tmp_path: Path) -> None:
        for name in "ab":
            (tmp_path / f"{name}.yaml").write_text(
                f"type: agent\nname: {name}\nmodel: m\ninstructions: i\nmaxTurns: 1\n", encoding="utf-8"
            )
        file = tmp_path / "e.yaml"
        file.write_text(f"type: ensemble\nname: E\ntasks:\n- {{description: d, agent: {kind}}}\n", encoding="utf-8")
        made = Blueprint.load(file, allow=ALLOW)
        again = load(made.to_blueprint().to_yaml())
        assert again.to_blueprint() == made.to_blueprint()
        assert again.tasks[0].runnable is not None

    def test_an_ensemble_in_another_file_stands_in_the_place_of_a_task(self, tmp_path: Path) -> None:
        (tmp_path / "crew.yaml").write_text("type: ensemble\nname: Crew\ntasks: [{description: x}]\n", encoding="utf-8")
        file = tmp_path / "e.yaml"
        file.write_text(
            "type: ensemble\nname: E\ntasks:\n- $ref: crew.yaml\n- {description: d, context: [Crew]}\n",
            encoding="utf-8",
        )
        made = Blueprint.load(file)
        assert isinstance(made, Ensemble)
        assert made.tasks[1].named_context[0].id == "Crew"
        file.write_text("type: ensemble\nname: E\ntasks:\n- $ref: e.yaml\n- {description: d, context: [E]}\n")
        with pytest.raises(BlueprintError) as caught:
            Blueprint.load(file)
        assert [(problem.line, problem.message) for problem in caught.value.problems] == [
            (4, "the files go in a circle: e.yaml -> e.yaml")
        ]

    def test_nothing_else_stands_in_the_place_of_a_task(self, tmp_path: Path) -> None:
        (tmp_path / "a.yaml").write_text("type: agent\nname: A\nmodel: m\ninstructions: i\nmaxTurns: 1\n", "utf-8")
        (tmp_path / "e.yaml").write_text("type: ensemble\nname: E\ntasks:\n- $ref: a.yaml\n", "utf-8")
        with pytest.raises(BlueprintError, match=r"line 4: tasks\[0\]: only an ensemble can stand in the place"):
            Blueprint.load(tmp_path / "e.yaml")
        with pytest.raises(BlueprintError, match=r"a task cannot have the type 'lop'; did you mean 'loop'"):
            load("type: ensemble\nname: E\ntasks: [{type: lop}]\n")

    def test_mistakes_in_groups_are_told_at_once_with_their_lines(self, tmp_path: Path) -> None:
        (tmp_path / "e.yaml").write_text(
            "type: ensemble\nname: E\ntasks:\n"
            "- type: loop\n  id: L\n  tasks:\n  - {description: a, context: [z]}\n"
            "  - type: graph\n    id: G\n    start: one.1\n    states:\n"
            "      one.1: {description: s, agent: Nobody, rolle: x}\n    edges:\n"
            "    - {source: one.1, target: END, when: os.remove}\n"
            "  until: os.path.exists\n  maxIterations: 0\n"
            "- {type: mapReduce, id: m, items: [], map: 5, reduce: nobody}\n"
            "- description: d\n  handler:\n    type: loop\n    id: H\n    tasks:\n    - {id: ' ', description: x}\n"
        )
        with pytest.raises(BlueprintError) as caught:
            Blueprint.load(tmp_path / "e.yaml", allow=ALLOW)
        found = {(problem.line, problem.path) for problem in caught.value.problems}
        assert found == {
            (7, "tasks[0].tasks[0].context[0]"), (12, 'tasks[0].tasks[1].states."one.1".agent'),
            (12, 'tasks[0].tasks[1].states."one.1".rolle'), (14, "tasks[0].tasks[1].edges[0].when"),
            (15, "tasks[0].until"), (16, "tasks[0].maxIterations"), (17, "tasks[1].items"), (17, "tasks[1].map"),
            (17, "tasks[1].reduce"), (23, "tasks[2].handler.tasks[0].id"),
        }  # fmt: skip

    def test_mistakes_of_a_graph_have_the_names_of_its_states(self) -> None:
        states = "{a.b: {description: x}, 'it''s': {description: y}}"
        with pytest.raises(BlueprintError) as caught:
            load(
                "type: ensemble\nname: E\ntasks:\n- {type: graph, id: G, start: a.b, "
                f"states: {states}, edges: [{{source: a.b, target: END}}]}}\n"
            )
        assert [(problem.path, problem.message) for problem in caught.value.problems] == [
            ("tasks[0].states.it's", "no edge leads to it")
        ]


class TestStores:
    def test_a_store_is_a_file_beside_the_blueprint(self, tmp_path: Path) -> None:
        file = tmp_path / "e.yaml"
        file.write_text(
            "type: ensemble\nname: E\ntasks: [{description: a, memory: [p]}]\n"
            "memory: {store: notes.db, scopes: {p: {}}}\n"
        )
        made = Blueprint.load(file)
        assert isinstance(made, Ensemble)
        assert isinstance(made.memory, SqlMemory)
        assert made.memory.address == tmp_path / "notes.db"

    @pytest.mark.parametrize(
        ("store", "why"),
        [
            ("store: notes.db", "a store is not allowed in a text"),
            ("store: ../notes.db", "a store is not allowed in a text"),
            ("store: 'postgresql://user:hunter2@db/x'", "may hold a secret"),
            ("store: '${ACME_DATABASE}'", "may be a secret; only"),
            ("storeEnvVar: HOME", "the variable HOME is not allowed"),
            ("storeEnvVar: A, store: b", "there is a store too"),
        ],
    )
    def test_a_text_cannot_choose_a_store_of_this_machine(
        self, store: str, why: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("ACME_DATABASE", "postgresql://user:hunter2@db/x")
        text = f"type: ensemble\nname: E\ntasks: [{{description: a}}]\nreflections: {{{store}}}\n"
        with pytest.raises(BlueprintError) as caught:
            load(text)
        assert why in str(caught.value)
        assert "hunter2" not in str(caught.value)

    def test_an_allowed_text_stays_in_the_folder_and_at_known_hosts(self) -> None:
        places = {"../notes.db": "is outside of", "postgresql://db.example/x": "the host db.example is not"}
        for store, why in places.items():
            blueprint = Blueprint.from_yaml(
                f"type: ensemble\nname: E\ntasks: [{{description: a}}]\nreflections: {{store: '{store}'}}\n"
            )
            assert why in str(blueprint.problems(allow=LOCAL))

    def test_a_variable_has_the_address_and_is_exported_in_its_place(self) -> None:
        text = "type: ensemble\nname: E\ntasks: [{description: a}]\nreflections: {storeEnvVar: ACME_DATABASE}\n"
        made = Blueprint.from_yaml(text).build(environment={"ACME_DATABASE": "notes.db"})
        assert made.to_blueprint().to_data()["reflections"] == {"storeEnvVar": "ACME_DATABASE"}
        with pytest.raises(BlueprintError, match="ACME_DATABASE is not set"):
            Blueprint.from_yaml(text).build(environment={})

    def test_an_address_with_a_password_is_not_exported(self) -> None:
        store = SqlReflections("postgresql://user:hunter2@db.example/notes")
        with pytest.raises(BlueprintError, match=r"reflections\.store: the address may hold a secret") as caught:
            Ensemble("E", [Task("a")], reflections=store).to_blueprint()
        assert "hunter2" not in str(caught.value)


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


class TestVariables:
    TEXT = "type: ensemble\nname: E\nreflections: {keepLast: 3}\ntasks:\n- {description: a, reflect: '${LEARN}'}\n"

    @pytest.mark.parametrize(("value", "reflects"), [("true", True), ("false", False), ("", False)])
    def test_whether_a_task_reflects(self, value: str, reflects: bool) -> None:
        blueprint = Blueprint.from_yaml(self.TEXT)
        made = blueprint.build(environment={"LEARN": value})
        assert isinstance(made, Ensemble)
        assert made.tasks[0].reflect is reflects
        assert Blueprint.from_yaml(blueprint.to_yaml()) == blueprint

    def test_other_values_are_mistakes(self) -> None:
        with pytest.raises(
            BlueprintError, match=r"line 5: tasks\[0\]\.reflect: it is neither true, false nor an object"
        ):
            Blueprint.from_yaml(self.TEXT).build(environment={"LEARN": "maybe"})

    def test_they_stand_for_no_objects_and_lists(self) -> None:
        with pytest.raises(BlueprintError) as caught:
            Blueprint.from_yaml("type: ensemble\nname: E\nbudget: ${BUDGET}\ntasks: ${TASKS}\n")
        why = ", for which a variable cannot stand"
        assert {problem.path: problem.message for problem in caught.value.problems} == {
            "budget": f"Input should be a valid object{why}",
            "tasks": f"Input should be a valid array{why}",
        }

    def test_options_of_toon(self) -> None:
        text = "type: ensemble\nname: E\ntasks: [{description: a}]\ncontextFormat: ${F}\n"
        text += "toonOptions: {indent: '${N}', delimiter: '${D}'}\n"
        made = Blueprint.from_yaml(text).build(environment={"F": "toon", "N": "4", "D": "|"})
        assert isinstance(made, Ensemble)
        assert repr(made.context_format) == "ToonFormatter(indent=4, delimiter='|')"
        with pytest.raises(BlueprintError, match="toonOptions: they are for contextFormat: toon alone"):
            Blueprint.from_yaml(text).build(environment={"F": "json", "N": "4", "D": "|"})
        with pytest.raises(BlueprintError, match="toonOptions: The indentation of TOON is 1 to 16 spaces, not 99"):
            Blueprint.from_yaml(text).build(environment={"F": "toon", "N": "99", "D": "|"})


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

    def test_blank_texts_are_told_with_all_other_mistakes_of_form(self) -> None:
        with pytest.raises(BlueprintError) as caught:
            load(
                "type: ensemble\nname: E\ntasks:\n- {description: ' ', maxToolCalls: -7}\n"
                "- {description: ' ', goal: ' '}\n- {description: a, nonsense: 1}\n"
            )
        assert [str(problem) for problem in caught.value.problems] == [
            "line 4: tasks[0].description: it must not be blank",
            "line 4: tasks[0].maxToolCalls: Input should be greater than 0, got: -7",
            "line 5: tasks[1].description: it must not be blank",
            "line 5: tasks[1].goal: it must not be blank",
            "line 6: tasks[2].nonsense: there is no such field",
        ]

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

    @pytest.mark.parametrize("command", [("run",), ("blueprint", "run")])
    def test_an_ensemble_without_templates_runs_without_an_input(self, tmp_path: Path, command: tuple[str]) -> None:
        (tmp_path / "e.yaml").write_text(
            "type: ensemble\nname: E\ntasks:\n- {description: Say it, handler: words.say}\n", encoding="utf-8"
        )
        (tmp_path / "words.py").write_text("def say(task):\n    return task.description\n", encoding="utf-8")
        done = tactician(*command, "e.yaml", "--allow", "words", cwd=tmp_path)
        assert (done.code, done.out.strip()) == (0, "Say it")

    def test_without_an_input_the_values_that_are_needed_are_told(self, tmp_path: Path) -> None:
        (tmp_path / "e.yaml").write_text(
            "type: ensemble\nname: E\ntasks:\n- description: Say {topic} to {who}\n", encoding="utf-8"
        )
        done = tactician("blueprint", "run", "e.yaml", cwd=tmp_path)
        assert done.code == 2
        assert "no value for 'topic', 'who'" in done.err

    def test_any_other_agent_needs_an_input(self, tmp_path: Path) -> None:
        agent = "type: agent\nname: A\nmodel: default\nmaxTurns: 2\ninstructions: Help.\n"
        (tmp_path / "a.yaml").write_text(agent, encoding="utf-8")
        done = tactician("blueprint", "run", "a.yaml", cwd=tmp_path)
        assert (done.code, done.err.strip()) == (
            2,
            "error: A needs an input: add a request to the command.",
        )

    def test_show_draws_the_tasks_and_what_is_inside_of_them(self, tmp_path: Path) -> None:
        (tmp_path / "e.yaml").write_text(
            "type: ensemble\nname: E\ntasks:\n- type: loop\n  id: revise\n  until: acme.is_done\n  tasks:\n"
            "  - {id: reply, description: Write a reply, builtInTools: [calculator, {tool: run_program, timeout: 1}]}\n"
            "- {type: graph, id: G, start: s, states: {s: {description: x}}, edges: [{source: s, target: END}]}\n",
            encoding="utf-8",
        )
        done = tactician("blueprint", "show", "e.yaml", cwd=tmp_path)
        assert done.code == 0
        for text in ("revise", "acme.is_done", "reply", "Write a reply", "calculator, run_program", "state s"):
            assert text in done.out

    def test_diff_names_the_tasks(self, tmp_path: Path) -> None:
        text = "type: ensemble\nname: E\ntasks:\n- {type: loop, id: revise, tasks: [{id: a, description: x}]}\n"
        (tmp_path / "a.yaml").write_text(text, encoding="utf-8")
        (tmp_path / "b.yaml").write_text(text.replace("description: x", "type: task, description: y"), "utf-8")
        done = tactician("blueprint", "diff", "a.yaml", "b.yaml", cwd=tmp_path)
        assert done.code == 1
        assert "tasks[revise].tasks[a].description" in done.out
        assert "type" not in done.out

    def test_check_tells_the_mistakes(self, tmp_path: Path) -> None:
        (tmp_path / "e.yaml").write_text(
            "type: ensemble\nname: E\ntasks:\n- description: a\n  context: [b]\n", encoding="utf-8"
        )
        done = tactician("blueprint", "check", "e.yaml", cwd=tmp_path)
        assert done.code == 1
        assert "there is no task with the id 'b'" in done.out + done.err
