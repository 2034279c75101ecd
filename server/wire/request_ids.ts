import { randomInt } from "node:crypto";

/** Bound of the first id: clients that read ids as signed 32-bit numbers have a billion left. */
const FIRST_IDS = 2 ** 30;

let next = randomInt(FIRST_IDS);

/**
 * Returns an ack id for a request to a client.
 *
 * One sequence serves the whole process: a client that comes back and answers late, over whatever
 * connection and from whatever office, must not answer a request of its new session. It starts at
 * random because such a client may outlive the process too.
 */
export const nextRequestId = (): number => next++;
