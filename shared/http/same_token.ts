import { createHash, timingSafeEqual } from "node:crypto";

/** Returns the token of an `Authorization` header of the scheme Bearer. */
export const bearerToken = (
  authorization: string | null | undefined,
): string | undefined => /^Bearer +(\S+)$/i.exec(authorization ?? "")?.[1];

/** Compares tokens in a time that does not depend on them: their digests have one length. */
export const isSameToken = (sent: string, token: string): boolean =>
  timingSafeEqual(digest(sent), digest(token));

const digest = (text: string): Uint8Array =>
  createHash("sha256").update(text).digest();
