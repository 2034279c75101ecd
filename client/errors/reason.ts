/** Returns the message of a thrown value; redacts nothing. */
export const reasonOf = (error: unknown): string =>
  error instanceof Error ? error.message : String(error);
