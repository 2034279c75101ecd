import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { ToolHost } from "../../computer/mod.ts";
import { start } from "../support/child.ts";
import { notes } from "../../examples/notes.ts";

const root = new URL("../../", import.meta.url);

/** What each example says when it does what it promises. */
const says: Record<string, string[]> = {
  hono_app: ["GET /smcp/", "GET /", "1 members are here"],
  computer: [
    "notes running",
    `planner wants note with {"text":"buy milk"}`,
    "note is done",
    "error_code 4005",
    "window://notes/all",
    "- buy milk",
  ],
  agent_loop: [
    `{"role":"result","text":"2 notes"}`,
    `{"role":"assistant","text":"I noted 2 things"}`,
  ],
  dpe_resolver: ["# Notes", "- buy milk"],
  in_process: [
    "planner days_between",
    "365 days",
    "local days_between",
    "366 days",
  ],
};

for (const [name, lines] of Object.entries(says)) {
  Deno.test({
    name: `the example ${name}.ts runs, with the command that it names`,
    timeout: 120_000,
  }, async () => {
    const file = `examples/${name}.ts`;
    const [, args = ""] = /```sh\n \* deno (run .*)\n/.exec(
      await Deno.readTextFile(new URL(file, root)),
    ) ?? [];
    assertStringIncludes(args, file);
    await using example = start(
      Deno.execPath(),
      [...args.split(" ").toSpliced(1, 0, "--no-prompt", "--frozen")],
      { cwd: root },
    );
    const { code } = await example.status;
    assertEquals(code, 0, example.lines.join("\n"));
    for (const line of lines) {
      assert(
        example.lines.includes(line),
        `"${line}" is not in:\n${example.lines.join("\n")}`,
      );
    }
  });
}

Deno.test({
  name: "the example notes_server.ts runs as an MCP server",
  timeout: 120_000,
}, async () => {
  await using host = new ToolHost({ servers: { notes } });
  await host.start();
  const [server] = host.status().servers;
  assertEquals(server?.state, "running");
});
