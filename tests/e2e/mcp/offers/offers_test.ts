/**
 * What MCP servers offer reaches the MCP clients of an office whole: templates, completions, links, fields, errors,
 * instructions and pages.
 *
 * @module
 */
import { UriTemplate } from "@modelcontextprotocol/client";
import {
  assert,
  assertEquals,
  assertMatch,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { z } from "zod";
import { rawServer } from "../../../support/computer/raw_server.ts";
import { ERAS, sdkClient } from "../../../support/mcp/clients.ts";
import { serveOffice } from "../../../support/mcp/gateway.ts";

const inputSchema = { type: "object" };
const PAGE = "ui://notes/page.html";
const WEB = "https://notes.example/1";
const NOTE = "notes://all/1 of 2?x=ä";

/** An error with a code of JSON-RPC. */
const rpcError = (code: number, message: string) =>
  Object.assign(new Error(message), { code });

const ICONS = [{ src: "https://x.example/i.png", mimeType: "image/png" }];
const FIELDS = {
  title: "A title",
  description: "A text",
  icons: ICONS,
  _meta: { "x.example/odd": [1, { deep: true }] },
};
const ANNOTATIONS = { audience: ["user"], priority: 0.5 };

const TEMPLATES = [
  "notes://{folder}/{name}",
  "notes://all/{+path}",
  "file:///{+path}{?page,size}{&lang}",
  "x:{a}{/b,c}{.d}{;e}{#f}",
  "{+uri}",
];

/** An MCP server that answers what it was asked for, and where. */
const offering = (
  where: string,
  more: Parameters<typeof rawServer>[0] = {},
  tool = "links",
) =>
  rawServer({
    "tools/list": () => ({
      tools: [{
        name: tool,
        inputSchema,
        _meta: { ui: { resourceUri: PAGE, visibility: ["model"] } },
      }],
    }),
    "tools/call": () => ({
      content: [
        { type: "resource_link", uri: NOTE, name: "note", ...FIELDS },
        { type: "resource", resource: { uri: NOTE, text: "note" } },
        { type: "resource_link", uri: WEB, name: "web" },
      ],
      _meta: { "x.example/of": "call" },
    }),
    "resources/list": () => ({
      resources: [
        {
          uri: NOTE,
          name: "note",
          size: 3,
          annotations: ANNOTATIONS,
          ...FIELDS,
        },
        { uri: PAGE, name: "page", mimeType: "text/html;profile=mcp-app" },
      ],
    }),
    "resources/templates/list": () => ({
      resourceTemplates: TEMPLATES.map((uriTemplate, at) => ({
        uriTemplate,
        name: `t${at}`,
        annotations: ANNOTATIONS,
        ...FIELDS,
      })),
    }),
    "resources/read": ({ uri }) => ({
      contents: [{
        uri,
        text: `${uri} at ${where}`,
        mimeType: "text/html;profile=mcp-app",
        _meta: { ui: { csp: { connectDomains: [] } } },
      }],
      _meta: { "x.example/of": "read" },
    }),
    "prompts/list": () => ({
      prompts: [{
        name: "p",
        ...FIELDS,
        arguments: [{ name: "city", required: true, ...FIELDS }],
      }],
    }),
    "prompts/get": () => ({
      messages: [{
        role: "user",
        content: { type: "resource", resource: { uri: NOTE, text: "note" } },
      }],
      _meta: { "x.example/of": "prompt" },
    }),
    "completion/complete": (params) => ({
      completion: {
        values: [where, JSON.stringify(params)],
        total: 7,
        hasMore: true,
      },
    }),
    ...more,
  });

/** An office of two Computers with the same MCP server. */
async function twoComputers() {
  const served = await serveOffice({ servers: { notes: offering("pc") } });
  await served.office.addComputer("mac", {
    servers: { notes: offering("mac") },
  });
  return served;
}

for (const era of ERAS) {
  Deno.test(`${era}: what a client expands of a template is read as the MCP server's own template would be`, async () => {
    await using served = await twoComputers();
    await using client = await sdkClient(served, era);
    const { resourceTemplates } = await client.listResourceTemplates();
    const theirs = resourceTemplates.filter(({ name }) => /^t\d/.test(name));
    assertEquals(theirs.length, 2 * TEMPLATES.length);
    const [first] = theirs;
    assertEquals<unknown>(first, {
      uriTemplate: `a2c://mac/resource/notes/${TEMPLATES[0]}`,
      name: "t0 (mac)",
      annotations: ANNOTATIONS,
      ...FIELDS,
      title: "A title (mac)",
    });
    const values = {
      folder: "a/b",
      name: "1 of 2: ä%20",
      path: "docs/a b/ü.txt",
      page: "2",
      size: "a&b",
      uri: NOTE.replaceAll(" ", "%20"),
    };
    for (const [at, { uriTemplate, name }] of theirs.entries()) {
      const own = new UriTemplate(TEMPLATES[at % TEMPLATES.length] ?? "")
        .expand(values);
      const uri = new UriTemplate(uriTemplate).expand(values);
      const { contents } = await client.readResource({ uri });
      const [found] = contents;
      assertEquals(found?.uri, uri);
      const computer = name.includes("mac") ? "mac" : "pc";
      assertEquals(
        "text" in (found ?? {}) && Object(found).text,
        `${own} at ${computer}`,
      );
    }
  });

  Deno.test(`${era}: what MCP servers return links to is readable, at the Computer that returned it`, async () => {
    await using served = await twoComputers();
    await using client = await sdkClient(served, era);
    const read = async (uri: unknown) => {
      const result = await client.readResource({ uri: String(uri) });
      const [found] = result.contents;
      assertEquals(found?.uri, uri);
      assertEquals(Object(result._meta)["x.example/of"], "read");
      assertEquals(found?._meta, { ui: { csp: { connectDomains: [] } } });
      return Object(found).text;
    };
    for (const computer of ["pc", "mac"]) {
      const result = await client.callTool({ name: `${computer}__links` });
      assertEquals(Object(result._meta)["x.example/of"], "call");
      const [link, embedded, web] = result.content as unknown as [
        Record<string, unknown>,
        { resource: { uri: string } },
        { uri: string },
      ];
      assertEquals(link, {
        type: "resource_link",
        name: "note",
        ...FIELDS,
        uri: link.uri,
      });
      assertEquals(await read(link.uri), `${NOTE} at ${computer}`);
      assertEquals(embedded.resource.uri, link.uri);
      // Clients may fetch those of the web themselves.
      assertEquals(web.uri, WEB);
      assertEquals(await read(WEB), `${WEB} at ${computer}`);
      const prompt = await client.getPrompt({
        name: `${computer}__p`,
        arguments: { city: "Bonn" },
      });
      assertEquals(Object(prompt._meta)["x.example/of"], "prompt");
      const { content } = prompt.messages[0] ?? {};
      assertEquals(Object(content).resource.uri, link.uri);
    }
    const { tools } = await client.listTools();
    const pages = tools.map(({ _meta }) => Object(_meta).ui.resourceUri);
    assertEquals(new Set(pages).size, 2);
    for (const page of pages) {
      assertMatch(page, /^ui:\/\//);
      const [, computer] = /^ui:\/\/a2c\/(\w+)/.exec(page) ?? [];
      assertEquals(await read(page), `${PAGE} at ${computer}`);
    }
    const { resources } = await client.listResources();
    assertEquals(
      resources.filter(({ uri }) => pages.includes(uri)).length,
      pages.length,
    );
    await assertRejects(() => read(NOTE), Error, "Several MCP servers have");
    await assertRejects(() => read("notes://other"), Error, "no resource");
  });

  Deno.test(`${era}: lists have the fields that MCP servers gave them, and lose those alone that clients refuse`, async () => {
    await using served = await serveOffice({
      servers: {
        notes: offering("pc", {
          "resources/list": () => ({
            resources: [
              {
                uri: NOTE,
                name: "note",
                size: 3,
                annotations: ANNOTATIONS,
                ...FIELDS,
              },
              {
                uri: "bad:1",
                icons: 7,
                annotations: { priority: 9, audience: ["user"] },
                _meta: "x",
                title: 3,
              },
            ],
          }),
        }),
      },
    });
    await using client = await sdkClient(served, era);
    const { resources } = await client.listResources();
    const [, good, bad] = resources;
    assertEquals<unknown>(good, {
      uri: `a2c://pc/resource/notes/${encodeURIComponent(NOTE)}`,
      name: "note (pc)",
      size: 3,
      annotations: ANNOTATIONS,
      ...FIELDS,
      title: "A title (pc)",
    });
    assertEquals<unknown>(bad, {
      uri: `a2c://pc/resource/notes/${encodeURIComponent("bad:1")}`,
      name: "bad:1 (pc)",
      annotations: { audience: ["user"] },
    });
    // The client's own method drops the title of an argument.
    const { prompts } = await client.request(
      { method: "prompts/list" },
      z.looseObject({}),
    );
    assertEquals<unknown>(prompts, [{
      ...FIELDS,
      name: "pc__p",
      title: "A title (pc)",
      description: "[pc] A text",
      arguments: [{ name: "city", required: true, ...FIELDS }],
    }]);
  });

  Deno.test(`${era}: prompts and templates are completed by their MCP servers`, async () => {
    await using served = await twoComputers();
    await using client = await sdkClient(served, era);
    const complete = async (
      ref: Parameters<typeof client.complete>[0]["ref"],
      context = {},
    ) => {
      const argument = { name: "city", value: "Bo" };
      const { completion } = await client.complete({
        ref,
        argument,
        ...context,
      });
      const { values: [where = "", asked = "{}"], ...rest } = completion;
      return { where, asked: JSON.parse(asked), rest };
    };
    const known = { context: { arguments: { a: "b" } } };
    const argument = { name: "city", value: "Bo" };
    const prompt = await complete(
      { type: "ref/prompt", name: "mac__p" },
      known,
    );
    assertEquals(prompt, {
      where: "mac",
      asked: { ref: { type: "ref/prompt", name: "p" }, argument, ...known },
      rest: { total: 7, hasMore: true },
    });
    const uri = `a2c://pc/resource/notes/${TEMPLATES[0]}`;
    const { where, asked } = await complete({ type: "ref/resource", uri });
    assertEquals([where, asked], [
      "pc",
      { ref: { type: "ref/resource", uri: TEMPLATES[0] }, argument },
    ]);
    for (
      const ref of [
        { type: "ref/prompt", name: "p" },
        { type: "ref/resource", uri: TEMPLATES[0] ?? "" },
      ] as const
    ) {
      const error = await assertRejects(() => complete(ref), Error);
      assertEquals(Object(error).code, -32602);
    }
  });

  Deno.test(`${era}: a server that completes nothing has no values, and at most 100 of another are passed on`, async () => {
    await using served = await serveOffice({
      servers: {
        none: rawServer({
          "prompts/list": () => ({ prompts: [{ name: "n" }] }),
        }),
        many: rawServer({
          "prompts/list": () => ({ prompts: [{ name: "m" }] }),
          "completion/complete": () => ({
            completion: {
              values: Array.from({ length: 120 }, String),
              total: 0.5,
              hasMore: "no",
            },
          }),
        }),
      },
    });
    await using client = await sdkClient(served, era);
    const complete = async (name: string) => {
      const { completion } = await client.complete({
        ref: { type: "ref/prompt", name },
        argument: { name: "a", value: "" },
      });
      return completion;
    };
    assertEquals<unknown>(await complete("pc__none__n"), { values: [] });
    const { values, hasMore } = await complete("pc__many__m");
    assertEquals([values.length, hasMore], [100, true]);
  });

  Deno.test(`${era}: a failed read or prompt has the code of the MCP server, and an unknown name that of the revision`, async () => {
    const fail = (code?: number) => () => {
      throw code === undefined ? new Error() : rpcError(code, `failed ${code}`);
    };
    const CODES = [-32002, -32602, -32603, -32000, -32042, 7];
    const servers = Object.fromEntries(CODES.map((code) => [
      `s${-code}`.replace("-", ""),
      rawServer({
        "tools/list": () => ({ tools: [{ name: "t", inputSchema }] }),
        "resources/read": fail(code),
        "resources/list": () => ({ resources: [] }),
        "prompts/list": () => ({ prompts: [{ name: "p" }] }),
        "prompts/get": fail(code),
      }),
    ]));
    await using served = await serveOffice({
      servers: {
        ...servers,
        bare: rawServer({
          "tools/list": () => ({ tools: [{ name: "t", inputSchema }] }),
        }),
      },
    });
    await using client = await sdkClient(served, era);
    const codeOf = async (ask: () => Promise<unknown>) =>
      Object(await assertRejects(ask, Error)).code;
    const read = (uri: string) => () => client.readResource({ uri });
    /** What the SDK makes of the code of an unknown resource, and this package of pages to be opened. */
    const others = new Map([[-32002, -32602], [-32042, -32603]]);
    for (const code of CODES) {
      const server = `s${-code}`.replace("-", "");
      const asSent = others.get(code) ?? code;
      const uri = `a2c://pc/resource/${server}/x:y`;
      assertEquals(await codeOf(read(uri)), asSent, server);
      const name = `pc__${server}__p`;
      assertEquals(
        await codeOf(() => client.getPrompt({ name })),
        asSent,
        name,
      );
    }
    for (
      const uri of [
        ...["x:y", "a2c://nobody/desktop", "a2c://pc/resource/other/x:y"],
        "a2c://pc/skill/none/SKILL.md",
      ]
    ) assertEquals(await codeOf(read(uri)), -32602, uri);
    assertEquals(await codeOf(read("a2c://pc/resource/bare/x:y")), -32602);
    assertEquals(
      await codeOf(() => client.getPrompt({ name: "pc__x" })),
      -32602,
    );
    await served.computer.stopServer("s7");
    assertEquals(await codeOf(read("a2c://pc/resource/s7/x:y")), -32603);
  });

  Deno.test(`${era}: the office's instructions have those of its MCP servers, as long as they run, within bounds`, async () => {
    const servers = {
      notes: offering("pc", {
        initialize: () => ({ instructions: "Write notes in English." }),
      }),
      long: offering("pc", {
        initialize: () => ({ instructions: "long ".repeat(10_000) }),
      }, "other"),
      none: offering("pc", {}, "third"),
    };
    await using served = await serveOffice({ servers });
    const instructions = async () => {
      await using client = await sdkClient(served, era);
      return client.getInstructions() ?? "";
    };
    const before = await instructions();
    assertMatch(before, /^The tools of the Computers/);
    assertMatch(
      before,
      /MCP server notes of pc[^\n]*:\nWrite notes in English\.\n/,
    );
    assertStringIncludes(before, "…, 45999 more characters]");
    assert(before.length < 6_000);
    assertEquals(before.includes("none of pc"), false);
    await served.computer.stopServer("notes");
    let after = before;
    while (after.includes("English")) after = await instructions();
    assertStringIncludes(after, "MCP server long of pc");
  });
}

Deno.test("a Computer declares MCP Apps to its MCP servers, and an office to its clients", async () => {
  const asked: unknown[] = [];
  await using served = await serveOffice({
    servers: {
      notes: offering("pc", {
        initialize: ({ capabilities }) => {
          asked.push(Object(capabilities).extensions);
          return {};
        },
      }),
    },
  });
  await using client = await sdkClient(served, "2025");
  const declared = {
    "io.modelcontextprotocol/ui": { mimeTypes: ["text/html;profile=mcp-app"] },
  };
  assertEquals(asked, [declared]);
  assertEquals<unknown>(client.getServerCapabilities()?.extensions, declared);
});

Deno.test("instructions of MCP servers whose tools a client may not see are left out", async () => {
  const withText = (where: string) =>
    offering(where, {
      initialize: () => ({ instructions: `From ${where}.` }),
    }, where);
  await using served = await serveOffice({
    servers: { open: withText("open"), closed: withText("closed") },
    mcp: { exclude: ["pc__closed__*"] },
  });
  await using client = await sdkClient(served, "2026");
  const text = client.getInstructions() ?? "";
  assertStringIncludes(text, "From open.");
  assertEquals(text.includes("From closed."), false);
});

Deno.test("an Agent gets templates, completions and instructions of a Computer's MCP servers", async () => {
  await using served = await serveOffice({
    servers: {
      notes: offering("pc", {
        initialize: () => ({ instructions: "Write notes." }),
      }),
      plain: rawServer({ "resources/list": () => ({ resources: [] }) }),
    },
  });
  const { agent } = served.office;
  assertEquals(await agent.getInstructions("pc"), [
    { mcp_server: "notes", text: "Write notes." },
  ]);
  const templates = await agent.getResourceTemplates("pc");
  assertEquals(
    templates.map(({ uriTemplate, mcp_server }) => [uriTemplate, mcp_server]),
    TEMPLATES.map((template) => [template, "notes"]),
  );
  // One that knows nothing of templates is no problem.
  assertEquals(served.computer.status().problems, []);
  const { values } = await agent.complete("pc", "notes", {
    ref: { type: "ref/prompt", name: "p" },
    argument: { name: "city", value: "B" },
  });
  assertEquals(values[0], "pc");
  const error = await assertRejects(
    () =>
      agent.complete("pc", "plain", {
        ref: { type: "ref/prompt", name: "p" },
        argument: { name: "a", value: "" },
      }),
    Error,
    'MCP server "plain" does not offer completions',
  );
  assertEquals(Object(error).code, 4015);
});
