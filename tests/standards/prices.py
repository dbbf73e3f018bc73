"""MCP server over stdio with the prices of a shop, each look-up of which is a side effect in a ledger.

It is written by hand, for the revision 2025-11-25: it starts in a tenth of the time of one that uses the SDK.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from threading import Thread
from typing import Any, Final

from tests.crash.ledger import Ledger

_TOOL: Final = {
    "name": "find_price",
    "description": "Find the price of a product in cents.",
    "inputSchema": {
        "type": "object",
        "properties": {"product": {"type": "string"}, "order": {"type": "string"}},
        "required": ["product", "order"],
    },
}


def serve(ledger: Ledger) -> None:
    """Answer until stdin ends, and with it the program, whatever the calls do."""
    for line in sys.stdin:
        request = json.loads(line)
        if "id" in request:
            Thread(target=_answer, args=(request, ledger), daemon=True).start()


def _answer(request: Mapping[str, Any], ledger: Ledger) -> None:
    answer = _find_answer(request["method"], request.get("params", {}), ledger)
    print(json.dumps({"jsonrpc": "2.0", "id": request["id"], **answer}), flush=True)


def _find_answer(method: str, params: Mapping[str, Any], ledger: Ledger) -> Mapping[str, object]:
    match method:
        case "initialize":
            about = {"serverInfo": {"name": "prices", "version": "1"}, "capabilities": {"tools": {}}}
            return {"result": {"protocolVersion": "2025-11-25", **about}}
        case "tools/list":
            return {"result": {"tools": [_TOOL]}}
        case "tools/call":
            asked = params["arguments"]
            asyncio.run(ledger.record(asked["order"], "find price"))
            return {"result": {"content": [{"type": "text", "text": str(100 * len(asked["product"]))}]}}
    return {"error": {"code": -32601, "message": f"There is no method {method}."}}


if __name__ == "__main__":
    serve(Ledger(Path(sys.argv[1]), f"prices-{os.getpid()}"))
