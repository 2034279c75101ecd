// @ts-types="@modelcontextprotocol/sdk/server/mcp"
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
// @ts-types="@modelcontextprotocol/sdk/types"
import {
  SubscribeRequestSchema,
  UnsubscribeRequestSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { z } from "zod";
import type { ServerSettings } from "../../../computer/mod.ts";
import { encodePng } from "./png.ts";

/** An MCP server of a test, and what its tools were asked. */
export interface Workshop {
  /** The settings of a Computer that hosts it. */
  readonly settings: ServerSettings;
  /** The arguments of the calls so far. */
  readonly asked: readonly { tool: string; params: unknown }[];
  /** Resolves when `wait` was called. */
  readonly waits: Promise<void>;
  /** Lets the calls of `wait` answer. */
  release(): void;
}

const text = (text: string) => ({ content: [{ type: "text" as const, text }] });

/**
 * Makes an MCP server with a tool for each kind of field and of result that the console shows.
 *
 * @param texts what `say` answers, by its `what`
 */
export function workshop(
  texts: Readonly<Record<string, string>> = {},
): Workshop {
  const server = new McpServer({ name: "workshop", version: "1.0.0" });
  const asked: { tool: string; params: unknown }[] = [];
  const waits = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  server.registerTool("order", {
    title: "Order a part",
    description: "Orders a part; it shows every kind of field.",
    inputSchema: {
      part: z.string().min(2).describe("what to order"),
      count: z.int().min(1).max(99).default(1).describe("how many"),
      price: z.number().optional().describe("at most"),
      urgent: z.boolean().optional().describe("by tomorrow"),
      colour: z.enum(["red", "green", "blue"]).describe("of the part"),
      marks: z.array(z.string()).optional().describe("engraved on it"),
      address: z.object({ street: z.string(), town: z.string() }).optional()
        .describe("where to send it"),
    },
    outputSchema: { part: z.string(), sum: z.number() },
  }, (params) => {
    asked.push({ tool: "order", params });
    const structuredContent = {
      part: params.part,
      sum: params.count * (params.price ?? 1),
    };
    return { ...text(JSON.stringify(structuredContent)), structuredContent };
  });
  server.registerTool("draw", {
    description: "Draws a picture.",
    inputSchema: { width: z.int().min(1).max(400).default(160) },
  }, ({ width }) => {
    asked.push({ tool: "draw", params: { width } });
    return {
      content: [{
        type: "image",
        data: gradient(width, Math.ceil(width / 2)),
        mimeType: "image/png",
      }],
    };
  });
  server.registerTool("say", {
    description: "Says a text that it knows.",
    inputSchema: { what: z.string() },
  }, ({ what }) => text(texts[what] ?? `nothing about ${what}`));
  server.registerTool("fail", {
    description: "Fails.",
    inputSchema: {},
  }, () => ({ ...text("the part is sold out"), isError: true }));
  server.registerTool("wait", {
    description: "Answers when the test wants it, or when it is cancelled.",
    inputSchema: { note: z.string().optional() },
  }, async ({ note }, { signal }) => {
    asked.push({ tool: "wait", params: { note } });
    waits.resolve();
    const cancelled = new Promise<void>((resolve) =>
      signal.addEventListener("abort", () => resolve(), { once: true })
    );
    await Promise.race([released.promise, cancelled]);
    return text(signal.aborted ? "cancelled" : "released");
  });
  server.registerResource(
    "Bench",
    "window://workshop/bench",
    { description: "What is on the bench" },
    ({ href: uri }) => ({
      contents: [{
        uri,
        text: "# On the bench\n\nA vice, two files and a lamp.",
      }],
    }),
  );
  // Windows are watched: a server that cannot be subscribed to shows none.
  server.server.registerCapabilities({ resources: { subscribe: true } });
  server.server.setRequestHandler(SubscribeRequestSchema, () => ({}));
  server.server.setRequestHandler(UnsubscribeRequestSchema, () => ({}));
  return {
    settings: {
      type: "in-process",
      server,
      default_tool_meta: { auto_apply: true },
    },
    asked,
    waits: waits.promise,
    release: () => released.resolve(),
  };
}

/** Draws two colours that run into each other, in base64. */
function gradient(width: number, height: number): string {
  const rgb = new Uint8Array(width * height * 3);
  for (let i = 0; i < width * height; i++) {
    const x = i % width;
    const y = Math.floor(i / width);
    // Sixteen steps in both directions: as many colours as a palette holds.
    const step = (part: number) => Math.floor(part * 16) * 17;
    rgb.set([step(x / width), 120, step(y / height)], i * 3);
  }
  return encodePng({ width, height, rgb }).toString("base64");
}
