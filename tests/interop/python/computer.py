"""The SDK's Computer, through its public API."""

from puppet import run, tell_event  # first: it takes stdout away from the SDK

import json
import sys
from pathlib import Path
from typing import Any

from a2c_smcp.computer.computer import Computer
from a2c_smcp.computer.mcp_clients.model import (
    StdioServerConfig,
    StreamableHttpServerConfig,
)
from a2c_smcp.computer.socketio.client import SMCPComputerClient


CONFIGS = {"stdio": StdioServerConfig, "streamable": StreamableHttpServerConfig}


class Puppet:
    def __init__(self, name: str) -> None:
        self.name = name
        self.computer: Computer | None = None
        self.client: SMCPComputerClient | None = None
        self.office: str | None = None

    async def start(
        self, servers: list[dict[str, Any]], landing_root: str | None = None
    ) -> None:
        configs = {CONFIGS[s["type"]].model_validate(s) for s in servers}
        more: dict[str, Any] = {}
        if landing_root:  # only the settings can say it
            more["flag_settings_path"] = Path.home() / "settings.json"
            settings = json.dumps({"landingRoot": landing_root})
            more["flag_settings_path"].write_text(settings)
        self.computer = Computer(name=self.name, mcp_servers=configs, **more)
        await self.computer.boot_up()
        self.client = SMCPComputerClient(computer=self.computer)

        async def connected() -> None:
            tell_event("connected")

        self.client.on("connect", connected, namespace=self.client.namespace)

    async def connect(self, url: str, token: str | None = None) -> None:
        auth = {"token": token} if token else None
        await self.client.connect(
            url,
            auth=auth,
            namespaces=[self.client.namespace],
            wait_timeout=30,
        )

    async def join(self, office: str) -> None:
        await self.client.join_office(office)
        self.office = office

    async def leave(self) -> None:
        await self.client.leave_office(self.office)

    async def update_config(self) -> None:
        await self.client.emit_update_config()

    async def close(self) -> None:
        if self.client:
            await self.client.disconnect()


run(Puppet(*sys.argv[1:]))
