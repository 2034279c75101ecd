import { MAX_ATTACHMENTS } from "./attachments.ts";

/** The first characters of a packet: its type, and the number of attachments of a binary one. */
const HEAD = /^(?:[0-4]|[56](\d{1,15})-)/;

/**
 * Checks the first characters of a packet; returns why it is refused, or `undefined`.
 *
 * The stock decoder converts the first character to a number: a space would become 0, a CONNECT.
 */
export function judgeHead(text: string): string | undefined {
  const head = HEAD.exec(text);
  if (head === null) return "no packet of Socket.IO begins like this";
  const [, attachments] = head;
  if (attachments !== undefined && Number(attachments) > MAX_ATTACHMENTS) {
    return `more than ${MAX_ATTACHMENTS} attachments`;
  }
  return undefined;
}

/** Kind of a packet, as far as it matters before decoding. */
export type Purpose = "connect" | "disconnect" | "binary" | "other";

/** Returns the purpose of a packet by its first character. */
export function purposeOf(text: string): Purpose {
  switch (text[0]) {
    case "0":
      return "connect";
    case "1":
      return "disconnect";
    case "5":
    case "6":
      return "binary";
    default:
      return "other";
  }
}
