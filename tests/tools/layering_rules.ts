import { posix } from "node:path";

/** What is wrong with a line, and what to do instead. */
export interface Fault {
  /** Who did what, and the rule that forbids it. */
  readonly message: string;
  /** The way out. */
  readonly hint: string;
}

/** The four rooms of the package; a person who opens one sees one role. */
const ROOMS = ["protocol", "agent", "server", "computer"] as const;
type Room = typeof ROOMS[number];

const FRONT_DOOR = "mod.ts";
const OWN_NAME = "@a2c-smcp/sdk";

/** All that the wire may depend on: it runs in browsers and isolates too. */
const PROTOCOL_PACKAGES = ["zod", "std-semver"];

/** Packages of which one folder of the wire may name the types; values come in as parameters. */
const PROTOCOL_TYPES: Readonly<Record<string, string>> = {
  "socket.io-client": "protocol/client/",
  "commander": "protocol/cli/",
};

/** Packages that belong to certain rooms; all others are free to every role. */
const PACKAGE_ROOMS: Readonly<Record<string, readonly Room[]>> = {
  "socket.io": ["server"],
  "socket.io-client": ["agent", "computer"],
};

/**
 * Judges one import of one file.
 *
 * @param file path from the repository's root, with `/`
 * @param specifier as written in the source
 * @param typeOnly whether the import is gone at run time
 */
export function judgeImport(
  file: string,
  specifier: string,
  typeOnly: boolean,
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
  return specifier.startsWith(".")
    ? judgeFile(room, posix.join(posix.dirname(file), specifier))
    : judgePackage(file, room, packageOf(specifier), typeOnly);
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
  if (target === "main.ts" || roomOf(target) !== undefined) return undefined;
  return {
    message: `The front door imports "${specifier}"; it only re-exports ${
      ROOMS.join(", ")
    }`,
    hint: "Export it from the room that it belongs to",
  };
}

function judgeFile(room: Room, target: string): Fault | undefined {
  const to = roomOf(target);
  if (to === room || (to === "protocol" && room !== "protocol")) {
    return undefined;
  }
  if (to === undefined) {
    return {
      message: `${room} imports ${target}, which is no part of a room`,
      hint: `Move what is needed into ${room}/`,
    };
  }
  return {
    message: room === "protocol"
      ? `protocol imports ${to}; the wire knows no role`
      : `${room} imports ${to}; a role imports protocol and itself, never another role`,
    hint: "Move what both need to protocol/, or take it through an interface",
  };
}

function judgePackage(
  file: string,
  room: Room,
  name: string,
  typeOnly: boolean,
): Fault | undefined {
  if (room === "protocol") {
    if (PROTOCOL_PACKAGES.includes(name)) return undefined;
    const folder = PROTOCOL_TYPES[name];
    if (folder !== undefined && typeOnly && file.startsWith(folder)) {
      return undefined;
    }
    return {
      message: `protocol imports ${name}; at run time it imports ${
        PROTOCOL_PACKAGES.join(" and ")
      } only`,
      hint: folder === undefined
        ? "Take the value as a parameter, or move the file to the role that needs it"
        : `Use \`import type\` in ${folder}, and take the value as a parameter`,
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
  return rest.length > 0 ? ROOMS.find((room) => room === top) : undefined;
}

const isSelf = (specifier: string): boolean =>
  specifier === OWN_NAME || specifier.startsWith(`${OWN_NAME}/`);

/** `npm:@scope/name@^1/path` → `@scope/name`; `node:fs` stays as it is. */
function packageOf(specifier: string): string {
  const bare = specifier.replace(/^(npm|jsr):\/?/, "");
  const [name = bare] = /^(@[^/@]+\/)?[^/@]+/.exec(bare) ?? [];
  return name;
}
