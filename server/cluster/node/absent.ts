import { RegistryUnavailableError } from "../directory/unavailable.ts";
import type { Directory } from "../directory/directory.ts";
import type { Messenger } from "../links/links.ts";
import type { OfficeRegistry } from "../../offices/registry.ts";

const unavailable = (): Promise<never> =>
  Promise.reject(new RegistryUnavailableError(false));

const NO_REGISTRY: OfficeRegistry = {
  claim: unavailable,
  release: () => 0, // who has no node has no seat
  list: unavailable,
};

/** The directory of a node that is not in its cluster now. */
export const NO_DIRECTORY: Pick<Directory, "node" | "registry"> = {
  node: "",
  registry: () => NO_REGISTRY,
};

/** The links of such a node. */
export const NO_LINKS: Messenger = {
  peers: new Set(),
  maxMessageBytes: 0,
  send: () => "away",
};
