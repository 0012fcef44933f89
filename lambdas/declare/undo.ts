/** Thrown where work has failed and something is left of it. */
export class NotUndoneError extends Error {}

/** How an event came. */
export interface EventOrigin {
  /** Whether CloudFormation knows the resource by the key of its work. */
  readonly isKnown: boolean;
  /** Whether an earlier try may have made what is there, and even have told CloudFormation so. */
  readonly isRepeated: boolean;
}

/**
 * Carries out work and, if it fails, undoes it, because CloudFormation does not learn what a replacement that failed
 * has made. Work that an earlier try may have done is left, as is what CloudFormation knows, since its rollback undoes
 * that. Throws what the work throws, or NotUndoneError.
 */
export async function undoOnFailure(
  { isKnown, isRepeated }: EventOrigin,
  undo: () => Promise<void>,
  work: () => Promise<void>,
): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (isKnown) throw error;
    if (isRepeated) throw new NotUndoneError(textOf(error), { cause: error });
    await undo().catch((second: unknown) => {
      throw new NotUndoneError(`${textOf(error)}\nIt could not be undone: ${textOf(second)}`);
    });
    throw error;
  }
}

/** The message of an error. */
export function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
