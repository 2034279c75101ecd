import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { apiKeys, createSmcpServer } from "../../../../server/mod.ts";
import type { CommandName } from "../../../support/command.ts";
import { startComputer } from "../../../support/computer/computer.ts";
import { fixture } from "../../../support/computer/mcp_servers.ts";
import { OFFICE } from "../../../support/office.ts";

/** A typical mistake: the command line, the exit code, and the expected line. */
export interface Mistake {
  readonly name: string;
  readonly command: CommandName;
  readonly args: string[];
  readonly env?: Record<string, string>;
  /** Run in a process of its own, like those with `env`: some of each command, and what leaves something behind. */
  readonly needsProcess?: true;
  readonly code: 1 | 2;
  /** The expected cause and remedy. */
  readonly says: RegExp;
  /** The same as one of several problems, where the line states their number. */
  readonly problem?: RegExp;
}

/** Servers, files and an office with an agent, for the mistakes. */
export async function startWorld() {
  const stack = new AsyncDisposableStack();
  const busy = stack.use(
    await startComputer({
      files: fixture({ only: ["echo", "fail"] }, {
        default_tool_meta: { auto_apply: true },
      }),
    }),
  );
  const free = stack.use(
    await startComputer({
      files: fixture({
        only: ["echo", "fail", "slow"],
        extraTools: [{
          name: "count",
          inputSchema: {
            type: "object",
            properties: { n: { type: "integer" } },
          },
        }],
      }, {
        default_tool_meta: { auto_apply: true },
        tool_meta: { echo: { auto_apply: false } },
      }),
    }, { confirm: () => "no" }),
  );
  await free.office.agent.leave();
  const keyed = stack.use(createSmcpServer({
    authenticator: apiKeys([
      { id: "me", key: "correct-horse-battery-staple-correct" },
      { id: "planner", key: "agent-key", roles: ["agent"], offices: ["team"] },
      { id: "pc", key: "computer-key", roles: ["computer"], names: ["pc"] },
      { id: "old", key: "old-key", expires: "2020-01-31T00:00:00Z" },
    ]),
  }));
  const old = stack.use(createSmcpServer({ protocol: "0.1" }));
  const web = createServer((_, response) => {
    response.statusCode = 404;
    response.end("<html>no such page</html>");
  }).listen(0, "127.0.0.1");
  await new Promise((resolve) => web.once("listening", resolve));
  stack.defer(() => {
    web.closeAllConnections();
    return new Promise<void>((resolve) => web.close(() => resolve()));
  });
  const directory = await Deno.makeTempDir();
  stack.defer(() => Deno.remove(directory, { recursive: true }));
  const written = (name: string, content: unknown) => {
    const path = `${directory}/${name}`;
    Deno.writeTextFileSync(
      path,
      typeof content === "string" ? content : JSON.stringify(content),
    );
    return path;
  };
  return {
    busy: busy.office.url,
    free: free.office.url,
    keyed: (await keyed.listen({ port: 0 })).url,
    old: (await old.listen({ port: 0 })).url,
    web: `http://127.0.0.1:${(web.address() as AddressInfo).port}`,
    directory,
    /** Writes a file, and returns its path. */
    written,
    empty: written("empty.json", { servers: {} }),
    broken: written("broken.json", '{"servers": '),
    telnet: written("telnet.json", { servers: { a: { type: "telnet" } } }),
    missing: written("missing.json", {
      servers: {
        a: { type: "stdio", server_parameters: { command: "no-such-program" } },
      },
    }),
    slip: written("slip.json", {
      servers: {
        a: {
          type: "stdio",
          server_parameters: { command: "x" },
          forbiden_tools: ["rm"],
        },
      },
    }),
    twice: written(
      "twice.json",
      '{"servers": {}, "inputs": [],\n "servers": {}}',
    ),
    token: written("token.json", {
      inputs: [{ type: "promptString", id: "token", description: "" }],
      servers: {},
    }),
    typo: written("typo.json", {
      servers: {
        a: { type: "stdio", server_parameters: { command: "${input:tokne}" } },
      },
    }),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

/** What {@linkcode startWorld} has started. */
export type World = Awaited<ReturnType<typeof startWorld>>;

/** The arguments of a command in the office of a Server. */
export const agent = (url: string, ...args: string[]) => [
  ...args,
  "--url",
  url,
  "--office",
  OFFICE,
];

/** The arguments of a Computer for the office of a Server. */
export const computer = (url: string, config: string, name = "other") => [
  ...agent(url, "run"),
  "--config",
  config,
  "--name",
  name,
];

/** A text in an error of one line. */
export const literally = (...texts: string[]): RegExp =>
  RegExp(texts.map((text) => text.replaceAll(/[^\w\s]/g, "\\$&")).join(".*"));
