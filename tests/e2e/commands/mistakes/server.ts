import { literally, type Mistake, type World } from "./world.ts";

/** Mistakes with `smcp-server`. */
export const serverMistakes = (world: World): Mistake[] => [
  {
    name: "a port that is in use",
    command: "server",
    args: ["--port", new URL(world.free).port],
    needsProcess: true,
    code: 1,
    says: /the port is in use; choose another with --port/,
  },
  {
    name: "an invalid port",
    command: "server",
    args: ["--port", "http"],
    needsProcess: true,
    code: 2,
    says: /Expected an integer from 0 to 65535/,
  },
  {
    name: "an address of another machine",
    command: "server",
    args: ["--host", "192.0.2.1", "--port", "0", "--insecure"],
    needsProcess: true,
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
    name: "a public address without authentication",
    command: "server",
    args: ["--host", "0.0.0.0", "--port", "0"],
    code: 2,
    says: /cannot listen on .*; use --api-keys/,
  },
  ...[...keyRows(world.directory), ...serverRows(world)]
    .map((row) => ({ command: "server" as const, ...row })),
];

const keyRows = (directory: string): Omit<Mistake, "command">[] => [
  {
    name: "no file of keys",
    args: ["key", "add", "lab"],
    code: 2,
    says: /'--api-keys <file>' not specified; give it, or set SMCP_API_KEYS/,
  },
  {
    name: "a directory for keys that is missing",
    args: ["key", "add", "lab", "--api-keys", "/no/such/keys.json"],
    code: 1,
    says: /cannot write \/no\/such\/keys\.json: .*no such directory; create it/,
  },
  {
    name: "a role that does not exist",
    args: [
      ...["key", "add", "lab", "--api-keys", `${directory}/k.json`],
      ...["--roles", "admin"],
    ],
    code: 2,
    says: /'--roles <list>' argument 'admin'.*of agent, computer, operator/,
  },
  {
    name: "an expiry that is none",
    args: [
      ...["key", "add", "lab", "--api-keys", `${directory}/k.json`],
      ...["--expires", "soon"],
    ],
    code: 2,
    says: /'--expires <when>' argument 'soon'.*such as 90d, .* 2027-01-31T/,
  },
  {
    name: "a list of keys that do not exist",
    args: ["key", "list", "--api-keys", `${directory}/none.json`],
    code: 2,
    says: /none\.json, the file of --api-keys, does not exist; .*"key add"/,
  },
  {
    name: "a word for a command of keys",
    args: ["key", "create"],
    code: 2,
    says: /unknown command 'create'; the commands are add, list, revoke/,
  },
];

/** Mistakes in a file of keys, with what is said of them after the name of the file. */
const KEY_FILES: readonly [name: string, content: unknown, says: string][] = [
  ["no JSON", "[{", "Cannot read the API keys: not JSON (line 1 column 3)"],
  ["an object", { lab: "k" }, 'write it as [{"id": "ci", "key": "…"}]'],
  [
    "a role as a text",
    [{ id: "lab", key: "k", roles: "agent" }],
    'the key "lab": roles: expected a list',
  ],
  [
    "a misspelled field",
    [{ id: "lab", key: "k", office: ["a"] }],
    'the key "lab": office: unknown field; did you mean "offices"?',
  ],
  [
    "an id twice",
    [{ id: "lab", key: "k" }, { id: "lab", key: "l" }],
    'with the id "lab": give each holder an id',
  ],
  [
    "half a hash",
    [{ id: "lab", key: "sha256:12" }],
    'the API key "lab": expected the key, or "sha256:" and 64',
  ],
];

const serverRows = (world: World): Omit<Mistake, "command">[] => [
  ...KEY_FILES.map(([name, content, says], at) => ({
    name: `keys: ${name}`,
    // Read as the Server reads it, without a process that would serve.
    args: [
      "key",
      "list",
      "--api-keys",
      world.written(`keys${at}.json`, content),
    ],
    code: 2 as const,
    says: literally(`keys${at}.json: `, says),
  })),
  {
    name: "keys in a file that is missing",
    args: ["--port", "0", "--api-keys", "no.json"],
    code: 2,
    says: /Cannot read no\.json, the file of --api-keys: there is no such file/,
  },
  {
    name: "a certificate without its key",
    args: ["--port", "0", "--tls-cert", "cert.pem"],
    code: 2,
    says: /--tls-cert and --tls-key belong together: give both/,
  },
  {
    name: "a certificate that is none",
    args: ["--port", "0", "--tls-cert", world.empty, "--tls-key", world.empty],
    code: 2,
    says: /--tls-cert .*empty\.json, --tls-key .*: .* not valid PEM/,
  },
  {
    name: "a key of tokens that is none",
    args: ["--port", "0", "--jwt-key", world.empty],
    code: 2,
    says: /--jwt-key .*empty\.json: .*expected a public key as PEM, a JWK/,
  },
  {
    name: "an origin without a scheme",
    args: ["--port", "0", "--origins", "app.example"],
    code: 2,
    says:
      /'--origins <list>' argument 'app\.example'.*"https:\/\/app\.example"/,
  },
  {
    name: "a Redis of another kind",
    args: ["--port", "0", "--cluster", "localhost"],
    needsProcess: true,
    code: 2,
    says: /URL of Redis: it must begin with redis:/,
  },
  {
    name: "a log in a directory that is missing",
    args: ["--port", "0", "--log-file", "/no/such/log"],
    code: 2,
    says:
      /cannot write the log to \/no\/such\/log: .*create it, or .*--log-file/,
  },
  {
    name: "a word for a command",
    args: ["start"],
    code: 2,
    says: /unknown command 'start'; the commands are service, /,
  },
  {
    name: "a misspelled command",
    args: ["ofices"],
    code: 2,
    says: /unknown command 'ofices' \(Did you mean offices\?\)/,
  },
  {
    name: "an option that does not exist",
    args: ["--verbosity", "5"],
    code: 2,
    says: /unknown option '--verbosity'; --help lists them/,
  },
  {
    name: "no token of an operator",
    args: ["offices", "--url", world.keyed],
    code: 2,
    says: /no token: give the one that the Server printed .*--token/,
  },
];
