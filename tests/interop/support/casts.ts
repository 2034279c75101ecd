import { startProxy } from "../../support/proxy.ts";
import {
  AGENT_0_1,
  COMPUTER_0_1,
  COMPUTER_0_2,
  SERVER_0_1,
} from "./known_failures.ts";
import { ourAgent, ourComputer, ourServer } from "./parties/ours.ts";
import type { AgentParty } from "./parties/party.ts";
import { pythonAgent, pythonComputer, pythonServer } from "./parties/python.ts";
import { type KnownFailures, play } from "./scenario.ts";
import { exposedName } from "./steps/step.ts";
import { compareRow } from "./table.ts";
import type { Sdk } from "./venv.ts";
import { openWorkplace } from "./workplace/workplace.ts";

/** A combination of Agent, Server and Computer, with the known failures of the Python ones. */
export interface Cast {
  readonly sdk: Sdk;
  readonly agent: "our" | "Python";
  readonly server: "our" | "Python";
  readonly computer: "our" | "Python";
  readonly known?: KnownFailures;
}

type Row = [Cast["sdk"], Cast["agent"], Cast["server"], Cast["computer"]];

/** Every combination in which both kinds meet; our Agent and Computer do not speak 0.1 to a Server that asks. */
const ROWS: Row[] = [
  ["0.1", "Python", "our", "Python"],
  ["0.1", "Python", "Python", "our"],
  ["0.1", "our", "Python", "Python"],
  ["0.1", "our", "Python", "our"],
  ...(["0.2", "0.3", "0.4"] as const).flatMap((sdk): Row[] => [
    [sdk, "Python", "our", "Python"],
    [sdk, "Python", "our", "our"],
    [sdk, "our", "our", "Python"],
    [sdk, "our", "Python", "our"],
    [sdk, "our", "Python", "Python"],
    [sdk, "Python", "Python", "our"],
  ]),
];

/** Known failures of each Python party. */
const KNOWN: Partial<
  Record<`${Sdk} ${"agent" | "server" | "computer"}`, KnownFailures>
> = {
  "0.1 agent": AGENT_0_1,
  "0.1 server": SERVER_0_1,
  "0.1 computer": COMPUTER_0_1,
  "0.2 computer": COMPUTER_0_2,
};

/** All casts, in the order of the table. */
export const CASTS: readonly Cast[] = ROWS.map((
  [sdk, agent, server, computer],
) => ({
  sdk,
  agent,
  server,
  computer,
  known: {
    ...(agent === "Python" && KNOWN[`${sdk} agent`]),
    ...(server === "Python" && KNOWN[`${sdk} server`]),
    ...(computer === "Python" && KNOWN[`${sdk} computer`]),
  },
}));

/** The first test waits for the download of the SDK from PyPI. */
export const SCREEN_TIMEOUT_MS = 600_000;

/** Registers a test of each cast of a version. */
export function testCasts(sdk: Sdk): void {
  for (const cast of CASTS.filter((cast) => cast.sdk === sdk)) {
    Deno.test({
      name:
        `${sdk}: ${cast.agent} Agent, ${cast.server} Server, ${cast.computer} Computer`,
      timeout: SCREEN_TIMEOUT_MS,
    }, async (t) => {
      await using server = cast.server === "our"
        ? await ourServer(sdk)
        : await pythonServer(sdk);
      await using place = await openWorkplace();
      await using left = await startProxy(server.url);
      await using right = await startProxy(server.url);
      await using agent = cast.agent === "our"
        ? ourAgent(sdk, left.url)
        : await pythonAgent(sdk, left.url);
      await using computer = cast.computer === "our"
        ? await ourComputer(right.url, place)
        : await pythonComputer(sdk, right.url, place);
      const marks = await play(t, {
        sdk,
        agent: byMcpName(sdk, agent),
        computer,
        place,
        lose: (party) => (party === "agent" ? left : right).sever(),
      }, cast.known);
      await t.step("README.md says so", () => compareRow(cast, marks));
    });
  }
}

/** Lets the calls of an Agent name tools as their MCP server does. */
export const byMcpName = (sdk: Sdk, agent: AgentParty): AgentParty => ({
  ...agent,
  call: (tool, params, options) =>
    agent.call(exposedName(sdk, tool), params, options),
  callAs: (reqId, tool, timeout) =>
    agent.callAs(reqId, exposedName(sdk, tool), timeout),
});
