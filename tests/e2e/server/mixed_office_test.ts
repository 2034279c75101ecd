import {
  assert,
  assertEquals,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { BlobError, SmcpAgent } from "../../../agent/mod.ts";
import type { ClientProtocol } from "../../../client/options.ts";
import { CLIENT_PROTOCOLS } from "../../../client/versions.ts";
import { SmcpComputer } from "../../../computer/mod.ts";
import {
  mcpServerOf,
  PROFILES,
  PROTOCOL_VERSIONS,
  ProtocolError,
  PUT_BLOB_EVENT,
  resultMeta,
} from "../../../protocol/mod.ts";
import { createSmcpServer } from "../../../server/mod.ts";
import { fixture } from "../../support/computer/mcp_servers.ts";
import { OFFICE } from "../../support/office.ts";
import { scratch } from "../../support/scratch.ts";

const WINDOW = "window://host/a";
const SERVERS = {
  "my files": fixture({
    prompts: true,
    only: ["echo", "touch", "slow", "slow_began", "change_prompts"],
    resourceList: [{ uri: WINDOW, name: "a" }],
  }, { default_tool_meta: { auto_apply: true } }),
};

Deno.test({
  name:
    "an Agent of each version uses Computers of all versions in one office: tools, configuration, resources, prompts, desktop, uploads, notices (protocol §13)",
  timeout: 240_000,
}, async () => {
  await using stack = new AsyncDisposableStack();
  const folder = stack.use(await scratch());
  const server = stack.use(createSmcpServer({ protocol: "all" }));
  const { url } = await server.listen({ port: 0 });
  for (const protocol of CLIENT_PROTOCOLS) {
    const computer = stack.use(
      new SmcpComputer({
        url,
        protocol,
        name: `pc ${protocol}`,
        servers: SERVERS,
        landingRoot: folder.path,
      }),
    );
    await computer.connect();
    await computer.join(OFFICE);
    await computer.serversSettled();
  }
  for (const protocol of CLIENT_PROTOCOLS) {
    await using agent = new SmcpAgent({ url, protocol, name: "planner" });
    await agent.connect();
    await agent.join(OFFICE);
    assertEquals(
      (await agent.listRoom()).map(({ name, a2c_version }) => [
        name,
        a2c_version,
      ]),
      [
        ["planner", PROTOCOL_VERSIONS[protocol]],
        ...CLIENT_PROTOCOLS.map((each) => [
          `pc ${each}`,
          PROTOCOL_VERSIONS[each],
        ]),
      ],
    );
    for (const other of CLIENT_PROTOCOLS) await use(agent, other);
  }
});

/** Uses everything of the Computer of a version. */
async function use(agent: SmcpAgent, other: ClientProtocol): Promise<void> {
  const computer = `pc ${other}`;
  const { bundleIds } = PROFILES[agent.protocol];
  const what = `Agent of ${agent.protocol}, Computer of ${other}`;

  // An own name is enough for an Agent that gets the ids of tools.
  const whole = PROFILES[other].bundleIds ? "my_files__echo" : "echo";
  const typed = bundleIds ? "echo" : whole;
  const { tool } = await agent.findTool(typed, { computer });
  assertEquals(tool.name, whole, what);
  const progress: unknown[] = [];
  const result = await agent.callTool(computer, tool.name, { text: "hi" }, {
    onProgress: (told) => progress.push(told.message),
  });
  assertEquals([result.content[0]?.text, progress], ["hi", ["begins"]]);
  const named = async (name: string) =>
    (await agent.findTool(whole.replace("echo", name), { computer })).tool.name;
  const cancelled = agent.callTool(computer, await named("slow"), {}, {
    reqId: what,
  });
  await agent.callTool(computer, await named("slow_began"));
  agent.cancel(what);
  assertEquals(resultMeta(await cancelled).a2c_cancelled, true, what);

  // Each Agent names MCP servers as its own version does.
  const { servers } = await agent.getConfig(computer);
  const key = bundleIds ? "my_files" : "my files";
  assertEquals(
    Object.entries(servers).map(([id, { name }]) => [id, name]),
    [[key, "my files"]],
    what,
  );
  if (bundleIds) assertEquals(tool.bundle_id, "my_files", what);
  const owner = mcpServerOf(tool);
  assert(owner === key || !bundleIds && owner === "my_files", what);
  const { resources } = await agent.getResources(computer, key);
  assertEquals(resources.map(({ uri }) => uri), [WINDOW], what);
  const unknown = await assertRejects(
    () => agent.getResources(computer, "nobody"),
    ProtocolError,
  );
  assertEquals(unknown.fields.mcp_server, "nobody");
  // Lists of other resources may change as well.
  const changed = new Promise((resolve) => {
    const off = agent.on("updateResources", (change) => {
      if (change.computer !== computer || change.uri === undefined) return;
      off();
      resolve(change);
    });
  });
  await agent.watchResource(computer, key, WINDOW);
  await agent.callTool(computer, await named("touch"), { uri: WINDOW });
  assertEquals(await changed, { computer, mcp_server: key, uri: WINDOW }, what);
  await agent.callTool(computer, await named("change_prompts"));
  const [prompt] = await agent.getPrompts(computer);
  assertEquals(prompt?.mcp_server, key, what);
  await assertRejects(
    () => agent.getPrompt(computer, key, String(prompt?.name)),
    ProtocolError,
    "Method not found", // the request has reached the MCP server
  );

  assertEquals((await agent.getDesktop(computer)).length, 1, what);
  assertEquals(await agent.getSkills(computer), [], what);
  await upload(agent, computer, other);
}

/** Files are for members of 0.4 alone; the others get an error that says why. */
async function upload(
  agent: SmcpAgent,
  computer: string,
  other: ClientProtocol,
): Promise<void> {
  const put = () =>
    agent.putFile(computer, new Uint8Array([1, 2]), { name: "a.bin" });
  const lacks = (protocol: ClientProtocol) =>
    PROFILES[protocol].lacks.includes(PUT_BLOB_EVENT);
  if (lacks(agent.protocol) || lacks(other)) {
    const error = await assertRejects(put, BlobError);
    assertEquals(error.code, "unsupported");
    assertStringIncludes(
      error.message,
      lacks(agent.protocol)
        ? `speaks protocol ${agent.protocol}`
        : `${computer} speaks A2C-SMCP ${other}, which has no client:put_blob`,
    );
  } else assertEquals((await put()).size, 2);
}
