import type { TestContext } from 'node:test';
import { createDynamoClient } from '../../../../local/engine/dynamo-client.ts';
import { type Engine, startEngine } from '../../../../local/engine/engine.ts';
import {
  ENGINE_KINDS,
  type EngineKind,
  findRecipe,
} from '../../../../local/engine/engine-recipes.ts';

import { KIND_VARIABLE } from '../../../runner/test-engines.ts';

/** The address of the engine that already runs for this process. */
const RUNNING = process.env['DYNAMODB_ENDPOINT'] ?? '';
const RUNNING_KIND = ENGINE_KINDS.find((kind) => kind === process.env[KIND_VARIABLE]);

/** Why an engine cannot run here; undefined = it can. */
export function whyMissing(kind: EngineKind): string | undefined {
  if (isRunning(kind)) return undefined;
  const recipe = findRecipe[kind]();
  return 'missing' in recipe ? recipe.missing : undefined;
}

/** The address of an engine, which starts for a test unless it runs already. */
export async function engineEndpoint(t: TestContext, kind: EngineKind): Promise<string> {
  if (isRunning(kind)) return RUNNING;
  const engine = await startBeside(kind);
  t.after(() => engine.stop());
  return engine.endpoint;
}

/** A client of an engine without retries. */
export function onceClient(t: TestContext, endpoint: string) {
  const client = createDynamoClient(endpoint);
  client.config.maxAttempts = async () => 1;
  t.after(() => client.destroy());
  return client;
}

/** Without `KIND_VARIABLE` the running engine is the first kind that can run. */
function isRunning(kind: EngineKind): boolean {
  if (RUNNING === '') return false;
  if (RUNNING_KIND !== undefined) return RUNNING_KIND === kind;
  return ENGINE_KINDS.find((each) => !('missing' in findRecipe[each]())) === kind;
}

/** Starts another engine although one runs; `startEngine` reads the variable before its first await. */
function startBeside(kind: EngineKind): Promise<Engine> {
  process.env['DYNAMODB_ENDPOINT'] = '';
  const starting = startEngine({ kind });
  process.env['DYNAMODB_ENDPOINT'] = RUNNING;
  return starting;
}
