import { assertEquals, assertThrows } from "@std/assert";
import { CommandExit, readSettings } from "../../server/_command.ts";

const exitOf = (args: string[], env: Record<string, string> = {}) => {
  const { exitCode, message } = assertThrows(
    () => readSettings(args, env),
    CommandExit,
  );
  return { exitCode, lines: message.split("\n").length };
};

Deno.test("readSettings() defaults to loopback, port 8787, 8 MiB and limits", () => {
  assertEquals(readSettings([], {}), {
    protocol: "0.2",
    host: "127.0.0.1",
    port: 8787,
    maxMessageBytes: 8388608,
    limits: true,
  });
});

Deno.test("readSettings() reads every flag", () => {
  assertEquals(
    readSettings([
      "--host=::1",
      "--port",
      "0",
      "--max-message-bytes",
      "4096",
      "--no-limits",
      "--protocol=0.1",
    ], {}),
    {
      protocol: "0.1",
      host: "::1",
      port: 0,
      maxMessageBytes: 4096,
      limits: false,
    },
  );
});

Deno.test("readSettings() takes 0 and false in SMCP_NO_LIMITS for no", () => {
  for (const value of ["1", "true", "yes"]) {
    assertEquals(readSettings([], { SMCP_NO_LIMITS: value }).limits, false);
  }
  for (const value of ["0", "false", "no", ""]) {
    assertEquals(readSettings([], { SMCP_NO_LIMITS: value }).limits, true);
  }
  assertEquals(exitOf([], { SMCP_NO_LIMITS: "maybe" }).exitCode, 2);
});

Deno.test("readSettings() exits 2 with one line for a bad flag or value", () => {
  for (
    const args of [
      ["--prot", "1"],
      ["--port"],
      ["--port", "abc"],
      ["--port", "65536"],
      ["--port", "1.5"],
      ["--max-message-bytes", "-1"],
      ["serve"],
    ]
  ) {
    assertEquals(exitOf(args), { exitCode: 2, lines: 1 }, args.join(" "));
  }
});
