import { assert, assertEquals } from "@std/assert";
import { EventPages } from "../../../../server/operator/feed/event_pages.ts";

const event = (json: string, office?: string) => ({ office, kind: "k", json });
const all = () => true;

/** The data of the events that are read from a number on. */
function read(
  pages: EventPages,
  seq: number,
  sees: (office: string | undefined) => boolean = all,
): [data: string[], next: number] {
  const { bytes, next } = pages.read(seq, sees);
  const text = new TextDecoder().decode(bytes);
  return [
    [...text.matchAll(/^data: (.*)$/gm)].map(([, data = ""]) => data),
    next,
  ];
}

Deno.test("EventPages keeps the latest events, and as many bytes as it may", () => {
  const pages = new EventPages({ events: 3, bytes: 100 }, "rec");
  assertEquals([pages.first, pages.next], [1, 1]);
  for (const json of ["a", "b", "c", "d"]) pages.add([event(json)]);
  assertEquals([pages.first, pages.next], [2, 5]);
  assertEquals(read(pages, 2), [["b"], 3]);
  const { bytes } = pages.read(4, all);
  assertEquals(
    new TextDecoder().decode(bytes),
    "id: rec.4\nevent: k\ndata: d\n\n",
  );
  const long = "x".repeat(50);
  pages.add([event(long)]);
  assertEquals([pages.first, pages.next], [5, 6]);
  assertEquals(read(pages, 5), [[long], 6]);
});

Deno.test("EventPages keeps the newest page, whatever its size", () => {
  const pages = new EventPages({ events: 3, bytes: 4 }, "rec");
  pages.add([event("a")]);
  pages.add(["b", "c", "d", "e"].map((json) => event(json)));
  assertEquals([pages.first, pages.next], [2, 6]);
  assertEquals(read(pages, 2), [["b", "c", "d", "e"], 6]);
  assertEquals(read(pages, 4), [["d", "e"], 6]);
});

Deno.test("EventPages shows each what it may see, of any characters", () => {
  const pages = new EventPages({ events: 100, bytes: 10_000 }, "rec");
  const offices = ["n", "n", "süd", undefined, "n", "süd"];
  pages.add(offices.map((office, i) => event(`é${i}`, office)));
  const of = (seen: string) =>
    read(pages, 1, (office) => office === seen)[0].join();
  assertEquals([of("n"), of("süd"), of("none")], ["é0,é1,é4", "é2,é5", ""]);
  assertEquals(read(pages, 1)[0].length, 6);
  assertEquals(read(pages, 5, (office) => office === "n"), [["é4"], 7]);
  const [one, two] = [pages.read(1, all), pages.read(1, all)];
  assert(one.bytes.buffer === two.bytes.buffer, "the bytes are not copied");
});

Deno.test("EventPages finds what follows the id of an event, and nothing for any other text", () => {
  const pages = new EventPages({ events: 2, bytes: 1000 }, "Ab-_9");
  assertEquals(pages.find(pages.cursor(0)), 1);
  for (const json of ["a", "b", "c"]) pages.add([event(json)]);
  assertEquals(pages.cursor(3), "Ab-_9.3");
  assertEquals([1, 2, 3].map((seq) => pages.find(pages.cursor(seq))), [
    2,
    3,
    4,
  ]);
  for (
    const text of [
      ...[undefined, "", "12", "Ab-_9.-1", "Ab-_9.2.2", " Ab-_9.2"],
      ...["other.2", "Ab-_9.0", "Ab-_9.4"],
    ]
  ) assertEquals(pages.find(text), undefined, text);
  assertEquals(
    new EventPages({ events: 1, bytes: 1 }, "").find(".0"),
    undefined,
  );
});

Deno.test("EventPages lists events as they were added, over pages, up to some bytes", () => {
  const pages = new EventPages({ events: 100, bytes: 10_000 }, "rec");
  const events = ["é\u2028", "\\n", "c", "d"].map((text, i) => ({
    ...event(JSON.stringify({ text }), i === 1 ? undefined : "n"),
    kind: `k${i}`,
  }));
  pages.add(events.slice(0, 2));
  pages.add(events.slice(2));
  assertEquals(pages.list(1, 1000), events);
  assertEquals(pages.list(2, 1000), events.slice(1));
  assertEquals(pages.list(1, 1), events.slice(0, 1));
  assertEquals(pages.list(5, 1000), []);
});
