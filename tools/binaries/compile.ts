/**
 * Writes binaries of the commands into `dist/`, for this platform or others.
 *
 * ```sh
 * deno task compile smcp-agent --target aarch64-apple-darwin
 * ```
 *
 * @module
 */
import { join } from "node:path";
import { bundle, compile, readArgs } from "./binaries.ts";

const { commands, targets, folder } = readArgs(Deno.args, "dist");
for (const command of commands) {
  const bundled = await bundle(command, join(folder, "bundle", command));
  const size = (bundled.bytes / 1e6).toFixed(1);
  for (const target of targets.length === 0 ? [undefined] : targets) {
    const output = join(folder, target ?? "", command);
    await compile(command, bundled, output, target);
    const end = target?.includes("windows") ? ".exe" : "";
    console.log(`${output}${end}: the runtime, and ${size} MB`);
  }
}
