const PROVED = new WeakSet<Request>();
const LISTENERS = new WeakMap<Request, () => void>();

/** Marks a request as authorized: a rule has signed its token, and grants the right that it needs. */
export function noteProvedRight(request: Request): void {
  PROVED.add(request);
  LISTENERS.get(request)?.();
}

/**
 * Sets the listener that is called when a request is marked as authorized. It may be called more than once.
 */
export function whenRightProved(request: Request, proved: () => void): void {
  LISTENERS.set(request, proved);
}

/** Whether a request is marked as authorized, whatever the answer to it was. */
export function hasProvedRight(request: Request): boolean {
  return PROVED.has(request);
}
