import { assert, assertEquals, assertThrows } from "@std/assert";
import { Buffer } from "node:buffer";
import { memoryStore } from "../../../../server/sign_in/memory_store.ts";
import { readSecret } from "../../../../server/sign_in/secret.ts";
import { testStores } from "../../../support/sign_in/sign_in_stores.ts";

testStores("memory", () => {
  const store = memoryStore();
  return Promise.resolve({
    nodes: [store, store],
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
  });
});

const BYTES = crypto.getRandomValues(new Uint8Array(32));

Deno.test("readSecret() takes 32 bytes or more in hexadecimal or base64url, with a line's end", () => {
  const hex = Buffer.from(BYTES).toString("hex");
  const text = Buffer.from(BYTES).toString("base64url");
  for (const each of [hex, hex.toUpperCase(), text, `${text}=\n`]) {
    assertEquals(readSecret(each), BYTES);
  }
  assertEquals(readSecret("ab".repeat(40)).length, 40);
});

Deno.test("readSecret() refuses what is short or no such text, and never repeats it", () => {
  const short = Buffer.from(BYTES.subarray(1)).toString("hex");
  for (const each of ["", "letmein", short, "%".repeat(64), "a b".repeat(32)]) {
    const { message } = assertThrows(() => readSecret(each), TypeError);
    assert(message.includes("SMCP_SIGN_IN_SECRET"));
    assert(message.includes("openssl rand -hex 32"));
    assert(each === "" || !message.includes(each));
  }
});
