import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import {
  endOf,
  startComputer,
  takeSeat,
} from "../../../support/computer/computer.ts";
import { scripted } from "../../../support/computer/scripted.ts";
import { captureLog } from "../../../support/log_capture.ts";

/** Far above the limit of a test: a call that hangs is seen. */
const LONG = { timeoutMs: 3_600_000 };

Deno.test("what a child prints in place of an answer is quoted when its call times out, and once in the log", async () => {
  const secret = "s3cr3t-t0ken";
  const env = { API_TOKEN: secret };
  await using pc = await startComputer({
    a: scripted({ banner: "Welcome!\n" }, {
      server_parameters: { command: Deno.execPath(), env },
    }),
  });
  using captured = captureLog();
  const printed: Record<string, string> = {
    [`hello ${secret}`]: '"hello <redacted>"',
    '{\n  "jsonrpc": "2.0",\n  "id": ID\n}': 'jsonrpc\\": \\"2.0',
  };
  // An Agent without a timeout of its own gets that of the Computer.
  const seat = await takeSeat(pc.office);
  let calls = 0;
  const call = async (tool_name: string, params: Record<string, unknown>) =>
    endOf(
      await seat.call({ req_id: `${++calls}`, tool_name, params, timeout: 1 }),
    );
  for (const [head, quoted] of Object.entries(printed)) {
    for (let twice = 0; twice < 2; twice++) {
      const { text, meta } = await call("long", { head, bytes: 0, tail: "" });
      assertEquals(meta.error_code, 4004);
      assertStringIncludes(text, "The tool did not answer within 1 s; ");
      assertStringIncludes(text, quoted);
      assert(!text.includes("Welcome") && !text.includes(secret), text);
    }
  }
  const { text } = await call("hang", {});
  assertEquals(text, "The tool did not answer within 1 s");
  const hello = captured.records.filter((record) =>
    JSON.stringify(record.properties).includes("hello <redacted>")
  );
  assertEquals(hello.length, 1);
  assert(!captured.text.includes(secret));
});

Deno.test("an answer of a child that is no JSON, or neither a result nor an error, fails its call at once", async () => {
  await using pc = await startComputer({ a: scripted() });
  const answers: Record<string, string> = {
    '{"jsonrpc":"2.0","id":ID}': "is not a JSON-RPC message",
    '{"jsonrpc":"2.0","id":ID,"result":{"a":NaN}}': "is not JSON",
    '{"result":{"a":NaN},"jsonrpc":"2.0","id":ID}': "is not JSON",
    '{"jsonrpc":"2.0","id":ID,"result":{}}{"jsonrpc":"2.0","method":"x"}':
      "is not JSON",
  };
  for (const [head, expected] of Object.entries(answers)) {
    const params = { head, bytes: 0, tail: "" };
    const { text, meta } = await pc.call("long", params, LONG);
    assertStringIncludes(text, `What the MCP server answered ${expected}`);
    assertEquals(meta.error_code, 4003);
  }
  assertEquals((await pc.call("echo")).text, "echo");
});
