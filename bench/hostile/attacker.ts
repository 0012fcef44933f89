import { setPriority } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import { drawKind, KINDS } from '../../test/hostile/search/kinds.ts';
import type { Scene } from '../../test/hostile/search/scene.ts';
import { Attack } from '../../test/hostile/search/wire.ts';
import { forwardPort } from '../../test/interop/gateway/forwarded-port.ts';
import { LoadRandom } from '../../test/support/load-random.ts';

/** A process that carries out all its kinds of attack at once until it is killed. */

/** The options from the parent, as JSON in the first argument. */
export interface AttackerOptions {
  readonly scene: Scene;
  /** The port of the task. Each attacker has its own forwarder to it, which speaks TLS. */
  readonly taskPort: number;
  readonly seed: string;
  /** The names of the kinds of attack. */
  readonly kinds: readonly string[];
  /** The most connections of each case. */
  readonly connectionsMax: number;
}

/** What an attacker reports to its parent twice a second. */
export interface Attacked {
  /** Cases that were carried out, by kind. */
  readonly cases: Readonly<Record<string, number>>;
  readonly sentBytes: number;
}

/** The time in which a case sends everything. Then its connections stay open for `HOLD_MS`. */
const SEND_MS_MAX = 5000;
const HOLD_MS = 500;
const REPORT_MS = 500;

// Real attackers use other machines; here they get the processor time that others leave.
setPriority(19);
await attackUntilKilled(JSON.parse(process.argv[2] ?? '{}') as AttackerOptions);

async function attackUntilKilled({
  scene,
  taskPort,
  seed,
  kinds,
  connectionsMax,
}: AttackerOptions): Promise<void> {
  const cases: Record<string, number> = {};
  let sentBytes = 0;
  const report = () => process.send?.({ cases, sentBytes } satisfies Attacked);
  report();
  setInterval(report, REPORT_MS);
  // The parent has ended.
  process.on('disconnect', () => process.exit(0));
  const { port } = await forwardPort(taskPort);
  const chosen = KINDS.filter(({ name }) => kinds.includes(name));
  await Promise.all(
    chosen.map(async (kind) => {
      for (let number = 0; ; number++) {
        const one = drawKind(kind, new LoadRandom(`${seed}/${kind.name}/${number}`), scene);
        const attack = new Attack({ ...one, wires: one.wires.slice(0, connectionsMax) }, port);
        await Promise.race([attack.said, pause(SEND_MS_MAX)]);
        await pause(HOLD_MS);
        attack.release();
        cases[kind.name] = number + 1;
        sentBytes += attack.sent;
      }
    }),
  );
}
