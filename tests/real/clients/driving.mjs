// What the drivers for Node share: cases in, what the user saw out.
import { readFileSync } from "node:fs";

export const messages = (found) => [
  ...(found.system ? [{ role: "system", content: found.system }] : []),
  { role: "user", content: found.question },
];

export const extra = (found) =>
  found.passages ? { novarag: { passages: found.passages } } : {};

export const ours = (headers) =>
  Object.fromEntries(
    [...Object.entries(headers ?? {})].filter(([name]) => name.startsWith("x-novarag-")),
  );

export async function drive(ask) {
  const [address, path] = process.argv.slice(2);
  const found = [];
  for (const one of JSON.parse(readFileSync(path, "utf-8"))) {
    const seen = { name: one.name, text: "", novarag: null, headers: null, error: null };
    try {
      await ask(address, one, seen);
    } catch (error) {
      const status = error.status ?? error.statusCode ?? null;
      const said = { kind: error.constructor.name, status };
      seen.error = { ...said, message: String(error.message).slice(0, 300) };
    }
    found.push(seen);
  }
  process.stdout.write(JSON.stringify(found));
}
