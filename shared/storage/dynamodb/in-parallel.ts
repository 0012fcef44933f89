/** Works through a list, so many at a time; ends when nothing is under way any more. */
export async function inParallel<T>(
  list: readonly T[],
  width: number,
  work: (entry: T) => Promise<void>,
): Promise<void> {
  const rest = list.values();
  let isFailed = false;
  const worker = async () => {
    for (const entry of rest) {
      if (isFailed) return;
      try {
        await work(entry);
      } catch (error) {
        isFailed = true;
        throw error;
      }
    }
  };
  const outcomes = await Promise.allSettled(Array.from({ length: width }, worker));
  for (const outcome of outcomes) {
    if (outcome.status === 'rejected') throw outcome.reason;
  }
}
