import type { HeapProfiler } from 'node:inspector';
import { Session } from 'node:inspector/promises';

/** One sample in so many bytes: fine enough for works of a megabyte. */
const SAMPLING_BYTES = 2048;

/**
 * How many bytes some work allocates, those that are collected at once included: a measure of work that
 * does not depend on how fast the machine is. It is an estimate, good to a few per cent.
 */
export async function allocatedBytes(work: () => void): Promise<number> {
  const session = new Session();
  session.connect();
  try {
    await session.post('HeapProfiler.startSampling', {
      samplingInterval: SAMPLING_BYTES,
      includeObjectsCollectedByMajorGC: true,
      includeObjectsCollectedByMinorGC: true,
    });
    work();
    const { profile } = await session.post('HeapProfiler.stopSampling');
    return bytesBelow(profile.head);
  } finally {
    session.disconnect();
  }
}

function bytesBelow({ selfSize, children }: HeapProfiler.SamplingHeapProfileNode): number {
  return children.reduce((sum, child) => sum + bytesBelow(child), selfSize);
}
