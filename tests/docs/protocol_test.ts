/**
 * The page of the protocol names what the code has: events, error codes, and the refusal of another
 * version, byte for byte.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { ErrorCode } from "../../protocol/mod.ts";
import * as events from "../../protocol/events.ts";
import { checkVersion } from "../../protocol/handshake.ts";
import { codeBlocks } from "./support/blocks.ts";

const page = await Deno.readTextFile(
  new URL("../../docs/protocol.md", import.meta.url),
);

/** The text of one numbered section. */
function section(number: number): string {
  const [, text] = RegExp(`^## ${number}\\. .*\n([^]*?)(?=^## |$(?![^]))`, "m")
    .exec(page) ?? [];
  assert(text !== undefined, `There is no section ${number}`);
  return text;
}

Deno.test("docs/protocol.md lists every event, and no other", () => {
  const listed = section(3).match(/(?<=`)(?:client|server|notify):\w+(?=`)/g);
  const known = Object.entries(events).filter(([name]) =>
    /_(EVENT|NOTIFICATION)$/.test(name)
  ).map(([, event]) => String(event));
  assert(known.length > 20);
  assertEquals([...new Set(listed)].toSorted(), known.toSorted());
});

Deno.test("docs/protocol.md tells what every error code means", () => {
  const text = section(6);
  for (const [name, code] of Object.entries(ErrorCode)) {
    assert(RegExp(`\\b${code}\\b`).test(text), `${code} (${name})`);
  }
});

Deno.test("docs/protocol.md shows the body that refuses another version", async () => {
  const block = (await codeBlocks()).find(({ example }) =>
    example === "version-mismatch"
  );
  const check = checkVersion(["0.1.5"], "0.2.0");
  assert(block && !check.ok);
  assertEquals(
    JSON.stringify(JSON.parse(block.code)),
    JSON.stringify(check.body),
  );
});
