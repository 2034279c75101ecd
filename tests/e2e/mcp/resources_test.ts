import { assert, assertEquals, assertRejects } from "@std/assert";
import { Client } from "@modelcontextprotocol/client";
import { everything, fixture } from "../../support/computer/mcp_servers.ts";
import { serveOffice } from "../../support/mcp/office.ts";
import { httpTransport } from "../../support/mcp/http_transport.ts";

const FEATURES = "demo://resource/static/document/features.md";

const windows = fixture({
  resourceList: [{ uri: "window://fix/main", name: "main" }],
});

const ERAS = [
  ["2025", "legacy"],
  ["2026", { pin: "2026-07-28" }],
] as const;

for (const [era, mode] of ERAS) {
  Deno.test({
    name:
      `a client of ${era} that sees one Computer reads by the URIs of its MCP servers too`,
    timeout: 120_000,
  }, async () => {
    await using served = await serveOffice({
      servers: { all: everything() },
      mcp: { computer: "pc" },
    });
    const client = new Client({ name: "test", version: "1.0.0" }, {
      versionNegotiation: { mode },
    });
    await client.connect(httpTransport(served.url));
    try {
      const { contents } = await client.readResource({ uri: FEATURES });
      assertEquals(contents.map(({ uri }) => uri), [FEATURES]);
      await assertRejects(
        () => client.readResource({ uri: "demo://nothing" }),
        Error,
        "demo://nothing",
      );
    } finally {
      await client.close();
    }
  });

  Deno.test({
    name: `a client of ${era} is told when a desktop that it watches changes`,
    timeout: 120_000,
  }, async () => {
    await using served = await serveOffice({ servers: { fix: windows } });
    const client = new Client({ name: "test", version: "1.0.0" }, {
      versionNegotiation: { mode },
    });
    const updated = Promise.withResolvers<string>();
    client.setNotificationHandler(
      "notifications/resources/updated",
      ({ params: { uri } }) => updated.resolve(uri),
    );
    const opened = Promise.withResolvers<void>();
    const transport = httpTransport(served.url, {
      fetch: async (input, init) => {
        const response = await fetch(input, init);
        const isStream = init?.method === "GET" ||
          String(init?.body).includes('"subscriptions/listen"');
        if (isStream) opened.resolve();
        return response;
      },
    });
    await client.connect(transport);
    const desktop = "a2c://pc/desktop";
    try {
      if (era === "2025") await client.subscribeResource({ uri: desktop });
      else await client.listen({ resourceSubscriptions: [desktop] });
      await opened.promise;
      const uri = "window://fix/main";
      await client.callTool({
        name: "pc__subscribed",
        arguments: { count: 1 },
      });
      await client.callTool({ name: "pc__touch", arguments: { uri } });
      assertEquals(await updated.promise, desktop);
    } finally {
      await client.close();
    }
  });

  Deno.test({
    name: `a client of ${era} reads an office's resources and gets its prompts`,
    timeout: 120_000,
  }, async () => {
    await using served = await serveOffice({
      servers: { all: everything(), fix: windows },
    });
    const client = new Client({ name: "test", version: "1.0.0" }, {
      versionNegotiation: { mode },
    });
    const transport = httpTransport(served.url);
    await client.connect(transport);
    try {
      const { resources } = await client.listResources();
      const uris = resources.map(({ uri }) => uri);
      assertEquals(uris[0], "a2c://pc/desktop");
      const features = `a2c://pc/resource/all/${encodeURIComponent(FEATURES)}`;
      assert(uris.includes(features), uris.join("\n"));
      const window = `a2c://pc/window/${
        encodeURIComponent("window://fix/main")
      }`;
      assert(uris.includes(window), uris.join("\n"));
      const { resourceTemplates } = await client.listResourceTemplates();
      assertEquals(resourceTemplates.length, 5);
      const read = async (uri: string) =>
        (await client.readResource({ uri })).contents[0];
      const text = await read(features);
      assertEquals(text?.uri, features);
      assert(JSON.stringify(text).includes("Features"));
      assert(
        JSON.stringify(await read(window)).includes(
          "contents of window://fix/main",
        ),
      );
      assert(
        JSON.stringify(await read("a2c://pc/desktop")).includes("fix/main"),
      );
      const blob = "demo://resource/dynamic/blob/1";
      const bytes = await read(
        `a2c://pc/resource/all/${encodeURIComponent(blob)}`,
      );
      assert("blob" in (bytes ?? {}));
      await assertRejects(() => read("a2c://nobody/desktop"));
      await assertRejects(() => read("file:///etc/passwd"));

      const complete = async (
        name: string,
        value: string,
        known: Record<string, string>,
      ) => {
        const uri = "a2c://{computer}/resource/{server}/{uri}";
        const { completion } = await client.complete({
          ref: { type: "ref/resource", uri },
          argument: { name, value },
          context: { arguments: known },
        });
        return completion.values;
      };
      assertEquals(await complete("computer", "P", {}), ["pc"]);
      assertEquals(await complete("server", "", { computer: "pc" }), ["all"]);
      assertEquals(await complete("server", "", { computer: "x" }), []);
      const place = { computer: "pc", server: "all" };
      assertEquals(await complete("uri", FEATURES, place), [FEATURES]);
      await assertRejects(
        () =>
          client.complete({
            ref: { type: "ref/resource", uri: "a2c://{other}" },
            argument: { name: "other", value: "" },
          }),
        Error,
        "There is no template",
      );

      const { prompts } = await client.listPrompts();
      const names = prompts.map(({ name }) => name);
      assert(names.includes("pc__args-prompt"), names.join());
      const { messages } = await client.getPrompt({
        name: "pc__args-prompt",
        arguments: { city: "Paris" },
      });
      assert(JSON.stringify(messages).includes("Paris"));
      await assertRejects(() => client.getPrompt({ name: "pc__nothing" }));
    } finally {
      await client.close();
    }
  });
}

Deno.test({
  name:
    "desktopTools show a model the desktop where its client has no resources",
  timeout: 120_000,
}, async () => {
  await using served = await serveOffice({
    servers: { fix: windows },
    mcp: { desktopTools: true },
  });
  const client = new Client({ name: "test", version: "1.0.0" });
  await client.connect(httpTransport(served.url));
  try {
    const { tools } = await client.listTools();
    assertEquals(
      tools.slice(-3).map(({ name }) => name),
      ["desktop", "find_documents", "read_document"],
    );
    const call = async (name: string, args: Record<string, unknown>) =>
      await client.callTool({ name, arguments: { computer: "pc", ...args } });
    const shown = JSON.stringify(await call("desktop", {}));
    assert(shown.includes("contents of window://fix/main"), shown);
    assertEquals((await call("find_documents", { query: "x" })).content, [
      { type: "text", text: "[]" },
    ]);
    const failed = await call("read_document", { uri: "dpe://h/d" });
    assertEquals(failed.isError, true);
  } finally {
    await client.close();
  }
});
