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
