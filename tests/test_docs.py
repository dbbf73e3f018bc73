"""Every Python block of the documentation runs as it stands, on the embedded model."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks() -> list[tuple[str, str]]:
    found = ((page.relative_to(ROOT), text) for page in PAGES for text in BLOCK.findall(page.read_text("utf-8")))
    return [(f"{page} #{number}", text) for number, (page, text) in enumerate(found, start=1)]


def without_model_settings() -> dict[str, str]:
    settings = re.compile(r".*_(API_KEY|BASE_URL)$|^LLM_INSTANCES$|^TACTICIAN_")
    return {name: value for name, value in os.environ.items() if not settings.match(name)}


@pytest.mark.embedded
@pytest.mark.parametrize("source", [pytest.param(text, id=label) for label, text in blocks()])
def test_a_block_of_the_documentation_runs(source: str, tmp_path: Path) -> None:
    script = tmp_path / "block.py"
    script.write_text(source, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-W", "error", str(script)],
        env=without_model_settings(),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert not done.stderr


def test_the_readme_has_blocks_to_run() -> None:
    assert sum(label.startswith("README.md") for label, _ in blocks()) >= 5
