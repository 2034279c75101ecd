import { assertEquals, assertMatch } from "@std/assert";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import {
  apiKeys,
  createSmcpServer,
  parseApiKeys,
} from "../../../server/mod.ts";
import { type CommandName, runMain } from "../../support/command.ts";
import { startComputer } from "../../support/computer/computer.ts";
import { fixture } from "../../support/computer/mcp_servers.ts";
import { OFFICE } from "../../support/office.ts";

/** A typical mistake: the command line, the exit code, and the expected line. */
interface Mistake {
  readonly name: string;
  readonly command: CommandName;
  readonly args: string[];
  readonly env?: Record<string, string>;
  readonly code: 1 | 2;
  /** The expected cause and remedy. */
  readonly says: RegExp;
  /** The same as one of several problems, where the line states their number. */
  readonly problem?: RegExp;
}

/** Servers, files and an office with an agent, for the mistakes. */
async function startWorld() {
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
    authenticator: apiKeys(parseApiKeys(
      '[{"key": "correct-horse-battery-staple-correct", "id": "me"}]',
    )),
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
  const file = async (name: string, content: unknown) => {
    const path = `${directory}/${name}`;
    await Deno.writeTextFile(
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
    empty: await file("empty.json", { servers: {} }),
    broken: await file("broken.json", '{"servers": '),
    telnet: await file("telnet.json", { servers: { a: { type: "telnet" } } }),
    missing: await file("missing.json", {
      servers: {
        a: { type: "stdio", server_parameters: { command: "no-such-program" } },
      },
    }),
    slip: await file("slip.json", {
      servers: {
        a: {
          type: "stdio",
          server_parameters: { command: "x" },
          forbiden_tools: ["rm"],
        },
      },
    }),
    twice: await file(
      "twice.json",
      '{"servers": {}, "inputs": [],\n "servers": {}}',
    ),
    token: await file("token.json", {
      inputs: [{ type: "promptString", id: "token", description: "" }],
      servers: {},
    }),
    typo: await file("typo.json", {
      servers: {
        a: { type: "stdio", server_parameters: { command: "${input:tokne}" } },
      },
    }),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

type World = Awaited<ReturnType<typeof startWorld>>;

const agent = (url: string, ...args: string[]) => [
  ...args,
  "--url",
  url,
  "--office",
  OFFICE,
];

const computer = (url: string, config: string, name = "other") => [
  ...agent(url, "run"),
  "--config",
  config,
  "--name",
  name,
];

const mistakes = (world: World): Mistake[] => [
  {
    name: "an invalid URL",
    command: "agent",
    args: agent("localhost", "members"),
    code: 1,
    says: /"localhost": expected a URL such as "http:/,
  },
  {
    name: "the server is down",
    command: "agent",
    args: agent("http://127.0.0.1:1", "members"),
    code: 1,
    says: /127\.0\.0\.1:1: nobody listens there; start a Server, or .*--url/,
  },
  {
    name: "no such host",
    command: "agent",
    args: agent("http://no-such-host.invalid", "members"),
    code: 1,
    says: /(no such host; correct the address with --url|cannot be looked up)/,
  },
  {
    name: "another web server",
    command: "computer",
    args: computer(world.web, world.empty),
    code: 1,
    says:
      /no A2C-SMCP server \(HTTP 404\); correct --url, or the path with --path/,
  },
  {
    name: "https to an http server",
    command: "agent",
    args: agent(world.free.replace("http:", "https:"), "members"),
    code: 1,
    says: /does not speak TLS there; write http:/,
  },
  {
    name: "the wrong path",
    command: "agent",
    args: agent(world.free, "members", "--path", "/nowhere/"),
    code: 1,
    says: /correct --url, or the path with --path/,
  },
  {
    name: "the versions differ",
    command: "agent",
    args: agent(world.old, "members"),
    code: 1,
    says: /A2C-SMCP 0\.1|a2c_version.*0\.1/,
  },
  {
    name: "no key",
    command: "computer",
    args: computer(world.keyed, world.empty),
    code: 1,
    says: /Authentication failed; give a key .*--api-key \(SMCP_API_KEY\)/,
  },
  {
    name: "the wrong key",
    command: "agent",
    args: agent(world.keyed, "members"),
    env: { SMCP_API_KEY: "wrong" },
    code: 1,
    says: /Authentication failed; give a key .*--api-key \(SMCP_API_KEY\)/,
  },
  {
    name: "the office has an agent",
    command: "agent",
    args: agent(world.busy, "members"),
    code: 1,
    says: /already has an agent; .*stop that agent, or .*--office/,
  },
  {
    name: "the name is taken",
    command: "computer",
    args: computer(world.free, world.empty, "pc"),
    code: 1,
    says: /"pc" already exists.*; choose another name with --name/,
  },
  {
    name: "no office",
    command: "agent",
    args: ["members"],
    code: 2,
    says: /--office <office>' not specified; give it, or set SMCP_OFFICE/,
  },
  {
    name: "an unknown computer",
    command: "agent",
    args: agent(world.free, "tools", "--computer", "laptop"),
    code: 1,
    says: /"laptop" is not in your office; .*members/,
  },
  {
    name: "an unknown tool",
    command: "agent",
    args: agent(world.free, "call", "ecoh"),
    code: 1,
    says: /offers the tool "ecoh"; the command "tools" lists/,
  },
  {
    name: "parameters that are not JSON",
    command: "agent",
    args: agent(world.free, "call", "fail", "--params", "{path: .}"),
    code: 2,
    says: /--params is not JSON/,
  },
  {
    name: "parameters in a missing file",
    command: "agent",
    args: agent(world.free, "call", "fail", "--params", "@no/such.json"),
    code: 2,
    says: /--params @no\/such\.json: there is no such file/,
  },
  {
    name: "an argument of the wrong type",
    command: "agent",
    args: agent(world.free, "call", "count", "--arg", "n=many"),
    code: 2,
    says: /argument "n" is "many", expected a whole number/,
  },
  {
    name: "an argument without a value",
    command: "agent",
    args: agent(world.free, "call", "count", "--arg", "many"),
    code: 2,
    says: /Expected NAME=VALUE, such as/,
  },
  {
    name: "a timeout that is too long",
    command: "agent",
    args: agent(world.free, "call", "count", "--timeout", "4000"),
    code: 2,
    says: /Expected an integer from 1 to 3600/,
  },
  {
    name: "a tool without confirmation",
    command: "agent",
    args: agent(world.free, "call", "echo"),
    code: 1,
    says: /"echo" failed; .*allow it, or .*auto_apply/,
  },
  {
    name: "a tool that takes too long",
    command: "agent",
    args: agent(world.free, "call", "slow", "--timeout", "1"),
    code: 1,
    says: /"slow" failed; give it more time with --timeout/,
  },
  {
    name: "an invalid document address",
    command: "agent",
    args: agent(world.free, "read", "report.pdf"),
    code: 1,
    says: /report\.pdf.*; take a URI such as dpe:/,
  },
  {
    name: "no configuration",
    command: "computer",
    args: agent(world.free, "run"),
    code: 2,
    says: /--config <file>' not specified; give it, or set SMCP_CONFIG/,
  },
  {
    name: "a missing configuration",
    command: "computer",
    args: computer(world.free, "no/such.json"),
    code: 1,
    says: /no\/such\.json: .*there is no such file/,
  },
  {
    name: "a configuration that is not JSON",
    command: "computer",
    args: computer(world.free, world.broken),
    code: 1,
    says: /broken\.json:1:\d+: Cannot read it as JSON/,
  },
  {
    name: "an unknown type of MCP server",
    command: "computer",
    args: computer(world.free, world.telnet),
    code: 1,
    says: /telnet\.json:1:\d+: servers\.a\.type: expected "stdio"/,
  },
  {
    name: "a program that is not installed",
    command: "computer",
    args: ["check", "--config", world.missing],
    code: 1,
    says: /there is a problem; it is listed above, with its remedy/,
    problem: /"no-such-program".*no such program; install it/,
  },
  {
    name: "an input that is not defined",
    command: "computer",
    args: ["check", "--config", world.typo],
    code: 1,
    says: /there is a problem; it is listed above, with its remedy/,
    problem: /there is no input "tokne"; define it/,
  },
  {
    name: "an input without '='",
    command: "computer",
    args: [...computer(world.free, world.empty), "--input", "token"],
    code: 2,
    says: /write ID=VALUE/,
  },
  ...["run", "check"].map((command) => ({
    name: `a value for no input: ${command}`,
    command: "computer" as const,
    args: [
      ...(command === "run"
        ? computer(world.free, world.token)
        : ["check", "--config", world.token]),
      ...["--input", "tokne=hunter2"],
    ],
    code: 2 as const,
    says:
      /^error: --input tokne=…: .*token\.json has no input "tokne"; did you mean "token"\?$/,
  })),
  {
    name: "a misspelled field",
    command: "computer",
    args: ["check", "--config", world.slip],
    code: 1,
    says:
      /slip\.json:1:\d+: servers\.a\.forbiden_tools: unknown field; did you mean "forbidden_tools"\?/,
  },
  {
    name: "a duplicate key",
    command: "computer",
    args: computer(world.free, world.twice),
    code: 1,
    says:
      /twice\.json:2:2: servers: duplicate key, first at 1:2; remove one of them/,
  },
  {
    name: "an import of nothing",
    command: "computer",
    args: ["import", "--out", `${world.directory}/new.json`],
    env: { HOME: world.directory, XDG_CONFIG_HOME: world.directory },
    code: 1,
    says: /no configuration was found; name a file with --from FILE/,
  },
  {
    name: "an import to an existing file",
    command: "computer",
    args: ["import", "--from", world.missing, "--out", world.empty],
    code: 1,
    says: /empty\.json already exists; .*--out, or .*--force/,
  },
  {
    name: "an import into a missing directory",
    command: "computer",
    args: ["import", "--from", world.missing, "--out", "/no/such/new.json"],
    code: 1,
    says: /no such directory; create it, or .*--out/,
  },
  {
    name: "a switch of the environment that is neither on nor off",
    command: "computer",
    args: computer(world.free, world.empty),
    env: { SMCP_YES: "perhaps" },
    code: 2,
    says: /SMCP_YES is "perhaps", expected 1 or 0/,
  },
  {
    name: "an unknown option",
    command: "agent",
    args: agent(world.free, "tools", "--computr", "pc"),
    code: 2,
    says: /unknown option '--computr' \(Did you mean --computer\?\)/,
  },
  {
    name: "an unknown command",
    command: "agent",
    args: ["tolls"],
    code: 2,
    says: /unknown command 'tolls' \(Did you mean tools\?\)/,
  },
  {
    name: "an unknown shell",
    command: "agent",
    args: ["completion", "csh"],
    code: 2,
    says: /'csh' is invalid.*bash, zsh, fish/,
  },
  {
    name: "a port that is in use",
    command: "server",
    args: ["--port", new URL(world.free).port],
    code: 1,
    says: /the port is in use; choose another with --port/,
  },
  {
    name: "an invalid port",
    command: "server",
    args: ["--port", "http"],
    code: 2,
    says: /Expected an integer from 0 to 65535/,
  },
  {
    name: "an address of another machine",
    command: "server",
    args: ["--host", "192.0.2.1", "--port", "0", "--insecure"],
    code: 1,
    says: /does not have the address; choose .*--host/,
  },
  {
    name: "a public address of a service without authentication",
    command: "server",
    args: ["service", "install", "--print", "--host", "0.0.0.0"],
    env: { HOME: world.directory },
    code: 2,
    says: /cannot listen on .*; use --api-keys/,
  },
  {
    name: "an option of a service before its name",
    command: "server",
    args: ["--mcp", "service", "install", "--print"],
    env: { HOME: world.directory },
    code: 2,
    says: /--mcp stands before "service".*; write it after "install"/,
  },
  {
    name: "a service without a configuration",
    command: "computer",
    args: ["service", "install", "--office", OFFICE],
    code: 2,
    says: /--config <file>' not specified; give it, or set SMCP_CONFIG/,
  },
  {
    name: "the status of a service that is not installed",
    command: "computer",
    args: ["service", "status"],
    env: { HOME: world.directory, XDG_CONFIG_HOME: "" },
    code: 1,
    says:
      /not installed as a service .*; "smcp-computer service install --help"/,
  },
  {
    name: "a file of variables that is missing",
    command: "agent",
    args: agent(world.free, "members"),
    env: { SMCP_ENV_FILE: "no/such.env" },
    code: 2,
    says: /no file no\/such\.env, which SMCP_ENV_FILE names; make it, or leave/,
  },
  {
    name: "a public address without authentication",
    command: "server",
    args: ["--host", "0.0.0.0", "--port", "0"],
    code: 2,
    says: /cannot listen on .*; use --api-keys/,
  },
];

Deno.test({
  name:
    "each typical mistake prints one line with cause and remedy, and exits with its code",
  timeout: 600_000, // some forty processes in sequence
}, async (t) => {
  await using world = await startWorld();
  for (
    const { name, command, args, env = {}, code, says, problem } of mistakes(
      world,
    )
  ) {
    await t.step(name, async () => {
      const end = await runMain(command, args, {
        env: { DENO_DIR: denoDir(), ...env },
        cwd: world.directory,
      });
      const all = end.stdout + end.stderr;
      const errors = all.split("\n").filter((line) =>
        line.startsWith("error: ")
      );
      assertEquals(errors.length, 1, all);
      if (problem) {
        const problems = all.split("\n").filter((line) =>
          line.startsWith("problem: ")
        );
        assertEquals(problems.length, 1, all);
        assertMatch(problems[0] ?? "", problem);
      }
      assertMatch(errors[0] ?? "", says);
      assertEquals(end.code, code, all);
      assertEquals(/^\s+at .*:\d+:\d+/m.test(all), false, all); // a stack trace
    });
  }
});

/** Keeps Deno's cache when HOME differs. */
const denoDir = (): string =>
  Deno.env.get("DENO_DIR") ?? `${Deno.env.get("HOME")}/.cache/deno`;
