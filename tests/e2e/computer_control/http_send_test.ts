import { assertEquals, assertRejects } from "@std/assert";
import { httpSend } from "../../../computer/cli/approve/http_send.ts";
import { NotPassedError, retryMs } from "../../../shared/approvals/device.ts";

Deno.test("smcp-computer approve learns from a refusal how long the Server asks it to wait", async () => {
  const answers = [
    new Response("", { status: 429, headers: { "Retry-After": "60" } }),
    new Response("", { status: 503, headers: { "Retry-After": "1" } }),
    new Response("", { status: 404 }),
  ];
  await using server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen: () => {} },
    () => answers.shift() ?? new Response(""),
  );
  const url = `http://127.0.0.1:${server.addr.port}`;
  const send = httpSend({ url, office: "north", route: "pc" }, {
    proxy: "none",
  });
  const bytes = new Uint8Array(32);
  for (
    const [least, text] of [
      [60_000, "too many requests"],
      [1_000, "answered 503"],
      [0, "the Computer is not there"],
    ] as const
  ) {
    const error = await assertRejects(
      () => send(bytes, bytes),
      NotPassedError,
      text,
    );
    assertEquals(error.waitMs, least);
    assertEquals(retryMs(0, error) >= least, true);
  }
  assertEquals((await send(bytes, bytes)).length, 0);
});
