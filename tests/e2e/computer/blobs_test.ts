import {
  assert,
  assertEquals,
  assertObjectMatch,
  assertStringIncludes,
} from "@std/assert";
import { Buffer } from "node:buffer";
import type { CallToolResult } from "../../../agent/mod.ts";
import type { SmcpComputerOptions } from "../../../computer/mod.ts";
import { sha256 } from "../../support/blob_script.ts";
import {
  type ComputerOffice,
  startComputer,
  takeSeat,
} from "../../support/computer/computer.ts";
import { createPictures } from "../../support/fixtures/pictures.ts";
import { scratch } from "../../support/scratch.ts";

const MEGABYTE = 1_000_000;

/** An office whose Server takes messages of so many bytes. */
const inOffice = (
  maxMessageBytes: number,
  options: Partial<SmcpComputerOptions> = {},
): Promise<ComputerOffice> =>
  startComputer(
    {
      pictures: {
        type: "in-process",
        server: createPictures(),
        default_tool_meta: { auto_apply: true },
      },
    },
    options,
    { server: { maxMessageBytes } },
  );

/** The binary content of a result. */
const binaries = ({ content }: CallToolResult): Uint8Array[] =>
  content.flatMap((block) =>
    block.type === "image" || block.type === "audio"
      ? [Buffer.from(block.data, "base64")]
      : block.type === "resource"
      ? [Buffer.from(block.resource.blob ?? "", "base64")]
      : []
  );

/** Asserts that a result has all that its tool gave. */
function assertWhole(result: CallToolResult, count: number): void {
  assertEquals(result.isError, undefined, result.content[0]?.text);
  const found = binaries(result);
  assertEquals(found.length, count);
  assertEquals(found.map(sha256).join(" "), result.content[0]?.text);
}

Deno.test("protocol §8.7: results beyond the Server's limit arrive whole, whatever they consist of", async () => {
  await using pc = await inOffice(MEGABYTE);
  for (
    const [as, sizes] of [
      ["image", [5_000_000]],
      ["audio", [40_000, 2_000_000]],
      ["resource", [3_000_000, 10]],
      // Each is within the budget, all together are not.
      ["image", Array(40).fill(32_000)],
      ["image", Array(900).fill(1_100)],
    ] as const
  ) {
    const { result } = await pc.call("pictures", { sizes, as });
    assertWhole(result, sizes.length);
    const [, block] = result.content;
    assertEquals(block?._meta, as === "image" ? { own: 1 } : undefined);
  }
});

Deno.test("protocol §8.7: content above the budget leaves the result, smaller content stays", async () => {
  const rows: [maxPayload: number, size: number, stays: boolean][] = [
    [MEGABYTE, 32_768, true],
    [MEGABYTE, 32_769, false],
    [8_000_000, 2_000_000, true],
    [8_000_000, 2_000_001, false],
  ];
  for (const [maxPayload, size, stays] of rows) {
    await using pc = await inOffice(maxPayload);
    const wire = await takeSeat(pc.office);
    const params = { sizes: [size] };
    const { content } = await wire.call({ tool_name: "pictures", params });
    const [told, block] = content;
    assert(block?.type === "image");
    assertEquals(block.data.length > 0, stays, `${maxPayload}, ${size}`);
    if (stays) continue;
    const handle = block._meta?.a2c_blob_handle;
    assertObjectMatch({ ...block }, {
      type: "image",
      data: "",
      mimeType: "application/x-test",
      _meta: {
        own: 1,
        a2c_blob_handle: handle,
        a2c_total_size: size,
        a2c_sha256: told?.text,
      },
    });
    const blob = { blob_handle: handle, max_chunk_bytes: 10 };
    assertObjectMatch(Object(await wire.ask("client:get_blob", blob)), {
      blob_handle: handle,
      mime_type: "application/x-test",
      total_size: size,
      sha256: told?.text,
      chunk_offset: 0,
      eof: false,
    });
  }
});

Deno.test("protocol §8.7: a text beyond the limit, and content beyond that of the store, are errors that say so", async () => {
  await using pc = await inOffice(100_000, {
    blobStore: { maxBytes: 2_000_000 },
  });
  const rows: [sizes: number[], told: string][] = [
    [Array(2_000).fill(1), "accepts messages of at most 100000"],
    [[2_000_001], "at most 2000000 can be fetched"],
  ];
  for (const [sizes, told] of rows) {
    const { text, meta, result } = await pc.call("pictures", { sizes });
    assertEquals([result.isError, meta.error_code], [true, 4003]);
    assertStringIncludes(text, told);
  }
});

Deno.test("protocol §8.7: what the store no longer has, or had for another office, is gone", async () => {
  await using pc = await inOffice(MEGABYTE, {
    blobStore: { maxBytes: 100_000 },
  });
  const { office: { agent, officeId }, computer } = pc;
  const call = async () => {
    const sizes = [60_000];
    const { result } = await pc.call("pictures", { sizes }, { blobs: "keep" });
    return String(result.content[1]?._meta?.a2c_blob_handle);
  };
  const reasonFor = (handle: string) =>
    new Response(agent.openBlob("pc", handle) as BodyInit).bytes()
      .then(({ length }) => length, ({ details }) => details.reason);
  const first = await call();
  assertEquals(await reasonFor(first), 60_000);
  const second = await call();
  assertEquals(await reasonFor(first), "gone");
  assertEquals(await reasonFor(second), 60_000);
  await computer.leave();
  await computer.join(officeId);
  assertEquals(await reasonFor(second), "gone");
});

Deno.test("a caller in the Computer's process gets large content as it is; what was written to the disk is removed at the end", async () => {
  await using folder = await scratch();
  await using pc = await inOffice(MEGABYTE, {
    blobStore: { memoryBytes: 1_000_000, directory: folder.path },
  });
  const sizes = [900_000, 900_000, 900_000];
  const files = () => [...Deno.readDirSync(folder.path)].length;
  assertWhole(await pc.computer.callTool("pictures", { sizes }), 3);
  assertEquals(files(), 0);
  assertWhole((await pc.call("pictures", { sizes })).result, 3);
  assertEquals(files(), 1);
  await pc.computer.close();
  assertEquals(files(), 0);
});
