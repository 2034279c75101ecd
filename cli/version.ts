import process from "node:process";
import { PROTOCOL_VERSION } from "../protocol/version.ts";

/**
 * The version of this package. A constant, because `deno.json` is not part of the npm package and
 * of compiled commands; a test compares the two.
 */
export const PACKAGE_VERSION = "0.2.0";

/** Describes the versions of package, protocol and runtime, for reports of defects. */
export function describeVersions(): string {
  const { deno, bun, node } = process.versions;
  const runtime = deno !== undefined
    ? `Deno ${deno}`
    : bun !== undefined
    ? `Bun ${bun}`
    : `Node ${node}`;
  return `@a2c-smcp/sdk ${PACKAGE_VERSION}, A2C-SMCP ${PROTOCOL_VERSION}, ${runtime}`;
}
