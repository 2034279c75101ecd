import { assertEquals, assertMatch } from "@std/assert";
import { joinRemedy } from "../../../cli/explain_failure.ts";
import { checkPolicy } from "../../../server/shared/identity.ts";
import { judgeSeat, ROOM_FULL } from "../../../server/office/office.ts";
import type { Seated } from "../../../server/office/peer.ts";
import type { Role } from "../../../protocol/mod.ts";

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
