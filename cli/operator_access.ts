import { randomBytes } from "node:crypto";
import { Option } from "commander";

/** Makes the token of who operates a Server that only this machine reaches. */
export const newOperatorToken = (): string => randomBytes(32).toString("hex");

/**
 * Tells who may operate a Server, and the link to its console; for stdout, not for the log, which others
 * may read.
 */
export const operatorLines = (url: string, token: string): string =>
  `Operators: ${url}/operator/v1 with the token ${token}
Console: ${url}/console#token=${token}`;

/**
 * Makes the flag that switches the operator API off.
 *
 * @param access who has access without it
 */
export const operatorOption = (access: string): Option =>
  new Option(
    "--no-operator",
    `serve no operator API; otherwise it is there for ${access}`,
  ).env("SMCP_NO_OPERATOR");
