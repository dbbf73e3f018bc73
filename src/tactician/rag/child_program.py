"""What programs in bounded child processes have in common: their limits, and requests and answers in JSON.

A program reads requests from standard input and writes answers to standard output, with their lengths before them.
"""

from __future__ import annotations

import json
import os
import struct
import sys
from collections.abc import Callable
from typing import Any, BinaryIO, Final

REQUEST: Final = struct.Struct(">II")
"""Lengths of the header, which is JSON, and of the body of a request."""
ANSWER: Final = struct.Struct(">I")
"""Length of an answer, which is JSON."""


def serve_requests(answer: Callable[[dict[str, Any], bytes], dict[str, Any]]) -> None:
    """Answer requests until there are no more. What a library prints is not an answer.

    Args:
        answer: function from the header and the body of a request to its answer.
    """
    requests = sys.stdin.buffer
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    while lengths := requests.read(REQUEST.size):
        header, body = (requests.read(length) for length in REQUEST.unpack(lengths))
        _write_answer(answers, _guard_answer(answer, json.loads(header), body))


def limit_process(megabytes: int, cpu_seconds: int | None = None) -> None:
    """Limit the memory of this process, and its processor time, where the system can do it."""
    try:
        import resource
    except ImportError:  # Windows
        return
    resource.setrlimit(resource.RLIMIT_AS, (megabytes * 2**20,) * 2)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if cpu_seconds is not None:
        resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds))


def forbid_files() -> None:
    """Let the process write nothing to files from now on."""
    try:
        import resource
    except ImportError:  # Windows
        return
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))


def _guard_answer(
    answer: Callable[[dict[str, Any], bytes], dict[str, Any]], header: dict[str, Any], body: bytes
) -> dict[str, Any]:
    try:
        return answer(header, body)
    except MemoryError:
        return {"error": "it needs too much memory"}
    except ImportError as error:
        return {"missing": error.name or str(error)}
    except Exception as error:  # whatever a library of others raises
        return {"error": " ".join(str(error).split())[:500] or type(error).__name__}


def _write_answer(stream: BinaryIO, answer: dict[str, Any]) -> None:
    content = json.dumps(answer).encode()
    stream.write(ANSWER.pack(len(content)) + content)
    stream.flush()
