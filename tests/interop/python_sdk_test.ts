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
import { play } from "./support/scenario.ts";

Deno.test("Python Agent 0.1, our Server, Python Computer 0.1", async (t) => {
  await using server = await ourServer("0.1");
  await using agent = await pythonAgent("0.1", server.url);
  await using computer = await pythonComputer("0.1", server.url);
  await play(t, { agent, computer }, { ...AGENT_0_1, ...COMPUTER_0_1 });
});

Deno.test("Python Agent 0.1, Python Server 0.1, our Computer", async (t) => {
  await using server = await pythonServer("0.1");
  await using agent = await pythonAgent("0.1", server.url);
  await using computer = await ourComputer(server.url);
  await play(t, { agent, computer }, SERVER_0_1);
});

Deno.test("our Agent, Python Server 0.1, Python Computer 0.1", async (t) => {
  await using server = await pythonServer("0.1");
  await using agent = ourAgent(server.url);
  await using computer = await pythonComputer("0.1", server.url);
  await play(t, { agent, computer }, { ...SERVER_0_1, ...COMPUTER_0_1 });
});

Deno.test("our Agent, Python Server 0.1, our Computer", async (t) => {
  await using server = await pythonServer("0.1");
  await using agent = ourAgent(server.url);
  await using computer = await ourComputer(server.url);
  await play(t, { agent, computer }, SERVER_0_1);
});

Deno.test("Python Agent 0.2, our Server, Python Computer 0.2", async (t) => {
  await using server = await ourServer("0.2");
  await using agent = await pythonAgent("0.2", server.url);
  await using computer = await pythonComputer("0.2", server.url);
  await play(t, { agent, computer }, COMPUTER_0_2);
});

Deno.test("Python Agent 0.2, our Server, our Computer", async (t) => {
  await using server = await ourServer("0.2");
  await using agent = await pythonAgent("0.2", server.url);
  await using computer = await ourComputer(server.url);
  await play(t, { agent, computer });
});

Deno.test("our Agent, our Server, Python Computer 0.2", async (t) => {
  await using server = await ourServer("0.2");
  await using agent = ourAgent(server.url);
  await using computer = await pythonComputer("0.2", server.url);
  await play(t, { agent, computer }, COMPUTER_0_2);
});

Deno.test("our Agent, Python Server 0.2, our Computer", async (t) => {
  await using server = await pythonServer("0.2");
  await using agent = ourAgent(server.url);
  await using computer = await ourComputer(server.url);
  await play(t, { agent, computer });
});

Deno.test("our Agent, Python Server 0.2, Python Computer 0.2", async (t) => {
  await using server = await pythonServer("0.2");
  await using agent = ourAgent(server.url);
  await using computer = await pythonComputer("0.2", server.url);
  await play(t, { agent, computer }, COMPUTER_0_2);
});

Deno.test("Python Agent 0.2, Python Server 0.2, our Computer", async (t) => {
  await using server = await pythonServer("0.2");
  await using agent = await pythonAgent("0.2", server.url);
  await using computer = await ourComputer(server.url);
  await play(t, { agent, computer });
});

Deno.test("each version's clients are refused by a Server of the other, and say so", async () => {
  await using old = await ourServer("0.1");
  await using today = await ourServer("0.2");
  await using oldAgent = await pythonAgent("0.1", today.url);
  await using agent = await pythonAgent("0.2", old.url);
  await assertRejects(() => oldAgent.join(), Error, "ConnectionError");
  await assertRejects(() => agent.join(), Error, "ProtocolVersionError");
});
