import { PROTOCOL_NAMES } from "../../../protocol/version.ts";
import { startProxy } from "../../support/proxy.ts";
import {
  AGENT_0_1,
  COMPUTER_0_1,
  COMPUTER_0_2,
  SERVER_0_1,
} from "./known_failures.ts";
import { ourAgent, ourComputer, ourServer } from "./parties/ours.ts";
import type { AgentParty, ServerParty } from "./parties/party.ts";
import { pythonAgent, pythonComputer, pythonServer } from "./parties/python.ts";
import { rustAgent, rustServer } from "./parties/rust.ts";
import { type KnownFailures, type Marks, play } from "./scenario.ts";
import { exposedName } from "./steps/step.ts";
import { compareRow } from "./table.ts";
import type { Sdk } from "./venv.ts";
import { openWorkplace } from "./workplace/workplace.ts";

/** A combination of Agent, Server and Computer, with the known failures of the Python ones. */
export interface Cast {
  /** The version of the Agent, and of the others unless a field of theirs says another. */
  readonly sdk: Sdk;
  /** The version of the Computer in an office of several; the Server then lets all in. */
  readonly computerSdk?: Sdk;
  readonly agent: "our" | "Python" | "Rust";
  readonly server: "our" | "Python" | "Rust";
  readonly computer: "our" | "Python";
  readonly known?: KnownFailures;
}

type Kind = "our" | "Python";
type Row = [sdk: Sdk, agent: Kind, server: Kind, computer: Kind];

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

/** The first test waits for the download of the SDK from PyPI. */
export const SCREEN_TIMEOUT_MS = 600_000;

/** Every cast of Python's parties and ours. */
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

const SDKS: readonly Sdk[] = PROTOCOL_NAMES;
/** The version of this package's Agent and Computer at a Server of all. */
const NEWEST: Sdk = "0.4";

/** Python's Agents and Computers of each two versions, and of each older version with ours, in one office. */
export const MIXED_CASTS: readonly Cast[] = SDKS.flatMap((sdk) => [
  ...SDKS.filter((other) => other !== sdk)
    .map((other) => mixed(["Python", sdk], ["Python", other])),
  ...(sdk === NEWEST ? [] : [
    mixed(["Python", sdk], ["our", NEWEST]),
    mixed(["our", NEWEST], ["Python", sdk]),
  ]),
]);

function mixed(
  [agent, sdk]: [Kind, Sdk],
  [computer, computerSdk]: [Kind, Sdk],
): Cast {
  return {
    ...{ sdk, agent, computer, computerSdk, server: "our" },
    known: {
      ...(agent === "Python" && KNOWN[`${sdk} agent`]),
      ...(computer === "Python" && KNOWN[`${computerSdk} computer`]),
    },
  };
}

/** Registers a test of each cast of a version. */
export function testCasts(sdk: Sdk): void {
  for (const cast of CASTS) if (cast.sdk === sdk) testCast("casts", cast);
}

/** Registers a test of a cast, which compares its row in a table of `README.md`. */
export function testCast(table: string, cast: Cast): void {
  const { sdk, computerSdk = sdk } = cast;
  const others = computerSdk === sdk ? "" : ` of ${computerSdk}`;
  Deno.test({
    name:
      `${sdk}: ${cast.agent} Agent, ${cast.server} Server, ${cast.computer} Computer${others}`,
    timeout: SCREEN_TIMEOUT_MS,
  }, async (t) => {
    await using server = computerSdk === sdk
      ? await SERVERS[cast.server](sdk)
      : await ourServer("all");
    const marks = await playCast(t, cast, server.url);
    await t.step("README.md says so", () => compareRow(table, cast, marks));
  });
}

/** Runs all steps of a cast at a Server. */
export async function playCast(
  t: Deno.TestContext,
  { sdk, computerSdk = sdk, known, ...cast }: Cast,
  url: string,
): Promise<Marks> {
  await using place = await openWorkplace();
  await using left = await startProxy(url);
  await using right = await startProxy(url);
  await using agent = await AGENTS[cast.agent](sdk, left.url);
  await using computer = cast.computer === "our"
    ? await ourComputer(right.url, place)
    : await pythonComputer(computerSdk, right.url, place);
  return await play(t, {
    sdk,
    computerSdk,
    agent: byMcpName(computerSdk, agent),
    computer,
    place,
    lose: (party) => (party === "agent" ? left : right).sever(),
  }, known);
}

const SERVERS: Readonly<
  Record<Cast["server"], (sdk: Sdk) => Promise<ServerParty>>
> = { our: ourServer, Python: pythonServer, Rust: rustServer };

const AGENTS: Readonly<
  Record<Cast["agent"], (sdk: Sdk, url: string) => Promise<AgentParty>>
> = {
  our: (sdk, url) => Promise.resolve(ourAgent(sdk, url)),
  Python: pythonAgent,
  Rust: (_sdk, url) => rustAgent(url),
};

/** Lets the calls of an Agent name tools as their MCP server does. */
export const byMcpName = (sdk: Sdk, agent: AgentParty): AgentParty => ({
  ...agent,
  call: (tool, params, options) =>
    agent.call(exposedName(sdk, tool), params, options),
  callAs: (reqId, tool, timeout) =>
    agent.callAs(reqId, exposedName(sdk, tool), timeout),
});
