/** Maximum characters that are taken from a hint. */
const MAX_CHARACTERS = 64;

/** Returns what a hint adds to the name of a file: `[A-Za-z0-9._-]`, or nothing (0.4 §7.5). */
export const cleanHint = (hint: string): string =>
  hint.trim().replaceAll(/[^A-Za-z0-9._-]+/g, "_").slice(0, MAX_CHARACTERS)
    .replaceAll(/^[._-]+|[._-]+$/g, "");
