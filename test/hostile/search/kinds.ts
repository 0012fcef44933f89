import { LoadRandom } from '../../support/load-random.ts';
import { inWebSocket, UPGRADE, UPGRADED } from './amqp-bytes.ts';
import { FLOODS } from './amqp-floods.ts';
import { LISTENERS } from './amqp-listeners.ts';
import { SENDERS } from './amqp-senders.ts';
import { AMQP_STRANGERS } from './amqp-strangers.ts';
import type { Kind } from './draw.ts';
import { HTTP_AUTHORIZED } from './http-members.ts';
import { HTTP_STRANGERS } from './http-strangers.ts';
import type { Scene } from './scene.ts';
import type { Case, Step, Wire } from './wire.ts';

const AMQP: readonly Kind[] = [...AMQP_STRANGERS, ...SENDERS, ...LISTENERS];
const WEB_SOCKET_SHARE = 0.15;

/** Every kind of attack. */
export const KINDS: readonly Kind[] = [...AMQP, ...FLOODS, ...HTTP_STRANGERS, ...HTTP_AUTHORIZED];

/**
 * Draws the case of a number: the same one for the same seed and kinds. Every kind comes once in as
 * many numbers as there are kinds, in an order that is drawn too.
 */
export function drawCase(
  { seed, kinds }: { readonly seed: string; readonly kinds: readonly Kind[] },
  number: number,
  scene: Scene,
): Case {
  const cycle = Math.floor(number / kinds.length);
  const order = new LoadRandom(`${seed}/order/${cycle}`).order(kinds.length);
  const kind = kinds[order[number % kinds.length] ?? 0];
  if (kind === undefined) throw new Error('There is a kind for every number.');
  return drawKind(kind, new LoadRandom(`${seed}/${number}`), scene);
}

/** Draws a case of one kind; what is said over AMQP goes through a WebSocket now and then. */
export function drawKind(kind: Kind, random: LoadRandom, scene: Scene): Case {
  const isWrapped = AMQP.includes(kind) && random.chance(WEB_SOCKET_SHARE);
  const { what, wires } = kind.draw(random, scene);
  return {
    kind: kind.name,
    what: isWrapped ? `${what}, in a WebSocket` : what,
    wires: isWrapped ? wires.map(wrapped) : wires,
  };
}

function wrapped({ steps, ...wire }: Wire): Wire {
  return { ...wire, steps: [UPGRADE, UPGRADED, ...steps.map(wrappedStep)] };
}

function wrappedStep(step: Step): Step {
  if (step instanceof Uint8Array) return inWebSocket(step);
  if ('times' in step) return { ...step, make: (index) => inWebSocket(step.make(index)) };
  if ('pauseMs' in step) return step;
  return {
    answer: (heard) => {
      const bytes = step.answer(heard);
      return bytes === undefined ? undefined : inWebSocket(bytes);
    },
  };
}
