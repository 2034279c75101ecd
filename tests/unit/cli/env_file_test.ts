import { assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { join } from "node:path";
import {
  EnvFileError,
  formatEnvFile,
  isVariableName,
  loadEnvFile,
  parseEnvFile,
} from "../../../cli/env_file.ts";
import { scratch } from "../../support/scratch.ts";

Deno.test("parseEnvFile() reads what formatEnvFile() writes, whatever it is", () => {
  const names = fc.string({ unit: "binary", maxLength: 20 })
    .filter(isVariableName);
  const values = fc.string({ unit: "binary", maxLength: 40 });
  fc.assert(
    fc.property(fc.dictionary(names, values), (variables) => {
      assertEquals(
        parseEnvFile(formatEnvFile(["a comment"], variables), "file"),
        { ...variables },
      );
    }),
  );
});

Deno.test("parseEnvFile() reads what people write", () => {
  assertEquals(
    parseEnvFile(
      [
        "# a comment",
        "",
        "SMCP_API_KEY = abc=def ",
        'SMCP_API_KEYS=[{"key": "k", "id": "me"}]',
        'SMCP_JWT_SECRET="a \\"b\\"\\n"\r',
        "EMPTY=",
      ].join("\n"),
      "file",
    ),
    {
      SMCP_API_KEY: "abc=def",
      SMCP_API_KEYS: '[{"key": "k", "id": "me"}]',
      SMCP_JWT_SECRET: 'a "b"\n',
      EMPTY: "",
    },
  );
});

Deno.test("parseEnvFile() refuses other lines without their values", () => {
  const rows = [
    ["secret", "file:1: expected NAME=VALUE"],
    ["\n=secret", "file:2: expected NAME=VALUE"],
    ["export A=secret", "file:1: expected NAME=VALUE"],
    ["A=1\nA=2", "file:2: A is there twice; remove one"],
    ['A="secret', "file:1: the value of A begins with a double quote"],
  ] as const;
  for (const [text, says] of rows) {
    const { message } = assertThrows(
      () => parseEnvFile(text, "file"),
      EnvFileError,
      says,
    );
    assertEquals(message.includes("secret"), false);
  }
});

Deno.test("loadEnvFile() adds missing variables, and refuses a file that others can use, and one that is missing", async () => {
  await using folder = await scratch();
  const file = join(folder.path, "file.env");
  const env: Record<string, string | undefined> = {
    SMCP_ENV_FILE: file,
    B: "mine",
  };
  const load = () => loadEnvFile(env);
  assertThrows(load, EnvFileError, "make it, or leave the variable out");
  await Deno.writeTextFile(file, "A=1\nB=2\n");
  for (const mode of [0o640, 0o604, 0o620, 0o610]) {
    await Deno.chmod(file, mode);
    assertThrows(load, EnvFileError, `chmod 600 "${file}"`);
  }
  await Deno.chmod(file, 0o600);
  load();
  assertEquals(env, { SMCP_ENV_FILE: file, A: "1", B: "mine" });
});
