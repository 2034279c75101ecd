/**
 * The Computer of the benchmark, in a separate process; its argument is the Server's URL. It offers
 * `echo` of the reference MCP server, once unchanged and once with a VRL program. It prints `ready`,
 * and on SIGTERM when each call passed each point, as one line of JSON.
 *
 * @module
 */
import { Client } from "@modelcontextprotocol/sdk/client";
import process from "node:process";
import { CallTable } from "../../computer/tools/results.ts";
import { StdioTransport } from "../../computer/host/mcp/stdio.ts";
import { SmcpComputer } from "../../computer/mod.ts";
import { LineDecoder } from "../../shared/line_decoder.ts";
import { everything } from "../../tests/support/computer/mcp_servers.ts";
import { OFFICE } from "../../tests/support/office.ts";
import type { Times } from "./call_stages.ts";
import { Marks, tap } from "./taps.ts";
import { tapWire } from "./wire_taps.ts";

const calls: Record<string, Times> = {};
const marks = new Marks();
let id: string | undefined;

tapWire(marks, () => {
  if (id !== undefined) calls[id] = marks.take();
  id = undefined;
});
tap(CallTable.prototype, "run", {
  enter: ([request]) => {
    id = (request as Parameters<CallTable["run"]>[0]).req_id;
    marks.mark("run");
  },
  resolve: () => marks.mark("result"),
});
tap(Client.prototype, "request", {
  enter: () => marks.mark("request"),
  resolve: () => marks.mark("answer"),
});
tap(StdioTransport.prototype, "send", { enter: () => marks.mark("sent") });
tap(LineDecoder.prototype, "push", { enter: () => marks.mark("line") });

const echo = (alias: string) => ({
  ...everything(),
  default_tool_meta: { auto_apply: true },
  tool_meta: { echo: { alias } },
});
const [url = ""] = Deno.args;
const computer = new SmcpComputer({
  url,
  name: "pc",
  servers: {
    agent: echo("echo_agent"),
    vrl: { ...echo("echo_vrl"), vrl: ".seen = .tool_name" },
  },
});
await computer.connect();
await computer.join(OFFICE);
await computer.serversSettled();
process.once("SIGTERM", async () => {
  await computer.close();
  console.log(JSON.stringify(calls));
});
marks.take();
console.log("ready");
