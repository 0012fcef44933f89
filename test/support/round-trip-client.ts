import { brotliCompressSync } from 'node:zlib';
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { brotli, type Compression, compressing } from '../../shared/storage/blocks/compression.ts';
import { engineClient } from './start-broker.ts';

/** After this many turns of the event loop without a request, no further one is expected. */
const QUIET_TURNS = 50;

/** Compresses in the same turn, because the client below cannot wait for another thread. */
export const unthreaded: Compression = {
  ...brotli,
  compress: async (bytes) => brotliCompressSync(bytes, compressing(bytes)),
};

/**
 * A client whose answers arrive only when no further request is in preparation, so that tests count the same
 * round trips however slow the machine is. The caller destroys the client.
 */
export function roundTripClient(): DynamoDBClient {
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
    { step: 'initialize', name: 'roundTrips' },
  );
  return client;
}
