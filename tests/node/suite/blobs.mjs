// Large results down, and files up, against the installed package.
import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { test } from "node:test";
import { BlobError } from "@a2c-smcp/sdk/agent";
import { startOffice } from "@a2c-smcp/sdk/testing";

/** An office of small messages, with a Computer that keeps little in memory. */
async function start(t, protocol) {
  const folder = await mkdtemp(join(tmpdir(), "smcp-blobs-"));
  t.after(() => rm(folder, { recursive: true }));
  const office = await startOffice({
    server: { maxMessageBytes: 1_000_000, protocol },
    computers: {
      pc: {
        landingRoot: join(folder, "landing"),
        blobStore: { memoryBytes: 1_000_000, directory: folder },
        servers: {
          fixture: {
            type: "stdio",
            server_parameters: {
              command: process.execPath,
              args: ["mcp_server.mjs"],
            },
          },
        },
      },
    },
  });
  t.after(() => office.close());
  const [tool] = office.agent.tools.get("pc")
    .map(({ name }) => name).filter((name) => name.endsWith("picture"));
  return { ...office, agent: office.agent, folder, tool };
}

const sha256 = (bytes) => createHash("sha256").update(bytes).digest("hex");

test("blobs: an image of 5 MB arrives whole, and as a stream", async (t) => {
  const { agent, tool } = await start(t, "0.2");
  const params = { bytes: 5_000_000 };
  const { content } = await agent.callTool("pc", tool, params);
  assert.equal(sha256(Buffer.from(content[1].data, "base64")), content[0].text);
  const kept = await agent.callTool("pc", tool, params, { blobs: "keep" });
  const hash = createHash("sha256");
  const handle = kept.content[1]._meta.a2c_blob_handle;
  for await (const chunk of agent.openBlob("pc", handle)) hash.update(chunk);
  assert.equal(hash.digest("hex"), kept.content[0].text);
  const options = { name: "note.txt" };
  await assert.rejects(
    agent.putFile("pc", new Uint8Array(1), options),
    BlobError,
  );
});

test("blobs: a file goes up by its path, and a cancel leaves nothing", async (t) => {
  const { agent, folder } = await start(t, "0.4");
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
