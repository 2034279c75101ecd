import { randomInt } from "node:crypto";

/** Bound of the first id: leaves a billion ids to clients that read them as signed 32-bit numbers. */
const MAX_FIRST_ID = 2 ** 30;

let next = randomInt(MAX_FIRST_ID);

/**
 * Returns an ack id for a request to a client.
 *
 * There is one sequence for the whole process: a late answer of a client that reconnected, in any
 * office, must not answer a request of its new session. It starts at a random number, since such a
 * client may also outlive the process.
 */
export const nextRequestId = (): number => next++;
