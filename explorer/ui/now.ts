import { useEffect, useState } from 'preact/hooks';

/** The time by the machine's clock, epoch ms; the component is drawn again each second. */
export function useNow(): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1_000);
    return () => clearInterval(timer);
  }, []);
  return now;
}
