import { assertEquals, assertRejects, assertThrows } from "@std/assert";
// @ts-types="@modelcontextprotocol/sdk/types"
import { McpError } from "@modelcontextprotocol/sdk/types.js";
import { UnansweredError } from "../../../../computer/host/mcp/errors.ts";
import type { AnswerQuestion } from "../../../../computer/host/mcp/mcp_connection.ts";
import {
  askedRounds,
  Questions,
  readQuestion,
} from "../../../../computer/host/mcp/questions.ts";
import { hurryTimers } from "../../../support/timers.ts";

const NEVER = new AbortController().signal;
const requestedSchema = { type: "object" as const, properties: {} };
const FORM = { message: "Who?", requestedSchema };
const PAGE = {
  mode: "url" as const,
  message: "Pay",
  url: "https://a.example/",
};
const ACCEPT = { action: "accept" as const };

const asking = (params: object) => ({ method: "elicitation/create", params });

Deno.test("readQuestion() reads forms, pages and their keys, and refuses what is neither", () => {
  assertEquals(readQuestion({ ...FORM, mode: "form", other: 1 }), {
    question: FORM,
    key: undefined,
  });
  const _meta = { "a2c-smcp/key": "k1" };
  assertEquals(readQuestion({ ...PAGE, elicitationId: "e", _meta }), {
    question: { ...PAGE, elicitationId: "e" },
    key: "k1",
  });
  assertEquals(readQuestion(PAGE).question, PAGE);
  for (
    const odd of [
      undefined,
      {},
      { message: "Who?" },
      { ...PAGE, url: "javascript:alert(1)" },
      { ...PAGE, url: "file:///etc/passwd" },
      { ...PAGE, url: "no address" },
      { ...PAGE, message: 5 },
    ]
  ) assertThrows(() => readQuestion(odd), McpError, "Invalid elicitation");
});

Deno.test("askedRounds() sends answers and state until a result asks for nothing", async () => {
  using timers = hurryTimers(250);
  const sent: unknown[] = [];
  const results = [
    {
      resultType: "input_required",
      inputRequests: { who: asking(FORM), "?": asking(PAGE) },
      requestState: "one",
    },
    { resultType: "input_required", requestState: "two" },
    { resultType: "input_required", inputRequests: {} },
    { resultType: "complete", content: [] },
  ];
  const keys: unknown[] = [];
  const answer: AnswerQuestion = (_, { key, isCertain }) => {
    keys.push([key, isCertain]);
    return Promise.resolve(ACCEPT);
  };
  const result = await askedRounds(
    (fields) => {
      sent.push(fields);
      return Promise.resolve(results[sent.length - 1]!);
    },
    answer,
    NEVER,
  );
  assertEquals(result, { resultType: "complete", content: [] });
  assertEquals(sent, [
    {},
    { inputResponses: { who: ACCEPT, "?": ACCEPT }, requestState: "one" },
    { requestState: "two" },
    {},
  ]);
  assertEquals(keys, [["who", true], [undefined, true]]);
  assertEquals(timers.armed, [250, 250]);
});

Deno.test("askedRounds() fails for what is no question, without a person, and without end", async () => {
  const answer = () => Promise.resolve(ACCEPT);
  const rows: [
    request: unknown,
    answer: AnswerQuestion | undefined,
    why: string,
  ][] = [
    [{ method: "roots/list" }, answer, "no question for a person"],
    [null, answer, "no question for a person"],
    [asking(FORM), undefined, "not for such a request"],
    [asking(FORM), answer, "it asked 32 times"],
  ];
  for (const [request, answer, why] of rows) {
    const inputRequests = { a: request };
    const send = () =>
      Promise.resolve({ resultType: "input_required", inputRequests });
    await assertRejects(
      () => askedRounds(send, answer, NEVER),
      UnansweredError,
      why,
    );
  }
});

Deno.test("open() asks for each page, and waits for the report that a person is done; a refusal ends it", async () => {
  const questions = new Questions();
  const pages = [
    { ...PAGE, elicitationId: "1" },
    { message: "Pay", url: "https://b.example/" },
  ];
  const asked: string[] = [];
  const answer: AnswerQuestion = (question) => {
    asked.push(question.mode === "url" ? question.url : "a form");
    questions.completed("1");
    return Promise.resolve(ACCEPT);
  };
  assertEquals(await questions.open(pages, answer, NEVER), true);
  assertEquals(asked, ["https://a.example/", "https://b.example/"]);
  const rows: [AnswerQuestion, unknown[]][] = [
    [() => Promise.resolve({ action: "decline" }), pages],
    [() => Promise.reject(new UnansweredError("nobody")), pages],
    [answer, [{ url: "no address" }]],
    [answer, []],
  ];
  for (const [answer, pages] of rows) {
    assertEquals(await questions.open(pages, answer, NEVER), false);
  }
});

Deno.test("open() goes on without the report after a while", async () => {
  using timers = hurryTimers(15_000);
  const pages = [{ ...PAGE, elicitationId: "1" }];
  const questions = new Questions();
  const answer = () => Promise.resolve(ACCEPT);
  assertEquals(await questions.open(pages, answer, NEVER), true);
  assertEquals(timers.armed, [15_000]);
});

Deno.test("the report that a person is done answers an open question, which is withdrawn", async () => {
  const questions = new Questions();
  let withdrawn: AbortSignal | undefined;
  const answer: AnswerQuestion = (_, { signal }) => {
    withdrawn = signal;
    return new Promise(() => {});
  };
  const result = await questions.during(answer, async () => {
    const asked = questions.answer({ ...PAGE, elicitationId: "1" }, NEVER);
    await Promise.resolve();
    questions.completed("2");
    questions.completed("1");
    return await asked;
  });
  assertEquals(result, ACCEPT);
  assertEquals(withdrawn?.aborted, true);
});
