// Compiled, never run: checks that a page with an Agent needs only TypeScript's libraries, no Node types.
import {
  type Credentials,
  SmcpAgent,
  type SmcpAgentOptions,
} from "@a2c-smcp/sdk/agent";
import type { CallToolResult, ContentBlock } from "@a2c-smcp/sdk/protocol";

const auth: Credentials = { api_key: "k" };
const options: SmcpAgentOptions = { url: "https://x.example", name: "a", auth };
const agent: AsyncDisposable = new SmcpAgent({
  ...options,
  auth: () => Promise.resolve({ token: "t" }),
});
export default agent;

/** Each block type has its own fields, and all types are listed. */
function show(block: ContentBlock): string {
  switch (block.type) {
    case "text":
      return block.text;
    case "image":
    case "audio":
      return `${block.mimeType}: ${block.data.length}`;
    case "resource_link":
      return `${block.name}: ${block.uri}`;
    case "resource":
      return block.resource.text ?? block.resource.uri;
    default: {
      const later: never = block;
      return JSON.stringify(later);
    }
  }
}

export const lines = ({ content }: CallToolResult): string[] =>
  content.map(show);
export const first = ({ content }: CallToolResult): string | undefined =>
  content[0]?.text;

// @ts-expect-error: a key is a string
export const wrong: Credentials = { api_key: 5 };
// @ts-expect-error: text of an image
export const none = (block: ContentBlock & { type: "image" }) => block.text.at;
