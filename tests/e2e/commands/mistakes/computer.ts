import { OFFICE } from "../../../support/office.ts";
import {
  agent,
  computer,
  literally,
  type Mistake,
  type World,
} from "./world.ts";

/** Mistakes with `smcp-computer`. */
export const computerMistakes = (world: World): Mistake[] => [
  {
    name: "another web server",
    command: "computer",
    args: computer(world.web, world.empty),
    code: 1,
    says:
      /no A2C-SMCP server \(HTTP 404\); correct --url, or the path with --path/,
  },
  {
    name: "no key",
    command: "computer",
    args: computer(world.keyed, world.empty),
    needsProcess: true,
    code: 1,
    says: /Authentication failed; give a key .*--api-key \(SMCP_API_KEY\)/,
  },
  {
    name: "the name is taken",
    command: "computer",
    args: computer(world.free, world.empty, "pc"),
    code: 1,
    says: /"pc" already exists.*; choose another name with --name/,
  },
  {
    name: "no configuration",
    command: "computer",
    args: agent(world.free, "run"),
    needsProcess: true,
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
  ...configurationMistakes(world),
];

/** Mistakes in a configuration, with the expected problem or error. */
const configurationMistakes = (world: World): Mistake[] => [
  ...CONFIGURATIONS.map(([name, content, says], at) => ({
    name: `configuration: ${name}`,
    command: "computer" as const,
    args: ["check", "--config", world.written(`config${at}.json`, content)],
    code: 1 as const,
    says: literally(`config${at}.json:`, says),
  })),
  ...PROBLEMS.map(([name, content, problem], at) => ({
    name: `problem: ${name}`,
    command: "computer" as const,
    args: ["check", "--config", world.written(`problem${at}.json`, content)],
    code: 1 as const,
    says: /there is a problem; it is listed above, with its remedy/,
    problem,
  })),
  {
    name: "a configuration without its option",
    command: "computer",
    args: ["check", "computer.json"],
    code: 2,
    says: /'--config <file>' not specified; write --config computer\.json/,
  },
  {
    name: "a directory as configuration",
    command: "computer",
    args: ["check", "--config", world.directory],
    code: 1,
    says: /Cannot read the configuration: it is a directory; name a file in it/,
  },
  {
    name: "a size with a unit",
    command: "computer",
    args: [...computer(world.free, world.empty), "--max-upload", "10MB"],
    code: 2,
    says: /'--max-upload <bytes>' argument '10MB'.* such as 10000000/,
  },
  {
    name: "the key of an agent for a computer",
    command: "computer",
    args: [...computer(world.keyed, world.empty), "--api-key", "agent-key"],
    code: 1,
    says:
      /join as computer: the credentials are for agent; smcp-computer joins as computer: give a key with --api-key/,
  },
  {
    name: "a Server that is not up yet",
    command: "computer",
    args: computer("http://127.0.0.1:1", world.empty),
    code: 1,
    says: /nobody listens there; start a Server, .*; or wait .* with --wait/,
  },
];

const stdio = (parameters: object, more: object = {}) => ({
  servers: { a: { type: "stdio", server_parameters: parameters, ...more } },
});

const CONFIGURATIONS: readonly [
  name: string,
  content: unknown,
  says: string,
][] = [
  ["a text", '"servers"', '1:1: expected {"inputs": [...], "servers": {NAME: '],
  ["empty", "", "1:1: Cannot read it as JSON: the file is empty"],
  [
    "a misspelled part",
    { server: {} },
    'server: unknown field; did you mean "servers"?',
  ],
  [
    "no command",
    { mcpServers: { a: { comand: "x" } } },
    "mcpServers.a.command: it is missing; expected a text",
  ],
  [
    "arguments as a text",
    { mcpServers: { a: { command: "npx", args: "-y" } } },
    "mcpServers.a.args: expected a list, not a text",
  ],
  ["an address without a scheme", {
    servers: {
      a: { type: "streamable", server_parameters: { url: "localhost:3000" } },
    },
  }, "servers.a.server_parameters.url: expected an http: or https: URL"],
  [
    "a variable that is an object",
    stdio({ command: "x", env: { A: {} } }),
    "servers.a.server_parameters.env.A: expected a text, not an object",
  ],
  [
    "a misspelled switch of a tool",
    stdio({ command: "x" }, { tool_meta: { rm: { auto_aply: true } } }),
    'tool_meta.rm.auto_aply: unknown field; did you mean "auto_apply"?',
  ],
  [
    "an alias for all tools",
    stdio({ command: "x" }, { default_tool_meta: { alias: "x" } }),
    "default_tool_meta.alias: one alias cannot serve every tool; set it per tool in tool_meta",
  ],
  ["an unknown type of input", {
    inputs: [{ type: "prompt", id: "a" }],
    servers: {},
  }, 'inputs.0.type: expected "promptString", "pickString" or "command"'],
];

const PROBLEMS: readonly [name: string, content: unknown, problem: RegExp][] = [
  [
    "nothing is offered",
    { servers: {} },
    /there are no MCP servers, so nothing is offered; add one to "servers"/,
  ],
  [
    "all are disabled",
    stdio({ command: "x" }, { disabled: true }),
    /every MCP server is disabled, so nothing is offered; remove "disabled"/,
  ],
  [
    "a command line as the command",
    stdio({ command: "npx -y @x/y" }),
    /Cannot start "npx -y @x\/y": .*; write "command": "npx", and the rest in "args"/,
  ],
  [
    "a directory that is missing",
    stdio({ command: "echo", cwd: "/no/such" }),
    /MCP server "a": Cannot start "echo": there is no directory \/no\/such/,
  ],
  [
    "a program that ends",
    stdio({ command: "false" }),
    /MCP server "a": "false" exited with code 1 before it answered; run its command by hand/,
  ],
  [
    "an address where nobody listens",
    {
      servers: {
        a: {
          type: "sse",
          server_parameters: { url: "http://127.0.0.1:2/sse?key=secret" },
        },
      },
    },
    /MCP server "a": cannot connect to http:\/\/127\.0\.0\.1:2\/sse\?key=<redacted>: .*; is it running, and is its url right\?/,
  ],
];
