import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { SmcpAgent } from "../../../agent/mod.ts";
import { SmcpComputer, ToolHost } from "../../../computer/mod.ts";
import { apiKeys, createSmcpServer, jwt } from "../../../server/mod.ts";

/** Calls as JavaScript can: without types. */
const call = (f: unknown, ...args: unknown[]): unknown =>
  Reflect.apply(Object(f), undefined, args);
const make = (f: unknown, ...args: unknown[]): unknown =>
  Reflect.construct(Object(f), args);

const URL = "http://127.0.0.1:8787";
const RIGHT = { url: URL, name: "planner" };
const ofAgent = (method: string, ...args: unknown[]) => {
  const agent = new SmcpAgent(RIGHT);
  return Reflect.apply(Reflect.get(agent, method), agent, args);
};

const MISTAKES: readonly [
  name: string,
  attempt: () => unknown,
  says: string,
][] = [
  ["no options", () => make(SmcpAgent), "give them as { url: "],
  [
    "no name",
    () => make(SmcpAgent, { url: URL }),
    "option name: expected a text",
  ],
  ["no URL", () => make(SmcpAgent, { name: "a" }), "expected a URL such as"],
  [
    "auth as a text",
    () => make(SmcpAgent, { ...RIGHT, auth: "s3cret" }),
    'option auth: expected { api_key: "…" }',
  ],
  [
    "a path without a slash",
    () => make(SmcpAgent, { ...RIGHT, path: "smcp" }),
    'option path: expected a path that begins with "/"',
  ],
  [
    "a proxy as an object",
    () => make(SmcpAgent, { ...RIGHT, proxy: { host: "proxy" } }),
    "option proxy: expected a URL such as",
  ],
  [
    "a version that does not exist",
    () => make(SmcpAgent, { ...RIGHT, protocol: "1" }),
    'expected "auto", "0.2"',
  ],
  [
    "offline as another word",
    () => make(SmcpAgent, { ...RIGHT, offline: "retry" }),
    'option offline: expected "fail" or "wait"',
  ],
  [
    "join before connect",
    () => ofAgent("join", "home"),
    "Not connected: call connect() first",
  ],
  [
    "a tool before connect",
    () => ofAgent("callTool", "pc", "x"),
    "Not connected: call connect() first",
  ],
  [
    "bytes without a name",
    () => ofAgent("putFile", "pc", new Uint8Array(3)),
    'give one, such as { name: "photo.png" }',
  ],
  [
    "a Computer without a name",
    () => make(SmcpComputer, { url: URL, servers: {} }),
    "option name: expected a text",
  ],
  [
    "a Computer without servers",
    () => make(SmcpComputer, RIGHT),
    "servers: expected",
  ],
  [
    "a server that is a text",
    () => make(SmcpComputer, { ...RIGHT, servers: ["x"] }),
    "servers.0: expected an object, not a text",
  ],
  [
    "confirm as a switch",
    () => make(SmcpComputer, { ...RIGHT, servers: {}, confirm: true }),
    "option confirm: expected a function",
  ],
  ["a host without options", () => make(ToolHost), "servers: expected"],
  [
    "a key as authenticator",
    () => call(createSmcpServer, { authenticator: "s3cret" }),
    "option authenticator: expected what apiKeys()",
  ],
  [
    "keys as authenticator",
    () =>
      call(createSmcpServer, { authenticator: [{ id: "a", key: "s3cret" }] }),
    "option authenticator: expected what apiKeys()",
  ],
  [
    "a version of a Server that does not exist",
    () => call(createSmcpServer, { protocol: "1" }),
    'the protocol "1": expected one or more of "0.1"',
  ],
  [
    "no keys",
    () => call(apiKeys),
    'expected a list such as [{ id: "ci", key: "…" }]',
  ],
  [
    "keys as an object",
    () => call(apiKeys, { a: "s3cret" }),
    'expected a list such as [{ id: "ci"',
  ],
  [
    "a key without an id",
    () => call(apiKeys, [{ key: "s3cret" }]),
    'expected a list such as [{ id: "ci"',
  ],
  [
    "tokens without a key",
    () => call(jwt),
    'expected { key: { secret: "…" } }',
  ],
  [
    "tokens with a bare secret",
    () => call(jwt, { secret: "s3cret" }),
    'expected { key: { secret: "…" } }',
  ],
];

for (const [name, attempt, says] of MISTAKES) {
  Deno.test(`a mistake in JavaScript is an error that says what is expected: ${name}`, async () => {
    const { message } = await assertRejects(
      async () => await attempt(),
      Error,
    );
    assertStringIncludes(message, says);
    assertEquals(message.includes("s3cret"), false);
  });
}
