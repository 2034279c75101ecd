import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { Buffer } from "node:buffer";
import { join } from "node:path";
import {
  SmcpComputer,
  type SmcpComputerOptions,
} from "../../../computer/mod.ts";
import { ONCE } from "../../support/computer/host.ts";
import { captureLog } from "../../support/log_capture.ts";
import { scratch } from "../../support/scratch.ts";

/** Values that a naive search would miss. */
const ODD = {
  quoted: 'qu"o\\te$&d (.*)',
  lines: "-----first line of it-----\nsecond line of it\nthird=/+ of it",
  letters: "ünï/cödé?&=#😀 +%20",
  markup: '<b>it\'s & "bold"</b>',
  padded: "  padded value  ",
  short: "0x7f",
  tiny: "q7x9", // as short as a hidden one can be
};
type Name = keyof typeof ODD;

const prompt = {
  type: "promptString" as const,
  description: "",
  password: true,
};
const inputs = Object.keys(ODD).map((id) => ({ ...prompt, id }));

/** An MCP server that prints its values in all ways that programs do. */
const TALKER = `
import { createInterface } from "node:readline";
const value = process.env.VALUE, how = process.env.HOW;
const forms = [
  value, JSON.stringify({ v: value }), JSON.stringify(JSON.stringify([value])),
  encodeURIComponent(value), encodeURI(value), "" + new URLSearchParams({ v: value }),
  btoa(String.fromCharCode(...new TextEncoder().encode(value))),
  ...["u:", "us:", "use:"].map((user) => Buffer.from(user + value + ":x").toString("base64")),
  Buffer.from(value).toString("base64url"),
  value.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;"),
  JSON.stringify(value).replace(/[^\\x20-\\x7e]/g, (c) => "\\\\u" + c.charCodeAt(0).toString(16).padStart(4, "0")),
];
const die = (code) => process.stderr.write(forms.join("\\n") + "\\n", () => process.exit(code));
if (how === "start") die(4);
else for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  const answer = (body) => console.log(JSON.stringify({ jsonrpc: "2.0", id, ...body }));
  if (method === "initialize") answer({ result: {
    protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "t", version: "1" } } });
  if (method === "tools/list") answer({ result: { tools: [
    ...["refuse", "die", "say"].map((name) => ({ name, inputSchema: { type: "object" } })),
    { name: "x".repeat(300) + forms.join(""), inputSchema: { type: "object" } },
    { name: forms.join(), inputSchema: 3 },
  ] } });
  if (method === "tools/call" && params.name === "refuse") answer({ error: { code: 5, message: forms.join(", ") } });
  if (method === "tools/call" && params.name === "say") answer({ result: { content: [{ type: "text", text: value }] } });
  if (method === "tools/call" && params.name === "die") die(5);
}
`;

/** The forbidden texts: each line of a value, in each printed form. */
function tracesOf(value: string): string[] {
  const texts = [value.trim(), ...value.split("\n")];
  return texts.flatMap((text) => [
    text,
    JSON.stringify(text).slice(1, -1),
    encodeURIComponent(text),
    new URLSearchParams([["", text]]).toString().slice(1),
    Buffer.from(text).toString("base64").replace(/.?=*$/, ""),
  ]);
}

function assertUnsaid(said: string, value: string): void {
  for (const trace of tracesOf(value)) {
    const at = said.indexOf(trace);
    const near = said.slice(Math.max(0, at - 100), at + trace.length + 100);
    assert(at === -1, `${JSON.stringify(trace)} was said: …${near}…`);
  }
}

/** Hosts one server with each value in turn, and collects all output. */
async function everythingSaid(
  value: string,
  servers: SmcpComputerOptions["servers"],
  act: (
    call: (tool: string) => Promise<string>,
    computer: SmcpComputer,
  ) => Promise<void>,
  more: Partial<SmcpComputerOptions> = {},
): Promise<string> {
  using log = captureLog();
  const said: string[] = [];
  await using computer = new SmcpComputer({
    url: "http://127.0.0.1",
    name: "pc",
    servers,
    inputs,
    inputValues: { ...ODD, value },
    confirm: () => "once",
    restart: ONCE,
    ...more,
  });
  computer.on("serverState", (status) => said.push(JSON.stringify(status)));
  computer.start();
  await computer.serversSettled();
  await act(async (tool) => {
    const answer = await computer.callTool(tool).then(
      (result) => result.isError ? JSON.stringify(result) : "",
      (error) => `${error.message} ${JSON.stringify(error.toPayload?.())}`,
    );
    said.push(answer);
    return answer;
  }, computer);
  said.push(JSON.stringify(computer.status()));
  const lines = log.records.map(({ message, properties }) =>
    `${message.join("")} ${Object.values(properties).join(" ")}`
  );
  return [...said, ...lines, log.text].flatMap((text) => [
    text,
    text.replaceAll("\\n", "\n").replaceAll('\\"', '"'),
  ]).join("\n");
}

Deno.test("no value of an input, of any form, is in a log line, problem or error", async (t) => {
  await using folder = await scratch();
  const file = join(folder.path, "talker.mjs");
  await Deno.writeTextFile(file, TALKER);
  const talker = (id: Name, how: string, over = {}) => ({
    type: "stdio" as const,
    server_parameters: {
      command: Deno.execPath(),
      args: ["run", "-A", "--no-config", "--no-lock", file],
      env: { VALUE: `\${input:${id}}`, HOW: how },
    },
    ...over,
  });
  for (const [id, value] of Object.entries(ODD) as [Name, string][]) {
    await t.step(id, async () => {
      const said = await everythingSaid(
        value,
        {
          start: talker(id, "start"),
          run: talker(id, "run", {
            vrl: ".x = to_int!(.content[0].text)",
            tool_meta: { gone: {} },
          }),
          abort: talker(id, "run", {
            vrl: "abort string!(.content[0].text)",
            tool_meta: { say: { alias: "say2" }, refuse: { alias: "r2" } },
            forbidden_tools: ["die"],
          }),
        },
        async (call, computer) => {
          assertEquals(await call("say"), ""); // results are not changed
          assertEquals(await call("say2"), "");
          assertStringIncludes(await call("refuse"), "<redacted>");
          const lost = new Promise<void>((resolve) =>
            computer.on(
              "serverState",
              ({ name, state }) =>
                name === "run" && state === "restarting" && resolve(),
            )
          );
          await call("die");
          await lost;
        },
      );
      for (
        const part of [
          "exited with code 4",
          "exited with code 5",
          "its function to_int failed in line 1",
          "it aborted, or a step of it failed",
        ]
      ) assertStringIncludes(said, part);
      assertUnsaid(said, value);
    });
  }
});

Deno.test("no value of an input is in messages about servers over HTTP, or OAuth", async (t) => {
  await using folder = await scratch();
  await using server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen: () => {} },
    ({ headers, url }) => {
      const value = headers.get("x-value");
      const { host, pathname } = new URL(url);
      const challenge =
        `Bearer error="invalid_token", error_description="${value}", resource_metadata="http://${host}/meta?v=${value}"`;
      return new Response(`<html>${value} ${url}</html>`, {
        status: pathname === "/oauth" ? 401 : 500,
        headers: {
          "content-type": "text/html",
          ...(pathname === "/oauth" && { "www-authenticate": challenge }),
        },
      });
    },
  );
  const secret = { inputs: [{ ...prompt, id: "value" }] };
  const value = 'he"ad\\er$& v4lue';
  for (const path of ["fails", "oauth"]) {
    for (const type of ["streamable", "sse"] as const) {
      await t.step(`${path}, ${type}`, async () => {
        const { port } = server.addr;
        const said = await everythingSaid(
          value,
          {
            web: {
              type,
              server_parameters: {
                url: `http://127.0.0.1:${port}/${path}?v=\${input:value}`,
                headers: { "x-value": "${input:value}" },
              },
            },
          },
          (_, computer) => {
            assertEquals(computer.status().servers[0]?.state, "failed");
            return Promise.resolve();
          },
          {
            ...secret,
            oauth: {
              directory: join(folder.path, `${path}-${type}`),
              authorize: () => {},
            },
          },
        );
        assertUnsaid(said, value);
      });
    }
  }
  await t.step("no such host", async () => {
    const url = "http://${input:value}.invalid/mcp";
    const said = await everythingSaid(
      "s3cret-host",
      { web: { type: "streamable", server_parameters: { url } } },
      () => Promise.resolve(),
      secret,
    );
    assertStringIncludes(said, '"failed"');
    assertUnsaid(said, "s3cret-host");
  });
});
