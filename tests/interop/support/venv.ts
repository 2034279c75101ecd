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
 * @returns the path of its interpreter
 */
export const pythonOf = (sdk: Sdk): Promise<string> =>
  venvWith(
    join(HERE, ".venv", sdk),
    join(SCRIPTS, `requirements-${sdk}.txt`),
  );

/**
 * Creates a virtual environment in a folder, with the packages that a file requires. An existing one
 * is reused, unless its requirements changed or the last attempt was interrupted.
 *
 * @returns the path of its interpreter
 */
export async function venvWith(folder: string, file: string): Promise<string> {
  const stamp = join(folder, "requirements.txt");
  const python = Deno.build.os === "windows"
    ? join(folder, "Scripts", "python.exe")
    : join(folder, "bin", "python");
  const wanted = await readFile(file, "utf8");
  if (await readFile(stamp, "utf8").catch(() => "") === wanted) return python;
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  await makeVenv(folder);
  console.log(`Installing ${file} into ${folder}`);
  await run(python, ["-m", "pip", "install", "--quiet", "-r", file]);
  await writeFile(stamp, wanted);
  return python;
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
