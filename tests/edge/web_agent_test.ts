/**
 * The Agent as bundles for browsers and Workers have it, with the modules that the npm package replaces
 * there; run here, since nothing in it is of a platform.
 *
 * @module
 */
import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { SmcpAgent } from "../../agent/mod.ts";
import { bundle, installForBundles } from "../../tools/npm/bundle.ts";
import { OFFICE, startOffice } from "../support/office.ts";

/** What the bundle exports. */
interface Program {
  readonly SmcpAgent: typeof SmcpAgent;
  /** What LogTape got, of the Agent too, which does not import it there. */
  readonly records: { readonly properties: Record<string, unknown> }[];
}

const SOURCE = `
import { configureSync } from "@logtape/logtape";
export { SmcpAgent } from "@a2c-smcp/sdk/agent";
export const records: unknown[] = [];
configureSync({
  sinks: { memory: (record) => void records.push(record) },
  loggers: [
    { category: ["a2c-smcp", "agent"], sinks: ["memory"] },
    { category: ["logtape", "meta"], sinks: [] },
  ],
});
`;

const folder = await Deno.makeTempDir({ prefix: "smcp-web-" });
let program: Program;

Deno.test.beforeAll(async () => {
  await installForBundles(folder);
  const { code } = await bundle(folder, SOURCE, "browser");
  const file = join(folder, "program.js");
  await Deno.writeTextFile(file, code);
  program = await import(pathToFileURL(file).href);
});
Deno.test.afterAll(() => Deno.remove(folder, { recursive: true }));

const text = (text: string) =>
  Promise.resolve({ content: [{ type: "text" as const, text }] });

Deno.test("an Agent of a bundle for the web calls tools, and logs to LogTape", async () => {
  await using office = await startOffice({
    computers: { pc: () => text("hello") },
  });
  await office.agent.leave();
  await using agent = new program.SmcpAgent({
    url: office.url,
    name: "web",
    // engine.io-client does not read the answers to what it sends by polling.
    protocol: "0.2",
    transports: ["websocket"],
  });
  agent.on("connected", () => {
    throw new Error("of a listener");
  });
  await agent.connect();
  await agent.join(OFFICE);
  const { content } = await agent.callTool("pc", "greet");
  assertEquals(content, [{ type: "text", text: "hello" }]);
  const errors = program.records.map(({ properties }) => properties.error);
  assertEquals(errors.map(String), ["Error: of a listener"]);
});

Deno.test("an Agent of a bundle for the web refuses what its platform has of its own", async () => {
  const options = { url: "https://127.0.0.1:1", name: "web" };
  assertThrows(
    () => new program.SmcpAgent({ ...options, proxy: "http://127.0.0.1:2" }),
    TypeError,
    "Cannot use the option proxy in a browser",
  );
  assertThrows(
    () => new program.SmcpAgent({ ...options, tls: { ca: "" } }),
    TypeError,
    "Cannot use tls.ca in a browser",
  );
  await using agent = new program.SmcpAgent(options);
  await assertRejects(
    () => agent.getFile("pc", "file:///a", "/a"),
    TypeError,
    "Cannot write to a path here",
  );
});
