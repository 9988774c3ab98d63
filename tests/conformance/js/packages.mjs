// The packages of npm, found beside this file or by NODE_PATH.

import { createRequire } from "node:module";

const require = createRequire(import.meta.url);
export const { blake3 } = require("@noble/hashes/blake3");
export const { sha256, sha512 } = require("@noble/hashes/sha2");
export const { keccak_256 } = require("@noble/hashes/sha3");
export const { ed25519 } = require("@noble/curves/ed25519");
export const { Encoder } = require("@msgpack/msgpack");
