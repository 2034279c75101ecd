import { assertEquals, assertMatch } from "@std/assert";
import { join } from "node:path";
import {
  apiKeys,
  createSmcpServer,
  parseApiKeys,
} from "../../../../server/mod.ts";
import { start } from "../../../support/child.ts";
import { serviceHome } from "../../../support/service/home.ts";
import {
  expanded,
  type ReadUnit,
  readUnit,
  WITHOUT_SYSTEMD,
} from "../../../support/service/systemd.ts";
import { readPlist, WITHOUT_PLISTLIB } from "../../../support/service/plist.ts";

const KEY = "a-key-that-nobody-can-guess-at-all";
const ENV_FILE = ".config/a2c-smcp/smcp-computer.env";

/** What a manager of services starts. */
interface Started {
  readonly command: readonly string[];
  readonly directory: string;
  readonly environment: Readonly<Record<string, string>>;
}

/** Starts a service as its manager would: with nothing but what its definition says. */
function startService(
  { command, directory, environment }: Started,
  home: string,
) {
  const assignments = Object.entries({ HOME: home, ...environment })
    .map(([name, value]) => `${name}=${value}`);
  return start("env", ["-i", ...assignments, ...command], { cwd: directory });
}

async function keyedServer() {
  const server = createSmcpServer({
    authenticator: apiKeys(parseApiKeys(`[{"key": "${KEY}", "id": "me"}]`)),
  });
  const { url } = await server.listen({ port: 0 });
  return { server, url };
}

const install = (url: string) => [
  ...["service", "install", "--config", "c.json", "--office", "demo"],
  ...["--url", url, "--name", '50% of $HOME "pc" 世界', "--api-key", KEY],
];

const fromUnit = ({ command, directory, environment }: ReadUnit): Started => ({
  command: command.map(expanded),
  directory,
  environment: Object.fromEntries(environment.map((text) => {
    const sign = text.indexOf("=");
    return [text.slice(0, sign), text.slice(sign + 1)];
  })),
});

/** Proves that a service joins with its key, and does not start once others can read it. */
async function proveStart(started: Started, home: string): Promise<void> {
  {
    await using computer = startService(started, home);
    await computer.line(/demo/);
    const { code } = await computer.stop();
    assertEquals(code, 0, computer.lines.join("\n"));
  }
  await Deno.chmod(join(home, ENV_FILE), 0o640);
  await using refused = startService(started, home);
  assertEquals((await refused.status).code, 2);
  assertMatch(
    refused.lines.join("\n"),
    /^error: others can use .*: chmod 600 /,
  );
}

Deno.test({
  name:
    `what systemd reads in the unit joins with the key of the file, and refuses one that others can read${WITHOUT_SYSTEMD}`,
  ignore: WITHOUT_SYSTEMD !== "",
  async fn() {
    await using home = await serviceHome();
    const { server, url } = await keyedServer();
    await using _server = server;
    assertEquals((await home.run("computer", install(url))).stderr, "");
    const unit = await readUnit(
      await home.read(".config/systemd/user/smcp-computer.service"),
    );
    await proveStart(fromUnit(unit), home.path);
  },
});

Deno.test({
  name:
    `what systemd reads in the unit of a Server serves with its few permissions${WITHOUT_SYSTEMD}`,
  ignore: WITHOUT_SYSTEMD !== "",
  async fn() {
    await using home = await serviceHome();
    const installed = await home.run(
      "server",
      ["service", "install", "--port", "0", "--log-file", "server.log"],
      { SMCP_API_KEYS: `[{"key": "${KEY}", "id": "me"}]` },
    );
    assertEquals(installed.stderr, "");
    const unit = await readUnit(
      await home.read(".config/systemd/user/smcp-server.service"),
    );
    assertEquals(unit.command.includes("-A"), false);
    await using server = startService(fromUnit(unit), home.path);
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

Deno.test({
  name:
    `what a parser reads in the plist joins with the key of the file, and refuses one that others can read${WITHOUT_PLISTLIB}`,
  ignore: WITHOUT_PLISTLIB !== "",
  async fn() {
    await using home = await serviceHome({ platform: "darwin" });
    const { server, url } = await keyedServer();
    await using _server = server;
    assertEquals((await home.run("computer", install(url))).stderr, "");
    const plist = await readPlist(
      await home.read("Library/LaunchAgents/smcp-computer.plist"),
    );
    await proveStart({
      command: plist.ProgramArguments as string[],
      directory: String(plist.WorkingDirectory),
      environment: plist.EnvironmentVariables as Record<string, string>,
    }, home.path);
  },
});
