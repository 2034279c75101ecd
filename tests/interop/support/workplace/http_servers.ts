import { createHash, randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import {
  createServer,
  type IncomingMessage,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";
import { skillText } from "./skill_files.ts";

/** An MCP server over Streamable HTTP, in this process. */
export interface HttpServer extends AsyncDisposable {
  readonly url: string;
}

type Params = Record<string, unknown> & {
  name?: string;
  arguments?: Record<string, unknown>;
  uri?: string;
};

const SKILL = "skill://interop/haiku";

const RESOURCES = [
  {
    uri: SKILL,
    name: "haiku",
    _meta: { source: "resources", version: "1.2.0" },
  },
  { uri: `${SKILL}/SKILL.md`, name: "SKILL.md" },
];

/** The digest in hexadecimal digits. */
export const sha256 = (bytes: Uint8Array): string =>
  createHash("sha256").update(bytes).digest("hex");

const TOOLS: Record<
  string,
  (params: Record<string, unknown>) => object[] | Promise<object[]>
> = {
  /** An image of a number of bytes, after its digest. */
  image: ({ bytes }) => {
    const data = randomBytes(Number(bytes));
    return [
      { type: "text", text: sha256(data) },
      {
        type: "image",
        data: data.toString("base64"),
        mimeType: "image/png",
      },
    ];
  },
  /** The digest of a file of this machine. */
  digest: async ({ path }) => [{
    type: "text",
    text: sha256(await readFile(String(path))),
  }],
};

type Methods = Record<string, (params: Params) => unknown>;

const initialize: Methods = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {}, resources: {} },
    serverInfo: { name: "http", version: "1" },
  }),
};

const listed = (...names: string[]) => ({
  tools: names.map((name) => ({ name, inputSchema: { type: "object" } })),
});

const FILES: Methods = {
  ...initialize,
  "tools/list": () => listed(...Object.keys(TOOLS)),
  "tools/call": async (params) => ({
    content: await TOOLS[params.name ?? ""]?.(params.arguments ?? {}) ?? [],
  }),
  "resources/list": () => ({ resources: RESOURCES }),
  "resources/read": ({ uri }) => ({
    contents: [{ uri, mimeType: "text/markdown", text: skillText("haiku") }],
  }),
};

/** Without "tools/call". */
const VAULT: Methods = {
  ...initialize,
  "tools/list": () => listed("locked"),
  "resources/list": () => ({ resources: [] }),
};

/** Starts one with the tools `image` and `digest`, and the skill `haiku`. */
export const startFilesServer = (): Promise<HttpServer> => serve(FILES);

/** Starts one with the tool `locked`, whose calls it answers with 401. */
export const startVaultServer = (): Promise<HttpServer> => serve(VAULT);

async function serve(methods: Methods): Promise<HttpServer> {
  const http = createServer((req, res) =>
    void answer(methods, req, res).catch(() => res.destroy())
  );
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  const { port } = http.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    [Symbol.asyncDispose]: () => {
      http.closeAllConnections();
      return new Promise<void>((resolve) => http.close(() => resolve()));
    },
  };
}

async function answer(
  methods: Methods,
  req: IncomingMessage,
  res: ServerResponse,
): Promise<void> {
  let body = "";
  for await (const chunk of req) body += chunk;
  if (req.method !== "POST") return void res.writeHead(405).end();
  const { id, method, params = {} } = JSON.parse(body);
  if (id === undefined) return void res.writeHead(202).end();
  if (method === "tools/call" && methods[method] === undefined) {
    const realm = { "www-authenticate": `Bearer realm="vault"` };
    return void res.writeHead(401, realm).end();
  }
  const result = await methods[method]?.(params) ?? {};
  res.writeHead(200, { "content-type": "application/json" })
    .end(JSON.stringify({ jsonrpc: "2.0", id, result }));
}
