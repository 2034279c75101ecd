/**
 * The commands behind an HTTP proxy. The Server is called by a name that only the proxy resolves.
 *
 * @module
 */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import { mcpGateway } from "../../../mcp/mod.ts";
import {
  createSmcpServer,
  type SmcpServerOptions,
} from "../../../server/mod.ts";
import {
  type Certificate,
  newAuthority,
  newCertificate,
} from "../../support/certificates.ts";
import {
  type CommandName,
  runHere,
  runMain,
  startMain,
} from "../../support/command.ts";
import { configFile } from "../../support/computer/config_file.ts";
import { fixture } from "../../support/computer/mcp_servers.ts";
import { startHttpProxy } from "../../support/http_proxy.ts";
import { CLIENTS } from "../../support/mcp/clients.ts";
import { pipeCommand } from "../../support/mcp/gateway.ts";
import { OFFICE, startOffice } from "../../support/office.ts";
import { startProxy } from "../../support/proxy.ts";
import { scratch } from "../../support/scratch.ts";

const HOST = "smcp.example";
const TOKEN = "0123456789abcdef".repeat(4);
const timeout = 240_000;
const ca = await newAuthority("company");

async function serving(
  tls?: Certificate & { clientCa?: string },
  options: SmcpServerOptions = {},
) {
  const smcp = createSmcpServer({
    hosts: [HOST],
    operator: { token: TOKEN },
    ...options,
  });
  const { url, port } = await smcp.listen({ port: 0, ...(tls && { tls }) });
  return {
    here: url,
    named: `${tls ? "https" : "http"}://${HOST}:${port}`,
    [Symbol.asyncDispose]: () => smcp.close(),
  };
}

Deno.test({
  name:
    "every command goes through an https: proxy with a password to a Server of a private authority",
  timeout,
}, async () => {
  await using folder = await scratch();
  const authority = join(folder.path, "ca.pem");
  await Deno.writeTextFile(authority, ca.cert);
  await using server = await serving(
    await newCertificate("server", ca, { host: HOST }),
    { gateway: mcpGateway() },
  );
  await using proxy = await startHttpProxy(server.here, {
    tls: await newCertificate("proxy", ca),
    credentials: "ada:s3cret",
  });
  const way = { "--proxy": proxy.url, "--tls-ca": authority };
  const flags = [...Object.entries(way).flat(), "--url", server.named];
  const run = async (name: CommandName, ...args: string[]) => {
    const before = proxy.targets.length;
    const end = await runHere(name, [...args, ...flags]);
    assertEquals(end.code, 0, end.stderr);
    assert(proxy.targets.length > before);
    return end.stdout;
  };
  const token = ["--token", TOKEN];
  await using config = await configFile({
    servers: {
      fix: fixture({ only: ["echo"] }, {
        default_tool_meta: { auto_apply: true },
      }),
    },
  });
  await using computer = startMain("computer", [
    ...["run", "--config", config.file, "--office", OFFICE, "--name", "pc"],
    ...flags,
  ]);
  await computer.line(/^joined office north as pc$/);
  await computer.line(/^MCP server fix: running/); // earlier or later

  const office = ["--office", OFFICE];
  const args = [...office, "--computer", "pc", "--arg", "text=hello"];
  assertStringIncludes(await run("agent", "call", "echo", ...args), "hello");
  assertStringIncludes(await run("server", "offices", ...token), OFFICE);
  assertStringIncludes(await run("server", "members", OFFICE, ...token), "pc");
  await run("server", "calls", OFFICE, ...token);
  const revoked = await runHere("server", [
    ...["key", "revoke", "nobody", ...token, ...flags],
  ]);
  assertStringIncludes(revoked.stderr, "no key has it"); // says the Server

  const connect = CLIENTS["v2, 2026"]!;
  await using client = await connect(pipeCommand(server.named, ...flags));
  const { content } = await client.call("pc__echo", { text: "hello" });
  assertEquals(content, [{ type: "text", text: "hello" }]);
  await client.terminate();
  await client.close();

  await using watching = startMain("server", ["watch", ...token, ...flags]);
  await watching.line(/^watching all offices/);
  await run("server", "kick", OFFICE, "pc", ...token);
  await watching.line(/north left .*name=pc/);
  const { host } = new URL(server.named);
  assertEquals(new Set(proxy.targets), new Set([host]));
  assert(!computer.lines.join().includes("s3cret"), computer.lines.join("\n"));
});

Deno.test({
  name:
    "the commands take the proxy of the environment and --proxy, operators' too, and say whose it is",
  timeout,
}, async () => {
  await using server = await serving();
  await using proxy = await startHttpProxy(server.here);
  await using walled = await startHttpProxy(server.here, { refuse: 403 });
  const refused = `the proxy http://${new URL(walled.url).host}`;
  // Of the Server, not of a proxy "none".
  const direct = "unknown host name; correct the address with --url";
  type Row = [env: Record<string, string>, args: string[], says?: string];
  const rows: Row[] = [
    [{ HTTP_PROXY: proxy.url }, []],
    [{ HTTP_PROXY: walled.url }, ["--proxy", proxy.url]],
    [{ HTTP_PROXY: proxy.url }, ["--proxy", "none"], direct],
    [
      { all_proxy: walled.url },
      [],
      `${refused} of all_proxy does not allow a connection`,
    ],
    [
      {},
      ["--proxy", "socks5://x"],
      "Cannot use --proxy: socks5:// is not supported",
    ],
  ];
  const commands: [CommandName, string[]][] = [
    ["agent", ["members", "--office", OFFICE]],
    ["server", ["offices", "--token", TOKEN]],
  ];
  for (const [name, words] of commands) {
    for (const [env, args, says = ""] of rows) {
      const all = [...words, "--url", server.named, ...args];
      const { code, stderr } = await runMain(name, all, { env });
      assertStringIncludes(stderr, says);
      const expected = says === "" ? 0 : says.includes("socks5") ? 2 : 1;
      assertEquals(code, expected, stderr);
      assertEquals(stderr.split("\n").length, says === "" ? 1 : 2, stderr);
    }
  }
});

Deno.test({
  name:
    "smcp-computer run --wait also waits behind a proxy that cannot reach the Server yet",
  timeout,
}, async () => {
  await using office = await startOffice();
  await using early = await startHttpProxy(office.url, { refuse: 503 });
  await using ready = await startHttpProxy(office.url);
  await using way = await startProxy(early.url);
  await using config = await configFile({ servers: {} });
  await using computer = startMain("computer", [
    ...["run", "--wait", "--name", "pc", "--config", config.file],
    ...["--url", office.url, "--proxy", way.url, "--office", OFFICE],
  ]);
  await computer.line(/^waiting for the Server: .* cannot reach .*HTTP 503/);
  way.turnTo(ready.url);
  await computer.line(/^joined office north as pc$/);
});
