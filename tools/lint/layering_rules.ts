import { posix } from "node:path";
import { judgeLayers } from "./role_layers.ts";

/** A violation of a rule. */
export interface Fault {
  /** The violation, and its rule. */
  readonly message: string;
  /** What to do instead. */
  readonly hint: string;
}

/**
 * The rooms of the package, with the others that each may import; roles never import each other, and
 * `testing`, which is not a role, imports all of them.
 */
const ROOMS = {
  shared: [],
  console: ["shared"],
  protocol: [],
  client: ["shared", "protocol"],
  cli: ["shared", "protocol", "client"],
  agent: ["shared", "protocol", "client", "cli"],
  server: ["shared", "protocol", "cli", "console"],
  computer: ["shared", "protocol", "client", "cli", "console"],
  mcp: ["shared", "protocol", "client", "agent"],
  testing: ["shared", "protocol", "client", "agent", "server", "computer"],
} as const satisfies Record<string, readonly string[]>;
type Room = keyof typeof ROOMS;

/** The folders with the code of the package. */
export const HOUSE: readonly string[] = Object.keys(ROOMS);

const PACKAGE_ENTRY = "mod.ts";
const OWN_NAME = "@a2c-smcp/sdk";

/** The only packages that the wire may depend on, since it also runs in browsers and isolates. */
const PROTOCOL_PACKAGES = ["zod", "std-semver"];

/** Packages reserved for certain rooms; others are allowed in every room except protocol. */
const PACKAGE_ROOMS: Readonly<Record<string, readonly Room[]>> = {
  "socket.io": ["server"],
  "socket.io-client": ["client"],
  "https-proxy-agent": ["client", "cli"],
  "redis": ["server"],
  "@modelcontextprotocol/server": ["mcp"],
  "commander": ["cli", "agent", "server", "computer"],
};

/** Rooms that browsers and edge platforms load; what they use of Node where it is, they look up at run time. */
const WEB_ROOMS: readonly string[] = ["client", "agent"] satisfies Room[];
/** Their parts that run elsewhere alone, or have types alone. */
const NODE_PARTS = [
  "agent/cli/",
  "agent/main.ts",
  "client/network/node_fetch.ts",
  "client/node_modules.ts",
];

/** Rooms of which no edge platform has bundles, where the default form of zod, of 450 KB, does no harm. */
const ZOD_ROOMS: readonly string[] = ["computer", "mcp"] satisfies Room[];

/** Rooms of which others may import only these files. */
const ENTRIES: Readonly<Record<string, readonly string[]>> = {
  "server/wire": ["mod.ts", "fetch_engine.ts", "stock_engine.ts"],
  "server/cluster": ["mod.ts", "cluster_offices.ts"],
  mcp: ["mod.ts"],
};

/** Entries of rooms that one file alone imports, and only where it is used. */
const LAZY_ENTRIES: Readonly<Record<string, string>> = {
  "server/cluster/mod.ts": "server/cli/serve.ts",
};

/** Rooms of rules alone, with all that each may import besides itself: neither packages nor `node:`. */
const PURE_ROOMS: Readonly<Record<string, readonly string[]>> = {
  "server/office": ["protocol", "shared", "server/shared"],
};

/** Rooms that only commands import; roles do not depend on them. */
const COMMANDS_ONLY: readonly string[] = ["mcp"] satisfies Room[];

/**
 * Checks an import of a file.
 *
 * @param file the path from the repository's root, with `/`
 * @param specifier as written in the source
 * @param isLazy whether it is an `import()`
 */
export function judgeImport(
  file: string,
  specifier: string,
  isLazy = false,
): Fault | undefined {
  if (file === PACKAGE_ENTRY) return judgeFrontDoor(specifier);
  const room = roomOf(file);
  if (room === undefined) return undefined;
  if (isSelf(specifier)) {
    return {
      message: `${room} imports this package by its own name, "${specifier}"`,
      hint: "Import the file by its relative path",
    };
  }
  if (!specifier.startsWith(".")) {
    return judgePure(file, specifier) ?? judgeWeb(file, room, specifier) ??
      judgePackage(room, packageOf(specifier));
  }
  const target = posix.join(posix.dirname(file), specifier);
  return judgePure(file, target) ?? judgeFile(room, file, target) ??
    judgeFence(file, target) ?? judgeLazyEntry(file, target, isLazy);
}

/** Checks whether a file imports an entry that another file loads when it is needed. */
function judgeLazyEntry(
  file: string,
  target: string,
  isLazy: boolean,
): Fault | undefined {
  const importer = LAZY_ENTRIES[target];
  const isInside = file.startsWith(`${posix.dirname(target)}/`);
  if (importer === undefined || isInside) return undefined;
  if (file === importer && isLazy) return undefined;
  return {
    message:
      `${file} imports ${target}; only ${importer} does, with import() where it is needed`,
    hint: "Take what you need through an interface of a room below",
  };
}

/** Checks whether a room of rules imports an edge. */
function judgePure(file: string, target: string): Fault | undefined {
  const [room, allowed = []] = Object.entries(PURE_ROOMS)
    .find(([room]) => file.startsWith(`${room}/`)) ?? [];
  if (room === undefined) return undefined;
  if ([room, ...allowed].some((each) => target.startsWith(`${each}/`))) {
    return undefined;
  }
  return {
    message: `${room} imports ${target}; it has rules alone, and imports ${
      allowed.join(", ")
    }`,
    hint: "Take what you need through an interface of server/office/peer.ts",
  };
}

/** Checks whether an import is more than a bundle for browsers or edge platforms can have. */
function judgeWeb(
  file: string,
  room: Room,
  specifier: string,
): Fault | undefined {
  if (specifier === "zod" && !ZOD_ROOMS.includes(room)) {
    return {
      message: `${room} imports zod in its default form`,
      hint: "Import protocol/schema.ts, which is zod/mini",
    };
  }
  const isOfWeb = WEB_ROOMS.includes(room) &&
    !NODE_PARTS.some((part) => file.startsWith(part));
  if (!isOfWeb || !specifier.startsWith("node:")) return undefined;
  return {
    message: `${file} imports ${specifier}, which browsers do not have`,
    hint: "Use what the web has, or look the module up with nodeModule()",
  };
}

/** Checks whether an import bypasses the entries of a fenced room. */
function judgeFence(file: string, target: string): Fault | undefined {
  const [fenced, entries = []] = Object.entries(ENTRIES)
    .find(([room]) => target.startsWith(`${room}/`)) ?? [];
  if (fenced === undefined || file.startsWith(`${fenced}/`)) return undefined;
  if (entries.some((entry) => target === `${fenced}/${entry}`)) {
    return undefined;
  }
  const shown = entries.map((entry) => `${fenced}/${entry}`);
  return {
    message: `${file} imports ${target}; ${fenced} shows its ${
      entries.join(" and its ")
    } alone`,
    hint: `Import what you need from ${shown.join(" or ")}`,
  };
}

/** Checks the use of the `Deno` global: everything except commands also runs on Node. */
export function judgeDenoGlobal(file: string): Fault | undefined {
  if (roomOf(file) === undefined || posix.basename(file) === "main.ts") {
    return undefined;
  }
  return {
    message: "The Deno global is used outside of a main.ts: Node has none",
    hint: "Use a node: module, or take the value as an option from main.ts",
  };
}

/** Checks a change of the environment. */
export function judgeEnvironment(file: string): Fault {
  return {
    message:
      `${file} changes the environment of its process, which tests share that run at the same time`,
    hint: "Start a process of its own, with that environment",
  };
}

/** Checks a `using` declaration, which the npm tarball would contain unchanged, also for Node 22. */
export function judgeUsing(file: string): Fault | undefined {
  if (roomOf(file) === undefined) return undefined;
  return {
    message: "A `using` declaration: Node 22 cannot parse it",
    hint: "Write try … finally, or pass a function to one that cleans up",
  };
}

/** The files with the names of events: current ones, and those of older versions. */
const EVENT_HOMES = ["protocol/events.ts", "protocol/profiles.ts"];

/** Checks a string: event names are defined in one place. */
export function judgeText(file: string, text: string): Fault | undefined {
  const names = /^(client|server|notify):[a-z_]*$/;
  if (!names.test(text) || EVENT_HOMES.includes(file)) return undefined;
  if (file !== PACKAGE_ENTRY && roomOf(file) === undefined) return undefined;
  return {
    message:
      `The event name "${text}" is written outside of protocol/events.ts`,
    hint: "Import its constant, or what the event table says about it",
  };
}

function judgeFrontDoor(specifier: string): Fault | undefined {
  const target = specifier.startsWith(".") ? posix.join(specifier) : "";
  // Commands that it runs as the program, and re-exports.
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

/** Returns the room of a file. */
export function roomOf(file: string): Room | undefined {
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
