import { SYSTEMCTL } from "../../support/service/fake_programs.ts";
import {
  givenCertificates,
  givenConfiguration,
  givenKeys,
  givenOffice,
  givenRedis,
  KEYS,
  WITHOUT_REDIS,
} from "../support/givens.ts";
import type { Machine } from "../support/machine.ts";
import type { Given, Scene } from "../support/scene.ts";

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

/** Puts a stand-in for `systemctl` into the PATH: no user's systemd runs in tests. */
export async function givenSystemd({ home }: Machine): Promise<void> {
  await Deno.mkdir(`${home}/state`);
  await Deno.writeTextFile(`${home}/bin/systemctl`, SYSTEMCTL);
  await Deno.chmod(`${home}/bin/systemctl`, 0o755);
}

/** Starts a call with `req_id` 42 that does not end by itself, of the office's Agent. */
async function givenCall(given: Given): Promise<void> {
  await given.machine.program(
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

/** Starts an office with a call at a Server with keys; returns the operator's. */
async function givenOperator(given: Given): Promise<string> {
  await givenKeys(given);
  await givenConfiguration(given);
  await given.serve("smcp-server --api-keys keys.json");
  await given.serve(
    "smcp-computer run --config computer.json --office team-a --name laptop",
    /^MCP server files: running/,
    { SMCP_API_KEY: KEYS.laptop },
  );
  await givenCall(given);
  return KEYS.ops;
}

/** The blocks of docs/operators.md and docs/console.md. */
export const OPERATORS: readonly Scene[] = [
  {
    page,
    has: "curl http://127.0.0.1:8787/health",
    sees: { curl: /"status":"ok"/ },
  },
  {
    page,
    has: "KEY=$(smcp-server key add laptop",
    sees: { "key list": /laptop/ },
  },
  {
    page,
    has: "--api-keys keys.json --tls-cert cert.pem --tls-key key.pem",
    given: async (given) => {
      await givenCertificates(given);
      return await givenKeys(given);
    },
    then: isReady("https://smcp.example.com:8787"),
  },
  {
    page,
    has: "SMCP_API_KEY=$KEY smcp-agent members",
    given: async (given) => {
      await givenCertificates(given);
      const keys = await givenKeys(given);
      await given.serve(
        "smcp-server --host 0.0.0.0 --port 443 --api-keys keys.json --tls-cert cert.pem --tls-key key.pem",
      );
      return { ...keys, SMCP_TLS_CA: "ca.pem" };
    },
    sees: { members: /agent/ },
  },
  {
    page,
    has: "--jwt-jwks-url",
    given: async (given) => {
      await givenCertificates(given);
      await given.machine.write(
        "issuer.ts",
        `Deno.serve({ port: 443, cert: Deno.readTextFileSync("login-cert.pem"), key: Deno.readTextFileSync("login-key.pem") }, () => Response.json({ keys: [] }));`,
      );
      await given.serve("deno run -A issuer.ts", /Listening on /);
      return { DENO_CERT: "ca.pem" };
    },
    then: isReady("https://smcp.example.com:8787"),
  },
  {
    page,
    has: "--tls-client-ca clients.pem",
    given: givenCertificates,
    then: async ({ machine }) =>
      void await machine.run(
        "curl -sf --cacert ca.pem --cert cert.pem --key key.pem https://smcp.example.com:8787/ready",
      ),
  },
  { page, has: "--trust-proxy 1\n", given: givenKeys, then: isReady() },
  {
    page,
    has: "--hosts smcp.example.com\n",
    given: givenKeys,
    then: async ({ machine }) =>
      void await machine.run(
        "curl -sf --connect-to smcp.example.com::127.0.0.1: http://smcp.example.com:8787/ready",
      ),
  },
  {
    page,
    has: "--origins https://app.example",
    given: givenKeys,
    then: isReady(),
  },
  {
    page,
    has: "smcp-server --api-keys keys.json --mcp",
    given: givenKeys,
    then: isReady(),
  },
  {
    page,
    has: 'curl http://127.0.0.1:8787/mcp/office-1 -H "content-type',
    given: async (given) => void await givenOffice(given, "office-1"),
    sees: { curl: /laptop__read_text_file/ },
  },
  {
    page,
    has: "smcp-server service install --print",
    given: async (given) => {
      await givenSystemd(given.machine);
      return await givenKeys(given);
    },
    sees: { "--print": /ExecStart=/, status: /running/ },
  },
  {
    page,
    has: "SMCP_CLUSTER=redis://",
    ignore: WITHOUT_REDIS,
    given: async (given) => {
      await givenRedis(given, "10.0.0.5", "secret");
      return await givenKeys(given);
    },
    warns: /without TLS/,
    then: isReady(),
  },
  { page, has: "--max-connections-per-address 20", then: isReady() },
  {
    page,
    has: "--log-file /var/log/smcp/server.log",
    then: async ({ machine }) =>
      void await machine.run(
        "smcp-agent members --office a && grep joined /var/log/smcp/server.log",
      ),
  },
  {
    page,
    has: "smcp-server --api-keys keys.json --metrics",
    given: givenKeys,
    sees: { curl: /^smcp_connections/m },
  },
  {
    page: operating,
    has: "export SMCP_TOKEN=…",
    given: async (given) => {
      await given.machine.write("token", await givenOperator(given));
    },
    fill: "$(cat token)",
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
    has: "$TOKEN",
    given: async (given) => ({ TOKEN: await givenOperator(given) }),
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
    has: "smcp-server key add ops",
    sees: { "key add": /./ },
  },
];
