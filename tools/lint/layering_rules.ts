import { posix } from "node:path";
import { judgeLayers } from "./role_layers.ts";

/** What is wrong with a line, and what to do instead. */
export interface Fault {
  /** Who did what, and the rule that forbids it. */
  readonly message: string;
  /** The way out. */
  readonly hint: string;
}

/**
 * The rooms of the package, and which others each may import; a role never imports another, and
 * `testing`, which is none, imports them all.
 */
const ROOMS = {
  shared: [],
  protocol: [],
  client: ["shared", "protocol"],
  cli: ["shared", "protocol", "client"],
  agent: ["shared", "protocol", "client", "cli"],
  server: ["shared", "protocol", "cli"],
  computer: ["shared", "protocol", "client", "cli"],
  mcp: ["shared", "protocol", "agent"],
  testing: ["shared", "protocol", "client", "agent", "server", "computer"],
} as const satisfies Record<string, readonly string[]>;
type Room = keyof typeof ROOMS;

const FRONT_DOOR = "mod.ts";
const OWN_NAME = "@a2c-smcp/sdk";

/** All that the wire may depend on: it runs in browsers and isolates too. */
const PROTOCOL_PACKAGES = ["zod", "std-semver"];

/** Packages that belong to certain rooms; all others are free to every room but protocol. */
const PACKAGE_ROOMS: Readonly<Record<string, readonly Room[]>> = {
  "socket.io": ["server"],
  "socket.io-client": ["client"],
  "@modelcontextprotocol/server": ["mcp"],
  "commander": ["cli", "agent", "server", "computer"],
};

/** Rooms whose `mod.ts` is all that others may import of them. */
const FENCED = ["server/wire", "mcp"];

/** Rooms that commands alone put to use; a role does not know of them. */
const COMMANDS_ONLY: readonly string[] = ["mcp"] satisfies Room[];

/**
 * Judges one import of one file.
 *
 * @param file path from the repository's root, with `/`
 * @param specifier as written in the source
 */
export function judgeImport(
  file: string,
  specifier: string,
): Fault | undefined {
  if (file === FRONT_DOOR) return judgeFrontDoor(specifier);
  const room = roomOf(file);
  if (room === undefined) return undefined;
  if (isSelf(specifier)) {
    return {
      message: `${room} imports this package by its own name, "${specifier}"`,
      hint: "Import the file by its relative path",
    };
  }
  if (!specifier.startsWith(".")) {
    return judgePackage(room, packageOf(specifier));
  }
  const target = posix.join(posix.dirname(file), specifier);
  return judgeFile(room, file, target) ?? judgeFence(file, target);
}

/** Judges whether an import reaches past the `mod.ts` of a fenced room. */
function judgeFence(file: string, target: string): Fault | undefined {
  const fenced = FENCED.find((room) => target.startsWith(`${room}/`));
  if (fenced === undefined || file.startsWith(`${fenced}/`)) return undefined;
  if (target === `${fenced}/mod.ts`) return undefined;
  return {
    message: `${file} imports ${target}; ${fenced} shows its mod.ts alone`,
    hint: `Import what you need from ${fenced}/mod.ts`,
  };
}

/** Judges the use of the `Deno` global: everything but a command also runs on Node. */
export function judgeDenoGlobal(file: string): Fault | undefined {
  if (roomOf(file) === undefined || posix.basename(file) === "main.ts") {
    return undefined;
  }
  return {
    message: "The Deno global is used outside of a main.ts: Node has none",
    hint: "Use a node: module, or take the value as an option from main.ts",
  };
}

/** Judges a `using` declaration, which the npm tarball would carry to Node 22 as it is. */
export function judgeUsing(file: string): Fault | undefined {
  if (roomOf(file) === undefined) return undefined;
  return {
    message: "A `using` declaration: Node 22 can not parse it",
    hint: "Write try … finally, or pass a function to one that cleans up",
  };
}

/** Where names of events are written: today's, and what older versions call them. */
const EVENT_HOMES = ["protocol/events.ts", "protocol/profiles.ts"];

/** Judges a string: the names of events have one home. */
export function judgeText(file: string, text: string): Fault | undefined {
  const names = /^(client|server|notify):[a-z_]*$/;
  if (!names.test(text) || EVENT_HOMES.includes(file)) return undefined;
  if (file !== FRONT_DOOR && roomOf(file) === undefined) return undefined;
  return {
    message:
      `The event name "${text}" is written outside of protocol/events.ts`,
    hint: "Import its constant, or what the event table says about it",
  };
}

function judgeFrontDoor(specifier: string): Fault | undefined {
  const target = specifier.startsWith(".") ? posix.join(specifier) : "";
  // What it runs when it is the program, and what it re-exports.
  const to = roomOf(target);
  if (target === "main.ts" || to !== undefined && !COMMANDS_ONLY.includes(to)) {
    return undefined;
  }
  return {
    message: `The front door imports "${specifier}"; it only re-exports ${
      Object.keys(ROOMS).filter((room) => !COMMANDS_ONLY.includes(room)).join(
        ", ",
      )
    }`,
    hint: "Export it from the room that it belongs to",
  };
}

function judgeFile(
  room: Room,
  file: string,
  target: string,
): Fault | undefined {
  const to = roomOf(target);
  if (to === undefined) {
    return {
      message: `${room} imports ${target}, which is no part of a room`,
      hint: `Move what is needed into ${room}/`,
    };
  }
  if (to === room) return judgeLayers(room, file, target);
  const allowed: readonly Room[] = ROOMS[room];
  if (allowed.includes(to)) return undefined;
  const isCommand = posix.basename(file) === "main.ts";
  if (isCommand && COMMANDS_ONLY.includes(to)) return undefined;
  return {
    message: allowed.length === 0
      ? `${room} imports ${to}; it knows no role`
      : `${room} imports ${to}; it may import itself and ${
        allowed.join(", ")
      }, and no role imports another role`,
    hint:
      `Move what both need to a room below, or take it through an interface`,
  };
}

function judgePackage(room: Room, name: string): Fault | undefined {
  if (room === "protocol") {
    if (PROTOCOL_PACKAGES.includes(name)) return undefined;
    return {
      message: `protocol imports ${name}; it imports ${
        PROTOCOL_PACKAGES.join(" and ")
      } only`,
      hint:
        "Take the value as a parameter, or move the file to the room that needs it",
    };
  }
  const home = PACKAGE_ROOMS[name];
  if (home === undefined || home.includes(room)) return undefined;
  return {
    message: `${room} imports ${name}, which belongs to ${home.join(" and ")}`,
    hint: "Move the code there, or work with what the wire shows",
  };
}

function roomOf(file: string): Room | undefined {
  const [top, ...rest] = file.split("/");
  return rest.length > 0 && top !== undefined && isRoom(top) ? top : undefined;
}

const isRoom = (name: string): name is Room => Object.hasOwn(ROOMS, name);

const isSelf = (specifier: string): boolean =>
  specifier === OWN_NAME || specifier.startsWith(`${OWN_NAME}/`);

/** `npm:@scope/name@^1/path` → `@scope/name`; `node:fs` stays as it is. */
function packageOf(specifier: string): string {
  const bare = specifier.replace(/^(npm|jsr):\/?/, "");
  const [name = bare] = /^(@[^/@]+\/)?[^/@]+/.exec(bare) ?? [];
  return name;
}
