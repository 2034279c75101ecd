// Documents, large results, files, skills, and an office as one MCP server, against the installed package.
import { getRequestListener } from "@hono/node-server";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdir, readdir, readFile, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";
import { test } from "node:test";
import { BlobError, expandSkillDir } from "@a2c-smcp/sdk/agent";
import { localDirResolver } from "@a2c-smcp/sdk/computer";
import { officeMcp } from "@a2c-smcp/sdk/mcp";
import { startOffice } from "@a2c-smcp/sdk/testing";
import { folderOf, servers } from "./kit.mjs";

/** An office whose Computer has a folder, and options. */
async function start(t, options, server = {}) {
  const folder = await folderOf(t);
  const office = await startOffice({
    server,
    computers: { pc: { servers: servers(), ...options(folder) } },
  });
  t.after(() => office.close());
  const { agent } = office;
  return { agent, folder, computer: office.computer("pc") };
}

const sha256 = (bytes) => createHash("sha256").update(bytes).digest("hex");

test("documents: found, published in a local directory, and read", async (t) => {
  const { agent, computer, folder } = await start(t, () => ({}));
  computer.registerDpeResolver(localDirResolver(folder));
  const { documents } = await agent.getFinder("pc", { keywords: ["report"] });
  assert.deepEqual(documents.map(({ uri }) => uri), ["dpe://files/report"]);
  const document = await agent.openDocument("pc", "dpe://files/report");
  assert.equal(document.info.title, "Report");
  const { elements } = await document.page(0);
  assert.equal(elements[0].text, "Hello");
  assert.equal((await readdir(folder)).length, 1);
});

test("mcp: a client calls a tool over HTTP and in process", async (t) => {
  const { agent } = await start(t, () => ({}));
  const mcp = officeMcp(agent);
  t.after(() => mcp.close());
  const http = createServer(
    getRequestListener((request) => mcp.handle(request)),
  );
  http.listen(0, "127.0.0.1");
  await once(http, "listening");
  t.after(() => {
    http.closeAllConnections();
    http.close();
  });
  for (
    const [url, options] of [
      [`http://127.0.0.1:${http.address().port}/mcp`, {}],
      ["http://office/mcp", { fetch: mcp.fetch }],
    ]
  ) {
    const client = new Client({ name: "node", version: "1.0.0" });
    t.after(() => client.close());
    await client.connect(
      new StreamableHTTPClientTransport(new URL(url), options),
    );
    const { tools } = await client.listTools();
    assert.ok(tools.some(({ name }) => name === "pc__add"));
    const call = { name: "pc__add", arguments: { a: 2, b: 3 } };
    assert.equal((await client.callTool(call)).content[0].text, "5");
  }
});

/** Small messages; the Computer keeps little in memory. */
const startBlobs = (t, protocol) =>
  start(t, (folder) => ({
    landingRoot: join(folder, "landing"),
    blobStore: { memoryBytes: 1_000_000, directory: folder },
  }), { maxMessageBytes: 1_000_000, protocol });

test("blobs: an image of 5 MB arrives whole, and as a stream", async (t) => {
  const { agent } = await startBlobs(t, "0.2");
  const params = { bytes: 5_000_000 };
  const { content } = await agent.callTool("pc", "picture", params);
  assert.equal(sha256(Buffer.from(content[1].data, "base64")), content[0].text);
  const kept = await agent.callTool("pc", "picture", params, { blobs: "keep" });
  const hash = createHash("sha256");
  const handle = kept.content[1]._meta.a2c_blob_handle;
  for await (const chunk of agent.openBlob("pc", handle)) hash.update(chunk);
  assert.equal(hash.digest("hex"), kept.content[0].text);
  const put = agent.putFile("pc", new Uint8Array(1), { name: "note.txt" });
  await assert.rejects(put, BlobError);
});

test("blobs: a file goes up by its path, and a cancel leaves nothing", async (t) => {
  const { agent, folder } = await startBlobs(t, "0.4");
  const bytes = randomBytes(5_000_000);
  const file = join(folder, "my file.bin");
  await writeFile(file, bytes);
  const { path } = await agent.putFile("pc", file);
  assert.equal(sha256(await readFile(path)), sha256(bytes));
  assert.match(path, /_my_file\.bin$/);
  const abort = new AbortController();
  const put = agent.putFile("pc", file, {
    signal: abort.signal,
    onProgress: () => abort.abort(new Error("enough")),
  });
  await assert.rejects(put, /enough/);
  const parts = join(folder, "landing", ".a2c-upload");
  while ((await readdir(parts)).length > 0) {
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
});

test("skills: one that is added is announced, read and fetched in parts", async (t) => {
  const { agent, folder } = await start(t, (folder) => ({
    servers: {},
    skillHome: join(folder, "skills"),
  }));
  assert.deepEqual(await agent.getSkills("pc"), []);
  const skill = join(folder, "skills", "user", "forms");
  await mkdir(skill, { recursive: true });
  await writeFile(join(skill, "big.md"), "0123456789".repeat(100_000));
  await writeFile(join(folder, "secret.txt"), "secret");
  await symlink(join(folder, "secret.txt"), join(skill, "secret.md"));
  await writeFile(
    join(skill, "SKILL.md"),
    "---\nname: forms\ndescription: Forms.\n---\nIn ${TFROBOT_SKILL_DIR}\n",
  );
  let found;
  while (true) {
    const change = new Promise((resolve) => agent.on("updateSkills", resolve));
    [found] = await agent.getSkills("pc");
    if (found) break;
    await change;
  }
  assert.equal(found.name, "forms");
  const entry = await agent.getSkill("pc", "forms");
  assert.equal(expandSkillDir(await entry.text(), found), `In ${found.path}\n`);
  const big = await agent.getSkill("pc", "forms", { path: "big.md" });
  assert.equal((await big.text()).length, 1_000_000);
  for (
    const [path, reason] of [
      ["secret.md", "traversal"],
      ["../../../secret.txt", "traversal"],
      [".skillenv", "forbidden"],
      ["nothing", "not_found"],
    ]
  ) {
    await assert.rejects(
      agent.getSkill("pc", "forms", { path }),
      ({ code, details }) => code === 4017 && details.reason === reason,
    );
  }
});
