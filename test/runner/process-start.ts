import asyncHooks from 'node:async_hooks';
import { KIND_VARIABLE, testEngines } from './test-engines.ts';

/** Runs first in every test process: chooses the engine, and makes `node:test` cheaper. */

const script = process.argv[1] ?? '';
const engine = testEngines()?.[script.includes('.quick.') ? 'quick' : 'judge'];
if (engine !== undefined) {
  process.env['DYNAMODB_ENDPOINT'] = engine.endpoint;
  if (engine.kind !== undefined) process.env[KIND_VARIABLE] = engine.kind;
}
await loadTestRunner();

/**
 * `node:test` needs the current test when a test is registered and when an uncaught error occurs. To know it,
 * `node:test` hooks the creation and destruction of every promise and socket, which took a fifth of the
 * processor time of all tests. An `AsyncLocalStorage` is much cheaper, so `node:test` gets one while it loads.
 */
async function loadTestRunner(): Promise<void> {
  const { AsyncLocalStorage, AsyncResource, createHook, executionAsyncId } = asyncHooks;
  const current = new AsyncLocalStorage<number>();
  let noteTest: Init = () => {};

  class TestResource extends AsyncResource {
    constructor(...args: ConstructorParameters<typeof AsyncResource>) {
      super(...args);
      noteTest(this.asyncId(), args[0], this.triggerAsyncId(), this);
    }

    override runInAsyncScope<This, Result, Args extends unknown[]>(
      work: (this: This, ...args: Args) => Result,
      self?: This,
      ...args: Args
    ): Result {
      const within = (...given: Args) =>
        current.run(this.asyncId(), () => work.apply(self as This, given));
      return super.runInAsyncScope(within, undefined, ...args);
    }
  }

  const noHook = { enable: () => noHook, disable: () => noHook };
  Object.assign(asyncHooks, {
    AsyncResource: TestResource,
    executionAsyncId: () => current.getStore() ?? executionAsyncId(),
    createHook: ({ init }: { init: Init }) => {
      noteTest = init;
      return noHook;
    },
  });
  await import('node:test');
  Object.assign(asyncHooks, { AsyncResource, createHook, executionAsyncId });
}

type Init = (asyncId: number, type: string, triggerAsyncId: number, resource: object) => void;
