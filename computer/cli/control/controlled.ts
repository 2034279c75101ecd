/**
 * What commands of the same user, and the shell, do with a running Computer.
 *
 * @module
 */
import process from "node:process";
import { isLoopbackName } from "../../../shared/loopback.ts";
import { quoted } from "../../../shared/shown_text.ts";
import type { OpenPairing } from "../../approvals/pairings.ts";
import { officeLinkOf, type SmcpComputer } from "../../computer.ts";
import type { ControlTarget, PairingTalk } from "../../control/control.ts";
import type {
  ComputerPlace,
  KnownDevice,
  ListedPermission,
  PairingEnd,
  RuleList,
} from "../../control/messages.ts";
import type { Permission } from "../../rules/permissions.ts";
import { permissionText } from "../question_text.ts";
import type { PersonsDevices } from "./persons_devices.ts";

/** What a {@linkcode ControlledComputer} is made of. */
export interface ControlledParts {
  readonly computer: SmcpComputer;
  readonly devices: PersonsDevices;
  /** The office that it is to join. */
  readonly office: string | undefined;
  /** The address by which devices reach the Server, where it is not the Computer's own. */
  readonly publicUrl?: string | undefined;
}

/** A Computer as commands act on it. */
export class ControlledComputer implements ControlTarget {
  readonly #parts: ControlledParts;

  constructor(parts: ControlledParts) {
    this.#parts = parts;
  }

  where(): ComputerPlace {
    const { computer, office, publicUrl } = this.#parts;
    return {
      name: computer.name,
      office: computer.office ?? office,
      url: publicUrl ?? computer.url,
      pid: process.pid,
    };
  }

  async devices(): Promise<readonly KnownDevice[]> {
    const { devices } = this.#parts;
    if (!devices.isKept) return [];
    return (await devices.load()).devices();
  }

  async removeDevice(which: string): Promise<KnownDevice> {
    const all = await this.devices();
    const { id, label } = pick(all, which, ({ id, label }) => [label, id], {
      none: "device",
      list: ({ label }) => quoted(label),
    });
    const removed = await (await this.#parts.devices.load()).remove(id);
    if (removed !== undefined) return removed;
    throw new Error(`the device ${quoted(label)} is gone already`);
  }

  rules(): Promise<RuleList> {
    const { computer } = this.#parts;
    return Promise.resolve({
      rules: computer.rules.map(({ id, then, text }) => ({ id, then, text })),
      permissions: computer.permissions.list().map(toListed),
    });
  }

  async removePermission(which: string): Promise<ListedPermission> {
    const { computer: { permissions }, devices } = this.#parts;
    const found = pick(permissions.list(), which, ({ id }) => [id], {
      none: "permission",
      list: ({ id }) => id,
    });
    permissions.remove(found.id);
    // It is written already; here a failure is the answer, since it would be back with the next start.
    await devices.permissions.write(permissions.list());
    return toListed(found);
  }

  async pair(page: string | undefined, talk: PairingTalk): Promise<PairingEnd> {
    const { computer, publicUrl, devices } = this.#parts;
    const approvals = await devices.load();
    const link = officeLinkOf(computer).devices;
    const { host } = await link.announce(); // with it comes whether the Server has approvals
    const { office } = computer;
    if (office === undefined) throw new Error("the Computer left its office");
    const url = reachedAt(publicUrl ?? computer.url, host);
    const open = await approvals.pair({
      page: page ?? `${url.replace(/\/+$/, "")}/approve`,
      url,
      office,
      computer: computer.name,
    });
    talk.show({
      event: "link",
      link: open.link,
      untilMs: open.untilMs,
      warnings: warningsOf(url, page, publicUrl !== undefined),
    });
    return await converse(open, talk);
  }
}

/** Passes on what happens, and the digits, until the pairing has ended. */
async function converse(
  open: OpenPairing,
  talk: PairingTalk,
): Promise<PairingEnd> {
  let paired: string | undefined;
  void open.opened.then(({ label }) => {
    paired = label;
    talk.show({ event: "opened", label });
  });
  const read = async (): Promise<void> => {
    for (;;) {
      const digits = await talk.digits();
      if (digits === undefined) return open.cancel(); // the command has ended
      const said = await open.type(digits);
      if (said === "paired") return;
      talk.show({ event: "wrong", triesLeft: said.triesLeft });
    }
  };
  const failed = read().then(
    () => new Promise<never>(() => {}),
    (error) => {
      open.cancel();
      throw error;
    },
  );
  const end = await Promise.race([open.ended, failed]);
  return end === "paired" ? { paired } : { reason: REASONS[end] };
}

const REASONS: Readonly<
  Record<Exclude<Awaited<OpenPairing["ended"]>, "paired">, string>
> = {
  expired: "the digits were not typed within five minutes",
  "wrong digits": "the digits were wrong three times",
  replaced: "another pairing has begun",
  cancelled: "it was cancelled",
  closed: "the Computer has ended",
};

/**
 * Returns the address by which devices reach the Server.
 *
 * @param host the only host name under which it has approvals, where it has one
 */
function reachedAt(url: string, host: string | undefined): string {
  const address = new URL(url.replace(/^ws/, "http"));
  if (host !== undefined) address.host = host;
  return address.href.replace(/\/+$/, "");
}

/** Describes what is allowed, but may not be what the person expects. */
const warningsOf = (
  url: string,
  page: string | undefined,
  isPublic: boolean,
): string[] => [
  ...isLoopbackName(new URL(url).hostname)
    ? [
      "the Server's address is of this machine alone, so that no phone reaches it; give the Server an https address, and the Computer that one with --url, or `up` with --public-url",
    ]
    : [],
  ...page === undefined && !isPublic
    ? [
      "the page is the Server's: whoever operates that can answer in your name; with --page, or smcp-computer approve, they cannot",
    ]
    : [],
];

const toListed = (permission: Permission): ListedPermission => {
  const { id, usesLeft, untilMs } = permission;
  return { id, covers: permissionText(permission), usesLeft, untilMs };
};

/**
 * Picks the only item with a name, or with one that begins like that.
 *
 * @throws {Error} that lists what there is
 */
function pick<T>(
  items: readonly T[],
  which: string,
  names: (item: T) => readonly string[],
  { none, list }: {
    readonly none: string;
    readonly list: (item: T) => string;
  },
): T {
  const exact = items.filter((item) => names(item).includes(which));
  const [found, ...more] = exact.length > 0
    ? exact
    : items.filter((item) =>
      which !== "" && names(item).some((name) => name.startsWith(which))
    );
  if (found !== undefined && more.length === 0) return found;
  const shown = items.map(list).join(", ");
  throw new Error(
    found === undefined
      ? `there is no ${none} ${quoted(which)}; ${
        shown === "" ? "there is none at all" : `there are ${shown}`
      }`
      : `${
        quoted(which)
      } fits more than one ${none}: ${shown}; write more of it`,
  );
}
