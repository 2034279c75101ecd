import {
  assert,
  assertEquals,
  assertMatch,
  assertNotMatch,
  assertStringIncludes,
} from "@std/assert";
import { join } from "node:path";
import { createSmcpServer } from "../../../server/mod.ts";
import { fixture } from "../../support/computer/mcp_servers.ts";
import { OFFICE, startOffice } from "../../support/office.ts";
import { gone, written } from "../../support/processes.ts";
import { scratch } from "../../support/scratch.ts";
import {
  assertRestored,
  onTerminal,
  type Screen,
  startOnTerminal,
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
  const terminal = await startOnTerminal(
    "computer",
    ["shell", ...args],
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

/** A folder with a configuration of MCP servers and room for a history, and the flags that name both. */
async function shellHome(servers: Record<string, object>) {
  const folder = await scratch();
  const [config, history] = ["computer.json", "history"].map((name) =>
    join(folder.path, name)
  );
  await Deno.writeTextFile(`${config}`, JSON.stringify({ servers }));
  const flags = ["--config", `${config}`, "--history", `${history}`];
  return { ...folder, history: `${history}`, flags };
}

/** Types each line, and matches the output up to the next prompt. */
async function assertSays(
  { say }: Shell,
  lines: readonly (readonly [line: string, ...output: (string | RegExp)[]])[],
): Promise<void> {
  for (const [line, ...outputs] of lines) {
    const text = await say(line);
    for (const output of outputs) {
      if (typeof output === "string") assertEquals(text, output, line);
      else assertMatch(text, output, line);
    }
  }
}

onTerminal("shell at 80x24 has the commands of the Python SDK", async (t) => {
  await using office = await startOffice();
  const { url, agent } = office;
  await using other = createSmcpServer();
  const { url: elsewhere } = await other.listen({ port: 0 });
  await using home = await shellHome({ files });
  const { history } = home;
  const put = async (name: string, value: unknown) => {
    const file = `${history}.${name}`;
    await Deno.writeTextFile(file, JSON.stringify(value));
    return file;
  };
  const server = await put("server.json", { name: WIDE, ...wide });
  const definitions = await put("inputs.json", inputs);
  const old = 'tc {"tool_name":"echo","params":{"text":"s3cret of before"}}\n';
  await Deno.writeTextFile(history, old);
  await Deno.chmod(history, 0o644);
  const to = ["--url", url, "--name", "pc"];
  await using shell = await startShell([...to, ...home.flags]);
  await shell.until("MCP server files: running, 4 tools");

  await t.step("socket: offices, names and Servers; notify", async () => {
    await assertSays(shell, [
      ["help", /socket join/, /inputs value set/, /\btc\b/, /quit/],
      ["nonsense", /^error: .*"nonsense".*help/],
      ["notify update", /^error: in no office/],
      ["socket connect", `connected to ${url}, A2C-SMCP 0.2`],
      [`socket join ${OFFICE}`, "joined office north as pc"],
    ]);
    assertEquals(shell.colourOf("error: "), 1);
    const told = new Promise((resolve) => agent.on("updateFinder", resolve));
    await assertSays(shell, [["notify update", "announced"]]);
    await told;
    await assertSays(shell, [
      ["socket leave", "left office north"],
      [`socket join ${OFFICE} workshop`, /joined office north as workshop/],
    ]);
    const members = async () =>
      (await agent.listRoom()).map(({ name }) => name);
    assertEquals((await members()).sort(), ["planner", "workshop"]);
    await assertSays(shell, [
      [
        `socket connect ${elsewhere}`,
        RegExp(`connected to ${elsewhere}, A2C-SMCP 0.2`),
      ],
      ["socket join south", /joined office south/],
      [
        "status",
        RegExp(
          `^connected \\(${elsewhere}/?, A2C-SMCP 0.2\\), office south, as workshop`,
        ),
      ],
      ["socket connect nowhere", /^error: .*"nowhere"/],
    ]);
    assertEquals(await members(), ["planner"]);
    await assertSays(shell, [
      [`socket connect ${url}`, /connected/],
      [`socket join ${OFFICE} pc`, /joined office north as pc/],
    ]);
  });

  await t.step(
    "server, start and stop, status, tools, mcp, tc, history, desktop",
    () =>
      assertSays(shell, [
        [
          `server add @${server}`,
          RegExp(`^MCP server ${WIDE}: running, 1\\s+tool$`, "m"),
        ],
        ["status", /files.*stdio.*running.*4/, /日本語.*stdio.*running.*1/],
        ["tools", /slow.*files/, /say.*日本語/],
        ["mcp", RegExp(`"files": \\{[^]*"${WIDE}": \\{`)],
        ["stop all"],
        ["status", /files.*stopped/],
        ["start files"],
        ["status", /files.*running/, /日本.*stopped/],
        [`server rm ${WIDE}`, /removed/],
        ["status", /^(?![^]*日本語)/],
        [
          'tc {"tool_name":"echo","params":{"text":"hello"}}',
          /"text": "hello"/,
        ],
        ["history", /pc.*echo.*ok/],
        ["history 1", /pc.*echo.*ok/],
        ["desktop", /contents of window:\/\/files\/notes/],
        [
          "desktop 1 window://files/notes",
          /contents of window:\/\/files\/notes/,
        ],
      ]),
  );

  await t.step("inputs, their values, render", async () => {
    const name = { ...inputs[0], id: "name" };
    const better = JSON.stringify({ ...name, description: "Who" });
    await assertSays(shell, [
      [`inputs load @${definitions}`, "loaded city, token"],
      ["inputs list", /city.*promptString.*Where/],
      [`inputs add ${JSON.stringify(name)}`, /added name/],
      [`inputs update ${better}`],
      ["inputs get name", /"description": "Who"/],
      ["inputs rm name", "removed name"],
      ["inputs value set city Ulm"],
      ["inputs value get city", "Ulm"],
      ["inputs value set token s3cret"],
      ["inputs value list", /city.*Ulm/, /token.*\(hidden\)/],
      ['render {"at":"in ${input:city}"}', /"at": "in Ulm"/],
      ["inputs value rm city"],
      ["inputs value get city", "(none yet)"],
      ["inputs value clear", "forgot all values"],
    ]);
    await shell.type("inputs value set token\r");
    await shell.until(({ cursor, all }) =>
      !cursor.shown && all.includes('T (input "token")')
    );
    await shell.type("hunter2\r");
    const { all } = await shell.until(/set token; [^]*\nsmcp>\s*$/);
    assertNotMatch(all + shell.written, /hunter2/);
    await assertSays(shell, [["inputs value get token", "(hidden)"]]);
  });

  await t.step(
    "keys: Tab completes, Ctrl-C discards a line or cancels a command, lines wait for commands",
    async () => {
      const keys: [typed: string, screen: RegExp][] = [
        ["sta\t\t", /^start +status$/m],
        ["rt fi\t", /^smcp> start files$/m],
        ["\x03", /^smcp> start files\^C\nsmcp>\s*$/m],
        ["not this\x03", /^smcp> not this\^C\nsmcp>\s*$/m],
      ];
      for (const [typed, screen] of keys) {
        await shell.type(typed);
        await shell.until(screen);
      }
      await shell.type('tc {"tool_name":"slow"}\r');
      await agent.callTool("pc", "slow_began", {});
      const pasted: typeof keys = [
        ["\x03", /^call of slow by pc: cancelled, \d+ ms$[^]*^smcp>\s*$/m],
        [
          "inputs value get city\rinputs list\rhel",
          /get city\n[^]*\(none yet\)\n[^]*┌[^]*┘\nsmcp> hel$/,
        ],
        ["\x03", /\^C\nsmcp>\s*$/],
        ["stop files\rstart files\r", /start files\n[^]*files: starting/],
        [
          "inputs value get city\r",
          /files: running[^]*\(none yet\)\nsmcp>\s*$/,
        ],
      ];
      for (const [typed, screen] of pasted) {
        await shell.type(typed);
        await shell.until(screen);
      }
      const { wrapped } = shell.screen();
      assertEquals(wrapped.filter((row) => /^[┌│├└]|^MCP/.test(row)), []);
      assertNotMatch(shell.written, /␛\[[23]J/); // nothing was cleared
    },
  );

  await t.step(
    "exit stops everything; the next shell has the history, without secrets",
    async () => {
      const { content } = await agent.callTool("pc", "pid", {});
      await shell.type("exit\r");
      assertEquals(await assertRestored(shell), 0);
      await gone(Number(content[0]?.text));
      await using again = await startShell([...to, "--history", history]);
      for (const line of [/^smcp> exit$/m, /^smcp> inputs value get city$/m]) {
        await again.type(UP);
        await again.until(line);
      }
      await again.type("\x15\x04");
      assertEquals(await assertRestored(again), 0);
      const kept = await Deno.readTextFile(history);
      assertNotMatch(kept, /s3cret|hunter2|hello|in \$\{input|nonsense/);
      assertStringIncludes(kept, 'tc {"tool_name":"echo"}\n');
      assertStringIncludes(kept, "inputs value set token\n");
      assertEquals((await Deno.stat(history)).mode! & 0o777, 0o600);
    },
  );
});

onTerminal(
  "shell at 200x50 without colour ends with its window, leaves no process, and keeps complete lines with --history-values",
  async () => {
    await using office = await startOffice();
    await using home = await shellHome({ files });
    await using shell = await startShell([
      ...["--url", office.url, "--name", "pc", "--office", OFFICE],
      ...[...home.flags, "--history-values"],
    ], { columns: 200, rows: 50, env: { NO_COLOR: "1" } });
    await shell.until(/joined office[^]*running|running[^]*joined office/);
    const { content } = await office.agent.callTool("pc", "pid", {});
    const call = 'tc {"tool_name":"echo","params":{"text":"kept"}}';
    await assertSays(shell, [
      ["status", /files.*running/],
      ["help", /tc.*"timeout": 60\}/],
      ["nonsense", /^error/],
      [call, /kept/],
    ]);
    assert(!shell.styled);
    assertEquals(shell.screen().wrapped, []);
    await shell.hangUp();
    await gone(shell.pid);
    await gone(Number(content[0]?.text));
    assertEquals(
      await Deno.readTextFile(home.history),
      `status\nhelp\nnonsense\n${call}\n`,
    );
    assertEquals((await Deno.stat(home.history)).mode! & 0o777, 0o600);
  },
);

onTerminal(
  "shell that exits, and Ctrl-C while an MCP server does not stop, leave no process",
  async () => {
    await using folder = await scratch();
    const file = join(folder.path, "pid");
    const stubborn =
      'trap "" TERM; echo $$ > "$0"; cat > /dev/null; echo over > "$0.over"; exec sleep 1000';
    const command = { command: "sh", args: ["-c", stubborn, file] };
    await using home = await shellHome({
      a: { type: "stdio", server_parameters: command },
    });
    await using shell = await startShell(home.flags);
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

onTerminal(
  "shell: input typed for it answers no question, and is restored afterwards",
  async () => {
    await using office = await startOffice();
    const asking = fixture({ only: ["echo", "slow"] });
    await using home = await shellHome({ files: asking });
    await using shell = await startShell([
      ...["--url", office.url, "--name", "pc", "--office", OFFICE],
      ...home.flags,
    ]);
    await shell.until(/joined office[^]*running|running[^]*joined office/);
    const call = async (text: string) => {
      const { content } = await office.agent.callTool("pc", "echo", { text });
      return `${content[0]?.text}`;
    };
    const asked = (count: number) =>
      shell.until(({ all, cursor }) =>
        all.split("Run this tool?").length > count && !cursor.shown &&
        /└ y, h, a, m or n\S* .*\s*$/.test(all)
      );

    // Half a line when the question appears, the rest before keys are accepted. On a busy machine it
    // may arrive later and then counts; if keys were accepted at once, it would always count.
    let questions = 0;
    for (let late = 0;; late++) {
      await shell.type("inputs li");
      await shell.until(/^smcp> inputs li\s*$(?![^]*smcp>)/m);
      const answer = call("hi");
      questions++;
      await shell.until(({ all }) =>
        all.split("Run this tool?").length > questions
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
    const two = call("two"); // the other one was refused
    await shell.type("n");
    await asked(questions + 2);
    await shell.type("y");
    assertEquals(await two, "two");
    await shell.until(/no command "y"[^]*\nsmcp>\s*$/);
    await shell.type("exit\r");
    assertEquals(await assertRestored(shell), 0);
  },
);
