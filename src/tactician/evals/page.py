"""Reports as web pages: a single file, without scripts and without a network."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import Final

from pydantic_core import to_json

from tactician.evals.differences import CaseComparison, ReportComparison
from tactician.evals.entries import TrialEntry
from tactician.evals.statistics import ScoreComparison
from tactician.secrets import Masking

_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'"
_STYLE: Final = """
:root { color-scheme: light dark; --good: #1a7f37; --bad: #c62828; --line: #8884; }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 75rem; padding: 0 1rem; }
table { border-collapse: collapse; margin: 1rem 0; width: 100%; }
th, td { border-bottom: 1px solid var(--line); padding: .35rem .6rem; text-align: left; vertical-align: top; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; }
.good { color: var(--good); } .bad { color: var(--bad); } .dim { opacity: .65; }
details pre { white-space: pre-wrap; overflow-wrap: anywhere; margin: .3rem 0; }
.verdict { font-weight: 600; font-size: 1.1rem; }
"""
_LONGEST: Final = 4_000


def render_report(
    title: str,
    facts: Iterable[str],
    entries: Sequence[TrialEntry],
    comparison: ReportComparison | None,
    verdict: str,
) -> str:
    """Return a report as a web page, with masks for secrets.

    Args:
        title: its title.
        facts: sentences about it.
        entries: the runs of the cases.
        comparison: the comparison with the baseline.
        verdict: the comparison in a sentence.
    """
    parts = [f"<h1>{escape(title)}</h1>", *(f"<p>{escape(fact)}</p>" for fact in facts)]
    if comparison is not None:
        parts += [f'<p class="verdict">{escape(verdict)}</p>', *_draw_comparison(comparison)]
    parts += ["<h2>Cases</h2>", _draw_entries(entries)]
    head = f'<meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
    body = Masking().mask("\n".join(parts))
    return (
        f'<!doctype html><html lang="en"><head>{head}<title>{escape(title)}</title><style>{_STYLE}</style></head>'
        f"<body>{body}</body></html>\n"
    )


def _draw_comparison(comparison: ReportComparison) -> Iterator[str]:
    heads = ("score", "cases", "before", "after", "difference", "95 % interval", "verdict")
    rows = [_draw_score(name, score, score.verdict) for name, score in comparison.scores.items()]
    rows += [_draw_score(name, score, "") for name, score in comparison.measures.items()]
    yield f"<h2>{escape(comparison.before)} → {escape(comparison.after)}</h2>{_draw_table(heads, rows)}"
    changed = [*comparison.worsened, *comparison.improved]
    if changed:
        table = _draw_table(("case", "score", "before", "after"), map(_draw_change, changed))
        yield f"<h3>Cases that changed</h3>{table}"
    if comparison.flaky:
        yield f"<p>Flaky: {escape(', '.join(comparison.flaky))}</p>"


def _draw_score(name: str, score: ScoreComparison, verdict: str) -> str:
    low, high = score.interval
    interval = "-" if score.cases == 1 else f"{low:+.3g} … {high:+.3g}"
    numbers = (score.cases, f"{score.before:.3g}", f"{score.after:.3g}", f"{score.difference:+.3g}", interval)
    cells = "".join(f'<td class="number">{number}</td>' for number in numbers)
    style = {"worse": "bad", "better": "good"}.get(verdict, "dim")
    return f'<tr><td>{escape(name)}</td>{cells}<td class="{style}">{verdict}</td></tr>'


def _draw_change(case: CaseComparison) -> str:
    before, after = (" ".join(f"{value:.3g}" for value in values) for values in (case.before, case.after))
    style = "good" if case.difference > 0 else "bad"
    names = "".join(f"<td>{escape(name)}</td>" for name in (case.case, case.score))
    return f'<tr>{names}<td>{before}</td><td class="{style}">{after}</td></tr>'


def _draw_entries(entries: Sequence[TrialEntry]) -> str:
    names = list(dict.fromkeys(name for entry in entries for name in entry.scores))
    heads = ("case", *names, "cost", "tokens", "seconds", "run")
    return _draw_table(heads, (_draw_entry(entry, names) for entry in entries))


def _draw_entry(entry: TrialEntry, names: Sequence[str]) -> str:
    scores = "".join(_draw_value(entry, name) for name in names)
    cost = "" if entry.cost is None else f"${entry.cost:.4f}"
    numbers = "".join(f'<td class="number">{each}</td>' for each in (cost, f"{entry.tokens:,}", f"{entry.seconds:.2f}"))
    return f"<tr><td>{_draw_details(entry)}</td>{scores}{numbers}<td><code>{escape(entry.run_id)}</code></td></tr>"


def _draw_value(entry: TrialEntry, name: str) -> str:
    if entry.passed is None:
        return '<td class="bad">failed</td>'
    results = {**entry.passed.assertions, **entry.passed.scores}
    if (result := results.get(name)) is None:
        return "<td></td>"
    reason = "" if result.reason is None else f' title="{escape(result.reason[:_LONGEST], quote=True)}"'
    if isinstance(result.value, bool):
        return f'<td class="{"good" if result.value else "bad"}"{reason}>{"✔" if result.value else "✗"}</td>'
    return f'<td class="number"{reason}>{result.value:.3g}</td>'


def _draw_details(entry: TrialEntry) -> str:
    case = entry.passed or entry.failed
    assert case is not None, "an entry has one of them"
    shown = {"input": case.inputs, "expected": case.expected_output}
    if entry.passed is not None:
        shown["output"] = entry.passed.output
        results = {**entry.passed.assertions, **entry.passed.scores, **entry.passed.labels}
        reasons = {name: result.reason for name, result in results.items() if result.reason}
        shown |= {"reasons": reasons} if reasons else {}
    if entry.failed is not None:
        shown["error"] = entry.failed.error_message
    parts = (f"<b>{name}</b><pre>{escape(_show(value))}</pre>" for name, value in shown.items() if value is not None)
    return f"<details><summary>{escape(entry.name)}</summary>{''.join(parts)}</details>"


def _draw_table(heads: Sequence[str], rows: Iterable[str]) -> str:
    cells = "".join(f"<th>{escape(head)}</th>" for head in heads)
    return f"<table><thead><tr>{cells}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


def _show(value: object) -> str:
    text = value if isinstance(value, str) else to_json(value, indent=2, fallback=repr).decode()
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}… ({len(text):,} characters)"
