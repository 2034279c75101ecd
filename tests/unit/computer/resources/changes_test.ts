import { assert, assertEquals, assertRejects } from "@std/assert";
import fc from "fast-check";
import {
  changeEvents,
  listedUris,
  NO_URIS,
  type ResourceNotice,
} from "../../../../computer/resources/listed.ts";
import { allPages } from "../../../../computer/host/mcp/connection.ts";
import { orderServers } from "../../../../computer/resources/servers.ts";
import { RecentServers } from "../../../../computer/tools/tool_calls.ts";
import {
  UPDATE_DESKTOP_EVENT,
  UPDATE_FINDER_EVENT,
} from "../../../../protocol/mod.ts";

const uris = (...list: string[]) => listedUris(list.map((uri) => ({ uri })));

Deno.test("changeEvents() announces a list whose windows or documents differ (spec §8.5)", () => {
  const before = uris("window://a", "window://b", "dpe://h/1", "file:///x");
  const rows: [string[], ReturnType<typeof changeEvents>][] = [
    [["dpe://h/1", "window://b", "window://a"], []],
    [["window://a", "window://b", "dpe://h/1", "file:///y"], []],
    [["window://a", "dpe://h/1"], [UPDATE_DESKTOP_EVENT]],
    [["window://a", "window://c", "dpe://h/1"], [UPDATE_DESKTOP_EVENT]],
    [["window://a", "window://b"], [UPDATE_FINDER_EVENT]],
    [["window://a", "window://b", "dpe://h/2"], [UPDATE_FINDER_EVENT]],
    [[], [UPDATE_DESKTOP_EVENT, UPDATE_FINDER_EVENT]],
  ];
  for (const [list, events] of rows) {
    const notice: ResourceNotice = { kind: "listed", uris: uris(...list) };
    assertEquals(changeEvents(before, notice), events, list.join());
  }
});

Deno.test("changeEvents() announces new contents of a window or document, known or not (spec §8.5)", () => {
  const rows: [string, ReturnType<typeof changeEvents>][] = [
    ["window://a", [UPDATE_DESKTOP_EVENT]],
    ["WINDOW://a", [UPDATE_DESKTOP_EVENT]],
    ["dpe://h/1", [UPDATE_FINDER_EVENT]],
    ["file:///x", []],
    ["windows://a", []],
    ["", []],
  ];
  for (const [uri, events] of rows) {
    assertEquals(changeEvents(NO_URIS, { kind: "updated", uri }), events, uri);
  }
});

Deno.test("changeEvents() returns no event if and only if both sets are equal", () => {
  const list = fc.array(
    fc.constantFrom("window://a", "window://b", "dpe://h/1", "dpe://h/2"),
  );
  fc.assert(fc.property(list, list, (a, b) => {
    const events = changeEvents(uris(...a), {
      kind: "listed",
      uris: uris(...b),
    });
    const same = [...new Set(a)].toSorted().join() ===
      [...new Set(b)].toSorted().join();
    assertEquals(events.length === 0, same);
  }));
});

Deno.test("orderServers() lists each server once, those of the history first", () => {
  const names = fc.uniqueArray(fc.string());
  fc.assert(fc.property(names, fc.array(fc.string()), (servers, history) => {
    const order = orderServers(servers, history);
    assertEquals(order.toSorted(), servers.toSorted());
    const used = new Set(history);
    const firstUnused = order.findIndex((server) => !used.has(server));
    assert(
      firstUnused === -1 ||
        order.slice(firstUnused).every((server) => !used.has(server)),
    );
  }));
});

Deno.test("RecentServers keeps each server once, the most recent last", () => {
  const recent = new RecentServers();
  for (const server of ["a", "b", "a", "c", "b"]) recent.used(server);
  assertEquals(recent.history, ["a", "c", "b"]);
  recent.clear();
  assertEquals(recent.history, []);
});

Deno.test("allPages() follows cursors, and stops when they repeat", async () => {
  const pages: Record<string, { items: number[]; nextCursor?: string }> = {
    "": { items: [1, 2], nextCursor: "b" },
    b: { items: [], nextCursor: "c" },
    c: { items: [3] },
  };
  const page = (cursor = "") => Promise.resolve(pages[cursor] ?? { items: [] });
  assertEquals(await allPages("x/list", page), [1, 2, 3]);
  await assertRejects(
    () =>
      allPages("x/list", () => Promise.resolve({ items: [1], nextCursor: "" })),
    Error,
    "x/list never ends",
  );
});
