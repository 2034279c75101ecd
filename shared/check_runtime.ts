/**
 * Ends the import of the package on a runtime that is too old, in place of an error in the middle of a
 * call. Import this first.
 *
 * @module
 */

/** The oldest Node that the package supports; a function of its year stands for it and for browsers. */
const isSupported = typeof Promise.withResolvers === "function";

if (!isSupported) {
  const { process }: { process?: { version?: unknown } } = Object(globalThis);
  const found = typeof process?.version === "string"
    ? `this is Node ${process.version}`
    : "this runtime has no Promise.withResolvers";
  throw new Error(
    `Cannot load @a2c-smcp/sdk: it needs Node 22.12 or later, Deno 2.9 or later, or a browser of 2024 or later, and ${found}`,
  );
}
