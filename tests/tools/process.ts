/**
 * Runs a command to its end, showing its output only when it fails.
 *
 * @returns what it wrote to its standard output
 * @throws {Error} when it exits with another code than 0, with all that it wrote
 */
export async function run(
  command: string,
  args: readonly string[],
  cwd: string,
): Promise<string> {
  const { success, code, stdout, stderr } = await new Deno.Command(
    command === "deno" ? Deno.execPath() : command,
    { args: [...args], cwd, env: { NO_COLOR: "1" }, stdin: "null" },
  ).output();
  const [out, err] = [stdout, stderr].map((bytes) =>
    new TextDecoder().decode(bytes)
  );
  if (success) return out ?? "";
  throw new Error(
    `Cannot run ${command} ${args.join(" ")}: exit code ${code}\n${out}${err}`,
  );
}
