// Imports each entrypoint that is named, in a folder where the package is installed.
import assert from "node:assert/strict";

const entrypoints = process.argv.slice(2);
const [front, protocol] = await Promise.all(
  ["@a2c-smcp/sdk", "@a2c-smcp/sdk/protocol"].map((name) => import(name)),
);
for (const name of entrypoints) {
  const names = Object.keys(await import(name));
  assert.notEqual(names.length, 0, `${name} exports nothing`);
}
assert.equal(protocol.PROTOCOL_VERSION, "0.2.0");
assert.equal(protocol.isCompatible("0.2.1", "0.2.0"), true);
assert.equal(protocol.isCompatible("0.3.0", "0.2.0"), false);
assert.equal(front.ErrorCode, protocol.ErrorCode);
console.log(`Node ${process.version} imports ${entrypoints.join(", ")}`);
