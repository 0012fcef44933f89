/** Works through a list, several entries at the same time; settles when none is under way. */
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
