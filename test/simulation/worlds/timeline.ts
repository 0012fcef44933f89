import type { Choice } from './explore.ts';
import type { Way } from './happenings.ts';
import type { Call } from './history.ts';
import type { WorldRun } from './world.ts';

/** Choices as a text: the number of what happens, and how, where that is not as usual. */
export function choicesText(choices: readonly Choice[]): string {
  return choices
    .map(({ number, way }) => (way === 'plain' ? `${number}` : `${number}:${way}`))
    .join(' ');
}

/** Reads such a text. */
export function choicesOf(text: string): readonly Choice[] {
  return text
    .split(' ')
    .filter(Boolean)
    .map((word) => {
      const [number, way = 'plain'] = word.split(':');
      return { number: Number(number), way: way as Way };
    });
}

/** What happened in a run, line by line: what actors asked and heard, and each request in between. */
export function timeline({ stage, history }: WorldRun): readonly string[] {
  const calls = history.calls.filter(({ start }) => start >= 0);
  const lines: string[] = [];
  const note = (at: number) => {
    // Counted as events have happened: what was heard of the last one comes before what it led to.
    for (const call of calls) {
      if (call.end === at) lines.push(`${call.actor}  heard of ${call.kind}: ${answerOf(call)}`);
    }
    for (const call of calls) {
      if (call.start === at)
        lines.push(`${call.actor}  asks: ${call.kind} ${call.path} ${call.text}`);
    }
  };
  note(0);
  for (const [i, event] of stage.events.entries()) {
    const { process, way, result, isStart } = event;
    if (isStart === true) {
      note(i + 1);
      continue;
    }
    const how = way === 'plain' ? '' : ` (${way})`;
    lines.push(`${process}    ${event.text()} → ${result}${how}`);
    note(i + 1);
  }
  for (const call of calls) {
    if (call.end === Number.POSITIVE_INFINITY)
      lines.push(`${call.actor}  never heard of ${call.kind}`);
  }
  return lines;
}

function answerOf({ heard, code, answer, lockedUntil }: Call): string {
  if (heard !== 'done') return `${heard}, ${code}`;
  return lockedUntil === undefined ? answer : `${answer} until ${lockedUntil}`;
}
