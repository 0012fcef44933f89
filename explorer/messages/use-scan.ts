import { useCallback, useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { useConnection } from '../namespace/connection.ts';
import { useObservable } from '../ui/use-observable.ts';
import type { MessageFilter } from './filter.ts';
import { MessageScan, type ScanState } from './scan.ts';
import { type MessageTab, pathOf } from './tabs.ts';

/** A scan of the messages of a tab, how far it is, and how to begin it anew. */
export interface ShownScan {
  readonly scan: MessageScan;
  readonly state: ScanState;
  readonly reload: () => void;
}

/** Scans the messages of a tab; anew whenever work with messages has ended, so that what it has changed is seen. */
export function useScan(
  entity: string,
  tab: MessageTab,
  filter: MessageFilter,
  from: bigint | undefined,
): ShownScan {
  const { caller, jobs } = useConnection();
  const isWorking = useObservable(jobs.current)?.isRunning === true;
  const [reloadKey, setReloadKey] = useState(0);
  const reload = useCallback(() => setReloadKey((before) => before + 1), []);
  const scan = useMemo(
    () => new MessageScan(caller, { path: pathOf(entity, tab), tab, filter, from }),
    [caller, entity, tab, filter, from, reloadKey],
  );
  const state = useObservable(scan.state);
  useEffect(() => {
    void scan.more();
    return () => scan.stop();
  }, [scan]);
  const wasWorking = useRef(false);
  useEffect(() => {
    if (wasWorking.current && !isWorking) reload();
    wasWorking.current = isWorking;
  }, [isWorking, reload]);
  return { scan, state, reload };
}
