import {
  assertEquals,
  assertMatch,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { chooseComputer } from "../../../agent/cli/office.ts";
import type { ScriptedComputer } from "../../../testing/mod.ts";
import {
  CANCEL_TOOL_CALL_NOTIFICATION,
  cancelledResult,
  GET_CONFIG_EVENT,
  GET_DESKTOP_EVENT,
  GET_DPE_EVENT,
  GET_FINDER_EVENT,
  GET_PROMPT_EVENT,
  GET_PROMPTS_EVENT,
  GET_RESOURCES_EVENT,
  GET_TOOLS_EVENT,
  ProtocolError,
  READ_RESOURCE_EVENT,
  TOOL_CALL_EVENT,
  UPDATE_DESKTOP_EVENT,
} from "../../../protocol/mod.ts";
import { runHere, runMain, startMain } from "../../support/command.ts";
import { OFFICE, type Office, startOffice } from "../../support/office.ts";

const tool = {
  name: "echo",
  description: "Gives back what it gets. More that nobody reads.",
  params_schema: {
    type: "object",
    properties: { text: { type: "string" }, count: { type: "integer" } },
  },
  return_schema: null,
};

const summary = {
  doc_ref: "report",
  uri: "dpe://files/report",
  file_uri: "file:///report.pdf",
  file_type: "pdf",
  title: "The report",
  page_count: 3,
  server: "files",
  last_modified: "2026-01-02T03:04:05Z",
};

const document = {
  ...summary,
  summary: "",
  keywords: [],
  page_count: 1,
  pages: [{
    page_index: 0,
    title: "One",
    elements: [{ element_id: "e", category: "text", text: "Hello" }],
  }],
};

interface Scripted extends AsyncDisposable {
  readonly office: Office;
  readonly computer: ScriptedComputer;
  /** The answer of the call that hangs until it is cancelled. */
  readonly called: Promise<void>;
  readonly cancelled: Promise<void>;
}

/** An office with a free Agent seat and one Computer "pc" that answers everything. */
async function startScripted(): Promise<Scripted> {
  const office = await startOffice();
  const file = await Deno.makeTempFile({ suffix: ".json" });
  await Deno.writeTextFile(file, JSON.stringify(document));
  let asked = 0;
  const called = Promise.withResolvers<void>();
  const cancelled = Promise.withResolvers<void>();
  const answers: Record<string, (payload: Record<string, unknown>) => unknown> =
    {
      [GET_TOOLS_EVENT]: ({ req_id }) => ({ tools: [tool], req_id }),
      [TOOL_CALL_EVENT]: async ({ tool_name, params }) => {
        if (tool_name === "slow") {
          called.resolve();
          await cancelled.promise;
          return cancelledResult();
        }
        return tool_name === "fail"
          ? { content: [{ type: "text", text: "no" }], isError: true }
          : { content: [{ type: "text", text: JSON.stringify(params) }] };
      },
      [GET_DESKTOP_EVENT]: ({ req_id, desktop_size, window }) => ({
        desktops: [
          `window://h/${desktop_size ?? "all"}${window ?? ""}\n\nBody`,
          `window://h/count\n\nasked ${++asked}`,
        ],
        req_id,
      }),
      [GET_CONFIG_EVENT]: () => ({
        inputs: [{ type: "promptString", id: "token", description: "A token" }],
        servers: {
          files: {
            name: "files",
            type: "stdio",
            disabled: false,
            forbidden_tools: [],
            tool_meta: {},
            server_parameters: {
              command: "npx",
              args: ["-y"],
              env: null,
              cwd: null,
              encoding: "utf-8",
              encoding_error_handler: "strict",
            },
          },
        },
      }),
      [GET_RESOURCES_EVENT]: ({ req_id, mcp_server }) => {
        if (mcp_server !== "files") {
          throw new ProtocolError(404, "There is no such MCP server");
        }
        return { resources: [{ uri: "x://1", name: "One" }], req_id };
      },
      [READ_RESOURCE_EVENT]: ({ req_id, mcp_server, uri }) => ({
        contents: uri === "x://binary"
          ? [{ uri, mimeType: "image/png", blob: "AAEC" }]
          : [{ uri, text: `read ${uri} of ${mcp_server}` }],
        req_id,
      }),
      [GET_PROMPTS_EVENT]: ({ req_id }) => ({
        prompts: [{
          name: "review",
          mcp_server: "files",
          description: "Reviews a file. And more.",
        }],
        req_id,
      }),
      [GET_PROMPT_EVENT]: ({ req_id, arguments: params }) => ({
        messages: [{
          role: "user",
          content: { type: "text", text: JSON.stringify(params) },
        }],
        req_id,
      }),
      [GET_FINDER_EVENT]: ({ req_id, keywords, limit }) => ({
        documents: [{ ...summary, title: `${keywords ?? "all"} ${limit}` }],
        total_count: 3,
        req_id,
      }),
      [GET_DPE_EVENT]: ({ req_id }) => ({ uri: `file://${file}`, req_id }),
    };
  const computer = await office.addScriptedComputer(
    "pc",
    (event, payload) => answers[event]?.(payload as Record<string, unknown>),
  );
  computer.on("notification", ({ event }) => {
    if (event === CANCEL_TOOL_CALL_NOTIFICATION) cancelled.resolve();
  });
  await office.agent.leave();
  return {
    office,
    computer,
    called: called.promise,
    cancelled: cancelled.promise,
    [Symbol.asyncDispose]: async () => {
      cancelled.resolve();
      await office[Symbol.asyncDispose]();
      await Deno.remove(file);
    },
  };
}

Deno.test({
  name: "smcp-agent shows everything in an office, as text and as JSON",
  timeout: 600_000,
}, async (t) => {
  await using scripted = await startScripted();
  const env = { SMCP_URL: scripted.office.url, SMCP_OFFICE: OFFICE };
  const rows: [string[], string | RegExp, (json: never) => unknown, unknown][] =
    [
      [
        ["members"],
        /^pc\s+computer\s+0\.2\.0$/m,
        (members: { name: string }[]) => members.map(({ name }) => name).sort(),
        ["agent", "pc"],
      ],
      [
        ["tools"],
        "pc: 1 tool\n  echo  Gives back what it gets.\n",
        (tools: { pc: unknown[] }) => tools.pc.length,
        1,
      ],
      [
        ["tools", "--computer", "pc"],
        "echo",
        (tools: Record<string, unknown>) => Object.keys(tools),
        ["pc"],
      ],
      [
        ["call", "echo", "--arg", "text=1", "--arg", "count=2"],
        '{"text":"1","count":2}\n',
        (result: { content: unknown[] }) => result.content.length,
        1,
      ],
      [
        ["call", "echo", "--params", '{"a":[1]}'],
        '{"a":[1]}\n',
        (result: { content: unknown[] }) => result.content.length,
        1,
      ],
      [
        ["desktop", "--size", "2", "--window", "w"],
        "window://h/2w\n\nBody\n",
        (windows: unknown[]) => windows[0],
        "window://h/2w\n\nBody",
      ],
      [
        ["resources"],
        "files: 1 resource\n  x://1  One\n",
        (lists: Record<string, unknown>) => Object.keys(lists),
        ["files"],
      ],
      [
        ["resources", "files"],
        "x://1",
        (lists: Record<string, unknown>) => Object.keys(lists),
        ["files"],
      ],
      [
        ["read", "x://1", "files"],
        "read x://1 of files\n",
        (contents: { text: string }[]) => contents.map(({ text }) => text),
        ["read x://1 of files"],
      ],
      [
        ["prompts"],
        "review  files  Reviews a file.\n",
        (prompts: { name: string }[]) => prompts.map(({ name }) => name),
        ["review"],
      ],
      [
        ["prompt", "review", "files", "--arg", "file=a.ts"],
        'user: {"file":"a.ts"}\n',
        ({ messages }: { messages: unknown[] }) => messages.length,
        1,
      ],
      [
        ["docs", "big", "report", "--limit", "1"],
        "big,report 1  pdf  3 pages  2026-01-02  dpe://files/report\n1 to 1 of 3",
        (found: { total_count: number }) => found.total_count,
        3,
      ],
      [
        ["read", "dpe://files/report"],
        "Hello",
        (document: { pages: unknown[] }) => document.pages.length,
        1,
      ],
      [
        ["config"],
        "1 MCP server\n  files  stdio  npx -y\n1 input\n  token  promptString  A token\n",
        (config: { servers: unknown }) => Object.keys(config.servers as object),
        ["files"],
      ],
    ];
  const at = ["--url", scripted.office.url, "--office", OFFICE];
  for (const [args, text, read, expected] of rows) {
    await t.step(args.join(" "), async () => {
      const { code, stdout, stderr } = await runHere("agent", [...args, ...at]);
      assertEquals(code, 0, stderr);
      if (typeof text === "string") assertStringIncludes(stdout, text);
      else assertMatch(stdout, text);
      const json = await runHere("agent", [...args, "--json", ...at]);
      assertEquals(read(JSON.parse(json.stdout) as never), expected);
    });
  }

  await t.step("call --params - and @file", async () => {
    const stdin = await runMain("agent", ["call", "echo", "--params", "-"], {
      env,
      input: '{"from":"stdin"}',
    });
    assertEquals(stdin.stdout, '{"from":"stdin"}\n');
    const file = await Deno.makeTempFile();
    await Deno.writeTextFile(file, '{"from":"file"}');
    const read = await runMain(
      "agent",
      ["call", "echo", "--params", `@${file}`],
      { env },
    );
    assertEquals(read.stdout, '{"from":"file"}\n');
    await Deno.remove(file);
  });

  await t.step("a failed tool makes the exit code 1", async () => {
    const { code, stdout, stderr } = await runMain(
      "agent",
      ["call", "fail", "--computer", "pc"],
      { env },
    );
    assertEquals([code, stdout], [1, "no\n"]);
    assertMatch(stderr, /^error: the tool "fail" failed$/m);
  });
});

for (const signal of ["SIGINT", "SIGTERM"] as const) {
  Deno.test({
    name: `smcp-agent call is cancelled end to end by ${signal}`,
    timeout: 120_000,
  }, async () => {
    await using scripted = await startScripted();
    await using agent = startMain("agent", [
      "call",
      "slow",
      "--computer",
      "pc",
      "--url",
      scripted.office.url,
      "--office",
      OFFICE,
    ]);
    await scripted.called;
    agent.signal(signal);
    await scripted.cancelled;
    assertEquals((await agent.status).code, 1);
    assertEquals(agent.lines, [
      "calling slow on pc (Ctrl-C cancels)",
      "error: cancelled",
    ]);
  });
}

for (
  const args of [["tools"], ["call", "echo"], [
    "call",
    "echo",
    "--computer",
    "pc",
  ]]
) {
  Deno.test({
    name: `smcp-agent ${
      args.join(" ")
    } stops at the first Ctrl-C while it fetches the tools`,
    timeout: 120_000,
  }, async () => {
    const asked = Promise.withResolvers<void>();
    await using office = await startOffice();
    await office.agent.leave();
    await office.addScriptedComputer("pc", () => {
      asked.resolve();
      return new Promise(() => {});
    });
    await using agent = startMain("agent", args, {
      SMCP_URL: office.url,
      SMCP_OFFICE: OFFICE,
    });
    await asked.promise;
    agent.signal("SIGINT");
    assertEquals((await agent.status).code, 1);
    assertEquals(agent.lines, ["error: cancelled"]);
  });
}

Deno.test("chooseComputer() rejects when its signal is aborted", async () => {
  await using office = await startOffice({ computers: { pc: () => ({}) } });
  const flags = {
    url: office.url,
    path: "/smcp/",
    name: "planner",
    office: OFFICE,
  };
  const abort = new AbortController();
  const choose = () => chooseComputer(office.agent, flags, abort.signal);
  assertEquals(await choose(), "pc");
  abort.abort(new Error("cancelled"));
  await assertRejects(choose, Error, "cancelled");
});

Deno.test({
  name: "smcp-agent reports whose tools could not be fetched, and why",
  timeout: 120_000,
}, async (t) => {
  await using office = await startOffice();
  await office.agent.leave();
  const at = ["--url", office.url, "--office", OFFICE];
  await office.addScriptedComputer("ill", () => {
    throw new ProtocolError(500, "out of order");
  });
  const ill =
    'Cannot get the tools of "ill": out of order; its operator finds the cause in its log';
  const ways = [["tools"], ["tools", "--json"], ["call", "echo"]];
  for (const args of ways) {
    await t.step(`${args.join(" ")}, without other Computers`, async () => {
      const { code, stdout, stderr } = await runHere("agent", [...args, ...at]);
      assertEquals([code, stdout, stderr], [1, "", `error: ${ill}\n`]);
    });
  }
  await office.addScriptedComputer("odd", () => ({ tools: 7 }));
  await office.addScriptedComputer(
    "pc",
    (event) =>
      event === GET_TOOLS_EVENT
        ? { tools: [tool], req_id: "1" }
        : { content: [{ type: "text", text: "echo" }] },
  );
  for (const args of ways) {
    await t.step(`${args.join(" ")}, other Computers are there`, async () => {
      const { code, stdout, stderr } = await runHere("agent", [...args, ...at]);
      assertEquals(code, 0, stderr);
      assertMatch(stdout, /\becho\b/);
      assertStringIncludes(stderr, `${ill}\n`);
      assertMatch(stderr, /^Cannot get the tools of "odd": .*\btools: .*$/m);
    });
  }
});

Deno.test({
  name:
    "smcp-agent desktop --follow shows the windows again after each change, until Ctrl-C",
  timeout: 120_000,
}, async () => {
  await using scripted = await startScripted();
  await using agent = startMain("agent", ["desktop", "--follow", "--json"], {
    SMCP_URL: scripted.office.url,
    SMCP_OFFICE: OFFICE,
  });
  await agent.line(/^\["window:.*asked 1"\]$/);
  scripted.computer.send(UPDATE_DESKTOP_EVENT, { computer: "pc" });
  await agent.line(/^\["window:.*asked 2"\]$/);
  agent.signal("SIGINT");
  assertEquals((await agent.status).code, 0);
});

Deno.test({
  name: "smcp-agent watch prints one line per notification, until Ctrl-C",
  timeout: 120_000,
}, async (t) => {
  for (const json of [false, true]) {
    await t.step(json ? "--json" : "for people", async () => {
      await using scripted = await startScripted();
      await using agent = startMain("agent", [
        "watch",
        ...(json ? ["--json"] : []),
      ], { SMCP_URL: scripted.office.url, SMCP_OFFICE: OFFICE });
      await agent.line(/^watching the office "north"/);
      scripted.computer.send(UPDATE_DESKTOP_EVENT, { computer: "pc" });
      await agent.line(
        json
          ? /^\{"time":"[^"]+","event":"notify:update_desktop","payload":\{"computer":"pc"\}\}$/
          : /^\d\d:\d\d:\d\d {2}notify:update_desktop {2}computer=pc$/,
      );
      agent.signal("SIGINT");
      assertEquals((await agent.status).code, 0);
    });
  }
});

Deno.test({
  name:
    "smcp-agent read writes a binary resource to a file, and never to stdout",
  timeout: 120_000,
}, async () => {
  await using scripted = await startScripted();
  const env = { SMCP_URL: scripted.office.url, SMCP_OFFICE: OFFICE };
  const refused = await runMain("agent", ["read", "x://binary", "files"], {
    env,
  });
  assertEquals([refused.code, refused.stdout], [2, ""]);
  assertStringIncludes(refused.stderr, "--output FILE");
  const file = await Deno.makeTempFile();
  const args = ["read", "x://binary", "files", "--output", file];
  const written = await runMain("agent", args, { env });
  assertEquals([written.code, written.stderr], [0, ""]);
  assertEquals(await Deno.readFile(file), new Uint8Array([0, 1, 2]));
  await Deno.remove(file);
  const unnamed = await runMain("agent", ["read", "x://1"], { env });
  assertEquals(unnamed.code, 2);
  assertStringIncludes(unnamed.stderr, "read URI MCP_SERVER");
});
