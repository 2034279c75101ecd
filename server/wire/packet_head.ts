import { MAX_ATTACHMENTS } from "./attachments.ts";

/** The first characters of Socket.IO's packets: a type, and how many attachments a binary one has. */
const HEAD = /^(?:[0-4]|[56](\d{1,15})-)/;

/**
 * Tells why text begins like no packet, or `undefined` when it does.
 *
 * The stock decoder makes a number of the first character: a space is 0 there, which asks for a
 * session.
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

/** What a packet is for, as far as that matters before it is decoded. */
export type Purpose = "connect" | "disconnect" | "binary" | "other";

/** Tells by the first character. */
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
