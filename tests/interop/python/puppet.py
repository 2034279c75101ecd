"""Lets a test pull the strings of an object, over stdin and stdout.

In:  {"id": 1, "method": "join", "args": ["office"]}     one JSON object a line
Out: {"id": 1, "result": null}  {"id": 1, "error": "why"}  {"event": "name", "data": {}}

Calls run side by side. The end of stdin ends the process, so that none outlives its test.
"""

import asyncio
import json
import os
import sys
from collections.abc import Awaitable, Callable
from typing import Any

# The SDK prints to stdout as well: its lines go where logs go.
_wire = os.fdopen(os.dup(1), "w", buffering=1, encoding="utf-8")
os.dup2(2, 1)


def tell(message: dict[str, Any]) -> None:
    _wire.write(json.dumps(message, default=str) + "\n")


def tell_event(event: str, data: Any = None) -> None:
    tell({"event": event, "data": data})


async def _answer(methods: object, command: dict[str, Any]) -> None:
    try:
        method: Callable[..., Awaitable[Any]] = getattr(methods, command["method"])
        tell({"id": command["id"], "result": await method(*command["args"])})
    except Exception as error:
        tell({"id": command["id"], "error": f"{type(error).__name__}: {error}"})


async def _run(methods: Any) -> None:
    lines = asyncio.StreamReader(limit=2**24)
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(lines), sys.stdin
    )
    running: set[asyncio.Task[None]] = set()
    while line := await lines.readline():
        task = asyncio.create_task(_answer(methods, json.loads(line)))
        running.add(task)
        task.add_done_callback(running.discard)
    await methods.close()
    # No farewell: the SDK's tasks do not all heed being cancelled. Whatever hangs on this
    # process's pipes ends with it.
    os._exit(0)


def run(methods: Any) -> None:
    """Serves every method of an object until stdin ends, then its `close`."""
    asyncio.run(_run(methods))
