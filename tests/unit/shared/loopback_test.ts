import { assertEquals } from "@std/assert";
import { isLoopback, isLoopbackName } from "../../../shared/loopback.ts";

const ADDRESSES = [
  ...["127.0.0.1", "127.8.9.10", "127.255.255.255"],
  ...["::1", "[::1]", "0:0:0:0:0:0:0:1", "::ffff:127.0.0.1", "::FFFF:7f01:2"],
  ...["localhost", "LOCALHOST"],
];

const OTHERS = [
  ...["0.0.0.0", "::", "", "10.0.0.1", "192.168.1.1", "128.0.0.1"],
  ...["127.0.0.256", "127.0.0.01", "127.1", "::2", "::ffff:10.0.0.1", "[::1"],
  ...["::1]/[", "::1%1", "1::1", "::1:1"],
  ...["example.com", "localhost.example.com", "127.0.0.1.example.com"],
];

const NAMES = ["app.localhost", "a.b.LOCALHOST"];

Deno.test("isLoopback() accepts only loopback addresses and localhost", () => {
  const all = [...ADDRESSES, ...OTHERS, ...NAMES];
  assertEquals(all.filter(isLoopback), ADDRESSES);
});

Deno.test("isLoopbackName() also accepts names below localhost", () => {
  const all = [...ADDRESSES, ...OTHERS, ...NAMES];
  assertEquals(all.filter(isLoopbackName), [...ADDRESSES, ...NAMES]);
});
