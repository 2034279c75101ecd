/** Returns why something failed, for people: the deepest reason that is known. */
export function causeOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? causeOf(error.cause) : error.message;
}
