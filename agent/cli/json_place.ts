/**
 * Describes where a text stops being JSON, if the error of the parser tells.
 *
 * This goes by the wording of V8, whose errors have no field for the position.
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
