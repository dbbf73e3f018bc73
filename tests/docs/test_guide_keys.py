"""The reference of the settings has a counterpart, or the reason why there is none, for each key of Embabel's guide."""

import re
from fnmatch import fnmatch

import pytest

from tactician.config import Settings
from tests.docs.pages import DOCS

_PLATFORM = """
name description scanning.annotation scanning.bean ranking.llm ranking.max-attempts ranking.backoff-millis
ranking.backoff-multiplier ranking.backoff-max-interval llm-operations.prompts.maybe-prompt-template
llm-operations.prompts.generate-examples-by-default llm-operations.data-binding.max-attempts
llm-operations.data-binding.fixed-backoff-millis process-id-generation.include-version
process-id-generation.include-agent-name autonomy.agent-confidence-cut-off autonomy.goal-confidence-cut-off
models.anthropic.max-attempts models.anthropic.backoff-millis models.openai.backoff-multiplier
models.openai.backoff-max-interval models.googlegenai.max-attempts models.googlegenai.api-key
models.googlegenai.project-id models.googlegenai.location sse.max-buffer-size sse.max-process-buffers test.mock-mode
process-repository.window-size tools.includes migration.scanning.enabled migration.warnings.individual-logging
"""
_OTHERS = """
embabel.models.default-llm embabel.models.default-embedding-model embabel.models.llms
embabel.models.embedding-services embabel.agent.logging.personality embabel.models.bedrock.models
embabel.llm-operations.prompts.maybe-prompt-template embabel.llm-operations.prompts.generate-examples-by-default
embabel.llm-operations.prompts.default-timeout embabel.llm-operations.data-binding.max-attempts
embabel.llm-operations.data-binding.fixed-backoff-millis embabel.docker.models.base-url
embabel.docker.models.max-attempts embabel.docker.models.backoff-millis ragbot.chunker-config.max-chunk-size
ragbot.chunker-config.overlap-size spring.ai.mcp.server.type OPENAI_API_KEY ANTHROPIC_API_KEY MISTRAL_API_KEY
DEEPSEEK_API_KEY GEMINI_API_KEY GOOGLE_API_KEY GOOGLE_PROJECT_ID GOOGLE_LOCATION OPENAI_BASE_URL MISTRAL_BASE_URL
OPENAI_COMPLETIONS_PATH OPENAI_EMBEDDINGS_PATH
"""
KEYS = [*(f"embabel.agent.platform.{key}" for key in _PLATFORM.split()), *_OTHERS.split()]
_TABLE = re.compile(r"\[([a-z_.]+)\]`: ((?:`\w+`(?:, )?)+)")


def read_rows() -> dict[str, str]:
    section = (DOCS / "reference/settings.md").read_text("utf-8").partition("## Coming from the guide's keys")[2]
    rows = [line.strip("| ").split(" | ") for line in section.splitlines() if line.startswith("| ")]
    return dict(cells for cells in rows if len(cells) == 2)


@pytest.mark.parametrize("key", KEYS)
def test_each_key_of_the_guide_is_in_the_table(key: str) -> None:
    patterns = [pattern for cell in read_rows() for pattern in re.findall("`([^`]+)`", cell)]

    assert any(fnmatch(f".{key}", f"*.{pattern}") for pattern in patterns)


def test_the_settings_that_the_table_names_exist() -> None:
    tables = [match for cell in read_rows().values() for match in _TABLE.findall(cell)]

    assert tables
    for table, names in tables:
        settings: object = Settings()
        for part in table.split("."):
            settings = getattr(settings, part)
        for name in re.findall(r"\w+", names):
            assert hasattr(settings, name), f"[{table}] {name}"
