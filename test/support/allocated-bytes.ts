import type { HeapProfiler } from 'node:inspector';
import { Session } from 'node:inspector/promises';

/** Bytes per sample: fine enough to measure work that allocates a megabyte. */
const SAMPLING_BYTES = 2048;

/**
 * The bytes that `work` allocates, including those that are collected at once. This measures work
 * independently of the speed of the machine. It is an estimate, accurate to a few per cent.
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
