"""Program over stdio, of the revision 2025-11-25, whose tool runs as a task only. Its tasks are in a folder."""

from __future__ import annotations

import json
import sys
from pathlib import Path

FOLDER = Path(sys.argv[1])
MOMENT = "2026-01-01T00:00:00Z"


def answer(method: str, params: dict[str, object]) -> dict[str, object] | None:
    with (FOLDER / "log").open("a") as log:
        log.write(f"{method}\n")
    task = {"taskId": "t1", "createdAt": MOMENT, "lastUpdatedAt": MOMENT, "ttl": None, "pollInterval": 20}
    status = "completed" if (FOLDER / "done").exists() else "working"
    match method:
        case "initialize":
            tasks: dict[str, object] = {"requests": {"tools": {"call": {}}}, "cancel": {}}
            info = {"name": "tasks", "version": "1"}
            return {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}, "tasks": tasks}, "serverInfo": info}
        case "tools/list":
            tool = {"name": "research", "inputSchema": {"type": "object"}, "execution": {"taskSupport": "required"}}
            return {"tools": [tool]}
        case "tools/call":
            return {"task": {**task, "status": "working"}} if "task" in params else None
        case "tasks/get":
            return {**task, "status": status}
        case "tasks/cancel":
            return {**task, "status": "cancelled"}
        case "tasks/result":
            return {"content": [{"type": "text", "text": "found out"}]}
    return None


if __name__ == "__main__":
    for line in sys.stdin:
        request = json.loads(line)
        if "id" not in request or "method" not in request:
            continue
        result = answer(request["method"], request.get("params") or {})
        reply = {"result": result} if result is not None else {"error": {"code": -32601, "message": "refused"}}
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], **reply}), flush=True)
