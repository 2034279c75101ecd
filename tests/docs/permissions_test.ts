/**
 * The permissions that `docs/security.md` gives to each role, as command and in code: all of them
 * are enough, with nothing unexpected on stderr, and without any one of them there is one line that
 * names it.
 *
 * @module
 */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { type Child, start } from "../support/child.ts";
import { withVersions } from "../support/computer/reference_servers.ts";
import { exampleCode } from "./support/blocks.ts";
import { type Home, homeWithConfiguration, makeHome } from "./support/home.ts";

const linesOf = async (name: string) =>
  (await exampleCode(name)).trim().split("\n");
const lines = await linesOf("permissions");

/** Each way to leave out one permission, or one of several values of it; and which it is. */
function lesser(line: string): [missing: string, line: string][] {
  return line.split(" ").filter((word) => word.startsWith("--allow-"))
    .flatMap((flag): [string, string][] => {
      const [name = "", values] = flag.split("=");
      const missing = name.replace("--allow-", "");
      const parts = values?.split(",") ?? [];
      const ways = parts.length < 2
        ? [""]
        : parts.map((part) =>
          `${name}=${parts.filter((other) => other !== part)}`
        );
      return ways.map((way) => [missing, line.replace(flag, way)]);
    });
}

/** Starts a line of the page. */
const startLine = (home: Home, line: string, address: string): Child =>
  start("bash", [
    "-c",
    `exec ${line.replaceAll("127.0.0.1:8787", address)}`,
  ], {
    cwd: home.folder,
    env: {
      ...home.env,
      DENO_NO_PROMPT: "1",
      SMCP_PORT: "0",
      SMCP_URL: `http://${address}`,
    },
  });

/** The lines of stderr but for those that are meant: what the Server prints and audits, and Deno about makeHome(). */
const unexpected = ({ errors }: Child): string[] =>
  errors.filter((line) =>
    !/^A2C-SMCP \S+ server listening on |^(Operators|Console): http|^\{"time":"[^"]*","level":"info",|"links" field|^ +at file:\S+deno\.json$/
      .test(line)
  );

Deno.test({
  name: "the permissions of the page are enough for each role, and needed",
  timeout: 600_000,
  fn: async (t) => {
    await using home = await homeWithConfiguration();
    let address = "127.0.0.1:8787"; // of the page
    const run = (line: string) => startLine(home, line, address);
    const [server = "", computer = "", agent = "", ...rest] = lines;
    assertEquals(rest, []);

    await using serving = run(server);
    const [, url = ""] = await serving.line(/http:\/\/(127\.0\.0\.1:\d+) /);
    address = url;
    await using hosting = run(computer);
    await hosting.line(/files: running/);
    await hosting.line(/joined office demo/);
    await using asking = run(agent);
    assertEquals((await asking.status).code, 0, asking.lines.join("\n"));
    await asking.line(/ computer /);
    assertEquals((await hosting.stop()).code, 0, hosting.lines.join("\n"));
    assertEquals([serving, hosting, asking].flatMap(unexpected), []);

    for (const [missing, line] of lines.flatMap(lesser)) {
      await t.step(line, async () => {
        await using child = run(line);
        await child.line(
          RegExp(`Requires ${missing} access.*--allow-${missing} flag$`),
        );
        await child.stop();
        const text = child.lines.join("\n");
        assertEquals(/^ +at (?!file:\S+deno\.json$)/m.test(text), false, text);
      });
    }

    // A Computer that may not read its skills has none.
    await using child = run(computer.replace(" --no-skills", ""));
    await child.line(/files: running/);
    await child.line(/joined office demo/);
    assertEquals((await child.stop()).code, 0);
    const [line = "", ...others] = unexpected(child);
    assertMatch(
      line,
      /\[WRN\].*No skills are offered: Requires read access to ".*\.a2c\/skills\/user", run again with the --allow-read flag \(--no-skills leaves them out\)/,
    );
    assertEquals(others, []);
  },
});

Deno.test({
  name: "the permissions of the page are enough for programs, and needed",
  timeout: 600_000,
  fn: async (t) => {
    await using home = await homeWithConfiguration();
    const programs = await linesOf("permissions-in-code");
    const [server = "", computer = "", agent = ""] = programs;
    let address = "127.0.0.1:0";
    const run = async (line: string) => {
      const [, role = ""] = /(\w+)\.ts$/.exec(line) ?? [];
      const code = withVersions(await exampleCode(role));
      await Deno.writeTextFile(
        `${home.folder}/${role}.ts`,
        code.replaceAll("127.0.0.1:8787", address)
          .replace("port: 8787", "port: 0"),
      );
      return startLine(home, line, address);
    };
    await using serving = await run(server);
    const [, url = ""] = await serving.line(/^Serving http:\/\/(\S+)$/);
    address = url;
    await using hosting = await run(computer);
    await hosting.line(/^memory running$/);
    await hosting.line(/^Serving as laptop$/);
    await using asking = await run(agent);
    assertEquals((await asking.status).code, 0, asking.lines.join("\n"));
    assertMatch(asking.lines.join("\n"), /laptop [^]*read_graph[^]*^done /m);
    await hosting.stop();
    assertEquals([serving, hosting, asking].flatMap(unexpected), []);

    for (const [missing, line] of programs.flatMap(lesser)) {
      await t.step(line, async () => {
        await using child = await run(line);
        await child.line(RegExp(`Requires ${missing} access|^memory failed$`));
        await child.stop();
      });
    }
  },
});

Deno.test({
  name: "the types alone are imported without any permission",
  timeout: 60_000,
  fn: async () => {
    await using home = await makeHome();
    const file = `${home.folder}/types.ts`;
    await Deno.writeTextFile(
      file,
      'import { parseToolCallReq } from "@a2c-smcp/sdk/protocol";\nconsole.log(typeof parseToolCallReq);\n',
    );
    await using child = startLine(home, `deno run ${file}`, "");
    assertEquals((await child.status).code, 0, child.lines.join("\n"));
    assert(child.lines.includes("function"));
    assertEquals(unexpected(child), []);
  },
});
