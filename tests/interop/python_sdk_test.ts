import { assertRejects } from "@std/assert";
import {
  AGENT_0_1,
  COMPUTER_0_1,
  COMPUTER_0_2,
  SERVER_0_1,
} from "./support/known_failures.ts";
import {
  ourAgent,
  ourComputer,
  ourServer,
  pythonAgent,
  pythonComputer,
  pythonServer,
} from "./support/parties.ts";
import { type KnownFailures, play } from "./support/scenario.ts";
import type { Sdk } from "./support/venv.ts";

/** The combinations of Agent, Server and Computer, with the known failures of the Python ones. */
type Cast = [
  sdk: Sdk,
  agent: "our" | "Python",
  server: "our" | "Python",
  computer: "our" | "Python",
  known?: KnownFailures,
];

const CASTS: Cast[] = [
  ["0.1", "Python", "our", "Python", { ...AGENT_0_1, ...COMPUTER_0_1 }],
  ["0.1", "Python", "Python", "our", SERVER_0_1],
  ["0.1", "our", "Python", "Python", { ...SERVER_0_1, ...COMPUTER_0_1 }],
  ["0.1", "our", "Python", "our", SERVER_0_1],
  ["0.2", "Python", "our", "Python", COMPUTER_0_2],
  ["0.2", "Python", "our", "our"],
  ["0.2", "our", "our", "Python", COMPUTER_0_2],
  ["0.2", "our", "Python", "our"],
  ["0.2", "our", "Python", "Python", COMPUTER_0_2],
  ["0.2", "Python", "Python", "our"],
];

/** The first test waits for the download of the SDK from PyPI. */
const SCREEN_TIMEOUT_MS = 600_000;

for (const [sdk, agent, server, computer, known] of CASTS) {
  Deno.test({
    name: `${sdk}: ${agent} Agent, ${server} Server, ${computer} Computer`,
    timeout: SCREEN_TIMEOUT_MS,
  }, async (t) => {
    await using between = server === "our"
      ? await ourServer(sdk)
      : await pythonServer(sdk);
    const { url } = between;
    await using left = agent === "our"
      ? ourAgent(url)
      : await pythonAgent(sdk, url);
    await using right = computer === "our"
      ? await ourComputer(url)
      : await pythonComputer(sdk, url);
    await play(t, { agent: left, computer: right }, known);
  });
}

Deno.test({
  name:
    "clients of each version are refused by a Server of the other, with an error",
  timeout: SCREEN_TIMEOUT_MS,
}, async () => {
  await using old = await ourServer("0.1");
  await using today = await ourServer("0.2");
  await using oldAgent = await pythonAgent("0.1", today.url);
  await using agent = await pythonAgent("0.2", old.url);
  await assertRejects(() => oldAgent.join(), Error, "ConnectionError");
  await assertRejects(() => agent.join(), Error, "ProtocolVersionError");
});
