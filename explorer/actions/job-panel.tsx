import { useEffect } from 'preact/hooks';
import { useConnection } from '../namespace/connection.ts';
import { ErrorNotice } from '../ui/error-notice.tsx';
import { numberText } from '../ui/format.ts';
import { useObservable } from '../ui/use-observable.ts';
import type { JobState } from './jobs.ts';

/** How far the work is that runs, or what came of the last one. */
export function JobPanel() {
  const { jobs, isReadOnly } = useConnection();
  const readOnly = useObservable(isReadOnly);
  const work = useObservable(jobs.current);
  const isOpen = work?.isRunning === true || jobs.offers.length > 0;
  useEffect(() => {
    // Messages that can be sent again are only here.
    const ask = (event: BeforeUnloadEvent) => event.preventDefault();
    if (isOpen) addEventListener('beforeunload', ask);
    return () => removeEventListener('beforeunload', ask);
  }, [isOpen]);
  if (work === undefined) return null;
  const { isRunning, done, total, error, problemCount, problems, offer } = work;
  return (
    <section class="job" aria-label="Work">
      <div class="job-line">
        <p role="status">{sentenceOf(work)}</p>
        {isRunning && total !== undefined && (
          <progress value={done} max={Math.max(total, done, 1)} aria-label="Progress" />
        )}
        {isRunning ? (
          <button type="button" onClick={() => jobs.stop()}>
            Stop
          </button>
        ) : (
          <>
            {offer !== undefined && !readOnly && (
              <button type="button" onClick={offer.run}>
                {offer.title}
              </button>
            )}
            <button type="button" onClick={() => jobs.close()}>
              Close
            </button>
          </>
        )}
      </div>
      {error !== undefined && <ErrorNotice error={error} />}
      {problemCount > 0 && (
        <details>
          <summary>{`${numberText(problemCount)} not done`}</summary>
          <ul>
            {problems.map(({ of, why }, index) => (
              <li key={index}>
                {of}: {why}
              </li>
            ))}
          </ul>
          {problemCount > problems.length && (
            <p>The first {numberText(problems.length)} are listed.</p>
          )}
        </details>
      )}
    </section>
  );
}

function sentenceOf(work: JobState): string {
  const { title, what, done, total, isRunning, isStopped, sentence } = work;
  if (sentence !== undefined) return sentence;
  const of = total === undefined ? '' : ` of ${numberText(total)}`;
  const end = isRunning ? '…' : isStopped ? ', then stopped.' : '.';
  return `${title} ${numberText(done)}${of} ${what}${end}`;
}
