/**
 * The commands for what persons have allowed programs that signed in: a list, and an end.
 *
 * @module
 */
import { print as printLine } from "../../cli/print.ts";
import { UsageError } from "../../cli/run.ts";
import { plain } from "../../cli/terminal_text.ts";
import { choiceText } from "../../shared/computer_choice.ts";
import { relativeTime } from "../../shared/time/relative_time.ts";
import * as schemas from "../operator/schemas.ts";
import {
  type ChangeFlags,
  encodedName,
  OperatorClient,
  print,
  read,
  type ShowFlags,
} from "./operate.ts";

/** Flags that select grants. */
interface WhichFlags {
  /** Of this office. */
  readonly office?: string;
  /** Of this key: its id, or a whole principal such as `jwt:ada`. */
  readonly key?: string;
}

/** Prints the grants, the newest first. */
export async function grants(
  { office, key, ...flags }: ShowFlags & WhichFlags,
): Promise<void> {
  const which = [
    ...(office === undefined ? [] : [`office=${encodedName(office)}`]),
    ...(key === undefined
      ? []
      : [`principal=${encodeURIComponent(principalOf(key))}`]),
  ];
  const query = which.length > 0 ? `?${which.join("&")}` : "";
  const { grants, url } = await read(flags, `/grants${query}`, schemas.grants);
  const none = which.length > 0
    ? "no program has signed in there"
    : `no program has signed in${
      url === undefined ? "" : `; it needs the URL ${plain(url)} alone`
    }`;
  const now = Date.now();
  print(flags, grants, none, {
    ID: ({ id }) => id,
    PROGRAM: ({ program }) => program || "(no name)",
    "VOUCHED BY": ({ vouched_by }) => vouched_by,
    OFFICE: ({ office }) => office,
    KEY: ({ principal }) => principal,
    COMPUTERS: ({ computers }) => choiceText(computers),
    SINCE: ({ since }) => relativeTime(since, now),
    USED: ({ used }) => relativeTime(used, now),
    EXPIRES: ({ expires }) => relativeTime(expires, now),
  });
}

/**
 * Ends the grant with an id, or all of a key or an office.
 *
 * @throws {UsageError} unless one of them is given
 * @throws {Error} when there is none
 */
export async function endGrants(
  id: string | undefined,
  { office, key, reason, ...flags }: ChangeFlags & WhichFlags,
): Promise<void> {
  const which = [
    ...(id === undefined ? [] : [{ id }]),
    ...(office === undefined ? [] : [{ office }]),
    ...(key === undefined ? [] : [{ principal: principalOf(key) }]),
  ];
  if (which.length !== 1) {
    throw new UsageError(
      'give one of an id, --key and --office; the command "grants" lists them',
    );
  }
  const client = new OperatorClient(flags);
  const order = { ...which[0], reason };
  const { ended } = await client.ask("/grants/end", schemas.ended, order);
  for (const { id, program, office, principal } of ended) {
    const who = plain(program || "a program without a name");
    printLine(
      `ended: ${who} in ${plain(office)}, of ${plain(principal)} (${
        plain(id)
      })`,
    );
  }
}

/** A key is named by its id, as in \`key revoke\`; other principals have a colon. */
const principalOf = (key: string): string =>
  key.includes(":") ? key : `key:${key}`;
