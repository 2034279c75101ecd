import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { fileURLToPath } from "node:url";
import { start } from "../../../support/child.ts";
import { serviceHome } from "../../../support/service/home.ts";

const UNIT = ".config/systemd/user/smcp-server.service";
const ENV_FILE = ".config/a2c-smcp/smcp-server.env";
const KEYS = '[{"key": "a-key-that-nobody-can-guess-at-all", "id": "me"}]';
const INSTALL = ["service", "install"];

Deno.test("the Server's service has few permissions, and keys in its file alone", async () => {
  await using home = await serviceHome();
  const end = await home.run("server", [...INSTALL, "--ping-interval", "30"], {
    SMCP_API_KEYS: KEYS,
    SMCP_JWT_SECRET: "s".repeat(40),
    SMCP_MCP: "1",
    SMCP_METRICS: "0",
  });
  assertEquals([end.code, end.stderr], [0, ""]);
  const unit = await home.read(UNIT);
  assertMatch(
    unit,
    /^ExecStart=".*" "run" "--allow-net" "--allow-env" "--allow-read" ".*\/server\/main\.ts" "--ping-interval=30" "--mcp"$/m,
  );
  assertEquals(/nobody-can-guess|sssss/.test(unit + end.stdout), false);
  const variables = await home.read(ENV_FILE);
  assertStringIncludes(variables, `\nSMCP_API_KEYS=${KEYS}\n`);
  assertStringIncludes(variables, `\nSMCP_JWT_SECRET=${"s".repeat(40)}\n`);
});

Deno.test("the Server's service keeps its keys, until they are given as a file", async () => {
  await using home = await serviceHome();
  await home.run("server", INSTALL, { SMCP_API_KEYS: KEYS });
  // It would be refused without the keys that it has.
  const open = await home.run("server", [...INSTALL, "--host", "0.0.0.0"]);
  assertEquals([open.code, open.stderr], [0, ""]);
  assertStringIncludes(open.stdout, "SMCP_API_KEYS kept");

  await home.write("folder of tools/keys.json", KEYS);
  const file = await home.run("server", [...INSTALL, "--api-keys=keys.json"]);
  assertEquals([file.code, file.stderr], [0, ""]);
  assertStringIncludes(file.stdout, "SMCP_API_KEYS removed");
  assertMatch(await home.read(UNIT), /"--api-keys=keys\.json"$/m);
  assertEquals((await home.read(ENV_FILE)).includes("guess"), false);
});

Deno.test("a password in an address is a credential", async () => {
  await using home = await serviceHome();
  const url = "redis://me:hidden-word@127.0.0.1:6379";
  const end = await home.run("server", [...INSTALL, "--cluster", url]);
  assertEquals([end.code, end.stderr], [0, ""]);
  assertEquals((await home.read(UNIT)).includes("hidden-word"), false);
  assertStringIncludes(await home.read(ENV_FILE), `\nSMCP_CLUSTER=${url}\n`);
});

/** Command lines that no service may have. */
const REFUSED = [
  [["--host", "0.0.0.0"], /cannot listen on .*; use --api-keys/],
  [["--tls-cert", "a.pem"], /--tls-cert and --tls-key belong together/],
  [["--api-keys", "none.json"], /file of --api-keys: there is no such file/],
] as const;

for (const [args, says] of REFUSED) {
  Deno.test(`the Server's service is refused with ${args.join(" ")}`, async () => {
    await using home = await serviceHome();
    const end = await home.run("server", [...INSTALL, ...args]);
    assertMatch(end.stderr, says);
    assertEquals(end.code, 2);
    assertEquals(await home.files(), []);
  });
}

Deno.test("an option before service is refused, since it would get lost", async () => {
  await using home = await serviceHome();
  const end = await home.run("server", ["--ping-interval", "30", ...INSTALL]);
  assertEquals(
    end.stderr,
    'error: --ping-interval stands before "service", where it does nothing; write it after "install"\n',
  );
  assertEquals(end.code, 2);
});

Deno.test("without Deno's permissions, service install says how to get on", async () => {
  const main = new URL("../../../../server/main.ts", import.meta.url);
  await using install = start(Deno.execPath(), [
    ...["run", "--quiet", "--frozen", "--no-prompt"],
    ...["--allow-net", "--allow-env", "--allow-read"],
    ...[fileURLToPath(main), "service", "install"],
  ]);
  assertEquals((await install.status).code, 1);
  assertMatch(
    install.lines.join("\n"),
    /^error: Deno does not let this command do that \(Requires sys access to "uid"\); start it with "deno run -A", .*"--print" shows$/,
  );
});
