/**
 * Checks of a client's options, which JavaScript does not check, and of its URL.
 *
 * @module
 */
import { checkTls, unreadableExemptions } from "./node_way.ts";
import type { ConnectionOptions, Credentials } from "./options.ts";
import { isTls } from "./tls.ts";
import { isOfficeName, isRecord, OFFICE_NAME_RULE } from "../protocol/names.ts";
import { VERSION_PARAMETER } from "../protocol/version.ts";

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
 * @throws {TypeError} that says what is expected
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

/** What options of a network connection have no use for in this process, and what to do instead. */
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
    const expected = "what connect() of a Server in this process returns";
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

/** The parts of a Server's URL. */
interface ServerAddress {
  /** Scheme, host and port; a path in the URL is not part of it. */
  readonly origin: string;
  /** The parameters of the URL's query, without that of the protocol (protocol §2). */
  readonly query: Record<string, string>;
}

/**
 * Parses the URL of a Server; the version cannot be set through it (protocol §2).
 *
 * @throws {TypeError} with an example of a valid URL
 */
export function parseServerUrl(url: string): ServerAddress {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (!parsed || !/^(https?|wss?):$/.test(parsed.protocol)) {
    const shown = JSON.stringify(url);
    throw new TypeError(
      `Cannot connect to ${shown}: expected a URL such as "http://127.0.0.1:8787" or "https://smcp.example.com"`,
    );
  }
  const query = Object.fromEntries(parsed.searchParams);
  delete query[VERSION_PARAMETER];
  return { origin: `${parsed.protocol}//${parsed.host}`, query };
}

const SECRET_HEADER = /^(x-api-key|authorization|cookie)$/i;

/** Returns whether the host of a URL is this machine, by its name. */
export const isLoopback = (hostname: string): boolean =>
  /^(localhost|.*\.localhost|127(\.\d+){3}|\[::1\])$/i.test(hostname);

/** Returns what the user of a client should know before it connects, each with what to do. */
export const warningsOf = (options: Partial<ConnectionOptions>): string[] =>
  [secretsInClear(options), unreadableExemptions(options)]
    .filter((warning) => warning !== undefined);

/**
 * Detects credentials that would be sent to another machine unencrypted (protocol §10).
 *
 * @returns a warning that says what to do, or `undefined`
 */
export function secretsInClear(
  { url, auth, headers = {} }: Partial<ConnectionOptions>,
): string | undefined {
  if (url === undefined) return undefined; // in this process
  const { host, hostname } = new URL(url);
  if (isTls(url) || isLoopback(hostname)) return undefined;
  const inAuth = typeof auth === "function" ||
    Object.keys(auth ?? {}).length > 0;
  const inHeaders = Object.keys(headers).some((n) => SECRET_HEADER.test(n));
  if (!inAuth && !inHeaders) return undefined;
  return `The key or token goes to ${host} unencrypted, where anyone on the way can read it: use https:// there`;
}
