import {
  assert,
  assertEquals,
  assertMatch,
  assertNotMatch,
  assertStringIncludes,
} from "@std/assert";
import { join } from "node:path";
import { createSmcpServer } from "../../../server/mod.ts";
import { argumentsOf } from "../../support/command.ts";
import type { Screen } from "../../support/terminal/emulator.ts";
import { fixture } from "../../support/computer/mcp_servers.ts";
import { OFFICE, startOffice } from "../../support/office.ts";
import { gone, written } from "../../support/processes.ts";
import { scratch } from "../../support/scratch.ts";
import {
  assertRestored,
  ON_TERMINAL,
  startTerminal,
  type Terminal,
  type TerminalOptions,
} from "../../support/terminal/terminal.ts";

const WIDE = "日本語の名前がとても長い😀サーバーですよねそうですよね🇩🇪";
const UP = "\x1b[A";

const files = fixture({
  only: ["echo", "slow", "slow_began", "pid"],
  resourceList: [{ uri: "window://files/notes", name: "notes" }],
}, { default_tool_meta: { auto_apply: true } });
const wide = fixture({ only: ["echo"] }, {
  tool_meta: { echo: { alias: "say" } },
});
const inputs = [
  { id: "city", type: "promptString", description: "Where it is" },
  { id: "token", type: "promptString", description: "T", password: true },
];

/** A shell whose output can be awaited. */
interface Shell extends Terminal {
  /** Types a line; resolves with the output up to the next prompt. */
  say(line: string): Promise<string>;
}

const atPrompt = ({ all }: Screen): boolean => /(^|\n)smcp>\s*$/.test(all);

async function startShell(
  args: readonly string[],
  options?: TerminalOptions,
): Promise<Shell> {
  const terminal = await startTerminal(
    Deno.execPath(),
    argumentsOf("computer", ["shell", ...args]),
    options,
  );
  await terminal.until(atPrompt);
  const say = async (line: string) => {
    const typed = `smcp> ${line}\n`;
    const before = terminal.screen().all.split(typed).length;
    await terminal.type(`${line}\r`);
    const { all } = await terminal.until((screen) =>
      screen.all.split(typed).length > before && atPrompt(screen)
    );
    return all.split(typed).at(-1)?.replace(/\n?smcp>\s*$/, "") ?? "";
  };
  return Object.assign(terminal, { say });
}

/** Asserts that each line has its words in order, with anything in between. */
function assertLines(text: string, ...lines: string[][]): void {
  for (const words of lines) {
    const found = text.split("\n").some((line) => {
      let at = 0;
      return words.every((word) => (at = line.indexOf(word, at) + 1) > 0);
    });
    assert(found, `no line with ${words.join(" … ")} in:\n${text}`);
  }
}

Deno.test(
  "shell at 80x24 knows the commands of the Python SDK",
  ON_TERMINAL,
  async (t) => {
    await using office = await startOffice();
    await using other = createSmcpServer();
    const { url: elsewhere } = await other.listen({ port: 0 });
    await using folder = await scratch();
    const put = async (name: string, value: unknown) => {
      const file = join(folder.path, name);
      await Deno.writeTextFile(file, JSON.stringify(value));
      return file;
    };
    const config = await put("computer.json", { servers: { files } });
    const server = await put("server.json", { name: WIDE, ...wide });
    const definitions = await put("inputs.json", inputs);
    const history = join(folder.path, "history");
    const old =
      'tc {"tool_name":"echo","params":{"text":"s3cret of before"}}\n';
    await Deno.writeTextFile(history, old, { mode: 0o644 });
    await Deno.chmod(history, 0o644);
    const to = ["--url", office.url, "--name", "pc", "--history", history];
    await using shell = await startShell([...to, "--config", config]);
    const { say } = shell;
    await shell.until("MCP server files: running, 4 tools");
    const json = async (line: string) =>
      JSON.parse((await say(line)).replace(/^[^{]*/, ""));

    await t.step("help", async () => {
      const text = await say("help");
      for (const command of ["socket join", "inputs value set", "tc", "quit"]) {
        assertStringIncludes(text, command);
      }
      assertMatch(await say("nonsense"), /^error: .*"nonsense".*help/);
      assertEquals(shell.colourOf("error: "), 1);
    });

    await t.step("socket connect, join and leave; notify update", async () => {
      assertMatch(await say("notify update"), /^error: in no office/);
      assertEquals(
        await say("socket connect"),
        `connected to ${office.url}, A2C-SMCP 0.2`,
      );
      assertEquals(
        await say(`socket join ${OFFICE}`),
        "joined office north as pc",
      );
      const told = new Promise((resolve) =>
        office.agent.on("updateFinder", resolve)
      );
      assertEquals(await say("notify update"), "told");
      await told;
      assertEquals(await say("socket leave"), "left office north");
    });

    await t.step(
      "socket join with another name, and connect to another Server",
      async () => {
        assertStringIncludes(
          await say(`socket join ${OFFICE} workshop`),
          "joined office north as workshop",
        );
        const members = await office.agent.listRoom();
        assertEquals(members.map(({ name }) => name).sort(), [
          "planner",
          "workshop",
        ]);
        assertStringIncludes(
          await say(`socket connect ${elsewhere}`),
          `connected to ${elsewhere}, A2C-SMCP 0.2`,
        );
        assertEquals((await office.agent.listRoom()).length, 1);
        await say("socket join south");
        assertMatch(
          await say("status"),
          new RegExp(
            `^connected \\(${elsewhere}/?, A2C-SMCP 0.2\\), office south, as workshop`,
          ),
        );
        assertMatch(await say("socket connect nowhere"), /^error: .*"nowhere"/);
        await say(`socket connect ${office.url}`);
        await say(`socket join ${OFFICE} pc`);
      },
    );

    await t.step(
      "server add and rm, start and stop, status, tools, mcp",
      async () => {
        assertMatch(
          await say(`server add @${server}`),
          new RegExp(`^MCP server ${WIDE}: running, 1\\s+tool$`, "m"),
        );
        assertLines(
          await say("status"),
          ["files", "stdio", "running", "4"],
          ["日本語", "stdio", "running", "1"],
        );
        assertLines(await say("tools"), ["slow", "files"], ["say", "日本語"]);
        const { servers } = await json("mcp");
        assertEquals(Object.keys(servers), ["files", WIDE]);
        await say("stop all");
        assertLines(await say("status"), ["files", "stopped"]);
        await say("start files");
        assertLines(await say("status"), ["files", "running"], [
          "日本",
          "stopped",
        ]);
        assertStringIncludes(await say(`server rm ${WIDE}`), "removed");
        assertNotMatch(await say("status"), /日本語/);
      },
    );

    await t.step("tc, history, desktop", async () => {
      const result = await json(
        'tc {"tool_name":"echo","params":{"text":"hello"}}',
      );
      assertEquals(result.content, [{ type: "text", text: "hello" }]);
      assertLines(await say("history"), ["pc", "echo", "ok"]);
      assertLines(await say("history 1"), ["pc", "echo", "ok"]);
      const window = "contents of window://files/notes";
      assertStringIncludes(await say("desktop"), window);
      assertStringIncludes(await say("desktop 1 window://files/notes"), window);
    });

    await t.step("inputs, their values, render", async () => {
      assertEquals(
        await say(`inputs load @${definitions}`),
        "loaded city, token",
      );
      assertLines(await say("inputs list"), ["city", "promptString", "Where"]);
      const name = { ...inputs[0], id: "name" };
      assertMatch(
        await say(`inputs add ${JSON.stringify(name)}`),
        /added name/,
      );
      const better = { ...name, description: "Who" };
      await say(`inputs update ${JSON.stringify(better)}`);
      assertEquals((await json("inputs get name")).description, "Who");
      assertEquals(await say("inputs rm name"), "removed name");
      await say("inputs value set city Ulm");
      assertEquals(await say("inputs value get city"), "Ulm");
      await say("inputs value set token s3cret");
      assertLines(
        await say("inputs value list"),
        ["city", "Ulm"],
        ["token", "(hidden)"],
      );
      const rendered = await json('render {"at":"in ${input:city}"}');
      assertEquals(rendered, { at: "in Ulm" });
      await say("inputs value rm city");
      assertEquals(await say("inputs value get city"), "(none yet)");
      assertEquals(await say("inputs value clear"), "forgot all values");
    });

    await t.step("asks for values; secrets are not shown", async () => {
      await shell.type("inputs value set token\r");
      await shell.until(({ cursor, all }) =>
        !cursor.shown && all.includes('T (input "token")')
      );
      await shell.type("hunter2\r");
      const { all } = await shell.until(/set token; [^]*\nsmcp>\s*$/);
      assertNotMatch(all + shell.written, /hunter2/);
      assertEquals(await say("inputs value get token"), "(hidden)");
    });

    await t.step("Tab completes commands and names", async () => {
      await shell.type("sta\t\t");
      await shell.until(/^start +status$/m);
      await shell.type("rt fi\t");
      await shell.until(/^smcp> start files$/m);
      await shell.type("\x03");
      await shell.until(/^smcp> start files\^C\nsmcp>\s*$/m);
    });

    await t.step("Ctrl-C discards a line, and cancels a command", async () => {
      await shell.type("not this\x03");
      await shell.until(/^smcp> not this\^C\nsmcp>\s*$/m);
      const call = '{"tool_name":"slow"}';
      await shell.type(`tc ${call}\r`);
      await office.agent.callTool("pc", "slow_began", {});
      await shell.type("\x03");
      await shell.until(
        /^call of slow by pc: cancelled, \d+ ms$[^]*^smcp>\s*$/m,
      );
    });

    await t.step(
      "pasted lines are executed one after another",
      async () => {
        await shell.type("inputs value get city\rinputs list\rhel");
        await shell.until(
          /get city\n[^]*\(none yet\)\n[^]*┌[^]*┘\nsmcp> hel$/,
        );
        await shell.type("\x03");
        await shell.until(/\^C\nsmcp>\s*$/);
      },
    );

    await t.step(
      "a line typed while a command runs is executed after it",
      async () => {
        await shell.type("stop files\rstart files\r");
        await shell.until(/start files\n[^]*files: starting/);
        await shell.type("inputs value get city\r");
        await shell.until(/files: running[^]*\(none yet\)\nsmcp>\s*$/);
      },
    );

    await t.step(
      "no table was broken, nothing cleared",
      () => {
        const broken = shell.screen().wrapped
          .filter((row) => /^[┌│├└]|^MCP/.test(row));
        assertEquals(broken, []);
        assertNotMatch(shell.written, /␛\[[23]J/);
      },
    );

    await t.step(
      "exit stops everything; the next shell has the history, without secrets",
      async () => {
        const { content } = await office.agent.callTool("pc", "pid", {});
        await shell.type("exit\r");
        assertEquals(await assertRestored(shell), 0);
        await gone(Number(content[0]?.text));
        await using again = await startShell(to);
        await again.type(UP);
        await again.until(/^smcp> exit$/m);
        await again.type(UP);
        await again.until(/^smcp> inputs value get city$/m);
        await again.type("\x15\x04");
        assertEquals(await assertRestored(again), 0);
        const kept = await Deno.readTextFile(history);
        assertNotMatch(kept, /s3cret|hunter2|hello|in \$\{input/);
        assertStringIncludes(kept, 'tc {"tool_name":"echo"}\n');
        assertStringIncludes(kept, "inputs value set token\n");
        assertNotMatch(kept, /nonsense/);
        assertEquals((await Deno.stat(history)).mode! & 0o777, 0o600);
      },
    );
  },
);

Deno.test(
  "shell at 200x50 without colour ends with its window, and leaves no process",
  ON_TERMINAL,
  async () => {
    await using office = await startOffice();
    await using folder = await scratch();
    const config = join(folder.path, "computer.json");
    await Deno.writeTextFile(config, JSON.stringify({ servers: { files } }));
    await using shell = await startShell([
      ...["--url", office.url, "--name", "pc", "--config", config],
      ...["--office", OFFICE, "--history", join(folder.path, "history")],
    ], { columns: 200, rows: 50, env: { NO_COLOR: "1" } });
    await shell.until(/joined office[^]*running|running[^]*joined office/);
    const { content } = await office.agent.callTool("pc", "pid", {});
    assertLines(await shell.say("status"), ["files", "running"]);
    assertLines(await shell.say("help"), ["tc", '"timeout": 60}']);
    await shell.say("nonsense");
    assert(!shell.styled);
    assertEquals(shell.screen().wrapped, []);
    await shell.hangUp();
    await gone(shell.pid);
    await gone(Number(content[0]?.text));
    const history = await Deno.readTextFile(join(folder.path, "history"));
    assertEquals(history, "status\nhelp\n");
  },
);

Deno.test(
  "shell that exits, and Ctrl-C while an MCP server does not stop, leave no process",
  ON_TERMINAL,
  async () => {
    await using folder = await scratch();
    const file = join(folder.path, "pid");
    const stubborn =
      'trap "" TERM; echo $$ > "$0"; cat > /dev/null; echo over > "$0.over"; exec sleep 1000';
    const config = join(folder.path, "computer.json");
    const command = { command: "sh", args: ["-c", stubborn, file] };
    await Deno.writeTextFile(
      config,
      JSON.stringify({
        servers: { a: { type: "stdio", server_parameters: command } },
      }),
    );
    await using shell = await startShell([
      ...["--config", config, "--history", join(folder.path, "history")],
    ]);
    const pid = Number(await written(file));
    const over = written(`${file}.over`);
    await shell.type("quit\r");
    // Its input has ended; SIGKILL comes a second later, or before it has read that.
    await Promise.race([over, shell.end]);
    await shell.type("\x03").catch(() => {}); // the second may be over
    const { code } = await shell.end;
    assert(code === 130 || code === 0, `it ended with ${code}`);
    await gone(pid);
    await Deno.writeTextFile(`${file}.over`, "over\n");
    await over;
  },
);

Deno.test(
  "shell --history-values keeps complete lines",
  ON_TERMINAL,
  async () => {
    await using folder = await scratch();
    const history = join(folder.path, "history");
    await using shell = await startShell([
      ...["--history", history, "--history-values"],
    ]);
    const line = 'tc {"tool_name":"echo","params":{"text":"kept"}}';
    await shell.say(line);
    await shell.type("exit\r");
    assertEquals(await assertRestored(shell), 0);
    assertEquals(await Deno.readTextFile(history), `${line}\nexit\n`);
    assertEquals((await Deno.stat(history)).mode! & 0o777, 0o600);
  },
);

Deno.test(
  "shell: input typed for it answers no question, and is restored afterwards",
  ON_TERMINAL,
  async () => {
    await using office = await startOffice();
    await using folder = await scratch();
    const config = join(folder.path, "computer.json");
    const asking = fixture({ only: ["echo", "slow"] });
    await Deno.writeTextFile(
      config,
      JSON.stringify({ servers: { files: asking } }),
    );
    await using shell = await startShell([
      ...["--url", office.url, "--name", "pc", "--config", config],
      ...["--office", OFFICE, "--history", join(folder.path, "history")],
    ]);
    await shell.until(/joined office[^]*running|running[^]*joined office/);
    const call = async () => {
      const { content } = await office.agent.callTool("pc", "echo", {
        text: "hi",
      });
      return `${content[0]?.text}`;
    };
    const asked = (count: number) =>
      shell.until(({ all, cursor }) =>
        all.split("wants to run").length > count && !cursor.shown &&
        /└ y, a or n\S* .*\s*$/.test(all)
      );

    // Half a line when the question appears, the rest before keys are accepted. On a busy machine it
    // may arrive later and then counts; if keys were accepted at once, it would always count.
    let questions = 0;
    for (let late = 0;; late++) {
      await shell.type("inputs li");
      await shell.until(/^smcp> inputs li\s*$(?![^]*smcp>)/m);
      const answer = call();
      questions++;
      await shell.until(({ all }) =>
        all.split("wants to run").length > questions
      );
      await shell.type("y\rstart all\r");
      const isAsked = await Promise.race([
        asked(questions).then(() => true),
        answer.then(() => false),
      ]);
      if (isAsked) await shell.type("l\r");
      if (/refused/.test(await answer)) break;
      assert(late < 20, "keys that are typed within half a second count");
      await shell.type(`\x15late-${late}\r`);
      await shell.until(RegExp(`no command "late-${late}"[^]*\\nsmcp>\\s*$`));
    }
    await shell.until(/^smcp> inputs li\s*$(?![^]*smcp>)/m);
    await shell.type("\x03");
    await shell.until(/li\^C\nsmcp>\s*$/);

    // Pasted lines: one command asks, and the next lines are not answers.
    await shell.type(
      'tc {"tool_name":"echo","params":{"text":"1"}}\rstart all\ry\r',
    );
    await asked(questions + 1);
    const two = call();
    await shell.type("n");
    await asked(questions + 2);
    await shell.type("y");
    assertEquals(await two, "hi");
    await shell.until(/no command "y"[^]*\nsmcp>\s*$/);
    await shell.type("exit\r");
    assertEquals(await assertRestored(shell), 0);
  },
);
