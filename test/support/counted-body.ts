/** A request body that counts how much of it was read. */
export interface CountedBody {
  readonly stream: ReadableStream<Uint8Array>;
  /** The number of bytes read so far. */
  readonly read: () => number;
}

/** A body of `length` bytes in pieces of `piece` bytes; without `length` it is endless. */
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
    // No piece is produced before it is read.
    { highWaterMark: 0 },
  );
  return { stream, read: () => read };
}
