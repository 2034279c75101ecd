import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** The versions of the protocol that a Python SDK is tested for. */
export type Sdk = "0.1" | "0.2" | "0.3" | "0.4";

const HERE = fileURLToPath(new URL("..", import.meta.url));

/** The folder of the Python scripts. */
export const SCRIPTS: string = join(HERE, "python");

/**
 * Creates a virtual environment with the Python SDK of a version, unless there is one.
 *
 * @param name a version; `tests` for what the tests of 0.4 need
 * @returns the path of its interpreter
 */
export const pythonOf = (name: Sdk | "tests"): Promise<string> =>
  venvWith(
    join(HERE, ".venv", name),
    join(SCRIPTS, `requirements-${name}.txt`),
  );

/**
 * Creates a virtual environment in a folder, with the packages that a file requires. An existing one
 * is reused, unless its requirements changed or the last attempt was interrupted.
 *
 * @returns the path of its interpreter
 */
export async function venvWith(folder: string, file: string): Promise<string> {
  const python = Deno.build.os === "windows"
    ? join(folder, "Scripts", "python.exe")
    : join(folder, "bin", "python");
  await once(folder, file, async () => {
    await makeVenv(folder);
    console.log(`Installing ${file} into ${folder}`);
    await run(python, ["-m", "pip", "install", "--quiet", "-r", file]);
  });
  return python;
}

/**
 * Downloads the sources of the Python SDK of 0.4, whose digest is pinned.
 *
 * @returns their folder
 */
export async function sdkSources(): Promise<string> {
  const python = await pythonOf("tests");
  const folder = join(HERE, ".venv", "sources");
  const file = join(SCRIPTS, "sdist-0.4.txt");
  await once(folder, file, async () => {
    const exactly = ["--no-binary", ":all:", "--no-deps", "--require-hashes"];
    const place = ["--quiet", "-r", file, "-d", folder];
    await run(python, ["-m", "pip", "download", ...exactly, ...place]);
    for await (const { name } of Deno.readDir(folder)) {
      if (!name.endsWith(".tar.gz")) continue;
      const archive = join(folder, name);
      await run(python, ["-m", "tarfile", "-e", archive, folder]);
      await rm(archive);
    }
  });
  for await (const { name, isDirectory } of Deno.readDir(folder)) {
    if (isDirectory) return join(folder, name);
  }
  throw new Error(`No sources in ${folder}: delete it, and try again`);
}

/** Fills a folder from a file, unless that is done. */
async function once(
  folder: string,
  file: string,
  fill: () => Promise<void>,
): Promise<void> {
  const stamp = join(folder, "requirements.txt");
  const wanted = await readFile(file, "utf8");
  if (await readFile(stamp, "utf8").catch(() => "") === wanted) return;
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  await fill();
  await writeFile(stamp, wanted);
}

async function makeVenv(folder: string): Promise<void> {
  try {
    await run("python3", ["-m", "venv", folder]);
  } catch (error) {
    throw new Error(
      "Cannot make a virtual environment: the tests with Python need Python 3.11 or later with venv and pip (on Debian: apt-get install python3-venv)",
      { cause: error },
    );
  }
}

async function run(command: string, args: string[]): Promise<void> {
  const { success, stderr } = await new Deno.Command(command, { args })
    .output();
  if (!success) {
    throw new Error(
      `${command} ${args.join(" ")}: ${new TextDecoder().decode(stderr)}`,
    );
  }
}
