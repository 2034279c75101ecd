"""pytest -p our_server: every Server that the SDK's own tests start is this package's.

Environment: SMCP_SERVER is the command that starts it, as a JSON list, SMCP_OUTCOMES the file for
the outcome of each test, as one JSON object a line.
"""

import asyncio
import contextlib
import json
import os
import subprocess
import threading
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import a2c_smcp.testing
import a2c_smcp.testing.server
from a2c_smcp import PROTOCOL_VERSION


def _start(port: int, protocol: str) -> tuple[subprocess.Popen[str], int]:
    """Starts a Server; returns when it listens, with its port."""
    command = json.loads(os.environ["SMCP_SERVER"])
    process = subprocess.Popen(
        [*command, "--port", str(port), "--protocol", protocol, "--no-limits"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    line = process.stdout.readline()
    if not line:
        raise RuntimeError(f"The Server did not start: {process.stderr.read()}")
    threading.Thread(target=process.stderr.read, daemon=True).start()
    url = next(word for word in line.split() if "://" in word)
    return process, int(urlsplit(url).port or 0)


def _stop(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.wait()


@contextlib.contextmanager
def run_http_server() -> Iterator[tuple[str, int]]:
    process, port = _start(0, _minor(PROTOCOL_VERSION))
    try:
        yield "127.0.0.1", port
    finally:
        _stop(process)


class OurServer:
    """Takes the place of `UvicornTestServer`."""

    def __init__(self, app: Any = None, host: str = "127.0.0.1", port: int = 0) -> None:
        self.port = port
        # The gate around the SDK's Server admits this version; the tests use another to be refused.
        version = str(getattr(app, "_server", PROTOCOL_VERSION))
        self.protocol = "0.4" if version == PROTOCOL_VERSION else "0.3"
        self.process: subprocess.Popen[str] | None = None

    async def up(self) -> None:
        self.process, _ = await asyncio.to_thread(_start, self.port, self.protocol)

    async def down(self, force: bool = False) -> None:
        if self.process:
            await asyncio.to_thread(_stop, self.process)


def _minor(version: str) -> str:
    return ".".join(version.split(".")[:2])


for module in (a2c_smcp.testing, a2c_smcp.testing.server):
    module.run_http_server = run_http_server
    module.UvicornTestServer = OurServer


def pytest_runtest_logreport(report: Any) -> None:
    # A test whose set-up fails never comes to its call.
    if report.when != "call" and report.outcome == "passed":
        return
    outcome = {"test": report.nodeid, "outcome": report.outcome}
    if report.failed:
        outcome["why"] = report.longreprtext[-2000:]
    with open(os.environ["SMCP_OUTCOMES"], "a", encoding="utf-8") as outcomes:
        outcomes.write(json.dumps(outcome) + "\n")
