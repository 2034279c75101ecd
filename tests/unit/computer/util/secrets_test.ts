import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { InputStore } from "../../../../computer/config/input_store.ts";
import {
  guardSecrets,
  hideSecrets,
  hideValues,
  secretsIn,
  urlCredentials,
} from "../../../../computer/util/secrets.ts";
import { parseMCPServerConfig } from "../../../../protocol/mod.ts";

const TEXT = "exited with code 1 before x = 11 of 127.0.0.1: a1b, 0, x:y@, ===";

/** Where a value may stand. */
const PLACES: Readonly<Record<string, (value: string) => Iterable<string>>> = {
  env: (value) => secretsOf({ env: { DISABLE_AUTH: value, API_KEY: value } }),
  headers: (value) =>
    secretsOf({
      url: "https://host/",
      headers: { Authorization: `Bearer ${value}`, Cookie: value },
    }).filter((text) => text !== `Bearer ${value}`),
  "the URL of a proxy": (value) => {
    const [, ...passwords] = urlCredentials({
      HTTPS_PROXY: `http://user:${encodeURIComponent(value)}@host`,
    });
    return passwords;
  },
  "lines of a longer value": (value) => [`${value}\r\n\n ${value}\n-----`],
  "a value with spaces around it": (value) => [`   ${value}\t `],
};

const secretsOf = (server_parameters: object): string[] =>
  secretsIn(parseMCPServerConfig({
    name: "a",
    type: "url" in server_parameters ? "http" : "stdio",
    server_parameters: "url" in server_parameters
      ? server_parameters
      : { command: "x", ...server_parameters },
  }));

for (const [place, valuesIn] of Object.entries(PLACES)) {
  Deno.test(`a value of fewer than four characters is hidden nowhere, and one of four is: ${place}`, () => {
    const short = fc.stringMatching(/^[01xab:=]{0,3}$/);
    fc.assert(fc.property(short, (value) => {
      assertEquals(hideValues(TEXT, valuesIn(value)), TEXT);
    }));
    const four = fc.stringMatching(/^[a-zA-Z0-9]{4,40}$/);
    fc.assert(fc.property(four, (value) => {
      const shown = hideValues(`<${value}>`, valuesIn(value));
      assertEquals(shown, "<<redacted>>");
    }));
  });
}

Deno.test("a short value of an input is hidden nowhere, even of a password or a command", async () => {
  const store = new InputStore([
    { type: "promptString", id: "p", description: "", password: true },
    { type: "promptString", id: "long", description: "", password: true },
    { type: "promptString", id: "q", description: "" },
    { type: "command", id: "c", description: "", command: "echo 1" },
  ], { values: { p: "x", q: 1, long: "hunter2" } });
  using _ = guardSecrets(() => store.secrets);
  for (const id of ["p", "q", "c", "long"]) await store.value(id);
  assertEquals(hideSecrets(`${TEXT} hunter2`), `${TEXT} <redacted>`);
});
