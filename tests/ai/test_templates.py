"""Prompts made of Jinja templates."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent

import pytest

from tactician import Agent, Ai, AssistantMessage, Blueprint, Image, UserMessage
from tactician.errors import BlueprintError, ConfigurationError, MissingTemplateVariables, TemplateError
from tactician.llm import Message, Text
from tactician.llm.messages import SystemMessage
from tactician.prompts import InstructionTemplate, Templates
from tactician.prompts.templates import load_default_templates
from tactician.testing import ScriptedModel


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder `prompts` of the working directory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TACTICIAN_CONFIG", raising=False)
    load_default_templates.cache_clear()
    yield tmp_path / "prompts"
    load_default_templates.cache_clear()


def write(file: Path, text: str) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(dedent(text), encoding="utf-8")
    return file


async def asked(model: ScriptedModel, ai: Ai, values: object) -> str:
    """The prompt of a call."""
    model.script("x")
    await ai.generate_text(values)
    return model.calls[-1].prompt


BRIEF = """\
    Write about {{ topic }}:
    {% for point in points %}
    - {{ point }}
    {% endfor %}
    """


async def test_the_values_are_given_where_a_prompt_would_be(scripted_model: ScriptedModel, folder: Path) -> None:
    write(folder / "stories" / "brief.jinja", BRIEF)
    scripted_model.script({"value": 7})
    ai = scripted_model.ai().with_template("stories/brief")

    assert await ai.create(int, {"topic": "the sea", "points": ["salt", "wind"]}) == 7
    assert scripted_model.calls[0].prompt == "Write about the sea:\n- salt\n- wind"


async def test_every_call_with_a_prompt_takes_values(scripted_model: ScriptedModel, folder: Path) -> None:
    write(folder / "t.jinja", "About {{ topic }}")
    ai = scripted_model.ai().with_template("t")
    scripted_model.script("text", {"value": None}, {"value": [1, 2]})

    assert await ai.generate_text({"topic": "a"}) == "text"
    assert await ai.create_if_possible(int, {"topic": "b"}) is None
    assert [item async for item in ai.stream_objects(int, {"topic": "c"})] == [1, 2]
    assert [call.prompt.splitlines()[-1] for call in scripted_model.calls] == ["About a", "About b", "About c"]


async def test_pictures_and_instructions_stay(scripted_model: ScriptedModel, folder: Path) -> None:
    write(folder / "t.jinja", "What is it?")
    picture = Image(url="u")
    ai = scripted_model.ai().with_template("t").with_image(picture).with_system_prompt("Be brief.")

    await asked(scripted_model, ai, {})
    expected = (SystemMessage("Be brief."), UserMessage((Text("What is it?"), picture)))
    assert scripted_model.calls[0].messages == expected


async def test_missing_values_are_all_named(scripted_model: ScriptedModel, folder: Path) -> None:
    write(folder / "t.jinja", "{{ topic }} {% if mood is defined %}{{ mood }}{% endif %}{{ words + 1 }}{{ size }}")

    with pytest.raises(MissingTemplateVariables) as raised:
        await scripted_model.ai().with_template("t").generate_text({"size": 1, "more": 2})

    assert raised.value.variables == ("topic", "words")
    assert raised.value.provided_keys == ("size", "more")
    assert raised.value.template == "t"
    assert str(raised.value) == (
        "The template 't': it needs values for 'topic', 'words' (given: 'size', 'more'); pass them by these names"
    )
    assert not scripted_model.calls


async def test_missing_values_of_a_part_are_named_as_well(scripted_model: ScriptedModel, folder: Path) -> None:
    write(folder / "whole.jinja", "{{ a }}{% include 'part' %}")
    write(folder / "part.jinja", "{% for one in b %}{{ one }}{% endfor %}")

    with pytest.raises(MissingTemplateVariables, match="'a', 'b' \\(given: none\\)"):
        await scripted_model.ai().with_template("whole").generate_text({})


async def test_what_fails_only_without_a_value_does_not_hide_what_is_missing(folder: Path) -> None:
    write(folder / "t.jinja", "{{ a }}{{ 1 // (b | default(0)) }}")

    with pytest.raises(MissingTemplateVariables, match="values for 'a' "):
        await Templates(folder).render("t", {})


async def test_a_missing_part_of_a_value_is_said_with_its_line(scripted_model: ScriptedModel, folder: Path) -> None:
    file = write(folder / "t.jinja", "Hello\n{{ person.name }}")

    with pytest.raises(TemplateError) as raised:
        await scripted_model.ai().with_template("t").generate_text({"person": {}})

    assert str(raised.value) == f"The template 't': {file}, line 2: 'dict object' has no attribute 'name'"
    assert not isinstance(raised.value, MissingTemplateVariables)


async def test_what_a_value_raises_is_said_with_its_line(folder: Path) -> None:
    write(folder / "outer.jinja", "{% include 'inner' %}")
    inner = write(folder / "inner.jinja", "one\ntwo\n{{ 1 // zero }}")

    with pytest.raises(TemplateError, match=f"{inner}, line 3: .*zero") as raised:
        await Templates(folder).render("outer", {"zero": 0})

    assert isinstance(raised.value.__cause__, ZeroDivisionError)


async def test_a_template_that_is_not_correct_is_said_with_its_line(folder: Path) -> None:
    file = write(folder / "t.jinja", "one\n{% for %}")

    with pytest.raises(TemplateError, match=f"{file}, line 2: Expected"):
        await Templates(folder).render("t", {})


@pytest.mark.parametrize("name", ["nope", "../secret", "/etc/hostname", "stories"])
async def test_a_template_that_is_not_there(scripted_model: ScriptedModel, folder: Path, name: str) -> None:
    write(folder / "stories" / "brief.jinja", "x")
    write(folder.parent / "secret.jinja", "x")

    with pytest.raises(TemplateError, match=f"there is no file {name}.jinja in .*prompts"):
        await scripted_model.ai().with_template(name).generate_text({})


async def test_a_part_that_is_not_there(folder: Path) -> None:
    file = write(folder / "t.jinja", "one\n{% include 'part' %}")

    with pytest.raises(TemplateError, match=f"{file}, line 2: there is no file part.jinja in {folder}"):
        await Templates(folder).render("t", {})


async def test_a_file_that_is_no_text(scripted_model: ScriptedModel, folder: Path) -> None:
    write(folder / "t.jinja", "").write_bytes(b"\xff\xfe")

    with pytest.raises(ConfigurationError, match="The template 't' cannot be read: the file is not UTF-8"):
        await scripted_model.ai().with_template("t").generate_text({})


@pytest.mark.parametrize("prompt", ["a text", ["a", "list"], UserMessage("x"), 7])
async def test_a_prompt_in_the_place_of_values_is_refused(scripted_model: ScriptedModel, prompt: object) -> None:
    with pytest.raises(ConfigurationError, match=f"needs values by name.* got an? {type(prompt).__name__}"):
        await scripted_model.ai().with_template("t").generate_text(prompt)


async def test_a_value_is_text_whatever_it_looks_like(scripted_model: ScriptedModel, folder: Path) -> None:
    write(folder / "t.jinja", "{{ text }}")
    text = "<b>{{ 7 * 7 }}</b> & {% raw %}"

    assert await asked(scripted_model, scripted_model.ai().with_template("t"), {"text": text}) == text


@pytest.mark.parametrize(
    "attack", ["values.append(1)", "''.__class__.__mro__", "f.__globals__", "'{0.__class__}'.format(f)"]
)
async def test_a_template_can_only_make_text(folder: Path, attack: str) -> None:
    write(folder / "t.jinja", f"{{{{ {attack} }}}}")
    values: list[int] = []

    with pytest.raises(TemplateError, match=r"unsafe|not safely callable"):
        await Templates(folder).render("t", {"values": values, "f": test_a_template_can_only_make_text})
    assert values == []


async def test_a_file_that_has_changed_is_read_again(scripted_model: ScriptedModel, folder: Path) -> None:
    file, ai = write(folder / "t.jinja", "one"), scripted_model.ai().with_template("t")
    first = await asked(scripted_model, ai, {})
    write(file, "two")
    os.utime(file, ns=(1, 1))
    second = await asked(scripted_model, ai, {})
    file.unlink()

    assert (first, second) == ("one", "two")
    with pytest.raises(TemplateError, match="there is no file"):
        await ai.generate_text({})


async def test_a_file_by_its_whole_name_or_its_path(
    scripted_model: ScriptedModel, folder: Path, tmp_path: Path
) -> None:
    write(folder / "a.md", "inside")
    elsewhere = write(tmp_path / "elsewhere" / "b.jinja", "outside, {% include 'c' %}")
    write(tmp_path / "elsewhere" / "c.jinja", "beside {{ it }}")
    ai = scripted_model.ai()

    assert await asked(scripted_model, ai.with_template("a.md"), {}) == "inside"
    assert await asked(scripted_model, ai.with_template(elsewhere), {"it": "it"}) == "outside, beside it"


async def test_the_first_folder_that_has_a_template_counts(tmp_path: Path) -> None:
    write(tmp_path / "one" / "a.jinja", "one")
    write(tmp_path / "two" / "a.jinja", "two")
    write(tmp_path / "two" / "b.jinja", "two")
    templates = Templates(tmp_path / "one", str(tmp_path / "two"))

    assert [await templates.render(name, {}) for name in "ab"] == ["one", "two"]
    assert repr(Templates("one", "two")) == "Templates('one', 'two')"


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The templates of a package that must not be imported."""
    root = tmp_path / "site" / "acme_texts" / "support"
    write(root / "__init__.py", "raise RuntimeError('nobody imports it')")
    write(root / "prompts" / "bot.jinja", '{% include "name.jinja" %}, {% include "tone.jinja" %}')
    write(root / "prompts" / "name.jinja", "Clause")
    write(root / "prompts" / "tone.jinja", "polite")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    return root


async def test_a_program_overrides_templates_of_a_package(
    scripted_model: ScriptedModel, folder: Path, package: Path
) -> None:
    write(folder.parent / "tactician.toml", '[templates]\nfolders = ["prompts", "package:acme_texts.support/prompts"]')
    ai = scripted_model.ai().with_template("bot")
    assert await asked(scripted_model, ai, {}) == "Clause, polite"

    write(folder / "tone.jinja", "brief")
    assert await asked(scripted_model, ai, {}) == "Clause, brief"
    (folder / "tone.jinja").unlink()
    assert await asked(scripted_model, ai, {}) == "Clause, polite"


async def test_a_template_of_a_package_by_its_own_path(
    scripted_model: ScriptedModel, folder: Path, package: Path
) -> None:
    write(folder / "tone.jinja", "never")
    ai = scripted_model.ai()
    bot = "package:acme_texts.support/prompts/bot"

    assert await asked(scripted_model, ai.with_template(bot), {}) == "Clause, polite"
    scripted_model.script("x")
    await Agent("Bot", model=scripted_model, instructions=InstructionTemplate(bot)).run("hi")
    assert scripted_model.calls[-1].messages[0] == SystemMessage("Clause, polite")
    assert "acme_texts" not in sys.modules


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("package:acme_nothing/prompts/bot", "There is no package 'acme_nothing'"),
        ("package:acme_texts.support/texts/bot", "has no folder 'texts'"),
        ("package:acme_texts.support/../../bot", r"has no folder '\.\./\.\.'"),
        ("package:../x/bot", r"'\.\.' is not the name of a package"),
        ("package:acme_texts.support/prompts/none", r"there is no file none\.jinja"),
    ],
)
async def test_templates_of_packages_that_do_not_exist(
    scripted_model: ScriptedModel, package: Path, name: str, problem: str
) -> None:
    with pytest.raises(ConfigurationError, match=problem):
        await scripted_model.ai().with_template(name).generate_text({})


def test_blueprints_have_templates_as_instructions(package: Path) -> None:
    source = InstructionTemplate("ragbot", {"persona": "clause", "words": 3})
    blueprint = Agent("Bot", model="m", instructions=source).to_blueprint(strict=True)
    again = Blueprint.from_json(blueprint.to_json()).build()
    assert isinstance(again, Agent)
    assert again.spec.instructions == source

    inside = InstructionTemplate("package:acme_texts.support/prompts/bot")
    text = Agent("Bot", model="m", instructions=inside).to_blueprint(strict=True).to_json()
    with pytest.raises(BlueprintError, match="not allowed in a text"):
        Blueprint.from_json(text).build()
    allowed = Blueprint.from_json(text).build(allow=["acme_texts"])
    assert isinstance(allowed, Agent)
    assert allowed.spec.instructions == inside

    with pytest.raises(BlueprintError, match="have no JSON form"):
        Agent("Bot", model="m", instructions=InstructionTemplate("t", {"p": Properties()})).to_blueprint(strict=True)


async def test_the_configuration_names_the_folder(scripted_model: ScriptedModel, folder: Path) -> None:
    write(folder / "t.jinja", "usual")
    write(folder.parent / "tactician.toml", '[templates]\nfolders = ["words"]')
    write(folder.parent / "words" / "t.jinja", "configured")

    assert await asked(scripted_model, scripted_model.ai().with_template("t"), {}) == "configured"


def test_templates_are_found_beside_the_program(tmp_path: Path) -> None:
    write(tmp_path / "program" / "prompts" / "t.jinja", "beside {{ it }}")
    program = write(
        tmp_path / "program" / "main.py",
        """\
        from tactician.testing import ScriptedModel

        model = ScriptedModel("x")
        model.ai().with_template("t").generate_text_sync({"it": "the program"})
        print(model.calls[0].prompt)
        """,
    )
    done = subprocess.run([sys.executable, str(program)], cwd=tmp_path, capture_output=True, text=True, check=True)

    assert done.stdout == "beside the program\n"


async def test_a_conversation_has_its_template_as_the_system_prompt(
    scripted_model: ScriptedModel, folder: Path
) -> None:
    write(folder / "t.jinja", "x")
    ai = scripted_model.ai().with_template("t")
    scripted_model.script("d")

    said: list[Message] = [UserMessage("a"), AssistantMessage((Text("b"),)), UserMessage("c")]
    assert (await ai.respond(said)).text == "d"
    assert list(scripted_model.calls[0].messages) == [SystemMessage("x"), *said]
    with pytest.raises(ConfigurationError, match="needs values by name"):
        await ai.evaluate_condition("it is polite", "Go away")


class Properties:
    """The properties of the guide's chatbot."""

    def persona(self) -> str:
        return "clause"

    def objective(self) -> str:
        return "legal"


RAGBOT = """\
    DO NOT DISCUSS POLITICS OR CONTROVERSIAL TOPICS.
    Your name is Clause.
    You are a brilliant legal chatbot who excels at interpreting
    legislation and legal documents.
    You are an authoritative interpreter of legislation and legal documents.
    Always use the available tools."""


@pytest.fixture
def ragbot(folder: Path) -> Path:
    """The templates of the guide's chatbot."""
    write(
        folder / "ragbot.jinja",
        """\
        {% include "elements/guardrails.jinja" %}
        {% include "elements/personalization.jinja" %}
        """,
    )
    write(
        folder / "elements" / "guardrails.jinja",
        """\
        {# Safety and content guardrails for the ragbot. #}
        DO NOT DISCUSS POLITICS OR CONTROVERSIAL TOPICS.
        """,
    )
    write(
        folder / "elements" / "personalization.jinja",
        """\
        {% set persona_template = "personas/" ~ properties.persona() ~ ".jinja" %}
        {% include persona_template %}

        {% set objective_template = "objectives/" ~ properties.objective() ~ ".jinja" %}
        {% include objective_template %}
        """.replace("\n\n", "\n"),
    )
    write(
        folder / "personas" / "clause.jinja",
        """\
        Your name is Clause.
        You are a brilliant legal chatbot who excels at interpreting
        legislation and legal documents.
        """,
    )
    write(
        folder / "objectives" / "legal.jinja",
        """\
        You are an authoritative interpreter of legislation and legal documents.
        Always use the available tools.
        """,
    )
    return folder


async def test_the_guides_chatbot_has_its_template_as_its_system_prompt(
    scripted_model: ScriptedModel, ragbot: Path
) -> None:
    scripted_model.script("It says so.")
    ai = scripted_model.ai().with_template("ragbot").with_system_prompt("Be brief.")
    reply = await ai.respond([UserMessage("What does it say?")], {"properties": Properties()})
    assert reply.text == "It says so."
    system, user = scripted_model.calls[0].messages
    assert system.text == f"Be brief.\n\n{dedent(RAGBOT)}"
    assert user == UserMessage("What does it say?")


async def test_a_template_is_the_instructions_of_an_agent(scripted_model: ScriptedModel, ragbot: Path) -> None:
    scripted_model.script("one", "two")
    agent = Agent(
        "Ragbot", model=scripted_model, instructions=InstructionTemplate("ragbot", {"properties": Properties()})
    )
    await agent.run("hi")
    assert scripted_model.calls[0].messages[0] == SystemMessage(dedent(RAGBOT))
    write(ragbot / "objectives" / "legal.jinja", "Answer.\n")
    os.utime(ragbot / "objectives" / "legal.jinja", (1, 1))
    await agent.run("hi")
    assert scripted_model.calls[1].messages[0].text.endswith("legislation and legal documents.\nAnswer.")


async def test_values_of_a_conversation_need_a_template(scripted_model: ScriptedModel) -> None:
    with pytest.raises(ConfigurationError, match="set it with with_template"):
        await scripted_model.ai().respond([UserMessage("hi")], {"a": 1})


LINES = [
    ("{% if a %}A{% endif %}\nB", "A\nB"),
    ("x {% if a %}A{% endif %}\nB", "x A\nB"),
    ("{% if a %}\nA\n{% endif %}\nB", "A\nB"),
    ("  {% if a %}\n  A\n  {% endif %}\nB", "A\nB"),
    ("{% for n in a %}{{ n }} {% endfor %}\nB", "1 2 \nB"),
    ("{% for n in a %}\n{{ n }}\n{% endfor %}\nB", "1\n2\nB"),
    ("text {# why #}\nB", "text \nB"),
    ("{# why #}\nB", "B"),
    ("A\n{% set x = 1 %}{# why #}\n{{ x }}", "A\n1"),
    ("A\n{%- if a -%}\nB\n{%- endif %}\nC", "AB\nC"),
    ("{% if a +%}\nA\n{% endif %}\nB", "A\nB"),
    ("{% raw %}{% if %}{% endraw %}\nB", "{% if %}\nB"),
    ("a\r\n{% if a %}\r\nA\r\n{% endif %}\r\nB", "a\nA\nB"),
    ("{{ a }}\n{% if not a %}\nA\n{% else %}\nC\n{% endif %}\nB", "[1, 2]\nC\nB"),
    ('x{% include "empty" %}\nB', "x\nB"),
    ('{%  include "one" %}\n{%include "one"%}\nB', "one\none\nB"),
]


@pytest.mark.parametrize(("source", "expected"), LINES)
async def test_a_line_of_tags_alone_leaves_nothing_and_others_keep_their_ends(
    source: str, expected: str, folder: Path
) -> None:
    write(folder / "empty.jinja", "")
    write(folder / "one.jinja", "one\n")
    write(folder / "page.jinja", source)
    assert await Templates(folder).render("page", {"a": [1, 2]}) == expected.strip()
