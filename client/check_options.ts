/**
 * Checks of a client's options, which JavaScript does not check.
 *
 * @module
 */
import { checkTls, unreadableExemptions } from "./network/node_network.ts";
import type { ConnectionOptions, Credentials } from "./options.ts";
import { isTls, parseServerUrl } from "./server_url.ts";
import { isOfficeName, isRecord, OFFICE_NAME_RULE } from "../protocol/names.ts";
import { isLoopbackName } from "../shared/loopback.ts";

const TRANSPORTS: readonly unknown[] = ["polling", "websocket"];

/**
 * Checks the options of a client, which JavaScript does not check.
 *
 * @throws {TypeError} that names the first invalid option, what is expected there, and no credentials
 */
export function checkOptions(options: ConnectionOptions): void {
  const given: Given = Object(options);
  const { url, connection } = options ?? {};
  if (url === undefined && connection === undefined) {
    throw new TypeError(
      given.name === undefined
        ? 'Cannot connect without options: give them as { url: "http://127.0.0.1:8787", name: "planner" }'
        : 'Cannot connect without the option url: expected a URL such as "http://127.0.0.1:8787", or the option connection, made by connect() of a Server in this process',
    );
  }
  if (connection !== undefined) checkInProcess(given);
  if (url !== undefined) parseServerUrl(url);
  if (!isOfficeName(given.name)) {
    throw invalid(
      "name",
      `a text of ${OFFICE_NAME_RULE}, such as "planner": the name to join offices with`,
    );
  }
  if (typeof given.auth !== "function") checkAuth(given.auth);
  if (given.path !== undefined && !/^\//.test(String(given.path))) {
    throw invalid("path", 'a path that begins with "/", such as "/smcp/"');
  }
  const { proxy = false } = given;
  if (proxy !== false && typeof proxy !== "string") {
    const expected = 'a URL such as "http://proxy.example:3128", or false';
    throw invalid("proxy", expected);
  }
  if (given.headers !== undefined && !isTexts(given.headers)) {
    throw invalid(
      "headers",
      'an object of texts that HTTP can carry, such as { "x-api-key": "…" }',
    );
  }
  if (given.transports !== undefined && !isTransports(given.transports)) {
    throw invalid("transports", '["polling", "websocket"] or one of them');
  }
  if (url !== undefined) checkTls(options.tls, url);
}

/**
 * Checks the name of an office, which JavaScript does not check.
 *
 * @throws {TypeError} that names what is expected
 */
export function checkOffice(office: unknown): asserts office is string {
  if (isOfficeName(office)) return;
  throw new TypeError(
    `Cannot join the office ${
      JSON.stringify(office)
    }: expected a text of ${OFFICE_NAME_RULE}`,
  );
}

/** The options of a client, of which nothing is certain. */
type Given = { readonly [N in keyof ConnectionOptions]?: unknown };

/** Options of a network connection, which do nothing within a process, each with its remedy. */
const NETWORK_ONLY = {
  url: "give one of them",
  protocol: "give it to connect() of the Server",
  auth: "give the identity to connect() of the Server",
  path: "leave it out",
  tls: "leave it out",
  proxy: "leave it out",
  headers: "leave it out",
  transports: "leave it out",
} as const satisfies Partial<Record<keyof ConnectionOptions, string>>;

/** The names of the options that a connection in this process refuses. */
export const NETWORK_OPTIONS: readonly string[] = Object.keys(NETWORK_ONLY);

function checkInProcess(given: Given): void {
  const { open }: { open?: unknown } = Object(given.connection);
  if (typeof open !== "function") {
    const expected = "the result of connect() of a Server in this process";
    throw invalid("connection", expected);
  }
  for (const [name, remedy] of Object.entries(NETWORK_ONLY)) {
    if (Reflect.get(given, name) === undefined) continue;
    throw new TypeError(
      `Cannot use the option ${name} with connection, which needs no network: ${remedy}`,
    );
  }
}

/**
 * Checks the credentials of a client.
 *
 * @throws {TypeError} that shows nothing of them
 */
export function checkAuth(auth: unknown): asserts auth is Credentials {
  if (auth === undefined || isRecord(auth)) return;
  throw invalid(
    "auth",
    '{ api_key: "…" } or { token: "…" }, or a function that returns one of them',
  );
}

const invalid = (option: string, expected: string): TypeError =>
  new TypeError(`Cannot use the option ${option}: expected ${expected}`);

/** Returns whether HTTP can carry a text in a header. */
export const isHeaderText = (text: string): boolean =>
  /^[\t\x20-\x7e\x80-\xff]*$/.test(text);

const isTexts = (value: unknown): boolean =>
  isRecord(value) &&
  Object.values(value).every((text) =>
    typeof text === "string" && isHeaderText(text)
  );

const isTransports = (value: unknown): boolean =>
  Array.isArray(value) && value.length > 0 &&
  value.every((name) => TRANSPORTS.includes(name));

const SECRET_HEADER = /^(x-api-key|authorization|cookie)$/i;

/** Returns the warnings about a client's options, each with its remedy. */
export const warningsOf = (options: Partial<ConnectionOptions>): string[] =>
  [secretsInClear(options), unreadableExemptions(options)]
    .filter((warning) => warning !== undefined);

/**
 * Detects credentials that would be sent to another machine unencrypted (protocol §10).
 *
 * @returns a warning with its remedy, or `undefined`
 */
export function secretsInClear(
  { url, auth, headers = {} }: Partial<ConnectionOptions>,
): string | undefined {
  if (url === undefined) return undefined; // in this process
  const { host, hostname } = new URL(url);
  if (isTls(url) || isLoopbackName(hostname)) return undefined;
  const inAuth = typeof auth === "function" ||
    Object.keys(auth ?? {}).length > 0;
  const inHeaders = Object.keys(headers).some((n) => SECRET_HEADER.test(n));
  if (!inAuth && !inHeaders) return undefined;
  return `The key or token goes to ${host} unencrypted, so that others on the network can read it: use https://`;
}
