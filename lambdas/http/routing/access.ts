import type { ProvedRule } from '../../../shared/auth/proved-rule.ts';
import { requireLikelyToken, requireSasToken } from '../../../shared/auth/sas-token.ts';
import { BrokerError } from '../../../shared/domain/broker-error.ts';
import { noteProvedRight } from '../../../shared/domain/budgets/proved-requests.ts';
import type { AccessRight } from '../../../shared/domain/entities/descriptions.ts';
import type { EntityPath } from '../../../shared/domain/entities/entity-path.ts';
import type { HttpDependencies } from '../http-dependencies.ts';

type AccessDependencies = Pick<
  HttpDependencies,
  'entities' | 'namespaceKeys' | 'tokenClock' | 'tokens' | 'admitRule' | 'ruleProved'
>;

/**
 * A request that API Gateway let through because IAM allows its caller this method on this path.
 * Only the function's handler makes one, so that nothing in a request can claim to be it.
 */
export class IamRequest extends Request {
  readonly #evaluatedPath: string;

  /** `evaluatedPath` = the path that IAM was asked about, percent-decoded. */
  constructor(url: URL | string, init: RequestInit, evaluatedPath: string) {
    super(url, init);
    this.#evaluatedPath = evaluatedPath;
  }

  /**
   * Refuses a path that IAM knew by another spelling than the one that is served: one with `..` or empty
   * segments, or percent-encoded twice. A policy that denies the one may allow the other. Throws Forbidden.
   */
  requireEvaluatedPath(): void {
    const { pathname } = new URL(this.url);
    if (isDecodedFrom(pathname, this.#evaluatedPath) && !AMBIGUOUS.test(this.#evaluatedPath))
      return;
    throw new BrokerError(
      'Forbidden',
      "IAM was asked about another spelling of this path: write it without '.', '..' or empty segments, and percent-encoded once at most.",
    );
  }
}

/** A segment that is empty, `.` or `..`; a closing slash makes none. */
const AMBIGUOUS = /\/\.{0,2}\/|\/\.{1,2}$/;

function isDecodedFrom(pathname: string, decoded: string): boolean {
  try {
    return decodeURIComponent(pathname) === decoded;
  } catch {
    return false;
  }
}

/**
 * Lets a request through, or says why not: its token must be good for one of these rights, where
 * there are any. What IAM has let through needs no token, and one that it carries does not count.
 * `path` is the entity it addresses; without one only the rules of the namespace count. Throws
 * Unauthenticated; ServiceBusy where the rule of the token may do no more for now; Forbidden where IAM
 * was asked about another spelling of the path.
 */
export async function authorize(
  dependencies: AccessDependencies,
  request: Request,
  path: EntityPath | undefined,
  rights: readonly AccessRight[],
): Promise<void> {
  const rule = await provedRule(dependencies, request, path, rights);
  if (rule !== undefined) countForRule(dependencies, request, rule);
}

/** The same for a request that goes on, and counts no more for its rule. Throws Unauthenticated, Forbidden. */
export async function confirmRight(
  dependencies: AccessDependencies,
  request: Request,
  path: EntityPath | undefined,
  rights: readonly AccessRight[],
): Promise<void> {
  await provedRule(dependencies, request, path, rights);
}

/** The rule that gives the right to a request; undefined where it takes no right, or IAM gave it. */
async function provedRule(
  dependencies: AccessDependencies,
  request: Request,
  path: EntityPath | undefined,
  rights: readonly AccessRight[],
): Promise<ProvedRule | undefined> {
  if (rights.length === 0) return undefined;
  if (request instanceof IamRequest) {
    request.requireEvaluatedPath();
    return undefined;
  }
  const { rule } = await requireSasToken(dependencies, request, path, rights);
  return rule;
}

/** Counts an operation of a request for the rule that gave the right to it. Throws ServiceBusy. */
function countForRule(dependencies: AccessDependencies, request: Request, rule: ProvedRule): void {
  noteProved(dependencies, request, rule);
  dependencies.admitRule?.(rule);
}

function noteProved({ ruleProved }: AccessDependencies, request: Request, rule: ProvedRule): void {
  noteProvedRight(request);
  ruleProved?.(request, rule);
}

/**
 * Turns away who can have none of these rights on any entity, before the body is read that says which
 * entities it is about. True where it is proved that the caller has one on some entity; false where only
 * the body can show it. Throws Unauthenticated.
 */
export async function authorizeBeforeBody(
  dependencies: AccessDependencies,
  request: Request,
  rights: readonly AccessRight[],
): Promise<boolean> {
  if (request instanceof IamRequest) {
    request.requireEvaluatedPath();
    return true;
  }
  const rule = await requireLikelyToken(dependencies, request, rights);
  if (rule !== undefined) noteProved(dependencies, request, rule);
  return rule !== undefined;
}

/**
 * Lets a request through to an entity that its body names: as `authorize`, had it been addressed to
 * that entity. IAM was only asked about the address of the request, and no second question can be put
 * to it. Throws Unauthenticated.
 */
export async function authorizeEntity(
  dependencies: AccessDependencies,
  request: Request,
  path: EntityPath,
  rights: readonly AccessRight[],
): Promise<void> {
  if (request instanceof IamRequest) return request.requireEvaluatedPath();
  // Encoded as one segment, so that no name can be taken for a way to another one.
  const address = new URL(`/${encodeURIComponent(path.name)}`, request.url);
  const asked = new Request(address, { headers: request.headers });
  const { rule } = await requireSasToken(dependencies, asked, path, rights);
  countForRule(dependencies, request, rule);
}
