// Uses the feature that is named in the arguments, each of which needs further packages.
import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";

const features = {
  async server() {
    const { createSmcpServer } = await import("@a2c-smcp/sdk/server");
    const server = createSmcpServer();
    const { url } = await server.listen({ port: 0 });
    assert.equal((await fetch(`${url}/health`)).status, 200);
    await server.close();
  },
  async front_door() {
    const { createSmcpServer } = await import("@a2c-smcp/sdk");
    await createSmcpServer().close();
  },
  /** The Server's command, until it is stopped; its own dependencies are installed. */
  async tracing() {
    process.argv.splice(2, 1, "--port=0", "--tracing");
    await import("@a2c-smcp/sdk/server/main");
  },
  async jwt() {
    const { jwt } = await import("@a2c-smcp/sdk/server");
    const { authenticate } = jwt({ key: { secret: "s".repeat(32) } });
    const headers = { authorization: "Bearer a.b.c" };
    const request = { headers, auth: {}, address: "127.0.0.1" };
    assert.ok("refused" in await authenticate(request));
  },
  async vrl() {
    const { ToolHost } = await import("@a2c-smcp/sdk/computer");
    const host = new ToolHost({ servers: {} });
    const server = {
      type: "stdio",
      disabled: true,
      vrl: ".text = 1",
      server_parameters: { command: "never" },
    };
    await host.addServer("fixture", server).finally(() => host.close());
  },
  async skills() {
    const { ToolHost } = await import("@a2c-smcp/sdk/computer");
    const home = await mkdtemp(join(tmpdir(), "smcp-skills-"));
    const skill = join(home, "user", "forms");
    await mkdir(skill, { recursive: true });
    const text = "---\nname: forms\ndescription: Forms.\n---\n";
    await writeFile(join(skill, "SKILL.md"), text);
    const host = new ToolHost({ servers: {}, skillHome: home });
    const [found] = await host.getSkills();
    const [problem] = host.status().problems;
    await host.close();
    await rm(home, { recursive: true });
    assert.equal(found?.name, "forms", problem);
  },
  async mcp() {
    const { SmcpComputer } = await import("@a2c-smcp/sdk/computer");
    const command = process.execPath;
    const computer = new SmcpComputer({
      url: "http://127.0.0.1:1", // is never connected to
      name: "pc",
      servers: {
        fixture: {
          type: "stdio",
          server_parameters: { command, args: ["mcp_server.mjs"] },
        },
      },
    });
    computer.start();
    await computer.serversSettled();
    const [{ state, error }] = computer.status().servers;
    await computer.close();
    assert.equal(state, "running", error);
  },
};

const [, , name] = process.argv;
await features[name]();
if (name !== "tracing") console.log("works");
