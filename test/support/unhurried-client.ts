import { brotliCompressSync } from 'node:zlib';
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { brotli, type Compression, compressing } from '../../shared/storage/blocks/compression.ts';
import { engineClient } from './start-broker.ts';

/** So many turns of the event loop without a further request show that none is to be expected. */
const QUIET_TURNS = 50;

/** Compresses at once: the client below could not see the end of a thread coming. */
export const unthreaded: Compression = {
  ...brotli,
  compress: async (bytes) => brotliCompressSync(bytes, compressing(bytes)),
};

/**
 * A client whose answers come only once no further request is being prepared: so round trips are counted
 * alike, however slow the machine is. To be destroyed by the test that asked for it.
 */
export function unhurriedClient(): DynamoDBClient {
  const client = engineClient();
  let requests = 0;
  client.middlewareStack.add(
    (next) => async (args) => {
      requests++;
      const answer = await next(args);
      for (let seen = -1; seen !== requests; ) {
        seen = requests;
        for (let turn = 0; turn < QUIET_TURNS; turn++) {
          await new Promise((resolve) => setImmediate(resolve));
        }
      }
      return answer;
    },
    { step: 'initialize', name: 'unhurried' },
  );
  return client;
}
