import { assert, assertEquals } from "@std/assert";
import { operate } from "../support/server/operator_client.ts";
import { SCREEN_TIMEOUT_MS } from "./support/casts.ts";
import { ourServer } from "./support/parties/ours.ts";
import { COMPUTER, OFFICE } from "./support/parties/party.ts";
import { pythonComputer } from "./support/parties/python.ts";
import type { Sdk } from "./support/venv.ts";
import { openWorkplace } from "./support/workplace/workplace.ts";

const VERSIONS: readonly Sdk[] = ["0.1", "0.2", "0.3", "0.4"];

for (const sdk of VERSIONS) {
  Deno.test({
    name:
      `${sdk}: Python's Computer answers our operators, whom it takes for an Agent`,
    timeout: SCREEN_TIMEOUT_MS, // it may wait for a download of an SDK
  }, async () => {
    await using server = await ourServer(sdk);
    const token = await server.printed("with the token ");
    await using place = await openWorkplace();
    await using computer = await pythonComputer(sdk, server.url, place);
    await computer.join();
    const ask = async (path: string, post?: unknown) => {
      const { status, body } = await operate(
        server.url,
        `/offices/${OFFICE}/computers/${COMPUTER}/${path}`,
        { token, post },
      );
      assertEquals(status, 200, JSON.stringify(body));
      return body;
    };
    const { tools } = await ask("tools");
    const names: string[] = tools.map(({ name }: { name: string }) => name);
    const echo = names.find((name) => /^(.*__)?echo$/.test(name));
    assert(echo !== undefined, names.join());
    assert(Object.keys((await ask("config")).servers).length > 0);
    assert(Array.isArray((await ask("desktop")).desktops));
    const { content } = await ask("call", {
      tool_name: echo,
      params: { text: "on" },
    });
    assertEquals(content[0].text, "on");
  });
}
