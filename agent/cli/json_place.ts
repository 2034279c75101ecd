/**
 * Describes where a text stops being JSON, if the parser tells.
 *
 * By the words of V8, which has no field for it; what else it says is not for people.
 */
export function describePlace(json: string, error: unknown): string {
  const [end, position] = /Unexpected end|position (\d+)/.exec(String(error)) ??
    [];
  if (end === undefined) return "";
  if (position === undefined) return ": it ends too early";
  const before = json.slice(0, Number(position)).split("\n");
  const column = (before.at(-1)?.length ?? 0) + 1;
  return `: see line ${before.length}, column ${column}`;
}
