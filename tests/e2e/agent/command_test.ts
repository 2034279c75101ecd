import {
  assertEquals,
  assertMatch,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { chooseComputer } from "../../../agent/cli/office.ts";
import { SmcpComputer } from "../../../computer/mod.ts";
import {
  cancelledResult,
  mcpServerOf,
  ProtocolError,
  type SMCPTool,
} from "../../../protocol/mod.ts";
import type { ComputerScript } from "../../../testing/mod.ts";
import type { Child } from "../../support/child.ts";
import { runHere, runMain, startMain } from "../../support/command.ts";
import { fixture } from "../../support/computer/mcp_servers.ts";
import { OFFICE, startOffice } from "../../support/office.ts";
import { stopped } from "../../support/processes.ts";
import { scratch } from "../../support/scratch.ts";
import { nextRequest } from "../../support/server/operator_client.ts";
import { startServerCommand } from "../../support/server/server_command.ts";
import { joinRaw } from "../../support/wire/raw_client.ts";

const TIME = { timeout: 120_000 };

const TOOL = {
  name: "echo",
  description: "Gives back what it gets. More that nobody reads.",
  params_schema: { properties: { count: { type: "integer" } } },
  return_schema: null,
};

const SUMMARY = {
  doc_ref: "report",
  uri: "dpe://files/report",
  server: "files",
  file_uri: "file:///report.pdf",
  file_type: "pdf",
  page_count: 3,
  last_modified: "2026-01-02T03:04:05Z",
};

const DOCUMENT = {
  doc_ref: "report",
  uri: "dpe://files/report",
  title: "The report",
  pages: [{
    page_index: 0,
    elements: [{ element_id: "e", category: "text", text: "Hello" }],
  }],
};

const text = (text: string) => ({ content: [{ type: "text", text }] });

/** An office with a free Agent seat, and how a command joins it. */
async function start(computers: Record<string, ComputerScript> = {}) {
  const office = await startOffice({ computers });
  await office.agent.leave();
  const at = ["--url", office.url, "--office", OFFICE];
  return {
    office,
    env: { SMCP_URL: office.url, SMCP_OFFICE: OFFICE },
    run: (...args: string[]) => runHere("agent", [...args, ...at]),
    [Symbol.asyncDispose]: () => office.close(),
  };
}

/** An office with a Computer "pc" that answers everything. */
async function startScripted() {
  const folder = await scratch();
  const file = join(folder.path, "document.json");
  await Deno.writeTextFile(file, JSON.stringify(DOCUMENT));
  const called = Promise.withResolvers<void>();
  const cancelled = Promise.withResolvers<void>();
  let fetches = 0;
  const answers: Record<string, ComputerScript> = {
    get_tools: () => ({ tools: [TOOL] }),
    tool_call: async (_, payload) => {
      const { tool_name, params } = Object(payload);
      if (tool_name === "fail") return { ...text("no"), isError: true };
      if (tool_name !== "slow") return text(JSON.stringify(params));
      called.resolve();
      await cancelled.promise;
      return cancelledResult();
    },
    get_desktop: (_, payload) => {
      const { desktop_size = "all", window = "" } = Object(payload);
      const content = `Body ${++fetches}`;
      return {
        desktops: [`window://h/${desktop_size}${window}\n\n${content}`],
      };
    },
    get_config: () => ({
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
    get_resources: (_, payload) => {
      if (Object(payload).mcp_server === "files") {
        return { resources: [{ uri: "x://1", name: "One", title: null }] };
      }
      throw new ProtocolError(404, "There is no such MCP server");
    },
    read_resource: (_, payload) => {
      const { mcp_server, uri } = Object(payload);
      return {
        contents: uri === "x://binary"
          ? [{ uri, mimeType: null, blob: "AAEC" }]
          : [{ uri, text: `read ${uri} of ${mcp_server}` }],
      };
    },
    get_instructions: () => ({
      instructions: [{ mcp_server: "files", text: "Read first." }],
    }),
    get_prompts: () => ({
      prompts: [{
        name: "review",
        mcp_server: "files",
        description: "Reviews a file. And more.",
      }, {
        // As Computers of other SDKs send what is absent.

        name: "plain",
        mcp_server: "files",
        title: null,
        description: null,
      }],
    }),
    get_prompt: (_, payload) => ({
      messages: [{
        role: "user",
        content: text(JSON.stringify(Object(payload).arguments)).content[0],
      }],
    }),
    get_finder: (_, payload) => {
      const { keywords = "all", limit } = Object(payload);
      const title = `${keywords} ${limit}`;
      return { documents: [{ ...SUMMARY, title }], total_count: 3 };
    },
    get_dpe: () => ({ uri: `file://${file}` }),
  };
  const started = await start();
  const { office } = started;
  const computer = await office.addScriptedComputer(
    "pc",
    async (event, payload, ...rest) => ({
      req_id: Object(payload).req_id,
      ...Object(
        await answers[event.replace("client:", "")]?.(event, payload, ...rest),
      ),
    }),
  );
  computer.on("notification", ({ event }) => {
    if (event === "notify:tool_call_cancel") cancelled.resolve();
  });
  office.use(folder);
  return {
    ...started,
    folder: folder.path,
    change: () => computer.send("server:update_desktop", { computer: "pc" }),
    called: called.promise,
    cancelled: cancelled.promise,
  };
}

Deno.test(
  "smcp-agent shows everything in an office, as text and as JSON",
  { timeout: 600_000 },
  async (t) => {
    await using agent = await startScripted();
    const file = join(agent.folder, "params.json");
    await Deno.writeTextFile(file, '{"from":"file"}');
    const rows: [args: string[], text: string | RegExp, json: string][] = [
      [["members"], /^pc\s+computer\s+0\.2\.0$/m, '"name":"pc"'],
      [
        ["tools"],
        "pc: 1 tool\n  echo  Gives back what it gets.\n",
        '{"pc":[{"name":"echo"',
      ],
      [["tools", "--computer", "pc"], "echo", '{"pc":[{"name":"echo"'],
      [
        ["call", "echo", "--arg", "text=1", "--arg", "count=2"],
        '{"text":"1","count":2}\n',
        '"content":[{"type":"text","text":"{',
      ],
      [["call", "echo", "--params", '{"a":[1]}'], '{"a":[1]}\n', '"content":'],
      [["call", "echo", `--params=@${file}`], '{"from":"file"}\n', "file"],
      [
        ["desktop", "--size", "2", "--window", "w"],
        "window://h/2w\n\nBody 1\n",
        '["window://h/2w\\n\\nBody 2"]',
      ],
      [
        ["resources"],
        "files: 1 resource\n  x://1  One\n",
        '{"files":[{"uri":"x://1"',
      ],
      [["resources", "files"], "x://1", '{"files":[{"uri":"x://1"'],
      [
        ["read", "x://1", "files"],
        "read x://1 of files\n",
        '[{"uri":"x://1","text":"read x://1 of files"}]',
      ],
      [
        ["prompts"],
        "review  files  Reviews a file.\nplain   files\n",
        '[{"name":"review","mcp_server":"files"',
      ],
      [
        ["prompt", "review", "files", "--arg", "file=a.ts"],
        'user: {"file":"a.ts"}\n',
        '"messages":[{"role":"user"',
      ],
      [
        ["instructions"],
        "files:\nRead first.\n",
        '[{"mcp_server":"files","text":"Read first."}]',
      ],
      [
        ["docs", "big", "report", "--limit", "1"],
        "big,report 1  pdf  3 pages  2026-01-02  dpe://files/report\n1 to 1 of 3",
        '"total_count":3',
      ],
      [["read", "dpe://files/report"], "Hello", '"pages":[{"page_index":0'],
      [
        ["config"],
        "1 MCP server\n  files  stdio  npx -y\n1 input\n  token  promptString  A token\n",
        '"servers":{"files":',
      ],
    ];
    for (const [args, text, json] of rows) {
      await t.step(args.join(" "), async () => {
        const { code, stdout, stderr } = await agent.run(...args);
        assertEquals(code, 0, stderr);
        if (typeof text === "string") assertStringIncludes(stdout, text);
        else assertMatch(stdout, text);
        const printed = JSON.parse((await agent.run(...args, "--json")).stdout);
        assertStringIncludes(JSON.stringify(printed), json);
      });
    }
    await t.step("call --params -", async () => {
      const args = ["call", "echo", "--params", "-"];
      const input = '{"from":"stdin"}';
      const { stdout } = await runMain("agent", args, {
        env: agent.env,
        input,
      });
      assertEquals(stdout, `${input}\n`);
    });
    await t.step("a failed tool makes the exit code 1", async () => {
      const failed = await agent.run("call", "fail", "--computer", "pc");
      assertEquals([failed.code, failed.stdout], [1, "no\n"]);
      assertMatch(failed.stderr, /^error: the tool "fail" failed$/m);
    });
    await t.step("a binary resource is written to a file alone", async () => {
      const read = ["read", "x://binary", "files"];
      const refused = await agent.run(...read);
      assertEquals([refused.code, refused.stdout], [2, ""]);
      assertStringIncludes(
        refused.stderr,
        "x://binary is binary (of unknown type): write it to a file with --output FILE",
      );
      const written = await agent.run(...read, "--output", file);
      assertEquals([written.code, written.stderr], [0, ""]);
      assertEquals(await Deno.readFile(file), new Uint8Array([0, 1, 2]));
    });
  },
);

for (const signal of ["SIGINT", "SIGTERM"] as const) {
  Deno.test(
    `smcp-agent call is cancelled end to end by ${signal}`,
    TIME,
    async () => {
      await using scripted = await startScripted();
      const args = ["call", "slow", "--computer", "pc"];
      await using agent = startMain("agent", args, scripted.env);
      await scripted.called;
      agent.signal(signal);
      await scripted.cancelled;
      assertEquals((await agent.status).code, 1);
      assertEquals(agent.lines, [
        "calling slow on pc (Ctrl-C cancels)",
        "error: cancelled",
      ]);
    },
  );
}

Deno.test(
  "smcp-agent stops at the first Ctrl-C while it fetches the tools",
  TIME,
  async () => {
    let requested = Promise.withResolvers<void>();
    await using silent = await start();
    await silent.office.addScriptedComputer("pc", () => {
      requested.resolve();
      return new Promise(() => {});
    });
    for (const args of ["tools", "call echo", "call echo --computer pc"]) {
      requested = Promise.withResolvers();
      await using agent = startMain("agent", args.split(" "), silent.env);
      await requested.promise;
      agent.signal("SIGINT");
      assertEquals((await agent.status).code, 1);
      assertEquals(agent.lines, ["error: cancelled"], args);
    }
  },
);

Deno.test("chooseComputer() rejects when its signal is aborted", async () => {
  await using office = await startOffice({ computers: { pc: () => ({}) } });
  const flags = { url: office.url, path: "/smcp/", office: OFFICE };
  const abort = new AbortController();
  const choose = () =>
    chooseComputer(office.agent, { ...flags, name: "a" }, abort.signal);
  assertEquals(await choose(), "pc");
  abort.abort(new Error("cancelled"));
  await assertRejects(choose, Error, "cancelled");
});

Deno.test(
  "smcp-agent reports whose tools could not be fetched, and why",
  TIME,
  async () => {
    await using agent = await start();
    await agent.office.addScriptedComputer("ill", () => {
      throw new ProtocolError(500, "out of order");
    });
    const ill =
      'Cannot get the tools of "ill": out of order; its log has the cause';
    const ways = [["tools"], ["tools", "--json"], ["call", "echo"]];
    for (const args of ways) {
      const end = await agent.run(...args);
      assertEquals(end, { code: 1, stdout: "", stderr: `error: ${ill}\n` });
    }
    await agent.office.addScriptedComputer("odd", () => ({ tools: 7 }));
    await agent.office.addScriptedComputer(
      "pc",
      (event) =>
        event === "client:get_tools"
          ? { tools: [TOOL], req_id: "1" }
          : text("echo"),
    );
    for (const args of ways) {
      const { code, stdout, stderr } = await agent.run(...args);
      assertEquals(code, 0, stderr);
      assertMatch(stdout, /\becho\b/);
      assertStringIncludes(stderr, `${ill}\n`);
      assertMatch(stderr, /^Cannot get the tools of "odd": .*\btools: .*$/m);
    }
  },
);

Deno.test(
  "smcp-agent watch and desktop --follow print each change, until Ctrl-C",
  TIME,
  async () => {
    await using scripted = await startScripted();
    const rows: [args: string[], ready: RegExp, change: RegExp][] = [
      [
        ["desktop", "--follow", "--json"],
        /^\["window:.*Body 1"\]$/,
        /^\["window:.*Body 2"\]$/,
      ],
      [
        ["watch"],
        /^watching the office "north"/,
        /^\d\d:\d\d:\d\d {2}notify:update_desktop {2}computer=pc$/,
      ],
      [
        ["watch", "--json"],
        /^watching the office "north"/,
        /^\{"time":"[^"]+","event":"notify:update_desktop","payload":\{"computer":"pc"\}\}$/,
      ],
    ];
    for (const [args, ready, change] of rows) {
      await using agent = startMain("agent", args, scripted.env);
      await agent.line(ready);
      scripted.change();
      await agent.line(change);
      agent.signal("SIGINT");
      assertEquals((await agent.status).code, 0);
    }
  },
);

Deno.test(
  "smcp-agent tools groups by MCP server, and marks those that are starting, disabled or without tools",
  TIME,
  async () => {
    const count = {
      name: "count",
      inputSchema: {
        type: "object" as const,
        properties: {
          from: { type: "integer", description: "The first. Not last." },
          by: { enum: [1, 2] },
        },
        required: ["from"],
      },
    };
    await using agent = await start();
    const computer = agent.office.use(
      new SmcpComputer({
        url: agent.office.url,
        name: "pc",
        servers: {
          slow: fixture({ start: "hang" }),
          files: fixture({ only: ["echo"] }),
          off: fixture({}, { disabled: true }),
          more: fixture({ only: ["pid"], extraTools: [count] }),
        },
      }),
    );
    const running = new Promise<void>((resolve) =>
      computer.on(
        "toolsChanged",
        () => computer.status().tools.length === 3 && resolve(),
      )
    );
    await computer.connect();
    await computer.join(OFFICE);
    await running;
    const plain = (await agent.run("tools")).stdout;
    assertEquals(
      plain.split("\n").map((line) => line.replace(/^( *\S+ ).* .*/, "$1…")),
      [
        ...["pc: …", "  slow: starting", "  files: …", "    echo …"],
        ...["  off: disabled", "  more: …", "    pid …", "    count", ""],
      ],
      plain,
    );
    assertStringIncludes(plain, "pc: 3 tools\n");
    assertStringIncludes(plain, "  more: 2 tools\n");
    assertStringIncludes(
      (await agent.run("tools", "--verbose")).stdout,
      "    count\n      from  integer, required  The first.\n      by    1 | 2\n",
    );
    const { pc }: Record<string, SMCPTool[]> = JSON.parse(
      (await agent.run("tools", "--json")).stdout,
    );
    assertEquals(pc?.map(mcpServerOf), ["files", "more", "more"]);
  },
);

Deno.test(
  "smcp-agent tools lists tools of Computers that do not name their MCP servers",
  TIME,
  async () => {
    const tool = { ...TOOL, description: "Of another SDK." };
    const tools = [
      { ...tool, name: "old" },
      { ...tool, name: "new", title: "A title" },
      { ...tool, name: "read_it", title: "Read It" },
    ];
    await using agent = await start({ pc: () => ({ tools, req_id: "1" }) });
    assertEquals(
      (await agent.run("tools")).stdout,
      "pc: 3 tools\n  old      Of another SDK.\n  new      A title: Of another SDK.\n  read_it  Of another SDK.\n",
    );
  },
);

Deno.test(
  "Ctrl-C ends a command at a Server that is frozen, before and after it has joined",
  TIME,
  async (t) => {
    const begin = (url: string, ...args: string[]) =>
      startMain("agent", [...args, "--url", url, "--office", OFFICE]);
    const assertCancelled = async (command: Child) => {
      command.signal("SIGINT");
      assertEquals((await command.status).code, 1);
      assertEquals(command.errors.at(-1), "error: cancelled");
    };

    await t.step("while it calls, over polling", async () => {
      await using server = await startServerCommand(["--port", "0"]);
      const { url, pid } = server;
      // Lets no WebSocket through, whose close would end by itself after half a minute.
      await using proxy = Deno.serve(
        { hostname: "127.0.0.1", port: 0, onListen() {} },
        ({ url: asked, method, headers, body }) => {
          const { pathname, search } = new URL(asked);
          return fetch(url + pathname + search, { method, headers, body });
        },
      );
      const proxied = `http://127.0.0.1:${proxy.addr.port}`;
      await using computer = await joinRaw(url, "computer", "pc", OFFICE);
      computer.handle(
        "client:get_tools",
        (_, ack) => ack({ tools: [], req_id: "1" }),
      );
      const called = nextRequest(computer);
      await using call = begin(
        proxied,
        ...["call", "slow", "--computer", "pc"],
      );
      await called;
      Deno.kill(pid, "SIGSTOP");
      await stopped(pid);
      await assertCancelled(call);
      Deno.kill(pid, "SIGCONT");
    });

    await t.step("while it connects", async () => {
      // As one that is frozen: the system accepts, and nothing answers.
      const listener = createServer().listen(0, "127.0.0.1");
      await once(listener, "listening");
      const { port } = listener.address() as AddressInfo;
      await using members = begin(`http://127.0.0.1:${port}`, "members");
      const [socket] = await once(listener, "connection") as [Socket];
      await once(socket, "data");
      await assertCancelled(members);
      socket.destroy();
      listener.close();
    });
  },
);
