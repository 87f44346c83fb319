// openai-node.
import OpenAI from "openai";
import { drive, extra, messages, ours } from "./driving.mjs";

await drive(async (address, one, seen) => {
  const client = new OpenAI({ baseURL: address, apiKey: "none", maxRetries: 0 });
  const asked = { model: one.mode, messages: messages(one), stream: one.stream, ...extra(one) };
  const { data, response } = await client.chat.completions.create(asked).withResponse();
  seen.headers = ours(Object.fromEntries(response.headers));
  if (!one.stream) {
    seen.text = data.choices[0].message.content;
    seen.novarag = data.novarag ?? null;
    return;
  }
  for await (const chunk of data) {
    for (const choice of chunk.choices) seen.text += choice.delta.content ?? "";
    seen.novarag = chunk.novarag ?? seen.novarag;
  }
});
