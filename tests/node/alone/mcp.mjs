import assert from "node:assert/strict";
import process from "node:process";
import { SmcpComputer } from "@a2c-smcp/sdk/computer";

const computer = new SmcpComputer({
  url: "http://127.0.0.1:1", // is never connected to
  name: "pc",
  servers: {
    fixture: {
      type: "stdio",
      server_parameters: {
        command: process.execPath,
        args: ["mcp_server.mjs"],
      },
    },
  },
});
computer.start();
await computer.serversSettled();
const [{ state, error }] = computer.status().servers;
await computer.close();
assert.equal(state, "running", error);
console.log("works");
