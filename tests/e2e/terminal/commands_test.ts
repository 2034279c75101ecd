import {
  assert,
  assertEquals,
  assertMatch,
  assertNotMatch,
  assertStringIncludes,
} from "@std/assert";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { resultMeta } from "../../../protocol/mod.ts";
import { argumentsOf } from "../../support/command.ts";
import { startComputer } from "../../support/computer/computer.ts";
import {
  type ConfigFile,
  configFile,
} from "../../support/computer/config_file.ts";
import { fixture } from "../../support/computer/mcp_servers.ts";
import { openPage, pageLink } from "../../support/computer/page_client.ts";
import { createCounter } from "../../support/fixtures/counter.ts";
import { OFFICE, type Office, startOffice } from "../../support/office.ts";
import { gone, isAlive, listeningPort } from "../../support/processes.ts";
import { scratch } from "../../support/scratch.ts";
import {
  assertRestored,
  hasTerminals,
  ON_TERMINAL,
  onTerminal,
  type Screen,
  startOnTerminal,
  startTerminal,
  type TerminalOptions,
} from "../../support/terminal/terminal.ts";

const UP = "\x1b[A";
const DOWN = "\x1b[B";

const TOKEN = {
  id: "token",
  type: "promptString",
  description: "Key of the shop",
  password: true,
};

/** An MCP server that gets the value of an input as a variable. */
const filesWith = (only: string[], input: string, more: object = {}) =>
  fixture({ only }, {
    ...more,
    server_parameters: {
      command: Deno.execPath(),
      env: { [input.toUpperCase()]: `\${input:${input}}` },
    },
  });

/** Starts the Computer "pc" of an office. */
const startRun = (
  { url }: Office,
  { file }: ConfigFile,
  options: TerminalOptions,
  ...flags: string[]
) =>
  startOnTerminal("computer", [
    ...["run", "--url", url, "--office", OFFICE, "--name", "pc"],
    ...["--config", file, ...flags],
  ], options);

onTerminal(
  "up prints a command that reaches it, and the command calls a tool",
  async () => {
    await using config = await configFile({
      servers: {
        files: fixture({ only: ["echo"] }, {
          default_tool_meta: { auto_apply: true },
        }),
      },
    });
    await using folder = await scratch();
    const entry = fileURLToPath(new URL("../../../mod.ts", import.meta.url));
    await using up = await startTerminal(
      Deno.execPath(),
      [
        ...argumentsOf("computer", []).with(-1, entry),
        ...["up", "--port", "0", "--config", config.file, "--name", "pc"],
      ],
    );
    const { all } = await up.until(({ all }) =>
      all.includes("1 tool") && all.includes("Console: ")
    );
    const [, line = ""] = /^Agents: (.*)$/m.exec(all) ?? [];
    const type = async (line: string) => {
      const { stdout } = await new Deno.Command("sh", {
        args: ["-c", line],
        cwd: folder.path,
        env: {
          NO_COLOR: "1",
          PATH: dirname(Deno.execPath()) + delimiter + Deno.env.get("PATH"),
        },
        stderr: "inherit",
      }).output();
      return new TextDecoder().decode(stdout);
    };
    assertMatch(
      await type(line),
      /^pc: 1 tool\n {2}files: 1 tool\n {4}files__echo {2}does echo$/m,
    );
    const call = line.replace(" tools ", " call echo --arg text=hello ");
    assertEquals(await type(call), "hello\n");
    await up.until("✓ files__echo by mcp"); // which shares its seat with the command
    await up.type("\x03");
    assertEquals(await assertRestored(up), 0);
  },
);

onTerminal(
  "agent call shows how long it waits; Ctrl-C cancels the call, end to end",
  async (t) => {
    const auto = { default_tool_meta: { auto_apply: true } };
    await using pc = await startComputer({
      files: fixture({ only: ["echo", "slow", "slow_aborted"] }, auto),
      counter: { type: "in-process", server: createCounter(), ...auto },
    });
    const { computer, office: { agent, url } } = pc;
    await agent.leave();
    const call = (tool: string, ...args: string[]) =>
      startOnTerminal("agent", [
        ...["call", tool, "--url", url, "--office", OFFICE],
        ...args,
      ], { columns: 30 });

    await t.step("only the result remains", async () => {
      await using agent = await call("echo", "--arg", "text=hello");
      assertEquals(await assertRestored(agent), 0);
      assertEquals(agent.screen().text.trim(), "hello");
    });

    await t.step("it shows how far the tool is", async () => {
      await using agent = await call("count", "--params", '{"wait": true}');
      const { wrapped } = await agent.until(
        /^\S \d+\.\d s {2}30\/30 counting/m,
      );
      assertEquals(wrapped, []);
      await agent.type("\x03");
      assertEquals(await assertRestored(agent), 1);
      assertEquals(agent.screen().text.trim(), "error: cancelled");
    });

    await t.step("Ctrl-C cancels", async () => {
      await using agent = await call("slow");
      const waiting = /^[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏] (\d+\.\d) s {2}calling slow on p…$/m;
      const { text } = await agent.until(waiting);
      const [, before] = waiting.exec(text) ?? [];
      const { wrapped } = await agent.until(({ text }) => {
        const [, now] = waiting.exec(text) ?? [];
        return now !== undefined && now !== before;
      });
      assertEquals(wrapped, []);
      await agent.type("\x03");
      assertEquals(await assertRestored(agent), 1);
      assertEquals(agent.screen().text.trim(), "error: cancelled");
      const { content } = await computer.callTool("slow_aborted");
      assertEquals(content[0]?.text, "it was aborted");
    });

    await t.step("it ends with its window", async () => {
      await using agent = await call("slow");
      await agent.until("calling slow");
      await agent.hangUp();
      await gone(agent.pid);
    });
  },
);

onTerminal(
  "run asks at its terminal for secrets, and whether a tool may run",
  async (t) => {
    await using office = await startOffice();
    const { agent } = office;
    const files = filesWith(["echo", "fail", "environment"], "token", {
      tool_meta: { environment: { auto_apply: true } },
    });
    await using config = await configFile({
      inputs: [TOKEN],
      servers: { files },
    });
    const start = () => startRun(office, config, { env: { NO_COLOR: "1" } });
    const asksForKey = ({ all, cursor }: Screen) =>
      all.includes('Key of the shop (input "token")') && !cursor.shown;

    await using view = await start();
    const call = async (tool: string, text = "hi") => {
      const result = await agent.callTool("pc", tool, { text });
      return resultMeta(result).error_code ?? result.content[0]?.text;
    };
    const asked = (count: number) =>
      view.until(({ all, cursor }) =>
        all.split("Run this tool?").length > count && !cursor.shown &&
        /● No\b[^]*└ (y, h, a, m or n|Space)/.test(all)
      );

    await t.step("for a secret, which is not shown", async () => {
      await view.until(asksForKey);
      await view.type("hunter2\r");
      await view.until(({ text }) =>
        text.includes("3 tools") && text.includes("office north")
      );
      assertStringIncludes(`${await call("environment")}`, '"TOKEN":"hunter2"');
      assertNotMatch(view.written, /hunter2|h.?u.?n.?t/);
    });

    await t.step("once, always, no", async () => {
      const first = call("echo");
      await asked(1);
      await view.type(`${UP.repeat(4)}\r`);
      assertEquals(await first, "hi");
      const second = call("echo");
      await asked(2);
      await view.type(`${UP}${UP}\r`);
      assertEquals(await second, "hi");
      assertEquals(await call("echo"), "hi"); // after "always"
      const third = call("fail", "longer than the screen ".repeat(200));
      const { text } = await asked(3);
      for (
        const row of ["Run this tool?", "4,600 characters in all", "└ Space"]
      ) {
        assertStringIncludes(text, row);
      }
      assertNotMatch(text, /[○●] (Yes|Always)/);
      await view.type(`l${DOWN}\r`); // neither wraps to "Yes"
      assertEquals(await third, 4005);
      const fourth = call("fail");
      await asked(4);
      await view.type("\x03");
      assertEquals(await fourth, 4005);
      const { all, cursor } = await view.until(
        /(✗ fail by planner[^]*){2}● conn/,
      );
      assertEquals(all.split("Run this tool?").length, 5);
      assertEquals(all.match(/^● connected/gm)?.length, 1);
      assert(cursor.shown);
      for (const word of ["Yes, this once", "Always for this tool", "No"]) {
        assertStringIncludes(all, word);
      }
    });

    await t.step("and withdraws the question when it ends", async () => {
      const refused = call("fail", "again").catch(() => {});
      await asked(5);
      view.signal("SIGTERM");
      assertEquals(await assertRestored(view), 0);
      assertNotMatch(view.written, /␛\[(3[0-7]|9[0-7])m/);
      await refused;
    });

    await t.step("and ends with its window while it asks", async () => {
      await using other = await start();
      await other.until(asksForKey);
      await other.hangUp();
      await gone(other.pid);
    });
  },
);

onTerminal(
  "a server drains with its window; while that is open SIGHUP reloads",
  async () => {
    await using folder = await scratch();
    const keys = join(folder.path, "keys.json");
    await Deno.writeTextFile(
      keys,
      JSON.stringify([{ id: "a", key: "k".repeat(32), roles: ["agent"] }]),
    );
    const start = async (...args: string[]) => {
      const server = await startOnTerminal("server", ["--port", "0", ...args]);
      await server.until(/http:\S+/);
      return server;
    };
    for (const args of [[], ["--api-keys", keys]]) {
      await using server = await start(...args);
      for (let times = 1; times <= 2; times++) {
        server.signal("SIGHUP");
        const reloaded = new RegExp(`(SIGHUP: keys[^]*){${times}}`);
        await server.until(reloaded);
      }
      await server.hangUp();
      await gone(server.pid);
    }
  },
);

onTerminal(
  "a server without a terminal of its own reloads at SIGHUP, also when the one that started it is closed",
  async () => {
    await using folder = await scratch();
    const log = join(folder.path, "log");
    const server = [Deno.execPath(), ...argumentsOf("server", [])].concat([
      ...["--port", "0", "--log-file", log],
    ]);
    await using shell = await startTerminal("sh", [
      "-c",
      `nohup "$@" </dev/null >"$0" 2>&1 & echo "server=$!="; wait`,
      join(folder.path, "out"),
      ...server,
    ]);
    const { all } = await shell.until(/server=\d+=/);
    const [, pid = ""] = /server=(\d+)=/.exec(all) ?? [];
    await listeningPort(Number(pid));
    await shell.hangUp();
    const reloads = async () =>
      (await Deno.readTextFile(log)).split("SIGHUP: keys").length - 1;
    try {
      const before = await reloads();
      Deno.kill(Number(pid), "SIGHUP");
      while (await reloads() === before) {
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
      assert(await isAlive(Number(pid)));
    } finally {
      Deno.kill(Number(pid), "SIGTERM");
    }
    await gone(Number(pid));
  },
);

Deno.test(
  "a server whose terminal is closed before it prints serves and drains as any",
  { ...ON_TERMINAL, ignore: !hasTerminals || Deno.build.os !== "linux" },
  async () => {
    await using folder = await scratch();
    const go = join(folder.path, "go");
    const log = join(folder.path, "log");
    const wait =
      `trap "" HUP; echo waits; until [ -e "$0" ]; do sleep 0.02; done; exec "$@"`;
    await using server = await startTerminal("sh", [
      ...["-c", wait, go, Deno.execPath(), "run", "-A", "--frozen"],
      ...["server/main.ts", "--port", "0", "--log-file", log],
    ], { cwd: fileURLToPath(new URL("../../../", import.meta.url)) });
    await server.until("waits"); // from now on a hang-up does not end it
    await server.hangUp();
    await Deno.writeTextFile(go, "");
    const port = await listeningPort(server.pid);
    const { status, body } = await fetch(`http://127.0.0.1:${port}/health`);
    assertEquals(status, 200);
    await body?.cancel();
    server.signal("SIGTERM");
    await gone(server.pid);
    assertStringIncludes(await Deno.readTextFile(log), "SIGTERM: draining");
  },
);

onTerminal(
  "check asks for inputs, shows each MCP server when it runs or fails, and a partial report on Ctrl-C",
  async () => {
    await using config = await configFile({
      inputs: [TOKEN],
      servers: {
        hangs: {
          type: "stdio",
          server_parameters: { command: "sleep", args: ["1000"] },
        },
        gone: {
          type: "stdio",
          server_parameters: { command: "no-such-program" },
        },
        files: filesWith(["environment"], "token"),
      },
    });
    await using check = await startOnTerminal("computer", [
      "check",
      "--config",
      config.file,
    ], { columns: 120, env: { NO_COLOR: "1" } });
    await check.until(({ all, cursor }) =>
      all.includes('Key of the shop (input "token")') && !cursor.shown
    );
    await check.type("hunter2\r");
    const { all } = await check.until(({ all }) =>
      /^✓ files +stdio +running +1 tool/m.test(all) &&
      /^✗ gone +stdio +failed/m.test(all) &&
      /^[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏] hangs {2}starting, \d+\.\d s$/m.test(all)
    );
    assertMatch(all, /^ {4}tools: environment$/m);
    await check.type("\x03");
    assertEquals(await assertRestored(check), 130);
    const { all: last } = check.screen();
    assertMatch(last, /^✓ files +stdio +running +1 tool/m);
    assertMatch(last, /^◌ hangs +stdio +starting/m);
    assertMatch(last, /^problem: MCP server "gone": .*no such program/m);
    assertMatch(
      last,
      /^error: stopped before everything was checked; 1 of 3 MCP servers are not$/m,
    );
    assertNotMatch(last, /[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]/);
    assertEquals(last.match(/^✓ files/gm)?.length, 1);
    assertNotMatch(check.written, /hunter2/);
  },
);

onTerminal(
  "the terminal offers no yes before a long argument was read to its end",
  async () => {
    await using office = await startOffice();
    await using config = await configFile({
      servers: { files: filesWith(["echo"], "key") },
      inputs: [{
        id: "key",
        type: "promptString",
        default: "k",
        description: "",
      }],
    });
    await using view = await startRun(office, config, {
      env: { NO_COLOR: "1", SMCP_INPUT_KEY: "k" },
    });
    await view.until(/1 tool[^]*office north|office north[^]*1 tool/);
    const text = `${"harmless note ".repeat(300)}END`;
    const path = "ws/.ssh/authorized_keys";
    const called = office.agent.callTool("pc", "echo", { text, path });
    const { rows } = await view.until(({ text, cursor }) =>
      text.includes("└ Space") && !cursor.shown
    );
    const top = rows.findIndex((row) => row.includes("Run this tool?"));
    assertEquals(rows.slice(top + 1, top + 4), [
      '│ Tool: "echo"',
      '│ MCP server: "files"',
      "│ Arguments",
    ]);
    assert(rows.includes(`│   path: "${path}"`), rows.join("\n"));
    await view.type("ya"); // they choose nothing yet
    const hasYes = /[○●] Yes, this once/;
    let seen = "";
    for (let pages = 0;; pages++) {
      const { text } = await view.until(({ text }) =>
        // "…" stands there until keys count again.
        hasYes.test(text) && !text.includes("└ …") || text.includes("└ Space")
      );
      seen += text;
      if (hasYes.test(text)) {
        assertStringIncludes(seen, 'END"');
        assert(pages > 2, `${pages}`);
        break;
      }
      await view.type(" ");
      await view.until((screen) => screen.text !== text);
    }
    await view.type("y");
    assertEquals((await called).content[0]?.text, text);
    await view.type("\x03");
    assertEquals(await assertRestored(view), 0);
  },
);

const READY = "y, h, a, m or n; or ↑ ↓ and Enter";

onTerminal(
  "a question is asked at the terminal and on the page: the first answer wins, and the other is notified",
  async (t) => {
    await using office = await startOffice();
    await using config = await configFile({
      inputs: [{ id: "key", type: "promptString", description: "The key" }],
      servers: {
        files: filesWith(["echo", "ask"], "key", {
          tool_meta: { ask: { auto_apply: true } },
        }),
      },
    });
    const size = { columns: 120, rows: 30 };
    await using terminal = await startRun(office, config, size, "--ui");
    await using page = await openPage(
      await pageLink({
        line: async (pattern) => {
          await terminal.until(/page: http:\S+/);
          const found = terminal.written.match(pattern);
          if (found) return found;
          throw new Error("no link");
        },
      }),
    );

    await t.step("an input on the page", async () => {
      await terminal.until("The key (input");
      const { id } = await page.question("The key");
      await page.ask(`/questions/${id}`, { value: "abcd" });
      await terminal.until("2 tools");
      const { all } = await terminal.until(
        "answered on the page: Answered: The key",
      );
      assert(!all.includes("abcd"));
    });

    const call = (text: string) =>
      office.agent.callTool("pc", "echo", { text });
    /** Waits until this question takes keys; the one before may still be on the screen. */
    const asked = (what: string) =>
      terminal.until(({ all }) => {
        const last = all.slice(all.lastIndexOf("Run this tool?"));
        return last.includes(what) && last.includes(READY);
      });

    await t.step("the page first", async () => {
      const called = call("one");
      await asked('text: "one"');
      const { id } = await page.question('text: "one"');
      await page.ask(`/questions/${id}`, { answer: "once" });
      assertEquals((await called).content[0]?.text, "one");
      const { text } = await terminal.until(/✓ echo by planner/);
      await terminal.until(
        /answered on the page: Yes, this once: tool "echo"/,
      );
      assertNotMatch(text, /Always for this tool/);
    });

    await t.step("the terminal first", async () => {
      const called = call("two");
      const { id } = await page.question('text: "two"');
      await asked('text: "two"');
      await terminal.type("n");
      assert((await called).isError);
      const { questions } = await page.until(({ questions }) =>
        questions.some((each) => each.id === id && each.endedBy)
      );
      const { endedBy, said } = questions.find((each) => each.id === id) ?? {};
      assertEquals([endedBy, said], ["terminal", "No"]);
      const late = await page.ask(`/questions/${id}`, { answer: "once" });
      assertEquals(
        [late.status, late.body.errors[0].problem],
        [409, "already answered at the terminal: No"],
      );
    });

    await t.step("one that waits at the terminal behind another", async () => {
      const calls = [call("three"), call("four")];
      await asked('text: "three"');
      const { id } = await page.question('text: "four"');
      await page.ask(`/questions/${id}`, { answer: "no" });
      assert((await calls[1])?.isError);
      await terminal.until(/text: "three"/);
      await terminal.type("y");
      assertEquals((await calls[0])?.content[0]?.text, "three");
    });

    await t.step("a form, half filled in at the terminal", async () => {
      const called = office.agent.callTool("pc", "ask", {});
      await terminal.until("Esc cancels");
      await terminal.type("y");
      await terminal.until(/name/);
      const { id } = await page.question("Answer this MCP server?");
      await page.ask(`/questions/${id}`, { action: "decline" });
      assertEquals(JSON.parse((await called).content[0]?.text ?? ""), {
        action: "decline",
      });
      await terminal.until(
        /answered on the page: Declined: question of MCP server "files"/,
      );
    });

    await terminal.type("\x03");
    assertEquals(await assertRestored(terminal), 0);
  },
);
