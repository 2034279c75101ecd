/** The first of the names of Chromium that runs, by its path. */
const FIND =
  'for name in chromium chromium-browser google-chrome; do "$name" --version > /dev/null 2>&1 && exec which "$name"; done';

/**
 * Finds Chromium on this machine, or installs Debian's.
 *
 * @returns its path; undefined if it can be neither found nor installed, with the reason printed
 */
export async function findChromium(): Promise<string | undefined> {
  const found = await run(FIND);
  if (found.stdout !== "") return found.stdout;
  console.log("Installing Chromium: apt-get install -y chromium");
  const { success, stderr } = await run(
    "apt-get update >&2 && apt-get install -y chromium >&2",
  );
  if (success) return (await run(FIND)).stdout;
  console.log(
    `SKIPPED: the tests in a browser need Chromium, which cannot be installed here: ${stderr}`,
  );
}

async function run(line: string) {
  const { success, stdout, stderr } = await new Deno.Command("sh", {
    args: ["-c", line],
    env: { DEBIAN_FRONTEND: "noninteractive" },
    stdin: "null",
  }).output();
  const decode = (bytes: Uint8Array) => new TextDecoder().decode(bytes).trim();
  return { success, stdout: decode(stdout), stderr: decode(stderr) };
}
