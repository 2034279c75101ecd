import { assertEquals, assertStringIncludes } from "@std/assert";
import { configFile } from "../../../support/computer/config_file.ts";
import { hostOf, textOf } from "../../../support/computer/host.ts";
import { fixture } from "../../../support/computer/mcp_servers.ts";
import { startOffice } from "../../../support/office.ts";
import { runComputer } from "../../../support/computer/run_computer.ts";

/** The environment is that of all tests at a time: no command of theirs may take another way. */
const NO_PROXY = [Deno.env.get("no_proxy"), "inside.example"]
  .filter((hosts) => hosts !== undefined && hosts !== "").join();

const VARIABLES = { PIP_CERT: "/etc/ssl/own.pem", no_proxy: NO_PROXY };

Deno.test({
  name:
    "a stdio server inherits the variables for authorities and proxies, unless inherit_env is false",
  timeout: 120_000,
}, async () => {
  const before = Object.keys(VARIABLES)
    .map((name) => [name, Deno.env.get(name)] as const);
  for (const [name, value] of Object.entries(VARIABLES)) {
    Deno.env.set(name, value);
  }
  try {
    const only = { only: ["environment"] };
    const { server_parameters } = fixture(only);
    await using host = hostOf({
      plain: fixture(only),
      own: fixture(only, {
        server_parameters: {
          ...server_parameters,
          env: { PIP_CERT: "/own.pem" },
        },
      }),
      alone: fixture(only, {
        server_parameters: { ...server_parameters, inherit_env: false },
      }),
    });
    await host.start();
    const seen = async (server: string) => {
      const all = JSON.parse(await textOf(host, server, "environment"));
      return [all.PIP_CERT, all.no_proxy];
    };
    assertEquals(await seen("plain"), ["/etc/ssl/own.pem", NO_PROXY]);
    assertEquals(await seen("own"), ["/own.pem", NO_PROXY]);
    assertEquals(await seen("alone"), [undefined, undefined]);
  } finally {
    for (const [name, value] of before) {
      if (value === undefined) Deno.env.delete(name);
      else Deno.env.set(name, value);
    }
  }
});

Deno.test({
  name:
    "the credentials of a proxy are in no output of a run and in no configuration that an Agent sees",
  timeout: 120_000,
}, async () => {
  const prints = "echo cannot reach $http_proxy and $HTTPS_PROXY >&2; exit 9";
  await using config = await configFile({
    servers: {
      loud: {
        type: "stdio",
        server_parameters: {
          command: "sh",
          args: ["-c", prints],
          env: { HTTPS_PROXY: "http://me:own-secret@127.0.0.1:1" },
          inherit_env: true,
        },
      },
    },
  });
  await using office = await startOffice();
  await using computer = runComputer(office, config.file, {
    env: { http_proxy: "http://me:inherited-secret@127.0.0.1:1" },
  });
  await Promise.all([
    computer.line(/^MCP server loud: failed/),
    computer.line(/^cannot reach http:\/\/<redacted>@127\.0\.0\.1:1 and /),
    computer.line(/^joined/),
  ]);
  const shown = JSON.stringify(await office.agent.getConfig("pc"));
  assertStringIncludes(shown, '"HTTPS_PROXY":"<redacted>"');
  assertStringIncludes(shown, '"inherit_env":true');
  computer.signal("SIGTERM");
  await computer.status;
  const said = [...computer.lines, shown].join("\n");
  assertEquals(/own-secret|inherited-secret/.exec(said), null);
});
