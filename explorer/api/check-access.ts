import type { Caller } from '../../client/call.ts';
import { RefusalError } from '../../client/client-errors.ts';
import type { Access } from './access.ts';

/** The text of a refusal of a token that is malformed, or has expired, which no other right would help. */
export const WRONG_TOKEN = /^4010[56]:/;
const WRONG_KEY = /^40103:/;

const WHAT_TO_DO =
  'Check the name and the key of the rule. If it is a rule of one queue or topic, add EntityPath= with its name.';

/**
 * Checks that the service knows an access, whatever its rights are. Throws RefusalError with a sentence that says what
 * to do; UnreachableError.
 */
export async function checkAccess(caller: Caller, access: Access): Promise<void> {
  try {
    await caller.call(
      access.kind === 'key' && access.entityPath !== undefined
        ? { method: 'GET', path: `${access.entityPath}/messages/$receiver` }
        : { method: 'GET', path: '$entities', query: { $top: 1 } },
    );
  } catch (error) {
    if (!(error instanceof RefusalError)) throw error;
    const { message } = error;
    if (WRONG_TOKEN.test(message)) throw error;
    // A token may be for an entity, whose rules the whole namespace does not have.
    if (access.kind === 'key' && WRONG_KEY.test(message)) {
      throw new RefusalError({ ...error, message: `${message} ${WHAT_TO_DO}` });
    }
  }
}
