import { assertEquals, assertMatch } from "@std/assert";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { BINS, CLI_NAME } from "../../tools/npm/commands_package.ts";
import {
  installPackages,
  npmPackages,
  type Tarballs,
} from "../../tools/npm/npm_package.ts";
import { newAuthority, newCertificate } from "../support/certificates.ts";
import { start } from "../support/child.ts";
import { openPage, pageLink } from "../support/computer/page_client.ts";
import { CLIENTS } from "../support/mcp/clients.ts";
import { unknownNpxWords } from "../support/npx_words.ts";

const suite = fileURLToPath(new URL("./suite/", import.meta.url));

/** The programs of the suite, for the test runner of the runtime. */
export const SUITE: readonly string[] = [
  "core.mjs",
  "content.mjs",
  "sign_in.mjs",
  "proxy.mjs",
];

/**
 * Installs the npm tarballs as a user does, in an empty folder with the programs of the suite.
 *
 * @param packages further packages
 */
export async function installSuite(
  ...packages: readonly string[]
): Promise<{ folder: string; tarballs: Tarballs }> {
  const folder = await Deno.makeTempDir({ prefix: "smcp-node-" });
  const tarballs = await npmPackages(folder);
  await installPackages(folder, tarballs.sdk, tarballs.cli, ...packages);
  for await (const { name } of Deno.readDir(suite)) {
    await Deno.copyFile(join(suite, name), join(folder, name));
  }
  await Deno.copyFile(
    fileURLToPath(new URL("../support/http_proxy.ts", import.meta.url)),
    join(folder, "http_proxy.ts"),
  );
  const ca = await newAuthority("root");
  const clients = await newAuthority("c");
  const certificates = {
    ca: ca.cert,
    clientCa: clients.cert,
    server: await newCertificate("server", ca),
    named: await newCertificate("server", ca, { host: "smcp.example" }),
    client: await newCertificate("laptop", clients),
    expired: await newCertificate("laptop", clients, { expired: true }),
  };
  await Deno.writeTextFile(
    join(folder, "certificates.json"),
    JSON.stringify(certificates),
  );
  return { folder, tarballs };
}

/** A runtime that runs the commands of the tarball. */
export interface CommandRuntime {
  /** The folder of {@linkcode installSuite}. */
  readonly folder: string;
  /** Its program, for an MCP server. */
  readonly program: string;
  /** Returns the program and the first arguments that start a command. */
  words(name: string): [program: string, ...args: string[]];
  /** The environment of the commands. */
  readonly env: { readonly PATH: string };
  /** What the commands say of themselves. */
  readonly version: RegExp;
  /** What runs a command that is not installed. */
  readonly runner: string;
}

/** Runs the three commands, from a Server to a tool call. */
export async function runCommands(
  { folder, program, words, env, version, runner }: CommandRuntime,
): Promise<void> {
  const command = (name: string, ...args: string[]) => {
    const [program, ...before] = words(name);
    return start(program, [...before, ...args], { cwd: folder, env });
  };

  for (const name of Object.keys(BINS)) {
    await using asked = command(name, "--version");
    assertEquals((await asked.status).code, 0, asked.lines.join("\n"));
    assertMatch(asked.lines.join(), version);
    await using help = command(name, "--help");
    assertEquals((await help.status).code, 0);
    const text = help.lines.join("\n");
    const hint = `^Here ${name} is: ${runner} -p ${CLI_NAME} `;
    assertMatch(text, RegExp(hint, "m"));
    assertEquals(unknownNpxWords(text), []);
  }

  const server_parameters = { command: program, args: ["mcp_server.mjs"], env };
  const fixture = { type: "stdio", server_parameters };
  const config = JSON.stringify({ servers: { fixture } });
  await Deno.writeTextFile(join(folder, "mcp.json"), config);
  await using server = command("smcp-server", "--port", "0", "--mcp");
  const [, url = ""] = await server.line(/(http:\/\/127\.0\.0\.1:\d+)/);
  const office = ["--url", url, "--office", "node"];
  await using computer = command(
    ...["smcp-computer", "run", ...office, "--name=pc"] as const,
    ...["--config=mcp.json", "--yes", "--ui"],
  );
  const [state] = await computer.line(/fixture: (running|failed).*/);
  assertMatch(state, /running/);
  await computer.line(/joined/i);
  await using page = await openPage(await pageLink(computer));
  await page.until(({ computer: { office } }) => office === "node");
  const params = `--params={"a": 2, "b": 3}`;
  await using call = command("smcp-agent", "call", "add", ...office, params);
  assertEquals((await call.status).code, 0, call.lines.join("\n"));
  assertMatch(call.lines.join("\n"), /^5$/m);
  await using plain = command("smcp-server", "--port", "0");
  const [, away = ""] = await plain.line(/(http:\/\/127\.0\.0\.1:\d+)/);
  const [agent, ...before] = words("smcp-agent");
  for (const connect of Object.values(CLIENTS)) {
    const pipe = (...office: string[]) => ({
      command: agent,
      args: [...before, "mcp", ...office],
      cwd: folder,
      env,
    });
    await using client = await connect(pipe(...office));
    const { content } = await client.call("pc__add", { a: 2, b: 3 });
    assertEquals(content, [{ type: "text", text: "5" }]);
    await using own = await connect(pipe("--url", away, "--office", "node"));
    assertMatch(own.instructions ?? "", /No Computer is there/);
  }
  const { calls } = await page.until(({ calls }) => calls.length === 3);
  assertEquals(calls[0]?.outcome, "ok");
  assertEquals((await page.ask("/calls/1")).body.params, { a: 2, b: 3 });
  assertEquals((await page.ask("/questions/1", {})).status, 404);
  assertEquals((await plain.stop()).code, 0, plain.lines.join("\n"));
  assertEquals((await computer.stop()).code, 0, computer.lines.join("\n"));
  assertEquals((await server.stop()).code, 0, server.lines.join("\n"));
}
