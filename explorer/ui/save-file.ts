/** Lets the browser save a file. */
export function saveFile(name: string, content: Blob): void {
  const url = URL.createObjectURL(content);
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  // The browser has begun to read it by then.
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

/** The name of a file with messages of a queue: `orders-dead-letter-2026-01-15T12-00-00Z.jsonl`. */
export function fileNameOf(entity: string, what: string, now: Date): string {
  const path = entity.replace(/[^\w.-]+/g, '-');
  return `${path}-${what}-${now.toISOString().slice(0, 19).replaceAll(':', '-')}Z.jsonl`;
}
