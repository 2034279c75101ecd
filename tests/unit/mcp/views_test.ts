import { assertEquals, assertThrows } from "@std/assert";
import { readView, writeView } from "../../../mcp/http/views.ts";

Deno.test("readView() reads what writeView() writes", () => {
  const view = {
    computer: "büro & co",
    include: ["laptop__*", "tag:safe"],
    exclude: ["*delete*"],
    tools: "search",
    nameLimit: 60,
    callTimeoutMs: 30_000,
    lenient: true,
    desktopTools: true,
  } as const;
  assertEquals(readView(writeView(view)), { ...view });
  assertEquals(readView(writeView({})), {});
});

Deno.test("readView() names the parameter that it cannot use", () => {
  const wrong = {
    "exlude=a": `There is no parameter "exlude": expected one of computer,`,
    "tools=some": `Cannot use tools "some": expected "all" or "search"`,
    "name-limit=many": `Cannot use name-limit "many": expected a whole number`,
    "desktop-tools=yes": `Cannot use desktop-tools "yes": expected 1 or 0`,
    "lenient=yes": `Cannot use lenient "yes": expected 1 or 0`,
    "computer=": `Cannot use computer "": expected a value`,
    "computer=a&computer=b": "computer is given more than once",
    "constructor=a": `There is no parameter "constructor"`,
  };
  for (const [query, message] of Object.entries(wrong)) {
    assertThrows(
      () => readView(new URLSearchParams(query)),
      TypeError,
      message,
    );
  }
});
