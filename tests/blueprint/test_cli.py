"""`tactician blueprint` as a user sees it."""

import asyncio
import json
from pathlib import Path

import pytest

from tests.blueprint.test_examples import ROUTER, agent
from tests.cli.support import Done, tactician
from tests.support.chat_server import ChatServer, answers, call, completion

KEY = {"OPENROUTER_API_KEY": "key-one"}
ACME = """
from tactician import guardrails, tool
from tactician.guardrails import passed

@tool
def search(text: str) -> str:
    \"\"\"Search.\"\"\"
    return text

@tool(needs_approval=True)
def pay(amount: int) -> str:
    \"\"\"Pay.\"\"\"
    return "paid"

@guardrails.input_guardrail("acme_cli_short")
def short(text: str):
    return passed()
"""
WRONG = "type: agent\nname: Wrong\nmodle: m\ninstructions: i\nmaxTurns: no\n"
BUILT_WRONG = """
type: agent
name: Support
model: m
instructions: {source: file, path: gone.md}
maxTurns: 3
responder: {provider: OPEN_ROUTER}
toolClassNames: [acme.search]
inputGuardrails: [{registryId: acme_cli_short}]
"""


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path) -> None:
    put(tmp_path / "acme.py", ACME)
    put(tmp_path / "good.json", json.dumps(ROUTER))
    put(tmp_path / "wrong.yaml", WRONG)


def put(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


def blueprint(folder: Path, *arguments: str, **env: str) -> Done:
    done = tactician("blueprint", *arguments, cwd=folder, env=env)
    assert "Traceback" not in done.err
    return done


class TestCheck:
    def test_what_is_right_is_quiet(self, tmp_path: Path) -> None:
        done = blueprint(tmp_path, "check", "good.json", "good.json", **KEY)
        assert (done.code, done.out, done.err) == (0, "", "2 blueprints, nothing is wrong\n")

    def test_every_mistake_of_every_file_is_a_line(self, tmp_path: Path) -> None:
        done = blueprint(
            tmp_path, "check", "wrong.yaml", "good.json", "gone.json", "acme.py", str(tmp_path / "wrong.yaml")
        )
        assert done.code == 1
        assert done.out.splitlines() == [
            "wrong.yaml:1: model: Field required",
            "wrong.yaml:5: maxTurns: Input should be a valid integer",
            "wrong.yaml:3: modle: there is no such field; did you mean 'model'?",
            *(line for line in done.out.splitlines() if line.startswith("good.json:1: ")),
            "gone.json: it cannot be read: No such file or directory",
            "acme.py: a blueprint is a file that ends in .json, .yaml, .yml",
        ]
        assert "OPENROUTER_API_KEY is not set" in done.out

    def test_names_keys_guardrails_and_files_are_looked_up(self, tmp_path: Path) -> None:
        put(tmp_path / "support.yaml", BUILT_WRONG)
        done = blueprint(tmp_path, "check", "support.yaml")
        assert done.code == 1
        assert [line.split(": ")[:2] for line in sorted(done.out.splitlines())] == [
            ["support.yaml:5", "instructions"],
            ["support.yaml:7", "responder.apiKeyEnvVar"],
            ["support.yaml:8", "toolClassNames[0]"],
            ["support.yaml:9", "inputGuardrails[0]"],
        ]
        assert blueprint(tmp_path, "check", "--no-build", "support.yaml").code == 0

    def test_modules_and_packages_of_the_working_directory_are_found(self, tmp_path: Path) -> None:
        put(tmp_path / "support.yaml", BUILT_WRONG)
        put(tmp_path / "gone.md", "Help.")
        done = blueprint(tmp_path, "check", "--module", "acme", "--allow", "acme", "support.yaml", **KEY)
        assert (done.code, done.out) == (0, "")
        done = blueprint(tmp_path, "check", "--module", "acme", "support.yaml", **KEY, TACTICIAN_ALLOW="acme")
        assert (done.code, done.out) == (0, "")
        done = blueprint(tmp_path, "check", "--module", "acme", "support.yaml", **KEY)
        assert "toolClassNames[0]" in done.out

    def test_nothing_of_the_working_directory_is_imported_before_it_is_trusted(self, tmp_path: Path) -> None:
        put(tmp_path / "xllamacpp.py", "raise SystemExit('imported')")
        put(tmp_path / "acme_bad.py", "raise SystemExit('imported')")
        put(tmp_path / "a.json", json.dumps(agent("A", toolClassNames=["acme_bad.run"])))
        done = blueprint(tmp_path, "check", "a.json", **KEY)
        assert done.code == 1
        assert "imported" not in done.out + done.err

    def test_a_module_that_cannot_be_imported(self, tmp_path: Path) -> None:
        put(tmp_path / "broken.py", "1 / 0")
        for name, why in {
            "broken": "division by zero",
            "nowhere": "No module named 'nowhere'",
            "..": "relative",
        }.items():
            done = blueprint(tmp_path, "check", "--module", name, "good.json")
            assert done.code == 2
            assert f"The module {name!r} cannot be imported" in done.err
            assert why in done.err

    def test_mistakes_in_files_that_are_named_have_their_file(self, tmp_path: Path) -> None:
        put(tmp_path / "inner/a.json", json.dumps(agent("A", toolClassNames=["acme.nothing"])))
        put(tmp_path / "outer.yaml", "$ref: inner/a.json\n")
        done = blueprint(tmp_path, "check", "outer.yaml", "inner/a.json", **KEY)
        assert [line.split(": ")[:2] for line in done.out.splitlines()] == [["inner/a.json:1", "toolClassNames[0]"]]

    def test_nothing_in_a_file_ends_in_a_traceback(self, tmp_path: Path) -> None:
        odd = "", "[", "[]", "null", "{}", '{"type": 1}', '"' * 3, "a: b: c", "\0", "[" * 5_000, "- " * 5_000
        files = [f"{place}.{ending}" for place in range(len(odd)) for ending in ("json", "yaml")]
        for file in files:
            put(tmp_path / file, odd[int(file.partition(".")[0])])
        done = blueprint(tmp_path, "check", *files)
        assert done.code == 1
        assert dict.fromkeys(line.partition(":")[0] for line in done.out.splitlines()) == dict.fromkeys(files)

    def test_a_file_that_is_no_text(self, tmp_path: Path) -> None:
        (tmp_path / "odd.json").write_bytes(b"\xff\xfe\x00")
        (tmp_path / "folder.json").mkdir()
        done = blueprint(tmp_path, "check", "odd.json", "folder.json")
        assert done.out.splitlines() == [
            "odd.json: it cannot be read: the file is not UTF-8",
            "folder.json: it cannot be read: it is not a file",
        ]

    def test_mistakes_of_form_hide_no_others(self, tmp_path: Path) -> None:
        put(tmp_path / "support.yaml", BUILT_WRONG.replace("maxTurns", "maxTurn"))
        done = blueprint(tmp_path, "check", "support.yaml")
        assert [line.split(": ")[1] for line in done.out.splitlines()] == [
            "maxTurns",
            "maxTurn",
            "instructions",
            "responder.apiKeyEnvVar",
            "toolClassNames[0]",
            "inputGuardrails[0]",
        ]

    def test_the_advice_is_for_the_command_line(self, tmp_path: Path) -> None:
        put(tmp_path / "inner/support.yaml", BUILT_WRONG.replace("gone.md", "../up.md"))
        put(tmp_path / "up.md", "Help.")
        done = blueprint(tmp_path, "check", "--root", "inner", "inner/support.yaml", **KEY)
        instructions, tools, guardrails = done.out.splitlines()
        assert instructions.endswith("no file is read there; name another folder with --root")
        assert tools.endswith("Allow its package with --allow (allowed: none)")
        assert "Import with --module the module that declares it with @guardrails" in guardrails
        done = blueprint(tmp_path, "run", "--root", "inner", "inner/support.yaml", "Help", **KEY)
        assert done.code == 2
        assert all(f"--{name}" in done.err for name in ("root", "allow", "module"))
        more = "--module", "acme", "--allow", "acme"
        assert blueprint(tmp_path, "check", *more, "inner/support.yaml", **KEY).code == 0

    def test_phases_and_reviews_of_an_ensemble_are_drawn(self, tmp_path: Path) -> None:
        put(
            tmp_path / "news.yaml",
            """
type: ensemble
name: News
phases:
- name: research
  tasks: [{description: Find facts, reviews: [{timing: after, requiredRole: editor}]}]
  review: {person: {role: editor}}
- {name: write, after: [research], tasks: [{description: Write}], review: {function: check}}
""",
        )
        done = blueprint(tmp_path, "show", "news.yaml")
        assert [line.rstrip() for line in done.out.splitlines()] == [
            "ensemble News",
            "├── phase research",
            "│   ├── review by a person, role editor",
            "│   └── task Find facts",
            "│       └── reviews after, role editor",
            "└── phase write",
            "    ├── after research",
            "    ├── review by check",
            "    └── task Write",
        ]

    def test_nothing_in_a_file_commands_the_terminal(self, tmp_path: Path) -> None:
        put(tmp_path / "a.yaml", WRONG.replace("modle", r'"\e]0;pwned\a\n\x9b2J\u202e"'))
        done = blueprint(tmp_path, "check", "a.yaml")
        assert r'a.yaml:3: "\x1b]0;pwned\x07\n\x9b2J\u202e": there is no such field' in done.out
        done = blueprint(tmp_path, "run", "a.yaml", "Help")
        assert r"\x1b]0;pwned\x07" in done.err
        assert not set("\x1b\x07\x9b\u202e") & set(done.out + done.err)

    def test_files_after_one_that_ends_the_program_are_checked(self, tmp_path: Path) -> None:
        put(tmp_path / "acme_ends.py", "raise SystemExit('over')")
        put(
            tmp_path / "acme_odd.py",
            "from typing import Literal\nfrom tactician.blueprint import Blueprint, blueprint_type\n"
            "@blueprint_type('odd')\nclass Odd(Blueprint):\n    type: Literal['odd'] = 'odd'\n"
            "    def build_with(self, builder): raise SystemExit('odd')\n",
        )
        put(tmp_path / "ends.json", json.dumps(agent("A", toolClassNames=["acme_ends.run"])))
        put(tmp_path / "odd.json", '{"type": "odd"}')
        more = "--allow", "acme_ends", "--module", "acme_odd"
        done = blueprint(tmp_path, "check", *more, "ends.json", "odd.json", "wrong.yaml", **KEY)
        assert done.code == 1
        assert [line.partition(":")[0] for line in done.out.splitlines()] == [
            *("ends.json", "odd.json"),
            *["wrong.yaml"] * 3,
        ]
        assert "over" in done.out
        assert "odd.json: SystemExit: odd" in done.out


class TestRun:
    async def test_progress_goes_to_stderr_and_the_result_to_stdout(self, tmp_path: Path) -> None:
        put(tmp_path / "support.json", json.dumps(agent("Support", responder=None, toolClassNames=["acme.search"])))
        replies = completion(None, call("1", "search", '{"text": "bills"}')), completion("Done.")
        done = await self.ran(tmp_path, *replies, more=("-p", "-r"))
        assert (done.code, done.out) == (0, "Done.\n"), done.err
        assert "· search(" in done.err
        assert "Help me" in done.err
        assert "response of" in done.err

    async def test_one_that_waits_says_so(self, tmp_path: Path) -> None:
        put(tmp_path / "support.json", json.dumps(agent("Support", responder=None, toolClassNames=["acme.pay"])))
        done = await self.ran(tmp_path, completion(None, call("1", "pay", '{"amount": 3}')))
        assert (done.code, done.out) == (3, "")
        assert "pay" in done.err
        assert "This run waits for an answer, and no store keeps it. Run it in a terminal to answer at once" in done.err

    @pytest.mark.parametrize("command", [("run",), ("blueprint", "run")])
    async def test_one_that_waits_is_kept_in_a_store_and_answered_later(
        self, command: tuple[str, ...], tmp_path: Path
    ) -> None:
        put(tmp_path / "support.json", json.dumps(agent("Support", responder=None, toolClassNames=["acme.pay"])))
        options = "--allow", "acme", "--model", "openai:m"
        replies = completion(None, call("1", "pay", '{"amount": 3}')), completion("Paid.")
        async with ChatServer(*map(answers, replies)) as server:
            keys = {"OPENAI_API_KEY": "sk-test", "OPENAI_BASE_URL": server.url}
            first = *command, "support.json", "Pay", "--store", "runs.db", *options
            asked = await asyncio.to_thread(tactician, *first, cwd=tmp_path, env=keys)
            assert asked.code == 3
            told = asked.err.partition("Answer with: tactician ")[2].split()
            assert told[-4:] == ["--store", "runs.db", "--allow", "acme"]
            done = await asyncio.to_thread(tactician, *told, "--model", "openai:m", cwd=tmp_path, env=keys)
        assert (done.code, done.out) == (0, "Paid.\n"), done.err

    async def ran(self, folder: Path, *replies: dict[str, object], more: tuple[str, ...] = ()) -> Done:
        arguments = "run", "support.json", "Help me", "--allow", "acme", "--model", "openai:m", *more
        async with ChatServer(*map(answers, replies)) as server:
            return await asyncio.to_thread(blueprint, folder, *arguments, OPENAI_BASE_URL=server.url)

    def test_a_wrong_one_is_told(self, tmp_path: Path) -> None:
        done = blueprint(tmp_path, "run", "wrong.yaml", "Help me")
        assert (done.code, done.out) == (2, "")
        assert "error: The blueprint wrong.yaml is wrong:" in done.err
        assert "line 3: modle" in done.err


def test_the_schema_has_the_types_of_modules_that_are_imported(tmp_path: Path) -> None:
    put(
        tmp_path / "acme_types.py",
        "from typing import Literal\nfrom tactician.blueprint import Blueprint, blueprint_type\n"
        "@blueprint_type('acme_crew')\nclass Crew(Blueprint):\n"
        "    'Several tasks.'\n    type: Literal['acme_crew'] = 'acme_crew'\n",
    )
    done = blueprint(tmp_path, "schema", "--module", "acme_types")
    assert json.loads(done.out)["$defs"]["Crew"]["required"] == ["type"]


class TestShow:
    def test_a_constellation_and_what_it_refers_to(self, tmp_path: Path) -> None:
        put(
            tmp_path / "desk.yaml",
            """
type: router
name: Desk
model: small
routes:
- {description: "Bills [and refunds]", target: {$ref: inner/billing.json}}
- description: Development
  target:
    type: hierarchical
    maxTurns: 3
    executive: {type: agent, name: CEO, model: large, instructions: i, maxTurns: 3}
    departments:
      Engineering:
        manager: {type: agent, name: VP, model: large, instructions: i, maxTurns: 3}
        workers: [{type: planned, className: acme.Coder}]
""",
        )
        target = agent("Billing", toolClassNames=["acme.search"], outputGuardrails=[{"registryId": "no_pii"}])
        put(tmp_path / "inner/billing.json", json.dumps(target))
        done = blueprint(tmp_path, "show", "desk.yaml")
        assert (done.code, done.err) == (0, "")
        assert [line.rstrip() for line in done.out.splitlines()] == [
            "router Desk  small",
            "├── route agent Billing  openai/gpt-4o at OPEN_ROUTER  Bills [and refunds]  inner/billing.json",
            "│   ├── tools acme.search",
            "│   └── output guardrails no_pii",
            "└── route hierarchical CEO_Hierarchy  Development",
            "    ├── executive agent CEO  large",
            "    └── department Engineering",
            "        ├── manager agent VP  large",
            "        └── worker planned Coder",
            "            └── className acme.Coder",
        ]

    def test_nothing_in_a_file_commands_the_terminal(self, tmp_path: Path) -> None:
        odd = "\x1b]0;pwned\x07\n"
        inner = agent(odd, model=odd, toolClassNames=[odd], instructions="i")
        data = {"type": "router", "name": odd, "model": "m", "routes": [{"description": odd, "target": inner}]}
        put(tmp_path / "odd.json", json.dumps(data))
        done = blueprint(tmp_path, "show", "odd.json")
        assert not set("\x1b\x07") & set(done.out)
        assert len(done.out.splitlines()) == 3
        assert r"router \x1b]0;pwned\x07\n  m" in done.out
        put(tmp_path / "other.json", json.dumps({**data, "name": "other"}))
        done = blueprint(tmp_path, "diff", "odd.json", "other.json")
        assert not set("\x1b\x07") & set(done.out)

    def test_files_are_followed_in_a_folder(self, tmp_path: Path) -> None:
        put(tmp_path / "inner/up.json", '{"$ref": "../good.json"}')
        assert blueprint(tmp_path, "show", "inner/up.json").code == 0
        assert blueprint(tmp_path, "diff", "inner/up.json", "good.json").code == 0
        for command in (["show"], ["diff", "good.json"]):
            done = blueprint(tmp_path, *command, "inner/up.json", "--root", "inner")
            assert done.code == 2
            assert "name another folder with --root" in done.err

    def test_what_cannot_be_followed_is_drawn_as_it_is_and_told(self, tmp_path: Path) -> None:
        put(tmp_path / "group.yaml", "type: parallel\nname: G\nmembers:\n- $ref: gone.json\n")
        done = blueprint(tmp_path, "show", "group.yaml")
        assert done.code == 2
        assert "member $ref gone.json" in done.out
        assert "line 4: members[0].$ref: gone.json: it cannot be read" in done.err


class TestDiff:
    def test_what_differs_is_told_by_its_path(self, tmp_path: Path) -> None:
        steps = "\n".join(map(str, range(6)))
        before = agent("Support", model="small", toolClassNames=["acme.old"], temperature=0.5, instructions=steps)
        handoff = {"name": "up", "description": "When [angry]", "target": agent("Boss")}
        after = agent("Support", model="large", handoffs=[handoff], instructions=steps.replace("5", "five"))
        put(tmp_path / "a.json", json.dumps(before))
        put(tmp_path / "b.json", json.dumps(after))
        done = blueprint(tmp_path, "diff", "a.json", "b.json")
        assert (done.code, done.err) == (1, "")
        assert [line for line in done.out.splitlines() if not line.startswith("+ handoffs")] == [
            '~ model: "small" → "large"',
            "~ instructions:",
            *("    @@ -4,3 +4,3 @@", "     3", "     4", "    -5", "    +five"),
            "- temperature: 0.5",
            "- toolClassNames[acme.old]",
        ]
        assert '+ handoffs[up]: {"name": "up", "description": "When [angry]", ' in done.out

    def test_another_order_is_told(self, tmp_path: Path) -> None:
        for name, members in {"a": [agent("A"), agent("B")], "b": [agent("B"), agent("A")]}.items():
            put(tmp_path / f"{name}.json", json.dumps({"type": "parallel", "name": "P", "members": members}))
        done = blueprint(tmp_path, "diff", "a.json", "b.json")
        assert (done.code, done.out) == (1, '~ members: in another order: ["A", "B"] → ["B", "A"]\n')

    def test_as_json(self, tmp_path: Path) -> None:
        put(tmp_path / "a.json", json.dumps(agent("Äh")))
        put(tmp_path / "b.json", json.dumps(agent("Öh", temperature=1.5)))
        done = blueprint(tmp_path, "diff", "--json", "a.json", "b.json")
        assert done.code == 1
        assert json.loads(done.out) == [
            {"path": "name", "change": "changed", "before": "Äh", "after": "Öh"},
            {"path": "instructions", "change": "changed", "before": "You are Äh.", "after": "You are Öh."},
            {"path": "temperature", "change": "added", "after": 1.5},
        ]
        done = blueprint(tmp_path, "diff", "--json", "a.json", "a.json")
        assert (done.code, done.out) == (0, "[]\n")

    def test_where_something_is_written_does_not_matter(self, tmp_path: Path) -> None:
        put(tmp_path / "one.json", json.dumps({**ROUTER, "fallback": agent("General", instructions="Help.\n")}))
        put(tmp_path / "two.json", json.dumps({**ROUTER, "fallback": {"$ref": "inner/general.json"}}))
        general = agent("General", instructions={"source": "file", "path": "general.md"})
        put(tmp_path / "inner/general.json", json.dumps(general))
        put(tmp_path / "inner/general.md", "Help.\n")
        assert blueprint(tmp_path, "diff", "one.json", "two.json") == Done(0, "", "")
        assert blueprint(tmp_path, "diff", "--no-follow", "one.json", "two.json").code == 1

    def test_files_that_cannot_be_followed_are_told(self, tmp_path: Path) -> None:
        put(tmp_path / "ref.yaml", "$ref: gone.json\n")
        done = blueprint(tmp_path, "diff", "ref.yaml", "good.json")
        assert (done.code, done.out) == (2, "")
        assert "--no-follow" in done.err
        assert "line 1: $ref: gone.json: it cannot be read" in done.err
        assert blueprint(tmp_path, "diff", "--no-follow", "ref.yaml", "ref.yaml").code == 0

    @pytest.mark.parametrize("files", [("wrong.yaml", "good.json"), ("good.json", "gone.json")])
    def test_bad_files_are_trouble_not_a_difference(self, files: tuple[str, str], tmp_path: Path) -> None:
        done = blueprint(tmp_path, "diff", *files)
        assert (done.code, done.out) == (2, "")
        assert "is wrong" in done.err


def test_the_commands_are_listed(tmp_path: Path) -> None:
    done = blueprint(tmp_path, "--help")
    assert all(name in done.out for name in ("check", "run", "schema", "show", "diff"))
