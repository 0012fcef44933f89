import { useEffect, useRef } from 'preact/hooks';
import { useConnection } from './namespace/connection.ts';
import { sentenceOf } from './ui/error-notice.tsx';
import { useNow } from './ui/now.ts';
import { Time } from './ui/time.tsx';
import { useAttempt } from './ui/use-attempt.ts';
import { useObservable } from './ui/use-observable.ts';

const STEPS = [
  ['+1 min', 60],
  ['+1 h', 3_600],
  ['+1 day', 86_400],
] as const;

/** The clock of a local namespace, which one can move ahead. */
export function Clock() {
  const { caller, isReadOnly, list, aheadMs } = useConnection();
  const { attempt, error, isBusy } = useAttempt();
  const now = useNow() + useObservable(aheadMs);
  const call = async (method: 'GET' | 'POST', body?: object) => {
    const headers = { 'Content-Type': 'application/json' };
    const text = body === undefined ? {} : { headers, body: JSON.stringify(body) };
    const answer = await caller.call({ method, path: '$clock', ...text });
    const { now: there } = JSON.parse(answer.text) as { readonly now: string };
    aheadMs.value = Date.parse(there) - Date.now();
  };
  // Each namespace has a clock of its own.
  useEffect(() => {
    void attempt(() => call('GET'));
  }, [caller]);
  const advance = (advanceSeconds: number) =>
    attempt(async () => {
      try {
        await call('POST', { advanceSeconds });
      } catch (failure) {
        // It may have moved: who does not see that moves it twice.
        await call('GET').catch(() => undefined);
        throw failure;
      } finally {
        await list.refreshIfShown();
      }
    });
  const details = useRef<HTMLDetailsElement>(null);
  useEffect(() => {
    // It covers what is below it, so it closes when somebody goes on there.
    const close = (event: Event) => {
      const { current } = details;
      const isEscape = event instanceof KeyboardEvent && event.key === 'Escape';
      const isElsewhere = event.type !== 'keydown' && !current?.contains(event.target as Node);
      if (current !== null && (isEscape || isElsewhere)) current.open = false;
    };
    const events = ['pointerdown', 'focusin', 'keydown'] as const;
    for (const name of events) addEventListener(name, close);
    return () => {
      for (const name of events) removeEventListener(name, close);
    };
  }, []);
  return (
    <details class="clock" ref={details}>
      <summary>
        <Time at={now} />
      </summary>
      <div class="actions">
        Move the clock of this namespace ahead:
        {STEPS.map(([title, seconds]) => (
          <button
            key={title}
            type="button"
            disabled={isBusy || isReadOnly.value}
            onClick={() => void advance(seconds)}
          >
            {title}
          </button>
        ))}
        {error !== undefined && <span class="hint">{sentenceOf(error)}</span>}
      </div>
    </details>
  );
}
