import { assertEquals, assertThrows } from "@std/assert";
import {
  loadLibrary,
  requireVersion6,
} from "../../../../../server/cluster/redis/connection.ts";

Deno.test("loadLibrary() takes the version that this package is tested with", async () => {
  assertEquals(typeof (await loadLibrary()).createClient, "function");
});

// What tells them apart, of redis@4.7.1, redis@5 and a later one.
const OTHERS = [
  { createClient: () => {}, ClientOfflineError: Error },
  { createClient: () => {}, RESP_TYPES: {} },
  { createClient: () => {}, DEFAULT_RESP: 4 },
];

for (const [index, library] of OTHERS.entries()) {
  Deno.test(`requireVersion6() refuses another version, and says what to install (${index})`, () => {
    assertThrows(
      () => requireVersion6(library, "join a cluster"),
      Error,
      "Cannot join a cluster: the package redis is not of version 6; install it: npm install redis@6",
    );
  });
}
