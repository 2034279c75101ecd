import { assert, assertEquals } from "@std/assert";
import { createCounter } from "../../support/fixtures/counter.ts";
import { CLIENTS } from "../../support/mcp/clients.ts";
import { serveOffice } from "../../support/mcp/office.ts";

for (const [kind, connect] of Object.entries(CLIENTS)) {
  Deno.test(`${kind}: a tool's own progress reaches the client, increasing, up to the last; its title and icons too`, async () => {
    await using office = await serveOffice({
      mcp: { heartbeatMs: 20 },
      servers: {
        counter: {
          type: "in-process",
          server: createCounter(),
          default_tool_meta: { auto_apply: true },
        },
      },
    });
    await using client = await connect(office);
    const [tool] = await client.tools();
    assertEquals([tool?.name, tool?.title, tool?.icons], [
      "pc__count",
      "Count (pc)",
      [{ src: "data:image/png;base64,AA==", sizes: ["any"] }],
    ]);
    const told: number[] = [];
    const stop = new AbortController();
    const last = Promise.withResolvers<void>();
    const call = client.call("pc__count", { wait: true }, {
      signal: stop.signal,
      onprogress: ({ progress, message }) => {
        told.push(progress);
        if (message === "counting" && progress === 30) last.resolve();
      },
    }).catch(() => {});
    await last.promise;
    stop.abort();
    await call;
    assert(told.includes(1), `${told}`);
    assert(told.every((progress, i) => i === 0 || progress > told[i - 1]!));
    const quiet = await client.call("pc__count");
    assertEquals(quiet.content[0]?.text, "false", "it was not asked for");
  });
}
