import { spawn } from "node:child_process";
import process from "node:process";

const NAMES = ["chromium", "chromium-browser", "google-chrome"];

/** Flags: no window, no sandbox (unavailable to root), and no requests to its vendor. */
const FLAGS = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--disable-dev-shm-usage",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/** A Chromium that shows one page. */
export interface Chromium extends AsyncDisposable {
  /** Rejects with its output if it exits unexpectedly. */
  readonly ended: Promise<never>;
}

/**
 * Finds Chromium on this machine, or installs Debian's.
 *
 * @returns undefined if it can be neither found nor installed; the reason is printed
 */
export async function findChromium(): Promise<string | undefined> {
  const found = await installed();
  if (found !== undefined) return found;
  const failure = await install();
  if (failure === undefined) return await installed();
  console.log(
    `SKIPPED: the tests in a browser need Chromium, which cannot be installed here: ${failure}`,
  );
}

/** Opens a page in a new Chromium with a new profile; both are removed afterwards. */
export async function openPage(
  chromium: string,
  url: string,
): Promise<Chromium> {
  const profile = await Deno.makeTempDir({ prefix: "smcp-browser-" });
  // Its own process group, since its helpers may outlive it.
  const child = spawn(
    chromium,
    [...FLAGS, `--user-data-dir=${profile}`, url],
    {
      detached: true,
      stdio: ["ignore", "ignore", "pipe"],
      env: { ...process.env, TMPDIR: profile }, // it leaves files behind
    },
  );
  let said = "";
  child.stderr.setEncoding("utf8").on("data", (text) => said += text);
  const closed = new Promise<number | null>((resolve, reject) => {
    child.on("close", resolve);
    child.on("error", reject);
  });
  const ended = closed.then((code) => {
    throw new Error(`Chromium ended with code ${code}:\n${said}`);
  });
  ended.catch(() => {}); // possibly nobody waits for it
  return {
    ended,
    async [Symbol.asyncDispose]() {
      if (child.pid !== undefined && child.exitCode === null) {
        process.kill(-child.pid, "SIGKILL");
      }
      await closed.catch(() => {});
      await Deno.remove(profile, { recursive: true });
    },
  };
}

async function installed(): Promise<string | undefined> {
  for (const name of NAMES) {
    if (await tryToRun(name, ["--version"]) === undefined) return name;
  }
}

async function install(): Promise<string | undefined> {
  console.log("Installing Chromium: apt-get install -y chromium");
  return await tryToRun("apt-get", ["update"]) ??
    await tryToRun("apt-get", ["install", "-y", "chromium"]);
}

/** Runs a command; throws with its output if it fails. */
async function tryToRun(
  command: string,
  args: string[],
): Promise<string | undefined> {
  try {
    const { success, stderr } = await new Deno.Command(command, {
      args,
      env: { DEBIAN_FRONTEND: "noninteractive" },
      stdin: "null",
    }).output();
    if (success) return undefined;
    return new TextDecoder().decode(stderr).trim() || `${command} failed`;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return `no ${command} here`;
    throw error;
  }
}
