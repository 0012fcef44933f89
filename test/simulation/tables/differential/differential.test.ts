import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ENGINE_KINDS } from '../../../../local/engine/engine-recipes.ts';
import { seedOfRun } from '../../../support/load-random.ts';
import { knownShapes } from '../corpus/known-shapes.ts';
import { areAlike, deviation } from './deviations.ts';
import { engineEndpoint, onceClient, whyMissing } from './engines.ts';
import { type Compared, Pair } from './pair.ts';

/**
 * Compares the simulation with the local engines: the same random requests, of every shape that storage
 * sends, must have the same outcome, answer and cost, and leave the same items. `DYNABUS_SEED` repeats a run,
 * and `DYNABUS_DIFFERENTIAL_RUNS` sets the number of runs.
 */

const SEED = seedOfRun();
const RUNS = Number(process.env['DYNABUS_DIFFERENTIAL_RUNS'] ?? 6);
const STEPS = 120;

for (const kind of ENGINE_KINDS) {
  const title = `random requests have the same outcome in the simulation as in ${kind} (seed ${SEED})`;
  test(title, { skip: whyMissing(kind) ?? false }, async (t) => {
    const client = onceClient(t, await engineEndpoint(t, kind));
    for (let run = 0; run < RUNS; run++) {
      const pair = await Pair.make(client, `${SEED}-${run}`, knownShapes());
      for (let step = 0; step < STEPS; step++) {
        const compared = await pair.next();
        if (areAlike(compared.simulated, compared.engine)) continue;
        if (deviation(kind, compared) === undefined) {
          assert.fail(`run ${run}, step ${step} of seed ${SEED}: ${printed(compared)}`);
        }
      }
      for (const { simulated, engine } of await pair.items()) assert.deepEqual(simulated, engine);
      await pair.drop();
    }
  });
}

const SHOWN_MAX = 2000;

function printed({ request, simulated, engine }: Compared): string {
  const short = (value: unknown) => JSON.stringify(value, shortened).slice(0, SHOWN_MAX);
  return `\n${short(request)}\nsimulated: ${short(simulated)}\nengine: ${short(engine)}`;
}

function shortened(_: string, value: unknown): unknown {
  if (value instanceof Uint8Array) return `${value.length} bytes`;
  return typeof value === 'string' && value.length > TEXT_MAX ? `${value.length} letters` : value;
}

const TEXT_MAX = 300;
