import { castOf, testCast } from "../support/casts.ts";

testCast("rust", castOf("Rust", "our", "our", ["0.4"]));
testCast("rust", castOf("Rust", "our", "Python", ["0.4"]));
testCast("rust", castOf("our", "Rust", "our", ["0.4"]));
testCast("rust", castOf("our", "Rust", "Python", ["0.4"]));
testCast("rust", castOf("Python", "Rust", "our", ["0.4"]));
