"""Program over stdio with a single tool, whose description and result are the arguments of the program, as JSON."""

from __future__ import annotations

import json
import sys

TOOL, RESULT = map(json.loads, sys.argv[1:])
INFO = {"name": "schemas", "version": "1"}
ANSWERS = {
    "initialize": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": INFO},
    "tools/list": {"tools": [TOOL]},
    "tools/call": RESULT,
}

if __name__ == "__main__":
    for line in sys.stdin:
        request = json.loads(line)
        if "id" not in request or "method" not in request:
            continue
        result = ANSWERS.get(request["method"])
        reply = {"result": result} if result is not None else {"error": {"code": -32601, "message": "refused"}}
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], **reply}), flush=True)
