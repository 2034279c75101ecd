import type { createClient } from "redis";
import { loadPackages } from "../../../shared/packages.ts";

/** A connection of the package `redis`. */
export type Client = ReturnType<Library["createClient"]>;

/** The package `redis`, an optional peer. */
export interface Library {
  /** Creates a client that is not connected yet. */
  readonly createClient: typeof createClient;
}

/**
 * Loads the package `redis`, which only a cluster needs.
 *
 * @throws {Error} when it is not installed, or is another major version
 */
export async function loadLibrary(): Promise<Library> {
  const task = "join a cluster";
  const library = await loadPackages(
    task,
    ["redis@6"],
    () => import("redis"),
  );
  return requireVersion6(library, task);
}

/**
 * Checks the version of the package: older ones have other names and another protocol, and would fail
 * later and less clearly.
 *
 * @throws {Error} for another major version
 */
export function requireVersion6<T extends object>(library: T, task: string): T {
  if ("DEFAULT_RESP" in library && library.DEFAULT_RESP === 3) return library;
  throw new Error(
    `Cannot ${task}: the package redis is not of version 6; install it: npm install redis@6`,
  );
}
