import {
  assert,
  assertEquals,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { Buffer } from "node:buffer";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import {
  BlobError,
  expandSkillDir,
  ProtocolError,
  resultMeta,
  SmcpAgent,
  ToolLookupError,
} from "../../../agent/mod.ts";
import {
  blobScript,
  type BlobScriptOptions,
  HANDLE,
  leftOut,
  sha256,
  someBytes,
  unknownEvent,
} from "../../support/blob_script.ts";
import { MCP_SERVER_KEY } from "../../../protocol/payloads/tools.ts";
import { startComputer } from "../../support/computer/computer.ts";
import { everything, fixture } from "../../support/computer/mcp_servers.ts";
import { resourceServers } from "../../support/computer/resource_servers.ts";
import { skillText } from "../../support/computer/skill_servers.ts";
import { startOffice } from "../../support/office.ts";
import { scratch } from "../../support/scratch.ts";

const base64 = (bytes: Uint8Array) => Buffer.from(bytes).toString("base64");

const BYTES = someBytes(600_000);
/** A whole chunk of other bytes. */
const OTHER_CHUNK = base64(new Uint8Array(262_144));
const OTHER_DIGEST = sha256(new Uint8Array());

const image = (bytes: Uint8Array) => ({
  type: "image",
  data: "",
  mimeType: "image/png",
  annotations: null,
  meta: null,
  _meta: leftOut(bytes),
});

/** Calls the tool of a Computer whose image was left out. */
async function callFor(bytes: Uint8Array, options?: BlobScriptOptions) {
  const script = blobScript([image(bytes)], bytes, options);
  await using office = await startOffice({ computers: { pc: script } });
  const result = await office.agent.callTool("pc", "screenshot", {});
  const starts = script.requests
    .filter(({ chunk_offset }) => chunk_offset === 0).length;
  const [block] = result.content;
  return { result, starts, data: block?.type === "image" && block.data };
}

Deno.test("protocol §8.7: callTool() puts large content back, as an inline result would have it", async () => {
  const png = { type: "image", mimeType: "image/png" };
  const wav = { type: "audio", mimeType: "audio/wav" };
  const pdf = { uri: "x:1", mimeType: "application/pdf" };
  const _meta = { ...leftOut(BYTES), own: 1 };
  const same = [
    { type: "text", text: "here" },
    { ...png, data: "" },
    { ...png, data: "AAAA", _meta },
    { type: "resource", resource: { ...pdf, blob: "AAAA" }, _meta },
  ];
  const script = blobScript([
    ...same,
    image(BYTES),
    { ...wav, data: "", _meta },
    { type: "resource", resource: { ...pdf, blob: "" }, _meta: leftOut(BYTES) },
  ], BYTES);
  await using office = await startOffice({ computers: { pc: script } });
  const data = base64(BYTES);
  assertEquals<unknown>(await office.agent.callTool("pc", "screenshot", {}), {
    content: [
      ...same,
      { ...png, data, annotations: null, meta: null },
      { ...wav, data, _meta: { own: 1 } },
      { type: "resource", resource: { ...pdf, blob: data } },
    ],
  });
});

Deno.test("protocol §8.7: callTool() takes chunks of any size, and a resource without bytes", async () => {
  for (const [size, chunk] of [[0, 10], [1, 10], [1_000, 7], [1_000, 500]]) {
    const bytes = someBytes(Number(size));
    const { result, data } = await callFor(bytes, { chunk: Number(chunk) });
    assertEquals([data, result.isError], [base64(bytes), undefined]);
  }
});

Deno.test("protocol §8.7: callTool() starts over when the bytes change meanwhile", async () => {
  const { data, starts } = await callFor(BYTES, {
    change: (answer, { chunk_offset }, number) =>
      chunk_offset !== 0 && number < 3
        ? { ...answer, sha256: OTHER_DIGEST }
        : answer,
  });
  assertEquals([data, starts], [base64(BYTES), 2]);
});

Deno.test("protocol §8.7: callTool() says loudly what it cannot fetch, and why", async () => {
  const details = { reason: "gone" };
  const gone = { code: 4018, message: "It is no longer there", details };
  const other = "not the announced ones";
  const rows: [
    why: string,
    starts: number,
    change: (first: boolean) => object,
  ][] = [
    [other, 4, (first) => ({
      total_size: first ? 600_000 : 700_000,
      eof: false,
    })],
    [other, 4, (first) => first ? { blob: OTHER_CHUNK } : {}],
    [other, 4, () => ({ sha256: OTHER_DIGEST })],
    ["is empty before the end", 1, () => ({ blob: "", eof: false })],
    ["begins at 5 instead of 0", 1, () => ({ chunk_offset: 5 })],
    ["of at most 262144", 1, () => ({ blob: base64(BYTES), eof: true })],
    ["is marked as the last one", 1, () => ({ eof: true })],
    ["openBlob", 1, () => ({ total_size: 2 ** 30, eof: false })],
    ["no longer there", 1, () => gone],
    ["update it", 1, () => {
      throw unknownEvent("client:get_blob");
    }],
  ];
  for (const [why, starts, change] of rows) {
    const failed = await callFor(BYTES, {
      change: (answer, { chunk_offset }) => ({
        ...answer,
        ...change(chunk_offset === 0),
      }),
    });
    const { isError, content } = failed.result;
    assertEquals(
      [isError, resultMeta(failed.result), failed.starts],
      [true, { error_code: 4003, a2c_missing_blobs: 1 }, starts],
      why,
    );
    const text = content[0]?.text ?? "";
    assertStringIncludes(text, "(image, image/png, 600000 bytes)");
    assertStringIncludes(text, why);
  }
});

Deno.test("callTool() keeps handles for openBlob(), which streams what they lead to", async () => {
  const bytes = someBytes(3_000_000);
  const script = blobScript([image(bytes)], bytes);
  await using office = await startOffice({ computers: { pc: script } });
  const { agent } = office;
  const kept = await agent.callTool("pc", "screenshot", {}, { blobs: "keep" });
  assertEquals<unknown>(kept.content, [image(bytes)]);
  assertEquals(script.requests.length, 0);
  const stream = agent.openBlob("pc", HANDLE);
  const streamed = await new Response(stream as BodyInit).bytes();
  assertEquals(sha256(streamed), sha256(bytes));
});

Deno.test("openBlob() stops at a cancel and at an abort, and fails at wrong bytes", async () => {
  const held = Promise.withResolvers<void>();
  let wrong = false;
  const script = blobScript([], someBytes(20_000_000), {
    change: async (answer, { chunk_offset = 0 }) => {
      if (chunk_offset > 2_000_000) await held.promise;
      return wrong && chunk_offset === 262_144
        ? { ...answer, blob: OTHER_CHUNK }
        : answer;
    },
  });
  await using office = await startOffice({ computers: { pc: script } });
  const { agent } = office;

  const reader = agent.openBlob("pc", HANDLE).getReader();
  assertEquals((await reader.read()).value?.length, 262_144);
  await reader.cancel();
  const { length } = script.requests;
  assert(length <= 5, `${length} requests`);

  const abort = new AbortController();
  const { signal } = abort;
  const aborted = agent.openBlob("pc", HANDLE, { signal }).getReader();
  for (let i = 0; i < 5; i++) await aborted.read();
  abort.abort(new Error("enough"));
  const readOn = async () => {
    for (let i = 0; i < 100; i++) await aborted.read();
  };
  await assertRejects(readOn, Error, "enough");
  assert(script.requests.length < 20, `${script.requests.length} requests`);

  wrong = true;
  held.resolve();
  const error = await assertRejects(
    () => new Response(agent.openBlob("pc", HANDLE) as BodyInit).bytes(),
    BlobError,
  );
  assertEquals(error.code, "changed");
});

Deno.test("callTool() rejects when it is aborted while it fetches", async () => {
  const abort = new AbortController();
  const { signal } = abort;
  const script = blobScript([image(BYTES)], BYTES, {
    change: (answer) => {
      abort.abort(new Error("enough"));
      return answer;
    },
  });
  await using office = await startOffice({ computers: { pc: script } });
  const call = () => office.agent.callTool("pc", "shot", {}, { signal });
  await assertRejects(call, Error, "enough");
});

/** A folder with a skill of the user. */
async function skillAt(home: string): Promise<string> {
  const folder = join(home, "user", "forms");
  await mkdir(folder, { recursive: true });
  const body = "# Forms\nRun ${TFROBOT_SKILL_DIR}/fill.py, ${OTHER}\n";
  const text = skillText("forms", "Fills in forms.", body);
  await writeFile(join(folder, "SKILL.md"), text);
  return folder;
}

for (const protocol of ["0.2", "0.4"] as const) {
  Deno.test(`protocol §8.6: getSkills() and getSkill() give texts, long texts and bytes of a Computer of ${protocol}`, async () => {
    await using folder = await scratch();
    const path = await skillAt(folder.path);
    const long = "ä".repeat(150_000);
    const bytes = crypto.getRandomValues(new Uint8Array(60_000));
    await writeFile(join(path, "long.md"), long);
    await writeFile(join(path, "fill.bin"), bytes);
    await writeFile(join(path, "empty.txt"), "");
    await using office = await startOffice({
      server: { protocol },
      agent: { protocol },
      computers: { pc: { skillHome: folder.path, protocol } },
    });
    const { agent } = office;
    const [forms] = await agent.getSkills("pc");
    assert(forms);
    assertEquals(
      [forms.name, forms.source, forms.description],
      ["forms", "user", "Fills in forms."],
    );

    const open = (path?: string) =>
      agent.getSkill("pc", "forms", path === undefined ? {} : { path });
    const entry = await open();
    const text = await entry.text();
    assertEquals(
      [entry.name, entry.path, entry.mimeType, entry.size],
      ["forms", "SKILL.md", "text/markdown", text.length],
    );
    assertEquals(
      expandSkillDir(text, forms),
      `# Forms\nRun ${await Deno.realPath(path)}/fill.py, \${OTHER}\n`,
    );
    assertEquals(expandSkillDir("${TFROBOT_SKILL_DIR}", { path: "$&" }), "$&");

    const longFile = await open("long.md");
    assertEquals([longFile.size, await longFile.text()], [300_000, long]);
    const binary = await open("fill.bin");
    assertEquals(binary.mimeType, "application/octet-stream");
    assertEquals(new Uint8Array(await binary.bytes()), bytes);
    await assertRejects(() => binary.text(), TypeError);
    for (const file of [entry, longFile, binary, await open("empty.txt")]) {
      const chunks = await Array.fromAsync(file.stream());
      assert(chunks.every(({ length }) => length > 0), file.path);
      const streamed = Buffer.concat(chunks);
      assertEquals(sha256(streamed), file.sha256, file.path);
      assertEquals(sha256(await file.bytes()), file.sha256, file.path);
    }
    const error = await assertRejects(() => open("../x"), ProtocolError);
    assertEquals([error.code, error.details?.reason], [4017, "traversal"]);
  });
}

Deno.test("protocol §8.6: a skill that is added is notified; a file that changes is not mistaken for the first", async () => {
  await using folder = await scratch();
  await using office = await startOffice({
    computers: { pc: { skillHome: folder.path } },
  });
  const { agent } = office;
  const added = new Promise((resolve) => agent.on("updateSkills", resolve));
  const data = join(await skillAt(folder.path), "data.bin");
  assertEquals(await added, { computer: "pc" });
  await writeFile(data, new Uint8Array(300_000));
  const open = () => agent.getSkill("pc", "forms", { path: "data.bin" });
  const file = await open();
  await writeFile(data, new Uint8Array(300_000).fill(1));
  const error = await assertRejects(() => file.bytes(), BlobError);
  assertEquals(error.code, "changed");
  assertEquals((await (await open()).bytes())[0], 1);
});

Deno.test("protocol §8.6: a text that is not the announced one is refused", async () => {
  const skill = {
    name: "forms",
    rel_path: "SKILL.md",
    mime_type: "text/markdown",
    total_size: 3,
    sha256: sha256(Buffer.from("abc")),
    body: "abd",
  };
  const pc = (_: string, payload: unknown) => ({
    ...skill,
    req_id: Object(payload).req_id,
  });
  await using office = await startOffice({ computers: { pc } });
  const error = await assertRejects(
    () => office.agent.getSkill("pc", "forms"),
    BlobError,
  );
  assertEquals(error.code, "changed");
});

const offering = (...names: string[]) => () => ({
  tools: names.map((name) => ({
    name,
    description: "",
    params_schema: {},
    return_schema: null,
  })),
  req_id: "",
});

Deno.test("findTool() names the Computer of a tool, and says why there is none", async () => {
  await using office = await startOffice({
    computers: { pc: offering("echo", "both"), lab: offering("both") },
  });
  const { agent } = office;
  const { computer, tool } = await agent.findTool("echo");
  assertEquals([computer, tool.name], ["pc", "echo"]);
  const chosen = await agent.findTool("both", { computer: "lab" });
  assertEquals(chosen.computer, "lab");
  const outsider = new SmcpAgent({ url: office.url, name: "other" });
  const rows = [
    [agent, "both", "ambiguous", ["pc", "lab"], "(pc, lab); choose one"],
    [
      agent,
      "nope",
      "not_found",
      [],
      'in office "north" (pc, lab) offers it; `agent.tools` has what they offer',
    ],
    [agent, "ecoh", "not_found", [], 'offer; did you mean "echo"?'],
    [outsider, "echo", "not_found", [], "is in no office"],
  ] as const;
  for (const [from, name, code, computers, says] of rows) {
    const error = await assertRejects(
      () => from.findTool(name),
      ToolLookupError,
      says,
    );
    assertEquals([error.code, error.computers], [code, computers]);
  }
  const signal = AbortSignal.abort(new Error("enough"));
  await assertRejects(
    () => agent.findTool("echo", { signal }),
    Error,
    "enough",
  );
});

Deno.test(
  "getFile() fetches text and bytes of a Computer into files, from the MCP server that has them",
  { timeout: 120_000 },
  async () => {
    const FEATURES = "demo://resource/static/document/features.md";
    await using pc = await startComputer({
      none: fixture({ resources: false }),
      ...resourceServers({
        name: "docs",
        contents: {
          "file:///two": [
            { uri: "file:///two/a", text: "a" },
            { uri: "file:///two/b", text: "b" },
          ],
          "file:///several": [
            { uri: "file:///part", text: "p" },
            { uri: "file:///several", text: "ü" },
          ],
          "file:///none": [],
          "file:///odd": [{ uri: "file:///odd" }],
          [FEATURES]: null,
          "demo://resource/dynamic/blob/1": null,
          "demo://nothing": null,
        },
      }),
      all: everything(),
    });
    await using folder = await scratch();
    const { agent } = pc.office;
    const at = (name: string) => join(folder.path, name);
    const text = await agent.getFile("pc", FEATURES, at("features.md"));
    const written = await readFile(at("features.md"));
    assertStringIncludes(written.toString(), "Features");
    assertEquals<unknown>(text, {
      path: at("features.md"),
      mcpServer: "all",
      mimeType: "text/markdown",
      size: written.length,
    });
    await agent.getFile("pc", "demo://resource/dynamic/blob/1", at("blob"), {
      mcpServer: "all",
      timeoutMs: 110_000,
    });
    assertStringIncludes(await readFile(at("blob"), "utf8"), "Resource 1");
    const part = await agent.getFile("pc", "file:///several", at("blob"));
    assertEquals(part.size, 2);
    assertEquals(await readFile(at("blob"), "utf8"), "ü", "it is replaced");

    const refused = [
      ["pc", "demo://nothing", ProtocolError, 'of Computer "pc" has'],
      ["pc", "file:///two", BlobError, "is not one file but 2"],
      ["pc", "file:///none", BlobError, "has no contents"],
      ["pc", "file:///odd", BlobError, "neither text nor base64"],
      ["pc", "dpe://docs/a", TypeError, "open it with openDocument"],
      ["nobody", FEATURES, ProtocolError, '"nobody"'],
    ] as const;
    for (const [computer, uri, kind, says] of refused) {
      await assertRejects(
        () => agent.getFile(computer, uri, at("refused")),
        kind,
        says,
      );
    }
    await assertRejects(
      () => agent.getFile("pc", FEATURES, at("no/such/folder")),
      Error,
      "ENOENT",
    );
    assertEquals((await readdir(folder.path)).sort(), ["blob", "features.md"]);
  },
);

Deno.test("getFile() reads from the MCP server that is named alone, else from one after the other until one has it", async () => {
  const asked: unknown[] = [];
  let answer: (server: unknown) => object = () => ({});
  const tools = ["a", "b", "c"].map((server) => ({
    name: `of ${server}`,
    description: "",
    params_schema: {},
    return_schema: null,
    meta: { [MCP_SERVER_KEY]: server },
  }));
  await using office = await startOffice({
    computers: {
      pc: (event, payload) => {
        const { req_id, mcp_server } = Object(payload);
        if (event === "client:get_tools") return { tools, req_id };
        if (event === "client:get_config") return { servers: {} };
        asked.push(mcp_server);
        return { req_id, ...answer(mcp_server) };
      },
    },
  });
  await using folder = await scratch();
  const path = join(folder.path, "file");
  const has = (...servers: string[]) => (server: unknown) => {
    if (servers.includes(String(server))) {
      return { contents: [{ uri: "x:1", text: `of ${server}` }] };
    }
    const fields = { mcp_server: server };
    throw new ProtocolError(404, `${server} has it not`, { fields });
  };
  const refuse = () => {
    throw new ProtocolError(403, "not for you");
  };
  const rows: [typeof answer, { mcpServer?: string }, string[], string][] = [
    [has("a", "b"), {}, ["a"], "of a"],
    [has("b", "c"), {}, ["a", "b"], "of b"],
    [has("a", "c"), { mcpServer: "c" }, ["c"], "of c"],
    [
      has(),
      {},
      ["a", "b", "c"],
      'No MCP server of Computer "pc" has x:1: a has it not; b has it not; c has it not',
    ],
    [has("a"), { mcpServer: "b" }, ["b"], "b has it not"],
    [refuse, {}, ["a"], "not for you"],
  ];
  for (const [by, options, servers, text] of rows) {
    asked.length = 0;
    answer = by;
    const read = office.agent.getFile("pc", "x:1", path, options)
      .then(() => readFile(path, "utf8"), (error) => error.message);
    assertEquals([await read, asked], [text, servers]);
  }
});
