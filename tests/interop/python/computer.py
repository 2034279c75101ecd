"""The SDK's Computer, through its public API."""

from puppet import run  # first: it takes stdout away from the SDK

import sys
from typing import Any

from a2c_smcp.computer.computer import Computer
from a2c_smcp.computer.mcp_clients.model import StdioServerConfig
from a2c_smcp.computer.socketio.client import SMCPComputerClient


class Puppet:
    def __init__(self, name: str) -> None:
        self.name = name
        self.computer: Computer | None = None
        self.client: SMCPComputerClient | None = None
        self.office: str | None = None

    async def start(self, servers: list[dict[str, Any]]) -> None:
        configs = {StdioServerConfig.model_validate(server) for server in servers}
        self.computer = Computer(name=self.name, mcp_servers=configs)
        await self.computer.boot_up()
        self.client = SMCPComputerClient(computer=self.computer)

    async def connect(self, url: str) -> None:
        await self.client.connect(url, namespaces=[self.client.namespace])

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
