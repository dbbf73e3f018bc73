"""Runs the programs for other frameworks on the pages "Coming from ...", on a model that follows a script.

`python -m benchmarks.coming_from [NAME ...]` installs each framework into an environment of its own under `.bench/`,
runs every program of the documentation that begins with `# with NAME`, and fails when one does not print what it says.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from aiohttp import web

from benchmarks.environments import Environment, prepare
from benchmarks.measures import ROOT

PAGES = ROOT / "docs" / "coming-from"
LONGEST = 120
"""Seconds that a program may take."""
_PROGRAM = re.compile(r"^```python\n(# with ([\w-]+)\n.*?)^```", re.DOTALL | re.MULTILINE)
_PROMISE = re.compile(r"\bprint\(.*\)\s+# (.*)$", re.MULTILINE)
"""Output of a program, behind its `print` or on the next line."""
_NUMBER = re.compile(r"\d+")


def read_programs() -> dict[str, list[str]]:
    """Return the programs of each framework."""
    programs: dict[str, list[str]] = {}
    for page in sorted(PAGES.glob("*.md")):
        for text, name in _PROGRAM.findall(page.read_text("utf-8")):
            programs.setdefault(name, []).append(text)
    return programs


def choose_reply(
    messages: Sequence[Mapping[str, object]], tools: Sequence[Mapping[str, object]]
) -> str | dict[str, object]:
    """Return the reply of the model: first a call of a tool with the number in the question, then the result."""
    last = messages[-1]
    text = str(last.get("content") or last.get("output") or "")
    if last.get("role") == "tool" or last.get("type") == "function_call_output":
        return text
    number = _NUMBER.search(text)
    if not tools or number is None:  # so that a program which sends no tools fails
        return "There is no tool for that."
    tool = tools[0].get("function", tools[0])
    assert isinstance(tool, Mapping)
    name = next(iter(tool["parameters"]["properties"]))
    return {"name": tool["name"], "arguments": json.dumps({name: int(number[0])})}


async def complete(request: web.Request) -> web.Response:
    """Answer as OpenAI's chat completions do."""
    asked = await request.json()
    reply = choose_reply(asked["messages"], asked.get("tools", ()))
    message: dict[str, object] = {"role": "assistant", "content": reply if isinstance(reply, str) else None}
    if isinstance(reply, dict):
        message["tool_calls"] = [{"id": "call_1", "type": "function", "function": reply}]
    choice = {"index": 0, "message": message, "finish_reason": "stop" if isinstance(reply, str) else "tool_calls"}
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
    body = {"id": "1", "object": "chat.completion", "created": 1, "model": asked["model"], "choices": [choice]}
    return web.json_response({**body, "usage": usage})


async def respond(request: web.Request) -> web.Response:
    """Answer as OpenAI's Responses do."""
    asked = await request.json()
    messages = asked["input"] if isinstance(asked["input"], list) else [{"role": "user", "content": asked["input"]}]
    reply = choose_reply(messages, asked.get("tools", ()))
    if isinstance(reply, str):
        content = [{"type": "output_text", "text": reply, "annotations": []}]
        item: dict[str, object] = {
            "id": "m1",
            "type": "message",
            "role": "assistant",
            "status": "completed",
            "content": content,
        }
    else:
        item = {"id": "f1", "type": "function_call", "call_id": "call_1", "status": "completed", **reply}
    details = {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
    usage = {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15, **details}
    body = {"id": "r1", "object": "response", "created_at": 1, "model": asked["model"], "output": [item]}
    rest = {"parallel_tool_calls": True, "tool_choice": "auto", "tools": [], "status": "completed", "error": None}
    return web.json_response({**body, **rest, "usage": usage})


def run_program(environment: Environment, text: str, url: str) -> list[str]:
    """Run a program, and return what is wrong with it."""
    variables = {"OPENAI_BASE_URL": url, "OPENAI_API_BASE": url, "OPENAI_API_KEY": "none", "OTEL_SDK_DISABLED": "true"}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "program.py")
        file.write_text(text, encoding="utf-8")
        done = subprocess.run(
            [environment.python, file],
            cwd=folder,
            env={**os.environ, **variables, "HOME": folder},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=LONGEST,
        )
    if done.returncode:
        return [done.stderr[-2000:]]
    return [f"does not print: {text}" for text in _PROMISE.findall(text) if text not in done.stdout]


async def main(names: Sequence[str]) -> int:
    """Run the programs of the named frameworks, all of them by default; 1 when one does not do what it says."""
    programs = {name: texts for name, texts in read_programs().items() if not names or name in names}
    environments = prepare(programs)
    app = web.Application()
    app.router.add_post("/v1/chat/completions", complete)
    app.router.add_post("/v1/responses", respond)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    host, port = runner.addresses[0][:2]
    failed = False
    for name, texts in programs.items():
        for number, text in enumerate(texts, start=1):
            environment = environments[name]
            problems = (
                [environment.problem]
                if environment.problem
                else await asyncio.to_thread(run_program, environment, text, f"http://{host}:{port}/v1")
            )
            print(f"{name} {number}: {'; '.join(problems) or 'ok'}", flush=True)
            failed = failed or bool(problems)
    await runner.cleanup()
    return int(failed)


if __name__ == "__main__":
    sys.exit(asyncio.run(main(sys.argv[1:])))
