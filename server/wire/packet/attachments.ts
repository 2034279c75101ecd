/** Maximum number of binary attachments in a packet; stock clients refuse more. */
export const MAX_ATTACHMENTS = 10;

/**
 * Checks the placeholders of a packet; returns why it is refused, or `undefined`.
 *
 * Each attachment may be referenced once: a relayed packet has a copy of its bytes per reference.
 *
 * @param data payload of the packet, with `_placeholder` objects for its attachments
 * @param attachments number of attachments that the packet announces
 */
export function judgePlaceholders(
  data: unknown,
  attachments: number,
): string | undefined {
  const seen = new Set<number>();
  const left: unknown[] = [data];
  while (left.length > 0) {
    const value = left.pop();
    if (typeof value !== "object" || value === null) continue;
    if (Reflect.get(value, "_placeholder") === true) {
      const num: unknown = Reflect.get(value, "num");
      if (!isIndex(num, attachments)) {
        return `a placeholder for an attachment that is not among its ${attachments}`;
      }
      if (seen.has(num)) return "two placeholders of one attachment";
      seen.add(num);
    } else {
      // No spread: an array may have more items than a call can have arguments.
      for (const item of Object.values(value)) left.push(item);
    }
  }
  return undefined;
}

const isIndex = (num: unknown, count: number): num is number =>
  typeof num === "number" && Number.isInteger(num) && num >= 0 && num < count;
