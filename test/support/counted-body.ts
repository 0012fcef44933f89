/** A body of a request that tells how much of it was read. */
export interface CountedBody {
  readonly stream: ReadableStream<Uint8Array>;
  /** Bytes that were asked for so far. */
  readonly read: () => number;
}

/** A body in pieces of so many bytes, so long in all; without `length` it never ends. */
export function countedBody({
  piece,
  length = Number.POSITIVE_INFINITY,
}: {
  readonly piece: number;
  readonly length?: number;
}): CountedBody {
  let read = 0;
  const stream = new ReadableStream<Uint8Array>(
    {
      pull: (controller) => {
        const bytes = Math.min(piece, length - read);
        if (bytes === 0) {
          controller.close();
          return;
        }
        read += bytes;
        controller.enqueue(new Uint8Array(bytes).fill(0x20));
      },
    },
    // Nothing is made before it is asked for.
    { highWaterMark: 0 },
  );
  return { stream, read: () => read };
}
