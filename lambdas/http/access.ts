import type { AccessRight } from '../../shared/domain/descriptions.ts';
import type { EntityPath } from '../../shared/domain/entity-path.ts';
import type { HttpParts } from './parts.ts';
import { requireSasToken } from './sas-token.ts';

/**
 * A request that API Gateway let through because IAM allows its caller this method on this path.
 * Only the function's handler makes one, so that nothing in a request can claim to be it.
 */
export class IamRequest extends Request {}

/**
 * Lets a request through, or says why not: its token must be good for one of these rights, where
 * there are any. What IAM has let through needs no token, and one that it carries does not count.
 * `path` is the entity it addresses; without one only the rules of the namespace count. Throws
 * Unauthenticated.
 */
export async function authorize(
  parts: Pick<HttpParts, 'entities' | 'namespaceKeys' | 'clock'>,
  request: Request,
  path: EntityPath | undefined,
  rights: readonly AccessRight[],
): Promise<void> {
  if (rights.length === 0 || request instanceof IamRequest) return;
  await requireSasToken(parts, request, path, rights);
}
