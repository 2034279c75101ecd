import { assertEquals, assertMatch } from "@std/assert";
import { joinRemedy } from "../../../cli/join_remedy.ts";
import { checkPolicy } from "../../../server/shared/identity.ts";
import { decideJoin, type Joiner } from "../../../server/mod.ts";
import { member } from "../../support/member.ts";

const FRESH: Joiner = { role: undefined, member: undefined };

/** What the Server answers; it must refuse. */
function refusal(...join: Parameters<typeof decideJoin>): string {
  const decision = decideJoin(...join);
  assertEquals(decision.kind, "refuse");
  return decision.kind === "refuse" ? decision.reason : "";
}

Deno.test("joinRemedy() knows the Server's refusals by their wording", () => {
  const agent = member({ role: "agent", name: "planner" });
  const computer = member();
  const rows: [reason: string | undefined, remedy: RegExp][] = [
    [
      refusal(agent, FRESH, { ...agent, name: "first", socket: "s0" }),
      /join another office with --office/,
    ],
    [
      refusal(computer, FRESH, { ...computer, socket: "s0" }),
      /another name with --name/,
    ],
    [refusal(computer, FRESH, undefined, true), /leave some other member out/],
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
