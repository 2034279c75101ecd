import assert from "node:assert/strict";
import { jwt } from "@a2c-smcp/sdk/server";

const verdict = await jwt({ key: { secret: "s".repeat(32) } }).authenticate({
  headers: { authorization: "Bearer a.b.c" },
  auth: {},
  address: "127.0.0.1",
});
assert.ok("refused" in verdict, JSON.stringify(verdict));
console.log("works");
