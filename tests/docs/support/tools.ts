/**
 * Runs a command to its end.
 *
 * @returns what it wrote when it failed; empty when it did not
 */
export async function complaintOf(
  command: string,
  args: readonly string[],
  cwd?: string,
): Promise<string> {
  const { success, output } = await outputOf(command, args, cwd);
  return success ? "" : output || `${command} failed without a word`;
}

/** Runs a command to its end, for all that it writes. */
export async function outputOf(
  command: string,
  args: readonly string[],
  cwd?: string,
): Promise<{ success: boolean; output: string }> {
  const { success, stdout, stderr } = await new Deno.Command(command, {
    args: [...args],
    ...(cwd !== undefined && { cwd }),
    stdin: "null",
  }).output();
  const decoder = new TextDecoder();
  return {
    success,
    output: `${decoder.decode(stdout)}${decoder.decode(stderr)}`,
  };
}

/** Tells whether a command can be run here. */
export async function isInstalled(command: string): Promise<boolean> {
  try {
    await complaintOf(command, ["--version"]);
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}
