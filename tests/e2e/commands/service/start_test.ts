import { assertEquals, assertMatch } from "@std/assert";
import { join } from "node:path";
import {
  apiKeys,
  createSmcpServer,
  parseApiKeys,
} from "../../../../server/mod.ts";
import { start } from "../../../support/child.ts";
import { serviceHome } from "../../../support/service/home.ts";
import { readPlist, WITHOUT_PLISTLIB } from "../../../support/service/plist.ts";
import {
  expanded,
  readUnit,
  WITHOUT_SYSTEMD,
} from "../../../support/service/systemd.ts";

const KEYS = '[{"key": "a-key-that-nobody-can-guess-at-all", "id": "me"}]';
const [{ key: KEY }] = JSON.parse(KEYS);
const ENV_FILE = ".config/a2c-smcp/smcp-computer.env";

/** What a manager of services starts: program, directory, and assignments of variables. */
interface Started {
  readonly command: readonly string[];
  readonly directory: string;
  readonly environment: readonly string[];
}

/** Starts a service as its manager would: with nothing but its definition. */
const startService = (
  { command, directory, environment }: Started,
  home: string,
) =>
  start("env", ["-i", `HOME=${home}`, ...environment, ...command], {
    cwd: directory,
  });

async function fromUnit(text: string): Promise<Started> {
  const { command, directory, environment } = await readUnit(text);
  return { command: command.map(expanded), directory, environment };
}

async function fromPlist(text: string): Promise<Started> {
  const plist = await readPlist(text);
  const variables = Object.entries(plist.EnvironmentVariables ?? {});
  return {
    command: plist.ProgramArguments as string[],
    directory: String(plist.WorkingDirectory),
    environment: variables.map(([name, value]) => `${name}=${value}`),
  };
}

for (
  const { reader, platform, file, read, without } of [
    {
      reader: "systemd reads in the unit",
      platform: "linux",
      file: ".config/systemd/user/smcp-computer.service",
      read: fromUnit,
      without: WITHOUT_SYSTEMD,
    },
    {
      reader: "a parser reads in the plist",
      platform: "darwin",
      file: "Library/LaunchAgents/smcp-computer.plist",
      read: fromPlist,
      without: WITHOUT_PLISTLIB,
    },
  ] as const
) {
  Deno.test({
    name:
      `what ${reader} joins with the key of the file, and refuses one that others can read${without}`,
    ignore: without !== "",
    async fn() {
      await using home = await serviceHome({ platform });
      await using server = createSmcpServer({
        authenticator: apiKeys(parseApiKeys(KEYS)),
      });
      const { url } = await server.listen({ port: 0 });
      const { stderr } = await home.run("computer", [
        ...["service", "install", "--config", "c.json", "--office", "demo"],
        ...["--url", url, "--name", '50% of $HOME "pc" 世界'],
        ...["--api-key", KEY],
      ]);
      assertEquals(stderr, "");
      const started = await read(await home.read(file));
      {
        await using computer = startService(started, home.path);
        await computer.line(/demo/);
        const { code } = await computer.stop();
        assertEquals(code, 0, computer.lines.join("\n"));
      }
      await Deno.chmod(join(home.path, ENV_FILE), 0o640);
      await using refused = startService(started, home.path);
      assertEquals((await refused.status).code, 2);
      assertMatch(
        refused.lines.join("\n"),
        /^error: others can use .*: chmod 600 /,
      );
    },
  });
}

Deno.test({
  name:
    `what systemd reads in the unit of a Server serves with its few permissions${WITHOUT_SYSTEMD}`,
  ignore: WITHOUT_SYSTEMD !== "",
  async fn() {
    await using home = await serviceHome();
    const installed = await home.run(
      "server",
      ["service", "install", "--port", "0", "--log-file", "server.log"],
      { SMCP_API_KEYS: KEYS },
    );
    assertEquals(installed.stderr, "");
    const started = await fromUnit(
      await home.read(".config/systemd/user/smcp-server.service"),
    );
    assertEquals(started.command.includes("-A"), false);
    await using server = startService(started, home.path);
    const [, url = ""] = await server.line(/(http:\/\/127\.0\.0\.1:\d+)/);
    const agent = (key: string) =>
      home.run("agent", ["members", "--office", "o", "--url", url], {
        SMCP_API_KEY: key,
      });
    assertMatch((await agent("wrong")).stderr, /Authentication failed/);
    assertEquals((await agent(KEY)).stderr, "");
    assertEquals((await server.stop()).code, 0);
    assertMatch(await home.read("folder of tools/server.log"), /draining/);
  },
});
