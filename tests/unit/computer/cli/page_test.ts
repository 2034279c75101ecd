import { assert, assertEquals, assertThrows } from "@std/assert";
import { CallLog, clip } from "../../../../computer/cli/ui/call_log.ts";
import { Changes, NewsFeed } from "../../../../computer/cli/ui/news_feed.ts";
import {
  type Asked,
  QuestionDesk,
} from "../../../../computer/cli/ui/question_desk.ts";
import { ProblemError } from "../../../../shared/http.ts";

Deno.test("clip() keeps small values as they are", () => {
  for (
    const value of [null, 1, true, "text", [], {}, {
      a: [1, { b: "c" }],
      ["__proto__"]: "own",
    }]
  ) {
    const { value: kept, isClipped } = clip(value, 100);
    assertEquals(JSON.stringify(kept), JSON.stringify(value));
    assert(!isClipped);
  }
});

Deno.test("clip() looks at little more than it keeps, and marks what is missing", () => {
  let looked = 0;
  const items = new Proxy(Array.from({ length: 1_000_000 }, () => "item"), {
    get(target, key) {
      if (typeof key === "string" && /^\d+$/.test(key)) looked++;
      return Reflect.get(target, key);
    },
  });
  for (const value of ["x".repeat(10_000), items, { items, more: "text" }]) {
    const { value: kept, isClipped, size } = clip(value, 100);
    assert(isClipped);
    assert(JSON.stringify(kept).length < 250, JSON.stringify(kept));
    assert(JSON.stringify(kept).includes("…"));
    assert(size < 130);
  }
  assert(looked < 200, `${looked}`);
});

const log = (limits?: ConstructorParameters<typeof CallLog>[1]) => {
  const calls = new CallLog(new Changes(), limits);
  const began = (reqId: string, params = {}) =>
    calls.began({ agent: "a", tool: "t", reqId, params });
  const ended = (reqId: string, text: string) =>
    calls.ended({
      ...{ agent: "a", tool: "t", reqId, durationMs: 1 },
      result: { content: [{ type: "text", text }] },
    });
  return { calls, began, ended };
};

Deno.test("CallLog keeps the latest calls, and tells from which on", () => {
  const { calls, began, ended } = log({ calls: 3, each: 100, contents: 1_000 });
  for (const id of ["1", "2", "3", "4", "5"]) began(id);
  assertEquals(calls.since(0).map(({ key }) => key), [3, 4, 5]);
  assertEquals(calls.first, 3);
  ended("1", "too late");
  ended("4", "done");
  assertEquals(calls.since(0).map(({ outcome }) => outcome), [
    undefined,
    "ok",
    undefined,
  ]);
  assertEquals(calls.content(1), undefined);
});

Deno.test("CallLog forgets the contents of old calls first", () => {
  const { calls, began, ended } = log({ calls: 9, each: 100, contents: 200 });
  for (const id of ["1", "2", "3"]) {
    began(id);
    ended(id, "x".repeat(1_000));
  }
  assertEquals(calls.since(0).length, 3);
  assertEquals(calls.content(1), undefined);
  assertEquals(calls.content(3)?.isClipped, true);
});

Deno.test("CallLog tells a repeated request from the first one", () => {
  const { calls, began, ended } = log();
  began("1");
  began("1");
  ended("1", "first");
  ended("1", "second");
  assertEquals(
    calls.since(0).map(({ key, outcome }) => [key, outcome]),
    [[1, "ok"], [2, "ok"]],
  );
});

const question = (text: string): Asked<string> => ({
  view: () => ({ text, asking: { kind: "confirm", choices: [] } }),
  terminal: undefined,
  read: String,
  say: (answer) => answer,
  withdrawn: "withdrawn",
});

Deno.test("QuestionDesk shows twenty questions at once; others follow", async () => {
  const desk = new QuestionDesk(new Changes(), () => {});
  const stop = new AbortController();
  const asked = Array.from(
    { length: 120 },
    (_, i) => desk.ask(question(`${i}`), stop.signal),
  );
  const shown = desk.since(0);
  assertEquals(shown.length, 20);
  desk.answer(shown[0]?.id ?? "", "yes");
  assertEquals(await asked[0], "yes");
  const open = desk.since(0).filter(({ endedBy }) => endedBy === undefined);
  assertEquals(open.length, 20);
  assertEquals(open.at(-1)?.text, "20");
  stop.abort();
  assertEquals(
    (await Promise.all(asked)).slice(1),
    Array(119).fill("withdrawn"),
  );
  assertEquals(desk.since(0).length, 50); // of those that have ended
});

Deno.test("QuestionDesk goes on without a terminal that fails", async () => {
  const desk = new QuestionDesk(new Changes(), () => {});
  const asked = desk.ask({
    ...question("?"),
    terminal: () => Promise.reject(new Error("the terminal is gone")),
  }, new AbortController().signal);
  const [shown] = desk.since(0);
  await Promise.resolve();
  desk.answer(shown?.id ?? "", "yes");
  assertEquals(await asked, "yes");
  assertThrows(
    () => desk.answer(shown?.id ?? "", "no"),
    ProblemError,
    "already",
  );
});

Deno.test("NewsFeed keeps nothing for a page that does not read, which gets the later state at once", async () => {
  const changes = new Changes();
  let asked = 0;
  const since = (version: number) => {
    asked++;
    return { calls: [], questions: [], firstCall: version };
  };
  const feed = new NewsFeed({ since }, changes);
  changes.next();
  const reader = feed.open().pipeThrough(new TextDecoderStream()).getReader();
  const next = async () => {
    const { value = "" } = await reader.read();
    return [...value.matchAll(/^id: (\d+)$/gm)].map(([, id]) => Number(id));
  };
  assertEquals(await next(), [1]);
  for (let i = 0; i < 1_000; i++) {
    changes.next();
    if (i % 100 === 0) await new Promise((resolve) => setTimeout(resolve));
  }
  const seen: number[] = [];
  while (seen.at(-1) !== 1_001) seen.push(...await next());
  assert(seen.length <= 3, `${seen}`);
  assert(asked <= 4, `${asked}`);
  feed.close();
  assertEquals((await reader.read()).done, true);
  assert(feed.isFull);
});
