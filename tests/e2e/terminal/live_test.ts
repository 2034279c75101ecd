import { assert, assertEquals, assertMatch, assertNotMatch } from "@std/assert";
import { fileURLToPath } from "node:url";
import { argumentsOf } from "../../support/command.ts";
import {
  type ConfigFile,
  configFile,
} from "../../support/computer/config_file.ts";
import { fixture } from "../../support/computer/mcp_servers.ts";
import { OFFICE, type Office, startOffice } from "../../support/office.ts";
import { gone } from "../../support/processes.ts";
import {
  assertRestored,
  onTerminal,
  type Screen,
  startTerminal,
  type Terminal,
  type TerminalOptions,
} from "../../support/terminal/terminal.ts";

const WIDE = "日本語の名前がとても長い😀サーバーですよねそうですよね🇩🇪";
const LONG = "a_tool_with_a_name_".repeat(10);
const FAULTS = fileURLToPath(
  new URL("../../support/fixtures/faults.ts", import.meta.url),
);

const only = ["echo", "fail", "slow", "slow_began", "pid", "background"];

const files = fixture({
  only,
  extraTools: [{ name: LONG, inputSchema: { type: "object" } }],
}, { default_tool_meta: { auto_apply: true } });

const servers = {
  files,
  [WIDE]: fixture({ only: ["echo"] }, {
    tool_meta: { echo: { alias: "ask" } },
  }),
  // Retried repeatedly, with a countdown every second.
  broken: {
    type: "stdio",
    server_parameters: { command: `no-such-program-${"x".repeat(90)}` },
  },
  off: { ...files, disabled: true },
};

/** The live view of a Computer "pc". */
const startRun = (
  { url }: Office,
  { file }: ConfigFile,
  options: TerminalOptions = {},
): Promise<Terminal> => {
  const args = ["--office", OFFICE, "--name", "pc", "--config", file];
  return startTerminal(
    Deno.execPath(),
    argumentsOf("computer", ["run", "--url", url, ...args])
      .toSpliced(1, 0, "--preload", FAULTS),
    options,
  );
};

/** Waits until its one tool can be called: the MCP server may run before the Computer has joined. */
const joined = (view: Terminal) =>
  view.until(({ text }) =>
    text.includes("1 tool") && text.includes("office north")
  );

const ready = ({ text }: Screen) => /files .* running .* 7 tools/.test(text);

/** Asserts that no line is broken, and that the block is shown once. */
function assertNeat(terminal: Terminal): void {
  const { wrapped, all } = terminal.screen();
  assertEquals(wrapped, []);
  assertEquals(all.match(/^● connected/gm)?.length, 1, all);
  // Nothing is cleared without being redrawn in the same write.
  assertNotMatch(terminal.written, /␛\[[123]J|␛\[H|␛c/);
  const frames = terminal.written.match(/␛\[\?2026h[^]*?␛\[\?2026l/g) ?? [];
  assert(frames.length > 1);
  for (const frame of frames) assertMatch(frame, /^\S+\r(␛\[\d+A)?␛\[J/);
}

const SIZES = [
  { columns: 80, rows: 24, env: {}, signal: "Ctrl-C" },
  { columns: 200, rows: 50, env: { NO_COLOR: "1" }, signal: "SIGTERM" },
] as const;

for (const { columns, rows, env, signal } of SIZES) {
  const colour = "NO_COLOR" in env ? "without colour" : "with colour";
  onTerminal(`live view at ${columns}x${rows} ${colour}`, async (t) => {
    await using office = await startOffice();
    await using config = await configFile({ servers });
    await using view = await startRun(office, config, { columns, rows, env });
    const { agent } = office;
    const call = (tool: string) => agent.callTool("pc", tool, { text: "hi" });

    await t.step(
      "shows connection, office and each MCP server with state and tools",
      async () => {
        const { text } = await view.until((screen) =>
          ready(screen) && /running +1 tool$/m.test(screen.text) &&
          screen.text.includes("office north") &&
          screen.text.includes("again in")
        );
        assertMatch(
          text,
          /^─+\n● connected http:\S+ {2}A2C-SMCP 0\.2 {2}office north {2}as pc$/m,
        );
        assertMatch(text, /^ {2}● 日本語.* running +1 tool$/m);
        assertMatch(text, /^ {2}✗ broken .* failed +again in \d+ s$/m);
        assertMatch(text, /^ {6}Cannot start "no-such-program-x+/m);
        assertMatch(text, /^ {2}○ off .* disabled$/m);
        assertNeat(view);
      },
    );

    await t.step(
      "shows calls while they run, and how they ended",
      async () => {
        await call("echo");
        await call("fail");
        await call(LONG);
        const cancel = new AbortController();
        const slow = agent.callTool("pc", "slow", {}, {
          signal: cancel.signal,
        });
        await view.until(/^ {2}▸ slow by planner {2}\d+ s$/m);
        cancel.abort();
        await slow.catch(() => {});
        const { all } = await view.until(
          /✗ slow by planner {2}cancelled {2}\d+ ms$/m,
        );
        assertMatch(all, /^\d\d:\d\d:\d\d ✓ echo by planner {2}\d+ ms$/m);
        assertMatch(all, /✗ fail by planner {2}tool error {2}\d+ ms$/m);
        assertMatch(all, /✓ a_tool_with_\w+…? by planner {2}\d+ ms$/m);
        assertNeat(view);
      },
    );

    await t.step(`is ${colour}`, async () => {
      const { text } = await view.until("● files");
      assert(text);
      if ("NO_COLOR" in env) {
        assert(!view.styled);
        assertNotMatch(view.written, /␛\[[\d;]*m/);
      } else {
        assertEquals(view.colourOf("● files"), 2);
        await view.until("✗ broken"); // it is restarted from time to time
        assertEquals(view.colourOf("✗ broken"), 1);
        assertEquals(view.colourOf("✓ echo"), 2);
      }
    });

    await t.step(
      `is gone after ${signal}, with the terminal restored`,
      async () => {
        if (signal === "Ctrl-C") await view.type("\x03");
        else view.signal(signal);
        assertEquals(await assertRestored(view), 0);
        const { all } = view.screen();
        assertMatch(all, /\d ms\n(\^C)?stopping\s*$/);
        assertNotMatch(all, /● connected/);
      },
    );
  });
}

onTerminal(
  "live view in a resized window, after an uncaught error, and when the window is closed",
  async (t) => {
    await using office = await startOffice();
    // Without the long name, whose warning would have another width.
    await using config = await configFile({
      servers: {
        files: fixture({ only }, { default_tool_meta: { auto_apply: true } }),
      },
    });
    await using view = await startRun(office, config);
    const call = (tool: string) => office.agent.callTool("pc", tool, {});
    await view.until(({ text }) =>
      /files .* running .* 6 tools/.test(text) && text.includes("office north")
    );

    await t.step("follows the size of the window", async () => {
      for (const [columns, rows] of [[60, 12], [120, 40], [80, 24]] as const) {
        await view.resize(columns, rows);
        await view.until(({ text }) =>
          text.split("\n").includes("─".repeat(columns - 1))
        );
        assertNeat(view);
      }
    });

    await t.step(
      "continues after an uncaught error, and reports it",
      async () => {
        view.signal("SIGUSR2");
        await view.until(/nobody\s+catches\s+this/);
        await call("echo");
        await view.until("✓ echo by planner");
        assertNeat(view);
      },
    );

    await t.step(
      "is redrawn below other output after Ctrl-Z and fg",
      async () => {
        view.signal("SIGCONT");
        await view.until(({ all }) =>
          all.match(/^● connected/gm)?.length === 2
        );
      },
    );

    await t.step("ends with the window, and leaves no process", async () => {
      const results = [await call("pid"), await call("background")];
      await view.hangUp();
      await gone(view.pid);
      for (const { content } of results) await gone(Number(content[0]?.text));
    });
  },
);

onTerminal(
  "a program that exits during a question restores the terminal",
  async () => {
    await using office = await startOffice();
    await using config = await configFile({
      servers: { files: fixture({ only: ["echo"] }) },
    });
    await using view = await startRun(office, config, {
      env: { FAULT: "exit" },
    });
    await joined(view);
    const refused = office.agent.callTool("pc", "echo", {}).catch(() => {});
    await view.until(({ text, cursor }) =>
      text.includes('Tool: "echo"') && !cursor.shown
    );
    view.signal("SIGUSR2");
    assertEquals(await assertRestored(view), 70);
    await refused;
  },
);
