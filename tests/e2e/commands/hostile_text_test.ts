import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import process from "node:process";
import { join } from "node:path";
import { ProtocolError } from "../../../protocol/mod.ts";
import { createSmcpServer } from "../../../server/mod.ts";
import {
  type CommandEnd,
  type HereName,
  runHere,
} from "../../support/command.ts";
import { OFFICE, startOffice } from "../../support/office.ts";
import { scratch } from "../../support/scratch.ts";

/** What clears a screen, sets a title, colours, hides and forges, if a terminal obeys it. */
const HOSTILE =
  "a\u001b[2J\u001b]0;title\u0007\u009b31m\u0085b\u202ec\u200bd\u007fe\rerror: forged";

// deno-lint-ignore no-control-regex -- control characters are what this matches
const CONTROL = /(?!\n)[\u0000-\u001f\u007f-\u009f\u202e\u200b]/;

/** An answer to each request, in which every text of the Computer's own is hostile. */
const ANSWERS: Readonly<Record<string, unknown>> = {
  "client:get_tools": {
    tools: [{
      name: "tool",
      description: `${HOSTILE} first`,
      params_schema: {
        type: "object",
        properties: { [HOSTILE]: { type: HOSTILE, description: HOSTILE } },
      },
      return_schema: null,
    }, {
      name: HOSTILE,
      description: HOSTILE,
      params_schema: {},
      return_schema: null,
    }],
  },
  "client:get_config": {
    inputs: [{ type: "promptString", id: HOSTILE, description: HOSTILE }],
    servers: {
      [HOSTILE]: {
        name: HOSTILE,
        type: "stdio",
        disabled: false,
        forbidden_tools: [],
        tool_meta: {},
        server_parameters: {
          command: HOSTILE,
          args: [HOSTILE],
          env: null,
          cwd: null,
          encoding: "utf-8",
          encoding_error_handler: "strict",
        },
      },
    },
  },
  "client:get_desktop": { desktops: [HOSTILE] },
  "client:get_resources": {
    resources: [{ uri: HOSTILE, name: HOSTILE }],
    next_cursor: null,
  },
  "client:get_finder": {
    documents: [{
      doc_ref: HOSTILE,
      uri: HOSTILE,
      file_uri: HOSTILE,
      file_type: HOSTILE,
      title: HOSTILE,
      page_count: 1,
      server: HOSTILE,
    }],
    total_count: 2,
  },
  "client:get_prompts": {
    prompts: [{ name: HOSTILE, description: HOSTILE, mcp_server: HOSTILE }],
  },
  "client:get_prompt": {
    messages: [{ role: "user", content: { type: "text", text: HOSTILE } }],
  },
  "client:get_skills": {
    skills: [{ name: "skill", description: HOSTILE, source: HOSTILE }],
  },
  "client:read_resource": {
    contents: [{ uri: "a:b", text: HOSTILE }],
  },
  "client:tool_call": {
    content: [{ type: "text", text: HOSTILE }, { type: HOSTILE, x: HOSTILE }],
    isError: false,
  },
};

/** Commands of an Agent; `*` stands for the hostile text. */
const COMMANDS = [
  ...["tools", "tools --verbose", "config", "desktop", "resources", "find"],
  ...["prompts", "prompt * *", "read a:b *", "call tool", "skills"],
  ...["call *", "tools --computer *", "resources *", "skill *", "put *"],
  ...["call tool --arg *=1", "call tool --params *", "* x", "tools --*"],
  ...["tools --computer none", "read *", "call tool --timeout *"],
];

const wordsOf = (line: string): string[] =>
  line.split(" ").map((word) => word.replaceAll("*", HOSTILE));

/** Runs a command as on a terminal, or as for a program. */
async function run(
  name: HereName,
  args: readonly string[],
  isTTY: boolean,
): Promise<CommandEnd> {
  const before = Object.getOwnPropertyDescriptor(process.stdout, "isTTY");
  Object.defineProperty(process.stdout, "isTTY", {
    value: isTTY,
    configurable: true,
  });
  try {
    return await runHere(name, args);
  } finally {
    if (before) Object.defineProperty(process.stdout, "isTTY", before);
    else Reflect.deleteProperty(process.stdout, "isTTY");
  }
}

/** Asserts that nothing can control the terminal, and that the hostile text was there. */
function assertHarmless(
  { stdout, stderr }: CommandEnd,
  what: string,
): void {
  const output = stdout + stderr;
  assert(!CONTROL.test(output), `${what}: ${JSON.stringify(output)}`);
  assert(!/^error: forged/m.test(output), `${what}: ${output}`);
}

Deno.test("no command of an Agent writes control characters of a Computer to a terminal, whatever it answers or refuses with", async () => {
  let refuses = false;
  const script = (event: string): unknown => {
    if (refuses) throw new ProtocolError(404, `${HOSTILE}\nerror: forged`);
    const { req_id = "1" } = Object(ANSWERS[event]);
    return ANSWERS[event] && { req_id, ...Object(ANSWERS[event]) };
  };
  await using office = await startOffice({
    server: { protocol: "all" },
    computers: { pc: script },
  });
  await office.agent.leave();
  const to = ["--url", office.url, "--office", OFFICE];
  let shown = 0;
  for (refuses of [false, true]) {
    for (const line of COMMANDS) {
      for (const format of [[], ["--json"]]) {
        const args = [...wordsOf(line), ...format, ...to];
        const end = await run("agent", args, true);
        const what = `${line} ${format} ${refuses}`;
        assertHarmless(end, what);
        if (/⟨U\+001B⟩|\\u001b/.test(end.stdout + end.stderr)) shown++;
        if (refuses) continue;
        const { stdout } = end;
        if (format.length > 0 && stdout !== "") JSON.parse(stdout);
      }
    }
  }
  assert(shown > 60, `the text was shown ${shown} times`);
});

Deno.test("a program gets results as they are, and JSON with the same values", async () => {
  await using office = await startOffice({
    server: { protocol: "all" },
    computers: {
      pc: (event) => ({ req_id: "1", ...Object(ANSWERS[event]) }),
    },
  });
  await office.agent.leave();
  const to = ["--url", office.url, "--office", OFFICE];
  const plain = await run("agent", ["call", "tool", ...to], false);
  assertStringIncludes(plain.stdout, HOSTILE);
  const json = await run("agent", ["call", "tool", "--json", ...to], false);
  assert(!CONTROL.test(json.stdout), JSON.stringify(json.stdout));
  const { content } = JSON.parse(json.stdout);
  assertEquals(content[0], { type: "text", text: HOSTILE });
});

Deno.test("import, check, keys and the Server's refusals write no control characters of files and Servers", async () => {
  await using dir = await scratch();
  await using server = createSmcpServer({
    authenticator: {
      authenticate: () => ({ refused: HOSTILE, shown: HOSTILE }),
      hasOperators: () => true,
    },
  });
  const { url } = await server.listen({ port: 0 });
  const write = async (name: string, value: unknown) => {
    const file = join(dir.path, name);
    const text = typeof value === "string" ? value : JSON.stringify(value);
    await Deno.writeTextFile(file, text);
    return file;
  };
  const other = await write("other.json", {
    mcpServers: {
      [HOSTILE]: { command: HOSTILE, args: [HOSTILE], env: { [HOSTILE]: "s" } },
      [`${HOSTILE}2`]: { command: 5, [HOSTILE]: HOSTILE },
    },
  });
  const own = await write("own.json", {
    inputs: [{ type: "promptString", id: HOSTILE, description: HOSTILE }],
    servers: {
      [HOSTILE]: {
        type: "stdio",
        server_parameters: { command: `/no/${HOSTILE}` },
      },
    },
  });
  const wrong = await write("wrong.json", {
    servers: { [HOSTILE]: { type: HOSTILE } },
    [HOSTILE]: 1,
  });
  const keys = await write("keys.json", [{
    id: HOSTILE,
    key: "k",
    offices: [HOSTILE],
    names: [HOSTILE],
  }]);
  const badKeys = await write("bad.json", [{ id: HOSTILE, [HOSTILE]: 1 }]);
  const skills = ["--no-skills"];
  const out = join(dir.path, "out.json");
  const rows: [HereName, string[]][] = [
    ["computer", ["import", "--from", other, "--dry-run"]],
    ["computer", ["import", "--from", other, "--out", out]],
    ["computer", ["import", "--from", wrong, "--dry-run"]],
    ["computer", ["import", "--from", join(dir.path, "no\u001b[2J")]],
    ["computer", ["check", "--config", own, ...skills]],
    ["computer", ["check", "--config", wrong, ...skills]],
    ["computer", ["check", "--config", `${own}${HOSTILE}`, ...skills]],
    ["computer", ["check", "--config", own, "--input", `${HOSTILE}=1`]],
    ["computer", ["run", "--config", wrong, "--url", url, "--office", "o"]],
    ["agent", ["tools", "--url", url, "--office", "o"]],
    ["agent", ["tools", "--url", `${url}/${HOSTILE}`, "--office", "o"]],
    ["agent", ["tools", "--url", HOSTILE, "--office", "o"]],
    ["agent", ["tools", "--url", url, "--office", HOSTILE]],
    ["server", ["key", "list", "--api-keys", keys]],
    ["server", ["key", "list", "--api-keys", badKeys]],
    ["server", ["key", "add", HOSTILE, "--api-keys", keys]],
    ["server", ["offices", "--url", url, "--token", "t"]],
    ["server", ["members", HOSTILE, "--url", url, "--token", "t"]],
  ];
  let shown = 0;
  for (const [name, args] of rows) {
    for (const format of [[], ["--json"]]) {
      const end = await run(name, [...args, ...format], false);
      assertHarmless(end, `${name} ${args[0]} ${args[1]} ${format}`);
      const output = end.stdout + end.stderr;
      if (/⟨U\+001B⟩|\\u001b|\\x1b/.test(output)) shown++;
    }
  }
  assert(shown > 20, `the text was shown ${shown} times`);
});
