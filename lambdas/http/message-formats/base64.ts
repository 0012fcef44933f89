/** Decodes base64 with padding; `undefined` for any other text, which would decode to fewer bytes. */
export function parseBase64(text: string): Uint8Array | undefined {
  const bytes = Uint8Array.from(Buffer.from(text, 'base64'));
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0;
  return bytes.length === (text.length / 4) * 3 - padding ? bytes : undefined;
}

/** Encodes bytes in standard base64, with padding. */
export function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');
}
