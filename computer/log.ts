import { getLogger, type Logger } from "@logtape/logtape";

/** The log of the Computer; values of variables, headers, params and results never enter it. */
export const log: Logger = getLogger(["a2c-smcp", "computer"]);
