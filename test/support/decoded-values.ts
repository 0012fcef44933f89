import type { TestContext } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Decoder } from '../../amqp/wire/decode.ts';

/**
 * Watches the AMQP values that this process decodes during a test. Returns a function that counts the values
 * still in memory; a shared value counts once.
 */
export function watchDecodedValues(t: TestContext): () => Promise<number> {
  setFlagsFromString('--expose-gc');
  const collectGarbage = runInNewContext('gc') as () => void;
  const values: WeakRef<object>[] = [];
  const { read } = Decoder.prototype;
  // A mock of node:test would itself retain the returned values.
  Decoder.prototype.read = function (depth) {
    const value = read.call(this, depth);
    values.push(new WeakRef(value));
    return value;
  };
  t.after(() => {
    Decoder.prototype.read = read;
  });
  return async () => {
    // A weak reference keeps its value alive to the end of the job that creates or reads it.
    await new Promise(setImmediate);
    collectGarbage();
    const kept = new Set(values.map((value) => value.deref()));
    kept.delete(undefined);
    return kept.size;
  };
}
