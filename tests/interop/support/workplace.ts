import { createHash, randomBytes } from "node:crypto";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { ServerSettings } from "../../../computer/mod.ts";
import { fixture } from "../../support/computer/mcp_servers.ts";
import { skillText } from "../../support/computer/skill_servers.ts";
import { scratch } from "../../support/scratch.ts";

/** A window on the Computer's desktop. */
export const WINDOW = "window://fixture/board";

/** A text larger than what any peer puts into one answer. */
export const LONG_TEXT: string = "One line of many.\n".repeat(3_000);

/** A file of a skill that no peer takes for a text. */
export const SCRIPT = "#!/bin/sh\necho hello\n";

/** The digest in hexadecimal digits. */
export const sha256 = (bytes: Uint8Array): string =>
  createHash("sha256").update(bytes).digest("hex");

/** What a Computer hosts. */
export interface Workplace extends AsyncDisposable {
  /** Its MCP servers: `fixture` over stdio, `My Files` and `Vault` over HTTP. */
  readonly servers: readonly (ServerSettings & { name: string })[];
  /** The folder of its skills. */
  readonly skillHome: string;
  /** The folder for files of Agents. */
  readonly landingRoot: string;
  /** Adds a skill to those of its user. */
  addSkill(name: string, files?: Record<string, string>): Promise<void>;
}

/** Prepares one, with the skill `greeting` of its user. */
export async function openWorkplace(): Promise<Workplace> {
  const stack = new AsyncDisposableStack();
  const { path } = stack.use(await scratch());
  const serve = (name: string, methods: Methods) => {
    const http = Deno.serve(
      { hostname: "127.0.0.1", port: 0, onListen: () => {} },
      (request) => answer(methods, request),
    );
    stack.defer(() => http.shutdown());
    const url = `http://127.0.0.1:${http.addr.port}/mcp`;
    return {
      name,
      type: "streamable" as const,
      server_parameters: { url },
      default_tool_meta: { auto_apply: true }, // there is no user to ask
    };
  };
  const skillHome = join(path, "skills");
  const landingRoot = join(path, "landing");
  await mkdir(landingRoot);
  const place: Workplace = {
    servers: [board(), serve("My Files", FILES), serve("Vault", VAULT)],
    skillHome,
    landingRoot,
    async addSkill(name, files = {}) {
      const skill = join(skillHome, "user", name);
      await mkdir(join(skill, "scripts"), { recursive: true });
      for (const [path, text] of Object.entries(files)) {
        await writeFile(join(skill, path), text);
      }
      // Last: a Computer that watches takes the skill from here on.
      await writeFile(join(skill, "SKILL.md"), aboutSkill(name));
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
  await place.addSkill("greeting", {
    "scripts/run.sh": SCRIPT,
    "long.md": LONG_TEXT,
    ".skillenv": "TOKEN=secret\n",
  });
  return place;
}

const aboutSkill = (name: string) => skillText(name, `About ${name}.`);

/** The fixture with a window. */
function board() {
  const annotations = { priority: 0.5 };
  const { server_parameters, ...settings } = fixture({
    resourceList: [{ uri: WINDOW, name: "board", annotations }],
  });
  // Keeps Deno's cache; a puppet has another HOME.
  const HOME = Deno.env.get("HOME") ?? "";
  return {
    ...settings,
    name: "fixture",
    forbidden_tools: ["pid"],
    default_tool_meta: { auto_apply: true },
    server_parameters: {
      ...server_parameters,
      env: { ...server_parameters.env, HOME },
    },
  };
}

type Params = {
  name?: string;
  arguments?: Record<string, unknown>;
  uri?: string;
};

/** What an MCP server answers to each method, besides `initialize`. */
type Methods = Record<string, (params: Params) => unknown>;

const listed = (...names: string[]) => ({
  tools: names.map((name) => ({ name, inputSchema: { type: "object" } })),
});

const SKILL = "skill://interop/haiku";

/** Has the skill `haiku`, and the tools `image`, of a number of bytes after its digest, and `digest` of a file. */
const FILES: Methods = {
  "tools/list": () => listed("image", "digest"),
  "tools/call": async ({ name, arguments: { bytes, path } = {} }) => {
    const data = name === "image"
      ? randomBytes(Number(bytes))
      : await readFile(String(path));
    const digest = { type: "text", text: sha256(data) };
    if (name !== "image") return { content: [digest] };
    const image = { type: "image", mimeType: "image/png" };
    return { content: [digest, { ...image, data: data.toString("base64") }] };
  },
  "resources/list": () => ({
    resources: [
      {
        uri: SKILL,
        name: "haiku",
        _meta: { source: "resources", version: "1.2.0" },
      },
      { uri: `${SKILL}/SKILL.md`, name: "SKILL.md" },
    ],
  }),
  "resources/read": ({ uri }) => ({
    contents: [{ uri, mimeType: "text/markdown", text: aboutSkill("haiku") }],
  }),
};

/** Without "tools/call": it answers that with 401. */
const VAULT: Methods = {
  "tools/list": () => listed("locked"),
  "resources/list": () => ({ resources: [] }),
};

/** An MCP server over Streamable HTTP. */
async function answer(methods: Methods, request: Request): Promise<Response> {
  if (request.method !== "POST") return new Response(null, { status: 405 });
  const { id, method, params = {} } = await request.json();
  if (id === undefined) return new Response(null, { status: 202 });
  if (method === "tools/call" && !methods[method]) {
    const realm = { "www-authenticate": `Bearer realm="vault"` };
    return new Response(null, { status: 401, headers: realm });
  }
  const result = method === "initialize"
    ? {
      protocolVersion: params.protocolVersion,
      capabilities: { tools: {}, resources: {} },
      serverInfo: { name: "http", version: "1" },
    }
    : await methods[method]?.(params) ?? {};
  return Response.json({ jsonrpc: "2.0", id, result });
}
