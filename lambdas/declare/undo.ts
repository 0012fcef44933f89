/** Thrown where work has failed and could not be undone, so that something is left of it. */
export class NotUndoneError extends Error {}

/**
 * Carries out work and, if it fails, undoes it, because CloudFormation does not learn what a replacement that failed
 * has made. `isKnown` = it knows, so its rollback undoes the work. Throws what the work throws, or NotUndoneError.
 */
export async function undoUnless(
  isKnown: boolean,
  undo: () => Promise<void>,
  work: () => Promise<void>,
): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!isKnown) {
      await undo().catch((second: unknown) => {
        throw new NotUndoneError(`${textOf(error)}\nIt could not be undone: ${textOf(second)}`);
      });
    }
    throw error;
  }
}

/** The message of an error. */
export function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
