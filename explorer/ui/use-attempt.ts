import { useCallback, useState } from 'preact/hooks';

/** One thing after the other that may fail: whether it runs, and why the last one failed. */
export interface Attempt {
  readonly isBusy: boolean;
  readonly error: unknown;
  /** Does something, and resolves with whether it worked. */
  readonly attempt: (work: () => Promise<void>) => Promise<boolean>;
}

/** Does what a form or a button asks for, and keeps the error to be shown. */
export function useAttempt(): Attempt {
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const attempt = useCallback(async (work: () => Promise<void>) => {
    setBusy(true);
    setError(undefined);
    try {
      await work();
      return true;
    } catch (failure) {
      setError(failure);
      return false;
    } finally {
      setBusy(false);
    }
  }, []);
  return { isBusy, error, attempt };
}
