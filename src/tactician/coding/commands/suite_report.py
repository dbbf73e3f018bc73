"""Results of a test suite, read from what the test programs of many languages print."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import Final

from tactician.frozen import frozen
from tactician.grammar import format_count

_COLORS: Final = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_PLACE: Final = re.compile(r"(?<![\w./@-])([\w./@-]+)[:(](\d+)")
_SCRIPTS: Final = (".py", ".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx", ".rb", ".php")
_SOURCES: Final = (*_SCRIPTS, ".go", ".rs", ".java", ".kt", ".c", ".cc", ".cpp", ".h", ".hpp", ".cs")
_HEADING: Final = re.compile(r"___|---|not ok|[✖✕\u00d7●]")
_SECTION: Final = re.compile(r"===|___|----|PASSED |FAILED |(?:not )?ok \d")
_FAILED_STATES: Final = ("fail", "failed", "error", "not ok", "✖", "✕", "\u00d7", "***failed", "f", "***exception")
_MAX_FAILURES: Final = 200
_EXCERPT: Final = 14
_LONGEST_LINE: Final = 240
_LONGEST_RESULT: Final = 500
_LONGEST_TEXT: Final = 4_000
_FORMATS: Final = tuple(
    re.compile(pattern)
    for pattern in (
        r"(?P<state>PASSED|FAILED|ERROR) (?P<name>\S+?::.+?|\S+\.py)(?: - (?P<message>.*))?",  # pytest -rpfE
        r"(?P<name>\w+ \([\w.]+\)).* \.\.\. (?P<state>ok|FAIL|ERROR)",  # unittest -v
        r"test (?P<name>\S+)(?: - should panic)? \.\.\. (?P<state>ok|FAILED)",  # cargo
        r"\s*(?P<state>ok|not ok) \d+ - (?P<name>.+?)(?: # time=.*)?",  # TAP
        r"\s*(?P<state>[✔✓✖✕\u00d7]) (?P<name>.+?)(?: \([\d.]+ ?m?s\))?",  # node, jest, vitest, mocha
        r"(?P<state>PASS|FAIL) +(?P<name>\S+\.[cm]?[jt]sx?)(?: \([\d.]+ ?m?s\))?",  # jest, by file
        r"\s*\d+/\d+ Test +#\d+: (?P<name>.+?) \.+\s*(?P<state>Passed|\*\*\*Failed|\*\*\*Exception).*",  # ctest
        r"(?:\[ERROR\] )?(?P<name>[\w.$]+\.[\w$]+) +(?:--|Time).*<<< (?P<state>FAIL|ERROR)(?:URE)?!",  # surefire
        r"(?P<state>PASS|FAIL|ERROR): (?P<name>.+)",  # automake
        r"(?P<place>\S+:\d+):(?P<name>\w+):(?P<state>PASS|FAIL)(?:: (?P<message>.*))?",  # Unity
        r"\s*(?P<state>Passed|Failed) (?P<name>\S.*?) \[[^]]*\]",  # .NET
        r"(?P<name>[\w.$ ]+ > .+?) (?P<state>PASSED|FAILED)",  # Gradle
        r"(?P<state>rspec) (?P<name>\./\S+:\d+)(?: # (?P<message>.*))?",  # RSpec
        r"\d+\) (?P<state>)(?P<name>[\w\\]+::\w+)(?: with data set .*)?",  # PHPUnit
        r"\s*(?P<name>\w+#test_\w+) \[\S+\]:(?P<state>)",  # minitest
    )
)


@frozen
class FailedTest:
    """Test that failed.

    Attributes:
        name: its name, as the test program writes it.
        place: the file and the line of the failure, or an empty text.
        message: the first lines that matter.
    """

    name: str
    place: str = ""
    message: str = ""


@frozen
class SuiteReport:
    """Result of a run of the tests.

    Attributes:
        passed: the names of the tests that passed, as far as the test program lists them.
        failures: the tests that failed.
        exit_code: the exit code of the test program.
        output: what it printed.
    """

    passed: tuple[str, ...]
    failures: tuple[FailedTest, ...]
    exit_code: int
    output: str = ""

    @property
    def failed(self) -> tuple[str, ...]:
        """The names of the tests that failed."""
        return tuple(failure.name for failure in self.failures)

    def describe(self, longest: int = 8_000) -> str:
        """Return the report for a model: the numbers, each failure, and the end of an output that tells of no tests."""
        lines = [f"{format_count(len(self.failures), 'failed test')}, {format_count(len(self.passed), 'passed test')}"]
        for failure in self.failures:
            lines += ["", f"FAILED {failure.name}{f' at {failure.place}' if failure.place else ''}", failure.message]
        if not self.passed and all(not failure.message for failure in self.failures):
            lines += ["The last lines of the output:", self.output[-longest // 2 :]]
        text = "\n".join(lines).strip()
        return text if len(text) <= longest else f"{text[:longest]}\n[... more failures are left out ...]"


def add_details(command: str) -> str:
    """Return a command that runs tests so that it names each of them."""
    if re.search(r"\bpytest\b", command):
        return f"{command} -rpfE --tb=short --color=no -p no:cacheprovider"
    if match := re.search(r"\bgo test\b", command):
        return f"{command[: match.end()]} -json{command[match.end() :]}"
    return command


def parse_report(output: str, exit_code: int, command: str = "") -> SuiteReport:
    """Return the result of a test suite.

    Args:
        output: what the test program printed.
        exit_code: its exit code.
        command: the command, which names the failure where the output names none.
    """
    output = _COLORS.sub("", output).replace("\r\n", "\n")
    states, messages, shown = _read_go(output) or _read_lines(output)
    failed = [name for name, is_failed in states.items() if is_failed]
    lines = shown.split("\n")
    failures = [_describe_failure(name, messages.get(name, ""), lines) for name in failed[:_MAX_FAILURES]]
    if exit_code and not failures:  # it could not even begin, or names no test
        failures = [FailedTest(command or "the tests", *_find_reason(lines))]
    passed = tuple(name for name, is_failed in states.items() if not is_failed)
    return SuiteReport(passed, tuple(failures), exit_code, shown)


def _read_lines(output: str) -> tuple[dict[str, bool], dict[str, str], str]:
    """Return whether each test failed, and messages: by the format that most lines have."""
    best: dict[str, bool] = {}
    messages: dict[str, str] = {}
    lines = output.split("\n")
    for pattern in _FORMATS:
        states: dict[str, bool] = {}
        notes: dict[str, str] = {}
        for line in lines:
            if len(line) < _LONGEST_RESULT and (match := pattern.fullmatch(line.rstrip())):
                groups = match.groupdict()
                if "# SKIP" in (name := groups["name"]) or "# TODO" in name or name == "failing tests:":
                    continue
                states[name] = states.get(name, False) or _is_failure(groups["state"])
                notes[name] = groups.get("message") or notes.get(name, "")
        if len(states) > len(best):
            best, messages = states, notes
    return best, messages, output


def _is_failure(state: str) -> bool:
    return state.lower() in _FAILED_STATES or state in ("", "rspec")


def _read_go(output: str) -> tuple[dict[str, bool], dict[str, str], str] | None:
    """Return the result that `go test -json` prints; `None`, when it is something else."""
    states: dict[str, bool] = {}
    texts: dict[str, str] = {}
    plain: list[str] = []
    failed: set[str] = set()
    events = list(_list_go_events(output))
    if not events:
        return None
    for event in events:
        package, test, action = (str(event.get(key, "")) for key in ("Package", "Test", "Action"))
        name = f"{package}.{test}" if test else package
        if action in ("output", "build-output"):
            plain.append(str(event.get("Output", "")))
            texts[name] = (texts.get(name, "") + plain[-1])[:_LONGEST_TEXT]
        elif action in ("pass", "fail") and (test or (action == "fail" and package not in failed)):
            states[name] = action == "fail"
            failed |= {package} if action == "fail" else set()
    return states, {name: text.strip() for name, text in texts.items()}, "".join(plain)


def _list_go_events(output: str) -> Iterator[dict[str, object]]:
    for line in output.split("\n"):
        if line.startswith("{") and '"Action"' in line:
            try:
                event = json.loads(line)
            except (ValueError, RecursionError):
                continue
            if isinstance(event, dict):
                yield event


def _describe_failure(name: str, message: str, lines: Sequence[str]) -> FailedTest:
    excerpt = message if "\n" in message else "\n".join(filter(None, (message, *_find_excerpt(name, lines))))
    places = _find_places(excerpt)
    place = f"{places[-1][0]}:{places[-1][1]}" if places else ""
    return FailedTest(name, place, "\n".join(line[:_LONGEST_LINE] for line in excerpt.split("\n")[:_EXCERPT]))


def _find_excerpt(name: str, lines: Sequence[str]) -> list[str]:
    """Return the lines after the heading of a failure."""
    short = re.split(r"::|\.(?=\w+$)|#| > ", name)[-1].split(" (")[0]
    headings = [
        n
        for n, line in enumerate(lines)
        if short in line and re.match(r"_{3,}|-{3,}|\s*not ok|\s*[✖✕\u00d7●]|.*FAIL", line)
    ]
    for heading in headings:
        following = takewhile(lambda line: not _SECTION.match(line.lstrip()), lines[heading + 1 : heading + 40])
        after = [line for line in following if line.strip()][:_EXCERPT]
        if any(_find_places(line) or "rror" in line or "xpected" in line for line in after):
            return after
    return []


def _is_heading(line: str) -> bool:
    return "FAIL" in line or _HEADING.match(line.lstrip()) is not None


def _find_places(text: str) -> list[tuple[str, str]]:
    """Return the files of sources with numbers of lines that a text names."""
    return [(file, line) for file, line in _PLACE.findall(text) if file.endswith(_SOURCES)]


def _find_reason(lines: Sequence[str]) -> tuple[str, str]:
    """Return the place and the first lines that tell why the tests could not run."""
    telling = [line for line in lines if re.search(r"\berror\b|Error|FAIL|panic|undefined|cannot find", line)]
    places = [match for line in telling for match in _find_places(line)]
    return (f"{places[0][0]}:{places[0][1]}" if places else ""), "\n".join(telling[:_EXCERPT])
