import { setPriority } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import { drawKind, KINDS } from '../../test/hostile/search/kinds.ts';
import type { Scene } from '../../test/hostile/search/scene.ts';
import { Attack } from '../../test/hostile/search/wire.ts';
import { forwardPort } from '../../test/interop/gateway/forwarded-port.ts';
import { LoadRandom } from '../../test/support/load-random.ts';

/** A process that attacks until it is ended: every kind of attack it is given, all at once. */

/** What the parent says, as JSON in the first argument. */
export interface AttackerOptions {
  readonly scene: Scene;
  /** Of the task; the way there, with its TLS, is the attacker's own. */
  readonly taskPort: number;
  readonly seed: string;
  /** Names of kinds. */
  readonly kinds: readonly string[];
  /** Of each case. */
  readonly connectionsMax: number;
}

/** What it tells each second. */
export interface Attacked {
  /** Cases that were carried out, by kind. */
  readonly cases: Readonly<Record<string, number>>;
  readonly sentBytes: number;
}

/** What a case may take to say everything, and how long its connections stay then. */
const SAY_MS_MAX = 5000;
const HOLD_MS = 500;
const TELL_MS = 500;

// Attackers have machines of their own; here they take what the others leave.
setPriority(19);
await attackForEver(JSON.parse(process.argv[2] ?? '{}') as AttackerOptions);

async function attackForEver({
  scene,
  taskPort,
  seed,
  kinds,
  connectionsMax,
}: AttackerOptions): Promise<void> {
  const cases: Record<string, number> = {};
  let sentBytes = 0;
  const tell = () => process.send?.({ cases, sentBytes } satisfies Attacked);
  tell();
  setInterval(tell, TELL_MS);
  // Whoever started this may have gone.
  process.on('disconnect', () => process.exit(0));
  const { port } = await forwardPort(taskPort);
  const chosen = KINDS.filter(({ name }) => kinds.includes(name));
  await Promise.all(
    chosen.map(async (kind) => {
      for (let number = 0; ; number++) {
        const one = drawKind(kind, new LoadRandom(`${seed}/${kind.name}/${number}`), scene);
        const attack = new Attack({ ...one, wires: one.wires.slice(0, connectionsMax) }, port);
        await Promise.race([attack.said, pause(SAY_MS_MAX)]);
        await pause(HOLD_MS);
        attack.release();
        cases[kind.name] = number + 1;
        sentBytes += attack.sent;
      }
    }),
  );
}
