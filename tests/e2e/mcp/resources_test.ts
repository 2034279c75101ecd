import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { Buffer } from "node:buffer";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fixture } from "../../support/computer/mcp_servers.ts";
import { skillText } from "../../support/computer/skill_servers.ts";
import { ERAS, sdkClient } from "../../support/mcp/clients.ts";
import { serveOffice } from "../../support/mcp/gateway.ts";
import { scratch } from "../../support/scratch.ts";

const DESKTOP = "a2c://pc/desktop";
const WINDOW = `a2c://pc/window/${encodeURIComponent("window://fix/main")}`;
const NOTE = `a2c://pc/resource/fix/${encodeURIComponent("note://9")}`;

const shown = () =>
  fixture({
    resourceList: [
      { uri: "window://fix/main", name: "main" },
      { uri: "note://9", name: "nine" },
    ],
  });

for (const era of ERAS) {
  Deno.test(`${era}: a client reads an office's resources, completes the URIs of its templates, and is refused others`, async () => {
    await using served = await serveOffice({ servers: { fix: shown() } });
    await using client = await sdkClient(served, era);
    const { resources } = await client.listResources();
    assertEquals(resources.map(({ uri }) => uri), [DESKTOP, WINDOW, NOTE]);
    const { resourceTemplates } = await client.listResourceTemplates();
    assertEquals(resourceTemplates.length, 5);
    const read = async (uri: string) =>
      (await client.readResource({ uri })).contents[0];
    for (
      const [uri, text] of [
        [DESKTOP, "contents of window://fix/main"],
        [WINDOW, "contents of window://fix/main"],
        [NOTE, "contents of note://9"],
      ] as const
    ) {
      const contents = await read(uri);
      assertEquals(contents?.uri, uri);
      assertStringIncludes(JSON.stringify(contents), text);
    }
    await assertRejects(() => read("a2c://nobody/desktop"), Error, '"nobody"');
    await assertRejects(() => read("file:///etc/passwd"), Error, "passwd");
    await assertRejects(() => client.getPrompt({ name: "pc__nothing" }));

    const complete = async (
      uri: string,
      name: string,
      value: string,
      known: Record<string, string> = {},
    ) => {
      const { completion } = await client.complete({
        ref: { type: "ref/resource", uri },
        argument: { name, value },
        context: { arguments: known },
      });
      return completion.values;
    };
    const template = "a2c://{computer}/resource/{server}/{uri}";
    for (
      const [name, value, known, expected] of [
        ["computer", "P", {}, ["pc"]],
        ["server", "", { computer: "pc" }, ["fix"]],
        ["server", "", { computer: "x" }, []],
        ["uri", "note", { computer: "pc", server: "fix" }, ["note://9"]],
      ] as const
    ) {
      assertEquals<unknown>(
        await complete(template, name, value, known),
        expected,
      );
    }
    await assertRejects(
      () => complete("a2c://{other}", "other", ""),
      Error,
      "There is no template",
    );
  });
}

Deno.test("desktopTools show a model the desktop where its client has no resources", async () => {
  await using served = await serveOffice({
    servers: { fix: shown() },
    mcp: { desktopTools: true },
  });
  await using client = await sdkClient(served, "2025");
  const { tools } = await client.listTools();
  assertEquals(
    tools.slice(-3).map(({ name }) => name),
    ["desktop", "find_documents", "read_document"],
  );
  const call = (name: string, args: Record<string, unknown>) =>
    client.callTool({ name, arguments: { computer: "pc", ...args } });
  assertStringIncludes(
    JSON.stringify(await call("desktop", {})),
    "contents of window://fix/main",
  );
  assertEquals((await call("find_documents", { query: "x" })).content, [
    { type: "text", text: "[]" },
  ]);
  const failed = await call("read_document", { uri: "dpe://h/d" });
  assertEquals(failed.isError, true);
});

Deno.test("skills of an office are resources and prompts of its MCP server", async () => {
  await using home = await scratch();
  const folder = join(home.path, "user", "forms");
  await mkdir(join(folder, "scripts"), { recursive: true });
  const body = "Run ${TFROBOT_SKILL_DIR}/scripts/fill.py\n";
  const logo = Buffer.from([0, 255, 1]);
  for (
    const [path, content] of [
      ["SKILL.md", skillText("forms", "Fills in forms.", body)],
      ["scripts/fill.py", "print('ä')\n"],
      ["logo.png", logo],
    ] as const
  ) await writeFile(join(folder, path), content);
  await using served = await serveOffice({
    servers: {},
    computer: { skillHome: home.path },
  });
  await using client = await sdkClient(served, "2025");
  const uriOf = (path: string) =>
    `a2c://pc/skill/forms/${encodeURIComponent(path)}`;
  const uri = uriOf("SKILL.md");
  const { resources } = await client.listResources();
  assertEquals(resources.find((each) => each.uri === uri), {
    uri,
    name: "skill forms (pc)",
    description: "Fills in forms.",
    mimeType: "text/markdown",
  });
  for (
    const [path, mimeType, content] of [
      ["SKILL.md", "text/markdown", { text: body }],
      ["scripts/fill.py", "application/octet-stream", { text: "print('ä')\n" }],
      ["logo.png", "image/png", { blob: logo.toString("base64") }],
    ] as const
  ) {
    const { contents } = await client.readResource({ uri: uriOf(path) });
    assertEquals(contents, [{ uri: uriOf(path), mimeType, ...content }]);
  }
  await assertRejects(
    () => client.readResource({ uri: uriOf("../x") }),
    Error,
    "Skill resource not accessible",
  );

  assertEquals((await client.listPrompts()).prompts, [{
    name: "pc__forms",
    description: "[pc] Fills in forms.",
  }]);
  const { messages } = await client.getPrompt({ name: "pc__forms" });
  const text = body.replace(
    "${TFROBOT_SKILL_DIR}",
    await Deno.realPath(folder),
  );
  assertEquals(messages, [{ role: "user", content: { type: "text", text } }]);

  await client.watch(uri);
  await rm(folder, { recursive: true });
  await client.told(uri);
  // Notifications of how the Computer started may still be on their way.
  for (let count = 1; (await client.listPrompts()).prompts.length > 0;) {
    await client.told("prompts", count++);
  }
});
