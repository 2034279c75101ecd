import {
  assert,
  assertEquals,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { BlobError, SmcpAgent, ToolLookupError } from "../../../agent/mod.ts";
import { ProtocolError } from "../../../protocol/mod.ts";
import { startComputer } from "../../support/computer/computer.ts";
import { everything, fixture } from "../../support/computer/mcp_servers.ts";
import { resourceServers } from "../../support/computer/resource_servers.ts";
import { startOffice } from "../../support/office.ts";
import { scratch } from "../../support/scratch.ts";

const TIME = { timeout: 120_000 };
const FEATURES = "demo://resource/static/document/features.md";

const offers = (...names: string[]) => (event: string) =>
  event === "client:get_tools"
    ? {
      tools: names.map((name) => ({
        name,
        description: "",
        params_schema: {},
        return_schema: null,
      })),
      req_id: "",
    }
    : { content: [] };

Deno.test("findTool() names the Computer of a tool, and says why there is none", async () => {
  await using office = await startOffice({
    computers: { pc: offers("echo", "both"), lab: offers("both") },
  });
  const { agent } = office;
  const { computer, tool } = await agent.findTool("echo");
  assertEquals([computer, tool.name], ["pc", "echo"]);
  const chosen = await agent.findTool("both", { computer: "lab" });
  assertEquals(chosen.computer, "lab");

  const rows = [
    ["both", "ambiguous", ["pc", "lab"], "(pc, lab); choose one"],
    ["nope", "not_found", [], 'in office "north" (pc, lab) offers it'],
  ] as const;
  for (const [name, code, computers, says] of rows) {
    const error = await assertRejects(
      () => agent.findTool(name),
      ToolLookupError,
    );
    assertEquals([error.code, error.computers], [code, computers]);
    assertStringIncludes(error.message, says);
  }
  const stop = AbortSignal.abort(new Error("enough"));
  await assertRejects(
    () => agent.findTool("echo", { signal: stop }),
    Error,
    "enough",
  );
  const outsider = new SmcpAgent({ url: office.url, name: "other" });
  await assertRejects(
    () => outsider.findTool("echo"),
    ToolLookupError,
    "is in no office",
  );
});

Deno.test(
  "getFile() fetches text and bytes of a Computer into files, from the MCP server that has them",
  TIME,
  async () => {
    await using pc = await startComputer({
      none: fixture({ resources: false }),
      ...resourceServers({
        name: "docs",
        contents: {
          "file:///two": [
            { uri: "file:///two/a", text: "a" },
            { uri: "file:///two/b", text: "b" },
          ],
          "file:///several": [
            { uri: "file:///part", text: "p" },
            { uri: "file:///several", text: "ü" },
          ],
          "file:///none": [],
          "file:///odd": [{ uri: "file:///odd" }],
          [FEATURES]: null,
          "demo://resource/dynamic/blob/1": null,
          "demo://nothing": null,
        },
      }),
      all: everything(),
    });
    await using folder = await scratch();
    const { agent } = pc.office;
    const at = (name: string) => join(folder.path, name);
    const text = await agent.getFile("pc", FEATURES, at("features.md"));
    assertEquals(text.path, at("features.md"));
    assertEquals([text.mcpServer, text.mimeType], ["all", "text/markdown"]);
    const written = await readFile(at("features.md"));
    assertEquals(written.length, text.size);
    assertStringIncludes(written.toString(), "Features");
    await agent.getFile("pc", "demo://resource/dynamic/blob/1", at("blob"), {
      mcpServer: "all",
      timeoutMs: 110_000,
    });
    assertStringIncludes(await readFile(at("blob"), "utf8"), "Resource 1");
    const part = await agent.getFile("pc", "file:///several", at("blob"));
    assertEquals(part.size, 2);
    assertEquals(await readFile(at("blob"), "utf8"), "ü", "it is replaced");

    const refused = [
      ["demo://nothing", ProtocolError, 'No MCP server of Computer "pc" has'],
      ["file:///two", BlobError, "is not one file but 2"],
      ["file:///none", BlobError, "has no contents"],
      ["file:///odd", BlobError, "neither text nor base64"],
      ["dpe://docs/a", TypeError, "open it with openDocument"],
    ] as const;
    for (const [uri, kind, says] of refused) {
      await assertRejects(
        () => agent.getFile("pc", uri, at("refused")),
        kind,
        says,
      );
    }
    const nobody = await assertRejects(
      () => agent.getFile("nobody", FEATURES, at("refused")),
      ProtocolError,
    );
    assertEquals(nobody.code, 404);
    await assertRejects(
      () => agent.getFile("pc", FEATURES, at("no/such/folder")),
      Error,
      "ENOENT",
    );
    const names = await readdir(folder.path);
    assertEquals(names.toSorted(), ["blob", "features.md"]);
    assert(!names.some((name) => name.endsWith(".part")));
  },
);
