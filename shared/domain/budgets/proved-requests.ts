const PROVED = new WeakSet<Request>();
const LISTENERS = new WeakMap<Request, () => void>();

/** Notes that a rule has signed the token of a request, and gives a right to it. */
export function noteProvedRight(request: Request): void {
  PROVED.add(request);
  LISTENERS.get(request)?.();
}

/** Has `proved` called when a rule gives a right to a request, maybe more than once. */
export function whenRightProved(request: Request, proved: () => void): void {
  LISTENERS.set(request, proved);
}

/** Whether a rule gave a right to a request; it says nothing of what was answered. */
export function hasProvedRight(request: Request): boolean {
  return PROVED.has(request);
}
