import type { TestContext } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Decoder } from '../../amqp/wire/decode.ts';

/**
 * Watches AMQP values that this process decodes during a test; returns how many are still kept, where a
 * value that all share counts once.
 */
export function watchDecodedValues(t: TestContext): () => Promise<number> {
  setFlagsFromString('--expose-gc');
  const collectGarbage = runInNewContext('gc') as () => void;
  const values: WeakRef<object>[] = [];
  const { read } = Decoder.prototype;
  // A mock of node:test would itself keep what is returned.
  Decoder.prototype.read = function (depth) {
    const value = read.call(this, depth);
    values.push(new WeakRef(value));
    return value;
  };
  t.after(() => {
    Decoder.prototype.read = read;
  });
  return async () => {
    // A value is kept to the end of the job in which a reference to it was made or followed.
    await new Promise(setImmediate);
    collectGarbage();
    const kept = new Set(values.map((value) => value.deref()));
    kept.delete(undefined);
    return kept.size;
  };
}
