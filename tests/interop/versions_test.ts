import { assertRejects } from "@std/assert";
import { SCREEN_TIMEOUT_MS } from "./support/casts.ts";
import { ourServer } from "./support/parties/ours.ts";
import { pythonAgent } from "./support/parties/python.ts";

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
