import { assert, assertEquals } from "@std/assert";
import en from "zod/v4/locales/en.js";
import * as z from "../../../protocol/schema.ts";

const { localeError } = en();

/** Schemas of every kind that this package has, each with data that it refuses. */
const REFUSED: [schema: z.ZodMiniType, ...data: unknown[]][] = [
  [z.string(), 1, null, undefined, [], {}, NaN, -Infinity, 1n, new Date()],
  [z.boolean(), "", Object.create(null), new Map(), () => {}],
  [z.number(), "1", NaN, Infinity],
  [z.int(), 1.5, "1", 2 ** 60],
  [z.int().check(z.minimum(1), z.maximum(3)), 0, 4],
  [z.number().check(z.positive()), 0],
  [z.string().check(z.minLength(2), z.maxLength(3)), "a", "abcd"],
  [z.array(z.string()).check(z.minLength(1)), [], [1]],
  [z.literal("a"), "b", 1],
  [z.literal(1), "b"],
  [z.null(), 0],
  [z.enum(["a", "b"]), "c", undefined],
  [z.union([z.string(), z.number()]), true, {}],
  [
    z.discriminatedUnion("type", [
      z.looseObject({ type: z.literal("a") }),
      z.looseObject({ type: z.enum(["b", "c"]) }),
    ]),
    { type: "d" },
    {},
    1,
  ],
  [z.string().check(z.refine(() => false)), ""],
  [z.string().check(z.refine(() => false, "own words")), ""],
  [z.custom(() => false), 1],
];

Deno.test("ENGLISH says what zod's English locale says, for the schemas of this package", () => {
  for (const [schema, ...refused] of REFUSED) {
    for (const data of refused) {
      const said = (error: z.core.$ZodErrorMap) =>
        schema.safeParse(data, { error }).error?.issues
          .map(({ path, message }) => [path, message]);
      const messages = said(z.ENGLISH.error);
      assert(messages !== undefined);
      assertEquals(messages, said(localeError));
    }
  }
});
