/**
 * Runs a command to its end.
 *
 * @returns what it wrote when it failed; empty when it did not
 */
export async function complaintOf(
  command: string,
  args: readonly string[],
): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command(command, {
    args: [...args],
    stdin: "null",
  }).output();
  if (success) return "";
  const decoder = new TextDecoder();
  return `${decoder.decode(stdout)}${decoder.decode(stderr)}`;
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
