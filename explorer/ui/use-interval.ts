import { useEffect } from 'preact/hooks';

/** Calls `work` again and again while the page is seen, and when it is seen again. `everyMs` = undefined: never. */
export function useInterval(everyMs: number | undefined, work: () => void): void {
  useEffect(() => {
    if (everyMs === undefined) return;
    const workIfSeen = () => {
      if (!document.hidden) work();
    };
    const timer = setInterval(workIfSeen, everyMs);
    document.addEventListener('visibilitychange', workIfSeen);
    return () => {
      clearInterval(timer);
      document.removeEventListener('visibilitychange', workIfSeen);
    };
  }, [everyMs, work]);
}
