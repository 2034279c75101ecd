import { assertEquals, assertRejects } from "@std/assert";
import { Client } from "@modelcontextprotocol/client";
import { Buffer } from "node:buffer";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { skillText } from "../../support/computer/skill_servers.ts";
import { serveOffice } from "../../support/mcp/office.ts";
import { scratch } from "../../support/scratch.ts";
import { httpTransport } from "../../support/mcp/http_transport.ts";

Deno.test({
  name: "skills of an office are resources and prompts of its MCP server",
  timeout: 120_000,
}, async () => {
  await using home = await scratch();
  const folder = join(home.path, "user", "forms");
  await mkdir(join(folder, "scripts"), { recursive: true });
  await writeFile(
    join(folder, "SKILL.md"),
    skillText(
      "forms",
      "Fills in forms.",
      "Run ${TFROBOT_SKILL_DIR}/scripts/fill.py\n",
    ),
  );
  await writeFile(join(folder, "scripts", "fill.py"), "print('ä')\n");
  const bytes = Buffer.from([0, 255, 1]);
  await writeFile(join(folder, "logo.png"), bytes);
  await using served = await serveOffice({
    servers: {},
    computer: { skillHome: home.path },
  });
  const client = new Client({ name: "test", version: "1.0.0" });
  const heard = new Set<string>();
  let onHeard = () => {};
  const hear = (what: string) => {
    heard.add(what);
    onHeard();
  };
  client.setNotificationHandler(
    "notifications/prompts/list_changed",
    () => hear("prompts"),
  );
  client.setNotificationHandler(
    "notifications/resources/updated",
    ({ params: { uri } }) => hear(uri),
  );
  await client.connect(httpTransport(served.url));
  try {
    const { resources } = await client.listResources();
    const uri = "a2c://pc/skill/forms/SKILL.md";
    assertEquals(resources.find((each) => each.uri === uri), {
      uri,
      name: "skill forms (pc)",
      description: "Fills in forms.",
      mimeType: "text/markdown",
    });
    const body = "Run ${TFROBOT_SKILL_DIR}/scripts/fill.py\n";
    const read = async (uri: string) =>
      (await client.readResource({ uri })).contents;
    assertEquals(await read(uri), [{
      uri,
      mimeType: "text/markdown",
      text: body,
    }]);
    const script = `a2c://pc/skill/forms/${
      encodeURIComponent("scripts/fill.py")
    }`;
    assertEquals(await read(script), [{
      uri: script,
      mimeType: "application/octet-stream",
      text: "print('ä')\n",
    }]);
    const logo = "a2c://pc/skill/forms/logo.png";
    assertEquals(await read(logo), [{
      uri: logo,
      mimeType: "image/png",
      blob: bytes.toString("base64"),
    }]);
    await assertRejects(
      () => read(`a2c://pc/skill/forms/${encodeURIComponent("../x")}`),
      Error,
      "Skill resource not accessible",
    );

    const { prompts } = await client.listPrompts();
    assertEquals(prompts, [{
      name: "pc__forms",
      description: "[pc] Fills in forms.",
    }]);
    const { messages } = await client.getPrompt({ name: "pc__forms" });
    assertEquals(messages, [{
      role: "user",
      content: {
        type: "text",
        text: body.replace("${TFROBOT_SKILL_DIR}", await Deno.realPath(folder)),
      },
    }]);

    await client.subscribeResource({ uri });
    await rm(folder, { recursive: true });
    // Notifications of how the Computer started may still be on their way.
    while (true) {
      const next = new Promise<void>((resolve) => onHeard = resolve);
      const { prompts } = await client.listPrompts();
      if (prompts.length === 0 && heard.has("prompts") && heard.has(uri)) break;
      await next;
    }
  } finally {
    await client.close();
  }
});
