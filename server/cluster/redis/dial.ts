import { withDeadline } from "../../../shared/async.ts";
import type { Client, Library } from "./library.ts";
import { probeTls } from "./probe_tls.ts";
import type { RedisTls } from "./tls.ts";
import { type Address, type Credentials, written } from "./url.ts";

/** How to connect, wherever it is. */
export interface DialSettings {
  readonly library: Library;
  readonly tls: RedisTls | undefined;
  readonly credentials: Credentials | undefined;
  readonly database: number;
}

/** How long the network may take; a host that is down must not hold up the next. */
const CONNECT_TIMEOUT_MS = 2000;

/** How long all takes, with TLS, the password and the database. */
const HANDSHAKE_TIMEOUT_MS = 3000;

/**
 * Connects to a server of Redis, once: who uses it decides where to connect again.
 *
 * @param onLost is called once, when the connection has ended by itself
 * @throws {Error} that says what is wrong, and where
 */
export async function dial(
  { library, tls, credentials, database }: DialSettings,
  address: Address,
  onLost: (reason: Error) => void,
): Promise<Client> {
  if (tls !== undefined) {
    await probeTls(address, tls, CONNECT_TIMEOUT_MS).catch((error) => {
      throw explain(error, address, true);
    });
  }
  const common = {
    connectTimeout: CONNECT_TIMEOUT_MS,
    reconnectStrategy: false as const,
  };
  const client: Client = library.createClient({
    socket: "path" in address
      ? { ...common, path: address.path, tls: false }
      : tls
      ? { ...common, ...address, ...certificates(tls), tls: true }
      : { ...common, ...address, tls: false },
    ...(credentials && {
      username: credentials.user,
      password: credentials.password,
    }),
    database,
    // Both only cost rights of the access list, and a round trip.
    disableClientInfo: true,
    maintNotifications: "disabled",
    disableOfflineQueue: true,
    // It would end only what was not sent yet, with a timer for each command.
    commandOptions: { timeout: 0 },
  });
  let failure: Error | undefined;
  // Without a listener an error would end the process.
  client.on("error", (error: Error) => failure ??= error);
  try {
    await withDeadline(HANDSHAKE_TIMEOUT_MS, async (signal) => {
      signal.addEventListener("abort", () => {
        failure = new Error("it does not answer in time");
        client.destroy();
      }, { once: true });
      await client.connect();
      signal.throwIfAborted();
    });
  } catch (error) {
    client.destroy();
    throw explain(failure ?? error, address, tls !== undefined);
  }
  client.once("terminated", (error: Error) => {
    client.destroy();
    onLost(explain(error, address, tls !== undefined));
  });
  if (client.isReady) return client;
  client.destroy();
  throw explain(failure, address, tls !== undefined);
}

const certificates = ({ ca, cert, key }: RedisTls) => ({
  ...(ca !== undefined && { ca }),
  ...(cert !== undefined && { cert }),
  ...(key !== undefined && { key }),
});

function explain(error: unknown, address: Address, tls: boolean): Error {
  const message = error instanceof Error ? error.message : String(error);
  const at = `Redis at ${written(address)}`;
  const say = (text: string) => new Error(text, { cause: error });
  if (/^WRONGPASS|^ERR AUTH/.test(message)) {
    return say(`${at} refuses the user and password of the URL: ${message}`);
  }
  if (/^NOAUTH/.test(message)) {
    return say(
      `${at} wants a password: write it into the URL, as in redis://user:password@host`,
    );
  }
  if (/unknown command.*HELLO/i.test(message)) {
    return say(`${at} is too old: version 6.2 or later is needed`);
  }
  const reason = reasonOf(error, message);
  const hint =
    /closed unexpectedly|ECONNRESET|timed? ?out|in time/i.test(reason)
      ? tls
        ? " (does it speak TLS? if not, the URL begins with redis://)"
        : " (does it want TLS? then the URL begins with rediss://)"
      : /ECONNREFUSED|ENOTFOUND/.test(reason)
      ? " (does it run there? if not, correct the URL)"
      : "";
  return say(`Cannot reach ${at}: ${reason}${hint}`);
}

/** Names several addresses of one host, which Node tells in parts. */
function reasonOf(error: unknown, message: string): string {
  if (error instanceof AggregateError && message === "") {
    return error.errors.map(String).join("; ");
  }
  return message || String(error);
}
