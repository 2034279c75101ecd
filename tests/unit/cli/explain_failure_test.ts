import { assertEquals, assertMatch } from "@std/assert";
import { explainFailure, joinRemedy } from "../../../cli/explain_failure.ts";
import { unreachable } from "../../../client/failures.ts";
import { ErrorCode, ProtocolError, type Role } from "../../../protocol/mod.ts";
import { judgeSeat, ROOM_FULL } from "../../../server/office/office.ts";
import type { Seated } from "../../../server/office/peer.ts";
import { checkPolicy } from "../../../server/shared/identity.ts";

Deno.test("explainFailure() names no flag for a 408: the commands that may get one have none", () => {
  const silent = 'Computer "pc" did not answer within 35 s';
  assertEquals(
    explainFailure(new ProtocolError(ErrorCode.TIMEOUT, silent)),
    `${silent}; the Computer may be overloaded: try again`,
  );
});

Deno.test("explainFailure() tells a path that is not there from a Computer, by the fields of the 404", () => {
  const explained = (message: string, fields: Record<string, unknown> = {}) =>
    explainFailure(
      new ProtocolError(ErrorCode.NOT_FOUND, message, { fields }),
    );
  assertEquals(
    explained("Not here", { computer: "pc" }),
    'Not here; the command "members" lists who is there; name one of them with --computer',
  );
  assertEquals(
    explained("Nothing answers"),
    "Nothing answers; correct --url, or the path with --path",
  );
  assertEquals(
    explained("No such server", { mcp_server: "a" }),
    'No such server; the command "config" lists the MCP servers',
  );
});

Deno.test("explainFailure() goes by the system's code and class, not by the text, when nobody is reached", async () => {
  const failed = async (statusText: object, url = "http://a.example") =>
    explainFailure(await unreachable({ url }, { context: { statusText } }));
  const error = (code: string) =>
    Object.assign(new Error("mentions ENOTFOUND and no A2C-SMCP server"), {
      code,
    });
  assertEquals(
    await failed(error("ECONNREFUSED")),
    "Cannot connect to http://a.example: nobody listens there; start a Server, or correct the address with --url",
  );
  assertEquals(
    await failed(error("ERR_SSL_WRONG_VERSION_NUMBER"), "https://a.example"),
    "Cannot connect to https://a.example: it does not speak TLS there; write http:// instead of https://",
  );
  const denied = new Error("Requires net access");
  denied.name = "NotCapable";
  assertEquals(
    await failed(denied),
    "Cannot connect to http://a.example: Requires net access",
  );
});

const seated = (role: Role, name: string): Seated & { role: Role } => ({
  ...{ role, name, office: "north" },
  peer: Object({ id: name }),
});

/** What the Server answers to who wants the seat of another. */
const taken = (holder: Seated): string | undefined =>
  judgeSeat(Object({ id: "other" }), holder, holder, false)?.refused;

Deno.test("joinRemedy() knows the Server's refusals by their wording", () => {
  const agent = seated("agent", "planner");
  const computer = seated("computer", "pc");
  const rows: [reason: string | undefined, remedy: RegExp][] = [
    [
      taken(agent),
      /join another office with --office/,
    ],
    [
      taken(computer),
      /another name with --name/,
    ],
    [ROOM_FULL.refused, /leave some other member out/],
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
});

Deno.test("joinRemedy() has nothing to say of other refusals", () => {
  assertEquals(joinRemedy("The role of this connection is agent"), undefined);
});
