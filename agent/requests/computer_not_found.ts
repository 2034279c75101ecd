import { ErrorCode, ProtocolError } from "../../protocol/mod.ts";

/** Checks whether a request failed because its Computer is not, or no longer, in the office. */
export const isComputerNotFound = (error: unknown): boolean =>
  error instanceof ProtocolError && error.code === ErrorCode.NOT_FOUND;
