// Make the calls that standard input describes, each in a line of JSON, and print the answers in the same way. zod
// parses the bodies and the query parameters of requests, and the bodies of successful answers.

import { createInterface } from "node:readline";

import * as client from "./client.js";
import * as schemas from "./schemas.js";

interface Call {
  operation: string;
  parameters: Record<string, unknown>;
  body: unknown;
  file: string | null;
  authorization: string;
}

const baseUrl = process.argv[2];
const functions = client as unknown as Record<string, (...values: unknown[]) => Promise<{ status: number; data: unknown }>>;
const parsers = schemas as unknown as Record<string, { parse(value: unknown): unknown } | undefined>;
// The generated client calls fetch() with paths only.
const send = globalThis.fetch;
globalThis.fetch = (path, options) => send(baseUrl + String(path), options);

async function answer(call: Call) {
  const name = call.operation.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase());
  const schema = name[0]!.toUpperCase() + name.slice(1);
  const { id, ...query } = call.parameters;
  const values: unknown[] = id === undefined ? [] : [id];
  if (call.body !== null) values.push(parsers[`${schema}Body`]!.parse(call.body));
  if (call.file !== null) values.push(new Blob([call.file]));
  if (Object.keys(query).length > 0) values.push(parsers[`${schema}QueryParams`]!.parse(query));
  const { status, data } = await functions[name]!(...values, { headers: { Authorization: call.authorization } });
  if (data instanceof Blob) {
    const content = await data.text();
    return { status, content, parsed: content };
  }
  const parsed = status < 400 ? parsers[`${schema}Response`]!.parse(data) : data;
  return { status, content: JSON.stringify(data), parsed };
}

for await (const line of createInterface({ input: process.stdin })) {
  console.log(JSON.stringify(await answer(JSON.parse(line))));
}
