// @ts-types="@modelcontextprotocol/sdk/types"
import type {
  ReadResourceResult,
  Resource,
  ResourceTemplate,
} from "@modelcontextprotocol/sdk/types.js";
import { PNG } from "./results.ts";

type Contents = ReadResourceResult["contents"][number];

const CONTENTS: readonly Contents[] = [
  {
    uri: "test://static-text",
    mimeType: "text/plain",
    text: "This is the content of the static text resource.",
  },
  { uri: "test://static-binary", mimeType: "image/png", blob: PNG },
  {
    uri: "test://watched-resource",
    mimeType: "text/plain",
    text: "Watched resource content",
  },
];

/** The listed resources. */
export const RESOURCES: readonly Resource[] = CONTENTS.map((
  { uri, mimeType = "" },
) => ({
  uri,
  name: uri.replace("test://", ""),
  description: "A resource for testing",
  mimeType,
}));

/** The listed templates. */
export const TEMPLATES: readonly ResourceTemplate[] = [{
  uriTemplate: "test://template/{id}/data",
  name: "template",
  description: "A resource with a parameter",
  mimeType: "application/json",
}];

/** Returns what is at a URI, if anything is. */
export function readResource(uri: string): Contents | undefined {
  const [, id] = /^test:\/\/template\/([^/]+)\/data$/.exec(uri) ?? [];
  if (id === undefined) return CONTENTS.find((one) => one.uri === uri);
  const data = { id, templateTest: true, data: `Data for ID: ${id}` };
  return { uri, mimeType: "application/json", text: JSON.stringify(data) };
}
