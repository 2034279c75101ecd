import {
  blobNotAccessible,
  blobWriteFailed,
  type GET_BLOB_EVENT,
  type PUT_BLOB_EVENT,
} from "../../../protocol/mod.ts";
import type { Handler } from "./handler.ts";

/** Gets a chunk of bytes: this Computer issues no handles. */
export const getBlob: Handler<typeof GET_BLOB_EVENT, unknown> = () => {
  throw blobNotAccessible("invalid_handle");
};

/** Takes a chunk of a file: this Computer has no place for files. */
export const putBlob: Handler<typeof PUT_BLOB_EVENT, unknown> = () => {
  throw blobWriteFailed(
    "forbidden",
    "this Computer takes no files; its owner can set a folder for them",
  );
};
