import { requireLikelyToken, requireSasToken } from '../../../shared/auth/sas-token.ts';
import type { SigningRule } from '../../../shared/auth/signing-rule.ts';
import { BrokerError } from '../../../shared/domain/broker-error.ts';
import { noteAuthorized } from '../../../shared/domain/budgets/authorized-requests.ts';
import type { AccessRight } from '../../../shared/domain/entities/descriptions.ts';
import type { EntityPath } from '../../../shared/domain/entities/entity-path.ts';
import type { HttpDependencies } from '../http-dependencies.ts';

type AccessDependencies = Pick<
  HttpDependencies,
  'entities' | 'namespaceKeys' | 'tokenClock' | 'tokens' | 'countOperation' | 'onAuthorized'
>;

/**
 * A request that AWS let through because IAM allows it to its caller: API Gateway for this method on this path, a
 * function URL for all methods and paths. Only the function's handler creates one, so no content of a request can
 * claim this right.
 */
export class IamRequest extends Request {
  readonly #evaluatedPath: string | undefined;

  /**
   * `evaluatedPath` = the percent-decoded path for which IAM evaluated its policies; undefined where IAM allowed the
   * caller every path.
   */
  constructor(url: URL | string, init: RequestInit, evaluatedPath: string | undefined) {
    super(url, init);
    this.#evaluatedPath = evaluatedPath;
  }

  /** Whether IAM allowed the caller every path, so that a request may name other entities. */
  get allowsEveryPath(): boolean {
    return this.#evaluatedPath === undefined;
  }

  /**
   * Refuses a path whose spelling differs between IAM's evaluation and our routing: one with `..` or empty
   * segments, or percent-encoded twice. A policy may deny one spelling and allow the other. Throws Forbidden.
   */
  requireEvaluatedPath(): void {
    if (this.#evaluatedPath === undefined) return;
    const { pathname } = new URL(this.url);
    if (isDecodedFrom(pathname, this.#evaluatedPath) && !AMBIGUOUS.test(this.#evaluatedPath))
      return;
    throw new BrokerError(
      'Forbidden',
      "IAM evaluated another spelling of this path: write it without '.', '..' or empty segments, and percent-encoded once at most.",
    );
  }
}

/** A segment that is empty, `.` or `..`. A trailing slash does not count as an empty segment. */
const AMBIGUOUS = /\/\.{0,2}\/|\/\.{1,2}$/;

function isDecodedFrom(pathname: string, decoded: string): boolean {
  try {
    return decodeURIComponent(pathname) === decoded;
  } catch {
    return false;
  }
}

/**
 * Authorizes a request: its token must grant one of `rights`; an empty list requires no token. A request
 * that IAM authorized needs no token, and a token that it carries is ignored. `path` is the addressed
 * entity; without it only the authorization rules of the namespace apply. Counts one operation for the
 * rule that signed the token. Throws Unauthenticated; ServiceBusy where that rule has used up its rate;
 * Forbidden where IAM evaluated another spelling of the path.
 */
export async function authorize(
  dependencies: AccessDependencies,
  request: Request,
  path: EntityPath | undefined,
  rights: readonly AccessRight[],
): Promise<void> {
  const rule = await grantingRule(dependencies, request, path, rights);
  if (rule !== undefined) countForRule(dependencies, request, rule);
}

/**
 * Checks the right of a request again while it waits, without counting another operation for its rule.
 * Throws Unauthenticated, Forbidden.
 */
export async function confirmRight(
  dependencies: AccessDependencies,
  request: Request,
  path: EntityPath | undefined,
  rights: readonly AccessRight[],
): Promise<void> {
  await grantingRule(dependencies, request, path, rights);
}

/** The rule that grants the right; undefined where no right is required, or IAM granted it. */
async function grantingRule(
  dependencies: AccessDependencies,
  request: Request,
  path: EntityPath | undefined,
  rights: readonly AccessRight[],
): Promise<SigningRule | undefined> {
  if (rights.length === 0) return undefined;
  if (request instanceof IamRequest) {
    request.requireEvaluatedPath();
    return undefined;
  }
  const { rule } = await requireSasToken(dependencies, request, path, rights);
  return rule;
}

/** Notes the rule and counts an operation for it. Throws ServiceBusy if the rule has used up its operations. */
function countForRule(dependencies: AccessDependencies, request: Request, rule: SigningRule): void {
  noteRule(dependencies, request, rule);
  dependencies.countOperation?.(rule);
}

/**
 * Tells the server that the request is authorized, which raises the limits of its connection, and the access log by
 * which rule.
 */
function noteRule({ onAuthorized }: AccessDependencies, request: Request, rule: SigningRule): void {
  noteAuthorized(request);
  onAuthorized?.(request, rule);
}

/**
 * Checks a request whose body names the entities, before the body is read. Refuses a caller that can have
 * none of `rights` on any entity. Resolves to true where the caller is known to have one of them on some
 * entity, and to false where only the body can show that. Throws Unauthenticated; Forbidden as `authorize`.
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
  if (rule !== undefined) noteRule(dependencies, request, rule);
  return rule !== undefined;
}

/**
 * Authorizes a request for an entity that its body names, as `authorize` does for the addressed entity.
 * A request that IAM authorized passes: IAM evaluated only the request's address, and a function cannot
 * ask it about another one. Throws Unauthenticated, ServiceBusy; Forbidden as `authorize`.
 */
export async function authorizeEntity(
  dependencies: AccessDependencies,
  request: Request,
  path: EntityPath,
  rights: readonly AccessRight[],
): Promise<void> {
  if (request instanceof IamRequest) return request.requireEvaluatedPath();
  // Encoded as one segment, so that a name with slashes cannot be read as the path of another entity.
  const address = new URL(`/${encodeURIComponent(path.name)}`, request.url);
  const readdressed = new Request(address, { headers: request.headers });
  const { rule } = await requireSasToken(dependencies, readdressed, path, rights);
  countForRule(dependencies, request, rule);
}
