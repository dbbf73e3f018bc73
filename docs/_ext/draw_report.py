"""Draw the comparison of the how-to about prompts as a terminal shows it: `python docs/_ext/draw_report.py`."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any, Final

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console

from tactician.evals.terminal import print_comparison

DOCS: Final = Path(__file__).parents[1]
PAGE, PICTURE = DOCS / "how-to" / "new-prompt.md", DOCS / "new-prompt.svg"
# A picture of the documentation loads nothing: no fonts of other sites.
FORMAT: Final = re.sub(r"@font-face {{.*?}}\n|<!--.*?-->", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)


def draw() -> str:
    """Run the program of the page, and return the comparison of its reports as an SVG."""
    program = re.search(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    assert program is not None
    names: dict[str, Any] = {}
    exec(program[1], names)
    console = Console(record=True, width=96, file=io.StringIO(), force_terminal=True)
    print_comparison(names["report"].comparison, console)
    return console.export_svg(title="tactician eval compare", code_format=FORMAT, unique_id="report")


if __name__ == "__main__":
    PICTURE.write_text(draw(), "utf-8")
