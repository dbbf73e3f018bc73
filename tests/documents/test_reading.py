"""Texts of each format as data: what is read, what is refused, and that nothing else happens."""

from __future__ import annotations

import json
import os
import time
import traceback
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tactician.documents.data import DocumentLimits, check_data, measure_data
from tactician.documents.document import Format, load_document, make_document, read_document, write_yaml
from tactician.documents.files import read_text
from tactician.errors import ConfigurationError, DocumentError, TacticianError
from tests.documents.texts import DATA, TABLES, write_toml

SMALL = DocumentLimits(size=1_000, depth=5, values=20)
FORMATS: tuple[Format, ...] = ("json", "yaml", "toml")
SYNTAX = st.text(st.sampled_from("[]{}:,.=-&*!|>#'\"\\\n\r\t ${}ab01eE+~<?%@`\x00\x85\ud800😀"), max_size=60)


def refuse(text: str, format: Format, limits: DocumentLimits | None = None) -> str:
    """Return the only mistake of a text."""
    with pytest.raises(DocumentError) as caught:
        read_document(text, format, limits or DocumentLimits())
    assert caught.value.__cause__ is None  # what parsers raise holds the text
    (problem,) = caught.value.problems
    return str(problem)


class TestAnyText:
    @given(st.text() | SYNTAX, st.sampled_from(FORMATS))
    @example("=" * 50, "toml")
    @example('"\\ud800"', "json")
    @example('{"\\udfff": 1}', "json")
    @example("\ud800", "toml")
    @example('a = "\\ud800"', "toml")
    def test_it_is_data_or_a_typed_error(self, text: str, format: Format) -> None:
        try:
            document = read_document(text, format, SMALL)
        except TacticianError:
            return
        assert json.loads(json.dumps(document.data, allow_nan=False)) == document.data
        json.dumps(document.data, ensure_ascii=False).encode()
        check_data(document.data, SMALL)
        assert document.find_line(()) is None or document.find_line(())

    @given(DATA)
    def test_json_and_yaml_say_the_same(self, data: object) -> None:
        made = make_document(data).data
        assert made == data
        assert read_document(json.dumps(data), "json").data == data
        assert read_document(write_yaml(made), "yaml").data == data

    @given(TABLES)
    def test_toml_is_read(self, table: dict[str, object]) -> None:
        assert read_document(write_toml(table), "toml").data == table

    @given(DATA)
    def test_what_is_measured_is_what_is_bounded(self, data: object) -> None:
        made = make_document(data).data
        values, depth = measure_data(made)
        check_data(made, DocumentLimits(values=values, depth=depth))
        with pytest.raises(DocumentError, match="values"):
            check_data(made, DocumentLimits(values=values - 1, depth=depth))
        if depth:
            with pytest.raises(DocumentError, match="deep"):
                check_data(made, DocumentLimits(values=values, depth=depth - 1))


class TestToml:
    def test_what_json_cannot_express_is_a_text(self) -> None:
        text = "a = 2026-01-02\nb = 07:32:00\nc = 1979-05-27T07:32:00Z\nd = nan\ne = -inf\nf = 1.5\n"
        assert read_document(text, "toml").data == {
            "a": "2026-01-02",
            "b": "07:32:00",
            "c": "1979-05-27 07:32:00+00:00",
            "d": "nan",
            "e": "-inf",
            "f": 1.5,
        }


class TestRefused:
    @pytest.mark.parametrize(
        ("text", "format", "why"),
        [
            ("{", "json", "line 1: it is not JSON: "),
            ('{\n"a": 1,\n}', "json", "line 3: it is not JSON: "),
            ("", "json", "line 1: it is not JSON: "),
            ('{"a": 1,\n"b": {"x": 1},\n"a": 3, "c": ', "json", "line 3: it is not JSON"),
            ('[{"a": 1},\n{"a": 1,\n"a": 3, "b": 1}, {"c', "json", "line 3: 'a' appears twice in an object"),
            ("[NaN]", "json", "NaN is not a number"),
            ("[-1e999]", "json", "-1e999 is too large a number"),
            (f"[{'9' * 5_000}]", "json", "it is not JSON: "),
            ('{"a": ["\\ud83d"]}', "json", "a[0]: it has half of a surrogate pair"),
            ('{"\\ude00": 1}', "json", "it has half of a surrogate pair"),
            ('"\ud83d"', "json", "it has half of a surrogate pair"),
            ("a: [", "yaml", "line 2: it is not YAML: "),
            ("a: 1\nb:\n  - x: 1\n    x: 2", "yaml", "line 4: b[0]: 'x' appears twice"),
            ("a: 1\nb: {c: 1e999}", "yaml", "line 2: b.c: 1e999 is too large a number"),
            ("a:\n- !evil x", "yaml", "line 2: a[0]: the tag '!evil' means nothing here"),
            ("a = ", "toml", "line 1: it is not TOML: "),
            ("a = 1\n\nb = x\n", "toml", "line 3: it is not TOML: "),
            ("a = 1\na = 2\n", "toml", "line 2: it is not TOML: "),
            (f"a = {'9' * 5_000}", "toml", "it is not TOML: "),
            ("a = 1e999", "toml", "1e999 is too large a number"),
        ],
    )
    def test_what_is_no_document(self, text: str, format: Format, why: str) -> None:
        assert refuse(text, format).startswith(why)

    @pytest.mark.parametrize("format", FORMATS)
    def test_the_size_is_bounded_first(self, format: Format) -> None:
        assert refuse("{" * 1_001, format, SMALL) == "it has more than 1,000 characters"

    @pytest.mark.parametrize(
        ("text", "format"),
        [
            ("[" * 100_000, "json"),
            ('{"a":' * 100_000, "json"),
            ("[" * 100_000 + "]" * 100_000, "json"),
            ("[" * 100_000, "yaml"),
            ("- " * 100_000, "yaml"),
            ("a = " + "[" * 100_000, "toml"),
            ("a = " + "{a=" * 100_000, "toml"),
            ("a." * 100_000 + "a = 1", "toml"),
            ("[" + "a." * 100_000 + "a]", "toml"),
        ],
        ids=lambda value: value[:5],
    )
    def test_a_hundred_thousand_levels_are_too_deep(self, text: str, format: Format) -> None:
        assert "nested more than 128 deep" in refuse(text, format)

    @pytest.mark.parametrize(
        ("text", "format"),
        [
            ("[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20]", "json"),
            ("a: &a [1,2,3,4]\nb: [*a, *a, *a]\n", "yaml"),
            ("a = [1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20]", "toml"),
        ],
    )
    def test_the_number_of_values_is_bounded(self, text: str, format: Format) -> None:
        assert "more than 20 values" in refuse(text, format, SMALL)

    @pytest.mark.parametrize(
        ("text", "format"),
        [
            ('"' + '\\"' * 500_000, "json"),
            ('["' + "a" * 900_000, "json"),
            ("[" + "[]," * 600_000, "json"),
            ("a: &a [" + "x," * 1_000 + "]\n" + "b: [" + "*a," * 300_000 + "]", "yaml"),
            ("? " * 400_000, "yaml"),
            ("a = '" + "\\'" * 500_000, "toml"),
            ('a = "' + '\\"' * 500_000, "toml"),
            ('a = """' + '\\"' * 500_000, "toml"),
            ("a = '''" + "''x" * 500_000, "toml"),
            ("a" * 1_000_000, "toml"),
            ("#" * 1_000_000 + "\n=", "toml"),
            ("a . " * 400_000, "toml"),
        ],
        ids=lambda value: value[:8],
    )
    def test_a_large_text_takes_no_time(self, text: str, format: Format) -> None:
        began = time.process_time()
        refuse(text, format)
        assert time.process_time() - began < 20  # what is quadratic takes an hour

    def test_data_without_a_json_form(self) -> None:
        circle: list[object] = []
        circle.append(circle)
        deep: list[object] = []
        for _ in range(100_000):
            deep = [deep]
        for data in (object(), circle, deep, {1: {2j}}):
            with pytest.raises(DocumentError, match="no JSON form"):
                make_document(data)
        with pytest.raises(DocumentError, match="NaN is not a number"):
            make_document([float("nan")])


class TestFiles:
    @pytest.mark.parametrize("name", ["a.json", "a.YAML", "a.yml", "a.toml"])
    def test_the_name_says_the_format(self, name: str, tmp_path: Path) -> None:
        text = {"a.json": '{"a": 1}', "a.toml": "a = 1"}.get(name, "a: 1")
        (tmp_path / name).write_text(text, encoding="utf-8-sig")
        document = load_document(tmp_path / name)
        assert (document.data, document.file, document.text) == ({"a": 1}, tmp_path / name, text)

    def test_another_format_can_be_said(self, tmp_path: Path) -> None:
        (tmp_path / "settings").write_text("a = 1")
        assert load_document(tmp_path / "settings", format="toml").data == {"a": 1}
        with pytest.raises(DocumentError, match=r"settings is wrong:\n  - its name has to end in \.json, "):
            load_document(tmp_path / "settings")

    def test_mistakes_name_the_file(self, tmp_path: Path) -> None:
        (tmp_path / "a.json").write_text("[\n1,,\n]")
        with pytest.raises(ConfigurationError, match=r"a\.json is wrong:\n  - line 2: it is not JSON"):
            load_document(tmp_path / "a.json")

    @pytest.mark.parametrize(
        ("name", "why"),
        [
            ("missing.json", "No such file or directory"),
            (".", "it is not a file"),
            ("pipe.json", "it is not a file"),
            ("long.json", "the file has more than 10 characters"),
            ("latin.json", "the file is not UTF-8"),
            ("\0.json", "embedded null byte"),
        ],
    )
    def test_what_cannot_be_read(self, name: str, why: str, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "pipe.json")
        (tmp_path / "long.json").write_bytes(b"x" * 11)
        (tmp_path / "latin.json").write_bytes(b'"caf\xe9"')
        with pytest.raises(DocumentError) as caught:
            read_text(tmp_path / name, 10)
        assert [str(one) for one in caught.value.problems] == [f"it cannot be read: {why}"]

    def test_a_device_without_end_is_not_read(self) -> None:
        with pytest.raises(DocumentError, match="it is not a file"):
            read_text(Path("/dev/zero"), 10)


@pytest.mark.parametrize(
    ("text", "format"),
    [
        ('{"key": "sk-secret"', "json"),
        ('["sk-secret" NaN]', "json"),
        ('{"key": "sk-secret", "a": 1, "a": 2}', "json"),
        ('key: "sk-secret', "yaml"),
        ("key: sk-secret: sk-secret", "yaml"),
        ("key: sk-secret\nkey: sk-secret", "yaml"),
        ("key = 'sk-secret", "toml"),
        ("key = sk-secret", "toml"),
        ("key = 'sk-secret'\nkey = 'sk-secret'", "toml"),
    ],
)
def test_no_message_holds_a_value(text: str, format: Format) -> None:
    with pytest.raises(DocumentError) as caught:
        read_document(text, format)
    assert "sk-secret" not in "".join(traceback.format_exception(caught.value)) + repr(caught.value.problems)


def test_a_document_shows_no_values() -> None:
    assert "sk-secret" not in repr(read_document('{"key": "sk-secret"}', "json"))
