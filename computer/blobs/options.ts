import type { NamesOf } from "../../shared/checks.ts";

/** Options for content that is too large for a message, and for files of Agents. */
export interface BlobOptions {
  /**
   * The folder for files that Agents send, which is made if it is missing; without one, none is
   * taken. Take it from the owner, never from a file of a project, whose authors would choose where
   * Agents write.
   */
  landingRoot?: string;
  /** Limits of those files. */
  uploads?: {
    /** Maximum bytes of a file; default 100 MiB. */
    readonly maxBytes?: number;
    /** Maximum files at a time; default 4. */
    readonly maxConcurrent?: number;
    /** How long a file may wait for its next part until it is dropped; default 120,000. */
    readonly idleTimeoutMs?: number;
  };
  /**
   * What keeps large images and files of results until Agents have fetched them; what was not used
   * for longest goes first.
   */
  blobStore?: {
    /** Maximum bytes altogether; default 512 MiB. A single image or file has at most 100 MiB. */
    readonly maxBytes?: number;
    /** Maximum bytes in memory; what is older is written to the disk. Default 32 MiB. */
    readonly memoryBytes?: number;
    /** The folder in which a private one is made for them; default: the system's for temporary files. */
    readonly directory?: string;
  };
}

/** The names of {@linkcode BlobOptions}. */
export const BLOB_NAMES = {
  landingRoot: true,
  uploads: {
    maxBytes: true,
    maxConcurrent: true,
    idleTimeoutMs: true,
  } satisfies NamesOf<NonNullable<BlobOptions["uploads"]>>,
  blobStore: {
    maxBytes: true,
    memoryBytes: true,
    directory: true,
  } satisfies NamesOf<NonNullable<BlobOptions["blobStore"]>>,
} satisfies NamesOf<BlobOptions>;
