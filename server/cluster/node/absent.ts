import type { Directory } from "../directory/directory.ts";
import { RegistryUnavailableError } from "../directory/unavailable.ts";
import type { Messenger } from "../links/links.ts";

/** The directory of a node that is not in its cluster now. */
export const NO_DIRECTORY: Directory = {
  node: "",
  claim: () => Promise.reject(new RegistryUnavailableError()),
  release: () => Promise.resolve(), // its homes have ended with its lease
};

/** The links of such a node. */
export const NO_LINKS: Messenger = {
  peers: new Set(),
  maxMessageBytes: 0,
  send: () => "away",
};
