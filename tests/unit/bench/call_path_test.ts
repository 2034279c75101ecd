import { assert, assertEquals } from "@std/assert";
import { fileURLToPath } from "node:url";
import {
  byRole,
  byRoom,
  commonCounts,
  type FunctionCount,
  pathTable,
} from "../../../bench/call_path/count.ts";

const count = (
  file: string,
  name: string,
  invocations: number,
): FunctionCount => ({ file, name, offset: 0, invocations });

Deno.test("commonCounts() leaves what ran in every call, as often as where it ran least", () => {
  const first = [
    count("agent/a.ts", "call", 1),
    count("client/a.ts", "send", 3),
    count("client/a.ts", "heartbeat", 1),
  ];
  const second = [
    count("agent/a.ts", "call", 1),
    count("client/a.ts", "send", 2),
  ];
  const both = [
    count("agent/a.ts", "call", 1),
    count("client/a.ts", "send", 2),
  ];
  assertEquals(commonCounts([first, second]), both);
  assertEquals(commonCounts([second, first]), both);
  assertEquals(commonCounts([]), []);
});

Deno.test("pathTable() adds files, functions and invocations up by role and by room", () => {
  const counts = [
    count("server/wire/json/a.ts", "one", 2),
    count("server/wire/json/a.ts", "two", 1),
    count("server/relay/b.ts", "three", 1),
    count("agent/c.ts", "four", 1),
  ];
  assertEquals(
    pathTable([byRole(counts), byRoom(counts)]),
    `
                  files  functions  invocations

agent                 1          1            1
server                2          3            4
all                   3          4            5

agent                 1          1            1
server/relay          1          1            1
server/wire/json      1          2            3`.slice(1),
  );
});

Deno.test({
  name:
    "bench call-path counts the files and functions of a call in every role",
  timeout: 120_000,
  fn: async () => {
    // In a process of its own: V8 counts for all of one.
    const main = new URL("../../../bench/main.ts", import.meta.url);
    const { success, stdout, stderr } = await new Deno.Command(
      Deno.execPath(),
      { args: ["run", "-A", fileURLToPath(main), "call-path", "--files"] },
    ).output();
    const table = new TextDecoder().decode(stdout);
    assert(success, new TextDecoder().decode(stderr));
    for (const role of ["agent", "client", "computer", "protocol", "server"]) {
      assert(RegExp(`^${role} +[1-9]`, "m").test(table), `${role}: ${table}`);
    }
    // Where a call begins, is passed on, and is answered.
    for (
      const file of [
        "agent/agent",
        "server/wire/link",
        "computer/tools/tool_calls",
      ]
    ) {
      assert(RegExp(`^${file}\\.ts +1 +[1-9]`, "m").test(table), table);
    }
  },
});
