/**
 * Every options object of the public API refuses a name that it does not have: JavaScript and spread
 * objects get no error from the compiler, and an option that is ignored may be the one that protects.
 *
 * @module
 */
import {
  assert,
  assertEquals,
  assertInstanceOf,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { SmcpAgent } from "../../../agent/mod.ts";
import { s3Resolver, SmcpComputer, ToolHost } from "../../../computer/mod.ts";
import { mcpGateway, officeMcp, pipeOffice } from "../../../mcp/mod.ts";
import { joinCluster } from "../../../server/cluster/mod.ts";
import { deno } from "../../../server/fetch/deno.ts";
import { createFetchServer } from "../../../server/fetch/mod.ts";
import { createSmcpServer, jwt } from "../../../server/mod.ts";
import { approvals } from "../../../server/approvals/mod.ts";
import { signIn } from "../../../server/sign_in/mod.ts";
import { smcpWorker } from "../../../server/workers/mod.ts";
import { signIn as workerSignIn } from "../../../server/workers/sign_in.ts";
import { checkNames, type NameTable } from "../../../shared/checks.ts";
import { scriptedComputer, startOffice } from "../../../testing/mod.ts";

const NETWORK = { url: "http://127.0.0.1:1", name: "m" };
const PIPE = { agent: NETWORK, office: "o" };
const TLS = ["tls.cert", "tls.key", "tls.ca"];
const LIMITS = ["limits.callsPerAgent", "limits.membersPerOffice"];

/** Options of a type, and what takes them. */
interface Row {
  /** The exported types that are checked here. */
  readonly types: readonly string[];
  /** What the error names. */
  readonly taker: string;
  /** Uses options, which may lack what is required: names are checked first. */
  readonly use: (options: never) => unknown;
  /** Some of the options, with the path to those of nested objects. */
  readonly options: readonly string[];
}

const agent = new SmcpAgent(NETWORK);
const host = new ToolHost({ servers: {} });
const server = createSmcpServer();
const fetchServer = createFetchServer();
const office = officeMcp(agent);
Deno.test.afterAll(async () => {
  await office.close();
  await fetchServer.close();
  await server.close();
  await host.close();
  await agent.close();
});

const row = (
  types: string,
  taker: string,
  use: Row["use"],
  ...options: string[]
): Row => ({ types: types.split(" ").filter(Boolean), taker, use, options });

const TABLE: readonly Row[] = [
  row(
    "ConnectionOptions ClientTlsOptions SmcpAgentOptions",
    "SmcpAgent",
    (o) => new SmcpAgent(o),
    ...["name", "offline", "documentHandlers", "proxy", ...TLS],
  ),
  row(
    "SmcpComputerOptions HostingOptions BlobOptions OAuthOptions",
    "SmcpComputer",
    (o) => new SmcpComputer(o),
    ...["servers", "refuseOperators", "confirm", "skillHome", "landingRoot"],
    ...["uploads.maxBytes", "blobStore.memoryBytes", "oauth.authorize"],
    ...["restart.minDelayMs", "exitGraceMs", ...TLS],
  ),
  row(
    "ToolHostOptions",
    "ToolHost",
    (o) => new ToolHost(o),
    ...["servers", "elicit", "oauth.directory", "blobStore.maxBytes"],
  ),
  row("S3ResolverOptions", "s3Resolver()", (o) => s3Resolver(o), "prefix"),
  row(
    "SignInOptions",
    "signIn()",
    (o) => signIn(o),
    ...["store", "secret", "provider", "redirects", "fetchDocument"],
  ),
  row("ApprovalsOptions", "approvals()", (o) => approvals(o), "host"),
  row(
    "WorkerSignInOptions",
    "signIn()",
    (o) => workerSignIn(o),
    ...["secret", "provider", "redirects", "fetchDocument"],
  ),
  row(
    "SmcpServerOptions",
    "createSmcpServer()",
    (o) => createSmcpServer(o),
    ...["authenticator", "trustedProxies", "heartbeat.intervalMs"],
    ...["operator.token", ...LIMITS],
  ),
  row(
    "FetchServerOptions",
    "createFetchServer()",
    (o) => createFetchServer(o),
    ...["authenticator", "insecure", "operator.token", ...LIMITS],
  ),
  row(
    "",
    "createSmcpServer()",
    (o) =>
      createSmcpServer(
        Object.assign(Object(o), { adapter: deno() }),
      ),
    ...["authenticator", "insecure", ...LIMITS],
  ),
  row(
    "SmcpWorkerOptions",
    "smcpWorker()",
    (o) => smcpWorker(o),
    ...["authenticator", "fronts", "single", ...LIMITS],
  ),
  row(
    "ListenOptions TlsOptions",
    "listen()",
    (o) => server.listen(o),
    ...["hostname", "requireTls", "tls.cert", "tls.clientCa"],
  ),
  row("", "listenMetrics()", (o) => server.listenMetrics(o), "hostname"),
  row("", "reloadTls()", (o) => server.reloadTls(o), "clientCa"),
  row(
    "ConnectOptions",
    "connect()",
    (o) => server.connect(o),
    ...["protocol", "identity.principal", "identity.policy.offices"],
  ),
  row("", "connect()", (o) => fetchServer.connect(o), "identity.expiresAt"),
  row("CloseOptions", "close()", (o) => server.close(o), "graceMs"),
  row("", "close()", (o) => fetchServer.close(o), "graceMs"),
  row(
    "JwtOptions",
    "jwt()",
    (o) => jwt(Object.assign({ key: { secret: "s" } }, o)),
    ...["audience", "issuer", "key.secret", "key.jwksUrl"],
  ),
  row(
    "JoinClusterOptions",
    "joinCluster()",
    (o) => joinCluster("redis://127.0.0.1:1", o),
    ...["leaseMs", "tls.cert"],
  ),
  row(
    "OfficeMcpOptions",
    "officeMcp()",
    (o) => officeMcp(agent, o),
    ...["include", "admit", "maxCalls"],
  ),
  row(
    "McpGatewayOptions",
    "mcpGateway()",
    (o) => mcpGateway(o),
    ...["exclude", "seatIdleMs", "agentName"],
  ),
  row(
    "PipeOptions ViewOptions",
    "pipeOffice()",
    (o) => pipeOffice(o),
    ...["office", "view.include", "agent.protocol", "agent.tls.cert"],
  ),
  row("StdioStreams", "serveStdio()", (o) => office.serveStdio(o), "stdin"),
  row(
    "McpCaller",
    "handle()",
    (o) => office.handle(new Request("http://localhost/mcp"), o),
    "principal",
  ),
  row("", "pipeOffice()", (o) => pipeOffice(PIPE, o), ...["stdin", "stdout"]),
  row("TestOfficeOptions", "startOffice()", (o) => startOffice(o), "officeId"),
  row(
    "",
    "createSmcpServer()",
    (o) => startOffice({ server: o }),
    ...["authenticator", ...LIMITS],
  ),
  row("", "SmcpAgent", (o) => startOffice({ agent: o }), "offline"),
  row(
    "TestComputerOptions",
    "SmcpComputer",
    (o) => startOffice({ computers: { pc: o } }),
    ...["servers", "uploads.maxBytes"],
  ),
  row(
    "ScriptedComputerOptions",
    "scriptedComputer()",
    (o) => scriptedComputer(o),
    ...["script", "headers", ...TLS],
  ),
  row(
    "CallToolOptions",
    "callTool()",
    (o) => agent.callTool("pc", "t", {}, o),
    ...["timeoutMs", "onElicit", "reqId", "input.responses"],
  ),
  row(
    "FindToolOptions",
    "findTool()",
    (o) => agent.findTool("t", o),
    "computer",
  ),
  row(
    "AgentRequestOptions",
    "getTools()",
    (o) => agent.getTools("pc", o),
    ...["signal", "reqId"],
  ),
  row("", "getConfig()", (o) => agent.getConfig("pc", o), "signal"),
  row("", "getSkills()", (o) => agent.getSkills("pc", o), "signal"),
  row("", "listRoom()", (o) => agent.listRoom(o), "signal"),
  row("", "openBlob()", (o) => agent.openBlob("pc", "h", o), "signal"),
  row(
    "",
    "allResources()",
    (o) => agent.allResources("pc", "s", o).next(),
    "signal",
  ),
  row(
    "GetDesktopOptions",
    "getDesktop()",
    (o) => agent.getDesktop("pc", o),
    ...["size", "window"],
  ),
  row(
    "",
    "followDesktop()",
    (o) => agent.followDesktop("pc", o).next(),
    "window",
  ),
  row(
    "GetResourcesOptions",
    "getResources()",
    (o) => agent.getResources("pc", "s", o),
    "cursor",
  ),
  row(
    "TimedRequestOptions",
    "readResource()",
    (o) => agent.readResource("pc", "s", "u:1", o),
    "timeoutMs",
  ),
  row("", "getPrompts()", (o) => agent.getPrompts("pc", o), "timeoutMs"),
  row(
    "",
    "getResourceTemplates()",
    (o) => agent.getResourceTemplates("pc", o),
    "timeoutMs",
  ),
  row(
    "",
    "complete()",
    (o) =>
      agent.complete("pc", "s", {
        ref: { type: "ref/prompt", name: "p" },
        argument: { name: "a", value: "" },
      }, o),
    "timeoutMs",
  ),
  row("", "getInstructions()", (o) => agent.getInstructions("pc", o), "reqId"),
  row(
    "WatchResourceOptions",
    "watchResource()",
    (o) => agent.watchResource("pc", "s", "u:1", o),
    "stop",
  ),
  row(
    "GetPromptOptions",
    "getPrompt()",
    (o) => agent.getPrompt("pc", "s", "p", o),
    ...["arguments", "input.state"],
  ),
  row(
    "GetSkillOptions",
    "getSkill()",
    (o) => agent.getSkill("pc", "k", o),
    "path",
  ),
  row(
    "PutFileOptions",
    "putFile()",
    (o) => agent.putFile("pc", "/f", o),
    "name",
  ),
  row(
    "GetFileOptions",
    "getFile()",
    (o) => agent.getFile("pc", "u:1", "/f", o),
    "mcpServer",
  ),
  row(
    "GetDpeOptions",
    "getDpe()",
    (o) => agent.getDpe("pc", "dpe://h/d", o),
    "timeoutMs",
  ),
  row(
    "OpenDocumentOptions",
    "openDocument()",
    (o) => agent.openDocument("pc", "dpe://h/d", o),
    "timeoutMs",
  ),
  row(
    "GetFinderOptions",
    "getFinder()",
    (o) => agent.getFinder("pc", o),
    ...["keywords", "fileType"],
  ),
  row(
    "CallHostedToolOptions",
    "callTool()",
    (o) => host.callTool("t", {}, o),
    ...["agent", "timeoutMs"],
  ),
  row(
    "FindDocumentsOptions",
    "getFinder()",
    (o) => host.getFinder(o),
    ...["keywords", "offset"],
  ),
  row("", "getDesktop()", (o) => host.getDesktop(o), "window"),
  row(
    "",
    "readResource()",
    (o) => host.readResource("s", "u:1", o),
    "timeoutMs",
  ),
  row("", "getPrompts()", (o) => host.getPrompts(o), "timeoutMs"),
  row("", "getPrompt()", (o) => host.getPrompt("s", "p", o), "arguments"),
  row("", "getDpe()", (o) => host.getDpe("dpe://h/d", o), "timeoutMs"),
];

/** Exported types of this name that no function of the package takes from its users unchecked. */
const NOT_TAKEN = {
  UpgradeOptions: "given to adapters",
  GatewayCaller: "given to gateways",
  // Another error in place of the one that is made would hide it.
  ProtocolErrorOptions: "of an error",
};

/** Makes an object of one option; nested ones for a path with dots. */
const optionAt = (path: string, value: unknown): object =>
  Object(
    path.split(".").reduceRight((inner, name) => ({ [name]: inner }), value),
  );

const failureOf = async (
  use: Row["use"],
  options: object,
): Promise<unknown> => {
  try {
    await use(options as never);
  } catch (error) {
    return error;
  }
};

for (const { taker, use, options, types } of TABLE) {
  Deno.test(`${taker} refuses a misspelled option, also without a value (${types.join(", ") || "as above"}: ${options.join(", ")})`, async () => {
    for (const path of options) {
      for (const value of ["x", undefined]) {
        const misspelled = `${path}x`;
        const error = await failureOf(use, optionAt(misspelled, value));
        assertInstanceOf(error, TypeError);
        assertEquals(
          error.message,
          `Cannot use the option "${misspelled}" of ${taker}: unknown; did you mean "${path}"?`,
        );
      }
    }
  });
}

Deno.test("every type of options refuses misspelled names", async () => {
  const names = await Deno.readTextFile(
    new URL("../../docs/api/exported_names.txt", import.meta.url),
  );
  const exported = names.matchAll(/^([A-Z]\w*(?:Options|Streams|Caller)): /gm)
    .map(([, name]) => name);
  assertEquals(
    [...new Set(exported)].sort(),
    [...TABLE.flatMap(({ types }) => types), ...Object.keys(NOT_TAKEN)].sort(),
  );
});

const NAMES = {
  limit: true,
  auth: { token: true, "*": true },
  tls: { ca: true },
} satisfies NameTable;

Deno.test("checkNames() passes known names of any value, and takes neither inherited names nor symbols for options", () => {
  const inherited = Object.create({ lmit: 1 }, {
    limit: { value: 1, enumerable: true },
    hidden: { value: 1, enumerable: false },
  });
  const passed = [
    undefined,
    () => {},
    {},
    { limit: undefined, tls: undefined },
    { limit: null, tls: null },
    { tls: false },
    { auth: () => {} },
    { auth: { anything: 1 } },
    { [Symbol("lmit")]: 1 },
    inherited,
  ];
  for (const options of passed) checkNames(options, NAMES, "f()");
});

Deno.test("checkNames() refuses what is no object, and does not show it", () => {
  const cases: [unknown, string][] = [
    [
      5000,
      "options of f(): expected an object with limit, auth, tls, got a value of type number",
    ],
    [
      "s3cret",
      "options of f(): expected an object with limit, auth, tls, got a value of type string",
    ],
    [
      null,
      "options of f(): expected an object with limit, auth, tls, got null",
    ],
    [
      [],
      "options of f(): expected an object with limit, auth, tls, got a list",
    ],
    [
      false,
      "options of f(): expected an object with limit, auth, tls, got a value of type boolean",
    ],
    [
      { tls: true },
      'option "tls" of f(): expected an object with ca, got a value of type boolean',
    ],
    [
      { tls: ["a"] },
      'option "tls" of f(): expected an object with ca, got a list',
    ],
  ];
  for (const [options, message] of cases) {
    const error = assertThrows(
      () => checkNames(options, NAMES, "f()"),
      TypeError,
    );
    assertEquals(error.message, `Cannot use the ${message}`);
  }
});

Deno.test("a function that gets a value in place of its options refuses it, such as listen(8787)", async () => {
  for (const { taker, use, types } of TABLE) {
    const isWrapped = ["jwt()", "startOffice()"].includes(taker) ||
      types.includes("TestComputerOptions");
    if (types.length === 0 || isWrapped) continue; // inside of other options
    for (const value of [8787, "text", true]) {
      const error = await failureOf(use, value as never);
      assertInstanceOf(error, TypeError, taker);
      assertStringIncludes(error.message, "expected an object with", taker);
    }
  }
});

Deno.test("checkNames() suggests the place of an option that is one level too high, and else lists the options", () => {
  const cases: [object, string][] = [
    [
      { token: "t" },
      'option "token" of f(): unknown; did you mean "auth.token"?',
    ],
    [
      { tls: { cat: 1 } },
      'option "tls.cat" of f(): unknown; did you mean "tls.ca"?',
    ],
    [
      { tls: { zzz: 1 } },
      'option "tls.zzz" of f(): unknown; expected one of ca',
    ],
    [
      { other: 1 },
      'option "other" of f(): unknown; expected one of limit, auth, tls',
    ],
    [
      { constructor: 1, toString: 1 },
      'option "constructor" of f(): unknown; expected one of limit, auth, tls',
    ],
  ];
  for (const [options, message] of cases) {
    const error = assertThrows(
      () => checkNames(options, NAMES, "f()"),
      TypeError,
    );
    assertEquals(error.message, `Cannot use the ${message}`);
  }
});

Deno.test("createSmcpServer() reads options that an object computes or inherits, and leaves out none", () => {
  class Options {
    get publicUrl() {
      return "nonsense";
    }
  }
  for (const options of [new Options(), Object.create(new Options())]) {
    assertThrows(() => createSmcpServer(options), TypeError, "publicUrl");
  }
});

Deno.test("SmcpAgent() names the place of a token beside auth, and not the token", () => {
  const misspelt = { ...NETWORK, tokn: "s3cret" };
  const error = assertThrows(() => new SmcpAgent(misspelt));
  assertInstanceOf(error, TypeError);
  assertStringIncludes(error.message, 'did you mean "auth.token"?');
  assert(!error.message.includes("s3cret"));
});
