import { assert, assertEquals } from "@std/assert";
import { decodePng, encodePng } from "../support/png.ts";
import { consoleTest, openTab } from "../support/driven.ts";

consoleTest(
  "a screenshot becomes smaller, and a browser still shows it",
  async () => {
    await using tab = await openTab({ size: { width: 200, height: 100 } });
    const { page } = tab;
    await page.setContent(
      "<title>T</title><body style='background:#246;color:white'>many <b>shades</b> of <i>text</i>",
    );
    const file = await page.screenshot();
    const small = encodePng(decodePng(file));
    assert(small.length < file.length);
    await page.setContent(
      `<body style='margin:0'><img src='data:image/png;base64,${
        small.toString("base64")
      }'>`,
    );
    await page.locator("img").waitFor();
    const again = decodePng(await page.screenshot());
    const { rgb } = decodePng(file);
    const furthest = rgb.reduce(
      (most, one, i) => Math.max(most, Math.abs(one - (again.rgb[i] ?? 0))),
      0,
    );
    assertEquals([again.width, again.height], [200, 100]);
    assert(furthest <= 32, `a colour is off by ${furthest}`);
  },
);
