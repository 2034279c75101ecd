/** The programs that the tests of clusters start, and Debian's packages with them. */
const PROGRAMS: Readonly<Record<string, string>> = {
  "redis-server": "redis-server",
  "redis-sentinel": "redis-sentinel",
  "nginx": "nginx-light",
  "haproxy": "haproxy",
  "caddy": "caddy",
};

/** Tells the package manager to start no service; the file is Debian's own way. */
const NO_SERVICES = "/usr/sbin/policy-rc.d";

/**
 * Installs Debian's packages of what is missing here, without starting a service.
 *
 * @throws {Error} when that is not possible, saying what to install
 */
export const installClusterPrograms = (): Promise<void> =>
  installPrograms(PROGRAMS);

/**
 * Installs Debian's packages of the programs that are missing here, without starting a service.
 *
 * @param programs names of programs, with their packages
 * @throws {Error} when that is not possible, saying what to install
 */
export async function installPrograms(
  programs: Readonly<Record<string, string>>,
): Promise<void> {
  const missing = await missingPrograms(Object.keys(programs));
  if (missing.length === 0) return;
  const packages = missing.map((program) => programs[program] ?? program);
  const command = `apt-get install ${packages.join(" ")}`;
  if (Deno.uid() !== 0 || (await missingPrograms(["apt-get"])).length > 0) {
    const names = missing.join(", ");
    throw new Error(
      `These programs are missing: ${names}. Install them first: ${command}`,
    );
  }
  console.log(`Installing ${missing.join(", ")}: ${command}`);
  await withoutServices(async () => {
    await run("apt-get", "update");
    const quietly = ["-y", "--no-install-recommends"];
    await run("apt-get", "install", ...quietly, ...packages);
  });
}

/** Returns those of the programs that are not installed. */
export async function missingPrograms(
  programs: readonly string[],
): Promise<string[]> {
  const script = 'for p do command -v "$p" > /dev/null || echo "$p"; done';
  const { stdout } = await new Deno.Command("sh", {
    args: ["-c", script, "sh", ...programs],
    stdin: "null",
  }).output();
  return new TextDecoder().decode(stdout).split("\n").filter((p) => p !== "");
}

async function withoutServices(install: () => Promise<void>): Promise<void> {
  let isOurs = true;
  try {
    await Deno.writeTextFile(NO_SERVICES, "#!/bin/sh\nexit 101\n", {
      createNew: true,
      mode: 0o755,
    });
  } catch (error) {
    if (!(error instanceof Deno.errors.AlreadyExists)) throw error;
    isOurs = false; // such as in a container, which starts none anyway
  }
  try {
    await install();
  } finally {
    if (isOurs) await Deno.remove(NO_SERVICES);
  }
}

async function run(command: string, ...args: string[]): Promise<void> {
  const { success, stderr } = await new Deno.Command(command, {
    args,
    env: { DEBIAN_FRONTEND: "noninteractive" },
    stdin: "null",
  }).output();
  if (success) return;
  throw new Error(
    `${command} ${args.join(" ")}: ${new TextDecoder().decode(stderr).trim()}`,
  );
}
