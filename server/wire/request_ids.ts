import { randomInt } from "node:crypto";

/** First ids are below this: a client that reads ids as signed 32-bit numbers has a billion of them left. */
const FIRST_IDS = 2 ** 30;

let next = randomInt(FIRST_IDS);

/**
 * Makes an ack id for a request to a client.
 *
 * One sequence serves the whole process: a client that comes back and answers late, over whatever
 * connection and from whatever office, must not answer a request of its new session. It starts at
 * random because such a client may outlive the process too.
 */
export const nextRequestId = (): number => next++;
