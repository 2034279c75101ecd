import type { Member } from "../../server/mod.ts";

/** A Computer "pc" of office "north", with overrides. */
export const member = (over: Partial<Member> = {}): Member => ({
  role: "computer",
  name: "pc",
  office: "north",
  socket: "s1",
  version: "0.2.0",
  instance: undefined,
  principal: undefined,
  ...over,
});
