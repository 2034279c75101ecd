/** A command that does not end by itself is killed after this time, in milliseconds. */
const PATIENCE = 180_000;

/**
 * Runs a command to its end, showing its output only when it fails.
 *
 * @param patience after how many milliseconds it is killed
 * @returns what it wrote to its standard output
 * @throws {Error} when it exits with another code than 0 or is killed, with all that it wrote
 */
export async function run(
  command: string,
  args: readonly string[],
  cwd: string,
  patience = PATIENCE,
): Promise<string> {
  const { success, code, signal, stdout, stderr } = await new Deno.Command(
    command === "deno" ? Deno.execPath() : command,
    {
      args: [...args],
      cwd,
      env: { NO_COLOR: "1" },
      stdin: "null",
      signal: AbortSignal.timeout(patience),
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
