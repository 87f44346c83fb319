// The AI SDK of Vercel, with its provider for servers like OpenAI's.
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, streamText } from "ai";
import { drive, extra, ours } from "./driving.mjs";

const metadataExtractor = {
  extractMetadata: async ({ parsedBody }) =>
    parsedBody?.novarag ? { novarag: { verdict: parsedBody.novarag } } : undefined,
  createStreamExtractor: () => {
    let found;
    return {
      processChunk: (chunk) => (found = chunk?.novarag ?? found),
      buildMetadata: () => (found ? { novarag: { verdict: found } } : undefined),
    };
  },
};

await drive(async (address, one, seen) => {
  const provider = createOpenAICompatible({
    name: "novarag", baseURL: address, apiKey: "none", metadataExtractor,
  });
  const asked = {
    model: provider(one.mode),
    ...(one.system ? { system: one.system } : {}),
    prompt: one.question,
    providerOptions: { novarag: extra(one) },
    maxRetries: 0,
  };
  if (!one.stream) {
    const reply = await generateText(asked);
    seen.text = reply.text;
    seen.novarag = reply.providerMetadata?.novarag?.verdict ?? null;
    seen.headers = ours(reply.response.headers);
    return;
  }
  let failed = null;
  const reply = streamText({ ...asked, onError: ({ error }) => (failed = error) });
  for await (const piece of reply.textStream) seen.text += piece;
  if (failed) throw failed;
  seen.novarag = (await reply.providerMetadata)?.novarag?.verdict ?? null;
  seen.headers = ours((await reply.response).headers);
});
