import { basename, join } from "node:path";
import { run } from "../process.ts";
import { toolsFolder } from "./node.ts";

/** Time limit for a download over a slow network. */
const DOWNLOAD_TIMEOUT_MS = 1_800_000;

/** The npm packages that bring Deno, by the target of `deno compile`. */
export const RUNTIMES: Readonly<Record<string, string>> = {
  "x86_64-unknown-linux-gnu": "@deno/linux-x64-glibc",
  "aarch64-unknown-linux-gnu": "@deno/linux-arm64-glibc",
  "x86_64-apple-darwin": "@deno/darwin-x64",
  "aarch64-apple-darwin": "@deno/darwin-arm64",
  "x86_64-pc-windows-msvc": "@deno/win32-x64",
};

/** The release of other platforms; npm has some releases for a few platforms only. */
const RELEASE = "2.9.5";

/**
 * Finds Deno for a platform: this program, or one that is fetched from npm into the
 * user's cache folder once.
 *
 * With it as `DENORT_BIN` nothing else is downloaded by `deno compile`: the binary is written as it
 * would be, but starts Deno's own command line.
 *
 * @returns the path of its program
 */
export async function runtimeOf(target: string): Promise<string> {
  if (target === Deno.build.target) return Deno.execPath();
  const name = RUNTIMES[target];
  if (name === undefined) throw new Error(`npm has no Deno for ${target}`);
  const folder = join(toolsFolder(), `deno-${RELEASE}-${target}`);
  const program = join(
    folder,
    "package",
    target.includes("windows") ? "deno.exe" : "deno",
  );
  const found = await Deno.stat(program).then(() => true, () => false);
  if (found) return program;
  const scratch = await Deno.makeTempDir({ prefix: "smcp-deno-" });
  try {
    const pack = ["pack", "--silent", "--ignore-scripts"];
    const output = await run(
      "npm",
      [...pack, `${name}@${RELEASE}`],
      scratch,
      DOWNLOAD_TIMEOUT_MS,
    );
    await Deno.mkdir(folder, { recursive: true });
    const tarball = join(scratch, basename(output.trim()));
    await run("tar", ["-xzf", tarball, "-C", folder], scratch);
  } finally {
    await Deno.remove(scratch, { recursive: true });
  }
  return program;
}
