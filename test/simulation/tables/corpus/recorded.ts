import { readFileSync } from 'node:fs';
import type { Shape } from './shapes.ts';

/** The shapes of all requests that storage was seen to emit; `record.ts` records them. */
export function recordedShapes(): readonly Shape[] {
  const text = readFileSync(new URL('requests.jsonl', import.meta.url), 'utf8');
  return text
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Shape);
}
