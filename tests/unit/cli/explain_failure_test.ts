import { assertEquals, assertMatch } from "@std/assert";
import { explainFailure, joinRemedy } from "../../../cli/explain_failure.ts";
import { unreachable } from "../../../client/unreachable.ts";
import { ProtocolError, type Role } from "../../../protocol/mod.ts";
import { judgeSeat, ROOM_FULL } from "../../../server/office/office.ts";
import type { Seated } from "../../../server/office/peer.ts";
import { checkPolicy } from "../../../server/shared/identity.ts";

Deno.test("explainFailure() goes by the code and fields of an answer; a 408 names no flag", () => {
  const silent = 'Computer "pc" did not answer within 35 s';
  const rows: [code: number, message: string, fields: object, says: string][] =
    [
      [408, silent, {}, `${silent}; the Computer may be overloaded: try again`],
      [
        404,
        "Not here",
        { computer: "pc" },
        'Not here; the command "members" lists the Computers; name one with --computer',
      ],
      [
        404,
        "Nothing answers",
        {},
        "Nothing answers; correct --url, or the path with --path",
      ],
      [
        404,
        "No such server",
        { mcp_server: "a" },
        'No such server; the command "config" lists the MCP servers',
      ],
    ];
  for (const [code, message, fields, says] of rows) {
    const error = new ProtocolError(code, message, { fields: { ...fields } });
    assertEquals(explainFailure(error), says);
  }
});

Deno.test("explainFailure() goes by the system's code and class, not by the text, when no Server is reached", async () => {
  const error = (code: string) =>
    Object.assign(new Error("mentions ENOTFOUND and no A2C-SMCP server"), {
      code,
    });
  const denied = new Error("Requires net access");
  denied.name = "NotCapable";
  const rows: [url: string, statusText: Error, says: string][] = [
    [
      "http://a.example",
      error("ECONNREFUSED"),
      "connection refused; start a Server, or correct the address with --url",
    ],
    [
      "https://a.example",
      error("ERR_SSL_WRONG_VERSION_NUMBER"),
      "it does not speak TLS there; write http:// instead of https://",
    ],
    ["http://a.example", denied, "Requires net access"],
  ];
  for (const [url, statusText, says] of rows) {
    assertEquals(
      explainFailure(await unreachable({ url }, { context: { statusText } })),
      `Cannot connect to ${url}: ${says}`,
    );
  }
});

const seated = (role: Role, name: string): Seated & { role: Role } => ({
  role,
  name,
  office: "north",
  peer: Object({ id: name }),
});

/** What the Server answers to who wants the seat of another. */
const taken = (holder: Seated): string | undefined =>
  judgeSeat(Object({ id: "other" }), holder, holder, false)?.refused;

Deno.test("joinRemedy() knows the Server's refusals by their wording", () => {
  const agent = seated("agent", "planner");
  const computer = seated("computer", "pc");
  const rows: [reason: string | undefined, remedy: RegExp][] = [
    [taken(agent), /join another office with --office/],
    [taken(computer), /another name with --name/],
    [ROOM_FULL.refused, /remove another member/],
    [
      'Room already has an agent: "mcp" has it for MCP clients, until …',
      /^try again then, .*--office/,
    ],
    [
      'Room already has an agent: "planner" has it until it leaves',
      /^stop that agent, .*--office/,
    ],
    [
      checkPolicy({ roles: ["agent"] }, computer),
      /^smcp-computer joins as computer: give a key .*--api-key .* of a computer$/,
    ],
    [
      checkPolicy({ roles: ["computer"] }, agent),
      /^smcp-agent joins as agent: give a key .*--api-key .* of an agent$/,
    ],
    [checkPolicy({ offices: ["x"] }, computer), /allows with --office .*, or /],
    [checkPolicy({ names: ["x"] }, computer), /allows with --name .*, or /],
    ["Policy: you may not join here", /your key or token allows/],
  ];
  for (const [reason = "", remedy] of rows) {
    assertMatch(joinRemedy(reason) ?? "nothing", remedy, reason);
  }
  assertEquals(joinRemedy("The role of this connection is agent"), undefined);
});
