/** Default time limit of a command. */
const COMMAND_TIMEOUT_MS = 180_000;

/**
 * Runs a command; shows its output only if it fails.
 *
 * @param timeoutMs time after which it is killed
 * @returns its standard output
 * @throws {Error} with its whole output, if its exit code is not 0 or it is killed
 */
export async function run(
  command: string,
  args: readonly string[],
  cwd: string,
  timeoutMs = COMMAND_TIMEOUT_MS,
): Promise<string> {
  const { success, code, signal, stdout, stderr } = await new Deno.Command(
    command === "deno" ? Deno.execPath() : command,
    {
      args: [...args],
      cwd,
      env: { NO_COLOR: "1" },
      stdin: "null",
      signal: AbortSignal.timeout(timeoutMs),
    },
  ).output();
  const [out, err] = [stdout, stderr].map((bytes) =>
    new TextDecoder().decode(bytes)
  );
  if (success) return out ?? "";
  throw new Error(
    `Cannot run ${command} ${args.join(" ")}: ${
      signal === null ? `exit code ${code}` : `killed with ${signal}`
    }\n${out}${err}`,
  );
}
