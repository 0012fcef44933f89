import { readFileSync } from 'node:fs';
import type { Shape } from './shapes.ts';
import { UNRECORDED } from './unrecorded.ts';

/** The shapes of all requests that storage sends: those recorded by `record.ts`, and `UNRECORDED`. */
export function knownShapes(): readonly Shape[] {
  const text = readFileSync(new URL('requests.jsonl', import.meta.url), 'utf8');
  const lines = text.split('\n').filter(Boolean);
  return [...lines.map((line) => JSON.parse(line) as Shape), ...UNRECORDED];
}
