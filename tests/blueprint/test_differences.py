"""What differs between two blueprints, what is in other files, and what is in a constellation at a glance."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given

from tactician import Blueprint
from tactician.blueprint import Limits, build_outline, compare_blueprints, export_blueprint
from tactician.blueprint.differences import Difference
from tactician.blueprint.outline import Outline
from tactician.blueprint.references import resolve_references
from tests.blueprint.constellations import AnyRunnable, constellations
from tests.blueprint.test_examples import HIERARCHY, NETWORK, PARALLEL, ROUTER, SUPERVISOR, SUPPORT, agent
from tests.support.effort import examples


def between(before: Mapping[str, object], after: Mapping[str, object]) -> list[Difference]:
    return list(compare_blueprints(Blueprint.from_json(json.dumps(before)), Blueprint.from_json(json.dumps(after))))


def route(name: str, description: str, **more: object) -> dict[str, object]:
    return {"description": description, "target": agent(name, **more)}


def router(*routes: dict[str, object], **more: object) -> dict[str, object]:
    return {"type": "router", "name": "Desk", "model": "m", "routes": list(routes), **more}


SALES, BILLS = route("Sales", "Prices"), route("Billing", "Bills and refunds")


class TestValues:
    def test_what_has_changed(self) -> None:
        before, after = agent("Support", model="small"), agent("Support", model="large", maxTurns=10)
        assert between(before, after) == [
            Difference("model", "changed", "small", "large"),
            Difference("maxTurns", "changed", 5, 10),
        ]

    def test_what_is_there_in_one_of_them_only(self) -> None:
        before, after = agent("Support", temperature=0.5), agent("Support", outputType="int")
        assert between(before, after) == [
            Difference("temperature", "removed", before=0.5),
            Difference("outputType", "added", after="int"),
        ]

    def test_what_is_inside(self) -> None:
        context = {"strategyType": "sliding", "maxTokens": 10}
        changed = agent("Support", contextManagement={**context, "maxTokens": 20})
        assert between(agent("Support", contextManagement=context), changed) == [
            Difference("contextManagement.maxTokens", "changed", 10, 20)
        ]

    def test_how_it_is_said_does_not_matter(self) -> None:
        before = agent("Support", instructions={"source": "inline", "text": "Help."}, temperature=1, handoffs=None)
        after = dict(reversed(agent("Support", instructions="Help.", temperature=1.0).items()))
        assert between(before, after) == []

    def test_an_empty_list_of_a_supervisor_says_nothing(self) -> None:
        bare = {name: value for name, value in SUPERVISOR.items() if name not in ("handoffs", "toolClassNames")}
        assert between(bare, {**bare, "handoffs": [], "toolClassNames": []}) == []

    @pytest.mark.parametrize(
        "said",
        [
            {"parallelTools": True},
            {"id": "support"},
            {"description": "You are Support."},
            {"description": ""},
            {"options": {}},
            {"options": {"fallbacks": []}},
            {"traceMetadata": {}},
            {"traceMetadata": {"metadata": {}}},
            {"responder": {"provider": "OPEN_ROUTER", "apiKeyEnvVar": "OPENROUTER_API_KEY"}},
        ],
    )
    def test_what_is_so_anyway_is_no_difference_for_agents(self, said: dict[str, object]) -> None:
        bare = agent("Support", responder={"provider": "OPEN_ROUTER"})
        assert between(bare, {**bare, **said}) == []
        inner = router(SALES, {"description": "Other", "target": bare})
        assert between(inner, router(SALES, {"description": "Other", "target": {**bare, **said}})) == []

    @pytest.mark.parametrize(
        ("bare", "said"),
        [
            (NETWORK, {"concurrent": False}),
            (NETWORK, {"mode": "discuss"}),
            (PARALLEL, {"mode": "all"}),
            (PARALLEL, {"traceMetadata": {}}),
            (router(SALES, BILLS), {"description": "Prices; Bills and refunds", "instructions": ""}),
            ({"type": "planned", "className": "a.B"}, {"arguments": {}}),
            (HIERARCHY, {"description": ""}),
        ],
    )
    def test_what_is_so_anyway_is_no_difference(self, bare: dict[str, object], said: dict[str, object]) -> None:
        assert between(bare, {**bare, **said}) == []

    def test_empty_filters_and_the_usual_format_are_none(self) -> None:
        prompt = {"source": "provider", "providerId": "p", "promptId": "q"}
        server = {"baseUrl": "https://acme.example"}
        before = agent("A", instructions=prompt, responder=server)
        after = agent(
            "A", instructions={**prompt, "filters": {}}, responder={**server, "apiFormat": "openai-responses"}
        )
        assert between(before, after) == []

    def test_anything_else_is_a_difference(self) -> None:
        said: dict[str, object] = {"parallelTools": False, "maxAttempts": 4, "options": {"topP": 1.0}}
        before, after = agent("A"), agent("A", **said)
        assert {one.path for one in between(before, after)} == said.keys()
        other = {"provider": "OPEN_ROUTER", "apiKeyEnvVar": "OPENAI_API_KEY"}
        assert between(agent("A", responder={"provider": "OPEN_ROUTER"}), agent("A", responder=other)) == [
            Difference("responder.apiKeyEnvVar", "added", after="OPENAI_API_KEY")
        ]

    def test_no_groups_are_not_all_groups(self) -> None:
        before, after = agent("A", autonomy={}), agent("A", autonomy={"enabledToolGroups": []})
        assert between(before, after) == [Difference("autonomy.enabledToolGroups", "added", after=[])]

    def test_a_yes_is_no_one(self) -> None:
        before = {"type": "planned", "className": "a.B", "arguments": {"x": True, "y": [1, 2], "z": [[1], {"k": 1}]}}
        after = {"type": "planned", "className": "a.B", "arguments": {"x": 1, "y": [2, 1], "z": [[1], {"k": 2}]}}
        assert between(before, after) == [
            Difference("arguments.x", "changed", True, 1),
            Difference("arguments.y", "moved", ["1", "2"], ["2", "1"]),
            Difference("arguments.z[1].k", "changed", 1, 2),
        ]

    def test_another_type_in_the_same_place(self) -> None:
        before = {"type": "planned", "className": "a.B"}
        after = {"type": "function", "functionName": "a.b"}
        assert between(before, after) == [
            Difference("type", "changed", "planned", "function"),
            Difference("className", "removed", before="a.B"),
            Difference("functionName", "added", after="a.b"),
        ]


class TestNamedThings:
    def test_they_are_found_by_name_wherever_they_are(self) -> None:
        changed, new = route("Billing", "Bills and refunds", temperature=0.1), route("New", "News")
        found = between(router(SALES, BILLS), router(new, changed, SALES))
        assert [(one.path, one.change) for one in found] == [
            ("routes[Billing].target.temperature", "added"),
            ("routes[New]", "added"),
            ("routes", "moved"),
        ]
        assert found[1].to_data() == {"path": "routes[New]", "change": "added", "after": new}
        assert (found[2].before, found[2].after) == (["Sales", "Billing"], ["Billing", "Sales"])

    def test_by_name_when_what_they_are_for_changes(self) -> None:
        assert between(router(SALES, BILLS), router(SALES, {**BILLS, "description": "Money"})) == [
            Difference("routes[Billing].description", "changed", "Bills and refunds", "Money")
        ]

    def test_by_what_they_are_for_when_their_name_changes(self) -> None:
        renamed = route("Accounts", "Bills and refunds", instructions="You are Billing.")
        assert between(router(SALES, BILLS), router(SALES, renamed)) == [
            Difference("routes[Billing].target.name", "changed", "Billing", "Accounts")
        ]

    def test_one_that_is_gone(self) -> None:
        found = between(router(SALES, BILLS), router(BILLS))
        assert [(one.path, one.change) for one in found] == [("routes[Sales]", "removed")]
        assert found[0].to_data().keys() == {"path", "change", "before"}

    def test_two_of_one_name_are_told_from_each_other(self) -> None:
        again = route("Sales", "Offers")
        changed = route("Sales", "Offers", maxTurns=9)
        assert between(router(SALES, again), router(SALES, changed)) == [
            Difference("routes[Sales #2].target.maxTurns", "changed", 5, 9)
        ]

    @pytest.mark.parametrize(
        ("data", "old", "path"),
        [
            (SUPERVISOR, "You are Writer.", "workers[Writer].worker.instructions"),
            (NETWORK, "You are Users.", "peers[Users].instructions"),
            (PARALLEL, "You are Technical.", "members[Technical].instructions"),
            (SUPPORT, "You are Billing.", "handoffs[escalate_to_billing].target.instructions"),
            (HIERARCHY, "You are VP_Engineering.", "departments.Engineering.manager.instructions"),
        ],
    )
    def test_in_every_constellation(self, data: dict[str, object], old: str, path: str) -> None:
        text = json.dumps(data)
        assert between(data, json.loads(text.replace(old, "New."))) == [Difference(path, "changed", old, "New.")]

    def test_a_department_whose_name_is_no_simple_word(self) -> None:
        text = json.dumps(HIERARCHY).replace('"Engineering"', '"R & D"')
        found = between(json.loads(text), json.loads(text.replace("You are VP_Engineering.", "New.")))
        assert [one.path for one in found] == ['departments."R & D".manager.instructions']

    def test_tools_and_guardrails(self) -> None:
        before = agent("A", toolClassNames=["a.B", "a.C"], inputGuardrails=[{"registryId": "x"}, {"className": "a.D"}])
        after = agent("A", toolClassNames=["a.C", "a.E"], inputGuardrails=[{"className": "a.D"}, {"registryId": "x"}])
        assert between(before, after) == [
            Difference("toolClassNames[a.B]", "removed", before="a.B"),
            Difference("toolClassNames[a.E]", "added", after="a.E"),
            Difference("inputGuardrails", "moved", ["x", "a.D"], ["a.D", "x"]),
        ]


class TestTexts:
    def test_long_ones_are_told_line_by_line(self) -> None:
        before = "\n".join(map(str, range(9)))
        found = between(agent("A", instructions=before), agent("A", instructions=before.replace("4", "four")))
        assert found[0].lines == ("@@ -3,5 +3,5 @@", " 2", " 3", "-4", "+four", " 5", " 6")

    def test_one_long_line_is_one_line(self) -> None:
        before, after = "a" * 101, "b"
        assert Difference("x", "changed", before, after).lines == ("@@ -1 +1 @@", f"-{before}", f"+{after}")

    @pytest.mark.parametrize(
        "other",
        [
            Difference("x", "changed", "a", "b"),
            Difference("x", "added", after="a\nb"),
            Difference("x", "moved", ["a"], ["b"]),
        ],
    )
    def test_nothing_else_has_lines(self, other: Difference) -> None:
        assert other.lines == ()


@examples(15, *HealthCheck)
@given(constellations(depth=6), constellations(depth=6))
def test_equal_blueprints_and_only_those_do_not_differ(one: AnyRunnable, other: AnyRunnable) -> None:
    first, second = export_blueprint(one, strict=True), export_blueprint(other, strict=True)
    assert compare_blueprints(first, Blueprint.from_yaml(first.to_yaml())) == ()
    assert bool(compare_blueprints(first, second)) == (first != second)
    assert len(compare_blueprints(first, second)) == len(compare_blueprints(second, first))


class TestFollowing:
    def test_what_is_in_other_files_takes_its_place(self, tmp_path: Path) -> None:
        (tmp_path / "inner").mkdir()
        (tmp_path / "inner/a.md").write_text("Help.", "utf-8")
        said = {**BILLS, "target": {"$ref": "${FOLDER}/billing.json"}}
        (tmp_path / "desk.json").write_text(json.dumps(router(SALES, said)), "utf-8")
        target = agent("Billing", instructions={"source": "file", "path": "a.md"})
        (tmp_path / "inner/billing.json").write_text(json.dumps(target), "utf-8")

        desk = Blueprint.from_file(tmp_path / "desk.json")
        found = resolve_references(desk, environment={"FOLDER": "inner"})

        assert found.problems == ()
        assert found.blueprint == Blueprint.from_data(
            router(SALES, route("Billing", "Bills and refunds", instructions="Help."))
        )
        assert {file.resolve() for file in found.files} == {tmp_path / "inner/billing.json", tmp_path / "inner/a.md"}
        named = resolve_references(desk, environment={"FOLDER": "inner"}, texts=False).blueprint.to_json()
        assert '"path": "a.md"' in named
        assert "$ref" not in named

    def test_what_refers_to_nothing_is_the_same_object(self) -> None:
        blueprint = Blueprint.from_data(ROUTER)
        assert resolve_references(blueprint).blueprint is blueprint

    def test_what_cannot_be_read_is_left_and_told_with_its_place(self, tmp_path: Path) -> None:
        file = tmp_path / "desk.yaml"
        file.write_text(
            "type: router\nname: Desk\nmodel: m\nroutes:\n"
            "- {description: a, target: {$ref: gone.json}}\n"
            "- {description: b, target: {$ref: ../out.json}}\n"
            "- {description: c, target: {$ref: '${NOT_SET_ANYWHERE}.json'}}\n"
            "- {description: d, target: {$ref: desk.yaml}}\n"
            "- description: e\n"
            "  target: {type: agent, name: E, model: m, maxTurns: 1, instructions: {source: file, path: gone.md}}\n",
            "utf-8",
        )
        blueprint = Blueprint.from_file(file)
        found = resolve_references(blueprint, root=tmp_path, environment={})

        assert found.blueprint == blueprint
        assert [(one.path, one.line) for one in found.problems] == [
            ("routes[0].target.$ref", 5),
            ("routes[1].target.$ref", 6),
            ("routes[2].target.$ref", 7),
            ("routes[3].target.$ref", 8),
            ("routes[4].target.instructions.path", 10),
        ]
        for problem, told in zip(
            found.problems, ("No such file", "outside", "not set", "circle", "gone.md"), strict=True
        ):
            assert told in problem.message

    def test_a_few_files_cannot_be_made_many(self, tmp_path: Path) -> None:
        for number in range(20):
            inner = {"$ref": f"{number + 1}.json"}
            data = {"type": "parallel", "name": "P", "members": [inner, inner]}
            (tmp_path / f"{number}.json").write_text(json.dumps(data if number < 19 else agent("A")), "utf-8")
        found = resolve_references(Blueprint.from_file(tmp_path / "0.json"), limits=Limits(nodes=100))
        assert [one.message for one in found.problems] == ["more than 100 references are not followed"]

    @pytest.mark.parametrize("files", [40, 400])
    def test_files_in_files_are_nested_no_deeper_than_one_may_be(self, files: int, tmp_path: Path) -> None:
        for number in range(files):
            data = {"type": "parallel", "name": "P", "members": [{"$ref": f"{number + 1}.json"}]}
            (tmp_path / f"{number}.json").write_text(json.dumps(data if number < files - 1 else agent("A")), "utf-8")
        blueprint = Blueprint.from_file(tmp_path / "0.json")
        problems = resolve_references(blueprint).problems
        assert [one.message for one in problems] == [
            one.message for one in blueprint.problems(environment={"OPENROUTER_API_KEY": "k"})
        ]
        assert bool(problems) == (files == 400)
        assert all("nested" in one.message for one in problems)


class TestOutline:
    def test_all_that_is_in_a_router(self) -> None:
        data = router(
            route(
                "Billing",
                "Bills",
                toolClassNames=["a.B", "a.C"],
                toolGroups=["web"],
                inputGuardrails=[{"registryId": "short"}, {"className": "a.D"}],
                outputType="int",
                handoffs=[{"name": "up", "description": "When angry", "target": agent("Boss")}],
                agentTools=[{"name": "ask", "description": "", "target": {"$ref": "x.json"}}],
            ),
            fallback=agent("Other", responder={"baseUrl": "https://me:secret@acme.example/v1"}),
        )
        model = "openai/gpt-4o at OPEN_ROUTER"
        facts = (
            ("tools", "a.B, a.C"),
            ("tool groups", "web"),
            ("input guardrails", "short, a.D"),
            ("output", "int"),
        )
        inner = (
            Outline("handoff", "agent", "Boss", "up: When angry", model),
            Outline("agent tool", "$ref", "x.json", "ask"),
        )
        assert build_outline(Blueprint.from_data(data)) == Outline(
            *("", "router", "Desk", "", "m"),
            inner=(
                Outline("route", "agent", "Billing", "Bills", model, facts, inner),
                Outline("fallback", "agent", "Other", "", "openai/gpt-4o at acme.example"),
            ),
        )

    def test_a_hierarchy_has_departments(self) -> None:
        found = build_outline(Blueprint.from_data(HIERARCHY))
        executive, department = found.inner[:2]
        assert (executive.role, executive.type) == ("executive", "agent")
        assert (department.role, department.type, department.name) == ("department", "", "Engineering")
        assert [one.role for one in department.inner][:2] == ["manager", "worker"]

    @pytest.mark.parametrize(
        ("data", "roles"), [(NETWORK, {"peer", "synthesizer"}), (PARALLEL, {"member"}), (SUPERVISOR, {"worker"})]
    )
    def test_the_roles(self, data: dict[str, object], roles: set[str]) -> None:
        assert {one.role for one in build_outline(Blueprint.from_data(data)).inner} == roles

    def test_what_an_import_finds(self) -> None:
        planned = build_outline(
            Blueprint.from_data({"type": "planned", "className": "acme.Teller", "arguments": {"n": [1]}})
        )
        assert planned == Outline("", "planned", "Teller", facts=(("className", "acme.Teller"),))

    def test_a_file_is_named(self, tmp_path: Path) -> None:
        (tmp_path / "a.json").write_text(json.dumps(agent("A")), "utf-8")
        (tmp_path / "b.json").write_text(
            json.dumps({"type": "parallel", "name": "P", "members": [{"$ref": "a.json"}]}), "utf-8"
        )
        found = build_outline(resolve_references(Blueprint.from_file(tmp_path / "b.json")).blueprint)
        assert [one.file for one in (found, *found.inner)] == [tmp_path / "b.json", tmp_path / "a.json"]
