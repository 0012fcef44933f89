import type { Way } from './events.ts';
import type { Choice } from './explore.ts';
import type { Call } from './history.ts';
import type { WorldRun } from './world.ts';

/** Choices as a text: the number of each event, and its fault if it has one. */
export function choicesText(choices: readonly Choice[]): string {
  return choices
    .map(({ number, way }) => (way === 'plain' ? `${number}` : `${number}:${way}`))
    .join(' ');
}

/** Parses such a text. */
export function choicesOf(text: string): readonly Choice[] {
  return text
    .split(' ')
    .filter(Boolean)
    .map((word) => {
      const [number, way = 'plain'] = word.split(':');
      return { number: Number(number), way: way as Way };
    });
}

/** The history of a run, line by line: the starts and ends of operations, and the requests between them. */
export function timeline({ stage, history }: WorldRun): readonly string[] {
  const calls = history.calls.filter(({ start }) => start >= 0);
  const lines: string[] = [];
  const note = (at: number) => {
    // Operations that end with an event are listed before those that begin after it.
    for (const call of calls) {
      if (call.end === at) lines.push(`${call.actor}  ends ${call.kind}: ${answerOf(call)}`);
    }
    for (const call of calls) {
      if (call.start === at)
        lines.push(`${call.actor}  begins ${call.kind} ${call.path} ${call.text}`);
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
    if (call.end === Number.POSITIVE_INFINITY) lines.push(`${call.actor}  never ends ${call.kind}`);
  }
  return lines;
}

function answerOf({ outcome, code, answer, lockedUntil }: Call): string {
  if (outcome !== 'done') return `${outcome}, ${code}`;
  return lockedUntil === undefined ? answer : `${answer} until ${lockedUntil}`;
}
