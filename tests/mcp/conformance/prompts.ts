// @ts-types="@modelcontextprotocol/sdk/types"
import type { Prompt, PromptMessage } from "@modelcontextprotocol/sdk/types.js";
import { type Ask, CONTEXT } from "./questions.ts";
import { PNG } from "./results.ts";

/** A prompt, and what it becomes with arguments. */
export interface TestPrompt {
  readonly prompt: Prompt;
  messages(
    given: Readonly<Record<string, string>>,
    ask: Ask,
  ): PromptMessage[] | Promise<PromptMessage[]>;
}

const says = (content: PromptMessage["content"]): PromptMessage => ({
  role: "user",
  content,
});

const required = (name: string) => ({
  name,
  description: `The ${name}`,
  required: true,
});

/** The prompts. */
export const PROMPTS: readonly TestPrompt[] = [
  {
    prompt: { name: "test_simple_prompt", description: "Has no arguments" },
    messages: () => [
      says({ type: "text", text: "This is a simple prompt for testing." }),
    ],
  },
  {
    prompt: {
      name: "test_prompt_with_arguments",
      description: "Has two arguments",
      arguments: [required("arg1"), required("arg2")],
    },
    messages: ({ arg1, arg2 }) => [
      says({
        type: "text",
        text: `Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`,
      }),
    ],
  },
  {
    prompt: {
      name: "test_prompt_with_embedded_resource",
      description: "Contains a resource",
      arguments: [required("resourceUri")],
    },
    messages: ({ resourceUri = "" }) => [
      says({
        type: "resource",
        resource: {
          uri: resourceUri,
          mimeType: "text/plain",
          text: "Embedded resource content for testing.",
        },
      }),
      says({ type: "text", text: "Please process the resource above." }),
    ],
  },
  {
    prompt: { name: "test_prompt_with_image", description: "Has an image" },
    messages: () => [
      says({ type: "image", data: PNG, mimeType: "image/png" }),
      says({ type: "text", text: "Please analyze the image above." }),
    ],
  },
  {
    prompt: {
      name: "test_input_required_result_prompt",
      description: "Asks for what it is about",
    },
    messages: async (_, ask) => {
      const { content } = await ask(CONTEXT);
      return [says({ type: "text", text: `About: ${content?.context}` })];
    },
  },
];
