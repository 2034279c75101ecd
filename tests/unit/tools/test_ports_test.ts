import { assertEquals } from "@std/assert";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const tests = fileURLToPath(new URL("../../", import.meta.url));

/** A number after the name of a port, in code and on command lines; 0 is "any". */
const NUMBERED = [
  /\blisten\(\s*\{[^}]*\bport\b(?!\s*:\s*0\b)/,
  /\blisten(?:On)?\(\s*(?!0\b)[\w.]*[pP]ort\b/,
  /["'`]--(?:metrics-)?port["'`],(?!\s*["'`]0["'`])/,
  /["'`]--(?:metrics-)?port=\$/,
  /\bstartHttpFixture\([^)]*[pP]ort/,
];

/** Files with an intentional port number, and why no other process can have that port. */
const HELD: Readonly<Record<string, string>> = {
  "e2e/commands/mistakes/server.ts":
    "another Server holds it, and it must be refused",
  "e2e/server/command_test.ts":
    "another Server holds it, and it must be refused",
  "e2e/server/gate_test.ts": "another Server holds it, and it must be refused",
  "e2e/server/hostile/log_reader_test.ts":
    "another Server holds it, and it must be refused",
  "pages/support/forward.ts":
    "it runs in a network of its own, in which every port is free",
  "unit/computer/config/redact_test.ts": "nothing is started",
  "unit/server/command_test.ts": "nothing is started",
};

/** Lines of a source that start something on a port by its number. */
function numberedPorts(source: string): string[] {
  return NUMBERED.flatMap((pattern) =>
    [...source.matchAll(new RegExp(pattern, "g"))].map(([found]) => found)
  );
}

Deno.test("no test uses a fixed or freed port, which another test may have taken", async () => {
  const files = (await readdir(tests, { recursive: true })).filter((file) =>
    file.endsWith(".ts") &&
    !file.includes(".venv")
  );
  const found: string[] = [];
  for (const file of files) {
    const source = await readFile(join(tests, file), "utf8");
    if (numberedPorts(source).length > 0) found.push(file);
  }
  const known = [...Object.keys(HELD), "unit/tools/test_ports_test.ts"]; // the samples below
  assertEquals(
    found.filter((file) => !known.includes(file)),
    [],
    "use port 0, and startProxy() in front of a server that comes again",
  );
});

Deno.test("numberedPorts() finds a port that is given, and lets any port pass", () => {
  for (
    const source of [
      "await second.listen({ port });",
      `await second.listen({\n  hostname: "127.0.0.1",\n  port: first.port,\n});`,
      "http.listen(port, done)",
      "startServerCommand([`--port=${port}`])",
      `["--metrics-port", port]`,
    ]
  ) {
    assertEquals(numberedPorts(source).length, 1, source);
  }
  for (
    const source of [
      "await server.listen();",
      "await server.listen({ port: 0 });",
      `http.listen(0, "127.0.0.1")`,
      `["--port", "0", "--port=0"]`,
    ]
  ) {
    assertEquals(numberedPorts(source), [], source);
  }
});
