import { SYSTEMCTL } from "../../support/service/fake_programs.ts";
import {
  givenCertificates,
  givenConfiguration,
  givenKeys,
  givenRedis,
  KEYS,
  WITHOUT_REDIS,
} from "../support/givens.ts";
import type { Given, Prepared, Scene } from "../support/scene.ts";

const page = "docs/operators.md";
const operating = "docs/console.md";

/** Resolves when a Server says that it accepts sessions. */
const isReady = (url = "http://127.0.0.1:8787") =>
async (
  { machine }: Given,
): Promise<void> =>
  void await machine.run(
    `curl -sf --cacert ca.pem ${url}/ready || curl -sfk ${url}/ready`,
  );

/** A stand-in for `systemctl`. */
export const SYSTEMD: Prepared = {
  because: "no user's systemd runs in containers: tests/e2e/service has more",
  make: async ({ machine: { home } }) => {
    await Deno.mkdir(`${home}/state`);
    await Deno.writeTextFile(`${home}/bin/systemctl`, SYSTEMCTL);
    await Deno.chmod(`${home}/bin/systemctl`, 0o755);
  },
};

/** Keys for a page that is not about them. */
const API_KEYS: Prepared = {
  because: "another page has how keys are made",
  make: givenKeys,
};

/** Certificates of an authority of our own. */
const CERTIFICATES: Prepared = {
  because: "an operator gets certificates from an authority",
  make: async (given) => {
    await givenCertificates(given);
    return { SMCP_TLS_CA: "ca.pem" };
  },
};

const ISSUER: Prepared = {
  because: "login.example is an example of an issuer of tokens",
  make: async (given) => {
    await givenCertificates(given);
    await given.machine.write(
      "issuer.ts",
      `Deno.serve({ port: 443, cert: Deno.readTextFileSync("login-cert.pem"), key: Deno.readTextFileSync("login-key.pem") }, () => Response.json({ keys: [] }));`,
    );
    await given.serve("deno run -A issuer.ts", /Listening on /);
    return { DENO_CERT: "ca.pem" };
  },
};

/** The keys of the page. */
const keys = [
  "smcp-server key add laptop --api-keys keys.json --roles computer --offices 'team-*'",
  "KEY=$(smcp-server key add planner --api-keys keys.json --roles agent --offices team-a)",
];

/** Starts a call with `req_id` 42 that does not end by itself, of the office's Agent. */
async function givenCall(given: Given): Promise<void> {
  await given.machine.save(
    "caller.ts",
    `
import { SmcpAgent } from "@a2c-smcp/sdk/agent";
const agent = new SmcpAgent({ url: "http://127.0.0.1:8787", name: "planner", auth: { api_key: "${KEYS.planner}" } });
await agent.connect();
await agent.join("team-a");
await agent.toolsSettled();
const calls = setInterval(() => agent.callTool("laptop", "read_text_file", { path: "notes.txt" }), 300);
console.log("calling");
await agent.callTool("laptop", "wait", {}, { reqId: "42", timeoutMs: 600_000 }).catch((error) => console.log("ended", error.code));
clearInterval(calls);
await agent.close();
`,
  );
  await given.serve("deno run -A caller.ts", /^calling$/);
}

/** An office at a Server with keys, and a call in it. */
const OFFICE: Prepared = {
  because: "an office at work, with the call 42 that hangs, is an example",
  make: async (given) => {
    await givenKeys(given);
    await givenConfiguration(given);
    await given.serve("smcp-server --api-keys keys.json");
    await given.serve(
      "smcp-computer run --config office.json --office team-a --name laptop",
      /^joined office /,
      { SMCP_API_KEY: KEYS.laptop },
    );
    await givenCall(given);
    return { TOKEN: KEYS.ops };
  },
};

/** A Server with a program that signed in by the key "planner". */
const SIGNED_IN: Prepared = {
  because: "a program that signed in is an example",
  make: async (given) => {
    await given.machine.save(
      "signed_in.ts",
      `
import { mcpGateway } from "@a2c-smcp/sdk/mcp";
import { createSmcpServer } from "@a2c-smcp/sdk/server";
import { memoryStore, signIn } from "@a2c-smcp/sdk/server/sign-in";
const store = memoryStore();
await store.putGrant({
  id: "5f0c9a",
  by: { principal: "key:planner", keySha256: "5".repeat(64) },
  office: "team-a",
  resource: "/mcp",
  client: { id: "https://claude.ai/client", name: "Claude", host: "claude.ai" },
  computers: { except: [] },
  createdAt: Date.now(),
  expiresAt: Date.now() + 86_400_000,
  number: 0,
  rotatedAt: [],
}, "");
const server = createSmcpServer({
  authenticator: {
    authenticate: () => ({ principal: "member" }),
    find: ({ principal }) => ({ principal }),
  },
  operator: { token: "${KEYS.ops}" },
  gateway: mcpGateway(),
  signIn: signIn({ store }),
});
console.log("serving", (await server.listen({ port: 8787 })).url);
`,
    );
    await given.serve("deno run -A signed_in.ts", /^serving /);
    return { TOKEN: KEYS.ops };
  },
};

/** The blocks of docs/operators.md and docs/console.md. */
export const OPERATORS: readonly Scene[] = [
  {
    page,
    has: "curl http://127.0.0.1:8787/health",
    sees: { curl: /"status":"ok"/ },
  },
  {
    page,
    has: "KEY=$(smcp-server key add planner",
    sees: { "key list": /laptop/ },
  },
  {
    page,
    has: "--api-keys keys.json --tls-cert cert.pem --tls-key key.pem",
    prepared: CERTIFICATES,
    before: keys,
    then: isReady("https://smcp.example.com:8787"),
  },
  {
    page,
    has: "SMCP_API_KEY=$KEY smcp-agent members",
    prepared: CERTIFICATES,
    before: [
      ...keys,
      "smcp-server --host 0.0.0.0 --api-keys keys.json --tls-cert cert.pem --tls-key key.pem",
    ],
    sees: { members: /agent/ },
  },
  {
    page,
    has: "--jwt-jwks-url",
    prepared: ISSUER,
    then: isReady("https://smcp.example.com:8787"),
  },
  {
    page,
    has: "--tls-client-ca clients.pem",
    prepared: CERTIFICATES,
    then: async ({ machine }) =>
      void await machine.run(
        "curl -sf --cacert ca.pem --cert cert.pem --key key.pem https://smcp.example.com:8787/ready",
      ),
  },
  { page, has: "--trust-proxy 1\n", before: keys, then: isReady() },
  {
    page,
    has: "--hosts smcp.example.com\n",
    before: keys,
    then: async ({ machine }) =>
      void await machine.run(
        "curl -sf --connect-to smcp.example.com::127.0.0.1: http://smcp.example.com:8787/ready",
      ),
  },
  {
    page,
    has: "--origins https://app.example",
    before: keys,
    then: isReady(),
  },
  {
    page,
    has: "smcp-server --api-keys keys.json --mcp",
    before: keys,
    then: isReady(),
  },
  {
    page,
    has: "curl http://127.0.0.1:8787/mcp/team-a -H",
    before: [...keys, "smcp-server --api-keys keys.json --mcp"],
    sees: { curl: /"tools":\[/ },
  },
  {
    page,
    has: "smcp-server --sign-in",
    before: keys,
    then: isReady(),
  },
  {
    page,
    has: "smcp-server --approvals",
    before: keys,
    then: isReady(),
  },
  ...["--api-keys", "--approvals-host"].map((flag): Scene => ({
    page: "docs/approvals.md",
    has: `smcp-server --approvals ${flag}`,
    prepared: API_KEYS,
    then: isReady(),
  })),
  {
    page,
    has: "smcp-server service install --print",
    prepared: SYSTEMD,
    before: keys,
    sees: { "--print": /ExecStart=/, status: /running/ },
  },
  {
    page,
    has: "SMCP_CLUSTER=redis://",
    ignore: WITHOUT_REDIS,
    prepared: {
      because: "the address is an example of a Redis in one's own network",
      make: (given) => givenRedis(given, "10.0.0.5", "secret"),
    },
    before: keys,
    warns: /without TLS/,
    then: isReady(),
  },
  { page, has: "--max-connections-per-address 20", then: isReady() },
  {
    page,
    has: "--log-file server.log",
    then: async ({ machine }) =>
      void await machine.run(
        "smcp-agent members --office a && grep joined server.log",
      ),
  },
  {
    page,
    has: "smcp-server --api-keys keys.json --metrics",
    before: keys,
    sees: { curl: /^smcp_connections/m },
  },
  {
    page: operating,
    has: "smcp-server offices\n",
    prepared: OFFICE,
    sees: {
      "smcp-server offices": /team-a/,
      "smcp-server members": /laptop/,
      "smcp-server calls": /42/,
      "smcp-server watch": /laptop/,
      "smcp-server cancel": /./,
    },
  },
  {
    page: operating,
    has: "smcp-server grants\n",
    prepared: SIGNED_IN,
    sees: {
      "smcp-server grants": /Claude/,
      "grants --office": /"5f0c9a"/,
      "grants end": /^ended: Claude/m,
    },
  },
  {
    page: operating,
    has: '$TOKEN" http',
    prepared: OFFICE,
    sees: { '$TOKEN" http': /team-a/, cancel: /"done":1/ },
  },
  { page, has: "--protocol 0.2,0.4", then: isReady() },
  {
    page: operating,
    has: "smcp-server\n",
    then: isReady("http://127.0.0.1:8787/console/.."),
  },
  {
    page: operating,
    has: "TOKEN=$(smcp-server key add ops",
    sees: { "key add": /./ },
  },
];
