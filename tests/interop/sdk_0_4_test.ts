import { testCasts } from "./support/casts.ts";

testCasts("0.4");
