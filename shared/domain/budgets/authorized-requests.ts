const AUTHORIZED = new WeakSet<Request>();
const LISTENERS = new WeakMap<Request, () => void>();

/** Marks a request as authorized: a rule has signed its token, and grants the right that it needs. */
export function noteAuthorized(request: Request): void {
  AUTHORIZED.add(request);
  LISTENERS.get(request)?.();
}

/**
 * Sets the listener that is called when a request is marked as authorized. It may be called more than once.
 */
export function whenAuthorized(request: Request, onAuthorized: () => void): void {
  LISTENERS.set(request, onAuthorized);
}

/** Whether a request is marked as authorized, whatever the answer to it was. */
export function isAuthorized(request: Request): boolean {
  return AUTHORIZED.has(request);
}
